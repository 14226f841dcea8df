//! What must hold of any bytes. The fuzz targets call these;
//! `crates/tracewright/tests/properties/` calls them with random and damaged bytes, for a short
//! while.
//!
//! A property returns nothing: it panics where it does not hold.
#![forbid(unsafe_code)]

pub mod budget;
pub mod captures;
#[path = "../../crates/tracewright/tests/cases/case.rs"]
pub mod case;
pub mod cases;
#[path = "../../crates/tracewright/tests/cases/chunks.rs"]
pub mod chunks;
pub mod cycles;
pub mod etmv4;
pub mod etrace;
pub mod etrace_flow;
pub mod gdb;
pub mod index;
pub mod levels;
pub mod packets;
pub mod perf;
pub mod properties;
pub mod script;
pub mod units;
#[path = "../../crates/tracewright/tests/cases/ways.rs"]
pub mod ways;
