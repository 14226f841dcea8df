//! What the registers of an STM say.

use tracewright_base::{Field, Register};

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

const fn field(
    name: &'static str,
    (high, low): (u8, u8),
    about: &'static str,
    values: &'static [(u64, &'static str)],
) -> Field {
    Field { name, high, low, about, values }
}

const fn register(
    name: &'static str,
    aliases: &'static [&'static str],
    about: &'static str,
    fields: &'static [Field],
) -> Register {
    Register { name, aliases, about, required: false, fields }
}

/// The registers of an STM, in the order of their addresses. (Arm CoreSight System Trace Macrocell
/// TRM, "Register summary")
pub(super) const REGISTERS: &[Register] = &[
    register(
        "STMHEMASTR",
        &["HWEV_MAST"],
        "Hardware Event Master Number Register",
        &[field("MASTER", (15, 0), "the master that hardware events are written as", &[])],
    ),
    register(
        "STMTCSR",
        &["STM_TCSR", "CONTROL_REGISTER"],
        "Trace Control and Status Register",
        &[
            field("BUSY", (23, 23), "the unit has trace that it has not sent", NO_YES),
            field("TRACEID", (22, 16), "trace id (ATB id)", &[]),
            field(
                "COMPEN",
                (5, 5),
                "data is compressed to the smallest packet that holds it",
                OFF_ON,
            ),
            field("HWTEN", (3, 3), "hardware events have timestamps", OFF_ON),
            field("SYNCEN", (2, 2), "synchronisation packets are made", OFF_ON),
            field("TSEN", (1, 1), "timestamps are made where they are asked for", OFF_ON),
            field("EN", (0, 0), "the unit is on", OFF_ON),
        ],
    ),
    register(
        "STMTSFREQR",
        &["STM_TSFREQR"],
        "Timestamp Frequency Register",
        &[field(
            "FREQ",
            (31, 0),
            "frequency of the timestamp clock in hertz, as FREQ packets say",
            &[],
        )],
    ),
    register(
        "STMSYNCR",
        &["STM_SYNCR"],
        "Synchronization Control Register",
        &[
            field(
                "MODE",
                (12, 12),
                "how COUNT is read",
                &[
                    (0, "bytes between synchronisations"),
                    (1, "the power of two of that, bits [11:7]"),
                ],
            ),
            field("COUNT", (11, 3), "bytes between synchronisation packets; 0 for none", &[]),
        ],
    ),
    register(
        "STMFEAT1R",
        &["STMSPFEAT1R", "STM_FEAT1R"],
        "Features 1 Register",
        &[
            field("SWOEN", (23, 22), "whether software can choose the trace port's protocol", &[]),
            field("SYNCEN", (21, 20), "whether STMTCSR.SYNCEN can be written", &[]),
            field("HWTEN", (19, 18), "whether STMTCSR.HWTEN can be written", &[]),
            field("TSPRESCALE", (17, 16), "whether the timestamp has a prescaler", &[]),
            field("TRIGCTL", (15, 14), "how triggers can be asked for", &[]),
            field(
                "TRACEBUS",
                (13, 10),
                "the trace bus",
                &[(1, "ATB with a trace id and triggers")],
            ),
            field("SYNC", (9, 8), "whether STMSYNCR is there", &[]),
            field("FORCETS", (7, 7), "a timestamp can be asked for with the next packet", NO_YES),
            field("TSFREQ", (6, 6), "STMTSFREQR can be written", NO_YES),
            field("TS", (5, 4), "timestamps", &[(0, "differences"), (1, "absolute")]),
            field("PROT", (3, 0), "the protocol", &[(1, "STPv2")]),
        ],
    ),
    register(
        "STMFEAT2R",
        &["STMSPFEAT2R", "STM_FEAT2R"],
        "Features 2 Register",
        &[
            field(
                "SPTYPE",
                (17, 16),
                "stimulus ports",
                &[(0, "basic"), (1, "extended"), (2, "basic and extended")],
            ),
            field("DSIZE", (15, 12), "the widest data", &[(0, "32 bits"), (1, "64 bits")]),
            field("SPTRTYPE", (10, 9), "how a write is made to be in trace", &[]),
            field("PRIVMASK", (8, 7), "whether ports can be kept from unprivileged software", &[]),
            field("SPOVERRIDE", (6, 6), "the kind of a write can be overridden", NO_YES),
            field("SPCOMP", (5, 4), "whether data can be compressed", &[]),
            field("SPER", (2, 2), "ports can be enabled one by one", &[(0, "yes"), (1, "no")]),
            field("SPTER", (1, 0), "whether a port can trigger", &[]),
        ],
    ),
    register(
        "STMFEAT3R",
        &["STMSPFEAT3R", "STM_FEAT3R"],
        "Features 3 Register",
        &[field("NUMMAST", (6, 0), "the highest master number", &[])],
    ),
    register(
        "STMDEVID",
        &["STM_DEVID"],
        "Device Configuration Register",
        &[field("NUMSP", (16, 0), "how many stimulus ports there are", &[])],
    ),
];
