//! What Tracewright is timed with.
//!
//! | file | holds |
//! |---|---|
//! | `program.rs` | [`Program`]: A64 code, and what decides where its branches go |
//! | `workloads.rs` | [`Workload`]: the programs |
//! | `unit.rs` | [`Unit`]: an ETMv4 trace unit that writes what ran |
//! | `walk.rs` | [`trace`]: a program, run until its trace is long enough: a [`Traced`] |
//! | `capture.rs` | traces and programs as captures; captures made longer |
//! | `job.rs` | what the reference's driver is told of a capture |
//!
//! The program `inputs` writes captures. `cargo xtask bench-reference` times them; `benches/` times parts.
#![forbid(unsafe_code)]

pub mod capture;
pub mod job;
pub mod program;
pub mod unit;
pub mod walk;
pub mod workloads;

pub use program::{Op, Program, Taken};
pub use unit::Unit;
pub use walk::{Traced, trace};
pub use workloads::Workload;
