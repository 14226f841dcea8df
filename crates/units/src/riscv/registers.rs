//! The registers of the components. (Trace Control Interface 1.0)

use tracewright_base::Field;

use crate::register::{Access, Register, field};

/// A row of a table of registers.
pub type Row = Register<()>;

const YES: &[(u64, &str)] = &[(0, "no"), (1, "yes")];

/// The actions of a trigger. ("Debug Trigger Actions")
pub const ACTIONS: &[(u64, &str)] =
    &[(0, "none"), (2, "trace on"), (3, "trace off"), (4, "notification")];

/// `match` of mcontrol.
const MATCHES: &[(u64, &str)] = &[
    (0, "equal"),
    (1, "in the naturally aligned range"),
    (2, "from it on"),
    (3, "below it"),
    (8, "not equal"),
    (9, "outside of the naturally aligned range"),
];

/// `trTsMode`.
pub const TIME_MODES: &[(u64, &str)] =
    &[(0, "none"), (1, "external"), (2, "internal system"), (3, "internal core"), (4, "shared")];

/// `trPibMode`. ("Allowed PIB Configurations")
pub const PIB_MODES: &[(u64, &str)] = &[
    (0, "off"),
    (4, "SWT Manchester"),
    (5, "SWT UART"),
    (8, "1 data signal"),
    (9, "2 data signals"),
    (10, "4 data signals"),
    (11, "8 data signals"),
    (12, "16 data signals"),
];

/// `tr??CompType`. ("Trace Components")
pub const TYPES: &[(u64, &str)] = &[
    (0x1, "trace encoder"),
    (0x8, "trace funnel"),
    (0x9, "trace RAM sink"),
    (0xa, "trace PIB sink"),
    (0xe, "trace ATB bridge"),
];

const INPUTS: &[(u64, &str)] = &[(0, "iaddr"), (1, "context"), (2, "tval"), (3, "daddr")];

const PRIMARY: &[(u64, &str)] =
    &[(0, "=="), (1, "!="), (2, "<"), (3, "<="), (4, ">"), (5, ">="), (6, "false"), (7, "true")];

const SECONDARY: &[(u64, &str)] = &[
    (0, "=="),
    (1, "!="),
    (2, "<"),
    (3, "<="),
    (4, ">"),
    (5, ">="),
    (6, "true, mask of the primary match"),
    (7, "true"),
];

const fn row(
    name: &'static str,
    about: &'static str,
    offset: u16,
    fields: &'static [Field],
    section: &'static str,
) -> Row {
    let (access, aliases) = (Access::ReadWrite, &[] as &[&str]);
    Register {
        name,
        aliases,
        about,
        offset: Some(offset),
        bits: 32,
        access,
        versions: (),
        fields,
        section,
    }
}

/// A control and status register of the processor.
const fn csr(name: &'static str, about: &'static str, fields: &'static [Field]) -> Row {
    let section = "RISC-V Debug Specification 1.0, Trigger Module";
    Register { offset: None, bits: 64, ..row(name, about, 0, fields, section) }
}

/// A register that is only read.
const fn read_only(
    name: &'static str,
    about: &'static str,
    offset: u16,
    fields: &'static [Field],
    section: &'static str,
) -> Row {
    Register { access: Access::ReadOnly, ..row(name, about, offset, fields, section) }
}

/// A row with other names: those of the pre-ratified interface, and of captures.
const fn or(aliases: &'static [&'static str], register: Row) -> Row {
    Register { aliases, ..register }
}

const ENCODER_SECTION: &str = "Trace Control Interface, Trace Encoder Control Interface";
const TIME_SECTION: &str = "Trace Control Interface, Timestamp Unit";
const TRIGGER_SECTION: &str = "Trace Control Interface, Trace Encoder Triggers";
const FILTER_SECTION: &str = "Trace Control Interface, Trace Encoder Filter Registers";
const RAM_SECTION: &str = "Trace Control Interface, Trace RAM Sink";
const FUNNEL_SECTION: &str = "Trace Control Interface, Trace Funnel";
const PIB_SECTION: &str = "Trace Control Interface, Trace PIB Sink";
const ATB_SECTION: &str = "Trace Control Interface, Trace ATB Bridge";

