//! What receives the frames of call stacks.

use super::FunctionId;
use super::frame::{Begin, Ending};

/// A place in the trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// The offset in the trace.
    pub at: u64,
    /// The source.
    pub source: usize,
    /// The thread: a number over all sources.
    pub thread: usize,
    /// Instructions of the source before it; of an ITM or STM, which has none, the offset.
    pub instructions: u64,
    /// The frames that are open in the thread.
    pub depth: usize,
}

/// A clock of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// A timestamp.
    Timestamp(u64),
    /// Processor cycles since the last count.
    Cycles(u64),
    /// The number of cycles since the last count is not known.
    CyclesLost,
    /// The time since the last timestamp is not known.
    TimestampsLost,
}

/// Receives the frames of call stacks. Each frame that begins ends once; frames of a thread end in
/// the opposite order.
pub trait Visitor {
    /// What the visitor stores in a frame.
    type Node: Copy;

    /// A thread of a source, with its identifier in the trace. Its frames have the node as their
    /// parent.
    fn thread(&mut self, source: usize, thread: usize, id: Option<u64>) -> Self::Node;

    /// A thread without frames begins to execute at the first instruction of a function: the next
    /// frame, which is that of a task. Not where it continues what it executed before.
    fn entered(&mut self, thread: usize, function: FunctionId) {
        let _ = (thread, function);
    }

    /// A frame begins in a frame, or in a thread.
    fn begin(&mut self, position: &Position, parent: Self::Node, begin: &Begin) -> Self::Node;

    /// A frame ends.
    fn end(&mut self, position: &Position, node: Self::Node, ending: Ending, uncertain: bool);

    /// A frame is found beneath all frames of the thread so far, also those that ended: its
    /// function was entered before the trace of the thread began. Returns its node, and the root of
    /// the thread from here on.
    fn beneath(
        &mut self,
        position: &Position,
        root: Self::Node,
        begin: &Begin,
    ) -> (Self::Node, Self::Node);

    /// Instructions were executed in a frame, and cycles where the trace counts them by range. 0 of
    /// both: something was executed.
    fn run(&mut self, position: &Position, node: Self::Node, instructions: u64, cycles: u64);

    /// A clock of a source.
    fn time(&mut self, position: &Position, time: Time) {
        let _ = (position, time);
    }

    /// Trace was lost.
    fn lost(&mut self, position: &Position) {
        let _ = position;
    }

    /// The next buffer of a source begins: the time up to its first timestamp is not known.
    fn buffer(&mut self, source: usize) {
        let _ = source;
    }
}

/// Both visitors receive everything.
impl<A: Visitor, B: Visitor> Visitor for (A, B) {
    type Node = (A::Node, B::Node);

    fn thread(&mut self, source: usize, thread: usize, id: Option<u64>) -> Self::Node {
        (self.0.thread(source, thread, id), self.1.thread(source, thread, id))
    }

    fn entered(&mut self, thread: usize, function: FunctionId) {
        self.0.entered(thread, function);
        self.1.entered(thread, function);
    }

    fn begin(&mut self, position: &Position, parent: Self::Node, begin: &Begin) -> Self::Node {
        (self.0.begin(position, parent.0, begin), self.1.begin(position, parent.1, begin))
    }

    fn end(&mut self, position: &Position, node: Self::Node, ending: Ending, uncertain: bool) {
        self.0.end(position, node.0, ending, uncertain);
        self.1.end(position, node.1, ending, uncertain);
    }

    fn beneath(
        &mut self,
        position: &Position,
        root: Self::Node,
        begin: &Begin,
    ) -> (Self::Node, Self::Node) {
        let (a, b) =
            (self.0.beneath(position, root.0, begin), self.1.beneath(position, root.1, begin));
        ((a.0, b.0), (a.1, b.1))
    }

    fn run(&mut self, position: &Position, node: Self::Node, instructions: u64, cycles: u64) {
        self.0.run(position, node.0, instructions, cycles);
        self.1.run(position, node.1, instructions, cycles);
    }

    fn time(&mut self, position: &Position, time: Time) {
        self.0.time(position, time);
        self.1.time(position, time);
    }

    fn lost(&mut self, position: &Position) {
        self.0.lost(position);
        self.1.lost(position);
    }

    fn buffer(&mut self, source: usize) {
        self.0.buffer(source);
        self.1.buffer(source);
    }
}
