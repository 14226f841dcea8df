//! Settings of the encoder beside the registers that a decoder reads.

use crate::ptm::{Config, Encoder, Ptm};
use crate::trace_unit::{Encodes, Setting};

/// The settings of [`Encoder`](super::Encoder).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Bytes between periodic synchronisations; 0: none. (ETMSYNCFR, bits \[11:0])
    pub period: u32,
    /// Entries of the unit's return stack, 0 to 15.
    pub return_stack_depth: u8,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { period: 1024, return_stack_depth: 4 }
    }
}

impl Encodes for Ptm {
    type Encoder = Encoder;

    /// PFTv1.1 of a Cortex-A15: DSB and DMB are not waypoints; timestamps, if enabled, are 64-bit
    /// binary.
    const USUAL: &'static [(&'static str, u64)] = &[
        ("ETMCR", 0x1000_0400),
        ("ETMIDR", 0x411c_f312),
        ("ETMCCER", 0x34c0_1ac2),
        ("ETMTRACEIDR", 0x10),
    ];

    /// Timestamps are enabled where the unit has them. (ETMCCER, bit \[22])
    fn usual(name: &str, register: &dyn Fn(&str) -> Option<u64>) -> Option<u64> {
        const TIMESTAMP_ENABLE: u64 = 1 << 28;
        let usual = |name: &str| Self::USUAL.iter().find(|(known, _)| *known == name);
        let usual = |name: &str| usual(name).map(|&(_, value)| value);
        let extension = register("ETMCCER").or_else(|| usual("ETMCCER")).unwrap_or(0);
        match (name, usual(name)) {
            ("ETMCR", Some(control)) if extension >> 22 & 1 == 0 => {
                Some(control & !TIMESTAMP_ENABLE)
            }
            (_, value) => value,
        }
    }

    const CORE: &'static str = "Cortex-A15";

    const SETTINGS: &'static [Setting] = &[
        Setting::new("ETMSYNCFR", "bytes between synchronisations, 0 for none; else 1024"),
        Setting::new("return-stack-depth", "entries of the return stack, 0 to 15; else 4"),
    ];

    fn settings(_: &Config, setting: &dyn Fn(&str) -> Option<u64>) -> Settings {
        Settings {
            period: setting("ETMSYNCFR").map_or(1024, |value| value as u32 & 0xfff),
            return_stack_depth: setting("return-stack-depth").map_or(4, |n| n.min(15) as u8),
        }
    }
}
