//! A decode tree: the deformatter, the decoders of its sources, and program memory.

mod pieces;

use pieces::{Collector, Kind, Pieces};
use tracewright_frames::{Framing, Link, Splitter};
use tracewright_opencsd::client::codes::{Error, create, formatter, operation, response};
use tracewright_opencsd::client::config::configure;
use tracewright_opencsd::client::stats::{DecodeStats, LinkStats};
use tracewright_opencsd::registers::DecoderRegisters;

use crate::custom::CustomDecoder;
use crate::decoder::Decoder;
use crate::log::{self, Logged};
use crate::memory::Memory;
use crate::outlet::Outlet;

/// A decode tree. A client has a handle to it.
#[derive(Debug)]
pub struct Tree {
    /// Program memory of all sources.
    pub memory: Memory,
    /// Where elements and messages go.
    pub outlet: Outlet,
    splitter: Splitter,
    framed: bool,
    /// The size of a block of data must be a multiple of this.
    alignment: usize,
    /// In the order of their trace IDs.
    decoders: Vec<Decoder>,
    /// Decoders of the client.
    customs: Vec<CustomDecoder>,
    pieces: Pieces,
    /// The offset of the next block of data.
    next_at: Option<u64>,
    /// The end of the trace waits until the client has taken all elements.
    ending: bool,
    stats: LinkStats,
}

// SAFETY: a tree holds functions and context pointers of its client. The client states, by using
// the tree from a thread, that they may be used there; the registry lets one thread in at a time.
unsafe impl Send for Tree {}

/// Bytes that are split at once. Elements behind one at which the client waits are stored.
const CHUNK: usize = 1 << 10;

impl Tree {
    /// A tree for trace in frames (`framed`) or of one source.
    ///
    /// # Errors
    /// Flags that are unknown or contradict each other.
    pub fn new(framed: bool, flags: u32) -> Result<Self, Error> {
        let has = |flag: u32| flags & flag != 0;
        let syncs = has(formatter::FSYNCS | formatter::HSYNCS);
        if framed
            && (flags & !formatter::ALL != 0 || flags == 0 || syncs && has(formatter::MEM_ALIGN))
        {
            return Err(Error::INVALID_PARAM_VAL);
        }
        let (framing, alignment) = match () {
            () if !framed => (Framing::Raw, 1),
            () if has(formatter::HSYNCS) && has(formatter::FSYNCS) => (Framing::TpiuHalf, 2),
            () if has(formatter::HSYNCS) => (Framing::TpiuHalfOnly, 2),
            () if has(formatter::FSYNCS) => (Framing::Tpiu, 4),
            () => (Framing::Coresight, 16),
        };
        let mut link = Link::new(framing).opencsd();
        link.barriers = has(formatter::RESET_ON_4X_FSYNC);
        Ok(Tree {
            memory: Memory::default(),
            outlet: Outlet { framed, ..Outlet::default() },
            splitter: Splitter::new(link),
            framed,
            alignment,
            decoders: Vec::new(),
            customs: Vec::new(),
            pieces: Pieces::new(framing),
            next_at: None,
            ending: false,
            stats: LinkStats::default(),
        })
    }

    /// Creates a decoder and returns its trace ID.
    ///
    /// # Errors
    /// An invalid trace ID or configuration, or a decoder with this trace ID.
    pub fn create(
        &mut self,
        builtin: &DecoderRegisters,
        flags: u32,
        words: &[u32],
    ) -> Result<u8, Error> {
        if flags & (create::PACKETS | create::ELEMENTS) == 0 {
            return Err(Error::INVALID_PARAM_VAL);
        }
        let config = configure(builtin, words, flags).ok_or(Error::HW_CFG_UNSUPP)?;
        let id = config.trace_id();
        self.check_id(id)?;
        let decoder =
            Decoder::new(id, &config, flags, &mut self.memory).ok_or(Error::HW_CFG_UNSUPP)?;
        let at = self.decoders.partition_point(|other| other.id < id);
        self.decoders.insert(at, decoder);
        Ok(id)
    }

    /// Adds a decoder of the client.
    ///
    /// # Errors
    /// See [`check_id`](Self::check_id).
    pub fn add(&mut self, decoder: CustomDecoder) -> Result<(), Error> {
        self.check_id(decoder.id)?;
        self.customs.push(decoder);
        Ok(())
    }

    /// Whether a decoder with this trace ID can be added.
    ///
    /// # Errors
    /// The ID is invalid, or there is a decoder.
    pub fn check_id(&mut self, id: u8) -> Result<(), Error> {
        if self.framed && !(1..0x70).contains(&id) {
            return Err(Error::INVALID_ID);
        }
        if self.decoder(id).is_some() || self.custom(id).is_some() {
            return Err(Error::ATTACH_TOO_MANY);
        }
        Ok(())
    }

