//! What the elements of an ITM mean: software writes and the lines of text in them, exceptions with
//! their durations, samples of the program counter, watched data, each with its time.
//!
//! | file | contents |
//! |---|---|
//! | `entry.rs` | [`Entry`]: one event with its offset and its time |
//! | `interpreter.rs` | [`Interpreter`]: joins text to lines, and finds the time of each event |
//! | `signal.rs` | [`Signal`]: what the values of a port or a comparator mean, and how it is written |
//! | `values.rs` | [`Signals`]: makes typed values of writes |
//! | `recording.rs` | [`Recording`]: the events over time, for pictures and tables |
//! | `exceptions.rs` | [`Exceptions`]: durations, nesting and totals of exceptions |
//! | `sample_profile.rs` | [`SampleProfile`]: the samples by inlined function and source line |
//! | `samples.rs` | [`Samples`]: the samples of the program counter by function |

mod entry;
mod exceptions;
mod interpreter;
mod recording;
mod sample_profile;
mod samples;
mod signal;
mod values;

pub use entry::{Content, Entry};
pub use exceptions::{Duration, ExceptionTotals, Exceptions, Moment, Span};
pub use interpreter::Interpreter;
pub use recording::{ExceptionSlice, Line, Recording, ValueTrack};
pub use sample_profile::{SampleProfile, SampledAddress, SampledFrame};
pub use samples::{SampleRow, Samples};
pub use signal::{Member, Origin, Scalar, Signal, SignalType};
pub use values::{Meaning, Reading, Signals, Value};
