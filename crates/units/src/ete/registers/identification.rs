//! Identification: what the unit implements. Offsets 0x180 to 0x194, 0x1e0 to 0x1fc, 0xfbc.

use super::{Access, Row, YES, row};
use crate::register::field;

/// Implemented trace features.
pub const TRCIDR0: Row = row(
    "TRCIDR0",
    0x1e0,
    "implemented trace features",
    &[
        field(
            "COMMTRANS",
            30,
            30,
            "Transaction Start is an element that is committed (ETE)",
            &[(0, "yes"), (1, "no")],
        ),
        field("COMMOPT", 29, 29, "cycle counts commit elements", &[(0, "yes"), (1, "no")]),
        field(
            "TSSIZE",
            28,
            24,
            "size of timestamps",
            &[(0, "none"), (0b00110, "48 bits"), (0b01000, "64 bits")],
        ),
        field("TSMARK", 23, 23, "a marker shows the position of a timestamp", YES),
        field("ITE", 22, 22, "instrumentation instruction (ETE 1.3)", YES),
        field("TRCEXDATA", 17, 17, "data of exceptions can be traced", YES),
        field(
            "QSUPP",
            16,
            15,
            "Q elements",
            &[(0, "none"), (1, "with a count"), (2, "without a count"), (3, "with or without")],
        ),
        field("QFILT", 14, 14, "Q elements can be filtered", YES),
        field(
            "CONDTYPE",
            13,
            12,
            "result of a conditional instruction",
            &[(0, "pass or fail"), (1, "flags of APSR")],
        ),
        field(
            "NUMEVENT",
            11,
            10,
            "events that can be in the trace",
            &[(0, "1"), (1, "2"), (2, "3"), (3, "4")],
        ),
        field("RETSTACK", 9, 9, "return stack", YES),
        field("TRCCCI", 7, 7, "cycle counting", YES),
        field("TRCCOND", 6, 6, "trace of conditional non-branch instructions", YES),
        field("TRCBB", 5, 5, "branch broadcasting", YES),
        field("TRCDATA", 4, 3, "trace of data", &[(0, "no"), (3, "yes")]),
        field(
            "INSTP0",
            2,
            1,
            "loads and stores can be traced like branches",
            &[(0, "no"), (3, "yes")],
        ),
    ],
    "DDI 0601, TRCIDR0",
)
.access(Access::ReadOnly)
.ones(0x1);

/// Designer of the unit and version of ETMv4.
pub const TRCIDR1: Row = row(
    "TRCIDR1",
    0x1e4,
    "designer of the unit and version of ETMv4",
    &[
        field("DESIGNER", 31, 24, "designer", &[(0x41, "Arm")]),
        field(
            "TRCARCHMAJ",
            11,
            8,
            "major version of the architecture",
            &[(4, "ETMv4"), (0xf, "see TRCDEVARCH")],
        ),
        field("TRCARCHMIN", 7, 4, "minor version of the architecture", &[(0xf, "see TRCDEVARCH")]),
        field("REVISION", 3, 0, "revision of the implementation", &[]),
    ],
    "DDI 0601, TRCIDR1",
)
.access(Access::ReadOnly)
.ones(0xf000);

/// Sizes of traced values.
pub const TRCIDR2: Row = row(
    "TRCIDR2",
    0x1e8,
    "sizes of traced values",
    &[
        field("WFXMODE", 31, 31, "WFI and WFE are traced like branches", YES),
        field(
            "VMIDOPT",
            30,
            29,
            "possible virtual machine identifiers",
            &[(0, "VTTBR_EL2.VMID"), (1, "selected by TRCCONFIGR.VMIDOPT"), (2, "CONTEXTIDR_EL2")],
        ),
        field("CCSIZE", 28, 25, "bits of the cycle counter, less 12", &[]),
        field(
            "DVSIZE",
            24,
            20,
            "size of data values",
            &[(0, "none"), (4, "32 bits"), (8, "64 bits")],
        ),
        field(
            "DASIZE",
            19,
            15,
            "size of data addresses",
            &[(0, "none"), (4, "32 bits"), (8, "64 bits")],
        ),
        field(
            "VMIDSIZE",
            14,
            10,
            "size of virtual machine identifiers",
            &[(0, "none"), (1, "8 bits"), (2, "16 bits"), (4, "32 bits")],
        ),
        field("CIDSIZE", 9, 5, "size of context identifiers", &[(0, "none"), (4, "32 bits")]),
        field("IASIZE", 4, 0, "size of addresses", &[(4, "32 bits"), (8, "64 bits")]),
    ],
    "DDI 0601, TRCIDR2",
)
.access(Access::ReadOnly);

/// Speculation.
pub const TRCIDR8: Row = row(
    "TRCIDR8",
    0x180,
    "speculation",
    &[field("MAXSPEC", 31, 0, "maximum number of uncommitted elements", &[])],
    "DDI 0601, TRCIDR8",
)
.access(Access::ReadOnly);

/// Keys of data trace.
pub const TRCIDR9: Row = row(
    "TRCIDR9",
    0x184,
    "keys of data trace",
    &[field("NUMP0KEY", 31, 0, "right-hand keys of P0 elements", &[])],
    "DDI 0601, TRCIDR9",
)
.access(Access::ReadOnly);

/// Keys of data trace.
pub const TRCIDR10: Row = row(
    "TRCIDR10",
    0x188,
    "keys of data trace",
    &[field("NUMP1KEY", 31, 0, "right-hand keys of P1 elements", &[])],
    "DDI 0601, TRCIDR10",
)
.access(Access::ReadOnly);

