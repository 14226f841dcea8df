//! Test equipment: random programs, a machine that runs them, and round trips through trace.
//!
//! A [`Program`] runs on a [`Machine`] and yields [`Step`](tracewright_base::Step)s. A trace unit
//! in software ([`AnyUnit`](tracewright_protocols::encoders::AnyUnit)) encodes the steps to bytes,
//! a decoder decodes the bytes to elements, and [`Expand`] expands the elements to executed
//! instructions. A [`RoundTrip`] compares these instructions with the steps.
//!
//! The [`analyzer`] follows the text of the Arm ARM and shares no code with the decoder of ETMv4
//! and ETE; [`differential`] compares the two. The [`etmv3_analyzer`] follows the ETM architecture
//! specification, and [`etmv3_differential`] compares it with the decoder of ETMv3.
//!
//! No crate that is published depends on this one.
#![forbid(unsafe_code)]

pub mod analyzer;
pub mod differential;
pub mod etmv3_analyzer;
pub mod etmv3_differential;
pub mod expand;
pub mod generate;
pub mod harness;
pub mod machine;
mod program;
pub mod round_trip;
pub mod trial;

pub use expand::{Expand, Ran};
pub use generate::{Recipe, Sets};
pub use machine::{Machine, Stimulus};
pub use program::Program;
pub use round_trip::{RoundTrip, Way};
pub use tracewright_testing::Random;
