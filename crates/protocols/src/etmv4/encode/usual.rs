//! The registers of a usual unit.

use super::{Encoder, Settings, settings};
use crate::etmv4::{Config, Ete, Etmv4};
use crate::trace_unit::{Encodes, Setting};

/// Branch broadcasting, cycle counting, return stack, 4 events, 64-bit timestamps, commit mode 1;
/// nothing is speculative. 64-bit addresses, context and virtual machine identifiers of 4 bytes.
/// Traced are contexts, timestamps and what the return stack leaves over.
const COMMON: [(&str, u64); 5] = [
    ("TRCCONFIGR", 0x18c1),
    ("TRCTRACEIDR", 0x10),
    ("TRCIDR0", 0x2800_0ea1),
    ("TRCIDR2", 0x1088),
    ("TRCIDR8", 0),
];

const fn and(extra: (&'static str, u64)) -> [(&'static str, u64); 6] {
    let [a, b, c, d, e] = COMMON;
    [a, b, c, d, e, extra]
}

impl Encodes for Etmv4 {
    type Encoder = Encoder;

    /// ETMv4.4.
    const USUAL: &'static [(&'static str, u64)] = &and(("TRCIDR1", 0x4100_f443));

    const CORE: &'static str = "Cortex-A53";
    const SETTINGS: &'static [Setting] = settings::SETTINGS;

    fn settings(_: &Config, setting: &dyn Fn(&str) -> Option<u64>) -> Settings {
        Settings::new(setting)
    }
}

impl Encodes for Ete {
    type Encoder = Encoder;

    /// ETE 1.0.
    const USUAL: &'static [(&'static str, u64)] = &and(("TRCDEVARCH", 0x4770_5a13));

    const CORE: &'static str = "ARM-AA64";
    const SETTINGS: &'static [Setting] = settings::SETTINGS;

    fn settings(_: &Config, setting: &dyn Fn(&str) -> Option<u64>) -> Settings {
        Settings::new(setting)
    }
}
