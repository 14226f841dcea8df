//! The registers of the Trace Buffer Unit, and those fields of other registers that it reads.

use crate::register::{Access, Register, field};

/// The feature in whose presence a register exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// FEAT_TRBE.
    Trbe,
    /// FEAT_TRBE_EXT: External mode.
    External,
    /// FEAT_TRBE_EXC: exceptions instead of interrupts.
    Exceptions,
    /// FEAT_TRBE_MPAM.
    Mpam,
    /// FEAT_TRF: the filter of self-hosted trace.
    Filter,
}

const STATUS: &[tracewright_base::Field] = &[
    field("MSS2", 55, 32, "more of the syndrome", &[]),
    field(
        "EC",
        31,
        26,
        "class of the event",
        &[
            (0x00, "other event"),
            (0x1e, "granule protection check"),
            (0x1f, "IMPLEMENTATION DEFINED"),
            (0x24, "stage 1 Data Abort"),
            (0x25, "stage 2 Data Abort"),
        ],
    ),
    field(
        "DAT",
        23,
        23,
        "accepted trace that is not in memory (external view)",
        &[(0, "none"), (1, "there is some")],
    ),
    field("IRQ", 22, 22, "management event", &[(0, "none"), (1, "recorded")]),
    field("TRG", 21, 21, "Detected Trigger", &[(0, "none"), (1, "observed")]),
    field("WRAP", 20, 20, "write pointer", &[(0, "did not wrap"), (1, "wrapped")]),
    field("EA", 18, 18, "External abort", &[(0, "none"), (1, "reported")]),
    field("S", 17, 17, "collection", &[(0, "not stopped"), (1, "stopped")]),
    field("MSS", 15, 6, "syndrome of the event", &[]),
    field(
        "BSC",
        5,
        0,
        "status code (EC 0), or fault status code (EC 0x24, 0x25)",
        &[
            (0, "not stopped, or access not allowed"),
            (1, "buffer filled"),
            (2, "Trigger Event"),
            (3, "Manual Stop"),
            (4, "buffer too large"),
        ],
    ),
];

const YES: &[(u64, &str)] = &[(0, "no"), (1, "yes")];
const ALLOWED: &[(u64, &str)] = &[(0, "prohibited"), (1, "allowed")];
const SPACES: &[(u64, &str)] = &[(0, "Secure"), (1, "Non-secure"), (2, "Root"), (3, "Realm")];

/// A register of 64 bits that is read and written, with its offset in the external view.
const fn register(
    name: &'static str,
    aliases: &'static [&'static str],
    about: &'static str,
    offset: Option<u16>,
    versions: Feature,
    fields: &'static [tracewright_base::Field],
    section: &'static str,
) -> Register<Feature> {
    let access = Access::ReadWrite;
    Register { name, aliases, about, offset, bits: 64, access, versions, fields, section }
}

