//! TraceEnable, FIFOFULL and ViewData. (IHI 0014, 3.5.7 to 3.5.9 and 3.5.21)

use super::control::EVENT;
use super::{AccessRule, Kind, row, since};
use crate::etm::version::Version;

const INCLUDE_OR_EXCLUDE: &[(u64, &str)] = &[(0, "include"), (1, "exclude")];

pub(super) const START_STOP: Kind = kind! {
    ETMTSSCR 0x018 Readable V1_2 "address comparators that start and stop tracing"
        "IHI 0014, 3.5.7" {
        V1_2: Stop[31:16] "bit n: address comparator n + 1 stops tracing";
        V1_2: Start[15:0] "bit n: address comparator n + 1 starts tracing";
    }
};

pub(super) const TRACE_ENABLE_2: Kind = kind! {
    ETMTECR2 0x01c Readable V1_2 "single address comparators of TraceEnable" "IHI 0014, 3.5.7" {
        V1_2: Comparators[15:0] "bit n: address comparator n + 1";
    }
};

pub(super) const TRACE_ENABLE_EVENT: Kind = kind! {
    ETMTEEVR 0x020 Readable V1_0 "TraceEnable event" "IHI 0014, 3.5.7" { EVENT; }
};

pub(super) const TRACE_ENABLE_1: Kind = kind! {
    ETMTECR1 0x024 Readable V1_0 "control of TraceEnable" "IHI 0014, 3.5.7" {
        V1_2: StartStop[25] "the start/stop block controls tracing" {0 "no", 1 "yes"};
        V1_0: Exclude[24] "use of the comparators" INCLUDE_OR_EXCLUDE;
        V1_0: MemoryMap[23:8] "bit n: memory map decode n + 1";
        V1_0: Ranges[7:0] "bit n: address range comparator n + 1";
    }
};

pub(super) const FIFOFULL_REGION: Kind = kind! {
    ETMFFRR 0x028 Readable V1_0 "regions in which FIFOFULL stalls the processor" "IHI 0014, 3.5.8" {
        V1_0: Exclude[24] "use of the comparators" INCLUDE_OR_EXCLUDE;
        V1_0: MemoryMap[23:8] "bit n: memory map decode n + 1";
        V1_0: Ranges[7:0] "bit n: address range comparator n + 1";
    }
};

pub(super) const FIFOFULL_LEVEL: Kind = kind! {
    ETMFFLR 0x02c ReadableFrom20 V1_0 "free bytes in the FIFO below which it is nearly full"
        "IHI 0014, 3.5.8" {
        V1_0: Level[7:0] "bytes";
    }
};

pub(super) const VIEW_DATA_EVENT: Kind = kind! {
    ETMVDEVR 0x030 Readable V1_0 "ViewData event" "IHI 0014, 3.5.9" { EVENT; }
};

pub(super) const VIEW_DATA_1: Kind = kind! {
    ETMVDCR1 0x034 Readable V1_0 "single address comparators of ViewData" "IHI 0014, 3.5.9" {
        V1_0: Exclude[31:16] "bit n: address comparator n + 1 excludes";
        V1_0: Include[15:0] "bit n: address comparator n + 1 includes";
    }
};

pub(super) const VIEW_DATA_2: Kind = kind! {
    ETMVDCR2 0x038 Readable V1_0 "memory map decodes of ViewData" "IHI 0014, 3.5.9" {
        V1_0: Exclude[31:16] "bit n: memory map decode n + 1 excludes";
        V1_0: Include[15:0] "bit n: memory map decode n + 1 includes";
    }
};

pub(super) const VIEW_DATA_3: Kind = kind! {
    ETMVDCR3 0x03c Readable V1_0 "address range comparators of ViewData" "IHI 0014, 3.5.9" {
        V1_0: ExcludeOnly[16] "mode" {0 "mixed: included and not excluded", 1 "exclude only"};
        V1_0: Exclude[15:8] "bit n: address range comparator n + 1 excludes";
        V1_0: Include[7:0] "bit n: address range comparator n + 1 includes";
    }
};

pub(super) const START_STOP_ICE: Kind = kind! {
    ETMTESSEICR 0x1f0 Readable V3_4 "EmbeddedICE inputs that start and stop tracing"
        "IHI 0014, 3.5.21" {
        V3_4: Stop[23:16] "bit n: EmbeddedICE input n + 1 stops tracing";
        V3_4: Start[7:0] "bit n: EmbeddedICE input n + 1 starts tracing";
    }
};
