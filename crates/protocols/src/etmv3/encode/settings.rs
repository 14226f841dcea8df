//! Settings of the encoder beside the registers that a decoder reads.

use crate::etmv3::{Config, Encoder, Etmv3};
use crate::trace_unit::{Encodes, Setting};

/// The settings of [`Encoder`](super::Encoder).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Bytes between periodic synchronisations; 0: none. (ETMSYNCFR, bits \[11:0]; a real ETMv3.0
    /// counts cycles)
    pub period: u32,
    /// The cycle count of a gap comes in a separate packet after the I-sync, not in it.
    pub late_gaps: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { period: 1024, late_gaps: false }
    }
}

impl Encodes for Etmv3 {
    type Encoder = Encoder;

    /// ETMv3.5 of a Cortex-A7: traces instructions; timestamps, if enabled, are 64-bit binary.
    const USUAL: &'static [(&'static str, u64)] = &[
        ("ETMCR", 0x1000_0800),
        ("ETMIDR", 0x410c_f250),
        ("ETMCCER", 0x3440_08f2),
        ("ETMTRACEIDR", 0x10),
    ];

    /// Timestamps are enabled where the unit has them. (ETMCCER, bit \[22], from ETMv3.5)
    fn usual(name: &str, register: &dyn Fn(&str) -> Option<u64>) -> Option<u64> {
        const TIMESTAMP_ENABLE: u64 = 1 << 28;
        let usual = |name: &str| Self::USUAL.iter().find(|(known, _)| *known == name);
        let usual = |name: &str| usual(name).map(|&(_, value)| value);
        let value = |name: &str| register(name).or_else(|| usual(name)).unwrap_or(0);
        let has_timestamps = || value("ETMIDR") >> 4 & 0xf >= 5 && value("ETMCCER") >> 22 & 1 != 0;
        match (name, usual(name)) {
            ("ETMCR", Some(control)) if !has_timestamps() => Some(control & !TIMESTAMP_ENABLE),
            (_, value) => value,
        }
    }

    const CORE: &'static str = "Cortex-A7";

    const SETTINGS: &'static [Setting] = &[
        Setting::new("ETMSYNCFR", "bytes between synchronisations, 0 for none; else 1024"),
        Setting::new(
            "late-gaps",
            "1: the cycles of a gap come in a separate packet after the I-sync",
        ),
    ];

    fn settings(_: &Config, setting: &dyn Fn(&str) -> Option<u64>) -> Settings {
        Settings {
            period: setting("ETMSYNCFR").map_or(1024, |value| value as u32 & 0xfff),
            late_gaps: setting("late-gaps").is_some_and(|value| value != 0),
        }
    }
}
