//! Elements: the decoded content of a trace.

use crate::access::Access;
use crate::context::{Context, Space};
use crate::custom::Custom;
use crate::dwt_event::{DwtEvent, LocalTimestamp};
use crate::fault::{Fault, Gap, Inconsistency};
use crate::range::{Counted, Range};
use crate::software::Software;

/// One decoded element of a trace. Elements are emitted in the order in which they become certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Element {
    /// Execution is unknown from here to the next [`Element::TraceOn`] or range; after
    /// [`Gap::Data`] only data accesses are unknown.
    Gap(Gap),
    /// Instruction tracing starts or restarts.
    TraceOn(Start),
    /// The context from here on.
    Context(Context),
    /// Executed instructions.
    Range(Range),
    /// `instructions` unknown instructions were executed from `start` on, and then the one at
    /// `next`.
    Unknown {
        /// Address of the first instruction.
        start: u64,
        /// Address of the instruction after them.
        next: u64,
        /// Number of instructions.
        instructions: Counted,
    },
    /// Correction of the last instruction of the last [`Element::Range`]: the processor had
    /// mispredicted its outcome.
    Corrected {
        /// The actual outcome: whether the instruction took effect.
        taken: bool,
    },
    /// Program memory is missing at `address`. Execution is unknown until the next address packet.
    NoCode {
        /// The first unreadable address.
        address: u64,
        /// The address space.
        space: Space,
    },
    /// An exception was taken.
    Exception(Exception),
    /// The trap value of the preceding exception (RISC-V `xtval`).
    TrapValue(u64),
    /// The processor returned from an exception. An ETE has no packet for it: the element follows
    /// the range of an atom, but not that of a source address, where only [`Range::last`] shows it.
    ExceptionReturn,
    /// A timestamp. All earlier elements of the source precede it in time.
    Timestamp {
        /// Ticks of the timestamp clock.
        value: u64,
        /// Cycles since the last cycle count, if the packet has them. They must not be added to a
        /// sum of [`Element::Cycles`].
        cycles: Option<u32>,
    },
    /// Processor cycles since the last cycle count; `None` if the trace unit lost count.
    Cycles(Option<u32>),
    /// Trace unit events: bit n is set where event n (0 to 3) occurred.
    Events(u8),
    /// The trigger fired.
    Trigger,
    /// A timestamp marker: a timestamp that follows refers to this position.
    Marker,
    /// A transaction (FEAT_TME) begins or ends.
    Transaction(Transaction),
    /// A value that the program wrote into the instruction trace (FEAT_ITE).
    Instrumentation {
        /// Exception level of the write; 0 from PULP `trdb`, which does not trace it.
        el: u8,
        /// The value.
        value: u64,
    },
    /// A write of the program to a stimulus port or channel (ITM, STM).
    SoftwareWrite(Software),
    /// An event of the Data Watchpoint and Trace unit (DWT).
    DwtEvent(DwtEvent),
    /// A local timestamp of an ITM.
    LocalTimestamp(LocalTimestamp),
    /// A global timestamp of an ITM.
    GlobalTimestamp {
        /// Ticks of the system timestamp counter.
        value: u64,
        /// The clock that drives the counter changed.
        clock_changed: bool,
        /// Packets were lost before this one.
        after_overflow: bool,
    },
    /// A data access.
    DataAccess(Access),
    /// What a protocol reports that no other element states.
    Custom(Custom),
    /// Undecodable bytes.
    Undecodable {
        /// Number of bytes. In a stream of nibbles: number of low nibbles.
        len: u32,
        /// The reason.
        fault: Fault,
    },
    /// Packets contradict each other or the program. The decoder dropped the state that is
    /// uncertain. Or nothing is contradicted: [`Inconsistency::is_ambiguity`].
    Inconsistency(Inconsistency),
    /// The trace ends here.
    End,
}

const _: () = assert!(core::mem::size_of::<Element>() <= 32);