/// The registers: those of the external view by offset, then the others. (Arm ARM, table D6-4)
pub static REGISTERS: &[Register<Feature>] = &[
    register(
        "TRBBASER_EL1",
        &["TRBBASER"],
        "Base pointer",
        Some(0x000),
        Feature::Trbe,
        &[field("BASE", 63, 12, "address of the first byte, shifted right by 12", &[])],
        "Arm ARM, D24.4.1",
    ),
    register(
        "TRBPTR_EL1",
        &["TRBPTR"],
        "write pointer",
        Some(0x008),
        Feature::Trbe,
        &[field("PTR", 63, 0, "address of the next byte to write", &[])],
        "Arm ARM, D24.4.6",
    ),
    register(
        "TRBLIMITR_EL1",
        &["TRBLIMITR"],
        "Limit pointer, modes and enables",
        Some(0x010),
        Feature::Trbe,
        &[
            field("LIMIT", 63, 12, "address after the last byte, shifted right by 12", &[]),
            field("XE", 6, 6, "enabled in External mode", YES),
            field(
                "nVM",
                5,
                5,
                "addresses",
                &[(0, "virtual"), (1, "physical, or intermediate physical")],
            ),
            field(
                "TM",
                4,
                3,
                "trigger mode",
                &[(0, "stop on trigger"), (1, "IRQ on trigger"), (3, "ignore trigger")],
            ),
            field(
                "FM",
                2,
                1,
                "buffer mode",
                &[(0, "Fill mode"), (1, "Wrap mode"), (3, "Circular Buffer mode")],
            ),
            field("E", 0, 0, "enabled in Self-hosted mode", YES),
        ],
        "Arm ARM, D24.4.3",
    ),
    register(
        "TRBSR_EL1",
        &["TRBSR"],
        "status and syndrome",
        Some(0x018),
        Feature::Trbe,
        STATUS,
        "Arm ARM, D24.4.7",
    ),
    register(
        "TRBTRG_EL1",
        &["TRBTRG"],
        "Trigger Counter",
        Some(0x020),
        Feature::Trbe,
        &[field("TRG", 31, 0, "bytes of trace from a Detected Trigger to a Trigger Event", &[])],
        "Arm ARM, D24.4.10",
    ),
    register(
        "TRBMAR_EL1",
        &["TRBMAR"],
        "memory attributes, where the addresses are not virtual",
        Some(0x028),
        Feature::Trbe,
        &[
            field("PAS", 11, 10, "physical address space in External mode", SPACES),
            field(
                "SH",
                9,
                8,
                "shareability",
                &[(0, "Non-shareable"), (2, "Outer Shareable"), (3, "Inner Shareable")],
            ),
            field(
                "Attr",
                7,
                0,
                "memory type, as in MAIR_ELx",
                &[
                    (0x00, "Device-nGnRnE"),
                    (0x04, "Device-nGnRE"),
                    (0x44, "Normal, Non-cacheable"),
                    (0xff, "Normal, Write-Back, Read- and Write-Allocate"),
                ],
            ),
        ],
        "Arm ARM, D24.4.4",
    ),
    Register {
        name: "TRBIDR_EL1",
        aliases: &["TRBIDR"],
        about: "what the unit implements",
        offset: Some(0x030),
        bits: 64,
        access: Access::ReadOnly,
        versions: Feature::Trbe,
        fields: &[
            field("MaxBuffSize", 47, 32, "largest buffer; 0 for no limit", &[]),
            field(
                "MPAM",
                15,
                12,
                "MPAM in External mode",
                &[(0, "none"), (1, "default values"), (2, "TRBMPAM_EL1")],
            ),
            field(
                "EA",
                11,
                8,
                "External aborts of writes",
                &[(0, "not described"), (1, "ignored"), (2, "SError exception")],
            ),
            field(
                "AddrMode",
                7,
                6,
                "addresses",
                &[(0, "virtual and physical"), (1, "virtual"), (2, "physical")],
            ),
            field("F", 5, 5, "hardware management of Access flag and dirty state", YES),
            field("P", 4, 4, "programming", &[(0, "allowed"), (1, "not allowed")]),
            field("Align", 3, 0, "alignment of TRBPTR_EL1 and TRBTRG_EL1: log2 of bytes", &[]),
        ],
        section: "Arm ARM, D24.4.2",
    },
    Register {
        name: "TRBCR",
        aliases: &[],
        about: "control by an external debugger",
        offset: Some(0x038),
        bits: 64,
        access: Access::WriteOnly,
        versions: Feature::External,
        fields: &[field("ManStop", 0, 0, "flush and stop collection", YES)],
        section: "Arm ARM, H9.4.7",
    },
    register(
        "TRBMPAM_EL1",
        &["TRBMPAM"],
        "MPAM of writes in External mode",
        Some(0x040),
        Feature::Mpam,
        &[
            field("EN", 26, 26, "PARTID, PMG and MPAM_SP are used", YES),
            field("MPAM_SP", 25, 24, "space of PARTID", SPACES),
            field("PMG", 23, 16, "performance monitoring group", &[]),
            field("PARTID", 15, 0, "partition", &[]),
        ],
        "Arm ARM, D24.4.5",
    ),
    register(
        "TRBITCTRL",
        &[],
        "integration mode",
        Some(0xf00),
        Feature::External,
        &[field("IME", 0, 0, "integration mode", YES)],
        "Arm ARM, H9.4",
    ),
    register(
        "TRBSR_EL2",
        &[],
        "status and syndrome of events for EL2",
        None,
        Feature::Exceptions,
        STATUS,
        "Arm ARM, D24.4.8",
    ),
    register(
        "TRBSR_EL3",
        &[],
        "status and syndrome of events for EL3",
        None,
        Feature::Exceptions,
        STATUS,
        "Arm ARM, D24.4.9",
    ),
    register(
        "TRFCR_EL1",
        &[],
        "filter of trace at EL1 and EL0",
        None,
        Feature::Filter,
        &[
            field("DnVM", 11, 11, "physical pointers disabled, for nested virtualization", YES),
            field("KE", 10, 10, "exceptions to EL1 unmasked by PSTATE.PM", YES),
            field("EE", 9, 8, "exceptions to EL1", &[(0, "disabled"), (3, "enabled")]),
            field(
                "TS",
                6,
                5,
                "timestamps",
                &[(1, "virtual"), (2, "guest physical"), (3, "physical")],
            ),
            field("E1TRE", 1, 1, "trace at EL1", ALLOWED),
            field("E0TRE", 0, 0, "trace at EL0", ALLOWED),
        ],
        "Arm ARM, D24.4.74",
    ),
    register(
        "TRFCR_EL2",
        &[],
        "filter of trace at EL2, and of EL0 in its host",
        None,
        Feature::Filter,
        &[
            field("DnVM", 11, 11, "physical pointers disabled", YES),
            field("KE", 10, 10, "exceptions to EL2 unmasked by PSTATE.PM", YES),
            field(
                "EE",
                9,
                8,
                "exceptions to EL2",
                &[(0, "disabled"), (1, "delegated"), (2, "enabled"), (3, "trap all")],
            ),
            field(
                "TS",
                6,
                5,
                "timestamps",
                &[(0, "TRFCR_EL1"), (1, "virtual"), (2, "guest physical"), (3, "physical")],
            ),
            field("CX", 3, 3, "CONTEXTIDR_EL2 and VMID", ALLOWED),
            field("E2TRE", 1, 1, "trace at EL2", ALLOWED),
            field("E0HTRE", 0, 0, "trace at EL0 under HCR_EL2.TGE", ALLOWED),
        ],
        "Arm ARM, D24.4.75",
    ),
    register(
        "MDCR_EL2",
        &[],
        "debug configuration: the fields of the trace buffer",
        None,
        Feature::Filter,
        &[field(
            "E2TB",
            25,
            24,
            "owning Exception level",
            &[(0, "EL2 where enabled"), (2, "EL1, accesses trapped"), (3, "EL1")],
        )],
        "Arm ARM, D24.3.17",
    ),
    register(
        "MDCR_EL3",
        &[],
        "debug configuration: the fields of the trace buffer",
        None,
        Feature::Filter,
        &[
            field(
                "TRBEE",
                54,
                53,
                "exceptions to EL3",
                &[(0, "disabled"), (1, "delegated"), (2, "enabled"), (3, "trap all")],
            ),
            field(
                "ETBAD",
                49,
                48,
                "external access to the registers",
                &[(0, "Root only"), (1, "Root and Realm"), (2, "Root and Secure"), (3, "all")],
            ),
            field("NSTBE", 26, 26, "owner with NSTB is Realm", YES),
            field(
                "NSTB",
                25,
                24,
                "owning Security state where NSTBE is 0",
                &[
                    (0, "Secure, accesses trapped"),
                    (1, "Secure"),
                    (2, "Non-secure, accesses trapped"),
                    (3, "Non-secure"),
                ],
            ),
            field("STE", 18, 18, "trace in Secure state", ALLOWED),
            field("RLTE", 0, 0, "trace in Realm state", ALLOWED),
        ],
        "Arm ARM, D24.3.18",
    ),
];

