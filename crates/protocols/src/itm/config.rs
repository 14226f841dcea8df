//! What the registers of an ITM say.

use tracewright_base::{Field, Register};

/// An ITM's configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Config {
    /// ITM_TCR, the trace control register. 0 where it is not known.
    pub control: u32,
    /// Take the first byte for a header, and the first after bytes that are no packet.
    ///
    /// Headers and payload cannot be told apart, so a decoder that knows nothing waits for a
    /// synchronisation packet. Many captures have none: the unit emits them only where
    /// ITM_TCR.SYNCENA and the DWT say so. For those, set this. A start in the middle of a packet
    /// then gives a few wrong packets or bad bytes, until a header is where one is expected.
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

const fn field(
    name: &'static str,
    (high, low): (u8, u8),
    about: &'static str,
    values: &'static [(u64, &'static str)],
) -> Field {
    Field { name, high, low, about, values }
}

/// The registers of an ITM, in the order of their addresses. (Armv8-M ARM, "ITM register summary")
pub(super) const REGISTERS: &[Register] = &[
    Register {
        name: "ITMTER",
        aliases: &["ITM_TER", "ITM_TER0", "ITMTER0"],
        about: "Trace Enable Register: a bit a stimulus port, 0 to 31",
        required: false,
        fields: &[field("STIMENA", (31, 0), "ports that may write into the trace", &[])],
    },
    Register {
        name: "ITMTPR",
        aliases: &["ITM_TPR"],
        about: "Trace Privilege Register",
        required: false,
        fields: &[field(
            "PRIVMASK",
            (3, 0),
            "a bit for 8 ports: 1 keeps unprivileged software from enabling them",
            &[],
        )],
    },
    Register {
        name: "ITMTCR",
        aliases: &["ITM_TCR", "CONTROL_REGISTER"],
        about: "Trace Control Register",
        required: false,
        fields: &[
            field("BUSY", (23, 23), "the unit is processing events", &[(0, "no"), (1, "yes")]),
            field(
                "TraceBusID",
                (22, 16),
                "trace id (ATB id); 0 where the trace has no formatter",
                &[],
            ),
            field(
                "GTSFREQ",
                (11, 10),
                "how often a global timestamp is made",
                &[
                    (0, "never"),
                    (1, "every 128 cycles or so"),
                    (2, "every 8192 cycles or so"),
                    (3, "after each packet where there is room"),
                ],
            ),
            field(
                "TSPrescale",
                (9, 8),
                "clock cycles in a tick of the local timestamp",
                &[(0, "1"), (1, "4"), (2, "16"), (3, "64")],
            ),
            field(
                "STALLENA",
                (5, 5),
                "stall the processor where the trace has no room for a data trace packet (Armv8-M)",
                OFF_ON,
            ),
            field(
                "SWOENA",
                (4, 4),
                "what clocks the local timestamp",
                &[(0, "the processor's clock"), (1, "the trace port's clock")],
            ),
            field("TXENA", (3, 3), "packets of the DWT are passed on", OFF_ON),
            field("SYNCENA", (2, 2), "synchronisation packets are made", OFF_ON),
            field("TSENA", (1, 1), "local timestamps are made", OFF_ON),
            field("ITMENA", (0, 0), "the unit is on", OFF_ON),
        ],
    },
];
