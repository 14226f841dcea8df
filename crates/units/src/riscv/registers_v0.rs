//! The registers of SiFive's trace encoder before the Trace Control Interface: `teImpl.version` is
//! 0. (SiFive's trace library and OpenOCD scripts, github.com/ganboing/sifive-trace-decoder,
//! `scripts/trace.tcl`; "RISC-V Nexus Trace", initial draft)

use tracewright_base::{register, registers};

use super::registers::{ACTIONS, Row, TIME_MODES};
use crate::register::{Register, RegisterRow};

const YES: &[(u64, &str)] = &[(0, "no"), (1, "yes")];
const SECTION: &str = "SiFive trace encoder, version 0";

/// `teInstruction`.
pub const MODES: &[(u64, &str)] = &[
    (0, "none"),
    (1, "events"),
    (3, "branch trace (BTM)"),
    (6, "branch history (HTM)"),
    (7, "branch history with implicit returns (HTM)"),
];

/// `teSink`.
pub const SINKS: &[(u64, &str)] =
    &[(4, "SRAM"), (5, "ATB"), (6, "PIB"), (7, "system memory"), (8, "funnel")];

/// Which branch messages have timestamps. (`tsBranch`)
pub const BRANCH_TIMES: &[(u64, &str)] = &[(0, "none"), (1, "indirect branches"), (3, "all")];

const fn row(row: RegisterRow) -> Row {
    Register::of(row, ())
}

/// `teControl`.
pub const CONTROL: Row = register! { row:
    teControl | te_control 0x000 RW "control of the encoder (SiFive, version 0)" SECTION {
        teSink[31:28] "sink" SINKS;
        teSinkError[27] "the sink failed" YES;
        teSliceFormat[26:24] "bits of a byte" {1 "6 MDO and 2 MSEO"};
        teSyncMaxInst[23:20] "synchronisation after 2^(n + 5) bytes of messages" {15 "off"};
        teSyncMaxBtm[19:16] "synchronisation after 2^(n + 5) messages" {15 "off"};
        teInhibitSrc[15] "messages have no source" YES;
        teStopOnWrap[14] "storing ends when the buffer is full" YES;
        teStallEnable[13] "the hart waits in place of a loss" YES;
        teStallOrOverflow[12] "trace was lost, or the hart waited" YES;
        teInstrumentation[8:7] "software trace (ITC)" {0 "none", 1 "data", 2 "ownership", 3 "both"};
        teInstruction[6:4] "mode of the instruction trace" MODES;
        teEmpty[3] "all trace has been emitted" YES;
        teTracing[2] "instructions are traced" YES;
        teEnable[1] "enabled" YES;
        teActive[0] "released from reset" YES;
    }
};

/// `teImpl`.
pub const IMPL: Row = register! { row:
    teImpl | te_impl 0x004 RO "implementation of the encoder (SiFive, version 0)" SECTION {
        hartId[31:28] "the hart";
        nSrcBits[26:24] "bits of the source in a message";
        srcID[23:20] "source of the messages";
        crossingType[19:18] "crossing of clock domains";
        sinkBytes[17:16] "size of the SRAM";
        hasFunnelSink[8] "has a funnel" YES;
        hasSBASink[7] "has system memory" YES;
        hasPIBSink[6] "has a PIB" YES;
        hasATBSink[5] "has an ATB" YES;
        hasSRAMSink[4] "has an SRAM" YES;
        version[3:0] "version";
    }
};

/// `tsControl`.
pub const TIME_CONTROL: Row = register! { row:
    tsControl 0x040 RW "timestamp control (SiFive, version 0)" SECTION {
        tsWidth[31:24] "bits of a timestamp";
        tsOwnership[19] "Ownership messages have timestamps" YES;
        tsInstrumentation[18] "software trace has timestamps" YES;
        tsBranch[17:16] "branch messages with timestamps" BRANCH_TIMES;
        tsEnable[15] "timestamps in messages" YES;
        tsPrescale[9:8] "division of the clock" {0 "1", 1 "4", 2 "16", 3 "64"};
        tsType[6:4] "source of the time" TIME_MODES;
        tsDebug[3] "the counter runs in debug mode" YES;
        tsReset[2] "resets the counter" YES;
        tsCount[1] "the counter runs" YES;
        tsActive[0] "released from reset" YES;
    }
};

/// All registers, in the order of their offsets.
pub static ENCODER: &[Row] = registers! { row:
    CONTROL,
    IMPL,
    teSinkBase 0x010 RW "start of the sink's memory, bits 31 to 0" SECTION,
    teSinkBaseHigh 0x014 RW "start of the sink's memory, bits 63 to 32" SECTION,
    teSinkLimit 0x018 RW "last word of the sink's memory" SECTION,
    teSinkWP 0x01c RW "write pointer" SECTION {
        teSinkWP[31:2] "address of the next word, divided by 4";
        teSinkWrap[0] "the buffer has wrapped" YES;
    },
    teSinkRP 0x020 RW "read pointer" SECTION,
    teSinkData 0x024 RO "the word at the read pointer" SECTION,
    teFifo 0x030 RO "the FIFO of messages" SECTION,
    teBtmCount 0x034 RO "messages since the last synchronisation" SECTION,
    teWordCount 0x038 RO "words of messages" SECTION,
    TIME_CONTROL,
    tsLower 0x044 RO "timestamp counter, bits 31 to 0" SECTION,
    tsUpper 0x048 RO "timestamp counter, bits 63 to 32" SECTION,
    xtiControl 0x050 RW "actions of the external trigger inputs, 4 bits of each" SECTION {
        xtiAction7[31:28] "action of input 7" ACTIONS;
        xtiAction6[27:24] "action of input 6" ACTIONS;
        xtiAction5[23:20] "action of input 5" ACTIONS;
        xtiAction4[19:16] "action of input 4" ACTIONS;
        xtiAction3[15:12] "action of input 3" ACTIONS;
        xtiAction2[11:8] "action of input 2" ACTIONS;
        xtiAction1[7:4] "action of input 1" ACTIONS;
        xtiAction0[3:0] "action of input 0" ACTIONS;
    },
    xtoControl 0x054 RW "events of the external trigger outputs, 4 bits of each" SECTION,
    wpControl 0x058 RW "watchpoints, 4 bits of each" SECTION,
    itcTraceEnable 0x060 RW "stimulus registers that are traced" SECTION {
        itcTraceEnable[31:0] "bit n: register n";
    },
    itcTrigEnable 0x064 RW "stimulus registers that are triggers" SECTION {
        itcTrigEnable[31:0] "bit n: register n";
    },
    pcControl 0x100 RW "samples of the program counter" SECTION,
    pibControl 0xf00 RW "control of the PIB" SECTION,
};
