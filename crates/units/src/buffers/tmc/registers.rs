//! The registers of a TMC and of an ETB, as far as they describe the buffer.

use tracewright_base::registers;

use crate::register::{Register, RegisterRow};

/// The devices that have a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureTmc {
    /// Each TMC, and the ETB.
    All,
    /// Each TMC.
    Tmc,
    /// The ETR.
    Etr,
}

const YES: &[(u64, &str)] = &[(0, "no"), (1, "yes")];

/// The registers, by offset. (Arm DDI 0461, 3.3; DDI 0480, 3.10)
pub static REGISTERS: &[Register<FeatureTmc>] = registers! { row:
    RSZ | RDP 0x004 RO "size of the memory, in 32-bit words" "DDI 0461, 3.3",
    STS 0x00c RO "status" "DDI 0461, 3.3" {
        MemErr[5] "write error of the memory (ETR)" YES;
        Empty[4] "no trace in the buffer" YES;
        FtEmpty[3] "no trace in the formatter" YES;
        TMCReady[2] "stopped and flushed (ETB: AcqComp)" YES;
        Triggered[1] "the trigger and its delay have passed" YES;
        Full[0] "the buffer has wrapped" YES;
    },
    RRD 0x010 RO "read data" "DDI 0461, 3.3",
    RRP 0x014 RW "read pointer: bytes (ETB: words)" "DDI 0461, 3.3",
    RWP 0x018 RW "write pointer: bytes (ETB: words)" "DDI 0461, 3.3",
    TRG 0x01c RW "words to store after a trigger" "DDI 0461, 3.3",
    CTL 0x020 RW "control" "DDI 0461, 3.3" { TraceCaptEn[0] "capture enabled" YES; },
    MODE 0x028 RW "mode" "DDI 0461, 3.3" {
        StallOnStop[4] "stall instead of discard" YES;
        MODE[1:0] "mode" {0 "circular buffer", 1 "software FIFO", 2 "hardware FIFO"};
    }.only(FeatureTmc::Tmc),
    LBUFLEVEL 0x02c RO "largest fill level, in words" "DDI 0461, 3.3".only(FeatureTmc::Tmc),
    CBUFLEVEL 0x030 RO "fill level, in words" "DDI 0461, 3.3".only(FeatureTmc::Tmc),
    BUFWM 0x034 RW "free words at which FULL is driven" "DDI 0461, 3.3".only(FeatureTmc::Tmc),
    RRPHI 0x038 RW "read pointer, bits [63:32]" "DDI 0461, 3.3".only(FeatureTmc::Etr),
    RWPHI 0x03c RW "write pointer, bits [63:32]" "DDI 0461, 3.3".only(FeatureTmc::Etr),
    AXICTL 0x110 RW "bus attributes" "DDI 0461, 3.3" {
        ScatterGatherMode[7] "memory" {0 "one block", 1 "list of pages"};
    }.only(FeatureTmc::Etr),
    DBALO 0x118 RW "start of the buffer or its list, bits [31:0]"
        "DDI 0461, 3.3".only(FeatureTmc::Etr),
    DBAHI 0x11c RW "start of the buffer or its list, bits [63:32]"
        "DDI 0461, 3.3".only(FeatureTmc::Etr),
    FFSR 0x300 RO "formatter status" "DDI 0461, 3.3" {
        FtStopped[1] "the formatter has stopped" YES;
        FlInProg[0] "a flush is in progress" YES;
    },
    FFCR 0x304 RW "formatter control" "DDI 0461, 3.3" {
        StopOnTrigEvt[13] "stop on a trigger event" YES;
        StopOnFl[12] "stop after a flush" YES;
        TrigOnFl[10] "mark a flush as a trigger" YES;
        TrigOnTrigEvt[9] "mark a trigger event" YES;
        TrigOnTrigIn[8] "mark the trigger input" YES;
        FlushMan[6] "manual flush" YES;
        FOnTrigEvt[5] "flush on a trigger event" YES;
        FOnFlIn[4] "flush on the flush input" YES;
        EnTI[1] "triggers in the frames (ETB: EnFCont)" YES;
        EnFt[0] "formatter enabled (ETB: EnFTC)" YES;
    },
    PSCR 0x308 RW "frames between synchronisation packets" "DDI 0461, 3.3".only(FeatureTmc::Tmc),
};

const fn row(row: RegisterRow) -> Register<FeatureTmc> {
    Register::of(row, FeatureTmc::All)
}

impl Register<FeatureTmc> {
    const fn only(mut self, versions: FeatureTmc) -> Self {
        self.versions = versions;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_ascend() {
        let offsets: Vec<_> = REGISTERS.iter().filter_map(|register| register.offset).collect();
        assert!(offsets.is_sorted() && offsets.len() == REGISTERS.len());
    }
}
