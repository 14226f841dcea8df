//! The packets of a PTM: parse and emit.

mod address;
mod atoms;
pub(super) mod cycles;

use core::fmt;

use tracewright_base::{Fault, Isa, Parse, Wire};

use super::config::Config;
use crate::bits;
use crate::kind::packet_kinds;

pub use address::{Address, State};
pub use atoms::Atoms;

/// One PTM packet. (IHI 0035, "PFT packet formats")
///
/// Headers are in the specification's letters; C means that another byte follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet {
    /// `0000_0000` five times or more, then `1000_0000`: alignment synchronisation (A-sync).
    Align,
    /// `0000_1000`: instruction synchronisation (I-sync).
    Sync(Sync),
    /// `1xxx_xxx0` where cycles are not counted: up to five atoms.
    Atoms(Atoms),
    /// `1CCC_CCA0` where cycles are counted, and 0 to 4 bytes: one atom.
    TimedAtom {
        /// `true`: E; `false`: N.
        taken: bool,
        /// Processor cycles since the previous cycle count.
        cycles: u32,
    },
    /// `Cxxx_xxx1`: an indirect branch was taken, or an exception.
    Branch(Branch),
    /// `0111_0010`: a waypoint update, with the last instruction before an exception or within long
    /// straight code.
    Waypoint(Waypoint),
    /// `0000_1100`: the trigger fired.
    Trigger,
    /// `0110_1110` and 1, 2 or 4 bytes: the value of CONTEXTIDR.
    ContextId(u32),
    /// `0011_1100` and a byte: the virtual machine identifier.
    Vmid(u8),
    /// `0100_0R10` and 1 to 9 bytes: a timestamp.
    Timestamp(Timestamp),
    /// `0111_0110`: the next branch returns from an exception.
    ExceptionReturn,
    /// `0110_0110`: padding.
    Ignore,
}

packet_kinds!(
    Packet:
    Align, Sync, Atoms, TimedAtom, Branch, Waypoint, Trigger, ContextId, Vmid, Timestamp,
    ExceptionReturn, Ignore,
);

/// An I-sync packet. (IHI 0035, "I-sync, instruction synchronization packet")
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sync {
    /// Byte address of the next instruction, bit 0 clear.
    pub address: u32,
    /// T, bit 0 of the first address byte: T32 or ThumbEE state.
    pub thumb: bool,
    /// Why it was sent, bits \[6:5] of the information byte.
    pub reason: Reason,
    /// NS, bit 3: Non-secure state.
    pub non_secure: bool,
    /// AltISA, bit 2: with `thumb`, ThumbEE state.
    pub alternative: bool,
    /// Hyp, bit 1: Hyp mode. (PFTv1.1)
    pub hyp: bool,
    /// Processor cycles since the previous cycle count, where cycles are counted and the reason is
    /// not [`Reason::Periodic`].
    pub cycles: Option<u32>,
    /// CONTEXTIDR, limited to the bytes that are traced; `None` where it is not traced.
    pub context_id: Option<u32>,
}

impl Sync {
    /// The instruction set at `address`.
    pub const fn isa(&self) -> Isa {
        match (self.thumb, self.alternative) {
            (false, _) => Isa::A32,
            (true, false) => Isa::T32,
            (true, true) => Isa::ThumbEe,
        }
    }
}

/// Why an I-sync packet was sent. (IHI 0035, "I-sync packet", Reason)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reason {
    /// 0: periodic synchronisation.
    #[default]
    Periodic,
    /// 1: tracing was switched on.
    TraceOn,
    /// 2: tracing continues after an overflow of the trace unit.
    Overflow,
    /// 3: the processor left Debug state.
    DebugExit,
}

impl Reason {
    const fn from_bits(bits: u8) -> Self {
        match bits & 0b11 {
            0 => Reason::Periodic,
            1 => Reason::TraceOn,
            2 => Reason::Overflow,
            _ => Reason::DebugExit,
        }
    }
}

