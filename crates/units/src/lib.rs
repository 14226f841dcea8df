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
//!
//! ```
//! # #[cfg(feature = "std")]
//! # {
//! use tracewright_units::catalogue;
//! use tracewright_units::unit::values;
//!
//! let unit = catalogue::named("ETMv4").unwrap();
//! let values = values(&*unit, &[("TRCCONFIGR".into(), 0x1001)])?;
//! let sentences = unit.explain(&values);
//! assert!(sentences.iter().any(|sentence| sentence.contains("return stack")), "{sentences:?}");
//! # }
//! # Ok::<(), String>(())
//! ```
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), warn(clippy::todo, clippy::unimplemented, clippy::unreachable))]
#![warn(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

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