const TIME_CONTROL: Row = row(
    "trTsControl",
    "timestamp control",
    0x040,
    &[
        field("trTsWidth", 29, 24, "bits of a timestamp", &[]),
        field("vendor", 23, 16, "which messages have a timestamp", &[]),
        field("trTsEnable", 15, 15, "timestamps in messages", YES),
        field(
            "trTsPrescale",
            9,
            8,
            "division of the clock",
            &[(0, "1"), (1, "4"), (2, "16"), (3, "64")],
        ),
        field("trTsMode", 6, 4, "source of the time", TIME_MODES),
        field("trTsRunInDebug", 3, 3, "the counter runs in debug mode", YES),
        field("trTsReset", 2, 2, "resets the counter", YES),
        field("trTsCount", 1, 1, "the counter runs", YES),
        field("trTsActive", 0, 0, "released from reset", YES),
    ],
    TIME_SECTION,
);
const TIME_LOW: Row =
    read_only("trTsCounterLow", "timestamp counter, bits 31 to 0", 0x048, &[], TIME_SECTION);
const TIME_HIGH: Row =
    read_only("trTsCounterHigh", "timestamp counter, bits 63 to 32", 0x04c, &[], TIME_SECTION);

/// `trTeControl`.
pub const CONTROL: Row = or(
    &["tr_te_control"],
    row(
        "trTeControl",
        "control of the encoder",
        0x000,
        &[
            field(
                "trTeFormat",
                26,
                24,
                "format",
                &[(0, "E-Trace"), (1, "N-Trace"), (7, "of the vendor")],
            ),
            field("trTeInstSyncMax", 23, 20, "period of synchronisation is 2^(n + 4)", &[]),
            field(
                "trTeInstSyncMode",
                17,
                16,
                "unit of the period",
                &[(0, "off"), (1, "messages"), (2, "cycles"), (3, "half words")],
            ),
            field("trTeInhibitSrc", 15, 15, "messages have no source", YES),
            field("trTeInstStallEna", 13, 13, "the hart waits in place of a loss", YES),
            field("trTeInstStallOrOverflow", 12, 12, "trace was lost, or the hart waited", YES),
            field("trTeInstTrigEnable", 11, 11, "triggers start and stop the trace", YES),
            field("trTeContext", 9, 9, "context and privilege are traced", YES),
            field(
                "trTeInstMode",
                6,
                4,
                "mode of the instruction trace",
                &[
                    (0, "off"),
                    (3, "branch trace (BTM)"),
                    (6, "branch history (HTM)"),
                    (7, "of the vendor"),
                ],
            ),
            field("trTeEmpty", 3, 3, "all trace has been emitted", YES),
            field("trTeInstTracing", 2, 2, "instructions are traced", YES),
            field("trTeEnable", 1, 1, "enabled", YES),
            field("trTeActive", 0, 0, "released from reset", YES),
        ],
        ENCODER_SECTION,
    ),
);