    /// The client's decoder of a trace ID.
    pub fn custom(&mut self, id: u8) -> Option<&mut CustomDecoder> {
        let framed = self.framed;
        self.customs.iter_mut().find(|decoder| !framed || decoder.id == id)
    }

    /// The decoder of a trace ID. Without frames there is one, whatever its ID is.
    pub fn decoder(&mut self, id: u8) -> Option<&mut Decoder> {
        let framed = self.framed;
        self.decoders.iter_mut().find(|decoder| !framed || decoder.id == id)
    }

    /// Removes the decoder of a trace ID.
    ///
    /// # Errors
    /// The ID is invalid, or has no decoder.
    pub fn remove(&mut self, id: u8) -> Result<(), Error> {
        let framed = self.framed;
        if framed && !(1..0x70).contains(&id) {
            return Err(Error::INVALID_ID);
        }
        let count = |tree: &Self| tree.decoders.len() + tree.customs.len();
        let before = count(self);
        self.decoders.retain(|decoder| framed && decoder.id != id);
        self.customs.retain(|decoder| framed && decoder.id != id);
        if count(self) < before { Ok(()) } else { Err(Error::INVALID_ID) }
    }

    /// Prints frames as messages.
    ///
    /// # Errors
    /// The tree has no frames.
    pub fn print_frames(&mut self, flags: u32) -> Result<(), Error> {
        if !self.framed {
            return Err(Error::DCDT_NO_FORMATTER);
        }
        let has = |flag: u32| flags & flag != 0;
        self.pieces.print(has(formatter::PACKED), has(formatter::UNPACKED));
        Ok(())
    }

    /// The statistics of a source.
    pub fn stats(&mut self, id: u8) -> Option<&mut DecodeStats> {
        let link = self.stats;
        let decoder = self.decoder(id)?;
        decoder.stats.link = link;
        Some(&mut decoder.stats)
    }

    /// Sets the statistics of a source, and those of the formatter, to zero.
    ///
    /// # Errors
    /// The ID has no decoder.
    pub fn reset_stats(&mut self, id: u8) -> Result<(), Error> {
        self.stats = LinkStats::default();
        *self.decoder(id).ok_or(Error::INVALID_PARAM_VAL)?.stats = DecodeStats::default();
        Ok(())
    }

    /// A data path operation. Returns the response, and how much of the data was taken.
    pub fn process(&mut self, operation: u32, at: u64, data: &[u8]) -> (u32, usize) {
        self.outlet.begin();
        let taken = match operation {
            operation::DATA => self.data(at, data),
            operation::END => {
                self.ending = true;
                self.resume();
                0
            }
            operation::FLUSH => {
                for decoder in &mut self.decoders {
                    decoder.outputs.report(operation, 0, &self.outlet);
                }
                for decoder in &mut self.customs {
                    decoder.operation(operation, 0, &self.memory, &self.outlet);
                }
                self.resume();
                0
            }
            operation::RESET => {
                self.reset(at);
                0
            }
            _ => {
                self.outlet.respond(response::FATAL_INVALID_OP);
                0
            }
        };
        (self.outlet.response.get(), taken)
    }

    /// Returns to the initial state. Without frames the source receives the offset.
    fn reset(&mut self, at: u64) {
        let at = if self.framed { 0 } else { at };
        self.splitter = Splitter::new(self.splitter.link());
        self.pieces.clear();
        (self.next_at, self.ending) = (None, false);
        for decoder in &mut self.decoders {
            decoder.reset();
            decoder.outputs.report(operation::RESET, at, &self.outlet);
        }
        for decoder in &mut self.customs {
            decoder.operation(operation::RESET, at, &self.memory, &self.outlet);
        }
    }

    /// Refuses data.
    fn refuse(&self, at: u64, error: Error, message: &str, answer: u32) {
        let logged = Logged { error, at: Some(at), id: None, message: message.to_owned() };
        log::error(self.outlet.printer.as_ref(), "DFMT_CSFRAMES", logged);
        self.outlet.respond(answer);
    }

    fn data(&mut self, at: u64, data: &[u8]) -> usize {
        if data.is_empty() {
            self.outlet.respond(response::FATAL_INVALID_PARAM);
            return 0;
        }
        if !self.framed && self.decoders.is_empty() && self.customs.is_empty() {
            self.outlet.respond(response::FATAL_NOT_INIT);
            return 0;
        }
        // A client that waits should flush first.
        self.resume();
        if self.outlet.is_closed() {
            return 0;
        }
        if self.framed {
            if self.next_at.is_some_and(|next| next != at) {
                let fatal = response::FATAL_INVALID_DATA;
                self.refuse(at, Error::DFMTR_NOTCONTTRACE, "", fatal);
                return 0;
            }
            if !data.len().is_multiple_of(self.alignment) {
                let message = format!("A block must have a multiple of {} bytes.", self.alignment);
                let fatal = response::FATAL_INVALID_DATA;
                self.refuse(at, Error::INVALID_PARAM_VAL, &message, fatal);
                return 0;
            }
        }
        let taken = if self.framed { self.frames(at, data) } else { self.single(at, data) };
        self.next_at = Some(u64::from(at.wrapping_add(taken as u64) as u32));
        taken
    }

