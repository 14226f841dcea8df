//! Sequencer, external inputs, counters, resource selectors, single-shot comparators: offsets
//! 0x100 to 0x17c, 0x1c0 to 0x1dc and 0x200 to 0x2dc.

use super::{Row, TYPES, Versions, YES, row};
use crate::register::field;

const SELECTED: &str = "number of the event: a PMU event in ETE, an input in ETMv4";

pub(super) const ROWS: &[Row] = &[
    row(
        "TRCSEQEVR<n>",
        0x100,
        "events that move the sequencer between states n and n+1",
        &[
            field("B_TYPE", 15, 15, "what B_SEL numbers", TYPES),
            field("B_SEL", 12, 8, "selector or pair that moves to state n", &[]),
            field("F_TYPE", 7, 7, "what F_SEL numbers", TYPES),
            field("F_SEL", 4, 0, "selector or pair that moves to state n+1", &[]),
        ],
        "DDI 0601, TRCSEQEVR<n>",
    )
    .several(0, 3, 4),
    row(
        "TRCSEQRSTEVR",
        0x118,
        "event that moves the sequencer to state 0",
        &[
            field("RST_TYPE", 7, 7, "what RST_SEL numbers", TYPES),
            field("RST_SEL", 4, 0, "selector or pair", &[]),
        ],
        "DDI 0601, TRCSEQRSTEVR",
    ),
    row(
        "TRCSEQSTR",
        0x11c,
        "state of the sequencer",
        &[field("STATE", 1, 0, "the state", &[])],
        "DDI 0601, TRCSEQSTR",
    ),
    row(
        "TRCEXTINSELR",
        0x120,
        "the inputs of external input selectors 0 to 3",
        &[
            field("SEL3", 31, 24, SELECTED, &[]),
            field("SEL2", 23, 16, SELECTED, &[]),
            field("SEL1", 15, 8, SELECTED, &[]),
            field("SEL0", 7, 0, SELECTED, &[]),
        ],
        "IHI 0064, TRCEXTINSELR",
    )
    .only(Versions::ETMV4),
    row(
        "TRCEXTINSELR<n>",
        0x120,
        "the event of external input selector n",
        &[field("evtCount", 15, 0, SELECTED, &[])],
        "DDI 0601, TRCEXTINSELR<n>",
    )
    .several(0, 4, 4)
    .only(Versions::ETE),
    row(
        "TRCCNTRLDVR<n>",
        0x140,
        "reload value of counter n",
        &[field("VALUE", 15, 0, "the value", &[])],
        "DDI 0601, TRCCNTRLDVR<n>",
    )
    .several(0, 4, 4),
    row(
        "TRCCNTCTLR<n>",
        0x150,
        "control of counter n",
        &[
            field("CNTCHAIN", 17, 17, "decrements when counter n-1 reloads (n odd)", YES),
            field("RLDSELF", 16, 16, "reloads when it is zero", YES),
            field("RLDEVENT_TYPE", 15, 15, "what RLDEVENT_SEL numbers", TYPES),
            field("RLDEVENT_SEL", 12, 8, "selector or pair that reloads", &[]),
            field("CNTEVENT_TYPE", 7, 7, "what CNTEVENT_SEL numbers", TYPES),
            field("CNTEVENT_SEL", 4, 0, "selector or pair that decrements", &[]),
        ],
        "DDI 0601, TRCCNTCTLR<n>",
    )
    .several(0, 4, 4),
    row(
        "TRCCNTVR<n>",
        0x160,
        "value of counter n",
        &[field("VALUE", 15, 0, "the value", &[])],
        "DDI 0601, TRCCNTVR<n>",
    )
    .several(0, 4, 4),
    row(
        "TRCIMSPEC<n>",
        0x1c0,
        "extensions, defined by the implementation",
        &[
            field("IMPDEF", 31, 8, "defined by the implementation", &[]),
            field("EN", 7, 4, "enabled extensions", &[(0, "none")]),
            field("SUPPORT", 3, 0, "implemented extensions", &[(0, "none")]),
        ],
        "DDI 0601, TRCIMSPEC<n>",
    )
    .several(0, 8, 4),
    row(
        "TRCRSCTLR<n>",
        0x200,
        "resource selector n",
        &[
            field("PAIRINV", 21, 21, "the result of the pair is inverted (n even)", YES),
            field("INV", 20, 20, "the selected resource is inverted", YES),
            field(
                "GROUP",
                19,
                16,
                "group of resources",
                &[
                    (0, "external input selectors"),
                    (1, "PE comparator inputs"),
                    (2, "counters at zero [3:0] and sequencer states [7:4]"),
                    (3, "single-shot comparators"),
                    (4, "single address comparators"),
                    (5, "address range comparators"),
                    (6, "context identifier comparators"),
                    (7, "virtual machine identifier comparators"),
                ],
            ),
            field("SELECT", 15, 0, "resources of the group, bit n: resource n", &[]),
        ],
        "DDI 0601, TRCRSCTLR<n>",
    )
    .several(2, 30, 4),
    row(
        "TRCSSCCR<n>",
        0x280,
        "control of single-shot comparator n",
        &[
            field("RST", 24, 24, "it can match more than once", YES),
            field("ARC", 23, 16, "address range comparators, bit n: range n", &[]),
            field("SAC", 15, 0, "single address comparators, bit n: comparator n", &[]),
        ],
        "DDI 0601, TRCSSCCR<n>",
    )
    .several(0, 8, 4),
    row(
        "TRCSSCSR<n>",
        0x2a0,
        "state of single-shot comparator n",
        &[
            field("STATUS", 31, 31, "it matched", YES),
            field("PENDING", 30, 30, "it matched while resources were paused (ETE)", YES),
            field("PC", 3, 3, "PE comparator inputs can be selected", YES),
            field("DV", 2, 2, "data values can be selected", YES),
            field("DA", 1, 1, "data addresses can be selected", YES),
            field("INST", 0, 0, "instruction addresses can be selected", YES),
        ],
        "DDI 0601, TRCSSCSR<n>",
    )
    .several(0, 8, 4),
    row(
        "TRCSSPCICR<n>",
        0x2c0,
        "PE comparator inputs of single-shot comparator n",
        &[field("PC", 7, 0, "PE comparator inputs, bit n: input n", &[])],
        "DDI 0601, TRCSSPCICR<n>",
    )
    .several(0, 8, 4),
];
