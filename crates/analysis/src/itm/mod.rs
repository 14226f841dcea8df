//! What the elements of an ITM mean: software writes and the lines of text in them, exceptions with
//! their durations, samples of the program counter, watched data, each with its time.
//!
//! | file | contents |
//! |---|---|
//! | `entry.rs` | [`Entry`]: one event with its offset and its time |
//! | `interpreter.rs` | [`Interpreter`]: joins text to lines, and finds the time of each event |
//! | `exceptions.rs` | [`Exceptions`]: durations, nesting and totals of exceptions |
//! | `samples.rs` | [`Samples`]: the samples of the program counter by function |

mod entry;
mod exceptions;
mod interpreter;
mod samples;

pub use entry::{Content, Entry};
pub use exceptions::{Duration, ExceptionTotals, Exceptions, Moment, Span};
pub use interpreter::Interpreter;
pub use samples::{SampleRow, Samples};
