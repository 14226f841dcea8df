//! How far steps go, and how runs and steps end.

use tracewright::base::Element;
use tracewright_replay::{Accessed, Position};

use crate::filters::Event;

/// How far a step goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// One instruction.
    Instruction,
    /// One instruction; what it calls is passed.
    InstructionOver,
    /// To another line, in a function that is called, too.
    Into,
    /// To another line; what is called is passed.
    Over,
    /// Out of the function.
    Out,
    /// To a place ahead.
    To(Position),
}

/// Why a run or a step has ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Why {
    Step,
    /// The numbers of breakpoints.
    Breakpoints(Vec<u64>),
    Access(Vec<u64>, Accessed),
    /// An exception, or lost trace.
    Event(Event),
    Begin,
    End,
}

/// The end of a run or a step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ended {
    pub(crate) why: Why,
    pub(crate) lost: Option<Element>,
    pub(crate) switched: bool,
}
