//! Control and configuration, offsets 0x004 to 0x044.

use super::{Access, OFF_ON, Row, TYPES, Versions, YES, row};
use crate::register::field;

/// The trace features that are on.
pub const TRCCONFIGR: Row = row(
    "TRCCONFIGR",
    0x010,
    "programmed trace features",
    &[
        field("ITO", 18, 18, "trace of the instrumentation instruction (ETE 1.3)", OFF_ON),
        field("DV", 17, 17, "trace of data values", OFF_ON),
        field("DA", 16, 16, "trace of data addresses", OFF_ON),
        field(
            "VMIDOPT",
            15,
            15,
            "the traced virtual machine identifier",
            &[(0, "VTTBR_EL2.VMID"), (1, "CONTEXTIDR_EL2")],
        ),
        field(
            "QE",
            14,
            13,
            "Q elements",
            &[(0, "off"), (1, "with a count"), (2, "reserved"), (3, "with or without a count")],
        ),
        field("RS", 12, 12, "return stack: addresses of returns are omitted", OFF_ON),
        field("TS", 11, 11, "global timestamps", OFF_ON),
        field(
            "COND",
            10,
            8,
            "trace of conditional non-branch instructions",
            &[(0, "off"), (1, "loads"), (2, "stores"), (3, "loads and stores"), (7, "all")],
        ),
        field("VMID", 7, 7, "trace of virtual machine identifiers", OFF_ON),
        field("CID", 6, 6, "trace of context identifiers", OFF_ON),
        field("CCI", 4, 4, "cycle counts", OFF_ON),
        field("BB", 3, 3, "branch broadcasting: every branch has its address", OFF_ON),
        field(
            "INSTP0",
            2,
            1,
            "loads and stores that are traced like branches",
            &[(0, "neither"), (1, "loads"), (2, "stores"), (3, "loads and stores")],
        ),
    ],
    "DDI 0601, TRCCONFIGR",
)
.ones(1);

/// The trace ID.
pub const TRCTRACEIDR: Row = row(
    "TRCTRACEIDR",
    0x040,
    "trace ID of the unit",
    &[field("TRACEID", 6, 0, "trace id (ATB id)", &[])],
    "DDI 0601, TRCTRACEIDR",
);

const EVENT: &[tracewright_base::Field] = &[
    field("TYPE", 7, 7, "what SEL numbers", TYPES),
    field("SEL", 4, 0, "number of the resource selector or pair", &[]),
];

