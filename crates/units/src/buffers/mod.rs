//! Trace buffers: their registers, and models that behave as the specifications describe.
//!
//! | module | contents |
//! |---|---|
//! | [`trbe`] | the Trace Buffer Extension: trace is written through the MMU of the core |
//! | [`tmc`] | the CoreSight Trace Memory Controller (ETB, ETF, ETR) and the older ETB |
//! | [`buffer_unit`] | each of them as a [`Unit`](crate::Unit): registers and state in words |
//! | [`mtb`] | the Micro Trace Buffer of a Cortex-M0+ or a Cortex-M33 |
//!
//! A model is a plain value. What software or hardware does to it is a method call, and what a
//! specification leaves open is a named choice of the value.

pub mod buffer_unit;
pub mod mtb;
mod ring;
pub mod tmc;
pub mod trbe;

pub(crate) use ring::ring;
