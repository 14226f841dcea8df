//! TraceEnable, FIFOFULL and ViewData. (IHI 0014, 3.5.7 to 3.5.9 and 3.5.21)

use super::control::EVENT;
use super::{AccessRule, Kind, since};
use crate::etm::version::Version as V;

const INCLUDE_OR_EXCLUDE: &[(u64, &str)] = &[(0, "include"), (1, "exclude")];

pub(super) const START_STOP: Kind = Kind::one(
    "ETMTSSCR",
    0x006,
    AccessRule::Readable,
    V::V1_2,
    "address comparators that start and stop tracing",
    "IHI 0014, 3.5.7",
    &[
        since(V::V1_2, "Stop", 31, 16, "bit n: address comparator n + 1 stops tracing", &[]),
        since(V::V1_2, "Start", 15, 0, "bit n: address comparator n + 1 starts tracing", &[]),
    ],
);

pub(super) const TRACE_ENABLE_2: Kind = Kind::one(
    "ETMTECR2",
    0x007,
    AccessRule::Readable,
    V::V1_2,
    "single address comparators of TraceEnable",
    "IHI 0014, 3.5.7",
    &[since(V::V1_2, "Comparators", 15, 0, "bit n: address comparator n + 1", &[])],
);

pub(super) const TRACE_ENABLE_EVENT: Kind = Kind::one(
    "ETMTEEVR",
    0x008,
    AccessRule::Readable,
    V::V1_0,
    "TraceEnable event",
    "IHI 0014, 3.5.7",
    &[EVENT],
);

pub(super) const TRACE_ENABLE_1: Kind = Kind::one(
    "ETMTECR1",
    0x009,
    AccessRule::Readable,
    V::V1_0,
    "control of TraceEnable",
    "IHI 0014, 3.5.7",
    &[
        since(
            V::V1_2,
            "StartStop",
            25,
            25,
            "the start/stop block controls tracing",
            &[(0, "no"), (1, "yes")],
        ),
        since(V::V1_0, "Exclude", 24, 24, "use of the comparators", INCLUDE_OR_EXCLUDE),
        since(V::V1_0, "MemoryMap", 23, 8, "bit n: memory map decode n + 1", &[]),
        since(V::V1_0, "Ranges", 7, 0, "bit n: address range comparator n + 1", &[]),
    ],
);

pub(super) const FIFOFULL_REGION: Kind = Kind::one(
    "ETMFFRR",
    0x00a,
    AccessRule::Readable,
    V::V1_0,
    "regions in which FIFOFULL stalls the processor",
    "IHI 0014, 3.5.8",
    &[
        since(V::V1_0, "Exclude", 24, 24, "use of the comparators", INCLUDE_OR_EXCLUDE),
        since(V::V1_0, "MemoryMap", 23, 8, "bit n: memory map decode n + 1", &[]),
        since(V::V1_0, "Ranges", 7, 0, "bit n: address range comparator n + 1", &[]),
    ],
);

pub(super) const FIFOFULL_LEVEL: Kind = Kind::one(
    "ETMFFLR",
    0x00b,
    AccessRule::ReadableFrom20,
    V::V1_0,
    "free bytes in the FIFO below which it is nearly full",
    "IHI 0014, 3.5.8",
    &[since(V::V1_0, "Level", 7, 0, "bytes", &[])],
);

pub(super) const VIEW_DATA_EVENT: Kind = Kind::one(
    "ETMVDEVR",
    0x00c,
    AccessRule::Readable,
    V::V1_0,
    "ViewData event",
    "IHI 0014, 3.5.9",
    &[EVENT],
);

pub(super) const VIEW_DATA_1: Kind = Kind::one(
    "ETMVDCR1",
    0x00d,
    AccessRule::Readable,
    V::V1_0,
    "single address comparators of ViewData",
    "IHI 0014, 3.5.9",
    &[
        since(V::V1_0, "Exclude", 31, 16, "bit n: address comparator n + 1 excludes", &[]),
        since(V::V1_0, "Include", 15, 0, "bit n: address comparator n + 1 includes", &[]),
    ],
);

pub(super) const VIEW_DATA_2: Kind = Kind::one(
    "ETMVDCR2",
    0x00e,
    AccessRule::Readable,
    V::V1_0,
    "memory map decodes of ViewData",
    "IHI 0014, 3.5.9",
    &[
        since(V::V1_0, "Exclude", 31, 16, "bit n: memory map decode n + 1 excludes", &[]),
        since(V::V1_0, "Include", 15, 0, "bit n: memory map decode n + 1 includes", &[]),
    ],
);

pub(super) const VIEW_DATA_3: Kind = Kind::one(
    "ETMVDCR3",
    0x00f,
    AccessRule::Readable,
    V::V1_0,
    "address range comparators of ViewData",
    "IHI 0014, 3.5.9",
    &[
        since(
            V::V1_0,
            "ExcludeOnly",
            16,
            16,
            "mode",
            &[(0, "mixed: included and not excluded"), (1, "exclude only")],
        ),
        since(V::V1_0, "Exclude", 15, 8, "bit n: address range comparator n + 1 excludes", &[]),
        since(V::V1_0, "Include", 7, 0, "bit n: address range comparator n + 1 includes", &[]),
    ],
);

pub(super) const START_STOP_ICE: Kind = Kind::one(
    "ETMTESSEICR",
    0x07c,
    AccessRule::Readable,
    V::V3_4,
    "EmbeddedICE inputs that start and stop tracing",
    "IHI 0014, 3.5.21",
    &[
        since(V::V3_4, "Stop", 23, 16, "bit n: EmbeddedICE input n + 1 stops tracing", &[]),
        since(V::V3_4, "Start", 7, 0, "bit n: EmbeddedICE input n + 1 starts tracing", &[]),
    ],
);
