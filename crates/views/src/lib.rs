//! Sinks with opinions: what a trace says, in the words of some reader.
//!
//! | module | whose words |
//! |---|---|
//! | [`text`] | people's |
//! | [`json`] | programs': JSON Lines |
//! | [`opencsd`] | the reference packet lister's |
//! | [`instructions`], [`disassembly`] | the processor's: every instruction that ran |
//! | [`info`] | what is in a capture |
//! | [`frames`], [`link`] | what frames hold |
//! | [`sinks`] | nobody's: checksums, counts, edges, coverage |
//! | [`stats`], [`explain`] | how much there was of what, and why there was not more |
#![forbid(unsafe_code)]

pub mod compare;
mod cycles;
pub mod digits;
pub mod disassembly;
pub mod explain;
mod fold;
pub mod frames;
pub mod info;
pub mod instructions;
pub mod json;
pub mod lines;
pub mod link;
pub mod opencsd;
mod render_cache;
pub mod sinks;
pub mod sources;
pub mod stats;
pub mod text;

pub use lines::Lines;
pub use sources::Source;
pub use stats::Stats;