/// A branch address packet. (IHI 0035, "Branch address packet")
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Branch {
    /// The target address.
    pub address: Address,
    /// The exception information bytes, if present.
    pub info: Option<Info>,
    /// Processor cycles since the previous cycle count, where cycles are counted.
    pub cycles: Option<u32>,
}

impl Branch {
    /// The number of the exception; `None`: the packet is not an exception.
    pub const fn exception(&self) -> Option<u16> {
        match self.info {
            Some(Info { exception, .. }) if exception != 0 => Some(exception),
            _ => None,
        }
    }
}

/// The exception information bytes. The second is sent only if it is not zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// Exception number, bits \[3:0] in bits \[4:1] of the first byte, \[8:4] in bits \[4:0] of
    /// the second. 0: no exception, only a change of state.
    pub exception: u16,
    /// NS, bit 0 of the first byte: Non-secure state after the branch.
    pub non_secure: bool,
    /// AltISA, bit 6 of the first byte: with a T32 address, ThumbEE state.
    pub alternative: bool,
    /// Hyp, bit 5 of the second byte: Hyp mode after the branch. (PFTv1.1)
    pub hyp: bool,
}

impl Info {
    /// The name of the exception. (IHI 0035, "Exception field")
    pub const fn name(&self) -> &'static str {
        match self.exception {
            0 => "no exception",
            1 => "halting debug",
            2 => "secure monitor call",
            3 => "entry to Hyp mode",
            4 => "asynchronous data abort",
            5 => "ThumbEE check",
            8 => "processor reset",
            9 => "undefined instruction",
            10 => "supervisor call",
            11 => "prefetch abort or software breakpoint",
            12 => "synchronous data abort or software watchpoint",
            13 => "generic",
            14 => "IRQ",
            15 => "FIQ",
            _ => "reserved",
        }
    }
}

/// A waypoint update packet. (IHI 0035, "Waypoint update packet")
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waypoint {
    /// The address of the last instruction that executed.
    pub address: Address,
    /// AltISA of the information byte, if present: with a T32 address, ThumbEE state.
    pub alternative: Option<bool>,
}

/// A timestamp packet. (IHI 0035, "Timestamp packet")
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamp {
    /// R: the processor clock changed since the previous timestamp.
    pub clock_changed: bool,
    /// The low bits of the timestamp, in the encoding of the unit. Upper bits are unchanged.
    pub bits: u64,
    /// Number of bits: 7, 14, .. 42, then 48, or 49, 56, 64.
    pub count: u8,
    /// Processor cycles since the previous cycle count, where cycles are counted.
    pub cycles: Option<u32>,
}

impl Wire<Config> for Packet {
    fn parse(bytes: &[u8], config: &Config) -> Parse<Self> {
        let Some((&header, rest)) = bytes.split_first() else {
            return Parse::Partial;
        };
        match header {
            0x00 => align(bytes),
            h if h & 1 == 1 => bits::or_partial(branch(bytes, config)),
            h if h & 0x80 != 0 => atom(bytes, config),
            Sync::HEADER => match Sync::parse(bytes, config) {
                Some((sync, len)) => Parse::Packet(Packet::Sync(sync), len),
                // What follows the information byte is not known to be the rest of the packet.
                None if bytes.get(Sync::INFO).is_some_and(|info| info & 1 == 0) => {
                    Parse::Bad(Sync::INFO, Fault::Sequence)
                }
                None => Parse::Partial,
            },
            0x0c => Parse::Packet(Packet::Trigger, 1),
            0x3c => match rest.first() {
                Some(&vmid) => Parse::Packet(Packet::Vmid(vmid), 2),
                None => Parse::Partial,
            },
            0x42 | 0x46 => bits::or_partial(timestamp(header, rest, config)),
            0x66 => Parse::Packet(Packet::Ignore, 1),
            0x6e => match config.context_id_bytes() {
                0 => Parse::Bad(1, Fault::ReservedForConfig(header)),
                n => match little_endian(rest, n) {
                    Some(id) => Parse::Packet(Packet::ContextId(id), 1 + n),
                    None => Parse::Partial,
                },
            },
            0x72 => bits::or_partial(waypoint(rest)),
            0x76 => Parse::Packet(Packet::ExceptionReturn, 1),
            _ => Parse::Bad(1, Fault::Reserved(header)),
        }
    }