    /// Decodes data in frames, one frame after another where the client must not wait long.
    fn frames(&mut self, at: u64, data: &[u8]) -> usize {
        let watched = self.memory.has_callbacks()
            || self.pieces.prints()
            || self.decoders.iter().any(|decoder| decoder.outputs.wants_packets());
        let chunk = if watched { tracewright_frames::FRAME } else { CHUNK };
        let mut taken = 0;
        for part in data.chunks(chunk) {
            if self.outlet.is_closed() {
                break;
            }
            let at = at.wrapping_add(taken as u64);
            if self.pieces.prints() {
                self.splitter.split(at, part, &mut Collector::<true>(&mut self.pieces));
                self.pieces.print_lines(&self.outlet);
            } else {
                self.splitter.split(at, part, &mut Collector::<false>(&mut self.pieces));
            }
            self.stats.frame += part.len() as u64;
            taken += part.len();
            self.pieces();
        }
        taken
    }

    /// Decodes data of one source.
    fn single(&mut self, at: u64, data: &[u8]) -> usize {
        let Tree { decoders, customs, memory, outlet, .. } = self;
        if let Some(custom) = customs.first_mut() {
            custom.data(at, data, memory, outlet);
            return data.len();
        }
        let Some(decoder) = decoders.first_mut() else { return 0 };
        decoder.push(at, true, data);
        decoder.decode(memory, outlet);
        if outlet.is_closed() {
            // What was not decoded belongs to this block or is the beginning of a packet before it.
            return data.len() - decoder.take_back().min(data.len());
        }
        data.len()
    }

    /// Decodes the pieces of frames until the client waits.
    fn pieces(&mut self) {
        let Tree { decoders, customs, memory, outlet, pieces, stats, .. } = self;
        while !outlet.is_closed()
            && let Some(piece) = pieces.next()
        {
            match piece.kind {
                Kind::Source { id, at, fragment } => {
                    let bytes = pieces.bytes(&piece);
                    let len = bytes.len() as u64;
                    stats.frame = stats.frame.saturating_sub(len);
                    match decoders.iter_mut().find(|decoder| u16::from(decoder.id) == id) {
                        Some(decoder) => {
                            stats.with_decoder += len;
                            match pieces.word(&piece) {
                                Some((word, len)) => decoder.push_short(at, fragment, word, len),
                                None => decoder.push(at, fragment, bytes),
                            }
                            if pieces.peek() != Some(id) {
                                decoder.decode(memory, outlet);
                            }
                        }
                        None => match customs.iter_mut().find(|own| u16::from(own.id) == id) {
                            Some(custom) => {
                                stats.with_decoder += len;
                                custom.data(at, bytes, memory, outlet);
                            }
                            None => stats.without_decoder += len,
                        },
                    }
                }
                Kind::Barrier => {
                    for decoder in decoders.iter_mut() {
                        decoder.reset();
                        decoder.outputs.report(operation::RESET, 0, outlet);
                    }
                    for decoder in customs.iter_mut() {
                        decoder.operation(operation::RESET, 0, memory, outlet);
                    }
                }
                Kind::Reserved { len } => {
                    stats.frame = stats.frame.saturating_sub(len.into());
                    stats.reserved += u64::from(len);
                }
                Kind::Unknown { len } => {
                    stats.frame = stats.frame.saturating_sub(len.into());
                    stats.unknown += u64::from(len);
                }
            }
        }
        pieces.drop_taken();
    }

    /// Delivers what waits, and decodes what was not decoded because of that.
    fn resume(&mut self) {
        let Tree { decoders, customs, memory, outlet, .. } = self;
        for decoder in customs.iter_mut() {
            decoder.resume(memory, outlet);
            if outlet.is_closed() {
                return;
            }
        }
        for decoder in decoders.iter_mut() {
            if !decoder.deliver(outlet) {
                return;
            }
            decoder.resume(memory, outlet);
            if outlet.is_closed() {
                return;
            }
        }
        self.pieces();
        if !self.ending || self.outlet.is_closed() {
            return;
        }
        self.ending = false;
        for decoder in &mut self.decoders {
            decoder.finish(&mut self.memory, &self.outlet);
        }
        for decoder in &mut self.customs {
            decoder.operation(operation::END, 0, &self.memory, &self.outlet);
        }
        self.splitter = Splitter::new(self.splitter.link());
        self.next_at = None;
    }
}
