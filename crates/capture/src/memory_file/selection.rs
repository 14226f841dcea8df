//! The part of a file that is a trace buffer, and the order of its bytes.

use std::path::Path;

use tracewright_base::Invalid;
use tracewright_base::remedy::{BUFFER, IMAGE, SKIP};
use tracewright_frames::nexus_port;
use tracewright_image::Elf;

use super::gzip::unpacked;
use super::{MemoryFile, read};
use crate::Bytes;
use crate::container::Container;
use crate::image_source::ImageSource;
use crate::number::number64;
use crate::pipe::Pipe;
use crate::problem::{Conversion, OpenError, Problem};

/// The size of the words in which the bytes of a file are in the reverse order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Swap {
    /// They are in the order of memory.
    #[default]
    None,
    /// Words of 16 bits.
    Bits16,
    /// Words of 32 bits, as a host of the other byte order reads them.
    Bits32,
    /// Words of 64 bits.
    Bits64,
}

impl Swap {
    /// The orders that are tried.
    pub const WORDS: [Swap; 3] = [Swap::Bits32, Swap::Bits16, Swap::Bits64];

    /// The size of a word in bytes.
    pub const fn size(self) -> usize {
        match self {
            Swap::None => 1,
            Swap::Bits16 => 2,
            Swap::Bits32 => 4,
            Swap::Bits64 => 8,
        }
    }

    /// `bytes` in the order of memory. Bytes behind the last whole word stay.
    pub fn apply(self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        bytes.chunks_exact_mut(self.size()).for_each(<[u8]>::reverse);
        bytes
    }
}

/// Where N-Trace messages begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MessagesAt {
    /// At bytes.
    #[default]
    Bytes,
    /// At any bit, as a receiver stores the bits of a trace port with 1, 2 or 4 data signals.
    Bits,
}

impl MessagesAt {
    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            MessagesAt::Bytes => "byte",
            MessagesAt::Bits => "bit",
        }
    }
}

/// Where a trace buffer is in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferAt {
    /// The address of its first byte.
    pub address: u64,
    /// Its size in bytes; `None`: up to the end of the segment or of adjacent rows.
    pub size: Option<u64>,
}

impl BufferAt {
    /// Reads `ADDRESS`, `ADDRESS,SIZE`, `SYMBOL` or `SYMBOL,SIZE`. A symbol is one of the programs
    /// `images`, and its size is that of the symbol.
    ///
    /// # Errors
    /// [`OpenError`] where no program has the symbol, or a number is none.
    pub fn parse(text: &str, images: &[ImageSource]) -> Result<BufferAt, OpenError> {
        let fail = |why: String| OpenError::new(Path::new(text), Problem::Parameter(why));
        let (place, size) = match text.split_once(',') {
            None => (text, None),
            Some((place, size)) => {
                let number = number64(size.trim()).filter(|size| *size > 0);
                let number = number.ok_or_else(|| fail(format!("`{size}` is not a size in bytes")));
                (place, Some(number?))
            }
        };
        let place = place.trim();
        if let Some(address) = number64(place) {
            return Ok(BufferAt { address, size });
        }
        for image in images {
            let Ok((file, _)) = image.open() else { continue };
            if let Some((address, own)) = Elf::object_of(&file, place) {
                return Ok(BufferAt { address, size: size.or(Some(own).filter(|own| *own > 0)) });
            }
        }
        Err(fail(format!(
            "`{place}` is not an address, and no program of {IMAGE} has a symbol of that name; write \
             ADDRESS or ADDRESS,SIZE, such as 0x20001000,4096"
        )))
    }
}

/// The part of a file that is the trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Where the trace buffer is in the memory of the file; `None`: it is all of it.
    pub buffer: Option<BufferAt>,
    /// The order of the bytes; `None`: it is detected.
    pub swap: Option<Swap>,
    /// Where messages begin; `None`: it is detected.
    pub messages_at: Option<MessagesAt>,
}

/// The trace in a file, where it is not the file as it is, and what was converted.
pub(crate) struct Selected {
    pub(crate) bytes: Bytes,
    /// `None` where the bytes were swapped only.
    pub(crate) what: Option<Conversion>,
}

/// The greatest size in bytes of trace data that are swapped, or whose messages are aligned.
const MAX_SWAPPED: usize = 1 << 28;

/// The pieces of memory that an error lists.
const LISTED: usize = 8;

impl Selection {
    /// Whether all bytes of `pipe` were read, or a part of them is selected, or their order, or
    /// they are text or compressed, so that all of them are read before they are decoded.
    pub(crate) fn needs_all(&self, pipe: &Pipe) -> bool {
        pipe.is_whole() || *self != Selection::default() || may_be_converted(&pipe.first())
    }

