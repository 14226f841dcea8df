//! Packets: parse, emit, `Display`. (IHI 0014, chapter 7; the header table is Table 7-1)

pub mod atoms;
pub mod branch;
pub mod data;
pub mod isync;

use core::fmt;

use tracewright_base::{Fault, Parse, Wire};

pub(in crate::etmv3) use atoms::Steps;
pub use atoms::{Atom, Atoms};
pub use branch::{Branch, Info, InfoBytes, MException, State, exception_name};
pub use data::{DataAddress, Value};
pub use isync::{Isync, Reason};

use super::Config;
use crate::bits::{emit_groups, groups};
use crate::kind::packet_kinds;

/// One packet, in its encoded form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet {
    /// `0000_0000` five times or more, then `1000_0000`: A-sync.
    Async {
        /// Number of zero bytes.
        zeros: u32,
    },
    /// `0000_0100` and 1 to 5 bytes: cycles of the gap before the last I-sync that is not periodic.
    /// 0: the count was lost.
    CycleCount(u32),
    /// `0000_1000` or `0111_0000`: instruction synchronisation.
    Isync(Isync),
    /// `0000_1100`: the trigger.
    Trigger,
    /// `xxxx_xxx1`: the target of an indirect branch, or an exception.
    Branch(Branch),
    /// `1xxx_xxx0`: a P-header.
    Atoms(Atoms),
    /// `00a0_ss10`: a data access.
    Data {
        /// A: the access has an address, which follows if addresses are traced.
        first: bool,
        /// The address, if addresses are traced and A is 1.
        address: Option<DataAddress>,
        /// The value, if values are traced.
        value: Option<Value>,
    },
    /// `01a1_tt00`: a data access whose value comes later, under tag `tt`.
    Placeholder {
        /// TT: 1 to 3.
        tag: u8,
        /// A: the access has an address.
        first: bool,
        /// The address, if addresses are traced and A is 1.
        address: Option<DataAddress>,
    },
    /// `0tt0_ss00`: the value of the last placeholder with the same tag.
    Late {
        /// TT: 1 to 3.
        tag: u8,
        /// The value, if values are traced.
        value: Option<Value>,
    },
    /// `011a_1010`: a data access whose value is not traced.
    ValueNotTraced {
        /// A, bit 4 here: the access has an address.
        first: bool,
        /// The address, if addresses are traced and A is 1.
        address: Option<DataAddress>,
    },
    /// `0101_0000`: the previous store-exclusive failed. (from ETMv3.1)
    StoreFailed,
    /// `0110_0010`: data accesses were dropped from here on.
    Suppressed,
    /// `0110_0110`: padding.
    Ignore,
    /// `0110_1110` and 1, 2 or 4 bytes: context ID.
    ContextId(u32),
    /// `0111_0110`: the previous instruction returned from an exception. (from ETMv3.4)
    ExceptionReturn,
    /// `0111_1110`: the next data are the stack push of an exception. (from ETMv3.4)
    ExceptionEntry,
    /// `0011_1100` and 1 byte: virtual machine ID. (ETMv3.5)
    Vmid(u8),
    /// `0100_0r10` and 1 to 9 bytes: low bits of the timestamp. (ETMv3.5)
    Timestamp {
        /// The bits that were sent, in the encoding of the trace unit: natural or Gray.
        bits: u64,
        /// Number of bits.
        count: u8,
        /// R: the clock of the timestamp counter changed since the last timestamp.
        clock_changed: bool,
    },
}

packet_kinds!(
    Packet:
    Async, CycleCount, Isync, Trigger, Branch, Atoms, Data, Placeholder, Late, ValueNotTraced,
    StoreFailed, Suppressed, Ignore, ContextId, ExceptionReturn, ExceptionEntry, Vmid,
    Timestamp,
);

/// Zero bytes of the shortest A-sync.
pub(super) const ASYNC_ZEROS: usize = 5;

/// The result of parsing a packet; `None` where bytes are missing.
type Read = Option<Parse<Packet>>;

