//! Output formats and summaries of a trace.
//!
//! | module | output |
//! |---|---|
//! | [`text`] | packets and elements as text for people |
//! | [`json`] | packets and elements as JSON Lines |
//! | [`branches`] | branches that were taken and exceptions, in order |
//! | [`branch_flow`] | changes of flow as TRACE32 exports them |
//! | [`perf_script`] | branch and instruction samples as `perf script` prints them |
//! | [`instructions`], [`disassembly`] | executed instructions |
//! | [`functions`], [`calls`] | the table of functions, calls in order |
//! | [`timing`] | how long functions and exceptions take |
//! | [`coverage`] | executed lines, outcomes of branches |
//! | [`decisions`] | outcomes of decisions, values of conditions, MC/DC |
//! | [`coverage_runs`], [`uncovered`] | coverage by run, and what is not covered |
//! | [`diff`] | functions or lines that differ between two traces |
//! | [`history`] | the last instructions before an event |
//! | [`info`] | the content of a capture |
//! | [`itm`] | text, exceptions, samples and watched data of an ITM |
//! | [`filter`] | which packets, elements and instructions a listing shows |
//! | [`frames`], [`link`] | formatter frames, and the data of each trace ID |
//! | [`sinks`] | checksums, counts, edges, coverage |
//! | [`stats`], [`explain`] | counts by kind, and remarks on what is missing or wrong |
//! | [`contradictions`] | the share of a trace that contradicts the program |
//! | [`compare`] | the first difference of two traces, or of a trace and an execution log |
//!
//! ```
//! # #[cfg(feature = "disassembly")]
//! # {
//! use tracewright_base::Isa;
//! use tracewright_views::disassembly::disassemble;
//!
//! assert_eq!(disassemble(Isa::A64, 0x1400_0002, 0x1000), "b 0x1008");
//! # }
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), warn(clippy::todo, clippy::unimplemented, clippy::unreachable))]
#![warn(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

pub mod branch_flow;
pub mod branches;
pub mod calls;
pub mod compare;
pub mod contradictions;
pub mod coverage;
pub mod coverage_runs;
pub mod decisions;
pub mod diff;
pub mod digits;
pub mod disassembly;
pub mod exemptions;
pub mod explain;
pub mod filter;
mod fold;
pub mod frames;
pub mod function_changes;
pub mod functions;
pub mod history;
pub mod info;
pub mod instructions;
pub mod interpretation;
pub mod itm;
pub mod json;
pub mod json_object;
pub mod line_table;
pub mod lines;
pub mod link;
mod lister;
pub mod loop_turns;
pub mod object_coverage;
mod packet_fields;
pub mod perf_script;
mod ports;
pub mod range_limit;
pub mod range_tails;
mod render_cache;
pub mod sinks;
pub mod sources;
pub mod stats;
pub mod text;
pub mod timing;
pub mod uncovered;

pub use filter::Filter;
pub use line_table::LineTable;
pub use lines::Lines;
pub use sources::{Source, SymbolAt};
pub use stats::Stats;
