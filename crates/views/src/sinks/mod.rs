//! Sinks that compute a summary of the elements of a trace.
//!
//! | file | holds |
//! |---|---|
//! | `checksum.rs` | [`Checksum`]: of all fields of all elements, in order; the sink of benchmarks |
//! | `ranges.rs` | [`RangeChecksum`]: of the fields of ranges that other decoders also report |
//! | `count.rs` | [`Count`]: elements, ranges, instructions |
//! | `edges.rs` | [`Edges`]: control-flow edges and their counts |
//! | `coverage.rs` | [`Coverage`]: a bit for each two bytes of executed code |
//! | `bitmap.rs` | [`Bitmap`]: edges as a fuzzer counts them |
//! | `chain.rs` | consecutive ranges: the definition of an edge |
//! | `edge_steps.rs` | edges between the steps of a batch |
//! | `step_table.rs` | [`StepTables`]: what a listener stores for each step |
//!
//! All are [`Listener`](tracewright_decode::Listener)s, and all implement
//! [`Merge`](tracewright_decode::Merge): the results of chunks merge to the result of the whole
//! trace.

mod bitmap;
mod chain;
mod checksum;
mod count;
mod coverage;
mod edge_steps;
mod edges;
mod ranges;
mod step_table;
#[cfg(test)]
mod step_tests;
#[cfg(test)]
mod tests;

pub use bitmap::Bitmap;
pub use checksum::Checksum;
pub use count::Count;
pub use coverage::Coverage;
pub use edges::{Edge, Edges};
pub use ranges::RangeChecksum;
pub use step_table::{StepTables, with_values};
