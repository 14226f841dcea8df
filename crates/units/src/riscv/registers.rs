//! The registers of the components. (Trace Control Interface 1.0)

use tracewright_base::{register, registers};

use crate::register::{Register, RegisterRow};

/// A row of a table of registers.
pub type Row = Register<()>;

const YES: &[(u64, &str)] = &[(0, "no"), (1, "yes")];

/// The actions of a trigger. ("Debug Trigger Actions")
pub const ACTIONS: &[(u64, &str)] =
    &[(0, "none"), (2, "trace on"), (3, "trace off"), (4, "notification")];

/// `match` of mcontrol.
const MATCHES: &[(u64, &str)] = &[
    (0, "equal"),
    (1, "in the naturally aligned range"),
    (2, "from it on"),
    (3, "below it"),
    (8, "not equal"),
    (9, "outside of the naturally aligned range"),
];

/// `trTsMode`.
pub const TIME_MODES: &[(u64, &str)] =
    &[(0, "none"), (1, "external"), (2, "internal system"), (3, "internal core"), (4, "shared")];

/// `trPibMode`. ("Allowed PIB Configurations")
pub const PIB_MODES: &[(u64, &str)] = &[
    (0, "off"),
    (4, "SWT Manchester"),
    (5, "SWT UART"),
    (8, "1 data signal"),
    (9, "2 data signals"),
    (10, "4 data signals"),
    (11, "8 data signals"),
    (12, "16 data signals"),
];

/// `tr??CompType`. ("Trace Components")
pub const TYPES: &[(u64, &str)] = &[
    (0x1, "trace encoder"),
    (0x8, "trace funnel"),
    (0x9, "trace RAM sink"),
    (0xa, "trace PIB sink"),
    (0xe, "trace ATB bridge"),
];

const INPUTS: &[(u64, &str)] = &[(0, "iaddr"), (1, "context"), (2, "tval"), (3, "daddr")];

const PRIMARY: &[(u64, &str)] =
    &[(0, "=="), (1, "!="), (2, "<"), (3, "<="), (4, ">"), (5, ">="), (6, "false"), (7, "true")];

const SECONDARY: &[(u64, &str)] = &[
    (0, "=="),
    (1, "!="),
    (2, "<"),
    (3, "<="),
    (4, ">"),
    (5, ">="),
    (6, "true, mask of the primary match"),
    (7, "true"),
];

const fn row(row: RegisterRow) -> Row {
    Register::of(row, ())
}

/// A control and status register of the processor.
const fn csr(row: RegisterRow) -> Row {
    Register { bits: 64, ..Register::of(row, ()) }
}

const CSR_SECTION: &str = "RISC-V Debug Specification 1.0, Trigger Module";
const ENCODER_SECTION: &str = "Trace Control Interface, Trace Encoder Control Interface";
const TIME_SECTION: &str = "Trace Control Interface, Timestamp Unit";
const TRIGGER_SECTION: &str = "Trace Control Interface, Trace Encoder Triggers";
const FILTER_SECTION: &str = "Trace Control Interface, Trace Encoder Filter Registers";
const RAM_SECTION: &str = "Trace Control Interface, Trace RAM Sink";
const FUNNEL_SECTION: &str = "Trace Control Interface, Trace Funnel";
const PIB_SECTION: &str = "Trace Control Interface, Trace PIB Sink";
const ATB_SECTION: &str = "Trace Control Interface, Trace ATB Bridge";

const TIME_CONTROL: Row = register! { row:
    trTsControl 0x040 RW "timestamp control" TIME_SECTION {
        trTsWidth[29:24] "bits of a timestamp";
        vendor[23:16] "which messages have a timestamp";
        trTsEnable[15] "timestamps in messages" YES;
        trTsPrescale[9:8] "division of the clock" {0 "1", 1 "4", 2 "16", 3 "64"};
        trTsMode[6:4] "source of the time" TIME_MODES;
        trTsRunInDebug[3] "the counter runs in debug mode" YES;
        trTsReset[2] "resets the counter" YES;
        trTsCount[1] "the counter runs" YES;
        trTsActive[0] "released from reset" YES;
    }
};
const TIME_LOW: Row = register! { row:
    trTsCounterLow 0x048 RO "timestamp counter, bits 31 to 0" TIME_SECTION
};
const TIME_HIGH: Row = register! { row:
    trTsCounterHigh 0x04c RO "timestamp counter, bits 63 to 32" TIME_SECTION
};

