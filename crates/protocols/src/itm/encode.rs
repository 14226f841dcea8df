//! A trace unit in software: encodes software writes, DWT events and timestamps as packets.

use tracewright_base::{Channel, DwtEvent, Encode, Software, Step, TimeDelay};

use super::packet::{Data, LOW, Packet};
use super::{Config, Itm};
use crate::trace_unit::{Encodes, Setting};

/// Settings of the encoder that are not in the registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Source packets between synchronisation packets; 0: only one at the beginning. (Hardware
    /// counts cycles instead: DWT_CTRL.SYNCTAP)
    pub period: u32,
    /// Global timestamps have 64 bits, not 48.
    pub wide: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { period: 256, wide: true }
    }
}

impl Encodes for Itm {
    type Encoder = Encoder;

    /// Software writes, DWT events, local and global timestamps, and synchronisation are enabled.
    const USUAL: &'static [(&'static str, u64)] = &[("ITMTCR", 0x0010_0c0f)];

    const CORE: &'static str = "Cortex-M4";

    const SETTINGS: &'static [Setting] = &[
        Setting {
            name: "sync-every",
            about: "source packets between synchronisations (default 256)",
        },
        Setting {
            name: "wide-time",
            about: "global timestamps: 1 has 64 bits (default), 0 has 48",
        },
    ];

    fn settings(_: &Config, setting: &dyn Fn(&str) -> Option<u64>) -> Settings {
        Settings {
            period: setting("sync-every").map_or(256, |value| value as u32),
            wide: setting("wide-time").is_none_or(|value| value != 0),
        }
    }
}

/// Encodes steps as packets. Only what ITM_TCR enables is traced.
#[derive(Clone, Debug)]
pub struct Encoder {
    settings: Settings,
    off: bool,
    started: bool,
    /// Source packets since the last synchronisation.
    packets: u32,
    /// The page of the last Page packet.
    page: Option<u8>,
    /// Cycles since the last local timestamp.
    cycles: u64,
    /// The last global timestamp.
    global: Option<u64>,
}

/// ITM_TCR. (Armv8-M ARM, "ITM_TCR, ITM Trace Control Register")
const ITMENA: u32 = 1 << 0;
const TSENA: u32 = 1 << 1;
const SYNCENA: u32 = 1 << 2;
const TXENA: u32 = 1 << 3;
const GTSFREQ: u32 = 0b11 << 10;

/// A local timestamp has at most 28 bits.
const MAX_TICKS: u64 = (1 << 28) - 1;

impl Encode<Config, Packet> for Encoder {
    type Settings = Settings;

    fn new(_: &Config, settings: &Settings) -> Self {
        Encoder {
            settings: *settings,
            off: false,
            started: false,
            packets: 0,
            page: None,
            cycles: 0,
            global: None,
        }
    }

    fn step(&mut self, step: &Step, config: &Config, out: &mut impl Extend<Packet>) {
        if config.control & ITMENA == 0 {
            return;
        }
        match step {
            Step::SoftwareWrite(write) if !self.off => self.software(write, config, out),
            Step::DwtEvent(event) if !self.off && config.control & TXENA != 0 => {
                self.dwt_event(event, config, out);
            }
            Step::Cycles(cycles) => self.cycles += u64::from(*cycles),
            Step::Timestamp(value) if !self.off && config.control & GTSFREQ != 0 => {
                self.begin(config, out);
                self.global(*value, out);
            }
            Step::Overflow => {
                self.begin(config, out);
                // A Page packet may be among the lost packets, and local time restarts at 0.
                self.page = None;
                self.cycles = 0;
                out.extend([Packet::Overflow]);
            }
            Step::Off => self.off = true,
            Step::On => self.off = false,
            _ => {}
        }
    }

    fn finish(&mut self, _: &Config, _: &mut impl Extend<Packet>) {}
}

impl Encoder {
    /// Emits a synchronisation packet where one is due.
    fn begin(&mut self, config: &Config, out: &mut impl Extend<Packet>) {
        let again = self.settings.period != 0 && self.packets >= self.settings.period;
        if config.control & SYNCENA != 0 && (again || !self.started) {
            out.extend([Packet::Sync { zeros: 5 }]);
            self.page = Some(0);
            self.packets = 0;
        }
        self.started = true;
    }

    fn software(&mut self, write: &Software, config: &Config, out: &mut impl Extend<Packet>) {
        let Channel::Port { page, port } = write.channel else { return };
        let data = match write.bits {
            8 => Data::Byte(write.value() as u8),
            16 => Data::Half(write.value() as u16),
            32 => Data::Word(write.value() as u32),
            _ => return,
        };
        self.begin(config, out);
        if page.is_some() && page != self.page {
            self.page = page;
            out.extend(page.map(Packet::Page));
        }
        self.packets += 1;
        out.extend([Packet::Software { port, data }]);
        self.local(config, out);
    }

    fn dwt_event(&mut self, event: &DwtEvent, config: &Config, out: &mut impl Extend<Packet>) {
        let data = match event.size {
            1 => Data::Byte(event.value as u8),
            2 => Data::Half(event.value as u16),
            _ => Data::Word(event.value),
        };
        self.begin(config, out);
        self.packets += 1;
        out.extend([Packet::Hardware { discriminator: event.discriminator, data }]);
        self.local(config, out);
    }

    /// Emits the ticks since the last local timestamp, if there are any. Cycles that make no whole
    /// tick are retained.
    fn local(&mut self, config: &Config, out: &mut impl Extend<Packet>) {
        let ticks = (self.cycles / config.prescale()).min(MAX_TICKS);
        if config.control & TSENA == 0 || ticks == 0 {
            return;
        }
        self.cycles -= ticks * config.prescale();
        out.extend([match ticks {
            1..=6 => Packet::LocalTimeShort { ticks: ticks as u8 },
            _ => Packet::LocalTime {
                delay: TimeDelay::None,
                ticks: ticks as u32,
                bytes: groups(ticks),
            },
        }]);
    }

    /// Emits the bits of the global timestamp that have changed.
    fn global(&mut self, value: u64, out: &mut impl Extend<Packet>) {
        let value = if self.settings.wide { value } else { value & ((1 << 48) - 1) };
        let low = value as u32 & LOW;
        let before = self.global.replace(value);
        if let Some(before) = before
            && before >> 26 == value >> 26
        {
            let bytes = groups(u64::from(low ^ before as u32 & LOW));
            let bits = if bytes < 4 { low & ((1 << (7 * bytes)) - 1) } else { low };
            let (clock_changed, wrapped) = (false, false);
            return out.extend([Packet::GlobalTimeLow { bits, bytes, clock_changed, wrapped }]);
        }
        let bytes = if self.settings.wide { 6 } else { 4 };
        let wrapped =
            Packet::GlobalTimeLow { bits: low, bytes: 4, clock_changed: false, wrapped: true };
        out.extend([wrapped, Packet::GlobalTimeHigh { bits: value >> 26, bytes }]);
    }
}

/// The number of 7-bit groups of `value`, 1 to 4.
const fn groups(value: u64) -> u8 {
    match value {
        0..0x80 => 1,
        0x80..0x4000 => 2,
        0x4000..0x20_0000 => 3,
        _ => 4,
    }
}
