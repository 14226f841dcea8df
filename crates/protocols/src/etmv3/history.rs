//! The previous addresses and timestamp, which complete compressed packets.

use tracewright_base::Isa;

use super::packet::{Branch, DataAddress, Info, Isync};
use super::{Config, Packet};
use crate::bits::replace_low;

/// The last addresses and the last timestamp in the trace. By default nothing is known.
///
/// The base of a branch address is the last address that was *broadcast*, in an I-sync or a branch
/// packet, not the address of the last instruction. (IHI 0014, 7.3.5) The base of a data address is
/// the last data address in the trace, in any packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct History {
    address: u32,
    /// Number of low bits of `address` that are known.
    known: u8,
    isa: Option<Isa>,
    data: u32,
    /// Number of low bits of `data` that are known.
    data_known: u8,
    big_endian: Option<bool>,
    /// In the encoding of the trace unit: natural or Gray.
    timestamp: u64,
    /// Number of low bits of `timestamp` that are known.
    timestamp_known: u8,
}

/// A branch address, completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Byte address.
    pub address: u32,
    /// Number of its low bits that are known.
    pub known: u8,
    /// Number of its low bits that this packet has.
    pub updated: u8,
    /// The instruction set that the core is in after the branch.
    pub isa: Isa,
    /// The instruction set differs from the last one that was broadcast.
    pub isa_changed: bool,
}

impl History {
    /// Takes an I-sync packet. Of two addresses it takes that of the data instruction.
    pub fn isync(&mut self, isync: &Isync) {
        if let Some((address, isa)) = isync.start_address() {
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
            // Leaving ThumbEE takes an information byte.
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

    /// Completes a data address. Returns it and the number of its low bits that are known.
    pub fn data(&mut self, address: &DataAddress) -> (u32, u8) {
        let bits = u64::from(address.bits);
        self.data = replace_low(self.data.into(), bits, address.count) as u32;
        self.data_known = self.data_known.max(address.count);
        if address.big_endian.is_some() {
            self.big_endian = address.big_endian;
        }
        (self.data, self.data_known)
    }

    /// Whether data accesses are big-endian; `None` before an address of five bytes.
    pub fn big_endian(&self) -> Option<bool> {
        self.big_endian
    }

    /// Forgets the last data address: the next one comes whole.
    pub fn forget_data(&mut self) {
        (self.data, self.data_known, self.big_endian) = (0, 0, None);
    }

    /// Completes a timestamp. Returns it as a natural binary number, and the number of its low bits
    /// that are known.
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

    /// Takes any packet, for callers that need only the state after it.
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

/// Decodes a Gray code: bit n is the parity of the code's bits n and above.
pub const fn from_gray(code: u64) -> u64 {
    let mut value = code;
    let mut shift = 32;
    while shift > 0 {
        value ^= value >> shift;
        shift /= 2;
    }
    value
}