/// `trTeControl`.
pub const CONTROL: Row = register! { row:
    trTeControl | tr_te_control 0x000 RW "control of the encoder" ENCODER_SECTION {
        trTeFormat[26:24] "format" {0 "E-Trace", 1 "N-Trace", 7 "of the vendor"};
        trTeInstSyncMax[23:20] "period of synchronisation is 2^(n + 4)";
        trTeInstSyncMode[17:16] "unit of the period" {
            0 "off", 1 "messages", 2 "cycles", 3 "half words",
        };
        trTeInhibitSrc[15] "messages have no source" YES;
        trTeInstStallEna[13] "the hart waits in place of a loss" YES;
        trTeInstStallOrOverflow[12] "trace was lost, or the hart waited" YES;
        trTeInstTrigEnable[11] "triggers start and stop the trace" YES;
        trTeContext[9] "context and privilege are traced" YES;
        trTeInstMode[6:4] "mode of the instruction trace" {
            0 "off", 3 "branch trace (BTM)", 6 "branch history (HTM)", 7 "of the vendor",
        };
        trTeEmpty[3] "all trace has been emitted" YES;
        trTeInstTracing[2] "instructions are traced" YES;
        trTeEnable[1] "enabled" YES;
        trTeActive[0] "released from reset" YES;
    }
};

/// `trTeInstFeatures`.
pub const INST_FEATURES: Row = register! { row:
    trTeInstFeatures | tr_te_inst_features 0x008 RW "options of the instruction trace, and source"
        ENCODER_SECTION {
        trTeSrcBits[31:28] "bits of the source in a message";
        trTeSrcID[27:16] "source of the messages";
        trTeInstExtendAddrMSB[10] "equal top bits of addresses are left out" YES;
        trTeInstEnAllJumps[9] "direct jumps are reported as taken branches" YES;
        trTeInstEnRepeatedHistory[8] "repeated history is counted" YES;
        trTeInstImplicitReturnMode[7:6] "comparison of implicit returns" {
            0 "not reported", 1 "counter without comparison", 2 "partial address", 3 "full address",
        };
        trTeInstEnJumpTargetCache[5] "jump target cache" YES;
        trTeInstEnBranchPrediction[4] "branch prediction" YES;
        trTeInstEnImplicitReturn[3] "returns to the caller are not reported" YES;
        trTeInstEnSequentialJump[2] "sequential jumps are not reported" YES;
        trTeInstNoTrapAddr[1] "traps have no handler address" YES;
        trTeInstNoAddrDiff[0] "addresses are always full" YES;
    }
};

/// The registers of an encoder, without those of filters and comparators.
pub static ENCODER: &[Row] = registers! { row:
    CONTROL,
    trTeImpl 0x004 RO "implementation of the encoder" ENCODER_SECTION {
        trTeProtocolMinor[23:20] "minor version of the protocol";
        trTeProtocolMajor[19:16] "major version of the protocol";
        trTeCompType[11:8] "component" TYPES;
        trTeVerMinor[7:4] "minor version of the component";
        trTeVerMajor[3:0] "major version of the component";
    },
    INST_FEATURES,
    trTeInstFilters 0x00c RW "filters of the instruction trace" ENCODER_SECTION {
        trTeInstFilters[15:0] "bit n: filter n selects";
    },
    trTeDataControl 0x010 RW "control of the data trace" ENCODER_SECTION {
        trTeDataAddrCompress[19:18] "compression of data addresses" {
            0 "none", 1 "XOR", 2 "difference", 3 "of the protocol",
        };
        trTeDataNoAddr[17] "data trace without addresses" YES;
        trTeDataNoValue[16] "data trace without values" YES;
        trTeDataDropEna[6] "data trace is dropped before an overflow" YES;
        trTeDataDrop[5] "data trace was dropped" YES;
        trTeDataStallEna[4] "the hart waits in place of a loss" YES;
        trTeDataStallOrOverflow[3] "data trace was lost, or the hart waited" YES;
        trTeDataTrigEnable[2] "triggers start and stop the data trace" YES;
        trTeDataTracing[1] "data accesses are traced" YES;
        trTeDataImplemented[0] "data trace is implemented" YES;
    },
    trTeDataFilters 0x01c RW "filters of the data trace" ENCODER_SECTION {
        trTeDataFilters[15:0] "bit n: filter n selects";
    },
    TIME_CONTROL,
    TIME_LOW,
    TIME_HIGH,
    trTeTrigDbgControl 0x050 RW "debug triggers, of the vendor" TRIGGER_SECTION,
    trTeTrigExtInControl 0x054 RW "actions of the external trigger inputs" TRIGGER_SECTION {
        trTeTrigExtInAction7[31:28] "action of input 7" ACTIONS;
        trTeTrigExtInAction6[27:24] "action of input 6" ACTIONS;
        trTeTrigExtInAction5[23:20] "action of input 5" ACTIONS;
        trTeTrigExtInAction4[19:16] "action of input 4" ACTIONS;
        trTeTrigExtInAction3[15:12] "action of input 3" ACTIONS;
        trTeTrigExtInAction2[11:8] "action of input 2" ACTIONS;
        trTeTrigExtInAction1[7:4] "action of input 1" ACTIONS;
        trTeTrigExtInAction0[3:0] "action of input 0" ACTIONS;
    },
    trTeTrigExtOutControl 0x058 RW
        "events of the external trigger outputs: 4 bits of each output; bit 0 start, bit 1 stop"
        TRIGGER_SECTION,
};

