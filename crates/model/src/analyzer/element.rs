//! Elements between the stages. (K10.5.6.1)

/// The instruction set within an execution state. (K10.5.6.2.1)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SubIsa {
    /// A32 or A64.
    #[default]
    Is0,
    /// T32.
    Is1,
}

/// The context that a Context element gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnalyzerContext {
    /// Context identifier.
    pub context_id: u32,
    /// Virtual context identifier.
    pub vmid: u32,
    /// Exception level, 0 to 3.
    pub exception_level: u8,
    /// Whether the Security state is Non-secure.
    pub non_secure: bool,
    /// Whether the Execution state is AArch64.
    pub sixty_four_bit: bool,
}

/// One element of the trace element stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// Trace Info.
    TraceInfo {
        /// The number of uncommitted P0 elements.
        current_spec_depth: u128,
        /// Whether the trace is inside a transaction.
        in_transaction: bool,
    },
    /// Trace On.
    TraceOn,
    /// Atom, E or N.
    Atom {
        /// The atom is E.
        e: bool,
    },
    /// Q.
    Q {
        /// The number of instructions.
        count: Option<u32>,
    },
    /// Source Address.
    SourceAddress(u64, SubIsa),
    /// Exception.
    Exception {
        /// The type.
        kind: u16,
        /// The preferred exception return address, if the packet has it.
        address: Option<u64>,
    },
    /// Exception Return, which only an ETMv4 has.
    ExceptionReturn,
    /// Target Address.
    TargetAddress(u64, SubIsa),
    /// Target Address of an Exception packet whose address is unknown: address 0 in the pseudocode.
    /// (K10.5.2.13.1)
    UnknownTarget,
    /// Context.
    Context(AnalyzerContext),
    /// Mispredict.
    Mispredict,
    /// Commit of the oldest P0 elements.
    Commit(u128),
    /// Cancel of the youngest P0 elements.
    Cancel(u128),
    /// Discard.
    Discard,
    /// Overflow.
    Overflow,
    /// Event, by number.
    Event(u8),
    /// Timestamp.
    Timestamp {
        /// The value.
        value: u64,
        /// The cycle count.
        cycles: Option<u32>,
    },
    /// Cycle Count.
    CycleCount(Option<u64>),
    /// Transaction Start.
    TransactionStart,
    /// Transaction Commit.
    TransactionCommit,
    /// Transaction Failure.
    TransactionFailure,
}
