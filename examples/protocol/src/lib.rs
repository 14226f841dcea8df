//! A trace protocol outside of Tracewright: one message for each branch of a program.
//!
//! | bytes | message |
//! |---|---|
//! | `a5 5a`, an instruction set, 8 bytes | synchronisation: the program continues at this address |
//! | `01` | the next branch was not taken, or a barrier was executed |
//! | `02` | the next branch was taken, and its target is in the opcode |
//! | `03`, 8 bytes | the next branch was taken to this address |
//! | `04`, 8 bytes | a timestamp |
//! | `05`, a length, as many bytes | a note of the program |
//!
//! Numbers are little-endian.
#![forbid(unsafe_code)]

pub mod blocks;

use std::fmt;

use tracewright::base::{
    Block, BlockCache, CoreType, Counted, Decode, Element, End, Fault, Inconsistency, Isa, Last,
    MissingRegister, Parse, Pc, Range, Register, Sink, Space, Spanned, SyncSearch, Waypoints, Wire,
};
use tracewright::protocols::registry::Listed;
use tracewright::protocols::{Protocol, Resume, packet_kinds};

/// The protocol.
#[derive(Clone, Copy, Debug)]
pub struct BranchMessages;

/// The registers of its trace unit.
const REGISTERS: &[Register] = &[Register {
    name: "BMTRACEID",
    aliases: &[],
    about: "trace ID",
    required: false,
    fields: &[],
}];

/// The configuration of a trace unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// The trace ID.
    pub trace_id: u8,
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// The program continues at an address.
    Sync(Isa, u64),
    /// The next branch was not taken.
    NotTaken,
    /// The next branch was taken to the target in its opcode.
    Taken,
    /// The next branch was taken to an address.
    TakenTo(u64),
    /// A timestamp.
    Timestamp(u64),
    /// A note: its length, and its bytes.
    Note(u8, [u8; Message::NOTE]),
}

impl Message {
    /// The most bytes of a note.
    const NOTE: usize = 16;
    const SYNC: [u8; 2] = [0xa5, 0x5a];
    const ISAS: [Isa; 3] = [Isa::A64, Isa::A32, Isa::T32];
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Sync(isa, address) => write!(f, "sync {address:#x} {isa}"),
            Message::NotTaken => f.write_str("not taken"),
            Message::Taken => f.write_str("taken"),
            Message::TakenTo(address) => write!(f, "taken to {address:#x}"),
            Message::Timestamp(value) => write!(f, "timestamp {value}"),
            Message::Note(len, _) => write!(f, "note of {len} bytes"),
        }
    }
}

packet_kinds!(Message: Sync, NotTaken, Taken, TakenTo, Timestamp, Note);

/// A message with a number of eight bytes after `before` bytes.
fn number(bytes: &[u8], before: usize, message: impl Fn(u64) -> Message) -> Parse<Message> {
    match bytes.get(before..).and_then(|rest| rest.first_chunk()) {
        Some(number) => Parse::Packet(message(u64::from_le_bytes(*number)), before + 8),
        None => Parse::Partial,
    }
}

impl Wire<Config> for Message {
    fn parse(bytes: &[u8], _: &Config) -> Parse<Self> {
        match *bytes {
            [] | [0xa5] | [0xa5, 0x5a] => Parse::Partial,
            [0xa5, 0x5a, isa, ..] => match Message::ISAS.get(usize::from(isa)) {
                Some(isa) => number(bytes, 3, |address| Message::Sync(*isa, address)),
                None => Parse::Bad(3, Fault::Reserved(isa)),
            },
            [0x01, ..] => Parse::Packet(Message::NotTaken, 1),
            [0x02, ..] => Parse::Packet(Message::Taken, 1),
            [0x03, ..] => number(bytes, 1, Message::TakenTo),
            [0x04, ..] => number(bytes, 1, Message::Timestamp),
            [0x05, len, ref rest @ ..] if usize::from(len) <= Message::NOTE => {
                let Some(note) = rest.get(..usize::from(len)) else { return Parse::Partial };
                let mut room = [0; Message::NOTE];
                room[..note.len()].copy_from_slice(note);
                Parse::Packet(Message::Note(len, room), 2 + note.len())
            }
            [0x05] => Parse::Partial,
            [header, ..] => Parse::Bad(1, Fault::Reserved(header)),
        }
    }

    fn emit(&self, _: &Config, out: &mut impl Extend<u8>) {
        match self {
            Message::Sync(isa, address) => {
                let isa = Message::ISAS.iter().position(|known| known == isa).unwrap_or(0);
                out.extend(Message::SYNC.into_iter().chain([isa as u8]));
                out.extend(address.to_le_bytes());
            }
            Message::NotTaken => out.extend([0x01]),
            Message::Taken => out.extend([0x02]),
            Message::TakenTo(address) => out.extend([3].into_iter().chain(address.to_le_bytes())),
            Message::Timestamp(value) => out.extend([4].into_iter().chain(value.to_le_bytes())),
            Message::Note(len, note) => {
                out.extend([5, *len]);
                out.extend(note.iter().copied().take((*len).into()));
            }
        }
    }
}

