//! OS Lock, power, claim tags, locks, authentication, CoreSight identification: offsets 0x300 to
//! 0x314 and 0xee0 to 0xffc.

use tracewright_base::Field;

use super::{Access, Row, Versions, YES, row};
use crate::register::field;

const DEBUG: &[(u64, &str)] = &[(0, "not implemented"), (2, "disabled"), (3, "enabled")];
const ID: &[Field] = &[field("ID", 7, 0, "a byte of the identification", &[])];

const fn identification(name: &'static str, offset: u16, about: &'static str) -> Row {
    row(name, offset, about, ID, "DDI 0601, TRCPIDR and TRCCIDR").access(Access::ReadOnly)
}

pub(super) const ROWS: &[Row] = &[
    row(
        "TRCOSLAR",
        0x300,
        "OS Lock of the unit",
        &[field("OSLK", 0, 0, "locks the unit", YES)],
        "IHI 0064, TRCOSLAR",
    )
    .only(Versions::ETMV4)
    .access(Access::WriteOnly),
    row(
        "TRCOSLSR",
        0x304,
        "state of the OS Lock",
        &[
            field("OSLM2", 4, 3, "OS Lock, with OSLM0: 0b10 in the unit, 0b100 in the PE", &[]),
            field("nTT", 2, 2, "a write of TRCOSLAR needs 32 bits", &[(0, "yes")]),
            field("OSLK", 1, 1, "the OS Lock is locked", YES),
            field("OSLM0", 0, 0, "lowest bit of the OS Lock model", &[]),
        ],
        "DDI 0601, TRCOSLSR",
    )
    .access(Access::ReadOnly),
    row(
        "TRCPDCR",
        0x310,
        "power control",
        &[field("PU", 3, 3, "power is requested", YES)],
        "IHI 0064, TRCPDCR",
    )
    .unsaved(),
    row(
        "TRCPDSR",
        0x314,
        "power state",
        &[
            field("OSLK", 5, 5, "the OS Lock is locked", YES),
            field("STICKYPD", 1, 1, "power was lost since the last read", YES),
            field("POWER", 0, 0, "the unit has power", YES),
        ],
        "IHI 0064, TRCPDSR",
    )
    .access(Access::ReadOnly),
    row(
        "TRCITCTRL",
        0xf00,
        "integration mode",
        &[field("IME", 0, 0, "integration mode, for tests of the connections", YES)],
        "DDI 0601, TRCITCTRL",
    )
    .unsaved(),
    row(
        "TRCCLAIMSET",
        0xfa0,
        "sets claim tags; a read returns the implemented tags",
        &[field("SET", 31, 0, "claim tags, bit n: tag n", &[])],
        "DDI 0601, TRCCLAIMSET",
    )
    .unsaved(),
    row(
        "TRCCLAIMCLR",
        0xfa4,
        "clears claim tags; a read returns the set tags",
        &[field("CLR", 31, 0, "claim tags, bit n: tag n", &[])],
        "DDI 0601, TRCCLAIMCLR",
    )
    .unsaved(),
    row(
        "TRCDEVAFF",
        0xfa8,
        "the processor that the unit traces",
        &[field("MPIDR", 63, 0, "MPIDR_EL1 of the processor", &[])],
        "DDI 0601, TRCDEVAFF",
    )
    .wide()
    .access(Access::ReadOnly)
    .aliases(&["TRCDEVAFF0"]),
    row(
        "TRCDEVAFF1",
        0xfac,
        "upper half of TRCDEVAFF",
        &[field("MPIDR", 31, 0, "bits [63:32] of MPIDR_EL1", &[])],
        "IHI 0064, TRCDEVAFF1",
    )
    .access(Access::ReadOnly),
    row(
        "TRCLAR",
        0xfb0,
        "software lock of the memory-mapped interface",
        &[field(
            "KEY",
            31,
            0,
            "0xC5ACCE55 permits writes",
            &[(0xc5ac_ce55, "unlocks"), (0, "locks")],
        )],
        "IHI 0064, TRCLAR",
    )
    .only(Versions::ETMV4)
    .access(Access::WriteOnly),
    row(
        "TRCLSR",
        0xfb4,
        "state of the software lock",
        &[
            field("nTT", 2, 2, "a write of TRCLAR needs 32 bits", &[(0, "yes")]),
            field("SLK", 1, 1, "writes are ignored", YES),
            field("SLI", 0, 0, "the lock is implemented", YES),
        ],
        "IHI 0064, TRCLSR",
    )
    .only(Versions::ETMV4)
    .access(Access::ReadOnly),
    row(
        "TRCAUTHSTATUS",
        0xfb8,
        "trace that the authentication interface permits",
        &[
            field("RTNID", 27, 26, "Root, non-invasive", DEBUG),
            field("RTID", 25, 24, "Root, invasive", DEBUG),
            field("RLNID", 15, 14, "Realm, non-invasive", DEBUG),
            field("RLID", 13, 12, "Realm, invasive", DEBUG),
            field("HNID", 11, 10, "EL2, non-invasive", DEBUG),
            field("HID", 9, 8, "EL2, invasive", DEBUG),
            field("SNID", 7, 6, "Secure, non-invasive", DEBUG),
            field("SID", 5, 4, "Secure, invasive", DEBUG),
            field("NSNID", 3, 2, "Non-secure, non-invasive", DEBUG),
            field("NSID", 1, 0, "Non-secure, invasive", DEBUG),
        ],
        "DDI 0601, TRCAUTHSTATUS",
    )
    .access(Access::ReadOnly),
    super::identification::TRCDEVARCH,
    row(
        "TRCDEVID",
        0xfc8,
        "capabilities, defined by the implementation",
        &[field("DEVID", 31, 0, "defined by the implementation", &[])],
        "DDI 0601, TRCDEVID",
    )
    .access(Access::ReadOnly),
    row(
        "TRCDEVTYPE",
        0xfcc,
        "type of the CoreSight component",
        &[
            field("SUB", 7, 4, "subtype", &[(1, "processor trace")]),
            field("MAJOR", 3, 0, "type", &[(3, "trace source")]),
        ],
        "DDI 0601, TRCDEVTYPE",
    )
    .access(Access::ReadOnly),
    identification("TRCPIDR4", 0xfd0, "peripheral identification: size and JEP106 continuation"),
    identification("TRCPIDR5", 0xfd4, "peripheral identification, reserved"),
    identification("TRCPIDR6", 0xfd8, "peripheral identification, reserved"),
    identification("TRCPIDR7", 0xfdc, "peripheral identification, reserved"),
    identification("TRCPIDR0", 0xfe0, "peripheral identification: part number [7:0]"),
    identification("TRCPIDR1", 0xfe4, "peripheral identification: JEP106 and part number [11:8]"),
    identification("TRCPIDR2", 0xfe8, "peripheral identification: revision and JEP106"),
    identification("TRCPIDR3", 0xfec, "peripheral identification: changes by the manufacturer"),
    identification("TRCCIDR0", 0xff0, "component identification, 0x0D"),
    identification("TRCCIDR1", 0xff4, "component identification, 0x90: a debug component"),
    identification("TRCCIDR2", 0xff8, "component identification, 0x05"),
    identification("TRCCIDR3", 0xffc, "component identification, 0xB1"),
];