/// `trTeInstFeatures`.
pub const INST_FEATURES: Row = or(
    &["tr_te_inst_features"],
    row(
        "trTeInstFeatures",
        "options of the instruction trace, and source",
        0x008,
        &[
            field("trTeSrcBits", 31, 28, "bits of the source in a message", &[]),
            field("trTeSrcID", 27, 16, "source of the messages", &[]),
            field("trTeInstExtendAddrMSB", 10, 10, "equal top bits of addresses are left out", YES),
            field("trTeInstEnAllJumps", 9, 9, "direct jumps are reported as taken branches", YES),
            field("trTeInstEnRepeatedHistory", 8, 8, "repeated history is counted", YES),
            field(
                "trTeInstImplicitReturnMode",
                7,
                6,
                "comparison of implicit returns",
                &[
                    (0, "not reported"),
                    (1, "counter without comparison"),
                    (2, "partial address"),
                    (3, "full address"),
                ],
            ),
            field("trTeInstEnJumpTargetCache", 5, 5, "jump target cache", YES),
            field("trTeInstEnBranchPrediction", 4, 4, "branch prediction", YES),
            field("trTeInstEnImplicitReturn", 3, 3, "returns to the caller are not reported", YES),
            field("trTeInstEnSequentialJump", 2, 2, "sequential jumps are not reported", YES),
            field("trTeInstNoTrapAddr", 1, 1, "traps have no handler address", YES),
            field("trTeInstNoAddrDiff", 0, 0, "addresses are always full", YES),
        ],
        ENCODER_SECTION,
    ),
);

/// The registers of an encoder, without those of filters and comparators.
pub static ENCODER: &[Row] = &[
    CONTROL,
    read_only(
        "trTeImpl",
        "implementation of the encoder",
        0x004,
        &[
            field("trTeProtocolMinor", 23, 20, "minor version of the protocol", &[]),
            field("trTeProtocolMajor", 19, 16, "major version of the protocol", &[]),
            field("trTeCompType", 11, 8, "component", TYPES),
            field("trTeVerMinor", 7, 4, "minor version of the component", &[]),
            field("trTeVerMajor", 3, 0, "major version of the component", &[]),
        ],
        ENCODER_SECTION,
    ),
    INST_FEATURES,
    row(
        "trTeInstFilters",
        "filters of the instruction trace",
        0x00c,
        &[field("trTeInstFilters", 15, 0, "bit n: filter n selects", &[])],
        ENCODER_SECTION,
    ),
    row(
        "trTeDataControl",
        "control of the data trace",
        0x010,
        &[
            field(
                "trTeDataAddrCompress",
                19,
                18,
                "compression of data addresses",
                &[(0, "none"), (1, "XOR"), (2, "difference"), (3, "of the protocol")],
            ),
            field("trTeDataNoAddr", 17, 17, "data trace without addresses", YES),
            field("trTeDataNoValue", 16, 16, "data trace without values", YES),
            field("trTeDataDropEna", 6, 6, "data trace is dropped before an overflow", YES),
            field("trTeDataDrop", 5, 5, "data trace was dropped", YES),
            field("trTeDataStallEna", 4, 4, "the hart waits in place of a loss", YES),
            field("trTeDataStallOrOverflow", 3, 3, "data trace was lost, or the hart waited", YES),
            field("trTeDataTrigEnable", 2, 2, "triggers start and stop the data trace", YES),
            field("trTeDataTracing", 1, 1, "data accesses are traced", YES),
            field("trTeDataImplemented", 0, 0, "data trace is implemented", YES),
        ],
        ENCODER_SECTION,
    ),
    row(
        "trTeDataFilters",
        "filters of the data trace",
        0x01c,
        &[field("trTeDataFilters", 15, 0, "bit n: filter n selects", &[])],
        ENCODER_SECTION,
    ),
    TIME_CONTROL,
    TIME_LOW,
    TIME_HIGH,
    row("trTeTrigDbgControl", "debug triggers, of the vendor", 0x050, &[], TRIGGER_SECTION),
    row(
        "trTeTrigExtInControl",
        "actions of the external trigger inputs",
        0x054,
        &[
            field("trTeTrigExtInAction7", 31, 28, "action of input 7", ACTIONS),
            field("trTeTrigExtInAction6", 27, 24, "action of input 6", ACTIONS),
            field("trTeTrigExtInAction5", 23, 20, "action of input 5", ACTIONS),
            field("trTeTrigExtInAction4", 19, 16, "action of input 4", ACTIONS),
            field("trTeTrigExtInAction3", 15, 12, "action of input 3", ACTIONS),
            field("trTeTrigExtInAction2", 11, 8, "action of input 2", ACTIONS),
            field("trTeTrigExtInAction1", 7, 4, "action of input 1", ACTIONS),
            field("trTeTrigExtInAction0", 3, 0, "action of input 0", ACTIONS),
        ],
        TRIGGER_SECTION,
    ),
    row(
        "trTeTrigExtOutControl",
        "events of the external trigger outputs: 4 bits of each output; bit 0 start, bit 1 stop",
        0x058,
        &[],
        TRIGGER_SECTION,
    ),
];

