//! The components of RISC-V trace, which E-Trace and N-Trace share: encoder, funnel, RAM sink, PIB
//! and ATB bridge. (Trace Control Interface 1.0)
//!
//! | module | contents |
//! |---|---|
//! | [`registers`] | the registers of each component |
//! | [`registers_v0`] | those of SiFive's encoder before them |
//! | `component` | which registers each component has |
//! | `component_unit` | each component as a unit |

pub mod registers;
pub mod registers_v0;

#[cfg(feature = "std")]
pub mod component;
#[cfg(feature = "std")]
pub mod component_unit;
#[cfg(feature = "std")]
mod encoder_lint;
#[cfg(feature = "std")]
mod encoder_v0;
#[cfg(feature = "std")]
mod explain;
#[cfg(feature = "std")]
mod filter;
#[cfg(feature = "std")]
mod lint;
#[cfg(feature = "std")]
mod program;
#[cfg(feature = "std")]
mod sequence;
