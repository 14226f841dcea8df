//! What processors did, as [`Step`](tracewright_base::Step)s: from execution logs of simulators, and
//! from programs that run on a machine of our own.
//!
//! The way round that tests go without any other tool: a [`Program`] runs on a [`Machine`] and
//! yields steps; a trace unit in software ([`AnyUnit`](tracewright_protocols::encoders::AnyUnit))
//! makes bytes of them; a decoder makes elements of those; and [`Expand`] makes of the elements the
//! instructions that ran.
#![forbid(unsafe_code)]

pub mod expand;
pub mod generate;
pub mod log;
pub mod machine;
mod program;
mod random;
mod recorder;
pub mod round_trip;
pub mod trial;

pub use expand::{Expand, Ran};
pub use generate::{Recipe, Sets};
pub use machine::{Machine, Stimulus};
pub use program::Program;
pub use random::Random;
pub use recorder::{RecordError, Recorder, Recording};
pub use round_trip::{RoundTrip, Way};
