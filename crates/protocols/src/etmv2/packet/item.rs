//! The packets of the FIFO other than TFO packets. (IHI 0014, 6.4)

use core::fmt;

use tracewright_base::{Fault, Parse};

use super::Branch;
use crate::bits::{emit_groups, groups};
use crate::etmv2::Config;

/// One packet of a group. (Table 6-2)
///
/// `more`, bit C: another packet of the same cycle follows. A branch is always the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// `xxxx_xxx1`: the target of an indirect branch.
    Branch(Branch),
    /// `C0A0_SS10`: a data transfer.
    Data {
        /// A: the first transfer of its instruction.
        first: bool,
        /// The address, if addresses are traced and A is set.
        address: Option<DataAddress>,
        /// The value, if values are traced.
        value: Option<Value>,
        /// C.
        more: bool,
    },
    /// `C1A1_TT00`: a load whose value comes later.
    Miss {
        /// TT: the tag that the late value has.
        tag: u8,
        /// A: the first transfer of its instruction.
        first: bool,
        /// The address, if addresses are traced and A is set.
        address: Option<DataAddress>,
        /// C.
        more: bool,
    },
    /// `CTT0_SS00`: the late value of a load.
    Late {
        /// TT: the tag that the late value has.
        tag: u8,
        /// The value, if values are traced.
        value: Option<Value>,
        /// C.
        more: bool,
    },
    /// `C110_1010`: a transfer of a load or store multiple whose value is not traced.
    NotTraced {
        /// C.
        more: bool,
    },
    /// `C110_1110`: the context ID changed.
    ContextId {
        /// The new context ID, limited to the bytes that are traced.
        id: u32,
        /// C.
        more: bool,
    },
}

/// A value, without leading zeros. (Table 6-3)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    /// The value, zero extended.
    pub bits: u32,
    /// Bytes that were sent: 0, 1, 2 or 4.
    pub size: u8,
}

impl Value {
    /// Encodes a value in the fewest bytes.
    pub const fn of(bits: u32) -> Value {
        let size = match bits {
            0 => 0,
            1..=0xff => 1,
            0x100..=0xffff => 2,
            _ => 4,
        };
        Value { bits, size }
    }

    /// SS.
    const fn code(self) -> u8 {
        match self.size {
            0 => 0b00,
            1 => 0b01,
            2 => 0b10,
            _ => 0b11,
        }
    }

    fn parse(bytes: &[u8], code: u8) -> Option<Value> {
        let size = [0, 1, 2, 4][usize::from(code & 0b11)];
        let add = |word: u32, &byte: &u8| word << 8 | u32::from(byte);
        let bits = bytes.get(..size)?.iter().rev().fold(0, add);
        Some(Value { bits, size: size as u8 })
    }

    fn emit(self, out: &mut impl Extend<u8>) {
        out.extend(self.bits.to_le_bytes().into_iter().take(usize::from(self.size)));
    }
}

/// A data address as it was sent: low bits that replace those of the previous data address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataAddress {
    /// The bits that were sent.
    pub bits: u32,
    /// Number of bits: 7, 14, 21, 28 or 32.
    pub count: u8,
}

impl DataAddress {
    fn parse(bytes: &[u8]) -> Option<(DataAddress, usize)> {
        // The fifth byte has four bits of the address; the others are 0.
        let found = groups(bytes, 32)?;
        let count = if found.len == 5 { 32 } else { found.count };
        Some((DataAddress { bits: found.bits as u32, count }, found.len))
    }

    fn emit(&self, out: &mut impl Extend<u8>) {
        let width = if self.count == 32 { 32 } else { 64 };
        emit_groups(self.bits.into(), self.count, width, out);
    }
}

/// C.
const MORE: u8 = 0x80;
/// A.
const FIRST: u8 = 0x20;
const NOT_TRACED: u8 = 0x6a;
const CONTEXT_ID: u8 = 0x6e;

/// The kinds of packets.
enum Kind {
    Branch,
    Data,
    Miss,
    Late,
    NotTraced,
    ContextId,
}

/// The kind of packet that a header begins. (Table 6-2)
const fn kind(header: u8) -> Option<Kind> {
    Some(match header {
        h if h & 0b0000_0001 == 1 => Kind::Branch,
        h if h & 0b0101_0011 == 0b0000_0010 => Kind::Data,
        h if h & 0b0101_0011 == 0b0101_0000 => Kind::Miss,
        h if h & 0b0001_0011 == 0b0000_0000 => Kind::Late,
        h if h & 0b0111_1111 == NOT_TRACED => Kind::NotTraced,
        h if h & 0b0111_1111 == CONTEXT_ID => Kind::ContextId,
        _ => return None,
    })
}

impl Item {
    /// Reads the packet at the start of `bytes`, which may end anywhere.
    pub fn parse(bytes: &[u8], config: &Config) -> Parse<Item> {
        Item::read(bytes, config).unwrap_or(Parse::Partial)
    }

