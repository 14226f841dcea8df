//! A trace as tables: Arrow record batches, decoded on demand.
//!
//! ```
//! use tracewright_columns::{Query, table};
//!
//! # let snapshot = "../../tests/captures/etmv4/capture";
//! let trace = tracewright::open(snapshot)?;
//! let query = Query { columns: Some(vec!["address".into(), "taken".into()]), ..Query::default() };
//! let mut rows = 0;
//! table("ranges")?.read(&trace, &query, None, &mut |batch| {
//!     rows += batch.num_rows();
//!     true
//! })?;
//! assert!(rows > 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `schema.rs` | types of columns, and the schema of a table |
//! | `dictionary.rs`, `arrays.rs` | names that occur often; rows to arrays |
//! | `query.rs` | what is selected, and why a table cannot be read |
//! | `events.rs`, `read.rs` | where rows come from: a decoded buffer, or a part with an index |
//! | `kinds.rs` | the kinds of elements |
//! | `rows.rs` | the position, time, context and function of each element |
//! | `output.rs` | rows to record batches: projection, limit, `--signed`, views |
//! | `tables/` | the tables: one file for each, or for some that are alike |
//! | `files/` | Parquet, Arrow IPC, CSV |
//!
//! `docs/tables.md` describes the tables. What is unknown is null, never 0.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), warn(clippy::todo, clippy::unimplemented, clippy::unreachable))]
#![warn(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

mod arrays;
mod dictionary;
mod events;
pub mod files;
mod kinds;
mod output;
mod query;
mod read;
mod rows;
mod schema;
mod tables;

pub use arrow_array;
pub use arrow_schema;

pub use output::Batches;
pub use query::{Decoded, Query, Stop, TableError};
pub use rows::{Found, Place, Row, conversion, elements};
pub use schema::{ColumnInfo, SCHEMA_VERSION, Type};
pub use tables::{Division, Table, table, tables};
