//! Inputs of benchmarks: generated programs, and their traces and captures.
//!
//! | file | holds |
//! |---|---|
//! | `program.rs` | [`Program`]: A64 code, with the behaviour of its branches |
//! | `workloads.rs` | [`Workload`]: the programs |
//! | `unit.rs` | [`Unit`]: an ETMv4 trace unit |
//! | `walk.rs` | [`trace`]: runs a program until its trace has the requested length |
//! | `capture.rs` | captures of traces and programs; captures repeated to a length |
//! | `job.rs` | job files for the driver of OpenCSD |
//!
//! The program `inputs` writes captures, and `pairs` times a capture on one thread and on several.
//! `cargo xtask bench-reference` compares with OpenCSD; `benches/` times single parts.
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
