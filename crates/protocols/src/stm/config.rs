//! The registers of an STM.

use tracewright_base::{Register, RegisterRow, registers};

/// An STM's configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Config {
    /// STMTCSR, the trace control and status register. 0 where it is not known.
    pub control: u32,
}

impl Config {
    /// TRACEID, bits \[22:16]: the trace id (ATB id).
    pub const fn trace_id(&self) -> u8 {
        (self.control >> 16 & 0x7f) as u8
    }
}

const OFF_ON: &[(u64, &str)] = &[(0, "off"), (1, "on")];
const NO_YES: &[(u64, &str)] = &[(0, "no"), (1, "yes")];

const fn optional(row: RegisterRow) -> Register {
    row.required(false)
}

/// The registers of an STM, in the order of their addresses. (Arm CoreSight System Trace Macrocell
/// TRM, "Register summary")
pub(super) const REGISTERS: &[Register] = registers! { optional:
    STMHEMASTR | HWEV_MAST 0xdf4 RO "Hardware Event Master Number Register" "DDI 0528, 3.2" {
        MASTER[15:0] "the master number of hardware events";
    },
    STMTCSR | STM_TCSR | CONTROL_REGISTER 0xe80 RW "Trace Control and Status Register"
        "DDI 0528, 3.2" {
        BUSY[23] "the unit has trace that it has not sent" NO_YES;
        TRACEID[22:16] "trace id (ATB id)";
        COMPEN[5] "data is compressed to the smallest packet in which it fits" OFF_ON;
        HWTEN[3] "hardware events have timestamps" OFF_ON;
        SYNCEN[2] "synchronisation packets are generated" OFF_ON;
        TSEN[1] "timestamps are generated where they are requested" OFF_ON;
        EN[0] "the unit is enabled" OFF_ON;
    },
    STMTSFREQR | STM_TSFREQR 0xe8c RW "Timestamp Frequency Register" "DDI 0528, 3.2" {
        FREQ[31:0] "frequency of the timestamp clock in hertz, as in FREQ packets";
    },
    STMSYNCR | STM_SYNCR 0xe90 RW "Synchronization Control Register" "DDI 0528, 3.2" {
        MODE[12] "how COUNT is read" {
            0 "bytes between synchronisations", 1 "the power of two of that, bits [11:7]",
        };
        COUNT[11:3] "bytes between synchronisation packets; 0 for none";
    },
    STMFEAT1R | STMSPFEAT1R | STM_FEAT1R 0xea0 RO "Features 1 Register" "DDI 0528, 3.2" {
        SWOEN[23:22] "whether software can choose the trace port's protocol";
        SYNCEN[21:20] "whether STMTCSR.SYNCEN can be written";
        HWTEN[19:18] "whether STMTCSR.HWTEN can be written";
        TSPRESCALE[17:16] "whether the timestamp has a prescaler";
        TRIGCTL[15:14] "how triggers can be requested";
        TRACEBUS[13:10] "the trace bus" {1 "ATB with a trace id and triggers"};
        SYNC[9:8] "whether STMSYNCR is implemented";
        FORCETS[7] "a timestamp can be requested for the next packet" NO_YES;
        TSFREQ[6] "STMTSFREQR can be written" NO_YES;
        TS[5:4] "timestamps" {0 "differences", 1 "absolute"};
        PROT[3:0] "the protocol" {1 "STPv2"};
    },
    STMFEAT2R | STMSPFEAT2R | STM_FEAT2R 0xea4 RO "Features 2 Register" "DDI 0528, 3.2" {
        SPTYPE[17:16] "stimulus ports" {0 "basic", 1 "extended", 2 "basic and extended"};
        DSIZE[15:12] "the widest data" {0 "32 bits", 1 "64 bits"};
        SPTRTYPE[10:9] "how a guaranteed write is requested";
        PRIVMASK[8:7] "whether unprivileged access to ports can be disabled";
        SPOVERRIDE[6] "the kind of a write can be overridden" NO_YES;
        SPCOMP[5:4] "whether data can be compressed";
        SPER[2] "ports can be enabled one by one" {0 "yes", 1 "no"};
        SPTER[1:0] "whether a port can trigger";
    },
    STMFEAT3R | STMSPFEAT3R | STM_FEAT3R 0xea8 RO "Features 3 Register" "DDI 0528, 3.2" {
        NUMMAST[6:0] "the highest master number";
    },
    STMDEVID | STM_DEVID 0xfc8 RO "Device Configuration Register" "DDI 0528, 3.2" {
        NUMSP[16:0] "the number of stimulus ports";
    },
};