    fn read(bytes: &[u8], config: &Config) -> Option<Parse<Item>> {
        let &header = bytes.first()?;
        let rest = bytes.get(1..)?;
        let (more, first) = (header & MORE != 0, header & FIRST != 0);
        // A context ID packet exists only where context IDs are traced.
        let kind =
            kind(header).filter(|k| !matches!(k, Kind::ContextId) || config.context_bytes() > 0);
        let Some(kind) = kind else { return Some(Parse::Bad(1, Fault::Reserved(header))) };
        let values = config.control.values();
        let value = |rest: &[u8]| match values {
            true => Value::parse(rest, header >> 2).map(Some),
            false => Some(None),
        };
        let mut len = 1;
        let mut address = || -> Option<Option<DataAddress>> {
            if !(first && config.control.addresses()) {
                return Some(None);
            }
            let (address, read) = DataAddress::parse(rest)?;
            len += read;
            Some(Some(address))
        };
        let item = match kind {
            Kind::Branch => {
                return Some(match Branch::parse(bytes)? {
                    Parse::Packet(branch, len) => Parse::Packet(Item::Branch(branch), len),
                    Parse::Partial => Parse::Partial,
                    Parse::Bad(len, fault) => Parse::Bad(len, fault),
                });
            }
            Kind::Data => {
                let address = address()?;
                let value = value(bytes.get(len..)?)?;
                len += value.map_or(0, |value| usize::from(value.size));
                Item::Data { first, address, value, more }
            }
            Kind::Miss => {
                let address = address()?;
                Item::Miss { tag: header >> 2 & 0b11, first, address, more }
            }
            Kind::Late => {
                let value = value(rest)?;
                len += value.map_or(0, |value| usize::from(value.size));
                Item::Late { tag: header >> 5 & 0b11, value, more }
            }
            Kind::NotTraced => Item::NotTraced { more },
            Kind::ContextId => {
                let id = rest.get(..config.context_bytes())?;
                len += id.len();
                let id = id.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte));
                Item::ContextId { id, more }
            }
        };
        Some(Parse::Packet(item, len))
    }

    /// Writes the packet.
    pub fn emit(&self, config: &Config, out: &mut impl Extend<u8>) {
        let c = |more: bool| if more { MORE } else { 0 };
        let a = |first: bool| if first { FIRST } else { 0 };
        let s = |value: Option<Value>| value.map_or(0, Value::code) << 2;
        match *self {
            Item::Branch(branch) => branch.emit(out),
            Item::Data { first, address, value, more } => {
                out.extend([0b0000_0010 | c(more) | a(first) | s(value)]);
                if let Some(address) = address {
                    address.emit(out);
                }
                if let Some(value) = value {
                    value.emit(out);
                }
            }
            Item::Miss { tag, first, address, more } => {
                out.extend([0b0101_0000 | c(more) | a(first) | tag << 2]);
                if let Some(address) = address {
                    address.emit(out);
                }
            }
            Item::Late { tag, value, more } => {
                out.extend([c(more) | tag << 5 | s(value)]);
                if let Some(value) = value {
                    value.emit(out);
                }
            }
            Item::NotTraced { more } => out.extend([NOT_TRACED | c(more)]),
            Item::ContextId { id, more } => {
                out.extend([CONTEXT_ID | c(more)]);
                out.extend(id.to_le_bytes().into_iter().take(config.context_bytes()));
            }
        }
    }

    /// Whether another packet of the same cycle follows.
    pub const fn more(&self) -> bool {
        match *self {
            Item::Branch(_) => false,
            Item::Data { more, .. }
            | Item::Miss { more, .. }
            | Item::Late { more, .. }
            | Item::NotTraced { more }
            | Item::ContextId { more, .. } => more,
        }
    }

    /// The same packet with bit C set or cleared. A branch has no such bit.
    #[must_use]
    pub const fn with_more(mut self, on: bool) -> Item {
        match &mut self {
            Item::Branch(_) => {}
            Item::Data { more, .. }
            | Item::Miss { more, .. }
            | Item::Late { more, .. }
            | Item::NotTraced { more }
            | Item::ContextId { more, .. } => *more = on,
        }
        self
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = |first: bool, address: &Option<DataAddress>, f: &mut fmt::Formatter<'_>| {
            match address {
                Some(DataAddress { bits, count: 32 }) => write!(f, " at {bits:#010x}"),
                Some(DataAddress { bits, count }) => write!(f, " at {count} bits {bits:#x}"),
                None if first => f.write_str(" first"),
                None => f.write_str(" next"),
            }
        };
        let value = |value: Option<Value>, f: &mut fmt::Formatter<'_>| match value {
            Some(value) => write!(f, ": {:#x}", value.bits),
            None => Ok(()),
        };
        match self {
            Item::Branch(branch) => branch.fmt(f),
            Item::Data { first, address, value: moved, .. } => {
                f.write_str("data")?;
                place(*first, address, f)?;
                value(*moved, f)
            }
            Item::Miss { tag, first, address, .. } => {
                write!(f, "load miss {tag}")?;
                place(*first, address, f)
            }
            Item::Late { tag, value: moved, .. } => {
                write!(f, "late data {tag}")?;
                value(*moved, f)
            }
            Item::NotTraced { .. } => f.write_str("value not traced"),
            Item::ContextId { id, .. } => write!(f, "context id {id:#x}"),
        }
    }
}
