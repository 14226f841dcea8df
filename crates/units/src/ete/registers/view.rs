//! ViewInst and ViewData: which instructions and data are traced, offsets 0x080 to 0x0a8.

use tracewright_base::{Field, fields, registers};

use super::{OFF_ON, Row, TYPES, Versions, YES, row};

const LEVEL: &[(u64, &str)] = &[(0, "traced"), (1, "not traced")];
const SAME: &[(u64, &str)] = &[(0, "as Non-secure"), (1, "unlike Non-secure")];

/// The fields of TRCVICTLR, those of Realm state first.
const SELECTION: &[Field] = fields! {
    EXLEVEL_RL_EL2[26] "EL2 in Realm state" SAME;
    EXLEVEL_RL_EL1[25] "EL1 in Realm state" SAME;
    EXLEVEL_RL_EL0[24] "EL0 in Realm state" SAME;
    EXLEVEL_NS_EL2[22] "EL2 in Non-secure state" LEVEL;
    EXLEVEL_NS_EL1[21] "EL1 in Non-secure state" LEVEL;
    EXLEVEL_NS_EL0[20] "EL0 in Non-secure state" LEVEL;
    EXLEVEL_S_EL3[19] "EL3" LEVEL;
    EXLEVEL_S_EL2[18] "EL2 in Secure state" LEVEL;
    EXLEVEL_S_EL1[17] "EL1 in Secure state" LEVEL;
    EXLEVEL_S_EL0[16] "EL0 in Secure state" LEVEL;
    TRCERR[11] "System error exceptions are always traced" YES;
    TRCRESET[10] "PE Reset exceptions are always traced" YES;
    SSSTATUS[9] "start/stop" {0 "stopped", 1 "started"};
    EVENT_TYPE[7] "what EVENT_SEL numbers" TYPES;
    EVENT_SEL[4:0] "selector or pair of the ViewInst event";
};

pub(super) const ROWS: &[Row] = registers! { row:
    TRCVICTLR 0x080 RW "which instructions are traced"
        "DDI 0601, TRCVICTLR" = SELECTION.in_etmv4(SELECTION.split_at(3).1),
    TRCVIIECTLR 0x084 RW "address ranges of ViewInst" "DDI 0601, TRCVIIECTLR" {
        EXCLUDE[23:16] "ranges that are not traced, bit n: range n";
        INCLUDE[7:0] "ranges that are traced, bit n: range n; 0: all";
    },
    TRCVISSCTLR 0x088 RW "addresses that start and stop ViewInst" "DDI 0601, TRCVISSCTLR" {
        STOP[31:16] "address comparators that stop, bit n: comparator n";
        START[15:0] "address comparators that start, bit n: comparator n";
    },
    TRCVIPCSSCTLR 0x08c RW "PE comparator inputs that start and stop ViewInst"
        "DDI 0601, TRCVIPCSSCTLR" {
        STOP[23:16] "PE comparator inputs that stop, bit n: input n";
        START[7:0] "PE comparator inputs that start, bit n: input n";
    },
    TRCVDCTLR 0x0a0 RW "which data is traced" "IHI 0064, TRCVDCTLR" {
        TRCEXDATA[12] "data transfers of exceptions" OFF_ON;
        TBI[11] "bits [63:56] of data addresses are traced as they are" YES;
        PCREL[10] "transfers relative to the program counter are omitted" YES;
        SPREL[9:8] "transfers relative to the stack pointer" {
            0 "traced", 2 "without the address", 3 "not traced",
        };
        EVENT_TYPE[7] "what EVENT_SEL numbers" TYPES;
        EVENT_SEL[4:0] "selector or pair of the ViewData event";
    }.only(Versions::ETMV4),
    TRCVDSACCTLR 0x0a4 RW "single addresses of ViewData" "IHI 0064, TRCVDSACCTLR" {
        EXCLUDE[31:16] "comparators that exclude, bit n: comparator n";
        INCLUDE[15:0] "comparators that include, bit n: comparator n";
    }.only(Versions::ETMV4),
    TRCVDARCCTLR 0x0a8 RW "address ranges of ViewData" "IHI 0064, TRCVDARCCTLR" {
        EXCLUDE[23:16] "ranges that exclude, bit n: range n";
        INCLUDE[7:0] "ranges that include, bit n: range n";
    }.only(Versions::ETMV4),
};
