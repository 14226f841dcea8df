//! Counters, sequencer, outputs, inputs, synchronisation and trace ID. (IHI 0014, 3.5.12 to
//! 3.5.14, 3.5.16, 3.5.17, 3.5.20, 3.5.22 and 3.5.23)

use super::control::EVENT;
use super::{Access, AccessRule, Kind, State, row, since};
use crate::etm::version::Version;

pub(super) const RELOAD_VALUE: Kind = kind! {
    ETMCNTRLDVR 0x140 Readable V1_0 "reload value of a counter" "IHI 0014, 3.5.12" {
        V1_0: Value[15:0] "count";
    }
}
.several(4, 1);

pub(super) const COUNT_ENABLE: Kind = kind! {
    ETMCNTENR 0x150 Readable V1_0 "event that enables a counter" "IHI 0014, 3.5.12" {
        V1_0-V1_3: Source[17] "what enables the counter" {0 "it always counts", 1 "the event"};
        V2_0: Source[17] "always 1: the event enables the counter";
        EVENT;
    }
}
.several(4, 1);

pub(super) const RELOAD_EVENT: Kind = kind! {
    ETMCNTRLDEVR 0x160 Readable V1_0 "event that reloads a counter" "IHI 0014, 3.5.12" { EVENT; }
}
.several(4, 1);

pub(super) const COUNT: Kind = kind! {
    ETMCNTVR 0x170 WritableFrom31 V1_0 "value of a counter" "IHI 0014, 3.5.12" {
        V1_0: Value[15:0] "count";
    }
}
.several(4, 1)
.holds(State::Counter);

pub(super) const SEQUENCER_12: Kind = kind! {
    ETMSQ12EVR 0x180 Readable V1_0 "event that moves the sequencer from state 1 to state 2"
        "IHI 0014, 3.5.13" {
        EVENT;
    }
};
pub(super) const SEQUENCER_21: Kind = kind! {
    ETMSQ21EVR 0x184 Readable V1_0 "event that moves the sequencer from state 2 to state 1"
        "IHI 0014, 3.5.13" {
        EVENT;
    }
};
pub(super) const SEQUENCER_23: Kind = kind! {
    ETMSQ23EVR 0x188 Readable V1_0 "event that moves the sequencer from state 2 to state 3"
        "IHI 0014, 3.5.13" {
        EVENT;
    }
};
pub(super) const SEQUENCER_31: Kind = kind! {
    ETMSQ31EVR 0x18c Readable V1_0 "event that moves the sequencer from state 3 to state 1"
        "IHI 0014, 3.5.13" {
        EVENT;
    }
};
pub(super) const SEQUENCER_32: Kind = kind! {
    ETMSQ32EVR 0x190 Readable V1_0 "event that moves the sequencer from state 3 to state 2"
        "IHI 0014, 3.5.13" {
        EVENT;
    }
};
pub(super) const SEQUENCER_13: Kind = kind! {
    ETMSQ13EVR 0x194 Readable V1_0 "event that moves the sequencer from state 1 to state 3"
        "IHI 0014, 3.5.13" {
        EVENT;
    }
};

pub(super) const SEQUENCER_STATE: Kind = kind! {
    ETMSQR 0x19c WritableFrom31 V1_0 "state of the sequencer" "IHI 0014, 3.5.13" {
        V1_0: State[1:0] "state" {0 "state 1", 1 "state 2", 2 "state 3", 3 "reserved"};
    }
}
.holds(State::Sequencer);

pub(super) const OUTPUT_EVENT: Kind = kind! {
    ETMEXTOUTEVR 0x1a0 Readable V1_0 "event of an external output" "IHI 0014, 3.5.14" { EVENT; }
}
.several(4, 1);

pub(super) const SPECIFIC_0: Kind = kind! {
    ETMIMPSPEC0 0x1c0 Readable V2_0 "IMPLEMENTATION SPECIFIC extensions" "IHI 0014, 3.5.16" {
        V2_0: Enable[7:4] "the extensions are enabled" {0 "no"};
        V2_0: Present[3:0] "there are extensions" {0 "no"};
    }
}
.reset_to(0xf0, 0);

pub(super) const SPECIFIC: Kind = kind! {
    ETMIMPSPEC 0x1c4 Readable V2_0 "IMPLEMENTATION SPECIFIC" "IHI 0014, 3.5.16" {
        V2_0: Value[31:0] "IMPLEMENTATION SPECIFIC";
    }
}
.several(7, 1);

/// ETMSYNCFR. (Table 3-45)
pub const SYNC_FREQUENCY: Kind = kind! {
    ETMSYNCFR | ETMSyncFreq 0x1e0 Fixed V2_0 "interval of synchronisation; 1024 by default"
        "IHI 0014, 3.5.17" {
        V2_0-V3_0: Frequency[11:0] "cycles";
        V3_1: Frequency[11:0] "bytes of trace";
    }
}
.reset_to(0xfff, 1024);

pub(super) const INPUT_SELECTION: Kind = kind! {
    ETMEXTINSELR 0x1ec Readable V3_1 "inputs that the extended external input selectors select"
        "IHI 0014, 3.5.20" {
        V3_1: Selector4[31:24] "number of the input";
        V3_1: Selector3[23:16] "number of the input";
        V3_1: Selector2[15:8] "number of the input";
        V3_1: Selector1[7:0] "number of the input";
    }
};

pub(super) const ICE_BEHAVIOUR: Kind = kind! {
    ETMEIBCR 0x1f4 Readable V3_4 "sampling of the EmbeddedICE inputs" "IHI 0014, 3.5.22" {
        V3_4: Latch[7:0] "bit n: input n + 1 is held to the next sample";
    }
};

pub(super) const TIMESTAMP_EVENT: Kind = kind! {
    ETMTSEVR 0x1f8 RW V3_5 "timestamp event" "IHI 0014Q, 3.5" { EVENT; }
}
.of_later_issue();

/// ETMTRACEIDR. (Table 3-52)
pub const TRACE_ID: Kind = kind! {
    ETMTRACEIDR | ETMTraceID 0x200 RW V3_2 "the trace ID on the ATB" "IHI 0014, 3.5.23" {
        V3_2: TraceID[6:0] "trace ID";
    }
}
.reset_to(0x7f, 0);
