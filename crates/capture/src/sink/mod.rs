//! Trace buffers as hardware leaves them: the oldest byte is anywhere, and registers record where.
//!
//! | file | contents |
//! |---|---|
//! | `layout.rs` | [`Layout`]: which stored bytes are trace, oldest first, and what was lost |
//! | `trbe.rs` | the Trace Buffer Extension |
//! | `tmc.rs` | ETR, ETF and ETB: the CoreSight TMC and the older ETB |
//! | `mtb.rs` | the Micro Trace Buffer |
//! | `riscv.rs` | the RAM sink of RISC-V |
//!
//! Which registers belong to which buffer of a capture is found in `sink_registers.rs`. A
//! [`Buffer`](crate::Buffer) with registers has the trace in its files, oldest byte first, and the
//! stored bytes in its [`Sink`].

mod layout;
pub(crate) mod mtb;
pub(crate) mod riscv;
pub(crate) mod tmc;
pub(crate) mod trbe;

pub use layout::{Kind, Layout, Sink};
