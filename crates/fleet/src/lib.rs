//! Units of work of processor traces, and their sums.
//!
//! | file | contents |
//! |---|---|
//! | `capture.rs` | [`CaptureIdentity`]: what a unit is a part of |
//! | `captures.rs` | [`Captures`]: thousands of them |
//! | `unit_id.rs` | [`UnitId`]: the identifier of a unit |
//! | `program_sums.rs` | [`ProgramSums`]: the code of program files |
//! | `plan.rs` | [`Plan`]: the [`Unit`]s of a job |
//! | `part.rs` | [`Part`]: the result of some units, and the sum of parts |
//! | `file.rs`, `plan_file.rs` | parts and plans as files |
//! | `lines.rs` | what these files have in common |
//! | `difference.rs` | what differs between parts that have no sum |
//! | `counts.rs` | what profiles and coverage are made of |
//! | `firsts.rs` | where something happened first |
//! | `lists.rs` | branch lists |
//! | `measure.rs` | [`Measured`]: decodes a piece, and counts |
//! | `error.rs` | [`FleetError`] |
//!
//! A unit is a run of segments of an index, or whole buffers. It is computed by itself, on any
//! machine; the sum of all units has the bytes that the whole has. There is no scheduler here:
//! whatever executes commands can execute units. `docs/units.md` describes them.
//!
//! ```
//! use tracewright_fleet::{Job, Plan};
//!
//! let job = Job { name: "counts".to_owned(), divides: true };
//! let plan = Plan::new(job, Vec::new(), tracewright_fleet::UNIT)?;
//! assert!(plan.units.is_empty());
//! # Ok::<(), tracewright_fleet::FleetError>(())
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), warn(clippy::todo, clippy::unimplemented, clippy::unreachable))]
#![warn(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

mod capture;
mod captures;
mod counts;
mod difference;
mod error;
mod file;
mod firsts;
mod lines;
pub mod lists;
mod measure;
mod part;
mod plan;
mod plan_file;
mod program_sums;
mod unit_id;

pub use capture::{CaptureIdentity, Extent, divided};
pub use captures::Captures;
pub use counts::BufferCounts;
pub use error::FleetError;
pub use measure::Measured;
pub use part::{Done, Part, Payload, States};
pub use plan::{Job, Piece, Plan, Planned, TOOL, UNIT, Unit, borders};
pub use plan_file::PlanFile;
pub use program_sums::{Codes, ProgramSums};
pub use unit_id::UnitId;