impl Element {
    /// Whether the trace unit lost packets in an overflow directly before the packet of this
    /// element.
    pub const fn is_after_overflow(&self) -> bool {
        match self {
            Element::SoftwareWrite(write) => write.has(Software::AFTER_OVERFLOW),
            Element::DwtEvent(event) => event.after_overflow,
            Element::LocalTimestamp(time) => time.after_overflow,
            Element::GlobalTimestamp { after_overflow, .. } => *after_overflow,
            _ => false,
        }
    }

    /// The ticks of the timestamp clock that the element states.
    pub const fn ticks(&self) -> Option<u64> {
        match self {
            Element::Timestamp { value, .. } | Element::GlobalTimestamp { value, .. } => {
                Some(*value)
            }
            Element::SoftwareWrite(write) => write.time(),
            _ => None,
        }
    }

    /// The name of the kind of element, identical in all outputs.
    pub const fn kind(&self) -> &'static str {
        match self {
            Element::Gap(_) => "gap",
            Element::TraceOn(_) => "trace-on",
            Element::Context(_) => "context",
            Element::Range(_) => "range",
            Element::Unknown { .. } => "unknown",
            Element::Corrected { .. } => "corrected",
            Element::NoCode { .. } => "no-code",
            Element::Exception(_) => "exception",
            Element::TrapValue(_) => "trap-value",
            Element::ExceptionReturn => "exception-return",
            Element::Timestamp { .. } => "timestamp",
            Element::Cycles(_) => "cycles",
            Element::Events(_) => "events",
            Element::Trigger => "trigger",
            Element::Marker => "marker",
            Element::Transaction(_) => "transaction",
            Element::Instrumentation { .. } => "instrumentation",
            Element::SoftwareWrite(_) => "software-write",
            Element::DwtEvent(_) => "dwt-event",
            Element::LocalTimestamp(_) => "local-timestamp",
            Element::GlobalTimestamp { .. } => "global-timestamp",
            Element::DataAccess(_) => "data-access",
            Element::Custom(_) => "custom",
            Element::Undecodable { .. } => "undecodable",
            Element::Inconsistency(reason) if reason.is_ambiguity() => "ambiguity",
            Element::Inconsistency(_) => "inconsistency",
            Element::End => "end",
        }
    }
}

/// The reason that instruction tracing starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Start {
    /// Tracing was enabled, or a filter includes the instructions again.
    Normal,
    /// After an overflow of the trace unit.
    Overflow,
    /// The processor left Debug state.
    Debug,
}

/// An exception, as the trace unit reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Exception {
    /// Exception number of the protocol. `views::Source::exception_name` has the name.
    pub number: u16,
    /// Preferred exception return address; `None` if the trace reports it as unknown.
    pub return_address: Option<u64>,
    /// Whether the trace states that the return address is also the target of the last branch
    /// (ETMv4, ETE). Other protocols have no such statement.
    ///
    /// Without it, the return address is the target of a taken branch where that branch is direct,
    /// ends a range, and no program flow was reported between the range and the exception, as
    /// instructions that were executed at the target would be a range. (Timestamps, cycle counts
    /// and contexts are no program flow.) The target of an indirect branch is not known then.
    pub also_target: bool,
    /// Whether the exception was tail-chained (M profile).
    pub tail_chain: bool,
}

/// A step of a memory transaction. (FEAT_TME)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transaction {
    /// The trace begins inside a transaction.
    Inside,
    /// A transaction starts.
    Start,
    /// The transaction was committed.
    Commit,
    /// The transaction failed: its instructions have no effect.
    Failure,
    /// The processor speculated that it was in the transaction in which the trace begins, and was
    /// not: what followed was executed outside of a transaction.
    Cancelled,
}

impl Transaction {
    /// Whether what follows is inside a transaction.
    pub const fn opens(self) -> bool {
        matches!(self, Transaction::Inside | Transaction::Start)
    }
}
