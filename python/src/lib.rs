//! The module `tracewright._tracewright`: what the Python package is made of.
//!
//! All classes are frozen, and a trace is decoded on a thread of its own, so that other threads of
//! Python execute meanwhile.
//!
//! | file | contents |
//! |---|---|
//! | `open.rs` | captures and raw trace data, from files and from memory |
//! | `trace.rs` | a capture that is ready to be decoded |
//! | `elements.rs`, `element.rs` | elements as objects, and their classes |
//! | `table.rs`, `values.rs` | tables for programs that have Arrow, and their rows as tuples |
//! | `results.rs` | profiles, coverage, indexes |
//! | `query.rs`, `errors.rs` | selections and errors |
//! | `shared.rs`, `stream.rs` | what the objects of a trace share, and the thread that decodes |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), warn(clippy::todo, clippy::unimplemented, clippy::unreachable))]
#![warn(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

mod element;
mod elements;
mod errors;
mod open;
mod query;
mod results;
mod shared;
mod stream;
mod table;
mod trace;
mod values;

#[pyo3::pymodule]
mod _tracewright {
    #[pymodule_export]
    use crate::element::{
        Context, DataAccess, DwtEvent, ExceptionTaken, Gap, Other, Range, SoftwareWrite, Timestamp,
    };
    #[pymodule_export]
    use crate::elements::Elements;
    #[pymodule_export]
    use crate::open::{command, demo, from_bytes, open, open_raw};
    #[pymodule_export]
    use crate::results::{Coverage, Index, Profile};
    #[pymodule_export]
    use crate::table::{Batch, RecordBatches, Table, table_info};
    #[pymodule_export]
    use crate::trace::Trace;
    #[pymodule_export]
    use crate::values::Tuples;
}