/// The registers of trigger 0 of the processor, which fires the actions of the encoder. (Debug
/// Specification 1.0, mcontrol and mcontrol6)
pub static TRIGGER: &[Row] = registers! { csr:
    tdata1 RW "trigger of the processor: type, event and action" CSR_SECTION {
        "type"[63:16] "type in the top 4 bits of XLEN, and what depends on it";
        action[15:12] "action" ACTIONS;
        chain[11] "fires with the next trigger only" YES;
        "match"[10:7] "comparison" MATCHES;
        m[6] "in machine mode" YES;
        uncertainen[5] "fires where a match is uncertain (mcontrol6)" YES;
        s[4] "in supervisor mode" YES;
        u[3] "in user mode" YES;
        execute[2] "instructions" YES;
        store[1] "stores" YES;
        load[0] "loads" YES;
    },
    tdata2 RW "address with which the trigger compares" CSR_SECTION,
};

/// The registers of filter 0. Those of filter n are 0x20 n higher.
pub static FILTER: &[Row] = registers! { row:
    Control 0x400 RW "control of the filter" FILTER_SECTION {
        trTeFilterMatchDsize[25] "matches data sizes" YES;
        trTeFilterMatchDtype[24] "matches data access types" YES;
        trTeFilterMatchImpdef[16] "matches sideband signals" YES;
        trTeFilterComp3[15:13] "third comparator";
        trTeFilterMatchComp3[12] "matches the third comparator" YES;
        trTeFilterComp2[11:9] "second comparator";
        trTeFilterMatchComp2[8] "matches the second comparator" YES;
        trTeFilterComp1[7:5] "first comparator";
        trTeFilterMatchComp1[4] "matches the first comparator" YES;
        trTeFilterMatchInterrupt[3] "matches interrupts or exceptions" YES;
        trTeFilterMatchEcause[2] "matches causes" YES;
        trTeFilterMatchPrivilege[1] "matches privilege levels" YES;
        trTeFilterEnable[0] "enabled" YES;
    },
    MatchInst 0x404 RW "privilege levels, and whether the trap is an interrupt" FILTER_SECTION {
        trTeFilterMatchValueInterrupt[8] "the trap is an interrupt" YES;
        trTeFilterMatchChoicePrivilege[7:0] "bit n: level n passes";
    },
    MatchEcauseLow 0x408 RW "causes 31 to 0 that pass" FILTER_SECTION,
    MatchEcauseHigh 0x40c RW "causes 63 to 32 that pass" FILTER_SECTION,
    MatchValueImpdef 0x410 RW "value of the sideband signals" FILTER_SECTION,
    MatchMaskImpdef 0x414 RW "mask of the sideband signals" FILTER_SECTION,
    MatchData 0x418 RW "data accesses that pass" FILTER_SECTION {
        trTeFilterMatchChoiceDsize[23:16] "bit n: size n passes";
        trTeFilterMatchChoiceDtype[15:0] "bit n: type n passes";
    },
};

/// The registers of comparator 0. Those of comparator n are 0x20 n higher.
pub static COMPARATOR: &[Row] = registers! { row:
    Control 0x600 RW "control of the comparator" FILTER_SECTION {
        trTeCompSNotify[15] "a secondary match is reported" YES;
        trTeCompPNotify[14] "a primary match is reported" YES;
        trTeCompMatchMode[13:12] "combination" {
            0 "P", 1 "P and S", 2 "not (P and S)", 3 "from P to S",
        };
        trTeCompSFunction[10:8] "secondary relation" SECONDARY;
        trTeCompPFunction[6:4] "primary relation" PRIMARY;
        trTeCompSInput[3:2] "secondary input" INPUTS;
        trTeCompPInput[1:0] "primary input" INPUTS;
    },
    PMatchLow 0x610 RW "primary value, bits 31 to 0" FILTER_SECTION,
    PMatchHigh 0x614 RW "primary value, bits 63 to 32" FILTER_SECTION,
    SMatchLow 0x618 RW "secondary value, bits 31 to 0" FILTER_SECTION,
    SMatchHigh 0x61c RW "secondary value, bits 63 to 32" FILTER_SECTION,
};

