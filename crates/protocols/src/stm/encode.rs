//! A trace unit in software: encodes software writes as STPv2 packets.

use tracewright_base::{Channel, Encode, Software, Step};

use super::decode::{History, to_gray};
use super::packet::{Format, LITTLE_ENDIAN, Packet, Size, Stamp};
use super::{Config, Stm};
use crate::trace_unit::{Encodes, Setting};

/// Settings of the encoder that are not in the registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Packets between synchronisations; 0: only at the beginning. (STMSYNCR counts bytes)
    pub period: u32,
    /// The format of timestamps.
    pub format: Format,
    /// The revision byte of VERSION packets.
    pub revision: Option<u8>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { period: 512, format: Format::Gray, revision: None }
    }
}

impl Encodes for Stm {
    type Encoder = Encoder;

    /// Timestamps where software requests them, and synchronisation are enabled.
    const USUAL: &'static [(&'static str, u64)] = &[("STMTCSR", 0x0010_0007)];

    const CORE: &'static str = "Cortex-A53";

    const SETTINGS: &'static [Setting] = &[
        Setting { name: "sync-every", about: "packets between synchronisations (default 512)" },
        Setting {
            name: "time-format",
            about: "2 differences, 3 natural binary, 4 Gray code (default)",
        },
        Setting {
            name: "revision",
            about: "the revision byte of VERSION packets; bit 7 reverses the order of nibbles",
        },
    ];

    fn settings(_: &Config, setting: &dyn Fn(&str) -> Option<u64>) -> Settings {
        Settings {
            period: setting("sync-every").map_or(512, |value| value as u32),
            format: match setting("time-format") {
                Some(2) => Format::Delta,
                Some(3) => Format::Natural,
                _ => Format::Gray,
            },
            revision: setting("revision").map(|value| value as u8),
        }
    }
}

/// Encodes steps as packets. Only what STMTCSR enables is traced.
#[derive(Clone, Debug)]
pub struct Encoder {
    settings: Settings,
    off: bool,
    started: bool,
    /// Packets since the last synchronisation.
    packets: u32,
    /// The state of a decoder of the packets so far.
    history: History,
    /// Whether the next timestamp is complete.
    whole: bool,
}

/// STMTCSR. (Arm STM TRM, "Trace Control and Status Register")
const EN: u32 = 1 << 0;
const TSEN: u32 = 1 << 1;
const COMPEN: u32 = 1 << 5;

impl Encode<Config, Packet> for Encoder {
    type Settings = Settings;

    fn new(_: &Config, settings: &Settings) -> Self {
        Encoder {
            settings: *settings,
            off: false,
            started: false,
            packets: 0,
            history: History::default(),
            whole: true,
        }
    }

    fn step(&mut self, step: &Step, config: &Config, out: &mut impl Extend<Packet>) {
        if config.control & EN == 0 {
            return;
        }
        match step {
            Step::SoftwareWrite(write) if !self.off => self.software(write, config, out),
            Step::Timestamp(value) if !self.off && config.control & TSEN != 0 => {
                self.begin(out);
                let time = Some(self.stamp(*value));
                self.put(Packet::Null { time }, out);
            }
            Step::Trigger if !self.off => {
                self.begin(out);
                self.put(Packet::Trigger { id: 0, time: None }, out);
            }
            Step::Off => self.off = true,
            Step::On => self.off = false,
            _ => {}
        }
    }

    fn finish(&mut self, _: &Config, _: &mut impl Extend<Packet>) {}
}

impl Encoder {
    fn put(&mut self, packet: Packet, out: &mut impl Extend<Packet>) {
        self.packets += 1;
        self.history.packet(&packet);
        out.extend([packet]);
    }

    /// Emits a synchronisation where one is due.
    fn begin(&mut self, out: &mut impl Extend<Packet>) {
        let again = self.settings.period != 0 && self.packets >= self.settings.period;
        if !self.started || again {
            self.started = true;
            self.put(Packet::Async, out);
            let Settings { format, revision, .. } = self.settings;
            self.put(Packet::Version { format, revision }, out);
            self.packets = 0;
            self.whole = true;
        }
    }

    /// A number as a packet stores it: with reversed nibbles where the lowest one is sent first.
    fn number(&self, bits: u64, nibbles: u8) -> u64 {
        match self.settings.revision {
            Some(byte) if byte & LITTLE_ENDIAN != 0 => self.history.number(bits, nibbles),
            _ => bits,
        }
    }

