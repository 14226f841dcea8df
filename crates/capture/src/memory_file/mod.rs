//! Files that have memory with its addresses, or as text: what debuggers, boot loaders and dump
//! tools print, records, core dumps. A trace buffer may be a part of it.
//!
//! | file | contents |
//! |---|---|
//! | `rows.rs` | rows of an address and hexadecimal words |
//! | `numbers.rs` | rows of an address and other numbers |
//! | `lists.rs` | words without addresses, base64 |
//! | `literal.rs` | numbers of programs and assemblers |
//! | `arrays.rs` | arrays and lists of such numbers |
//! | `assembler.rs` | data of assemblers |
//! | `strings.rs` | strings of a program, and bytes in a log |
//! | `records.rs` | Tektronix hex, Verilog, TI-TXT |
//! | `gzip.rs` | files that are compressed |
//! | `core.rs` | core dumps in ELF, of Zephyr and of ESP-IDF |
//! | `selection.rs` | the part that is the trace buffer, and the order of its bytes |
//!
//! Intel HEX, S-records and UF2 are in `image_file.rs`.

mod arrays;
mod assembler;
mod core;
mod gzip;
mod lists;
mod literal;
mod numbers;
mod records;
mod rows;
mod selection;
mod strings;
mod text;

use crate::Bytes;
use crate::dump::ELF;
use crate::image_file;
use text::text;

pub(crate) use selection::is_core;
pub use selection::{BufferAt, MessagesAt, Selection, Swap, may_be_converted};

/// The greatest size in bytes of the text, and of the memory in it.
pub(crate) const LARGEST: usize = 1 << 26;

/// The fewest bytes in a text that are taken for memory.
const LEAST: usize = 16;

/// A part of memory.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Piece {
    /// The address of its first byte, where it is known.
    pub(crate) address: Option<u64>,
    pub(crate) bytes: Bytes,
}

/// What a file holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MemoryFile {
    /// What the file is.
    pub(crate) form: String,
    /// Its memory.
    pub(crate) pieces: Vec<Piece>,
    /// The addresses are offsets in another file.
    pub(crate) offsets: bool,
    /// It is a core dump: memory of a processor, of which a trace buffer is a part.
    pub(crate) is_core: bool,
}

impl MemoryFile {
    fn new(form: &str, pieces: impl IntoIterator<Item = (u64, Bytes)>) -> MemoryFile {
        let piece = |(address, bytes)| Piece { address: Some(address), bytes };
        MemoryFile {
            form: form.to_owned(),
            pieces: pieces.into_iter().map(piece).collect(),
            offsets: false,
            is_core: false,
        }
    }

    fn core(form: &str, pieces: core::Pieces) -> MemoryFile {
        MemoryFile { is_core: true, ..MemoryFile::new(form, pieces) }
    }
}

/// The memory in `file` for an image that was given with `base`: what a debugger printed, records,
/// or a core dump. `None`: it is a file of another kind.
///
/// # Errors
/// Why it cannot be read.
pub(crate) fn image(file: &Bytes, base: Option<u64>) -> Option<Result<Vec<(u64, Bytes)>, String>> {
    let memory = match read(file, false)? {
        Ok(memory) => memory,
        Err(why) => return Some(Err(why)),
    };
    let MemoryFile { form, pieces, offsets, .. } = memory;
    let has_addresses = !offsets && pieces.iter().all(|piece| piece.address.is_some());
    let base = match (base, has_addresses) {
        (None, true) => 0,
        (Some(base), false) => base,
        (None, false) => {
            return Some(Err(format!("it is {form}, without addresses; add @ADDRESS")));
        }
        (Some(base), true) => {
            let why =
                format!("it is {form}, which has its own addresses; give it without @{base:#x}");
            return Some(Err(why));
        }
    };
    let at = |piece: Piece| Some((piece.address.unwrap_or(0).checked_add(base)?, piece.bytes));
    Some(Ok(pieces.into_iter().filter_map(at).collect()))
}

