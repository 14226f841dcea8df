//! The identification registers of the trace units of known cores.
//!
//! They state the version and the options of the unit; how it is programmed is in other registers.
//! Bits \[3:0] of ETMIDR and TRCIDR1 are the revision, which no decoder uses. Origins:
//!
//! - Cortex-M3: ETMIDR of Arm DDI 0337I, table 10.11.
//! - Cortex-M4: the values that Microchip's device headers of SAM D5x and E5x state, and Silicon
//!   Labs' headers of EFM32WG.
//! - Cortex-M7: the values that several public projects read from an STM32H743 (r1p1).
//! - Cortex-M33: STMicroelectronics RM0456 (STM32U5), "ETM identification register" 0 to 2, and the
//!   same values in Raspberry Pi's headers of the RP2350.
//! - Cortex-R5: captures; AMD's UG1087 has 0x4104f232, a later revision.
//! - Cortex-A7, A9, A15, A53, A57, M55: captures. TRCIDR0 of Cortex-A53 is also in Arm DDI 0500D,
//!   table 13-34, and TRCIDR2 of Cortex-A57 in Arm DDI 0488D, table 13.22.
//! - Cortex-A72: TRCIDR0 of Arm 100095, table 13-20.
//!
//! A value without such an origin is that of a related core, which the register names.

use tracewright_base::Profile;
use tracewright_capture::core_type;
use tracewright_protocols::registry::AnyProtocol;

/// A register of the trace unit of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register {
    /// The name.
    pub name: &'static str,
    /// The value.
    pub value: u64,
    /// The related core that has this value, where that of the core itself is not known.
    pub related: Option<&'static str>,
}

impl Register {
    /// The assignment of the value.
    pub fn assignment(&self) -> String {
        format!("{}={:#x}", self.name, self.value)
    }

    /// That the value is assumed for a core called `core`, and why.
    pub fn note(&self, core: &str) -> String {
        let text = self.assignment();
        match self.related {
            None => format!("{text} is assumed, as a {core} has it"),
            Some(related) => format!(
                "{text} is assumed, as a {related} has it: the value of a {core} is not known"
            ),
        }
    }
}

/// The trace unit of some cores.
struct Unit {
    /// The ends of the names of the cores.
    cores: &'static [&'static str],
    protocol: AnyProtocol,
    registers: &'static [Register],
}

const fn known(name: &'static str, value: u64) -> Register {
    Register { name, value, related: None }
}

const fn related(core: &'static str, name: &'static str, value: u64) -> Register {
    Register { name, value, related: Some(core) }
}

const UNITS: &[Unit] = &[
    Unit {
        cores: &["m4", "m4f"],
        protocol: AnyProtocol::Etmv3,
        registers: &[known("ETMIDR", 0x4114_f250), known("ETMCCER", 0x1854_1800)],
    },
    Unit {
        cores: &["m3"],
        protocol: AnyProtocol::Etmv3,
        registers: &[known("ETMIDR", 0x4114_f250), related("Cortex-M4", "ETMCCER", 0x1854_1800)],
    },
    Unit { cores: &["m23"], protocol: AnyProtocol::Etmv3, registers: LIKE_M4 },
    Unit {
        cores: &["r5", "r5f"],
        protocol: AnyProtocol::Etmv3,
        registers: &[known("ETMIDR", 0x4104_f230), known("ETMCCER", 0x9ba)],
    },
    Unit {
        cores: &["r4", "r4f"],
        protocol: AnyProtocol::Etmv3,
        registers: &[
            related("Cortex-R5", "ETMIDR", 0x4104_f230),
            related("Cortex-R5", "ETMCCER", 0x9ba),
        ],
    },
    Unit {
        cores: &["a7"],
        protocol: AnyProtocol::Etmv3,
        registers: &[known("ETMIDR", 0x410c_f250), known("ETMCCER", 0x3440_08f2)],
    },
    Unit {
        cores: &["a9"],
        protocol: AnyProtocol::Ptm,
        registers: &[known("ETMIDR", 0x411c_f301), known("ETMCCER", 0x0000_08ea)],
    },
    Unit {
        cores: &["a15"],
        protocol: AnyProtocol::Ptm,
        registers: &[known("ETMIDR", 0x411c_f312), known("ETMCCER", 0x34c0_1ac2)],
    },
    Unit {
        cores: &["a53", "a57"],
        protocol: AnyProtocol::Etmv4,
        registers: &[
            known("TRCIDR0", 0x2800_0ea1),
            known("TRCIDR1", 0x4100_f400),
            known("TRCIDR2", 0x0000_0488),
        ],
    },
    Unit {
        cores: &["a72"],
        protocol: AnyProtocol::Etmv4,
        registers: &[
            known("TRCIDR0", 0x2800_0ea1),
            related("Cortex-A57", "TRCIDR1", 0x4100_f400),
            related("Cortex-A57", "TRCIDR2", 0x0000_0488),
        ],
    },
    Unit {
        cores: &["m55"],
        protocol: AnyProtocol::Etmv4,
        registers: &[
            known("TRCIDR0", 0x2800_06e1),
            known("TRCIDR1", 0x4100_f454),
            known("TRCIDR2", 0x0000_0004),
        ],
    },
    Unit {
        cores: &["m7", "m7f"],
        protocol: AnyProtocol::Etmv4,
        registers: &[
            known("TRCIDR0", 0x0800_06e1),
            known("TRCIDR1", 0x4100_f401),
            known("TRCIDR2", 0x0000_0004),
        ],
    },
    Unit {
        cores: &["m33", "m33f"],
        protocol: AnyProtocol::Etmv4,
        registers: &[
            known("TRCIDR0", 0x2800_06e1),
            known("TRCIDR1", 0x4100_f421),
            known("TRCIDR2", 0x0000_0004),
        ],
    },
    Unit { cores: &["m35p", "m35pf"], protocol: AnyProtocol::Etmv4, registers: LIKE_M33 },
    Unit {
        cores: &["m52", "m85", "m85f"],
        protocol: AnyProtocol::Etmv4,
        registers: &[
            related("Cortex-M55", "TRCIDR0", 0x2800_06e1),
            related("Cortex-M55", "TRCIDR1", 0x4100_f454),
            related("Cortex-M55", "TRCIDR2", 0x0000_0004),
        ],
    },
];

