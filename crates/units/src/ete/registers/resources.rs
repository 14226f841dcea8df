//! Sequencer, external inputs, counters, resource selectors, single-shot comparators: offsets
//! 0x100 to 0x17c, 0x1c0 to 0x1dc and 0x200 to 0x2dc.

use tracewright_base::registers;

use super::{Row, TYPES, Versions, YES, row};

const SELECTED: &str = "number of the event: a PMU event in ETE, an input in ETMv4";

pub(super) const ROWS: &[Row] = registers! { row:
    "TRCSEQEVR<n>" 0x100 RW "events that move the sequencer between states n and n+1"
        "DDI 0601, TRCSEQEVR<n>" {
        B_TYPE[15] "what B_SEL numbers" TYPES;
        B_SEL[12:8] "selector or pair that moves to state n";
        F_TYPE[7] "what F_SEL numbers" TYPES;
        F_SEL[4:0] "selector or pair that moves to state n+1";
    }.several(0, 3, 4),
    TRCSEQRSTEVR 0x118 RW "event that moves the sequencer to state 0" "DDI 0601, TRCSEQRSTEVR" {
        RST_TYPE[7] "what RST_SEL numbers" TYPES;
        RST_SEL[4:0] "selector or pair";
    },
    TRCSEQSTR 0x11c RW "state of the sequencer" "DDI 0601, TRCSEQSTR" { STATE[1:0] "the state"; },
    TRCEXTINSELR 0x120 RW "the inputs of external input selectors 0 to 3" "IHI 0064, TRCEXTINSELR" {
        SEL3[31:24] SELECTED;
        SEL2[23:16] SELECTED;
        SEL1[15:8] SELECTED;
        SEL0[7:0] SELECTED;
    }.only(Versions::ETMV4),
    "TRCEXTINSELR<n>" 0x120 RW "the event of external input selector n"
        "DDI 0601, TRCEXTINSELR<n>" {
        evtCount[15:0] SELECTED;
    }.several(0, 4, 4).only(Versions::ETE),
    "TRCCNTRLDVR<n>" 0x140 RW "reload value of counter n" "DDI 0601, TRCCNTRLDVR<n>" {
        VALUE[15:0] "the value";
    }.several(0, 4, 4),
    "TRCCNTCTLR<n>" 0x150 RW "control of counter n" "DDI 0601, TRCCNTCTLR<n>" {
        CNTCHAIN[17] "decrements when counter n-1 reloads (n odd)" YES;
        RLDSELF[16] "reloads when it is zero" YES;
        RLDEVENT_TYPE[15] "what RLDEVENT_SEL numbers" TYPES;
        RLDEVENT_SEL[12:8] "selector or pair that reloads";
        CNTEVENT_TYPE[7] "what CNTEVENT_SEL numbers" TYPES;
        CNTEVENT_SEL[4:0] "selector or pair that decrements";
    }.several(0, 4, 4),
    "TRCCNTVR<n>" 0x160 RW "value of counter n" "DDI 0601, TRCCNTVR<n>" {
        VALUE[15:0] "the value";
    }.several(0, 4, 4),
    "TRCIMSPEC<n>" 0x1c0 RW "extensions, defined by the implementation" "DDI 0601, TRCIMSPEC<n>" {
        IMPDEF[31:8] "defined by the implementation";
        EN[7:4] "enabled extensions" {0 "none"};
        SUPPORT[3:0] "implemented extensions" {0 "none"};
    }.several(0, 8, 4),
    "TRCRSCTLR<n>" 0x200 RW "resource selector n" "DDI 0601, TRCRSCTLR<n>" {
        PAIRINV[21] "the result of the pair is inverted (n even)" YES;
        INV[20] "the selected resource is inverted" YES;
        GROUP[19:16] "group of resources" {
            0 "external input selectors", 1 "PE comparator inputs",
            2 "counters at zero [3:0] and sequencer states [7:4]", 3 "single-shot comparators",
            4 "single address comparators", 5 "address range comparators",
            6 "context identifier comparators", 7 "virtual machine identifier comparators",
        };
        SELECT[15:0] "resources of the group, bit n: resource n";
    }.several(2, 30, 4),
    "TRCSSCCR<n>" 0x280 RW "control of single-shot comparator n" "DDI 0601, TRCSSCCR<n>" {
        RST[24] "it can match more than once" YES;
        ARC[23:16] "address range comparators, bit n: range n";
        SAC[15:0] "single address comparators, bit n: comparator n";
    }.several(0, 8, 4),
    "TRCSSCSR<n>" 0x2a0 RW "state of single-shot comparator n" "DDI 0601, TRCSSCSR<n>" {
        STATUS[31] "it matched" YES;
        PENDING[30] "it matched while resources were paused (ETE)" YES;
        PC[3] "PE comparator inputs can be selected" YES;
        DV[2] "data values can be selected" YES;
        DA[1] "data addresses can be selected" YES;
        INST[0] "instruction addresses can be selected" YES;
    }.several(0, 8, 4),
    "TRCSSPCICR<n>" 0x2c0 RW "PE comparator inputs of single-shot comparator n"
        "DDI 0601, TRCSSPCICR<n>" {
        PC[7:0] "PE comparator inputs, bit n: input n";
    }.several(0, 8, 4),
};