/// Reads the memory in `file`. `None`: it is a file of another kind, whose bytes are trace data or
/// memory as they are. ELF files that are no core dumps are read where `any_elf`.
///
/// # Errors
/// What the file is, and what is wrong with it.
pub(crate) fn read(file: &Bytes, any_elf: bool) -> Option<Result<MemoryFile, String>> {
    let head = file.head(1 << 12);
    let damaged = |form: &str, why: String| format!("it is {form}, and damaged: {why}");
    if core::is_elf_core(&head) || any_elf && head.starts_with(ELF) {
        let form = "an ELF core file";
        let pieces = core::elf(file).map_err(|why| damaged(form, why));
        return Some(pieces.map(|pieces| MemoryFile::core(form, pieces)));
    }
    if let Some((form, pieces)) = core::binary(file) {
        let pieces = pieces.map_err(|why| damaged(&form, why));
        return Some(pieces.map(|pieces| MemoryFile::core(&form, pieces)));
    }
    if let Some(format) = image_file::recognise(&head) {
        let pieces = image_file::read(file)?;
        return Some(pieces.map(|pieces| MemoryFile::new(format.name(), pieces)));
    }
    text(&head)?;
    if file.len() > LARGEST {
        let size = file.len();
        return Some(Err(format!("it is text of {size} bytes; at most {LARGEST} are read")));
    }
    let text = text(file)?;
    printed(&text)
}

/// The memory in a text.
fn printed(text: &[u8]) -> Option<Result<MemoryFile, String>> {
    let owned = |pieces: Vec<(u64, Vec<u8>)>| {
        pieces.into_iter().map(|(address, bytes)| (address, Bytes::from(bytes)))
    };
    if let Some(dump) = core::logged(text) {
        if dump.is_empty() {
            return None;
        }
        let Some((form, pieces)) = core::binary(&dump) else {
            let form =
                "bytes in lines of a log (#CD:), without the header of a core dump".to_owned();
            let pieces = vec![Piece { address: None, bytes: dump }];
            return Some(Ok(MemoryFile { form, pieces, offsets: false, is_core: false }));
        };
        let form = format!("{form} in a log");
        let pieces = pieces.map_err(|why| format!("it is {form}, and damaged: {why}"));
        return Some(pieces.map(|pieces| MemoryFile::core(&form, pieces)));
    }
    if let Some(records) = records::tektronix(text) {
        let file = records.map(|records| MemoryFile::new(records.form, owned(records.pieces)));
        return Some(
            file.map_err(|why| format!("it is extended Tektronix hex, and damaged: {why}")),
        );
    }
    if let Some(records) = records::verilog(text) {
        return Some(Ok(MemoryFile::new(records.form, owned(records.pieces))));
    }
    let rows = numbers::binary(text).or_else(|| rows::read(text)).or_else(|| numbers::read(text));
    if let Some(rows) = rows {
        let file = MemoryFile::new(rows.form, owned(rows.pieces));
        return Some(Ok(MemoryFile { offsets: rows.offsets, ..file }));
    }
    let text = without_header(text);
    // Names of directives may be hexadecimal digits.
    let list = assembler::read(text)
        .or_else(|| lists::digits(text))
        .or_else(|| arrays::array(text))
        .or_else(|| lists::base64(text))
        .or_else(|| arrays::numbers(text))
        .or_else(|| arrays::elements(text))
        .or_else(|| strings::printed(text))
        .or_else(|| strings::string(text))
        .or_else(|| strings::tails(text));
    let Some(list) = list else { return lists::damaged_digits(text).map(Err) };
    let bytes = Bytes::from(list.bytes);
    if let Some((form, pieces)) = core::binary(&bytes) {
        let form = format!("{form} in {}", list.form);
        let pieces = pieces.map_err(|why| format!("it is {form}, and damaged: {why}"));
        return Some(pieces.map(|pieces| MemoryFile::core(&form, pieces)));
    }
    let piece = Piece { address: None, bytes };
    let form = list.form.into_owned();
    Some(Ok(MemoryFile { form, pieces: vec![piece], offsets: false, is_core: false }))
}

/// `text` without the first line of a data file of Code Composer Studio, which begins with the
/// number 1651.
fn without_header(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|byte| *byte == b'\n').unwrap_or(0);
    let (first, rest) = text.split_at_checked(end).unwrap_or((&[], text));
    if first.starts_with(b"1651 ") { rest } else { text }
}