    /// The trace in the bytes of a file, and what was converted. `None`: it is the bytes as they
    /// are.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub fn convert(&self, file: &[u8]) -> Result<Option<(Bytes, Option<String>)>, Invalid> {
        let selected = self.select(&Bytes::from(file.to_vec()))?;
        let text = |of: Conversion| of.to_string();
        Ok(selected.map(|selected| (selected.bytes, selected.what.map(text))))
    }

    /// The trace in `file`. `None`: it is the file as it is.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub(crate) fn select(&self, file: &Bytes) -> Result<Option<Selected>, String> {
        let Some(unpacked) = unpacked(file).transpose()? else { return self.part(file) };
        let len = unpacked.len();
        let packed = Container::Gzip;
        let selected = self.part(&unpacked)?.unwrap_or(Selected { bytes: unpacked, what: None });
        let help = selected.what.as_ref().and_then(|inside| inside.help.clone());
        let what = match selected.what {
            Some(inside) => format!("it is {packed}; inside, {}", inside.what),
            None => format!("it is {packed}: {len} bytes are read"),
        };
        Ok(Some(Selected { what: Some(Conversion { what, help }), ..selected }))
    }

    /// The trace in a file that is not compressed.
    fn part(&self, file: &Bytes) -> Result<Option<Selected>, String> {
        let memory = read(file, self.buffer.is_some()).transpose()?;
        let selected = match (memory, self.buffer) {
            (Some(memory), buffer) => Some(memory.part(buffer)?),
            (None, Some(_)) => {
                return Err(format!(
                    "it has no addresses in which a buffer could be searched for; cut it with {SKIP}"
                ));
            }
            (None, None) => None,
        };
        let (swap, at) = (self.swap.unwrap_or_default(), self.messages_at.unwrap_or_default());
        if (swap, at) == (Swap::None, MessagesAt::Bytes) {
            return Ok(selected);
        }
        let (bytes, what) = match selected {
            Some(selected) => (selected.bytes, selected.what),
            None => (file.clone(), None),
        };
        if bytes.len() > MAX_SWAPPED {
            let (size, limit) = (bytes.len(), MAX_SWAPPED);
            return Err(format!("at most {limit} of its {size} bytes can be swapped"));
        }
        let bytes = swap.apply(&bytes);
        if at == MessagesAt::Bytes {
            return Ok(Some(Selected { bytes: Bytes::from(bytes), what }));
        }
        let found = nexus_port::aligned(&bytes);
        let aligned = format!(
            "{} of {} messages begin inside a byte, and are read as {} bytes",
            found.inside,
            found.messages,
            found.bytes.len()
        );
        let what = match what {
            Some(before) => Conversion { what: format!("{}; {aligned}", before.what), ..before },
            None => Conversion { what: aligned, help: None },
        };
        Ok(Some(Selected { bytes: Bytes::from(found.bytes), what: Some(what) }))
    }
}

impl MemoryFile {
    /// The only piece of memory, or the part of one that `buffer` describes.
    fn part(self, buffer: Option<BufferAt>) -> Result<Selected, String> {
        let form = &self.form;
        let Some(BufferAt { address, size }) = buffer else {
            let [piece] = self.pieces.as_slice() else {
                return Err(format!(
                    "it is {form}, with {}; {BUFFER} ADDRESS, or SYMBOL with {IMAGE}, selects the \
                     trace buffer; a program belongs to {IMAGE}",
                    self.listed()
                ));
            };
            let len = piece.bytes.len();
            let from = match piece.address.filter(|_| !self.offsets) {
                Some(address) => format!(" from {address:#x} on"),
                None => String::new(),
            };
            let what = format!("it is {form}: {len} bytes{from} are read");
            let help = self.is_core.then(|| {
                format!(
                    "a trace buffer in it is selected with {BUFFER} ADDRESS, or SYMBOL with {IMAGE}"
                )
            });
            let what = Some(Conversion { what, help });
            return Ok(Selected { bytes: piece.bytes.clone(), what });
        };
        let found = self.pieces.iter().find_map(|piece| {
            let offset = address.checked_sub(piece.address?)?;
            let rest = (piece.bytes.len() as u64).checked_sub(offset).filter(|rest| *rest > 0)?;
            Some((piece, offset, rest))
        });
        let Some((piece, offset, rest)) = found else {
            return Err(format!(
                "it is {form}, and has no memory at {address:#x}: it has {}",
                self.listed()
            ));
        };
        let len = size.unwrap_or(rest);
        if len > rest {
            return Err(format!(
                "it is {form}, and has {rest} of the {len} bytes of memory from {address:#x} on"
            ));
        }
        let what = format!("it is {form}: {len} bytes from {address:#x} on are read");
        let what = Some(Conversion { what, help: None });
        Ok(Selected { bytes: piece.bytes.part(offset, len), what })
    }

    /// The pieces of memory in words.
    fn listed(&self) -> String {
        let ranges = self.pieces.iter().map(|piece| {
            let len = piece.bytes.len();
            piece.address.map_or(format!("{len} bytes"), |at| format!("{len} bytes at {at:#x}"))
        });
        let more = self.pieces.len().saturating_sub(LISTED);
        let more = (more > 0).then(|| format!("and {more} more"));
        let all: Vec<String> = ranges.take(LISTED).chain(more).collect();
        if all.is_empty() { "no memory".to_owned() } else { all.join(", ") }
    }
}

/// Whether bytes that begin with `head` may be memory as text, in records or in a core dump, or
/// compressed: no trace begins so.
pub fn may_be_converted(head: &[u8]) -> bool {
    /// Fewer bytes may be those of a trace.
    const LEAST: usize = 16;
    let packed = Container::probe(head).is_some_and(Container::is_memory);
    packed || is_core(head) || head.len() >= LEAST && super::text::text(head).is_some()
}

/// Whether a file with the first bytes `head` is an ELF file that may have a trace buffer.
pub(crate) fn is_core(head: &[u8]) -> bool {
    super::core::is_elf_core(head)
}
