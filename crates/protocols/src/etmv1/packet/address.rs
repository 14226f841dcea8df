//! Branch addresses, whose first byte TRACESYNC marks. (IHI 0014, 5.5.2 to 5.5.5 and 5.6.3)

use core::fmt;

use tracewright_base::{Parse, Start};

use crate::bits::{emit_groups, groups};
use crate::etmv1::Config;

/// The most bytes of an address with its context ID.
pub const MAX_ADDRESS_LEN: usize = 9;

/// A branch address as it was sent: low bits that replace those of the previous address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// The bits that were sent. Bit \[0] is bit \[0] of a byte code's address, else T. Others are
    /// 0.
    pub bits: u32,
    /// Number of bits: 7, 14, 21, 28 or 32.
    pub count: u8,
    /// The fields that only a whole address has.
    pub last: Option<Last>,
}

/// The upper half of the fifth byte, and the context ID that may follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Last {
    /// Bits \[6:4]: why the whole address was sent.
    pub reason: Reason,
    /// J, bit \[7], ETMv1.3: the target is a byte code.
    pub jazelle: bool,
    /// The context ID, limited to the bytes that are traced.
    pub context_id: Option<u32>,
}

/// Why a whole address was sent. (Table 5-3)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// `000`: a branch; before ETMv1.2 also periodic synchronisation.
    Branch,
    /// `001`: tracing was enabled.
    Enabled,
    /// `010`: tracing restarts after an overflow.
    Overflow,
    /// `011`: the processor left Debug state.
    Debug,
    /// `100`: periodic synchronisation, from ETMv1.2.
    Periodic,
    /// `101` to `111`.
    Reserved(u8),
}

impl Reason {
    /// The reason of bits \[2:0].
    pub const fn of_bits(bits: u8) -> Reason {
        match bits & 0b111 {
            0b000 => Reason::Branch,
            0b001 => Reason::Enabled,
            0b010 => Reason::Overflow,
            0b011 => Reason::Debug,
            0b100 => Reason::Periodic,
            bits => Reason::Reserved(bits),
        }
    }

    /// Bits \[2:0].
    pub const fn bits(self) -> u8 {
        match self {
            Reason::Branch => 0b000,
            Reason::Enabled => 0b001,
            Reason::Overflow => 0b010,
            Reason::Debug => 0b011,
            Reason::Periodic => 0b100,
            Reason::Reserved(bits) => bits & 0b111,
        }
    }

    /// Why tracing starts here, if it does. The status then belongs to no instruction, and the
    /// address is that of the next instruction.
    pub const fn start(self) -> Option<Start> {
        match self {
            Reason::Enabled => Some(Start::Normal),
            Reason::Overflow => Some(Start::Overflow),
            Reason::Debug => Some(Start::Debug),
            Reason::Branch | Reason::Periodic | Reason::Reserved(_) => None,
        }
    }
}

impl From<Start> for Reason {
    fn from(start: Start) -> Self {
        match start {
            Start::Normal => Reason::Enabled,
            Start::Overflow => Reason::Overflow,
            Start::Debug => Reason::Debug,
        }
    }
}

impl Address {
    /// Reads the address at the start of `bytes`, which may end anywhere. Every byte value is
    /// valid.
    pub fn parse(bytes: &[u8], config: &Config) -> Parse<Address> {
        let Some(found) = groups(bytes, 32) else { return Parse::Partial };
        if found.len < 5 {
            let address = Address { bits: found.bits as u32, count: found.count, last: None };
            return Parse::Packet(address, found.len);
        }
        let upper = (found.bits >> 32) as u8;
        let reason = Reason::of_bits(upper);
        let size = if reason == Reason::Branch { 0 } else { config.context_bytes() };
        let Some(id) = bytes.get(found.len..found.len + size) else { return Parse::Partial };
        let word = id.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte));
        let context_id = (size > 0).then_some(word);
        let jazelle = upper >> 3 != 0 && has_jazelle(config);
        let last = Some(Last { reason, jazelle, context_id });
        Parse::Packet(Address { bits: found.bits as u32, count: 32, last }, found.len + size)
    }

    /// Writes the address.
    pub fn emit(&self, config: &Config, out: &mut impl Extend<u8>) {
        let Some(last) = self.last else {
            return emit_groups(self.bits.into(), self.count, 64, out);
        };
        let upper = last.reason.bits() | u8::from(last.jazelle && has_jazelle(config)) << 3;
        emit_groups(u64::from(self.bits) | u64::from(upper) << 32, 36, 32, out);
        if let Some(id) = last.context_id {
            out.extend(id.to_le_bytes().into_iter().take(config.context_bytes()));
        }
    }
}

/// Whether the fifth byte has the J bit: from ETMv1.3 on. (5.5.4)
const fn has_jazelle(config: &Config) -> bool {
    config.minor >= 3
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.last {
            None => write!(f, "{} bits {:#x}", self.count, self.bits),
            Some(last) => write!(f, "{:#010x}{last}", self.bits),
        }
    }
}

impl fmt::Display for Last {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.reason {
            Reason::Branch => "",
            Reason::Enabled => ", trace enabled",
            Reason::Overflow => ", after overflow",
            Reason::Debug => ", from Debug state",
            Reason::Periodic => ", periodic",
            Reason::Reserved(_) => ", reserved reason",
        })?;
        if self.jazelle {
            f.write_str(", Jazelle")?;
        }
        self.context_id.map_or(Ok(()), |id| write!(f, ", context id {id:#x}"))
    }
}