/// The registers of trigger 0 of the processor, which fires the actions of the encoder. (Debug
/// Specification 1.0, mcontrol and mcontrol6)
pub static TRIGGER: &[Row] = &[
    csr(
        "tdata1",
        "trigger of the processor: type, event and action",
        &[
            field("type", 63, 16, "type in the top 4 bits of XLEN, and what depends on it", &[]),
            field("action", 15, 12, "action", ACTIONS),
            field("chain", 11, 11, "fires with the next trigger only", YES),
            field("match", 10, 7, "comparison", MATCHES),
            field("m", 6, 6, "in machine mode", YES),
            field("uncertainen", 5, 5, "fires where a match is uncertain (mcontrol6)", YES),
            field("s", 4, 4, "in supervisor mode", YES),
            field("u", 3, 3, "in user mode", YES),
            field("execute", 2, 2, "instructions", YES),
            field("store", 1, 1, "stores", YES),
            field("load", 0, 0, "loads", YES),
        ],
    ),
    csr("tdata2", "address with which the trigger compares", &[]),
];

/// The registers of filter 0. Those of filter n are 0x20 n higher.
pub static FILTER: &[Row] = &[
    row(
        "Control",
        "control of the filter",
        0x400,
        &[
            field("trTeFilterMatchDsize", 25, 25, "matches data sizes", YES),
            field("trTeFilterMatchDtype", 24, 24, "matches data access types", YES),
            field("trTeFilterMatchImpdef", 16, 16, "matches sideband signals", YES),
            field("trTeFilterComp3", 15, 13, "third comparator", &[]),
            field("trTeFilterMatchComp3", 12, 12, "matches the third comparator", YES),
            field("trTeFilterComp2", 11, 9, "second comparator", &[]),
            field("trTeFilterMatchComp2", 8, 8, "matches the second comparator", YES),
            field("trTeFilterComp1", 7, 5, "first comparator", &[]),
            field("trTeFilterMatchComp1", 4, 4, "matches the first comparator", YES),
            field("trTeFilterMatchInterrupt", 3, 3, "matches interrupts or exceptions", YES),
            field("trTeFilterMatchEcause", 2, 2, "matches causes", YES),
            field("trTeFilterMatchPrivilege", 1, 1, "matches privilege levels", YES),
            field("trTeFilterEnable", 0, 0, "enabled", YES),
        ],
        FILTER_SECTION,
    ),
    row(
        "MatchInst",
        "privilege levels, and whether the trap is an interrupt",
        0x404,
        &[
            field("trTeFilterMatchValueInterrupt", 8, 8, "the trap is an interrupt", YES),
            field("trTeFilterMatchChoicePrivilege", 7, 0, "bit n: level n passes", &[]),
        ],
        FILTER_SECTION,
    ),
    row("MatchEcauseLow", "causes 31 to 0 that pass", 0x408, &[], FILTER_SECTION),
    row("MatchEcauseHigh", "causes 63 to 32 that pass", 0x40c, &[], FILTER_SECTION),
    row("MatchValueImpdef", "value of the sideband signals", 0x410, &[], FILTER_SECTION),
    row("MatchMaskImpdef", "mask of the sideband signals", 0x414, &[], FILTER_SECTION),
    row(
        "MatchData",
        "data accesses that pass",
        0x418,
        &[
            field("trTeFilterMatchChoiceDsize", 23, 16, "bit n: size n passes", &[]),
            field("trTeFilterMatchChoiceDtype", 15, 0, "bit n: type n passes", &[]),
        ],
        FILTER_SECTION,
    ),
];

