//! MTB packets.

use core::fmt;

use tracewright_base::{Parse, Wire};

use super::Config;
use crate::kind::packet_kinds;

/// One packet: two words, least significant byte first. (Arm DDI 0486, "Trace packet format")
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet {
    /// A is 0: an instruction changed the sequence.
    Branch {
        /// Address of the instruction, bits \[31:1] of the first word.
        source: u32,
        /// Address of the next instruction, bits \[31:1] of the second word.
        destination: u32,
        /// S, bit 0 of the second word: the first packet since tracing started.
        start: bool,
    },
    /// A is 1: an exception, or a change of the program counter in Debug state.
    Exception {
        /// The preferred return address, bits \[31:1] of the first word.
        return_address: u32,
        /// Address of the next instruction, bits \[31:1] of the second word.
        destination: u32,
        /// S, bit 0 of the second word: the first packet since tracing started.
        start: bool,
    },
}

packet_kinds!(Packet: Branch, Exception);

/// The lowest value that is EXC_RETURN and no address. (Armv6-M ARM, B1.5.8)
const EXC_RETURN: u32 = 0xffff_ff00;

impl Packet {
    /// S: the packet is the first since tracing started.
    #[inline]
    pub const fn start(self) -> bool {
        match self {
            Packet::Branch { start, .. } | Packet::Exception { start, .. } => start,
        }
    }

    /// Both words are 0: memory that was cleared, and to which no packet was written yet. No
    /// instruction branches at address 0, where the vector table is.
    #[inline]
    pub const fn is_unwritten(self) -> bool {
        matches!(self, Packet::Branch { source: 0, destination: 0, start: false })
    }

    /// The address of the next instruction.
    #[inline]
    pub const fn destination(self) -> u32 {
        match self {
            Packet::Branch { destination, .. } | Packet::Exception { destination, .. } => {
                destination
            }
        }
    }

    /// Whether the destination is an EXC_RETURN value: the instruction returns from an exception,
    /// and the next packet has its target.
    #[inline]
    pub const fn is_exception_return(self) -> bool {
        matches!(self, Packet::Branch { destination: EXC_RETURN.., .. })
    }

    /// Whether it is the second packet of a return from an exception.
    #[inline]
    pub const fn ends_exception_return(self) -> bool {
        matches!(self, Packet::Exception { return_address: EXC_RETURN.., .. })
    }
}

impl Wire<Config> for Packet {
    #[inline]
    fn parse(bytes: &[u8], _: &Config) -> Parse<Packet> {
        let Some(bytes) = bytes.first_chunk::<8>() else { return Parse::Partial };
        let words = u64::from_le_bytes(*bytes);
        let (first, second) = (words as u32, (words >> 32) as u32);
        let (destination, start) = (second & !1, second & 1 != 0);
        let packet = if first & 1 == 0 {
            Packet::Branch { source: first, destination, start }
        } else {
            Packet::Exception { return_address: first & !1, destination, start }
        };
        Parse::Packet(packet, 8)
    }

    #[inline]
    fn emit(&self, _: &Config, out: &mut impl Extend<u8>) {
        let first = match *self {
            Packet::Branch { source, .. } => source & !1,
            Packet::Exception { return_address, .. } => return_address | 1,
        };
        let second = self.destination() & !1 | u32::from(self.start());
        out.extend(first.to_le_bytes());
        out.extend(second.to_le_bytes());
    }
}

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Packet::Branch { source, destination, .. } => {
                write!(f, "branch from {source:#010x} to {destination:#010x}")?;
            }
            Packet::Exception { return_address, destination, .. } => {
                write!(f, "exception at {return_address:#010x} to {destination:#010x}")?;
            }
        }
        if self.start() { f.write_str(", first since the start") } else { Ok(()) }
    }
}