pub(super) const ROWS: &[Row] = &[
    row(
        "TRCPRGCTLR",
        0x004,
        "enable of the unit",
        &[field("EN", 0, 0, "the unit is enabled", OFF_ON)],
        "DDI 0601, TRCPRGCTLR",
    ),
    row(
        "TRCPROCSELR",
        0x008,
        "the traced processor, in a unit that several share",
        &[field("PROCSEL", 4, 0, "number of the processor", &[])],
        "IHI 0064, TRCPROCSELR",
    )
    .only(Versions::ETMV4),
    row(
        "TRCSTATR",
        0x00c,
        "state of the unit",
        &[
            field("PMSTABLE", 1, 1, "registers can be read: their values are stable", YES),
            field("IDLE", 0, 0, "the unit is idle: nothing is left to output", YES),
        ],
        "DDI 0601, TRCSTATR",
    )
    .access(Access::ReadOnly),
    TRCCONFIGR,
    row(
        "TRCAUXCTLR",
        0x018,
        "auxiliary control, defined by the implementation",
        &[field("IMPDEF", 31, 0, "defined by the implementation", &[])],
        "DDI 0601, TRCAUXCTLR",
    ),
    row(
        "TRCEVENTCTL0R",
        0x020,
        "the resource events of events 0 to 3",
        &[
            field("TYPE3", 31, 31, "what SEL3 numbers", TYPES),
            field("SEL3", 28, 24, "selector or pair of event 3", &[]),
            field("TYPE2", 23, 23, "what SEL2 numbers", TYPES),
            field("SEL2", 20, 16, "selector or pair of event 2", &[]),
            field("TYPE1", 15, 15, "what SEL1 numbers", TYPES),
            field("SEL1", 12, 8, "selector or pair of event 1", &[]),
            field("TYPE0", 7, 7, "what SEL0 numbers", TYPES),
            field("SEL0", 4, 0, "selector or pair of event 0", &[]),
        ],
        "DDI 0601, TRCEVENTCTL0R",
    ),
    row(
        "TRCEVENTCTL1R",
        0x024,
        "the effect of events 0 to 3",
        &[
            field("OE", 13, 13, "events are also outputs of the unit (ETE)", OFF_ON),
            field("LPOVERRIDE", 12, 12, "the unit works in low-power states", OFF_ON),
            field("ATB", 11, 11, "event 0 is an ATB trigger", OFF_ON),
            field("DATAEN", 4, 4, "event elements in the data trace", OFF_ON),
            field("INSTEN", 3, 0, "events that are elements of the trace, bit n: event n", &[]),
        ],
        "DDI 0601, TRCEVENTCTL1R",
    ),
    row(
        "TRCRSR",
        0x028,
        "state of the resources",
        &[
            field("TA", 12, 12, "tracing is active", YES),
            field("EVENT", 11, 8, "events that occurred while resources were paused", &[]),
            field("EXTIN", 3, 0, "external inputs that were active while paused", &[]),
        ],
        "DDI 0601, TRCRSR",
    )
    .only(Versions::ETE),
    row(
        "TRCSTALLCTLR",
        0x02c,
        "stalls of the processor that prevent overflows",
        &[
            field("NOOVERFLOW", 13, 13, "the trace never overflows", YES),
            field(
                "DATADISCARD",
                12,
                11,
                "data trace that is dropped before an overflow",
                &[(0, "none"), (1, "loads"), (2, "stores"), (3, "loads and stores")],
            ),
            field("INSTPRIORITY", 10, 10, "instruction trace has priority", YES),
            field("DSTALL", 9, 9, "data trace stalls the processor", YES),
            field("ISTALL", 8, 8, "instruction trace stalls the processor", YES),
            field("LEVEL", 3, 0, "threshold, 0: no stalls, 15: most stalls", &[]),
        ],
        "DDI 0601, TRCSTALLCTLR",
    ),
    row("TRCTSCTLR", 0x030, "the event that requests a timestamp", EVENT, "DDI 0601, TRCTSCTLR"),
    row(
        "TRCSYNCPR",
        0x034,
        "period of synchronisation",
        &[field(
            "PERIOD",
            4,
            0,
            "bytes of trace between synchronisations, as a power of 2; 0: no period",
            &[(0, "none")],
        )],
        "DDI 0601, TRCSYNCPR",
    ),
    row(
        "TRCCCCTLR",
        0x038,
        "threshold of cycle counts",
        &[field("THRESHOLD", 11, 0, "cycles between cycle counts, at least", &[])],
        "DDI 0601, TRCCCCTLR",
    ),
    row(
        "TRCBBCTLR",
        0x03c,
        "where branches are broadcast",
        &[
            field(
                "MODE",
                8,
                8,
                "where the ranges apply",
                &[(0, "outside the ranges"), (1, "inside the ranges")],
            ),
            field("RANGE", 7, 0, "address range comparators, bit n: range n", &[]),
        ],
        "DDI 0601, TRCBBCTLR",
    ),
    TRCTRACEIDR,
    row(
        "TRCQCTLR",
        0x044,
        "where Q elements are permitted",
        &[
            field(
                "MODE",
                8,
                8,
                "where Q elements are permitted",
                &[(0, "outside the ranges"), (1, "inside the ranges")],
            ),
            field("RANGE", 7, 0, "address range comparators, bit n: range n", &[]),
        ],
        "DDI 0601, TRCQCTLR",
    ),
    row(
        "TRCITEEDCR",
        0x048,
        "exception levels that may trace the instrumentation instruction",
        &[
            field("RL", 6, 6, "EL1 and EL2 in Realm state", OFF_ON),
            field("S", 5, 5, "EL1 and EL2 in Secure state", OFF_ON),
            field("NS", 4, 4, "EL1 and EL2 in Non-secure state", OFF_ON),
            field("E3", 3, 3, "EL3", OFF_ON),
            field("E2", 2, 2, "EL2", OFF_ON),
            field("E1", 1, 1, "EL1", OFF_ON),
            field("E0", 0, 0, "EL0", OFF_ON),
        ],
        "DDI 0601, TRCITEEDCR",
    )
    .only(Versions { etmv4: None, ete: Some(3) })
    .unsaved(),
];