/// The registers of comparator 0. Those of comparator n are 0x20 n higher.
pub static COMPARATOR: &[Row] = &[
    row(
        "Control",
        "control of the comparator",
        0x600,
        &[
            field("trTeCompSNotify", 15, 15, "a secondary match is reported", YES),
            field("trTeCompPNotify", 14, 14, "a primary match is reported", YES),
            field(
                "trTeCompMatchMode",
                13,
                12,
                "combination",
                &[(0, "P"), (1, "P and S"), (2, "not (P and S)"), (3, "from P to S")],
            ),
            field("trTeCompSFunction", 10, 8, "secondary relation", SECONDARY),
            field("trTeCompPFunction", 6, 4, "primary relation", PRIMARY),
            field("trTeCompSInput", 3, 2, "secondary input", INPUTS),
            field("trTeCompPInput", 1, 0, "primary input", INPUTS),
        ],
        FILTER_SECTION,
    ),
    row("PMatchLow", "primary value, bits 31 to 0", 0x610, &[], FILTER_SECTION),
    row("PMatchHigh", "primary value, bits 63 to 32", 0x614, &[], FILTER_SECTION),
    row("SMatchLow", "secondary value, bits 31 to 0", 0x618, &[], FILTER_SECTION),
    row("SMatchHigh", "secondary value, bits 63 to 32", 0x61c, &[], FILTER_SECTION),
];

/// The registers of a funnel.
pub static FUNNEL: &[Row] = &[
    row(
        "trFunnelControl",
        "control of the funnel",
        0x000,
        &[
            field("trFunnelEmpty", 3, 3, "all trace has been emitted", YES),
            field("trFunnelEnable", 1, 1, "enabled", YES),
            field("trFunnelActive", 0, 0, "released from reset", YES),
        ],
        FUNNEL_SECTION,
    ),
    read_only(
        "trFunnelImpl",
        "implementation of the funnel",
        0x004,
        &[
            field("trFunnelCompType", 11, 8, "component", TYPES),
            field("trFunnelVerMinor", 7, 4, "minor version", &[]),
            field("trFunnelVerMajor", 3, 0, "major version", &[]),
        ],
        FUNNEL_SECTION,
    ),
    row(
        "trFunnelDisInput",
        "disabled inputs",
        0x008,
        &[field("trFunnelDisInput", 15, 0, "bit n: input n is disabled", &[])],
        FUNNEL_SECTION,
    ),
    TIME_CONTROL,
    TIME_LOW,
    TIME_HIGH,
];

