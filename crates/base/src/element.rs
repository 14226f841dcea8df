//! The meaning of a trace.

use crate::{
    Access, Context, Counted, DwtEvent, Fault, Gap, Inconsistency, LocalTimestamp, Range, Software,
    Space,
};

/// One thing that a trace says. Elements come in the order in which a decoder can be sure of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    /// From here on it is not known what ran, until the next [`Element::TraceOn`] or range.
    Gap(Gap),
    /// Tracing of instructions starts, or starts again.
    TraceOn(Start),
    /// Who executes from here on.
    Context(Context),
    /// Instructions that were executed.
    Range(Range),
    /// `instructions` were executed from `start` on; which ones is not known. Then `next` ran.
    Unknown {
        /// Where they began.
        start: u64,
        /// What ran after them.
        next: u64,
        /// How many.
        instructions: Counted,
    },
    /// The last instruction of the last [`Element::Range`] went the other way than the range said:
    /// the processor had mispredicted it.
    Corrected {
        /// It took effect after all.
        taken: bool,
    },
    /// Program memory is missing at `address`; nothing can be said until the next address.
    NoCode {
        /// The first address that could not be read.
        address: u64,
        /// The memory that was asked.
        space: Space,
    },
    /// An exception was taken.
    Exception(Exception),
    /// What the processor wrote down beside the exception before: the trap value (RISC-V `xtval`).
    TrapValue(u64),
    /// The processor returned from an exception.
    ExceptionReturn,
    /// Time. Everything before it in the stream happened before it.
    Timestamp {
        /// In ticks of the timestamp clock.
        value: u64,
        /// Cycles since the last cycle count, where the packet has them. Never add these to a sum of
        /// [`Element::Cycles`].
        cycles: Option<u32>,
    },
    /// Processor cycles since the last cycle count; `None` where the unit says it lost count.
    Cycles(Option<u32>),
    /// Trace unit events: bit n is set where event n (0 to 3) occurred.
    Events(u8),
    /// The trigger fired.
    Trigger,
    /// A timestamp marker: the next timestamp belongs to this place.
    Marker,
    /// A transaction (FEAT_TME) begins or ends.
    Transaction(Transaction),
    /// A value that the program put into the instruction trace (FEAT_ITE).
    Instrumentation {
        /// Exception level of the write.
        el: u8,
        /// The value.
        value: u64,
    },
    /// The program wrote into the trace (ITM, STM).
    SoftwareWrite(Software),
    /// The debug hardware reports (DWT).
    DwtEvent(DwtEvent),
    /// Time of an ITM stream, local.
    LocalTimestamp(LocalTimestamp),
    /// Time of an ITM stream, global.
    GlobalTimestamp {
        /// Ticks of the system timestamp counter.
        value: u64,
        /// The clock that drives the counter changed.
        clock_changed: bool,
        /// Packets were lost before this one.
        after_overflow: bool,
    },
    /// Data moved.
    DataAccess(Access),
    /// These bytes are no packet.
    Undecodable {
        /// How many bytes. (Of half bytes, those in the low half count.)
        len: u32,
        /// Why.
        fault: Fault,
    },
    /// Packets contradict each other or the program; state was dropped to what is still known.
    Inconsistency(Inconsistency),
    /// The trace ends here.
    End,
}

const _: () = assert!(core::mem::size_of::<Element>() <= 32);

impl Element {
    /// What kind of element it is, in a word.
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
            Element::Undecodable { .. } => "undecodable",
            Element::Inconsistency(_) => "inconsistency",
            Element::End => "end",
        }
    }
}

/// Why tracing of instructions starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Start {
    /// Tracing was enabled, or a filter let it through again.
    Normal,
    /// After an overflow of the trace unit.
    Overflow,
    /// The processor left Debug state.
    Debug,
}

/// An exception, as the trace unit reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Exception {
    /// The exception's number in its protocol (`Display` of the packet has the name).
    pub number: u16,
    /// Preferred exception return address; `None` where the trace says that it is unknown.
    pub return_address: Option<u64>,
    /// The address was the target of the branch before the exception, too.
    pub also_target: bool,
    /// Another exception was tail-chained (M profile).
    pub tail_chain: bool,
}

/// A step of a memory transaction. (FEAT_TME)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transaction {
    /// The trace begins inside a transaction.
    Inside,
    /// A transaction starts.
    Start,
    /// It was committed.
    Commit,
    /// It failed: what ran in it has no effect.
    Failure,
}