/// The fields of register `name` with the value `value` in words: name, value, and the word for it
/// where there is one. `None` where the table has no such register.
pub fn describe(name: &str, value: u64) -> Option<Vec<(&'static str, u64, Option<&'static str>)>> {
    let register = REGISTERS.iter().find(|register| register.is_named(name))?;
    let fields = register.fields.iter().map(|field| {
        let bits = field.of(value);
        let abort = field.name == "BSC" && matches!(value >> 26 & 0x3f, 0x24 | 0x25);
        let word = if abort { super::status::fault_name(bits as u8) } else { field.word(bits) };
        (field.name, bits, word)
    });
    Some(fields.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fields of each register do not overlap, and descend.
    #[test]
    fn fields_descend() {
        for register in REGISTERS {
            let mut above = 64;
            for field in register.fields {
                assert!(field.high < above && field.low <= field.high, "{}", register.name);
                above = field.low;
            }
        }
    }

    /// Arm ARM, table D6-4: the offsets of the external view.
    #[test]
    fn offsets() {
        let offsets: Vec<_> = REGISTERS.iter().filter_map(|register| register.offset).collect();
        assert_eq!(offsets, [0, 8, 0x10, 0x18, 0x20, 0x28, 0x30, 0x38, 0x40, 0xf00]);
    }

    #[test]
    fn in_words() {
        let fields = describe("trblimitr_el1", 0xffff_8000_1234_501b).unwrap();
        let words: Vec<_> = fields.iter().filter_map(|(_, _, word)| *word).collect();
        assert_eq!(words, ["no", "virtual", "ignore trigger", "Wrap mode", "yes"]);
        let fault = describe("TRBSR_EL1", 0x9042_0007).unwrap();
        assert_eq!(fault.last(), Some(&("BSC", 7, Some("translation fault, level 3"))));
        assert_eq!(describe("TRBX", 0), None);
    }
}
