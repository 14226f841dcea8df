//! What the elements of an ITM mean: lines of text, exceptions with their durations, samples of the
//! program counter, watched data, each with its time.
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
pub use exceptions::{ExceptionTotals, Exceptions, Span};
pub use interpreter::Interpreter;
pub use samples::{SampleRow, Samples};