impl Wire<Config> for Packet {
    #[inline]
    fn parse(bytes: &[u8], config: &Config) -> Parse<Self> {
        let Some((&header, rest)) = bytes.split_first() else { return Parse::Partial };
        if config.control.data_only() && (header & 1 != 0 || header & 0x80 != 0) {
            return Parse::Bad(1, Fault::ReservedForConfig(header));
        }
        if header & 0x81 == 0x80 {
            let (cycles, minor) = (config.control.cycle_accurate(), config.id.minor());
            return match Atoms::from_header(header, cycles, minor) {
                Some(atoms) => Parse::Packet(Packet::Atoms(atoms), 1),
                None => Parse::Bad(1, Fault::Reserved(header)),
            };
        }
        if header & 1 != 0 {
            return match Branch::parse(bytes, config) {
                Parse::Packet(branch, len) => Parse::Packet(Packet::Branch(branch), len),
                Parse::Bad(len, fault) => Parse::Bad(len, fault),
                Parse::Partial => Parse::Partial,
            };
        }
        if header == 0 {
            return parse_async(bytes);
        }
        match requires(header) {
            _ if config.id.minor() < since(header) => Parse::Bad(1, Fault::Reserved(header)),
            Some(needs) if !needs.met(config) => Parse::Bad(1, Fault::ReservedForConfig(header)),
            Some(Needs::Nothing) => Parse::Packet(simple(header), 1),
            Some(_) => payload(header, bytes, rest, config).unwrap_or(Parse::Partial),
            None => Parse::Bad(1, Fault::Reserved(header)),
        }
    }

    fn emit(&self, config: &Config, out: &mut impl Extend<u8>) {
        let data = |out: &mut _, header: u8, a: u8, first: bool, address: &Option<DataAddress>| {
            Extend::extend(out, [header | if first { a } else { 0 }]);
            if let Some(address) = address {
                address.emit(out);
            }
        };
        match *self {
            Packet::Async { zeros } => {
                out.extend(core::iter::repeat_n(0, zeros as usize));
                out.extend([0x80]);
            }
            Packet::CycleCount(cycles) => {
                out.extend([0x04]);
                emit_cycle_count(cycles, out);
            }
            Packet::Isync(ref isync) => isync.emit(config, out),
            Packet::Trigger => out.extend([0x0c]),
            Packet::Branch(ref branch) => branch.emit(config, out),
            Packet::Atoms(atoms) => out.extend([atoms.header()]),
            Packet::Data { first, ref address, value } => {
                let code = value.map_or(0, |value| value.code & 3);
                data(out, 0x02 | code << 2, 0x20, first, address);
                if let Some(value) = value {
                    value.emit(out);
                }
            }
            Packet::Placeholder { tag, first, ref address } => {
                data(out, 0x50 | (tag & 3) << 2, 0x20, first, address);
            }
            Packet::Late { tag, value } => {
                let code = value.map_or(0, |value| value.code & 3);
                out.extend([(tag & 3) << 5 | code << 2]);
                if let Some(value) = value {
                    value.emit(out);
                }
            }
            Packet::ValueNotTraced { first, ref address } => {
                data(out, 0x6a, 0x10, first, address);
            }
            Packet::StoreFailed => out.extend([0x50]),
            Packet::Suppressed => out.extend([0x62]),
            Packet::Ignore => out.extend([0x66]),
            Packet::ContextId(id) => {
                out.extend([0x6e]);
                out.extend(id.to_le_bytes().into_iter().take(config.control.context_bytes()));
            }
            Packet::ExceptionReturn => out.extend([0x76]),
            Packet::ExceptionEntry => out.extend([0x7e]),
            Packet::Vmid(id) => out.extend([0x3c, id]),
            Packet::Timestamp { bits, count, clock_changed } => {
                out.extend([0x42 | (clock_changed as u8) << 2]);
                emit_groups(bits, count, config.timestamp_width(), out);
            }
        }
    }
}

/// What must be traced for a header to be valid.
#[derive(Clone, Copy)]
enum Needs {
    /// Always valid, and a packet of one byte.
    Nothing,
    /// Always valid.
    Payload,
    /// Some data trace.
    Data,
    /// Instructions: not in data-only mode.
    Instructions,
    /// Instructions and some data.
    Both,
    /// Context IDs.
    Context,
    /// Cycle-accurate instructions.
    Cycles,
}

