//! The Program Flow Trace architecture, PFTv1.0 and PFTv1.1: the PTM of Cortex-A9, A12, A15, A17.
//! (IHI 0035)
//!
//! Its registers have the numbers of those of an ETMv3.5, and most have the same fields: those of
//! data trace are missing, and [`registers`] has those that differ. Comparators, events, counters,
//! the sequencer, TraceEnable and the procedure of the Programming bit are those of ETMv3.

pub mod registers;
#[cfg(feature = "std")]
mod unit;

#[cfg(feature = "std")]
pub use unit::{GROUP, Ptm};