    fn software(&mut self, write: &Software, config: &Config, out: &mut impl Extend<Packet>) {
        let Channel::Master { master, channel } = write.channel else { return };
        self.begin(out);
        if !write.has(Software::GLOBAL_ERROR) {
            self.speak(master, out);
            // An error of a master belongs to no channel.
            if !write.has(Software::MASTER_ERROR) {
                self.speak_on(channel, out);
            }
        }
        let time = write.time().filter(|_| config.control & TSEN != 0);
        let time = time.map(|time| self.stamp(time));
        let (bits, value) = (write.bits, write.value());
        let packet = if write.has(Software::GLOBAL_ERROR) {
            Packet::GlobalError(self.number(value, 2) as u8)
        } else if write.has(Software::MASTER_ERROR) {
            Packet::MasterError(self.number(value, 2) as u8)
        } else if write.has(Software::CHANNEL_ERROR) {
            Packet::ChannelError(self.number(value, 2) as u8)
        } else if write.has(Software::FLAG) {
            Packet::Flag { time }
        } else if write.has(Software::TRIGGER) {
            Packet::Trigger { id: self.number(value, 2) as u8, time }
        } else if write.has(Software::CROSS_SYNC) {
            Packet::CrossSync { id: self.number(value, 2) as u8, time }
        } else if write.has(Software::FREQUENCY) && bits > 32 {
            Packet::Frequency40 { hertz: self.number(value & 0xff_ffff_ffff, 10), time }
        } else if write.has(Software::FREQUENCY) {
            Packet::Frequency { hertz: self.number(value & 0xffff_ffff, 8) as u32, time }
        } else if write.has(Software::USER) {
            let nibbles = (bits / 4).clamp(1, 16);
            Packet::User { nibbles, bits: self.number(low(value, nibbles), nibbles), time }
        } else if bits == 0 {
            Packet::Null { time }
        } else {
            let size = self.size(bits, value, config);
            let nibbles = size.nibbles();
            let marker = write.has(Software::MARKER);
            Packet::Data { size, bits: self.number(low(value, nibbles), nibbles), marker, time }
        };
        self.put(packet, out);
    }

    /// The packet of `bits` bits, or, with compression, the smallest one in which the value fits.
    fn size(&self, bits: u8, value: u64, config: &Config) -> Size {
        let bits = match config.control & COMPEN {
            0 => bits,
            _ => bits.min((64 - value.leading_zeros()).max(1) as u8),
        };
        match bits {
            0..=4 => Size::Nibble,
            5..=8 => Size::Byte,
            9..=16 => Size::Half,
            17..=32 => Size::Word,
            _ => Size::Double,
        }
    }

    fn speak(&mut self, master: Option<u16>, out: &mut impl Extend<Packet>) {
        let Some(master) = master.filter(|_| master != self.history.master) else { return };
        let known = self.history.master.unwrap_or(0);
        if master >> 8 == known >> 8 {
            self.put(Packet::Master8(self.number(u64::from(master & 0xff), 2) as u8), out);
        } else {
            self.put(Packet::Master16(self.number(master.into(), 4) as u16), out);
        }
    }

    fn speak_on(&mut self, channel: Option<u16>, out: &mut impl Extend<Packet>) {
        let Some(channel) = channel.filter(|_| channel != self.history.channel) else { return };
        let known = self.history.channel.unwrap_or(0);
        if channel >> 8 == known >> 8 {
            self.put(Packet::Channel8(self.number(u64::from(channel & 0xff), 2) as u8), out);
        } else {
            self.put(Packet::Channel16(self.number(channel.into(), 4) as u16), out);
        }
    }

    /// The shortest timestamp for `time`.
    fn stamp(&mut self, time: u64) -> Stamp {
        let before = self.history.time;
        let whole = core::mem::take(&mut self.whole);
        let (bits, news) = match self.settings.format {
            Format::Delta => (time.wrapping_sub(before), time.wrapping_sub(before)),
            Format::Natural => (time, time ^ before),
            Format::Gray => (to_gray(time), to_gray(time) ^ to_gray(before)),
        };
        let wanted = if whole && self.settings.format != Format::Delta {
            16
        } else {
            (64 - news.leading_zeros()).div_ceil(4) as u8
        };
        // A timestamp cannot have 13 or 15 nibbles.
        let nibbles = match wanted {
            13 => 14,
            15 => 16,
            n => n,
        };
        Stamp { bits: self.number(low(bits, nibbles), nibbles), nibbles }
    }
}

/// The low `nibbles` of `value`.
const fn low(value: u64, nibbles: u8) -> u64 {
    match nibbles {
        0 => 0,
        1..=15 => value & ((1 << (4 * nibbles)) - 1),
        _ => value,
    }
}
