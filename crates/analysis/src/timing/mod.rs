//! How long functions and exceptions take.
//!
//! Between two points at which the clock of a source is known, such as two timestamps, the time of
//! an event is an interval. Such a part of a trace is a *window* of known duration. In each
//! window, what a duration counts was executed all the time, for a part of it, or not at all: a
//! duration has at least the windows of the first kind, and at most those of the second one, too.
//! So the parts of a window are not counted twice, and a function that executes in the whole of a
//! window has its exact duration.
//!
//! | duration of an activation | what it counts |
//! |---|---|
//! | [gross](Measure::Gross) | all of the time from its begin to its end |
//! | [net](Measure::Net) | gross less exception handlers and other threads |
//! | [own](Measure::Own) | net less the functions that it calls |
//!
//! | file | contents |
//! |---|---|
//! | `clock.rs` | [`Clock`], and the window of each source |
//! | `activation.rs` | activations that are open, and the exceptions that interrupt them |
//! | `collector/` | [`Timing`]: the visitor that receives the frames |
//! | `points.rs` | [`Points`]: when elements of a trace happen |
//! | `rows.rs` | [`Timed`]: the statistics of a function or an exception |
//! | `stack_at.rs` | [`StackAt`]: the call stacks at some instructions |
//! | `statistics.rs` | [`Statistics`]: least, percentiles and most of intervals |
//! | `values.rs` | bounds that are stored one by one |
//! | `log.rs` | durations that are not in the statistics yet |
//! | `distances.rs` | [`Distances`]: the time between two events |
//! | `local_distances.rs` | [`LocalDistances`]: the same between packets of an ITM or STM |
//! | `load.rs` | [`Load`]: the load of processors over time |
//! | `loops.rs` | how often loops turn in a call |
//! | `tasks.rs` | how long tasks run |
//! | `worst.rs` | the longest call beside the median one |
//! | `limit.rs` | [`Limit`]: a bound of a duration, and whether it is met |

mod activation;
mod clock;
mod collector;
mod distances;
mod limit;
mod load;
mod local_distances;
mod log;
mod loops;
mod points;
mod rows;
mod stack_at;
mod statistics;
#[cfg(test)]
mod task_tests;
mod tasks;
#[cfg(test)]
mod tests;
mod values;
mod worst;

pub use clock::Clock;
pub use collector::{MAX_EVENTS, Timing};
pub use distances::{Distances, EventAt};
pub use limit::{Limit, LimitError, Span, Verdict};
pub use load::{Load, MAX_SLICES, Slice};
pub use local_distances::LocalDistances;
pub use loops::{Loop, Turns};
pub use points::{PointId, Points};
pub use rows::{Subject, Timed};
pub use stack_at::StackAt;
pub use statistics::{Deviation, MAX_EXACT, Place, Statistics};
pub use worst::{Activated, Difference, Part, Recorded, Taken, differences, longest_and_median};

/// What is measured of the activations of a function or an exception.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Measure {
    /// From the begin to the end.
    Gross,
    /// Gross less exception handlers and other threads.
    #[default]
    Net,
    /// Net less the functions that are called.
    Own,
    /// From one begin to the next one in the same thread.
    Period,
    /// From an end to the next begin in the same thread.
    Gap,
    /// Gross less net: what exception handlers and other threads took.
    Interrupted,
}

impl Measure {
    /// All of them, in the order of outputs.
    pub const ALL: [Measure; 6] = [
        Measure::Gross,
        Measure::Net,
        Measure::Own,
        Measure::Period,
        Measure::Gap,
        Measure::Interrupted,
    ];

    /// The name in outputs and in limits.
    pub const fn name(self) -> &'static str {
        match self {
            Measure::Gross => "gross",
            Measure::Net => "net",
            Measure::Own => "own",
            Measure::Period => "period",
            Measure::Gap => "gap",
            Measure::Interrupted => "interrupted",
        }
    }

    /// What it is, for people.
    pub const fn about(self) -> &'static str {
        match self {
            Measure::Gross => "from begin to end",
            Measure::Net => "without exception handlers and other threads",
            Measure::Own => "without these and called functions",
            Measure::Period => "from begin to begin",
            Measure::Gap => "from end to begin",
            Measure::Interrupted => "by exception handlers and other threads",
        }
    }

    /// Whether it is a part of the traced time.
    pub const fn is_part(self) -> bool {
        !matches!(self, Measure::Period | Measure::Gap)
    }

    /// The measure with this name.
    pub fn named(name: &str) -> Option<Measure> {
        Measure::ALL.into_iter().find(|measure| measure.name() == name)
    }
}
