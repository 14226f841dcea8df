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

    fn usual(name: &str, register: &dyn Fn(&str) -> Option<u64>) -> Option<u64> {
        let usual = |name: &str| Self::USUAL.iter().find(|(known, _)| *known == name);
        let value = |name: &str| register(name).or(usual(name).map(|&(_, value)| value));
        match (name, value("TRCIDR0"), value("TRCIDR2")) {
            ("TRCCONFIGR", Some(id0), Some(id2)) => value(name).map(|all| all & options(id0, id2)),
            _ => usual(name).map(|&(_, value)| value),
        }
    }

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

/// The bits of TRCCONFIGR that a unit with these TRCIDR0 and TRCIDR2 can set: a size or an option
/// of 0 is not implemented. (CID, VMID, TS and RS, bits 6, 7, 11 and 12)
fn options(id0: u64, id2: u64) -> u64 {
    let missing = [
        (6, id2 >> 5 & 0x1f == 0),
        (7, id2 >> 10 & 0x1f == 0),
        (11, id0 >> 24 & 0x1f == 0),
        (12, id0 >> 9 & 1 == 0),
    ];
    missing
        .iter()
        .filter(|(_, is_missing)| *is_missing)
        .fold(u64::MAX, |bits, (bit, _)| bits & !(1 << bit))
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

    #[test]
    fn defaults_enable_what_the_unit_has() {
        for (trcidr0, trcidr2, want) in [
            (0x2800_0ea1, 0x1088, 0x18c1),
            // Cortex-M33 and M7: no identifiers.
            (0x2800_06e1, 4, 0x1801),
            (0x0800_06e1, 4, 0x1801),
            (0x2800_0ca1, 0x488, 0x08c1),
            (0x2000_0ea1, 0x88, 0x1041),
        ] {
            let register = |name: &str| match name {
                "TRCIDR0" => Some(trcidr0),
                "TRCIDR2" => Some(trcidr2),
                _ => None,
            };
            let found = <Etmv4 as Encodes>::usual("TRCCONFIGR", &register);
            assert_eq!(found, Some(want), "{trcidr0:#x} {trcidr2:#x}");
        }
    }
}