/// The unit of an M-profile core whose ETMv3 is not known.
const LIKE_M4: &[Register] =
    &[related("Cortex-M4", "ETMIDR", 0x4114_f250), related("Cortex-M4", "ETMCCER", 0x1854_1800)];

/// The unit of an M-profile core whose ETMv4 is not known.
const LIKE_M33: &[Register] = &[
    related("Cortex-M33", "TRCIDR0", 0x2800_06e1),
    related("Cortex-M33", "TRCIDR1", 0x4100_f421),
    related("Cortex-M33", "TRCIDR2", 0x0000_0004),
];

/// The unit of an R-profile core, which has 32-bit addresses and context identifiers. (Registers of
/// Cortex-R7, R8 and R52 are in no public record.)
const LIKE_R: &[Register] = &[related("32-bit processor", "TRCIDR2", 0x0000_0084)];

/// The protocol of the instruction trace of cores, by the ends of their names.
const PROTOCOLS: &[(AnyProtocol, &[&str])] = &[
    // Of a Cortex-M23: pyOCD's table of components, where an ETM without DEVARCH is none of
    // version 4.
    (AnyProtocol::Etmv3, &["m3", "m4", "m4f", "m23", "r4", "r4f", "r5", "r5f", "a5", "a7", "a8"]),
    (AnyProtocol::Ptm, &["a9", "a15"]),
    (
        AnyProtocol::Etmv4,
        &[
            "m7", "m7f", "m33", "m33f", "m35p", "m35pf", "m52", "m55", "m55f", "m85", "m85f", "r7",
            "r7f", "r8", "r8f", "r52", "r52+", "r52f", "a32", "a34", "a35", "a53", "a55", "a57",
            "a65", "a65ae", "a72", "a73", "a75", "a76", "a76ae", "a77", "a78", "a78ae", "a78c",
            "x1", "x1c",
        ],
    ),
    (
        AnyProtocol::Ete,
        &["a510", "a520", "a520ae", "a710", "a715", "a720", "a720ae", "a725", "x2", "x3", "x4"],
    ),
];

/// The end of the name of a core: `m3` of `ARM Cortex-M3`.
fn end(core: &str) -> Option<String> {
    let name = core.to_ascii_lowercase().replace([' ', '_'], "-");
    let name = name.strip_prefix("arm-").unwrap_or(&name);
    Some(name.strip_prefix("cortex")?.trim_start_matches('-').to_owned())
}

/// The protocol of the instruction trace of the core called `core`; `None` where it is unknown.
pub fn protocol(core: &str) -> Option<AnyProtocol> {
    let name = end(core)?;
    PROTOCOLS
        .iter()
        .find(|(_, cores)| cores.contains(&name.as_str()))
        .map(|(protocol, _)| *protocol)
}

/// The registers of the unit of `protocol` of the core called `core`: `Cortex-M3`. Empty where the
/// core or its unit is unknown.
pub(super) fn of(core: &str, protocol: AnyProtocol) -> &'static [Register] {
    let Some(name) = end(core) else { return &[] };
    let mut units = UNITS.iter();
    let unit = units.find(|unit| unit.protocol == protocol && unit.cores.contains(&name.as_str()));
    unit.map_or(&[], |unit| unit.registers)
}