/// Keys of data trace.
pub const TRCIDR11: Row = row(
    "TRCIDR11",
    0x18c,
    "keys of data trace",
    &[field("NUMP1SPC", 31, 0, "special right-hand keys of P1 elements", &[])],
    "DDI 0601, TRCIDR11",
)
.access(Access::ReadOnly);

/// Keys of conditional trace.
pub const TRCIDR12: Row = row(
    "TRCIDR12",
    0x190,
    "keys of conditional trace",
    &[field("NUMCONDKEY", 31, 0, "right-hand keys of conditional instructions", &[])],
    "DDI 0601, TRCIDR12",
)
.access(Access::ReadOnly);

/// Keys of conditional trace.
pub const TRCIDR13: Row = row(
    "TRCIDR13",
    0x194,
    "keys of conditional trace",
    &[field("NUMCONDSPC", 31, 0, "special right-hand keys of conditional instructions", &[])],
    "DDI 0601, TRCIDR13",
)
.access(Access::ReadOnly);

/// Version of ETE.
pub const TRCDEVARCH: Row = row(
    "TRCDEVARCH",
    0xfbc,
    "version of ETE",
    &[
        field("ARCHITECT", 31, 21, "owner of the architecture", &[(0x23b, "Arm")]),
        field("PRESENT", 20, 20, "the register is present", YES),
        field(
            "REVISION",
            19,
            16,
            "revision of the architecture",
            &[(0, "ETE 1.0"), (1, "ETE 1.1"), (2, "ETE 1.2"), (3, "ETE 1.3")],
        ),
        field("ARCHVER", 15, 12, "version of the architecture", &[(4, "ETMv4"), (5, "ETE")]),
        field("ARCHPART", 11, 0, "architecture", &[(0xa13, "trace unit of a processor")]),
    ],
    "DDI 0601, TRCDEVARCH",
)
.access(Access::ReadOnly);

const LEVELS: &str = "exception levels whose instructions can be traced, bit n: ELn";

pub(super) const ROWS: &[Row] = &[
    TRCIDR8,
    TRCIDR9,
    TRCIDR10,
    TRCIDR11,
    TRCIDR12,
    TRCIDR13,
    TRCIDR0,
    TRCIDR1,
    TRCIDR2,
    row(
        "TRCIDR3",
        0x1ec,
        "implemented control of trace",
        &[
            field("NOOVERFLOW", 31, 31, "overflows can be prevented", YES),
            field("NUMPROC_LO", 30, 28, "traced processors, less 1, bits [2:0]", &[]),
            field("SYSSTALL", 27, 27, "the system permits stalls", YES),
            field("STALLCTL", 26, 26, "TRCSTALLCTLR is implemented", YES),
            field("SYNCPR", 25, 25, "TRCSYNCPR is read-only", YES),
            field("TRCERR", 24, 24, "TRCVICTLR.TRCERR is implemented", YES),
            field("EXLEVEL_NS", 23, 20, LEVELS, &[]),
            field("EXLEVEL_S", 19, 16, LEVELS, &[]),
            field("NUMPROC_HI", 13, 12, "traced processors, less 1, bits [4:3]", &[]),
            field("CCITMIN", 11, 0, "lowest value of TRCCCCTLR.THRESHOLD", &[]),
        ],
        "DDI 0601, TRCIDR3",
    )
    .access(Access::ReadOnly),
    row(
        "TRCIDR4",
        0x1f0,
        "numbers of comparators and selectors",
        &[
            field("NUMVMIDC", 31, 28, "virtual machine identifier comparators", &[]),
            field("NUMCIDC", 27, 24, "context identifier comparators", &[]),
            field("NUMSSCC", 23, 20, "single-shot comparators", &[]),
            field("NUMRSPAIR", 19, 16, "pairs of resource selectors, less 1", &[]),
            field("NUMPC", 15, 12, "PE comparator inputs", &[]),
            field("SUPPDAC", 8, 8, "data addresses can be compared", YES),
            field("NUMDVC", 7, 4, "data value comparators", &[]),
            field("NUMACPAIRS", 3, 0, "pairs of address comparators", &[]),
        ],
        "DDI 0601, TRCIDR4",
    )
    .access(Access::ReadOnly),
    row(
        "TRCIDR5",
        0x1f4,
        "numbers of counters, states and inputs",
        &[
            field("REDFUNCNTR", 31, 31, "counter 0 has a reduced function", YES),
            field("NUMCNTR", 30, 28, "counters", &[]),
            field("NUMSEQSTATE", 27, 25, "states of the sequencer", &[(0, "no sequencer")]),
            field("LPOVERRIDE", 23, 23, "TRCEVENTCTL1R.LPOVERRIDE is implemented", YES),
            field("ATBTRIG", 22, 22, "ATB triggers", YES),
            field("TRACEIDSIZE", 21, 16, "bits of the trace ID", &[(0, "no trace ID")]),
            field("NUMEXTINSEL", 11, 9, "external input selectors", &[]),
            field("NUMEXTIN", 8, 0, "external inputs", &[(0x1ff, "PMU events (ETE)")]),
        ],
        "DDI 0601, TRCIDR5",
    )
    .access(Access::ReadOnly),
    row(
        "TRCIDR6",
        0x1f8,
        "exception levels in Realm state",
        &[
            field("EXLEVEL_RL_EL2", 2, 2, "EL2 in Realm state can be traced", YES),
            field("EXLEVEL_RL_EL1", 1, 1, "EL1 in Realm state can be traced", YES),
            field("EXLEVEL_RL_EL0", 0, 0, "EL0 in Realm state can be traced", YES),
        ],
        "DDI 0601, TRCIDR6",
    )
    .access(Access::ReadOnly),
    row("TRCIDR7", 0x1fc, "reserved", &[], "DDI 0601, TRCIDR7").access(Access::ReadOnly),
];
