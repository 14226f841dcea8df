//! The state of decompression: the parts of an address or timestamp that a packet may omit.

use tracewright_base::Isa;

use super::config::Config;
use super::packet::{Address, Packet, State, Sync, Timestamp};

/// The state of decompression. [`History::take`] completes a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct History {
    address: u32,
    address_bits: u8,
    isa: Option<Isa>,
    non_secure: Option<bool>,
    hyp: Option<bool>,
    time: u64,
    time_bits: u8,
}

impl History {
    /// Takes a packet. Afterwards the methods return the completed fields of the packet.
    #[inline]
    pub fn take(&mut self, packet: &Packet, config: &Config) {
        match packet {
            Packet::Sync(sync) => self.synchronise(sync),
            Packet::Branch(branch) => {
                self.move_to(&branch.address, branch.info.map(|info| info.alternative));
                if let Some(info) = branch.info {
                    self.non_secure = Some(info.non_secure);
                    self.hyp = Some(info.hyp);
                }
            }
            Packet::Waypoint(waypoint) => self.move_to(&waypoint.address, waypoint.alternative),
            Packet::Timestamp(Timestamp { bits, count, .. }) => {
                self.time = crate::bits::replace_low(self.time, *bits, *count);
                self.time_bits = self.time_bits.max(*count).min(config.timestamp_bits());
            }
            _ => {}
        }
    }

    /// Takes an I-sync.
    #[inline]
    pub(super) fn synchronise(&mut self, sync: &Sync) {
        (self.address, self.address_bits) = (sync.address, 32);
        self.isa = Some(sync.isa());
        self.non_secure = Some(sync.non_secure);
        self.hyp = Some(sync.hyp);
    }

    /// Takes the address of a packet; `alternative` is AltISA where information bytes have it.
    #[inline]
    pub(super) fn move_to(&mut self, address: &Address, alternative: Option<bool>) {
        if let Some(state) = address.state() {
            self.change(state, alternative);
        }
        let (bits, count) = address.value(self.isa.unwrap_or(Isa::T32));
        self.address = crate::bits::replace_low(self.address.into(), bits.into(), count) as u32;
        self.address_bits = self.address_bits.max(count);
    }

    #[cold]
    fn change(&mut self, state: State, alternative: Option<bool>) {
        self.isa = Some(match (state, alternative) {
            (State::Arm, _) => Isa::A32,
            (State::Jazelle, _) => Isa::Jazelle,
            (State::Thumb, Some(true)) => Isa::ThumbEe,
            (State::Thumb, Some(false)) => Isa::T32,
            // Leaving ThumbEE state takes an information byte.
            (State::Thumb, None) if self.isa == Some(Isa::ThumbEe) => Isa::ThumbEe,
            (State::Thumb, None) => Isa::T32,
        });
    }

    /// The address of the last I-sync, branch or waypoint update, where all of it is known.
    pub fn address(&self) -> Option<u32> {
        if self.address_bits >= 32 { Some(self.address) } else { None }
    }

    /// The known low bits of that address, and their number.
    pub fn low_address(&self) -> (u32, u8) {
        (self.address, self.address_bits)
    }

    /// The instruction set at that address.
    pub fn isa(&self) -> Option<Isa> {
        self.isa
    }

    /// Whether the processor is in Non-secure state at that address.
    pub fn non_secure(&self) -> Option<bool> {
        self.non_secure
    }

    /// Whether the processor is in Hyp mode at that address.
    pub fn hyp(&self) -> Option<bool> {
        self.hyp
    }

    /// The last timestamp in ticks, where all of it is known.
    pub fn time(&self, config: &Config) -> Option<u64> {
        if self.time_bits < config.timestamp_bits() {
            None
        } else if config.timestamps_are_binary() {
            Some(self.time)
        } else {
            Some(binary(self.time))
        }
    }

    /// The last timestamp in the encoding of the unit; unknown bits are 0.
    pub fn coded_time(&self) -> u64 {
        self.time
    }
}

/// Decodes a Gray code: bit n is the parity of bits n and above. (IHI 0035,
/// "Encoding of the timestamp value")
pub const fn binary(gray: u64) -> u64 {
    let mut value = gray;
    let mut by = 1;
    while by < 64 {
        value ^= value >> by;
        by *= 2;
    }
    value
}

/// Encodes `value` as a Gray code.
pub const fn gray(value: u64) -> u64 {
    value ^ value >> 1
}
