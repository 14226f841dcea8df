//! ViewInst and ViewData: which instructions and data are traced, offsets 0x080 to 0x0a8.

use tracewright_base::Field;

use super::{OFF_ON, Row, TYPES, Versions, YES, row};
use crate::register::field;

const LEVEL: &[(u64, &str)] = &[(0, "traced"), (1, "not traced")];
const SAME: &[(u64, &str)] = &[(0, "as Non-secure"), (1, "unlike Non-secure")];

/// The fields of TRCVICTLR, those of Realm state first.
const SELECTION: [Field; 15] = [
    field("EXLEVEL_RL_EL2", 26, 26, "EL2 in Realm state", SAME),
    field("EXLEVEL_RL_EL1", 25, 25, "EL1 in Realm state", SAME),
    field("EXLEVEL_RL_EL0", 24, 24, "EL0 in Realm state", SAME),
    field("EXLEVEL_NS_EL2", 22, 22, "EL2 in Non-secure state", LEVEL),
    field("EXLEVEL_NS_EL1", 21, 21, "EL1 in Non-secure state", LEVEL),
    field("EXLEVEL_NS_EL0", 20, 20, "EL0 in Non-secure state", LEVEL),
    field("EXLEVEL_S_EL3", 19, 19, "EL3", LEVEL),
    field("EXLEVEL_S_EL2", 18, 18, "EL2 in Secure state", LEVEL),
    field("EXLEVEL_S_EL1", 17, 17, "EL1 in Secure state", LEVEL),
    field("EXLEVEL_S_EL0", 16, 16, "EL0 in Secure state", LEVEL),
    field("TRCERR", 11, 11, "System error exceptions are always traced", YES),
    field("TRCRESET", 10, 10, "PE Reset exceptions are always traced", YES),
    field("SSSTATUS", 9, 9, "start/stop", &[(0, "stopped"), (1, "started")]),
    field("EVENT_TYPE", 7, 7, "what EVENT_SEL numbers", TYPES),
    field("EVENT_SEL", 4, 0, "selector or pair of the ViewInst event", &[]),
];

pub(super) const ROWS: &[Row] = &[
    row("TRCVICTLR", 0x080, "which instructions are traced", &SELECTION, "DDI 0601, TRCVICTLR")
        .in_etmv4(SELECTION.split_at(3).1),
    row(
        "TRCVIIECTLR",
        0x084,
        "address ranges of ViewInst",
        &[
            field("EXCLUDE", 23, 16, "ranges that are not traced, bit n: range n", &[]),
            field("INCLUDE", 7, 0, "ranges that are traced, bit n: range n; 0: all", &[]),
        ],
        "DDI 0601, TRCVIIECTLR",
    ),
    row(
        "TRCVISSCTLR",
        0x088,
        "addresses that start and stop ViewInst",
        &[
            field("STOP", 31, 16, "address comparators that stop, bit n: comparator n", &[]),
            field("START", 15, 0, "address comparators that start, bit n: comparator n", &[]),
        ],
        "DDI 0601, TRCVISSCTLR",
    ),
    row(
        "TRCVIPCSSCTLR",
        0x08c,
        "PE comparator inputs that start and stop ViewInst",
        &[
            field("STOP", 23, 16, "PE comparator inputs that stop, bit n: input n", &[]),
            field("START", 7, 0, "PE comparator inputs that start, bit n: input n", &[]),
        ],
        "DDI 0601, TRCVIPCSSCTLR",
    ),
    row(
        "TRCVDCTLR",
        0x0a0,
        "which data is traced",
        &[
            field("TRCEXDATA", 12, 12, "data transfers of exceptions", OFF_ON),
            field("TBI", 11, 11, "bits [63:56] of data addresses are traced as they are", YES),
            field("PCREL", 10, 10, "transfers relative to the program counter are omitted", YES),
            field(
                "SPREL",
                9,
                8,
                "transfers relative to the stack pointer",
                &[(0, "traced"), (2, "without the address"), (3, "not traced")],
            ),
            field("EVENT_TYPE", 7, 7, "what EVENT_SEL numbers", TYPES),
            field("EVENT_SEL", 4, 0, "selector or pair of the ViewData event", &[]),
        ],
        "IHI 0064, TRCVDCTLR",
    )
    .only(Versions::ETMV4),
    row(
        "TRCVDSACCTLR",
        0x0a4,
        "single addresses of ViewData",
        &[
            field("EXCLUDE", 31, 16, "comparators that exclude, bit n: comparator n", &[]),
            field("INCLUDE", 15, 0, "comparators that include, bit n: comparator n", &[]),
        ],
        "IHI 0064, TRCVDSACCTLR",
    )
    .only(Versions::ETMV4),
    row(
        "TRCVDARCCTLR",
        0x0a8,
        "address ranges of ViewData",
        &[
            field("EXCLUDE", 23, 16, "ranges that exclude, bit n: range n", &[]),
            field("INCLUDE", 7, 0, "ranges that include, bit n: range n", &[]),
        ],
        "IHI 0064, TRCVDARCCTLR",
    )
    .only(Versions::ETMV4),
];
