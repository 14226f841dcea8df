//! The registers of an ITM.

use tracewright_base::{Register, RegisterRow, registers};

/// An ITM's configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Config {
    /// ITM_TCR, the trace control register. 0 where it is not known.
    pub control: u32,
    /// Whether the first byte, and the first byte after undecodable bytes, is parsed as a header.
    ///
    /// A header cannot be distinguished from payload, so by default a decoder waits for a
    /// synchronisation packet. Many captures have none: the unit emits them only where
    /// ITM_TCR.SYNCENA and the DWT enable them. This option is for those captures. If decoding
    /// starts inside a packet, a few packets are wrong or undecodable until the parser reaches a
    /// header.
    pub assume_synced: bool,
}

impl Config {
    /// TraceBusID, bits \[22:16]: the trace id (ATB id).
    pub const fn trace_id(&self) -> u8 {
        (self.control >> 16 & 0x7f) as u8
    }

    /// TSPrescale, bits \[9:8]: timestamp clock cycles in a tick of the local timestamp counter.
    pub const fn prescale(&self) -> u64 {
        match self.control >> 8 & 0b11 {
            0 => 1,
            1 => 4,
            2 => 16,
            _ => 64,
        }
    }
}

const OFF_ON: &[(u64, &str)] = &[(0, "off"), (1, "on")];

const fn optional(row: RegisterRow) -> Register {
    row.required(false)
}

/// The registers of an ITM, in the order of their addresses. (Armv8-M ARM, "ITM register summary")
pub(super) const REGISTERS: &[Register] = registers! { optional:
    ITMTER | ITM_TER | ITM_TER0 | ITMTER0 0xe00 RW
        "Trace Enable Register: one bit for each stimulus port, 0 to 31"
        "DDI 0553, ITM register summary" {
        STIMENA[31:0] "ports that may write into the trace";
    },
    ITMTPR | ITM_TPR 0xe40 RW "Trace Privilege Register" "DDI 0553, ITM register summary" {
        PRIVMASK[3:0]
            "one bit for each 8 ports: 1 prevents unprivileged software from enabling them";
    },
    ITMTCR | ITM_TCR | CONTROL_REGISTER 0xe80 RW "Trace Control Register"
        "DDI 0553, ITM register summary" {
        BUSY[23] "the unit is processing events" {0 "no", 1 "yes"};
        TraceBusID[22:16] "trace id (ATB id); 0 where the trace has no formatter";
        GTSFREQ[11:10] "how often global timestamps are generated" {
            0 "never", 1 "about every 128 cycles", 2 "about every 8192 cycles",
            3 "after each packet where there is room",
        };
        TSPrescale[9:8] "clock cycles in a tick of the local timestamp" {
            0 "1", 1 "4", 2 "16", 3 "64",
        };
        STALLENA[5]
            "stall the processor while there is no room for a data trace packet (Armv8-M)" OFF_ON;
        SWOENA[4] "the clock of the local timestamp" {
            0 "the processor's clock", 1 "the trace port's clock",
        };
        TXENA[3] "DWT packets are forwarded" OFF_ON;
        SYNCENA[2] "synchronisation packets are generated" OFF_ON;
        TSENA[1] "local timestamps are generated" OFF_ON;
        ITMENA[0] "the unit is enabled" OFF_ON;
    },
};
