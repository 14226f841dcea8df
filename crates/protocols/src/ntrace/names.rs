//! Names of messages and of the values of their fields.

/// RCODE: RDATA are half-words.
pub const COUNT_FULL: u8 = 0;
/// RCODE: RDATA is a history.
pub const HISTORY_FULL: u8 = 1;
/// RCODE: RDATA is a history that occurred HREPEAT times.
pub const HISTORY_REPEATED: u8 = 2;
/// RCODE of SiFive: RDATA is a number of branches that are not taken.
pub const NOT_TAKEN: u8 = 8;
/// RCODE of SiFive: RDATA is a number of branches that are taken.
pub const TAKEN: u8 = 9;

/// SYNC: exit from debug mode.
pub const DEBUG_EXIT: u8 = 3;
/// SYNC: restart after an overrun of the FIFO.
pub const OVERRUN: u8 = 7;
/// SYNC of SiFive: the address is a sample, no instructions are traced.
pub const PC_SAMPLE: u8 = 15;

/// CKSRC of in-circuit trace: the kind of an event. (SiFive)
pub mod event {
    /// Control: tracing is switched, or the hart enters or leaves a mode.
    pub const CONTROL: u8 = 0;
    /// An external trigger.
    pub const TRIGGER: u8 = 8;
    /// A call or a return.
    pub const CALL: u8 = 9;
    /// An exception.
    pub const EXCEPTION: u8 = 10;
    /// An interrupt.
    pub const INTERRUPT: u8 = 11;
    /// Performance counters.
    pub const COUNTERS: u8 = 12;
    /// A context.
    pub const CONTEXT: u8 = 13;
    /// A watchpoint.
    pub const WATCHPOINT: u8 = 14;
}

/// Whether CKDATA0 of an event is an address.
pub const fn has_address(cksrc: u8, ckdf: u8) -> bool {
    match cksrc {
        event::CONTROL => ckdf == 1,
        event::COUNTERS | event::CONTEXT => false,
        _ => true,
    }
}

/// The name of a message.
pub const fn tcode(tcode: u8) -> &'static str {
    match tcode {
        0 => "DebugStatus",
        1 => "DeviceID",
        2 => "Ownership",
        3 => "DirectBranch",
        4 => "IndirectBranch",
        5 => "DataWrite",
        6 => "DataRead",
        7 => "DataAcquisition",
        8 => "Error",
        9 => "ProgTraceSync",
        10 => "Correction",
        11 => "DirectBranchSync",
        12 => "IndirectBranchSync",
        13 => "DataWriteSync",
        14 => "DataReadSync",
        15 => "Watchpoint",
        20 => "PortReplacementOutput",
        21 => "PortReplacementInput",
        22 => "AuxAccessRead",
        23 => "AuxAccessWrite",
        24 => "AuxAccessReadNext",
        25 => "AuxAccessWriteNext",
        26 => "AuxAccessResponse",
        27 => "ResourceFull",
        28 => "IndirectBranchHist",
        29 => "IndirectBranchHistSync",
        30 => "RepeatBranch",
        31 => "RepeatInstruction",
        32 => "RepeatInstructionSync",
        33 => "ProgTraceCorrelation",
        34 => "InCircuitTrace",
        35 => "InCircuitTraceSync",
        56 => "PredictedBranches",
        57 => "CachedTarget",
        58 => "Configuration",
        59..=62 => "vendor defined",
        63 => "vendor extension",
        _ => "reserved",
    }
}

/// Whether the timestamp of a message is absolute.
pub const fn has_absolute_time(tcode: u8) -> bool {
    matches!(tcode, 9 | 11 | 12 | 29 | 32 | 35)
}

/// The name of the value of a field of fixed width.
pub fn value(field: &str, value: u64) -> Option<&'static str> {
    Some(match (field, value) {
        ("SYNC", value) => sync(value as u8),
        ("B-TYPE", 1) => "exception or interrupt",
        ("B-TYPE", 2) => "exception",
        ("B-TYPE", 3) => "interrupt",
        ("EVCODE", 0) => "debug mode",
        ("EVCODE", 1) => "low power",
        ("EVCODE", 4) => "trace disabled",
        ("EVCODE", 8) => "reset",
        ("ETYPE", 0) => "FIFO overrun",
        ("RCODE", 0) => "I-CNT",
        ("RCODE", 1) => "HIST",
        ("RCODE", 2) => "HIST repeated",
        ("RCODE", 8) => "branches not taken",
        ("RCODE", 9) => "branches taken",
        ("CKSRC", 0) => "control",
        ("CKSRC", 8) => "external trigger",
        ("CKSRC", 9) => "call",
        ("CKSRC", 10) => "exception",
        ("CKSRC", 11) => "interrupt",
        ("CKSRC", 12) => "performance counters",
        ("CKSRC", 13) => "context",
        ("CKSRC", 14) => "watchpoint",
        ("CKSRC", 15) => "PC sample",
        _ => return None,
    })
}

/// The reason of a synchronisation. (Table "SYNC"; 11 and 15: SiFive)
pub const fn sync(code: u8) -> &'static str {
    match code {
        0 => "external trigger",
        1 => "exit from reset",
        2 => "periodic",
        DEBUG_EXIT => "exit from debug mode",
        4 => "I-CNT full",
        5 => "trace enabled",
        6 => "trace event",
        OVERRUN => "restart after overrun",
        9 => "exit from power-down",
        11 => "message contention",
        14 => "requested",
        PC_SAMPLE => "PC sample",
        _ => "reserved",
    }
}

/// The name of an exception number: B-TYPE.
pub const fn trap(number: u16) -> Option<&'static str> {
    match number {
        1 => Some("exception or interrupt"),
        2 => Some("exception"),
        3 => Some("interrupt"),
        _ => None,
    }
}
