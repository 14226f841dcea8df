//! Trace units and trace buffers as the software that programs them sees them.
//!
//! | module | contents |
//! |---|---|
//! | [`register`] | the elements of the register tables |
//! | [`ete`] | ETMv4 and ETE |
//!
//! The crate knows registers, resources, filters and the order of register accesses. It knows no
//! packets: those are in `tracewright-protocols`.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), no_std)]

extern crate alloc;

pub mod ete;
pub mod register;
