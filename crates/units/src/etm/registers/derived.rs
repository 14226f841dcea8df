//! Counters, sequencer, outputs, inputs, synchronisation and trace ID. (IHI 0014, 3.5.12 to
//! 3.5.14, 3.5.16, 3.5.17, 3.5.20, 3.5.22 and 3.5.23)

use super::control::EVENT;
use super::{AccessRule, Kind, State, since};
use crate::etm::version::Version as V;
use crate::register::Access;

pub(super) const RELOAD_VALUE: Kind = Kind::one(
    "ETMCNTRLDVR",
    0x050,
    AccessRule::Readable,
    V::V1_0,
    "reload value of a counter",
    "IHI 0014, 3.5.12",
    &[since(V::V1_0, "Value", 15, 0, "count", &[])],
)
.several(4, 1);

pub(super) const COUNT_ENABLE: Kind = Kind::one(
    "ETMCNTENR",
    0x054,
    AccessRule::Readable,
    V::V1_0,
    "event that enables a counter",
    "IHI 0014, 3.5.12",
    &[
        since(
            V::V1_0,
            "Source",
            17,
            17,
            "what enables the counter",
            &[(0, "it always counts"), (1, "the event")],
        )
        .until(V::V1_3),
        since(V::V2_0, "Source", 17, 17, "always 1: the event enables the counter", &[]),
        EVENT,
    ],
)
.several(4, 1);

pub(super) const RELOAD_EVENT: Kind = Kind::one(
    "ETMCNTRLDEVR",
    0x058,
    AccessRule::Readable,
    V::V1_0,
    "event that reloads a counter",
    "IHI 0014, 3.5.12",
    &[EVENT],
)
.several(4, 1);

pub(super) const COUNT: Kind = Kind::one(
    "ETMCNTVR",
    0x05c,
    AccessRule::WritableFrom31,
    V::V1_0,
    "value of a counter",
    "IHI 0014, 3.5.12",
    &[since(V::V1_0, "Value", 15, 0, "count", &[])],
)
.several(4, 1)
.holds(State::Counter);

const fn transition(name: &'static str, number: u16, about: &'static str) -> Kind {
    Kind::one(name, number, AccessRule::Readable, V::V1_0, about, "IHI 0014, 3.5.13", &[EVENT])
}

pub(super) const SEQUENCER_12: Kind =
    transition("ETMSQ12EVR", 0x060, "event that moves the sequencer from state 1 to state 2");
pub(super) const SEQUENCER_21: Kind =
    transition("ETMSQ21EVR", 0x061, "event that moves the sequencer from state 2 to state 1");
pub(super) const SEQUENCER_23: Kind =
    transition("ETMSQ23EVR", 0x062, "event that moves the sequencer from state 2 to state 3");
pub(super) const SEQUENCER_31: Kind =
    transition("ETMSQ31EVR", 0x063, "event that moves the sequencer from state 3 to state 1");
pub(super) const SEQUENCER_32: Kind =
    transition("ETMSQ32EVR", 0x064, "event that moves the sequencer from state 3 to state 2");
pub(super) const SEQUENCER_13: Kind =
    transition("ETMSQ13EVR", 0x065, "event that moves the sequencer from state 1 to state 3");

pub(super) const SEQUENCER_STATE: Kind = Kind::one(
    "ETMSQR",
    0x067,
    AccessRule::WritableFrom31,
    V::V1_0,
    "state of the sequencer",
    "IHI 0014, 3.5.13",
    &[since(
        V::V1_0,
        "State",
        1,
        0,
        "state",
        &[(0, "state 1"), (1, "state 2"), (2, "state 3"), (3, "reserved")],
    )],
)
.holds(State::Sequencer);

pub(super) const OUTPUT_EVENT: Kind = Kind::one(
    "ETMEXTOUTEVR",
    0x068,
    AccessRule::Readable,
    V::V1_0,
    "event of an external output",
    "IHI 0014, 3.5.14",
    &[EVENT],
)
.several(4, 1);

pub(super) const SPECIFIC_0: Kind = Kind::one(
    "ETMIMPSPEC0",
    0x070,
    AccessRule::Readable,
    V::V2_0,
    "IMPLEMENTATION SPECIFIC extensions",
    "IHI 0014, 3.5.16",
    &[
        since(V::V2_0, "Enable", 7, 4, "the extensions are enabled", &[(0, "no")]),
        since(V::V2_0, "Present", 3, 0, "there are extensions", &[(0, "no")]),
    ],
)
.reset_to(0xf0, 0);

pub(super) const SPECIFIC: Kind = Kind::one(
    "ETMIMPSPEC",
    0x071,
    AccessRule::Readable,
    V::V2_0,
    "IMPLEMENTATION SPECIFIC",
    "IHI 0014, 3.5.16",
    &[since(V::V2_0, "Value", 31, 0, "IMPLEMENTATION SPECIFIC", &[])],
)
.several(7, 1);

/// ETMSYNCFR. (Table 3-45)
pub const SYNC_FREQUENCY: Kind = Kind::one(
    "ETMSYNCFR",
    0x078,
    AccessRule::Fixed,
    V::V2_0,
    "interval of synchronisation; 1024 by default",
    "IHI 0014, 3.5.17",
    &[
        since(V::V2_0, "Frequency", 11, 0, "cycles", &[]).until(V::V3_0),
        since(V::V3_1, "Frequency", 11, 0, "bytes of trace", &[]),
    ],
)
.named(&["ETMSyncFreq"])
.reset_to(0xfff, 1024);

pub(super) const INPUT_SELECTION: Kind = Kind::one(
    "ETMEXTINSELR",
    0x07b,
    AccessRule::Readable,
    V::V3_1,
    "inputs that the extended external input selectors select",
    "IHI 0014, 3.5.20",
    &[
        since(V::V3_1, "Selector4", 31, 24, "number of the input", &[]),
        since(V::V3_1, "Selector3", 23, 16, "number of the input", &[]),
        since(V::V3_1, "Selector2", 15, 8, "number of the input", &[]),
        since(V::V3_1, "Selector1", 7, 0, "number of the input", &[]),
    ],
);

pub(super) const ICE_BEHAVIOUR: Kind = Kind::one(
    "ETMEIBCR",
    0x07d,
    AccessRule::Readable,
    V::V3_4,
    "sampling of the EmbeddedICE inputs",
    "IHI 0014, 3.5.22",
    &[since(V::V3_4, "Latch", 7, 0, "bit n: input n + 1 is held to the next sample", &[])],
);

pub(super) const TIMESTAMP_EVENT: Kind = Kind::one(
    "ETMTSEVR",
    0x07e,
    AccessRule::Always(Access::ReadWrite),
    V::V3_5,
    "timestamp event",
    "IHI 0014Q, 3.5",
    &[EVENT],
)
.of_later_issue();

/// ETMTRACEIDR. (Table 3-52)
pub const TRACE_ID: Kind = Kind::one(
    "ETMTRACEIDR",
    0x080,
    AccessRule::Always(Access::ReadWrite),
    V::V3_2,
    "the trace ID on the ATB",
    "IHI 0014, 3.5.23",
    &[since(V::V3_2, "TraceID", 6, 0, "trace ID", &[])],
)
.named(&["ETMTraceID"])
.reset_to(0x7f, 0);