    fn emit(&self, config: &Config, out: &mut impl Extend<u8>) {
        match *self {
            Packet::Align => out.extend([0, 0, 0, 0, 0, 0x80]),
            Packet::Sync(sync) => emit_sync(&sync, config, out),
            Packet::Atoms(atoms) => out.extend([atoms.header()]),
            Packet::TimedAtom { taken, cycles } => {
                cycles::emit(cycles, if taken { 0x80 } else { 0x82 }, out);
            }
            Packet::Branch(Branch { address, info, cycles }) => {
                address.emit(info.is_some(), out);
                if let Some(info) = info {
                    let second = (info.exception >> 4) as u8 & 0x1f | flag(info.hyp, 5);
                    let first = flag(info.alternative, 6)
                        | (info.exception as u8 & 0xf) << 1
                        | flag(info.non_secure, 0);
                    if second == 0 {
                        out.extend([first]);
                    } else {
                        out.extend([first | 0x80, second]);
                    }
                }
                if let Some(cycles) = cycles {
                    cycles::emit(cycles, 0, out);
                }
            }
            Packet::Waypoint(Waypoint { address, alternative }) => {
                out.extend([0x72]);
                address.emit(alternative.is_some(), out);
                if let Some(alternative) = alternative {
                    out.extend([flag(alternative, 6)]);
                }
            }
            Packet::Trigger => out.extend([0x0c]),
            Packet::ContextId(id) => {
                out.extend([0x6e]);
                out.extend(id.to_le_bytes().into_iter().take(config.context_id_bytes()));
            }
            Packet::Vmid(vmid) => out.extend([0x3c, vmid]),
            Packet::Timestamp(Timestamp { clock_changed, bits, count, cycles }) => {
                out.extend([0x42 | flag(clock_changed, 2)]);
                bits::emit_groups(bits, count, config.timestamp_bits(), out);
                if let Some(cycles) = cycles {
                    cycles::emit(cycles, 0, out);
                }
            }
            Packet::ExceptionReturn => out.extend([0x76]),
            Packet::Ignore => out.extend([0x66]),
        }
    }
}

/// The fewest zero bytes of an A-sync.
pub const ALIGN_ZEROS: usize = 5;
/// The most zero bytes that are accepted as an A-sync.
pub const ALIGN_ZEROS_LIMIT: usize = 15;

fn align(bytes: &[u8]) -> Parse<Packet> {
    let zeros = bytes.iter().take(ALIGN_ZEROS_LIMIT + 1).take_while(|&&b| b == 0).count();
    if zeros > ALIGN_ZEROS_LIMIT {
        return Parse::Bad(1, Fault::Sequence);
    }
    match bytes.get(zeros) {
        None => Parse::Partial,
        Some(0x80) if zeros >= ALIGN_ZEROS => Parse::Packet(Packet::Align, zeros + 1),
        Some(_) => Parse::Bad(zeros + 1, Fault::Sequence),
    }
}

fn atom(bytes: &[u8], config: &Config) -> Parse<Packet> {
    let Some(&header) = bytes.first() else {
        return Parse::Partial;
    };
    if config.counts_cycles() {
        return match cycles::parse(bytes) {
            Some((cycles, len)) => {
                let taken = header & 0x02 == 0;
                Parse::Packet(Packet::TimedAtom { taken, cycles }, len)
            }
            None => Parse::Partial,
        };
    }
    match Atoms::from_header(header) {
        Some(atoms) => Parse::Packet(Packet::Atoms(atoms), 1),
        None => Parse::Bad(1, Fault::Reserved(header)),
    }
}

