//! Trace units and trace buffers as the software that programs them sees them.
//!
//! | module | contents |
//! |---|---|
//! | [`register`] | the elements of the register tables |
//! | [`buffers`] | trace buffers: TRBE, TMC and ETB, MTB |
//! | [`ete`] | ETMv4 and ETE |
//! | [`catalogue`] | the units by name: where a unit is added |
//! | [`mod@unit`] | what every unit can do: [`Unit`] |
//! | [`values`], [`finding`], [`request`], [`routine`], [`sink`], [`program`], [`verdict`] | what goes in and out of a unit |
//! | [`comparison`] | what a capture traced, against what must be traced |
//! | [`etm`] | ETMv1.0 to ETMv3.5 |
//! | [`ptm`] | the PTM: PFTv1.0 and PFTv1.1 |
//! | [`riscv`] | RISC-V: encoder, funnel, RAM sink, PIB, ATB bridge |
//!
//! The crate knows registers, resources, filters and the order of register accesses. It knows no
//! packets: those are in `tracewright-protocols`. Without the feature `std` it has the register
//! tables only.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

pub mod ete;
pub mod etm;
pub mod ptm;
pub mod register;
pub mod riscv;

#[cfg(feature = "std")]
pub mod buffers;
#[cfg(feature = "std")]
pub mod catalogue;
#[cfg(feature = "std")]
pub mod comparison;
#[cfg(feature = "std")]
pub mod finding;
#[cfg(feature = "std")]
pub mod group;
#[cfg(feature = "std")]
pub mod program;
#[cfg(feature = "std")]
pub mod request;
#[cfg(feature = "std")]
pub mod routine;
#[cfg(feature = "std")]
pub mod sink;
#[cfg(feature = "std")]
pub mod unit;
#[cfg(feature = "std")]
pub mod values;
#[cfg(feature = "std")]
pub mod verdict;
#[cfg(feature = "std")]
mod width;

#[cfg(feature = "std")]
pub use unit::Unit;
