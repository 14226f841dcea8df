//! A frame of a call stack.

use tracewright::analysis::stacks::{Entry as FrameEntry, FunctionId, SavedFrame};
use tracewright::index::view::{OpenFrame, ParkedAt};

/// A frame of a call stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The function.
    pub function: FunctionId,
    /// Where it executes: of the innermost frame, the instruction that is executed next; of the
    /// others, the address to which the frame above returns. `None` where it is not known.
    pub address: Option<u64>,
    /// The address to which it returns.
    pub ret: Option<u64>,
    /// How it began.
    pub entry: FrameEntry,
    /// The number of its thread: frames of other tasks have another one.
    pub thread: u32,
    /// The number of frames beneath it. It is negative for callers that were found later.
    pub depth: i32,
    /// Instructions of the source before it; of a caller that was found later, before its thread.
    pub began: u64,
    /// It is the first frame of an exception or of the handler of a signal.
    pub interrupts: bool,
    /// Trace was lost since it began: it may have ended, and what is beneath it, too.
    pub uncertain: bool,
}

/// A thread that a source does not execute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parked {
    /// Its number.
    pub thread: u32,
    /// Where it continues, if that is known.
    pub resume: Option<u64>,
    /// Its frames, the innermost first.
    pub frames: Vec<Frame>,
}

/// The stack of a source at an element.
#[derive(Clone, Debug)]
pub(crate) struct Stack {
    pub(crate) element: u64,
    pub(crate) source: usize,
    pub(crate) thread: u32,
    /// The outermost first, and where each began.
    pub(crate) frames: Vec<(SavedFrame, OpenFrame)>,
    /// The threads that the source does not execute.
    pub(crate) parked: Vec<ParkedAt>,
}
