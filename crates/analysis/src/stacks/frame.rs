//! Frames, and the stack of one thread.

use crate::code::FunctionId;

/// How a frame begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Entry {
    /// A call.
    Call,
    /// A branch to the first instruction, in place of a return and a call.
    TailCall,
    /// A branch into the middle of the function, or execution that ran into it.
    Jump,
    /// An exception with this number.
    Exception(u16),
    /// The function was entered before the trace of the thread began.
    Before,
    /// The function was entered while trace was lost.
    Lost,
    /// The frames of a coroutine whose execution continues.
    Resumed,
}

impl Entry {
    /// Whether the function begins to execute: a call or an exception, and not the continuation of
    /// what began earlier.
    pub const fn is_call(self) -> bool {
        matches!(self, Entry::Call | Entry::TailCall | Entry::Exception(_))
    }

    /// The name in outputs.
    pub const fn name(self) -> &'static str {
        match self {
            Entry::Call => "call",
            Entry::TailCall => "tail-call",
            Entry::Jump => "jump",
            Entry::Exception(_) => "exception",
            Entry::Before => "before",
            Entry::Lost => "lost",
            Entry::Resumed => "resumed",
        }
    }
}

/// How a frame ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ending {
    /// A return to its return address.
    Return,
    /// A return to a function that was entered before the trace began, or while trace was lost.
    UnseenCall,
    /// A branch that replaces the frame.
    Replaced,
    /// A return or a branch to a frame further down: longjmp, unwinding, a coroutine.
    Unwound,
    /// The trace continues further down after a loss.
    Lost,
    /// Another thread continues.
    Switched,
    /// It calls another function while [`MAX_DEPTH`](super::MAX_DEPTH) frames are open.
    TooDeep,
    /// The end of the trace.
    TraceEnd,
}

impl Ending {
    /// The name in outputs.
    pub const fn name(self) -> &'static str {
        match self {
            Ending::Return => "return",
            Ending::UnseenCall => "return-unseen-call",
            Ending::Replaced => "replaced",
            Ending::Unwound => "unwound",
            Ending::Lost => "lost",
            Ending::Switched => "switched",
            Ending::TooDeep => "too-deep",
            Ending::TraceEnd => "trace-end",
        }
    }
}

/// The begin of a frame, for a visitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begin {
    /// The function.
    pub function: FunctionId,
    /// How it begins.
    pub entry: Entry,
    /// The address at which execution begins in it; `None` for functions entered earlier.
    pub address: Option<u64>,
}

/// A frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<N> {
    pub(super) function: FunctionId,
    /// The address to which it returns.
    pub(super) ret: Option<u64>,
    pub(super) node: N,
    pub(super) entry: Entry,
    /// It is the first frame of an exception.
    pub(super) exception: bool,
    /// It is the first frame of the handler of a signal: what calls the handler is not traced.
    pub(super) signal: bool,
    /// Trace was lost since the frame began: it may have ended, and others may be above it.
    pub(super) uncertain: bool,
}

/// Calls of a thread that are open while as many frames are stored as may be. Of their frames only
/// the last one is stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beyond {
    /// The number of frames beneath that frame.
    pub(super) frames: usize,
    /// The number of calls, at least 1.
    pub(super) calls: u64,
}

/// Whether a handler that returns to `target` ends an exception with the return address `ret`. It
/// may skip the instruction that caused the exception.
pub(super) fn is_near(ret: Option<u64>, target: u64) -> bool {
    ret.is_none_or(|ret| target.wrapping_sub(ret).wrapping_add(8) <= 16)
}

/// Slots of the filter of return addresses, a power of two.
const FILTER: usize = 1 << 9;
/// Frames that are searched without the filter.
const FEW: usize = 8;