/// The decoder: where the program continues, if that is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decoder(Option<Pc>);

impl Decoder {
    /// Follows the program through the next branch, which was taken, perhaps to an address that the
    /// message states.
    fn branch<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        (taken, to): (bool, Option<u64>),
        code: &mut K,
        sink: &mut S,
    ) {
        let Some(mut pc) = self.0.take() else { return };
        // A block that no branch ends has the greatest length: its code continues. A message may
        // stand for as many instructions as the session allows for each of its bytes.
        for _ in 0..code.max_expansion() {
            let block = match code.block(pc) {
                Ok(block) => *block,
                Err(miss) => return sink.element(at, pc.unreadable(miss.address)),
            };
            let ends = block.end == End::Waypoint;
            if block.instructions > 0 {
                sink.element(at, Element::Range(range(&block, taken && ends)));
            }
            let next = Pc { address: block.next(), ..pc };
            match (block.end, taken) {
                (End::Limit, _) => pc = next,
                (End::Waypoint, false) => return self.0 = Some(next),
                (End::Waypoint, true) => {
                    let isa = block.last.target_isa;
                    let target = to.or(block.last.target);
                    self.0 = target.map(|address| Pc { address, isa, ..pc });
                    if target.is_none() {
                        sink.element(at, Element::Inconsistency(Inconsistency::NoAddress));
                    }
                    return;
                }
                _ => return sink.element(at, next.unreadable(next.address)),
            }
        }
    }
}

/// A block as a range.
fn range(block: &Block, taken: bool) -> Range {
    Range {
        start: block.start,
        bytes: block.bytes,
        instructions: block.instructions,
        cycles: Counted::UNKNOWN,
        last: Last::new(&block.last, taken),
    }
}

impl Decode<Config, Message> for Decoder {
    fn packet<K: BlockCache, S: Sink>(
        &mut self,
        Spanned { at, packet, .. }: Spanned<&Message>,
        _: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        match *packet {
            Message::Sync(isa, address) => self.0 = Some(Pc { address, isa, space: Space::ANY }),
            Message::NotTaken => self.branch(at, (false, None), code, sink),
            Message::Taken => self.branch(at, (true, None), code, sink),
            Message::TakenTo(to) => self.branch(at, (true, Some(to)), code, sink),
            Message::Timestamp(value) => {
                sink.element(at, Element::Timestamp { value, cycles: None });
            }
            Message::Note(len, ref note) => {
                sink.custom(at, "note", note.get(..len.into()).unwrap_or(note));
            }
        }
    }

    fn bad<S: Sink>(&mut self, _: u64, _: Fault, _: &mut S) {
        self.0 = None;
    }

    fn finish<K: BlockCache, S: Sink>(&mut self, _: u64, _: &Config, _: &mut K, _: &mut S) {}
}

impl Protocol for BranchMessages {
    const NAMES: &'static [&'static str] = &["BranchMessages"];
    const TITLE: &'static str = "one message for each branch: an example";
    const REGISTERS: &'static [Register] = REGISTERS;
    const RESUME: Resume = Resume::Seek;
    const ID_REGISTER: Option<(&'static str, u32)> = Some(("BMTRACEID", 0));
    const ISAS: &'static [Isa] = &Message::ISAS;

    type Config = Config;
    type Packet = Message;
    type Decoder = Decoder;

    fn configure(
        _: Option<CoreType>,
        register: &dyn Fn(&str) -> Option<u64>,
    ) -> Result<Config, MissingRegister> {
        Ok(Config { trace_id: register("BMTRACEID").unwrap_or(0) as u8 & 0x7f })
    }

    fn trace_id(config: &Config) -> u8 {
        config.trace_id
    }

    fn waypoints(_: &Config) -> Waypoints {
        Waypoints { isb: true, ..Waypoints::BRANCHES }
    }

    fn sync(_: &Config, bytes: &[u8]) -> SyncSearch {
        match bytes.windows(2).position(|pair| pair == Message::SYNC) {
            Some(at) => SyncSearch::At(at),
            None if bytes.last() == Some(&0xa5) => SyncSearch::NotIn(bytes.len() - 1),
            None => SyncSearch::NotIn(bytes.len()),
        }
    }

    fn is_sync(packet: &Message) -> bool {
        matches!(packet, Message::Sync(..))
    }
}

/// Outside of Tracewright's list, the methods are as they are there.
impl Listed for BranchMessages {}
