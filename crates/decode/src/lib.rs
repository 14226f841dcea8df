//! The decode session: a capture to a [`Listener`].
//!
//! | file | holds |
//! |---|---|
//! | `session.rs` | [`Session`]: decodes one buffer |
//! | `checkpoint.rs` | [`Checkpoint`]: the state of a session, to resume from and to compare |
//! | `source.rs` | one source of a session: its bytes and its stream |
//! | `plan.rs` | [`Plan`]: which sources of a buffer can be decoded, and why the others cannot |
//! | `route.rs` | [`Route`]: separates the bytes of a buffer by source |
//! | `start.rs` | sources without a synchronisation packet, which start at their first byte |
//! | `jump_table.rs` | [`JumpTable`]: the address of the jump table of Zcmt, from the program's symbols |
//! | `memory.rs` | a capture's dumps as program memory |
//! | `listener.rs` | [`Listener`]: what receives packets, elements and link events |
//! | `forwarded.rs` | optional listeners, and references to listeners |
//! | `push.rs` | [`Push`]: data that a caller pushes, for a consumer that may wait |
//! | `queue.rs` | [`Queue`]: elements that wait to be taken |
//! | `report.rs` | [`Reports`]: errors and warnings from a chosen level on |
//! | `merge.rs` | [`Merge`]: results of chunks that were decoded separately |
//! | `in_order.rs` | [`in_order()`]: work on threads, with results in order |
//! | `parallel/` | [`parallel::run`]: one buffer on several threads, with the output of one |
//! | `ordered.rs` | [`ordered::each`]: several tasks at once, with their output in order |
//! | `interleaved.rs`, `timed.rs` | [`interleaved::each`]: the same in the order of timestamps |
//! | `pulled.rs` | [`pulled::each`]: the same on one thread |
//! | `input.rs` | [`Input`]: bytes from memory, a file or a pipe |
//! | `step_counts.rs` | [`StepCounts`]: counts of executed cached blocks, for listeners |
//! | `fork.rs` | [`Fork`]: listeners that can be forked for each worker |
//! | `raw.rs` | captures made of raw trace data |
//! | `swo/` | [`swo::Receiver`]: the trace of an ITM without registers, from any byte on, as it arrives |
//! | `detect/` | framing, alignment, protocol and registers of raw trace data; causes of poor results |
//! | `parameters.rs` | converts parameters that are text to registers |
//! | `tally.rs` | [`Tally`]: counts at each stage, so that an empty result can be explained |
//! | `committed.rs` | [`Committed`]: delays transactions until they are committed |
//! | `folded.rs` | [`Folded`]: joins the ranges of an ETMv3 up to the next waypoint |
//! | `committed_listener.rs` | [`CommittedListener`]: the same for each source of a session |
//! | `error_limit.rs` | [`ErrorLimit`]: ends decoding after a number of errors |
//! | `element_list.rs` | elements with the bytes of own content |
//!
//! ```
//! use tracewright_base::Element;
//! use tracewright_capture::{Buffer, BufferRef, Capture, Format, Source};
//! use tracewright_decode::{Listener, Memory, Options, Plan, Session};
//!
//! struct Lines(Vec<String>);
//!
//! impl Listener for Lines {
//!     fn element(&mut self, _source: usize, at: u64, element: Element) {
//!         self.0.push(format!("{at} {element}"));
//!     }
//! }
//!
//! let bytes = vec![0, 0, 0, 0, 0, 0x80, 0x01, b'h'];
//! let capture = Capture {
//!     buffers: vec![Buffer::new("swo", Format::SourceData, bytes)],
//!     sources: vec![Source {
//!         device_type: "ITM".into(),
//!         buffers: vec![BufferRef { buffer: 0, stream: None }],
//!         ..Source::default()
//!     }],
//!     ..Capture::default()
//! };
//! let options = Options::default();
//! let plan = Plan::new(&capture, 0, &options).expect("buffer 0");
//! let mut session = Session::new(&capture, &plan, &Memory::new(&capture), &options)?;
//! let mut lines = Lines(Vec::new());
//! session.run(plan.parts(&capture), &mut lines);
//! assert!(lines.0[1].starts_with("6 software-write"), "{:?}", lines.0);
//! # Ok::<(), tracewright_decode::ForeignPlan>(())
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), warn(clippy::todo, clippy::unimplemented, clippy::unreachable))]
#![warn(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

mod checkpoint;
pub mod committed;
pub mod committed_listener;
pub mod detect;
mod element_list;
mod error_limit;
mod folded;
pub mod fork;
mod in_order;
pub mod input;
pub mod interleaved;
pub mod jump_table;
pub mod listener;
pub mod memory;
pub mod merge;
pub mod ordered;
pub mod parallel;
pub mod parameters;
pub mod plan;
mod program_width;
pub mod pulled;
pub mod push;
pub mod queue;
pub mod raw;
pub mod report;
pub mod route;
pub mod session;
mod source;
mod source_memory;
mod start;
pub mod step_counts;
pub mod swo;
pub mod tally;
pub mod timed;

pub use checkpoint::Checkpoint;
pub use committed::Committed;
pub use committed_listener::CommittedListener;
pub use error_limit::ErrorLimit;
pub use folded::Folded;
pub use fork::{Fork, ForkState, Growth, Merging, Received, Size};
pub use in_order::in_order;
pub use input::{Input, More};
pub use jump_table::{JUMP_TABLE, JumpTable};
pub use listener::{Event, Listener, Packets, SourceBytes, Wants};
pub use memory::{Memory, Program};
pub use merge::Merge;
pub use parallel::Jobs;
pub use plan::{ForeignPlan, Options, Plan, Planned, Skipped, Why};
pub use push::{Consumer, Push, PushError, Response};
pub use queue::Queue;
pub use report::{Report, Reports, Severity};
pub use route::Route;
pub use session::{Caches, Session};
pub use step_counts::StepCounts;
pub use tally::{Counts, Tally};
pub use timed::{Timed, TimedText};