impl Needs {
    const fn met(self, config: &Config) -> bool {
        let (control, only) = (config.control, config.control.data_only());
        match self {
            Needs::Nothing | Needs::Payload => true,
            Needs::Data => control.data(),
            Needs::Instructions => !only,
            Needs::Both => control.data() && !only,
            Needs::Context => control.context_bytes() > 0,
            Needs::Cycles => control.cycle_accurate() && !only,
        }
    }
}

/// The requirement of an even header below 0x80, except 0; `None`: it is reserved. (Table 7-1)
const fn requires(header: u8) -> Option<Needs> {
    Some(match header {
        0x0c | 0x66 => Needs::Nothing,
        0x76 => Needs::Instructions,
        0x62 | 0x7e => Needs::Both,
        0x50 => Needs::Data,
        0x04 | 0x70 => Needs::Cycles,
        0x08 | 0x3c | 0x42 | 0x46 => Needs::Payload,
        0x20 | 0x24 | 0x28 | 0x2c | 0x40 | 0x44 | 0x48 | 0x4c | 0x60 | 0x64 | 0x68 | 0x6c => {
            Needs::Data
        }
        0x54 | 0x58 | 0x5c | 0x74 | 0x78 | 0x7c => Needs::Data,
        0x02 | 0x06 | 0x0a | 0x0e | 0x22 | 0x26 | 0x2a | 0x2e | 0x6a | 0x7a => Needs::Data,
        0x6e => Needs::Context,
        _ => return None,
    })
}

/// The minor version that introduced a header.
const fn since(header: u8) -> u8 {
    match header {
        0x50 => 1,
        0x76 | 0x7e => 4,
        0x3c | 0x42 | 0x46 => 5,
        _ => 0,
    }
}

/// The packet of a header without a payload and without a requirement.
const fn simple(header: u8) -> Packet {
    if header == 0x0c { Packet::Trigger } else { Packet::Ignore }
}

/// The packet of a header that has a payload or a requirement. `rest` follows the header.
fn payload(header: u8, bytes: &[u8], rest: &[u8], config: &Config) -> Read {
    let (packet, len) = match header {
        0x50 => (Packet::StoreFailed, 0),
        0x62 => (Packet::Suppressed, 0),
        0x76 => (Packet::ExceptionReturn, 0),
        0x7e => (Packet::ExceptionEntry, 0),
        0x04 => {
            let (cycles, len) = cycle_count(rest)?;
            (Packet::CycleCount(cycles), len)
        }
        isync::HEADER | isync::HEADER_CYCLES => {
            return Some(match Isync::parse(bytes, config) {
                Parse::Packet(isync, len) => Parse::Packet(Packet::Isync(isync), len),
                Parse::Bad(len, fault) => Parse::Bad(len, fault),
                Parse::Partial => Parse::Partial,
            });
        }
        0x6e => {
            let len = config.control.context_bytes();
            (Packet::ContextId(isync::little_endian(rest.get(..len)?)), len)
        }
        0x3c => (Packet::Vmid(*rest.first()?), 1),
        0x42 | 0x46 => {
            let width = config.timestamp_width();
            let got = groups(rest, width)?;
            let mask = u64::MAX >> (64 - width);
            let clock_changed = header & 4 != 0;
            let bits = got.bits & mask;
            (Packet::Timestamp { bits, count: got.count, clock_changed }, got.len)
        }
        0x6a | 0x7a => {
            let first = header & 0x10 != 0;
            let (address, len) = address(first, rest, config)?;
            (Packet::ValueNotTraced { first, address }, len)
        }
        0x54 | 0x58 | 0x5c | 0x74 | 0x78 | 0x7c => {
            let first = header & 0x20 != 0;
            let (address, len) = address(first, rest, config)?;
            (Packet::Placeholder { tag: header >> 2 & 3, first, address }, len)
        }
        _ if header & 3 == 2 => {
            let first = header & 0x20 != 0;
            let (address, len) = address(first, rest, config)?;
            let (value, more) = value(header >> 2 & 3, rest.get(len..)?, config)?;
            (Packet::Data { first, address, value }, len + more)
        }
        _ => {
            let (value, len) = value(header >> 2 & 3, rest, config)?;
            (Packet::Late { tag: header >> 5 & 3, value }, len)
        }
    };
    Some(Parse::Packet(packet, len + 1))
}

