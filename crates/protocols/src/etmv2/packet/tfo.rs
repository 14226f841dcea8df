//! Trace FIFO offsets, which relate the pipeline status to the FIFO. (IHI 0014, 6.5)

use core::fmt;

use tracewright_base::{Fault, Isa, Parse, Start};

use super::Branch;
use crate::etmv2::Config;

/// The meaning of TRACEPKT in a Trace Disabled cycle. (Table 6-4)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offset {
    /// `xxxx_xxx0`: no offset. A capture device may discard the cycle.
    Nothing,
    /// `xxxx_0111`: no offset, and the cycle counts.
    Filler,
    /// The number of bytes in the FIFO before a TFO packet. A 4-bit port shows bits \[6:4] of the
    /// number here and bits \[3:0] in the next cycle.
    Bytes(u8),
    /// `xxxx_0101`.
    Reserved,
}

impl Offset {
    /// The largest number of bytes that an offset encodes.
    pub const MOST: u8 = 95;

    /// Decodes TRACEPKT\[7:0]. On a 4-bit port bits \[7:4] are 0.
    pub const fn of_pins(pins: u8) -> Offset {
        let high = match pins & 0xf {
            low if low & 1 == 0 => return Offset::Nothing,
            0b0111 => return Offset::Filler,
            0b0101 => return Offset::Reserved,
            // Bit [3] is the inverse of bit [6] of the number; bits [2:1] are its bits [5:4].
            low => (low >> 1 & 0b11) | (!low >> 3 & 1) << 2,
        };
        Offset::Bytes(high << 4 | pins >> 4)
    }

    /// TRACEPKT\[7:0] for a number of bytes; `None` above [`Offset::MOST`].
    pub const fn pins(bytes: u8) -> Option<u8> {
        if bytes > Offset::MOST {
            return None;
        }
        Some((bytes & 0xf) << 4 | (!(bytes >> 6) & 1) << 3 | (bytes >> 4 & 0b11) << 1 | 1)
    }
}

/// A TFO packet: the position in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tfo {
    /// Why the packet was sent.
    pub reason: Reason,
    /// The context ID, limited to the bytes that are traced.
    pub context_id: Option<u32>,
    /// The address of an instruction, with T in bit \[0]: the next instruction; in a periodic
    /// packet the one that executed in the cycle of the offset; with `current` the load or store
    /// multiple in progress.
    pub address: u32,
    /// The instruction that runs beside the load or store multiple, compressed against `address`.
    pub current: Option<Branch>,
}

/// Why a TFO packet was sent. (Table 6-7)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// Periodic synchronisation. The offset replaces an IE status.
    Periodic,
    /// Tracing was enabled.
    Enabled,
    /// Tracing restarts after an overflow.
    Overflow,
    /// The processor left Debug state.
    Debug,
}

impl Reason {
    const fn of_bits(bits: u8) -> Reason {
        match bits & 0b11 {
            0b00 => Reason::Periodic,
            0b01 => Reason::Enabled,
            0b10 => Reason::Overflow,
            _ => Reason::Debug,
        }
    }

    const fn bits(self) -> u8 {
        self as u8
    }

    /// Why tracing starts here, if it does.
    pub const fn start(self) -> Option<Start> {
        match self {
            Reason::Periodic => None,
            Reason::Enabled => Some(Start::Normal),
            Reason::Overflow => Some(Start::Overflow),
            Reason::Debug => Some(Start::Debug),
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

impl Tfo {
    /// Reads the packet at the start of `bytes`, which may end anywhere.
    pub fn parse(bytes: &[u8], config: &Config) -> Parse<Tfo> {
        Tfo::read(bytes, config).unwrap_or(Parse::Partial)
    }

    fn read(bytes: &[u8], config: &Config) -> Option<Parse<Tfo>> {
        let &header = bytes.first()?;
        if header & 0b0001_1111 != 0 {
            return Some(Parse::Bad(1, Fault::Reserved(header)));
        }
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |w, &b| w << 8 | u32::from(b));
        let size = config.context_bytes();
        let context_id = (size > 0).then_some(word(bytes.get(1..1 + size)?));
        let address = word(bytes.get(1 + size..5 + size)?);
        let mut len = 5 + size;
        let current = match header & 0x80 {
            0 => None,
            _ => {
                let rest = bytes.get(len..)?;
                let &first = rest.first()?;
                if first & 1 == 0 {
                    return Some(Parse::Bad(len + 1, Fault::Reserved(first)));
                }
                match Branch::parse(rest)? {
                    Parse::Packet(branch, read) => {
                        len += read;
                        Some(branch)
                    }
                    Parse::Partial => return None,
                    Parse::Bad(bad, fault) => return Some(Parse::Bad(len + bad, fault)),
                }
            }
        };
        let reason = Reason::of_bits(header >> 5);
        Some(Parse::Packet(Tfo { reason, context_id, address, current }, len))
    }

    /// Writes the packet.
    pub fn emit(&self, config: &Config, out: &mut impl Extend<u8>) {
        out.extend([self.reason.bits() << 5 | u8::from(self.current.is_some()) << 7]);
        let id = self.context_id.unwrap_or(0).to_le_bytes();
        out.extend(id.into_iter().take(config.context_bytes()));
        out.extend(self.address.to_le_bytes());
        if let Some(current) = &self.current {
            current.emit(out);
        }
    }

    /// The address and its instruction set.
    pub const fn start_address(&self) -> (u32, Isa) {
        match self.address & 1 {
            0 => (self.address & !0b11, Isa::A32),
            _ => (self.address & !0b1, Isa::T32),
        }
    }
}

impl fmt::Display for Tfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = match self.reason {
            Reason::Periodic => "periodic",
            Reason::Enabled => "trace enabled",
            Reason::Overflow => "after overflow",
            Reason::Debug => "from Debug state",
        };
        let (address, isa) = self.start_address();
        write!(f, "TFO packet, {reason}, {address:#010x} {isa}")?;
        if let Some(id) = self.context_id {
            write!(f, ", context id {id:#x}")?;
        }
        self.current.map_or(Ok(()), |current| write!(f, ", in progress, {current}"))
    }
}
