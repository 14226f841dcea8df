//! The identification registers of the trace units of known cores.
//!
//! Each is the value of the core's Technical Reference Manual, or of a capture of such a core. They
//! state the version and the options of the unit; how it is programmed is in other registers.

use tracewright_protocols::registry::AnyProtocol;

use super::configs::Setting;

/// Cores, a protocol, and registers.
type Row = (&'static [&'static str], AnyProtocol, &'static [(&'static str, u64)]);

/// Cores by the end of their name, the protocol of their unit, and its registers.
const UNITS: &[Row] = &[
    (&["m3", "m4", "m4f"], AnyProtocol::Etmv3, &[("ETMIDR", 0x4114_f250)]),
    (&["r4", "r4f", "r5", "r5f"], AnyProtocol::Etmv3, &[("ETMIDR", 0x4104_f230)]),
    (&["a7"], AnyProtocol::Etmv3, &[("ETMIDR", 0x410c_f250), ("ETMCCER", 0x3440_08f2)]),
    (&["a9"], AnyProtocol::Ptm, &[("ETMIDR", 0x411c_f301), ("ETMCCER", 0x0000_08ea)]),
    (&["a15"], AnyProtocol::Ptm, &[("ETMIDR", 0x411c_f312), ("ETMCCER", 0x34c0_1ac2)]),
    (
        &["a53", "a57", "a72"],
        AnyProtocol::Etmv4,
        &[("TRCIDR0", 0x2800_0ea1), ("TRCIDR1", 0x4100_f400), ("TRCIDR2", 0x0000_0488)],
    ),
    (
        &["m55"],
        AnyProtocol::Etmv4,
        &[("TRCIDR0", 0x2800_06e1), ("TRCIDR1", 0x4100_f454), ("TRCIDR2", 0x0000_0004)],
    ),
];

/// The registers of the unit of `protocol` of the core called `core`: `Cortex-M3`.
pub(super) fn of(core: &str, protocol: AnyProtocol) -> Option<Setting> {
    let name = core.to_ascii_lowercase().replace([' ', '_'], "-");
    let name = name.strip_prefix("arm-").unwrap_or(&name);
    let name = name.strip_prefix("cortex")?.trim_start_matches('-');
    let (_, _, registers) =
        UNITS.iter().find(|(names, of, _)| *of == protocol && names.contains(&name))?;
    Some(Setting { registers: registers.to_vec(), core: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_cores() {
        let id = |core, protocol, name| of(core, protocol).and_then(|unit| unit.get(name));
        for core in ["Cortex-M3", "cortex-m3", "CortexM3", "ARM Cortex-M3"] {
            assert_eq!(id(core, AnyProtocol::Etmv3, "ETMIDR"), Some(0x4114_f250), "{core}");
        }
        assert_eq!(id("Cortex-R5F", AnyProtocol::Etmv3, "ETMIDR"), Some(0x4104_f230));
        assert_eq!(id("Cortex-A15", AnyProtocol::Ptm, "ETMCCER"), Some(0x34c0_1ac2));
        assert_eq!(id("Cortex-A53", AnyProtocol::Etmv4, "TRCIDR2"), Some(0x488));
        // A core has no unit of another protocol, and unknown cores have none.
        assert_eq!(of("Cortex-M3", AnyProtocol::Etmv4), None);
        assert_eq!(of("Cortex-M33", AnyProtocol::Etmv3), None);
        assert_eq!(of("ARMv7-M", AnyProtocol::Etmv3), None);
        assert_eq!(of("", AnyProtocol::Etmv3), None);
    }
}