/// The address of a data packet, if it has one.
fn address(first: bool, bytes: &[u8], config: &Config) -> Option<(Option<DataAddress>, usize)> {
    if !first || !config.control.addresses() {
        return Some((None, 0));
    }
    let (address, len) = DataAddress::read(bytes)?;
    Some((Some(address), len))
}

/// The value of a data packet, if it has one.
fn value(code: u8, bytes: &[u8], config: &Config) -> Option<(Option<Value>, usize)> {
    if !config.control.values() {
        return Some((None, 0));
    }
    let (value, len) = Value::read(code, bytes)?;
    Some((Some(value), len))
}

/// Zeros, then `1000_0000`. Nothing else begins with a zero byte.
fn parse_async(bytes: &[u8]) -> Parse<Packet> {
    let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
    match bytes.get(zeros) {
        None => Parse::Partial,
        Some(0x80) if zeros >= ASYNC_ZEROS => {
            Parse::Packet(Packet::Async { zeros: zeros as u32 }, zeros + 1)
        }
        Some(_) => Parse::Bad(zeros, Fault::Sequence),
    }
}

/// Reads a cycle count, 32 bits in 1 to 5 bytes. Returns it and its length.
fn cycle_count(bytes: &[u8]) -> Option<(u32, usize)> {
    let got = groups(bytes, 32)?;
    Some((got.bits as u32, got.len))
}

fn emit_cycle_count(cycles: u32, out: &mut impl Extend<u8>) {
    let count = 32 - cycles.leading_zeros().min(31) as u8;
    emit_groups(u64::from(cycles), count, 32, out);
}

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let position =
            |f: &mut fmt::Formatter<'_>, first: &bool, address: &Option<DataAddress>| match (
                first, address,
            ) {
                (_, Some(address)) => write!(f, " at {address}"),
                (true, None) => f.write_str(" first"),
                (false, None) => f.write_str(" next"),
            };
        match self {
            Packet::Async { .. } => f.write_str("A-sync"),
            Packet::CycleCount(0) => f.write_str("cycle count unknown"),
            Packet::CycleCount(cycles) => write!(f, "cycle count {cycles}"),
            Packet::Isync(isync) => isync.fmt(f),
            Packet::Trigger => f.write_str("trigger"),
            Packet::Branch(branch) => write!(f, "branch {branch}"),
            Packet::Atoms(atoms) => write!(f, "atoms {atoms}"),
            Packet::Data { first, address, value } => {
                f.write_str("data")?;
                position(f, first, address)?;
                match value {
                    Some(value) => write!(f, ": {value}"),
                    None => Ok(()),
                }
            }
            Packet::Placeholder { tag, first, address } => {
                write!(f, "data placeholder {tag}")?;
                position(f, first, address)
            }
            Packet::Late { tag, value } => {
                write!(f, "late data {tag}")?;
                match value {
                    Some(value) => write!(f, ": {value}"),
                    None => Ok(()),
                }
            }
            Packet::ValueNotTraced { first, address } => {
                f.write_str("data without value")?;
                position(f, first, address)
            }
            Packet::StoreFailed => f.write_str("store failed"),
            Packet::Suppressed => f.write_str("data suppressed"),
            Packet::Ignore => f.write_str("ignore"),
            Packet::ContextId(id) => write!(f, "context id 0x{id:x}"),
            Packet::ExceptionReturn => f.write_str("exception return"),
            Packet::ExceptionEntry => f.write_str("exception entry"),
            Packet::Vmid(id) => write!(f, "VMID 0x{id:x}"),
            Packet::Timestamp { bits, count, clock_changed } => {
                write!(f, "timestamp {count} bits 0x{bits:x}")?;
                f.write_str(if *clock_changed { ", clock changed" } else { "" })
            }
        }
    }
}
