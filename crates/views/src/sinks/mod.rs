//! Sinks that do little: what is left of a trace where nobody reads every line of it.
//!
//! | file | holds |
//! |---|---|
//! | `checksum.rs` | [`Checksum`]: every element in order, all its fields folded; what a benchmark decodes to |
//! | `ranges.rs` | [`RangeChecksum`]: the same of ranges alone, with the fields that other decoders have, too |
//! | `count.rs` | [`Count`]: elements, ranges, instructions |
//! | `edges.rs` | [`Edges`]: from where to where the program went, and how often |
//! | `coverage.rs` | [`Coverage`]: a bit for each two bytes of code that ran |
//! | `bitmap.rs` | [`Bitmap`]: edges as a fuzzer counts them |
//! | `chain.rs` | one range after another: what an edge is |
//!
//! All are [`Listener`](tracewright_decode::Listener)s, and all [`Merge`](tracewright_decode::Merge):
//! stretches of a trace that were decoded apart add up to what one decoder would have found.

mod bitmap;
mod chain;
mod checksum;
mod count;
mod coverage;
mod edges;
mod ranges;
#[cfg(test)]
mod tests;

pub use bitmap::Bitmap;
pub use checksum::Checksum;
pub use count::Count;
pub use coverage::Coverage;
pub use edges::{Edge, Edges};
pub use ranges::RangeChecksum;