/// The registers of a funnel.
pub static FUNNEL: &[Row] = registers! { row:
    trFunnelControl 0x000 RW "control of the funnel" FUNNEL_SECTION {
        trFunnelEmpty[3] "all trace has been emitted" YES;
        trFunnelEnable[1] "enabled" YES;
        trFunnelActive[0] "released from reset" YES;
    },
    trFunnelImpl 0x004 RO "implementation of the funnel" FUNNEL_SECTION {
        trFunnelCompType[11:8] "component" TYPES;
        trFunnelVerMinor[7:4] "minor version";
        trFunnelVerMajor[3:0] "major version";
    },
    trFunnelDisInput 0x008 RW "disabled inputs" FUNNEL_SECTION {
        trFunnelDisInput[15:0] "bit n: input n is disabled";
    },
    TIME_CONTROL,
    TIME_LOW,
    TIME_HIGH,
};

/// The registers of a RAM sink.
pub static RAM: &[Row] = registers! { row:
    trRamControl 0x000 RW "control of the RAM sink" RAM_SECTION {
        trRamAsyncFreq[14:12] "frequency of alignment packets, 0 is none";
        trRamMemFormat[10:9] "format of the memory" {0 "bytes", 3 "of the vendor"};
        trRamStopOnWrap[8] "storing ends when the buffer is full" YES;
        trRamMode[4] "memory" {0 "SRAM", 1 "system memory"};
        trRamEmpty[3] "all trace has been stored" YES;
        trRamEnable[1] "enabled" YES;
        trRamActive[0] "released from reset" YES;
    },
    trRamImpl 0x004 RO "implementation of the RAM sink" RAM_SECTION {
        trRamHasSMEM[13] "supports system memory" YES;
        trRamHasSRAM[12] "supports SRAM" YES;
        trRamCompType[11:8] "component" TYPES;
        trRamVerMinor[7:4] "minor version";
        trRamVerMajor[3:0] "major version";
    },
    trRamStartLow | teSinkBase 0x010 RW "start, bits 31 to 0" RAM_SECTION,
    trRamStartHigh | teSinkBaseHigh 0x014 RW "start, bits 63 to 32" RAM_SECTION,
    trRamLimitLow | teSinkLimit 0x018 RW "last word, bits 31 to 0" RAM_SECTION,
    trRamLimitHigh 0x01c RW "last word, bits 63 to 32" RAM_SECTION,
    trRamWPLow | teSinkWP 0x020 RW "write pointer, bits 31 to 0" RAM_SECTION {
        trRamWPLow[31:2] "address of the next word, divided by 4";
        trRamWrap[0] "the buffer has wrapped" YES;
    },
    trRamWPHigh 0x024 RW "write pointer, bits 63 to 32" RAM_SECTION,
    trRamRPLow | teSinkRP 0x028 RW "read pointer, bits 31 to 0" RAM_SECTION,
    trRamRPHigh 0x02c RW "read pointer, bits 63 to 32" RAM_SECTION,
    trRamData | teSinkData 0x040 RW "the word at the read pointer" RAM_SECTION,
};

/// The registers of a PIB.
pub static PIB: &[Row] = registers! { row:
    trPibControl 0x000 RW "control of the PIB" PIB_SECTION {
        trPibDivider[31:16] "division of the clock, minus 1";
        trPibAsyncFreq[14:12] "frequency of alignment packets, 0 is none";
        trPibCalibrate[9] "the calibration pattern is sent" YES;
        trPibClkCenter[8] "clock edges in the middle of a bit" YES;
        trPibMode[7:4] "pins" PIB_MODES;
        trPibEmpty[3] "all trace has been sent" YES;
        trPibEnable[1] "enabled" YES;
        trPibActive[0] "released from reset" YES;
    },
    trPibImpl 0x004 RO "implementation of the PIB" PIB_SECTION {
        trPibCompType[11:8] "component" TYPES;
        trPibVerMinor[7:4] "minor version";
        trPibVerMajor[3:0] "major version";
    },
};

/// The registers of an ATB bridge.
pub static ATB: &[Row] = registers! { row:
    trAtbBridgeControl 0x000 RW "control of the ATB bridge" ATB_SECTION {
        trAtbBridgeID[14:8] "trace ID on the ATB";
        trAtbBridgeEmpty[3] "all trace has been emitted" YES;
        trAtbBridgeEnable[1] "enabled" YES;
        trAtbBridgeActive[0] "released from reset" YES;
    },
    trAtbBridgeImpl 0x004 RO "implementation of the ATB bridge" ATB_SECTION {
        trAtbBridgeAsyncFreq[14:12] "frequency of alignment packets, 0 is none";
        trAtbBridgeCompType[11:8] "component" TYPES;
        trAtbBridgeVerMinor[7:4] "minor version";
        trAtbBridgeVerMajor[3:0] "major version";
    },
};
