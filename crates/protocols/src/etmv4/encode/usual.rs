//! The registers of a typical unit.

use super::{Encoder, Settings, settings};
use crate::etmv4::{Config, Ete, Etmv4};
use crate::protocol::InvalidRegister;
use crate::trace_unit::{Encodes, Setting};

/// Branch broadcasting, cycle counting, return stack, 4 events, 64-bit timestamps, commit mode 1;
/// nothing is speculative. 64-bit addresses, context and virtual machine identifiers of 4 bytes.
/// Contexts, timestamps and the return stack are enabled.
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

    fn check(config: &Config, _: &dyn Fn(&str) -> Option<u64>) -> Result<(), InvalidRegister> {
        match config.has_load_store_p0() {
            true => Err(InvalidRegister {
                name: "TRCCONFIGR",
                why: "TRCCONFIGR.INSTP0 makes loads or stores P0 elements, which are decoded, but \
                      not encoded: clear bits [2:1]"
                    .into(),
            }),
            false => Ok(()),
        }
    }

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Protocol;

    #[test]
    fn loads_and_stores_as_p0_elements_are_refused() {
        for (trcconfigr, trcidr0, refused) in [
            (0x18c1, 0xea1, false),
            (0x18c1, 0xea7, false),
            (0x18c3, 0xea1, false),
            (0x18c3, 0xea7, true),
        ] {
            let register = |name: &str| match name {
                "TRCCONFIGR" => Some(trcconfigr),
                "TRCIDR0" => Some(0x2800_0000 | trcidr0),
                _ => Etmv4::USUAL.iter().find(|(usual, _)| *usual == name).map(|(_, value)| *value),
            };
            let config = Etmv4::configure(None, &register).expect("every register");
            let name = <Etmv4 as Encodes>::check(&config, &register).map_err(|wrong| wrong.name);
            assert_eq!(name, if refused { Err("TRCCONFIGR") } else { Ok(()) }, "{trcconfigr:#x}");
        }
    }
}
