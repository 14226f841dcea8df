//! The result of the analysis.

use std::fmt;

use tracewright_base::Isa;

use super::AnalyzerContext;

/// One statement about execution, in program order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// An instruction was executed.
    Instruction {
        /// Its address.
        address: u64,
        /// Its instruction set.
        isa: Isa,
        /// It is a branch that was taken.
        taken: bool,
        /// The context in which it was executed.
        context: AnalyzerContext,
    },
    /// Instructions were executed whose path the trace does not give.
    Q {
        /// The address of the first instruction.
        start: u64,
        /// The number of instructions.
        count: Option<u32>,
        /// The address at which execution continues, when it is known.
        next: Option<u64>,
    },
    /// The program has no code at this address.
    NoCode(u64),
    /// An exception was taken.
    Exception {
        /// The type.
        kind: u16,
        /// The preferred exception return address, if it is known.
        address: Option<u64>,
        /// The context in which it was taken.
        context: Option<AnalyzerContext>,
    },
    /// Exception Return element.
    ExceptionReturn,
    /// Tracing starts.
    TraceOn,
    /// Trace was lost.
    Lost(Lost),
    /// A trace unit event.
    Event(u8),
    /// A timestamp.
    Timestamp {
        /// The value.
        value: u64,
        /// The cycle count.
        cycles: Option<u32>,
    },
    /// A cycle count; `None` if it is unknown.
    Cycles(Option<u64>),
    /// The trace begins inside a transaction.
    InTransaction,
    /// A transaction was started and is committed.
    TransactionStart,
    /// The end of a transaction that is committed.
    TransactionCommit,
    /// A transaction failed. What was executed in it has no effect and is not output.
    TransactionFailure,
    /// The stream is malformed. Nothing follows.
    Malformed(Malformed),
}

/// Why trace was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// Discard element.
    Discard,
    /// Overflow element.
    Overflow,
}

/// Why a stream is malformed: the text reserves it, calls it illegal, or does not define its
/// meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// The bytes do not begin with an Alignment Synchronization packet. (K10.5.1.1)
    NoAlignment,
    /// An element other than an event before the first Trace Info element, or between a loss of
    /// trace and the next one. (K10.5.1.1, K10.5.2.7, K10.5.9)
    NoTraceInfo,
    /// A reserved header or payload. (K10.5.6.3.2)
    Reserved,
    /// A bit that should be zero is one. (K10.5.6.3.5)
    ShouldBeZero,
    /// A commit of no P0 elements, or of more than there are. (K10.5.3.3)
    Commit,
    /// A cancel of no P0 elements, or of more than there are. (K10.5.3.4)
    Cancel,
    /// A cancel of an element that Table K10-2 lists as illegal, or does not list.
    CancelIllegal,
    /// A Trace Info element that contradicts the elements before it, or the maximum speculation
    /// depth. (K10.5.1.2)
    TraceInfo,
    /// A Mispredict element without a branch to which it applies. (K10.5.5.11)
    Mispredict,
    /// A P0 element after an exception without a target address. (K10.5.8.2, the note on the
    /// Exception elements of Table K10-11)
    NoTarget,
    /// An unconditional branch that is finally not taken.
    NotTaken,
    /// The instructions from the current address do not reach the address of an exception or
    /// a source address. (K10.5.5.6, K10.5.5.7)
    NotReached,
    /// A64 code with the instruction set of T32. (K10.5.6.2.1)
    InstructionSet,
    /// A transaction starts inside a transaction, or is committed outside of one.
    Transaction,
    /// The stream or its trust ends with uncommitted P0 elements before the end of a transaction.
    /// The pseudocode commits the transaction (K10.5.4.3.1) without these elements.
    Unresolved,
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Output::Instruction { address, isa, taken, context } => {
                let taken = if *taken { " taken" } else { "" };
                write!(f, "{isa} {address:#x}{taken} in {context}")
            }
            Output::Exception { kind, address, context } => {
                write!(f, "exception {kind}")?;
                if let Some(address) = address {
                    write!(f, " at {address:#x}")?;
                }
                if let Some(context) = context {
                    write!(f, " in {context}")?;
                }
                Ok(())
            }
            Output::NoCode(address) => write!(f, "no code at {address:#x}"),
            Output::Q { start, count, next } => {
                write!(f, "Q {count:?} from {start:#x}")?;
                if let Some(next) = next { write!(f, " to {next:#x}") } else { Ok(()) }
            }
            other => write!(f, "{other:?}"),
        }
    }
}

impl fmt::Display for AnalyzerContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let security = if self.non_secure { "non-secure" } else { "secure" };
        let bits = if self.sixty_four_bit { 64 } else { 32 };
        let AnalyzerContext { context_id, vmid, exception_level, .. } = self;
        write!(f, "EL{exception_level} {security} {bits} cid {context_id:#x} vmid {vmid:#x}")
    }
}