/// The registers of the unit of `protocol` of the core called `core`; of a core of the M or R
/// profile whose unit is unknown, those of a related unit. Empty where no such unit is known.
pub fn of_core_or_profile(core: &str, protocol: AnyProtocol) -> &'static [Register] {
    let own = of(core, protocol);
    if !own.is_empty() {
        return own;
    }
    match (core_type(core).map(|core| core.profile), protocol) {
        (Some(Profile::Microcontroller), AnyProtocol::Etmv3) => LIKE_M4,
        (Some(Profile::Microcontroller), AnyProtocol::Etmv4) => LIKE_M33,
        (Some(Profile::RealTime), AnyProtocol::Etmv4) if !is_64_bit(core) => LIKE_R,
        _ => &[],
    }
}

/// Whether the R-profile core called `core` executes A64.
fn is_64_bit(core: &str) -> bool {
    end(core).is_none_or(|name| name.starts_with("r82"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocols_of_cores() {
        for (core, want) in [
            ("Cortex-M3", Some(AnyProtocol::Etmv3)),
            ("ARM Cortex-A9", Some(AnyProtocol::Ptm)),
            ("cortex-m33", Some(AnyProtocol::Etmv4)),
            ("Cortex-A710", Some(AnyProtocol::Ete)),
            ("Cortex-M23", Some(AnyProtocol::Etmv3)),
            ("Cortex-M0+", None),
            ("ARMv7-M", None),
        ] {
            assert_eq!(protocol(core), want, "{core}");
        }
    }

    #[test]
    fn units_of_cores() {
        let id = |core, protocol, name| {
            let registers = of(core, protocol).iter();
            registers.filter(|register| register.name == name).map(|r| (r.value, r.related)).next()
        };
        for core in ["Cortex-M3", "cortex-m3", "CortexM3", "ARM Cortex-M3", "Cortex-M4"] {
            let want = Some((0x4114_f250, None));
            assert_eq!(id(core, AnyProtocol::Etmv3, "ETMIDR"), want, "{core}");
        }
        let r5 = Some((0x4104_f230, None));
        assert_eq!(id("Cortex-R5F", AnyProtocol::Etmv3, "ETMIDR"), r5);
        let r4 = Some((0x4104_f230, Some("Cortex-R5")));
        assert_eq!(id("Cortex-R4", AnyProtocol::Etmv3, "ETMIDR"), r4);
        assert_eq!(id("Cortex-A15", AnyProtocol::Ptm, "ETMCCER"), Some((0x34c0_1ac2, None)));
        assert_eq!(id("Cortex-A53", AnyProtocol::Etmv4, "TRCIDR2"), Some((0x488, None)));
        assert_eq!(id("Cortex-M33", AnyProtocol::Etmv4, "TRCIDR1"), Some((0x4100_f421, None)));
        assert_eq!(id("Cortex-M7", AnyProtocol::Etmv4, "TRCIDR0"), Some((0x0800_06e1, None)));
        let m85 = Some((0x4, Some("Cortex-M55")));
        assert_eq!(id("Cortex-M85", AnyProtocol::Etmv4, "TRCIDR2"), m85);
        let a72 = Some((0x488, Some("Cortex-A57")));
        assert_eq!(id("Cortex-A72", AnyProtocol::Etmv4, "TRCIDR2"), a72);
        // A core has no unit of another protocol, and unknown cores have none.
        for (core, protocol) in [
            ("Cortex-M3", AnyProtocol::Etmv4),
            ("Cortex-M33", AnyProtocol::Etmv3),
            ("ARMv7-M", AnyProtocol::Etmv3),
            ("", AnyProtocol::Etmv3),
        ] {
            assert_eq!(of(core, protocol), [], "{core}");
        }
    }

    #[test]
    fn units_of_other_cores_have_the_addresses_of_their_profile() {
        let size = |core: &str, protocol| {
            let registers = of_core_or_profile(core, protocol).iter();
            registers.filter(|r| r.name == "TRCIDR2").map(|r| (r.value & 0x1f, r.related)).next()
        };
        for (core, want) in [
            ("Cortex-M33", Some((4, None))),
            ("ARMv8-M", Some((4, Some("Cortex-M33")))),
            ("Cortex-M0+", Some((4, Some("Cortex-M33")))),
            ("Cortex-R52", Some((4, Some("32-bit processor")))),
            ("Cortex-R82", None),
            ("ARM-AA64-R", None),
            ("Cortex-A76", None),
            ("unknown", None),
        ] {
            assert_eq!(size(core, AnyProtocol::Etmv4), want, "{core}");
        }
        let m23 = of_core_or_profile("Cortex-M23", AnyProtocol::Etmv3);
        let note = m23.first().map(|register| register.note("Cortex-M23"));
        let want = "ETMIDR=0x4114f250 is assumed, as a Cortex-M4 has it: the value of a Cortex-M23 \
                    is not known";
        assert_eq!(note.as_deref(), Some(want));
    }
}