/// The stack of a thread.
#[derive(Clone, Debug)]
pub(super) struct Thread<N> {
    /// Its identifier in the trace.
    pub(super) id: Option<u64>,
    pub(super) frames: Vec<Frame<N>>,
    /// The number of frames by the hash of their return address, so that most addresses that no
    /// frame returns to are found at once. Empty up to [`FEW`] frames: threads may be many.
    filter: Vec<u32>,
    pub(super) root: N,
    /// Calls without a frame of their own.
    pub(super) beyond: Option<Beyond>,
    /// Trace was lost, and it is not known yet where execution continues.
    pub(super) lost: bool,
    /// The handler of an exception with this return address executes, and is not traced.
    pub(super) untraced: Option<Option<u64>>,
    /// Where the thread continues, if it does not execute.
    pub(super) parked: Option<u64>,
    /// The number of switches of its source when it was parked.
    pub(super) since: u64,
    /// The index of the handler in which the system named a task; [`NOT_NAMED`] where it did not.
    pub(super) named: usize,
}

/// No handler has named a task.
pub(super) const NOT_NAMED: usize = usize::MAX;

fn slot(address: u64) -> usize {
    (address >> 1 ^ address >> 10) as usize & (FILTER - 1)
}

impl<N: Copy> Thread<N> {
    pub(super) fn new(id: Option<u64>, root: N) -> Self {
        Thread {
            id,
            frames: Vec::new(),
            filter: Vec::new(),
            root,
            beyond: None,
            lost: false,
            untraced: None,
            parked: None,
            since: 0,
            named: NOT_NAMED,
        }
    }

    pub(super) fn push(&mut self, frame: Frame<N>) {
        if self.filter.is_empty() && self.frames.len() >= FEW {
            self.fill_filter();
        }
        self.count(frame.ret, 1);
        self.frames.push(frame);
    }

    #[inline(never)]
    fn fill_filter(&mut self) {
        self.filter = vec![0; FILTER];
        for n in 0..self.frames.len() {
            self.count(self.frames.get(n).and_then(|frame| frame.ret), 1);
        }
    }

    pub(super) fn pop(&mut self) -> Option<Frame<N>> {
        let frame = self.frames.pop()?;
        self.count(frame.ret, u32::MAX);
        Some(frame)
    }

    /// Whether the frame on top stands for several calls.
    pub(super) fn is_beyond(&self) -> bool {
        self.beyond.is_some_and(|beyond| self.frames.len() > beyond.frames)
    }

    /// Marks all frames as uncertain.
    pub(super) fn mark_uncertain(&mut self) {
        // Frames further down are marked already.
        for frame in self.frames.iter_mut().rev() {
            if std::mem::replace(&mut frame.uncertain, true) {
                break;
            }
        }
    }

    /// Adds to the number of frames with a return address, modulo 2^32.
    fn count(&mut self, ret: Option<u64>, change: u32) {
        if let Some(ret) = ret
            && let Some(count) = self.filter.get_mut(slot(ret))
        {
            *count = count.wrapping_add(change);
        }
    }

    /// The index of the topmost frame that returns to `address`.
    pub(super) fn returning_to(&self, address: u64) -> Option<usize> {
        if self.filter.get(slot(address)) == Some(&0) {
            return None;
        }
        self.frames.iter().rposition(|frame| frame.ret == Some(address))
    }

    /// The index of the topmost frame of `function`.
    pub(super) fn executing(&self, function: FunctionId) -> Option<usize> {
        match function {
            FunctionId::Known(_) => self.frames.iter().rposition(|f| f.function == function),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(ret: u64) -> Frame<()> {
        Frame {
            function: FunctionId::At(ret),
            ret: Some(ret),
            node: (),
            entry: Entry::Call,
            exception: false,
            signal: false,
            uncertain: false,
        }
    }

    #[test]
    fn frames_by_return_address() {
        let mut thread = Thread::new(None, ());
        for n in 0..2_000u64 {
            thread.push(frame(n % 700 * 4));
        }
        assert_eq!(thread.returning_to(4), Some(1_401));
        assert_eq!(thread.returning_to(5), None);
        while thread.frames.len() > 701 {
            thread.pop();
        }
        assert_eq!((thread.returning_to(0), thread.returning_to(4)), (Some(700), Some(1)));
        while thread.pop().is_some() {}
        assert!(thread.filter.iter().all(|count| *count == 0));
    }
}
