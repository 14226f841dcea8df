//! SQL over processor trace: captures as tables of DataFusion, decoded while they are read.
//!
//! | file | contents |
//! |---|---|
//! | `captures.rs` | the captures, each with its index |
//! | `session.rs`, `literals.rs` | a session; how a query is read |
//! | `provider.rs` | a table: what a query wants of it, and its plan |
//! | `spans.rs`, `selection.rs`, `narrow.rs` | what filters select, and so what is decoded |
//! | `units.rs` | units, as rows of a table themselves |
//! | `scan.rs`, `decode.rs` | the operator that decodes units |
//! | `statistics.rs` | what indexes have of the rows |
//! | `functions/` | `hex`, `line`, `symbol` |
//! | `output.rs`, `text.rs` | results as text, CSV and JSON |
//!
//! A table is planned as two operators: a table of units, which is in memory, and above it
//! [`decode::TraceDecodeExec`], which decodes the units that it has as rows. What divides plans over
//! machines can divide the units. `docs/sql.md` describes the program.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), warn(clippy::todo, clippy::unimplemented, clippy::unreachable))]

pub mod captures;
pub mod decode;
mod functions;
mod literals;
pub mod narrow;
pub mod output;
pub mod provider;
pub mod scan;
pub mod selection;
pub mod session;
pub mod spans;
mod statistics;
mod text;
pub mod units;

pub use captures::{CaptureError, Captures, Opened, Opening};
pub use session::{Limits, Session};
