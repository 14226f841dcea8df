//! Control and configuration, offsets 0x004 to 0x044.

use tracewright_base::{Field, fields, register, registers};

use super::{OFF_ON, Row, TYPES, Versions, YES, row};

/// The trace features that are on.
pub const TRCCONFIGR: Row = register! { row:
    TRCCONFIGR 0x010 RW "programmed trace features" "DDI 0601, TRCCONFIGR" {
        ITO[18] "trace of the instrumentation instruction (ETE 1.3)" OFF_ON;
        DV[17] "trace of data values" OFF_ON;
        DA[16] "trace of data addresses" OFF_ON;
        VMIDOPT[15] "the traced virtual machine identifier" {
            0 "VTTBR_EL2.VMID", 1 "CONTEXTIDR_EL2",
        };
        QE[14:13] "Q elements" {
            0 "off", 1 "with a count", 2 "reserved", 3 "with or without a count",
        };
        RS[12] "return stack: addresses of returns are omitted" OFF_ON;
        TS[11] "global timestamps" OFF_ON;
        COND[10:8] "trace of conditional non-branch instructions" {
            0 "off", 1 "loads", 2 "stores", 3 "loads and stores", 7 "all",
        };
        VMID[7] "trace of virtual machine identifiers" OFF_ON;
        CID[6] "trace of context identifiers" OFF_ON;
        CCI[4] "cycle counts" OFF_ON;
        BB[3] "branch broadcasting: every branch has its address" OFF_ON;
        INSTP0[2:1] "loads and stores that are traced like branches" {
            0 "neither", 1 "loads", 2 "stores", 3 "loads and stores",
        };
    }
}
.ones(1);

/// The trace ID.
pub const TRCTRACEIDR: Row = register! { row:
    TRCTRACEIDR 0x040 RW "trace ID of the unit" "DDI 0601, TRCTRACEIDR" {
        TRACEID[6:0] "trace id (ATB id)";
    }
};

const EVENT: &[Field] = fields! {
    TYPE[7] "what SEL numbers" TYPES;
    SEL[4:0] "number of the resource selector or pair";
};

pub(super) const ROWS: &[Row] = registers! { row:
    TRCPRGCTLR 0x004 RW "enable of the unit" "DDI 0601, TRCPRGCTLR" {
        EN[0] "the unit is enabled" OFF_ON;
    },
    TRCPROCSELR 0x008 RW "the traced processor, in a unit that several share"
        "IHI 0064, TRCPROCSELR" {
        PROCSEL[4:0] "number of the processor";
    }.only(Versions::ETMV4),
    TRCSTATR 0x00c RO "state of the unit" "DDI 0601, TRCSTATR" {
        PMSTABLE[1] "registers can be read: their values are stable" YES;
        IDLE[0] "the unit is idle: nothing is left to output" YES;
    },
    TRCCONFIGR,
    TRCAUXCTLR 0x018 RW "auxiliary control, defined by the implementation" "DDI 0601, TRCAUXCTLR" {
        IMPDEF[31:0] "defined by the implementation";
    },
    TRCEVENTCTL0R 0x020 RW "the resource events of events 0 to 3" "DDI 0601, TRCEVENTCTL0R" {
        TYPE3[31] "what SEL3 numbers" TYPES;
        SEL3[28:24] "selector or pair of event 3";
        TYPE2[23] "what SEL2 numbers" TYPES;
        SEL2[20:16] "selector or pair of event 2";
        TYPE1[15] "what SEL1 numbers" TYPES;
        SEL1[12:8] "selector or pair of event 1";
        TYPE0[7] "what SEL0 numbers" TYPES;
        SEL0[4:0] "selector or pair of event 0";
    },
    TRCEVENTCTL1R 0x024 RW "the effect of events 0 to 3" "DDI 0601, TRCEVENTCTL1R" {
        OE[13] "events are also outputs of the unit (ETE)" OFF_ON;
        LPOVERRIDE[12] "the unit works in low-power states" OFF_ON;
        ATB[11] "event 0 is an ATB trigger" OFF_ON;
        DATAEN[4] "event elements in the data trace" OFF_ON;
        INSTEN[3:0] "events that are elements of the trace, bit n: event n";
    },
    TRCRSR 0x028 RW "state of the resources" "DDI 0601, TRCRSR" {
        TA[12] "tracing is active" YES;
        EVENT[11:8] "events that occurred while resources were paused";
        EXTIN[3:0] "external inputs that were active while paused";
    }.only(Versions::ETE),
    TRCSTALLCTLR 0x02c RW "stalls of the processor that prevent overflows"
        "DDI 0601, TRCSTALLCTLR" {
        NOOVERFLOW[13] "the trace never overflows" YES;
        DATADISCARD[12:11] "data trace that is dropped before an overflow" {
            0 "none", 1 "loads", 2 "stores", 3 "loads and stores",
        };
        INSTPRIORITY[10] "instruction trace has priority" YES;
        DSTALL[9] "data trace stalls the processor" YES;
        ISTALL[8] "instruction trace stalls the processor" YES;
        LEVEL[3:0] "threshold, 0: no stalls, 15: most stalls";
    },
    TRCTSCTLR 0x030 RW "the event that requests a timestamp" "DDI 0601, TRCTSCTLR" = EVENT,
    TRCSYNCPR 0x034 RW "period of synchronisation" "DDI 0601, TRCSYNCPR" {
        PERIOD[4:0] "bytes of trace between synchronisations, as a power of 2; 0: no period" {
            0 "none",
        };
    },
    TRCCCCTLR 0x038 RW "threshold of cycle counts" "DDI 0601, TRCCCCTLR" {
        THRESHOLD[11:0] "cycles between cycle counts, at least";
    },
    TRCBBCTLR 0x03c RW "where branches are broadcast" "DDI 0601, TRCBBCTLR" {
        MODE[8] "where the ranges apply" {0 "outside the ranges", 1 "inside the ranges"};
        RANGE[7:0] "address range comparators, bit n: range n";
    },
    TRCTRACEIDR,
    TRCQCTLR 0x044 RW "where Q elements are permitted" "DDI 0601, TRCQCTLR" {
        MODE[8] "where Q elements are permitted" {0 "outside the ranges", 1 "inside the ranges"};
        RANGE[7:0] "address range comparators, bit n: range n";
    },
    TRCITEEDCR 0x048 RW "exception levels that may trace the instrumentation instruction"
        "DDI 0601, TRCITEEDCR" {
        RL[6] "EL1 and EL2 in Realm state" OFF_ON;
        S[5] "EL1 and EL2 in Secure state" OFF_ON;
        NS[4] "EL1 and EL2 in Non-secure state" OFF_ON;
        E3[3] "EL3" OFF_ON;
        E2[2] "EL2" OFF_ON;
        E1[1] "EL1" OFF_ON;
        E0[0] "EL0" OFF_ON;
    }.only(Versions { etmv4: None, ete: Some(3) }).unsaved(),
};