/// Parses the payload. `None` here and in the functions below: bytes are missing.
fn branch(bytes: &[u8], config: &Config) -> Option<Parse<Packet>> {
    let (address, has_info, mut at) = match Address::parse(bytes)? {
        Ok(parsed) => parsed,
        Err((len, fault)) => return Some(Parse::Bad(len, fault)),
    };
    let info = if has_info {
        let first = *bytes.get(at)?;
        at += 1;
        let second = if first & 0x80 != 0 {
            at += 1;
            *bytes.get(at - 1)?
        } else {
            0
        };
        Some(Info {
            exception: u16::from(first >> 1 & 0xf) | u16::from(second & 0x1f) << 4,
            non_secure: first & 1 != 0,
            alternative: first & 0x40 != 0,
            hyp: second & 0x20 != 0,
        })
    } else {
        None
    };
    let cycles = cycles_at(bytes, &mut at, config.counts_cycles())?;
    Some(Parse::Packet(Packet::Branch(Branch { address, info, cycles }), at))
}

fn waypoint(rest: &[u8]) -> Option<Parse<Packet>> {
    let (address, has_info, at) = match Address::parse(rest)? {
        Ok(parsed) => parsed,
        Err((len, fault)) => return Some(Parse::Bad(1 + len, fault)),
    };
    let (alternative, len) =
        if has_info { (Some(*rest.get(at)? & 0x40 != 0), at + 1) } else { (None, at) };
    Some(Parse::Packet(Packet::Waypoint(Waypoint { address, alternative }), 1 + len))
}

impl Sync {
    /// The header byte.
    pub(in crate::ptm) const HEADER: u8 = 0x08;

    /// The position of the information byte. Its bit 0 is always 1, so that no packet contains an
    /// A-sync.
    const INFO: usize = 5;

    /// The I-sync that `bytes` begin with, and its length. `None` where bytes are missing, or where
    /// bit 0 of the information byte is clear.
    #[inline]
    pub(in crate::ptm) fn parse(bytes: &[u8], config: &Config) -> Option<(Sync, usize)> {
        let (&[_, a, b, c, d, info], mut after) = bytes.split_first_chunk()?;
        if info & 1 == 0 {
            return None;
        }
        let word = u32::from_le_bytes([a, b, c, d]);
        let (mut cycles, mut context_id) = (None, None);
        let mut len = 6;
        let reason = Reason::from_bits(info >> 5);
        if config.counts_cycles() && reason != Reason::Periodic {
            let (count, more) = cycles::parse(after)?;
            cycles = Some(count);
            len += more;
            after = after.get(more..)?;
        }
        let id_bytes = config.context_id_bytes();
        if id_bytes > 0 {
            context_id = Some(little_endian(after, id_bytes)?);
            len += id_bytes;
        }
        let sync = Sync {
            address: word & !1,
            thumb: word & 1 != 0,
            reason,
            non_secure: info & 0x08 != 0,
            alternative: info & 0x04 != 0,
            hyp: info & 0x02 != 0,
            cycles,
            context_id,
        };
        Some((sync, len))
    }
}

fn emit_sync(sync: &Sync, config: &Config, out: &mut impl Extend<u8>) {
    out.extend([Sync::HEADER]);
    out.extend((sync.address & !1 | u32::from(sync.thumb)).to_le_bytes());
    let info = (sync.reason as u8) << 5
        | flag(sync.non_secure, 3)
        | flag(sync.alternative, 2)
        | flag(sync.hyp, 1)
        | 1;
    out.extend([info]);
    if let Some(cycles) = sync.cycles {
        // Units set bit 7 of the first count byte here, as in an atom packet.
        cycles::emit(cycles, 0x80, out);
    }
    if let Some(id) = sync.context_id {
        out.extend(id.to_le_bytes().into_iter().take(config.context_id_bytes()));
    }
}

