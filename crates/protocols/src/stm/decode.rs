//! STM packets to elements.

use tracewright_base::{BlockCache, Channel, Decode, Element, Fault, Gap, Sink, Software, Spanned};

use super::Config;
use super::packet::{Format, LITTLE_ENDIAN, Packet, Stamp};

/// The state that the next STM packet depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decoder {
    state: State,
    history: History,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// No byte was decoded.
    #[default]
    Fresh,
    /// All bytes since the last packet, or since the beginning, are undecodable.
    Lost,
    /// The last bytes are a packet.
    Running,
}

/// Completes packets: the current master and channel, and the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// The current master. `None` before the first VERSION or master packet.
    pub master: Option<u16>,
    /// The current channel of the master.
    pub channel: Option<u16>,
    /// The last timestamp. The first one after a synchronisation is complete.
    pub time: u64,
    /// The format of timestamps. `None` before the first VERSION packet.
    pub format: Option<Format>,
    /// Numbers are sent with the lowest nibble first.
    little_endian: bool,
}

impl History {
    /// Takes one packet and returns its timestamp.
    #[inline]
    pub fn packet(&mut self, packet: &Packet) -> Option<u64> {
        match *packet {
            Packet::Version { format, revision } => {
                (self.master, self.channel) = (Some(0), Some(0));
                self.format = Some(format);
                self.little_endian = revision.is_some_and(|byte| byte & LITTLE_ENDIAN != 0);
                None
            }
            Packet::Master8(id) => {
                let id = self.number(id.into(), 2) as u16;
                (self.master, self.channel) = (replace_low(self.master, id), Some(0));
                None
            }
            Packet::Master16(id) => {
                (self.master, self.channel) = (Some(self.number(id.into(), 4) as u16), Some(0));
                None
            }
            Packet::Channel8(id) => {
                let id = self.number(id.into(), 2) as u16;
                self.channel = replace_low(self.channel, id);
                None
            }
            Packet::Channel16(id) => {
                self.channel = Some(self.number(id.into(), 4) as u16);
                None
            }
            Packet::MasterError(_) => {
                self.channel = Some(0);
                None
            }
            Packet::GlobalError(_) => {
                (self.master, self.channel) = (Some(0), Some(0));
                None
            }
            Packet::Async | Packet::ChannelError(_) => None,
            Packet::Null { time }
            | Packet::Data { time, .. }
            | Packet::Flag { time }
            | Packet::User { time, .. }
            | Packet::Trigger { time, .. }
            | Packet::Frequency { time, .. }
            | Packet::Frequency40 { time, .. }
            | Packet::CrossSync { time, .. } => self.stamp(time?),
        }
    }

    /// The value of a number of `nibbles`: reverses the nibbles where the lowest one is sent first.
    pub(super) fn number(&self, bits: u64, nibbles: u8) -> u64 {
        if !self.little_endian || nibbles == 0 {
            return bits;
        }
        // Reverses all 16 nibbles.
        let bytes = bits.swap_bytes();
        let reversed = bytes >> 4 & 0x0f0f_0f0f_0f0f_0f0f | (bytes & 0x0f0f_0f0f_0f0f_0f0f) << 4;
        reversed >> (64 - 4 * u32::from(nibbles.min(16)))
    }

    /// The time of a timestamp.
    fn stamp(&mut self, stamp: Stamp) -> Option<u64> {
        let bits = self.number(stamp.bits, stamp.nibbles);
        let unchanged = u64::MAX.checked_shl(4 * u32::from(stamp.nibbles)).unwrap_or(0);
        self.time = match self.format? {
            Format::Delta => self.time.wrapping_add(bits),
            Format::Natural => self.time & unchanged | bits,
            Format::Gray => from_gray(to_gray(self.time) & unchanged | bits),
        };
        Some(self.time)
    }

