//! What completes compressed packets: the addresses and the timestamp before.

use tracewright_base::Isa;

use super::packet::{Branch, DataAddress, Info, Isync};
use super::{Config, Packet};
use crate::bits::replace_low;

/// The last addresses and the last timestamp that were in the trace. A plain value; its default
/// knows nothing.
///
/// The base of a branch address is the last address that was *broadcast*, in an I-sync or a branch
/// packet, whatever ran since. (IHI 0014, 7.3.5) The base of a data address is the last data
/// address in the trace, in whatever packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct History {
    address: u32,
    /// Low bits of `address` that are known.
    known: u8,
    isa: Option<Isa>,
    data: u32,
    /// Low bits of `data` that are known.
    data_known: u8,
    big_endian: Option<bool>,
    /// In the code of the trace unit.
    timestamp: u64,
    /// Low bits of `timestamp` that are known.
    timestamp_known: u8,
}

/// A branch address, completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Byte address.
    pub address: u32,
    /// Low bits of it that are known.
    pub known: u8,
    /// Low bits of it that this packet brought.
    pub updated: u8,
    /// The instruction set that the core is in after the branch.
    pub isa: Isa,
    /// That instruction set is not the last one that was broadcast.
    pub isa_changed: bool,
}

impl History {
    /// Takes an I-sync packet. The address is the data instruction's where there are two.
    pub fn isync(&mut self, isync: &Isync) {
        if let Some((address, isa)) = isync.place() {
            self.address = address;
            self.known = 32;
            self.isa = Some(isa);
        }
    }

    /// Completes a branch address.
    pub fn branch(&mut self, branch: &Branch, config: &Config) -> Target {
        let before = self.isa.unwrap_or(if config.m_profile() { Isa::T32 } else { Isa::A32 });
        let isa = match (branch.state.map(|state| state.isa()), branch.info) {
            (None, _) => before,
            (Some(Isa::T32), Some(Info::Bytes(info))) if info.alternative => Isa::ThumbEe,
            // To leave ThumbEE takes an information byte.
            (Some(Isa::T32), None) if before == Isa::ThumbEe => Isa::ThumbEe,
            (Some(isa), _) => isa,
        };
        let shift = isa.alignment().trailing_zeros() as u8;
        let updated = (branch.count + shift).min(32);
        let bits = u64::from(branch.bits) << shift;
        self.address = replace_low(self.address.into(), bits, updated) as u32;
        self.known = self.known.max(updated);
        let isa_changed = self.isa != Some(isa);
        self.isa = Some(isa);
        Target { address: self.address, known: self.known, updated, isa, isa_changed }
    }

    /// Completes a data address: the address and how many of its low bits are known.
    pub fn data(&mut self, address: &DataAddress) -> (u32, u8) {
        let bits = u64::from(address.bits);
        self.data = replace_low(self.data.into(), bits, address.count) as u32;
        self.data_known = self.data_known.max(address.count);
        if address.big_endian.is_some() {
            self.big_endian = address.big_endian;
        }
        (self.data, self.data_known)
    }

    /// Data accesses are big-endian; `None` until an address of five bytes has said it.
    pub fn big_endian(&self) -> Option<bool> {
        self.big_endian
    }

    /// The next data address comes whole: what was before is no base for it.
    pub fn forget_data(&mut self) {
        (self.data, self.data_known, self.big_endian) = (0, 0, None);
    }

    /// Completes a timestamp: the natural binary number and how many of its low bits are known.
    pub fn timestamp(&mut self, bits: u64, count: u8, config: &Config) -> (u64, u8) {
        self.timestamp = replace_low(self.timestamp, bits, count);
        self.timestamp_known = self.timestamp_known.max(count);
        let value = if config.extension.timestamp_natural() {
            self.timestamp
        } else {
            from_gray(self.timestamp)
        };
        (value, self.timestamp_known)
    }

    /// Takes any packet, for those who need what is after it only.
    pub fn packet(&mut self, packet: &Packet, config: &Config) {
        match packet {
            Packet::Isync(isync) => {
                self.isync(isync);
                if let Some(current) = &isync.current {
                    self.branch(current, config);
                }
            }
            Packet::Branch(branch) => {
                self.branch(branch, config);
            }
            Packet::Data { address: Some(address), .. }
            | Packet::Placeholder { address: Some(address), .. }
            | Packet::ValueNotTraced { address: Some(address), .. } => {
                self.data(address);
            }
            Packet::Timestamp { bits, count, .. } => {
                self.timestamp(*bits, *count, config);
            }
            _ => {}
        }
    }
}

/// The number that a Gray code stands for: each bit is the parity of the code's bits from it up.
pub const fn from_gray(code: u64) -> u64 {
    let mut value = code;
    let mut shift = 32;
    while shift > 0 {
        value ^= value >> shift;
        shift /= 2;
    }
    value
}
