//! The decode session: a capture to a [`Listener`].
//!
//! | file | holds |
//! |---|---|
//! | `session.rs` | [`Session`]: one buffer, its link and its sources |
//! | `checkpoint.rs` | [`Checkpoint`]: where a session is, to resume from and to compare |
//! | `source.rs` | one source: its bytes on the way to its stream |
//! | `plan.rs` | what of a buffer can be decoded, and why the rest cannot |
//! | `route.rs` | [`Route`]: which bytes of a buffer are whose |
//! | `start.rs` | sources without a synchronisation packet, which start at their first byte |
//! | `jump_table.rs` | [`JumpTable`]: where the jump table of Zcmt lies, as the linker says it |
//! | `memory.rs` | a capture's dumps as program memory |
//! | `listener.rs` | [`Listener`]: what receives packets, elements and link events |
//! | `merge.rs` | [`Merge`]: findings of stretches that were decoded apart |
//! | `parallel/` | [`parallel::run`]: one buffer on several threads, with the answer of one |
//! | `input.rs` | [`Input`]: bytes in memory, in a file, from a pipe |
//! | `fork.rs` | [`Fork`]: listeners of which each worker has one |
//! | `raw.rs` | captures made of raw trace data |
//! | `words.rs` | parameters in words, as registers |
//! | `tally.rs` | [`Tally`]: counts at each stage, so that an empty result explains itself |
//! | `committed.rs` | [`Committed`]: holds transactions back until they are committed |
//! | `committed_listener.rs` | [`CommittedListener`]: the same for each source of a session |
#![forbid(unsafe_code)]

mod checkpoint;
pub mod committed;
pub mod committed_listener;
pub mod fork;
pub mod input;
pub mod jump_table;
mod listener;
pub mod memory;
pub mod merge;
pub mod ordered;
pub mod parallel;
pub mod plan;
pub mod raw;
pub mod route;
pub mod session;
mod source;
mod start;
pub mod tally;
pub mod words;

pub use checkpoint::Checkpoint;
pub use committed::Committed;
pub use committed_listener::CommittedListener;
pub use fork::{Fork, ForkState, Merging};
pub use input::{Input, More};
pub use jump_table::{JUMP_TABLE, JumpTable};
pub use listener::Listener;
pub use memory::Memory;
pub use merge::Merge;
pub use parallel::Jobs;
pub use plan::{Options, Plan, Planned, Skipped, Why};
pub use route::Route;
pub use session::Session;
pub use tally::{Counts, Tally};