fn timestamp(header: u8, rest: &[u8], config: &Config) -> Option<Parse<Packet>> {
    let width = config.timestamp_bits();
    let groups = bits::groups(rest, width)?;
    let mut at = groups.len;
    let cycles = cycles_at(rest, &mut at, config.counts_cycles())?;
    let packet = Packet::Timestamp(Timestamp {
        clock_changed: header & 0x04 != 0,
        bits: bits::replace_low(0, groups.bits, groups.count),
        count: groups.count,
        cycles,
    });
    Some(Parse::Packet(packet, 1 + at))
}

/// Reads the cycle count at `at`, where cycles are counted.
fn cycles_at(bytes: &[u8], at: &mut usize, counted: bool) -> Option<Option<u32>> {
    if !counted {
        return Some(None);
    }
    let (cycles, len) = cycles::parse(bytes.get(*at..)?)?;
    *at += len;
    Some(Some(cycles))
}

/// The number of the first `count` bytes, low byte first.
fn little_endian(bytes: &[u8], count: usize) -> Option<u32> {
    let bytes = bytes.get(..count)?;
    Some(bytes.iter().rev().fold(0, |value, &b| value << 8 | u32::from(b)))
}

const fn flag(set: bool, bit: u8) -> u8 {
    (set as u8) << bit
}

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Packet::Align => f.write_str("alignment sync"),
            Packet::Sync(sync) => {
                let reason = match sync.reason {
                    Reason::Periodic => "periodic",
                    Reason::TraceOn => "trace on",
                    Reason::Overflow => "overflow",
                    Reason::DebugExit => "left debug state",
                };
                write!(f, "instruction sync, {reason}, 0x{:08x} {}", sync.address, sync.isa())?;
                f.write_str(if sync.non_secure { ", non-secure" } else { ", secure" })?;
                if sync.hyp {
                    f.write_str(" Hyp")?;
                }
                if let Some(id) = sync.context_id {
                    write!(f, ", context 0x{id:x}")?;
                }
                show_cycles(sync.cycles, f)
            }
            Packet::Atoms(atoms) => write!(f, "atoms {atoms}"),
            Packet::TimedAtom { taken, cycles } => {
                f.write_str(if *taken { "atom E" } else { "atom N" })?;
                show_cycles(Some(*cycles), f)
            }
            Packet::Branch(branch) => {
                write!(f, "branch {}", branch.address)?;
                if let Some(info) = branch.info {
                    if info.exception != 0 {
                        write!(f, ", exception {} ({})", info.exception, info.name())?;
                    }
                    f.write_str(if info.non_secure { ", non-secure" } else { ", secure" })?;
                    if info.hyp {
                        f.write_str(" Hyp")?;
                    }
                    if info.alternative {
                        f.write_str(", ThumbEE")?;
                    }
                }
                show_cycles(branch.cycles, f)
            }
            Packet::Waypoint(waypoint) => write!(f, "waypoint update {}", waypoint.address),
            Packet::Trigger => f.write_str("trigger"),
            Packet::ContextId(id) => write!(f, "context id 0x{id:x}"),
            Packet::Vmid(vmid) => write!(f, "vmid 0x{vmid:x}"),
            Packet::Timestamp(time) => {
                write!(f, "timestamp, low {} bits 0x{:x}", time.count, time.bits)?;
                if time.clock_changed {
                    f.write_str(", clock changed")?;
                }
                show_cycles(time.cycles, f)
            }
            Packet::ExceptionReturn => f.write_str("exception return"),
            Packet::Ignore => f.write_str("ignore"),
        }
    }
}

fn show_cycles(cycles: Option<u32>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match cycles {
        Some(cycles) => write!(f, ", {cycles} cycles"),
        None => Ok(()),
    }
}
