//! Trace units and trace buffers as the software that programs them sees them.
//!
//! | module | contents |
//! |---|---|
//! | [`register`] | the elements of the register tables |
//! | [`buffers`] | trace buffers: TRBE, TMC and ETB, MTB |
//!
//! The crate knows registers, resources, filters and the order of register accesses. It knows no
//! packets: those are in `tracewright-protocols`.
#![forbid(unsafe_code)]

pub mod buffers;
pub mod register;