/// The registers of a RAM sink.
pub static RAM: &[Row] = &[
    row(
        "trRamControl",
        "control of the RAM sink",
        0x000,
        &[
            field("trRamAsyncFreq", 14, 12, "frequency of alignment packets, 0 is none", &[]),
            field(
                "trRamMemFormat",
                10,
                9,
                "format of the memory",
                &[(0, "bytes"), (3, "of the vendor")],
            ),
            field("trRamStopOnWrap", 8, 8, "storing ends when the buffer is full", YES),
            field("trRamMode", 4, 4, "memory", &[(0, "SRAM"), (1, "system memory")]),
            field("trRamEmpty", 3, 3, "all trace has been stored", YES),
            field("trRamEnable", 1, 1, "enabled", YES),
            field("trRamActive", 0, 0, "released from reset", YES),
        ],
        RAM_SECTION,
    ),
    read_only(
        "trRamImpl",
        "implementation of the RAM sink",
        0x004,
        &[
            field("trRamHasSMEM", 13, 13, "supports system memory", YES),
            field("trRamHasSRAM", 12, 12, "supports SRAM", YES),
            field("trRamCompType", 11, 8, "component", TYPES),
            field("trRamVerMinor", 7, 4, "minor version", &[]),
            field("trRamVerMajor", 3, 0, "major version", &[]),
        ],
        RAM_SECTION,
    ),
    or(&["teSinkBase"], row("trRamStartLow", "start, bits 31 to 0", 0x010, &[], RAM_SECTION)),
    or(&["teSinkBaseHigh"], row("trRamStartHigh", "start, bits 63 to 32", 0x014, &[], RAM_SECTION)),
    or(&["teSinkLimit"], row("trRamLimitLow", "last word, bits 31 to 0", 0x018, &[], RAM_SECTION)),
    row("trRamLimitHigh", "last word, bits 63 to 32", 0x01c, &[], RAM_SECTION),
    or(
        &["teSinkWP"],
        row(
            "trRamWPLow",
            "write pointer, bits 31 to 0",
            0x020,
            &[
                field("trRamWPLow", 31, 2, "address of the next word, divided by 4", &[]),
                field("trRamWrap", 0, 0, "the buffer has wrapped", YES),
            ],
            RAM_SECTION,
        ),
    ),
    row("trRamWPHigh", "write pointer, bits 63 to 32", 0x024, &[], RAM_SECTION),
    or(&["teSinkRP"], row("trRamRPLow", "read pointer, bits 31 to 0", 0x028, &[], RAM_SECTION)),
    row("trRamRPHigh", "read pointer, bits 63 to 32", 0x02c, &[], RAM_SECTION),
    or(&["teSinkData"], row("trRamData", "the word at the read pointer", 0x040, &[], RAM_SECTION)),
];

/// The registers of a PIB.
pub static PIB: &[Row] = &[
    row(
        "trPibControl",
        "control of the PIB",
        0x000,
        &[
            field("trPibDivider", 31, 16, "division of the clock, minus 1", &[]),
            field("trPibAsyncFreq", 14, 12, "frequency of alignment packets, 0 is none", &[]),
            field("trPibCalibrate", 9, 9, "the calibration pattern is sent", YES),
            field("trPibClkCenter", 8, 8, "clock edges in the middle of a bit", YES),
            field("trPibMode", 7, 4, "pins", PIB_MODES),
            field("trPibEmpty", 3, 3, "all trace has been sent", YES),
            field("trPibEnable", 1, 1, "enabled", YES),
            field("trPibActive", 0, 0, "released from reset", YES),
        ],
        PIB_SECTION,
    ),
    read_only(
        "trPibImpl",
        "implementation of the PIB",
        0x004,
        &[
            field("trPibCompType", 11, 8, "component", TYPES),
            field("trPibVerMinor", 7, 4, "minor version", &[]),
            field("trPibVerMajor", 3, 0, "major version", &[]),
        ],
        PIB_SECTION,
    ),
];

/// The registers of an ATB bridge.
pub static ATB: &[Row] = &[
    row(
        "trAtbBridgeControl",
        "control of the ATB bridge",
        0x000,
        &[
            field("trAtbBridgeID", 14, 8, "trace ID on the ATB", &[]),
            field("trAtbBridgeEmpty", 3, 3, "all trace has been emitted", YES),
            field("trAtbBridgeEnable", 1, 1, "enabled", YES),
            field("trAtbBridgeActive", 0, 0, "released from reset", YES),
        ],
        ATB_SECTION,
    ),
    read_only(
        "trAtbBridgeImpl",
        "implementation of the ATB bridge",
        0x004,
        &[
            field("trAtbBridgeAsyncFreq", 14, 12, "frequency of alignment packets, 0 is none", &[]),
            field("trAtbBridgeCompType", 11, 8, "component", TYPES),
            field("trAtbBridgeVerMinor", 7, 4, "minor version", &[]),
            field("trAtbBridgeVerMajor", 3, 0, "major version", &[]),
        ],
        ATB_SECTION,
    ),
];