    /// A write to the current channel.
    fn write(&self, bits: u8, value: u64) -> Software {
        let channel = Channel::Master { master: self.master, channel: self.channel };
        Software::new(channel, bits, self.number(value, bits / 4))
    }

    /// The element of a packet after [`packet`](Self::packet).
    fn element(&self, packet: &Packet, time: Option<u64>) -> Option<Software> {
        let software = match *packet {
            Packet::Async
            | Packet::Version { .. }
            | Packet::Master8(_)
            | Packet::Master16(_)
            | Packet::Channel8(_)
            | Packet::Channel16(_) => return None,
            Packet::Null { .. } => {
                time?;
                self.write(0, 0)
            }
            Packet::MasterError(code) => self.write(8, code.into()).with(Software::MASTER_ERROR),
            Packet::GlobalError(code) => {
                // The packet does not state the master.
                let unknown = Channel::Master { master: None, channel: None };
                let code = self.number(code.into(), 2);
                Software::new(unknown, 8, code).with(Software::GLOBAL_ERROR)
            }
            Packet::ChannelError(code) => self.write(8, code.into()).with(Software::CHANNEL_ERROR),
            Packet::Data { size, bits, marker, .. } => {
                let write = self.write(size.nibbles() * 4, bits);
                if marker { write.with(Software::MARKER) } else { write }
            }
            Packet::Flag { .. } => self.write(0, 0).with(Software::FLAG),
            Packet::User { nibbles, bits, .. } => {
                self.write(nibbles.wrapping_mul(4), bits).with(Software::USER)
            }
            Packet::Trigger { id, .. } => self.write(8, id.into()).with(Software::TRIGGER),
            Packet::Frequency { hertz, .. } => {
                self.write(32, hertz.into()).with(Software::FREQUENCY)
            }
            Packet::Frequency40 { hertz, .. } => self.write(40, hertz).with(Software::FREQUENCY),
            Packet::CrossSync { id, .. } => self.write(8, id.into()).with(Software::CROSS_SYNC),
        };
        Some(match time {
            Some(time) => software.at_time(time),
            None => software,
        })
    }
}

/// `low` in bits \[7:0], and the other bits of `old`, if these are known.
fn replace_low(old: Option<u16>, low: u16) -> Option<u16> {
    Some(old? & 0xff00 | low & 0xff)
}

/// Binary to reflected binary.
pub(super) const fn to_gray(binary: u64) -> u64 {
    binary ^ binary >> 1
}

/// Reflected binary to binary: each bit is the parity of itself and those above.
pub(super) const fn from_gray(mut gray: u64) -> u64 {
    let mut shift = 32;
    while shift > 0 {
        gray ^= gray >> shift;
        shift /= 2;
    }
    gray
}

impl Decoder {
    fn begin(&mut self, at: u64, state: State, sink: &mut impl Sink) {
        if self.state == State::Fresh {
            sink.element(at, Element::Gap(Gap::Start));
        }
        self.state = state;
    }
}

impl Decode<Config, Packet> for Decoder {
    #[inline]
    fn packet<K: BlockCache, S: Sink>(
        &mut self,
        p: Spanned<&Packet>,
        _: &Config,
        _: &mut K,
        sink: &mut S,
    ) {
        self.begin(p.at, State::Running, sink);
        let time = self.history.packet(p.packet);
        if let Some(software) = self.history.element(p.packet, time) {
            sink.element(p.at, Element::SoftwareWrite(software));
        }
    }

    fn bad<S: Sink>(&mut self, at: u64, fault: Fault, sink: &mut S) {
        if self.state == State::Running && fault != Fault::Truncated {
            sink.element(at, Element::Gap(Gap::BadPacket));
        }
        self.begin(at, State::Lost, sink);
        self.history = History::default();
    }

    // No element waits.
    fn finish<K: BlockCache, S: Sink>(&mut self, _: u64, _: &Config, _: &mut K, _: &mut S) {}
}
