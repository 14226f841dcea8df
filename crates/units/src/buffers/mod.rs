//! Trace buffers: their registers, and models that behave as the specifications describe.
//!
//! | module | contents |
//! |---|---|
//! | [`trbe`] | the Trace Buffer Extension: trace is written through the MMU of the core |
//! | [`tmc`] | the CoreSight Trace Memory Controller (ETB, ETF, ETR) and the older ETB |
//! | [`mtb`] | the Micro Trace Buffer of a Cortex-M0+ or a Cortex-M33 |
//!
//! A model is a plain value. What software or hardware does to it is a method call, and what a
//! specification leaves open is a named choice of the value.

pub mod mtb;
pub mod tmc;
pub mod trbe;
