//! I-sync packets: instruction synchronisation. (IHI 0014, 7.7.3)

use core::fmt;

use tracewright_base::{Fault, Isa, Parse};

use super::branch::Branch;
use super::{cycle_count, emit_cycle_count};
use crate::etmv3::Config;

/// Header of an I-sync packet.
pub(super) const HEADER: u8 = 0x08;
/// Header of an I-sync packet with a cycle count.
pub(super) const HEADER_CYCLES: u8 = 0x70;

/// One I-sync packet: Normal, Load/Store in Progress, or data-only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Isync {
    /// With header 0x70: cycles since the last P-header. 0: the count was lost.
    pub cycles: Option<u32>,
    /// The context ID, limited to the bytes that are traced.
    pub context_id: Option<u32>,
    /// Bits \[6:5] of the information byte.
    pub reason: Reason,
    /// J, bit \[4].
    pub jazelle: bool,
    /// NS, bit \[3].
    pub non_secure: bool,
    /// AltISA, bit \[2], from ETMv3.3.
    pub alternative: bool,
    /// Hyp, bit \[1], ETMv3.5.
    pub hyp: bool,
    /// The next instruction, or the data instruction in progress; bit \[0] is T unless J.
    /// `None` in data-only mode.
    pub address: Option<u32>,
    /// Load/Store in Progress: the next instruction, compressed against `address`.
    pub current: Option<Branch>,
}

/// Why an I-sync was sent. (Table 7-23)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Periodic synchronisation.
    Periodic,
    /// Tracing was enabled.
    Enabled,
    /// Tracing restarts after an overflow.
    Overflow,
    /// The processor left Debug state.
    Debug,
}

impl Reason {
    const fn from_bits(bits: u8) -> Self {
        match bits & 3 {
            0 => Reason::Periodic,
            1 => Reason::Enabled,
            2 => Reason::Overflow,
            _ => Reason::Debug,
        }
    }
}

impl Isync {
    /// The address without the T bit, and the instruction set. (Table 7-22)
    pub const fn start_address(&self) -> Option<(u32, Isa)> {
        let Some(address) = self.address else { return None };
        Some(match (self.jazelle, address & 1 != 0) {
            (true, _) => (address, Isa::Jazelle),
            (false, true) if self.alternative => (address & !1, Isa::ThumbEe),
            (false, true) => (address & !1, Isa::T32),
            (false, false) => (address, Isa::A32),
        })
    }

    pub(super) fn parse(bytes: &[u8], config: &Config) -> Parse<Isync> {
        Self::read(bytes, config).unwrap_or(Parse::Partial)
    }

    fn read(bytes: &[u8], config: &Config) -> Option<Parse<Isync>> {
        let mut at = 1;
        let cycles = if *bytes.first()? == HEADER_CYCLES {
            let (cycles, len) = cycle_count(bytes.get(at..)?)?;
            at += len;
            Some(cycles)
        } else {
            None
        };
        let size = config.control.context_bytes();
        let context_id = match size {
            0 => None,
            _ => Some(little_endian(bytes.get(at..at + size)?)),
        };
        at += size;
        let info = *bytes.get(at)?;
        at += 1;
        // Bit 0 is always 1, so that no packet contains an A-sync.
        if info & 1 == 0 {
            return Some(Parse::Bad(at, Fault::Sequence));
        }
        let minor = config.id.minor();
        let mut isync = Isync {
            cycles,
            context_id,
            reason: Reason::from_bits(info >> 5),
            jazelle: info & 0x10 != 0,
            non_secure: info & 0x08 != 0,
            alternative: minor >= 3 && info & 0x04 != 0,
            hyp: minor >= 5 && info & 0x02 != 0,
            address: None,
            current: None,
        };
        if config.control.data_only() {
            isync.jazelle = false;
            return Some(Parse::Packet(isync, at));
        }
        isync.address = Some(little_endian(bytes.get(at..at + 4)?));
        at += 4;
        if info & 0x80 == 0 {
            return Some(Parse::Packet(isync, at));
        }
        let rest = bytes.get(at..)?;
        // The first address byte has bit 0 set, as in a branch packet.
        if rest.first()? & 1 == 0 {
            return Some(Parse::Bad(at + 1, Fault::Sequence));
        }
        Some(match Branch::parse(rest, config) {
            Parse::Packet(current, len) => {
                isync.current = Some(current);
                Parse::Packet(isync, at + len)
            }
            Parse::Bad(len, fault) => Parse::Bad(at + len, fault),
            Parse::Partial => Parse::Partial,
        })
    }

    /// Whether the packet has a combination of fields that no trace unit sends.
    pub(in crate::etmv3) const fn is_reserved(&self, config: &Config) -> bool {
        let starts = self.cycles.is_some() || self.current.is_some();
        let t32 = match self.address {
            Some(address) => address & 1 != 0 && !self.jazelle,
            None => true,
        };
        let periodic = matches!(self.reason, Reason::Periodic);
        periodic && starts || self.alternative && !t32 && !config.control.data_only()
    }

    pub(super) fn emit(&self, config: &Config, out: &mut impl Extend<u8>) {
        match self.cycles {
            Some(cycles) => {
                out.extend([HEADER_CYCLES]);
                emit_cycle_count(cycles, out);
            }
            None => out.extend([HEADER]),
        }
        let context = self.context_id.unwrap_or(0).to_le_bytes();
        out.extend(context.into_iter().take(config.control.context_bytes()));
        out.extend([(self.current.is_some() as u8) << 7
            | (self.reason as u8) << 5
            | (self.jazelle as u8) << 4
            | (self.non_secure as u8) << 3
            | (self.alternative as u8) << 2
            | (self.hyp as u8) << 1
            | 1]);
        if let Some(address) = self.address {
            out.extend(address.to_le_bytes());
        }
        if let Some(current) = &self.current {
            current.emit(config, out);
        }
    }
}

/// The number of up to four bytes, low byte first.
pub(super) fn little_endian(bytes: &[u8]) -> u32 {
    bytes.iter().take(4).rev().fold(0, |value, &byte| value << 8 | u32::from(byte))
}

impl fmt::Display for Isync {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.reason {
            Reason::Periodic => "I-sync, periodic",
            Reason::Enabled => "I-sync, trace enabled",
            Reason::Overflow => "I-sync, after overflow",
            Reason::Debug => "I-sync, left Debug state",
        })?;
        if let Some((address, isa)) = self.start_address() {
            let what = if self.current.is_some() { " data instruction" } else { "" };
            write!(f, ",{what} 0x{address:08x} {isa}")?;
        }
        if let Some(current) = &self.current {
            write!(f, ", now {current}")?;
        }
        f.write_str(if self.non_secure { ", non-secure" } else { ", secure" })?;
        f.write_str(if self.hyp { ", Hyp" } else { "" })?;
        if let Some(context) = self.context_id {
            write!(f, ", context 0x{context:x}")?;
        }
        if let Some(cycles) = self.cycles {
            write!(f, ", {cycles} cycles")?;
        }
        Ok(())
    }
}
