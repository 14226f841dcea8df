//! Call stacks.
//!
//! [`Stacks`] takes the [transfers](crate::Transfer) of each source in order, and makes the stack of
//! each thread. A [`Visitor`] receives the begin and the end of each frame, and the instructions
//! between them.
//!
//! A return is checked against the return addresses of the frames: it ends the frame on top, or all
//! frames above the one that it returns to (longjmp, unwinding). A branch to the first instruction
//! of another function is a tail call: it replaces the frame, and the return address stays. An
//! exception is a frame above the one that it interrupts. After a loss, frames stay, and are marked
//! as uncertain; where the trace continues in a function that has a frame, the frames above it end.
//! A return to a function that was entered before the trace began makes the frame of that function
//! beneath all others.
//!
//! At most [`MAX_DEPTH`] frames of a thread are open at once, and [`MAX_FRAMES`] of all threads.
//! Calls beyond them are counted: a frame ends where it calls, and another one of the same function
//! begins at the return, which is not checked.
//!
//! | file | contents |
//! |---|---|
//! | `frame.rs` | [`Begin`], [`Entry`], [`Ending`]; the frames of one thread |
//! | `visitor.rs` | [`Visitor`], [`Position`] |
//! | `engine.rs` | [`Stacks`] |
//! | `branches.rs` | calls, returns and branches out of a function |
//! | `exceptions.rs` | exceptions, and losses of trace |
//! | `choice.rs` | which of several tasks continues |
//! | `switches.rs`, `suspended.rs` | threads without identifiers in the trace |
//! | `tasks.rs` | threads that a variable of the operating system names |
//! | `events/` | tasks and exceptions of ITMs and STMs, which have no instructions |
//! | `stores.rs` | handlers that store to the variable of the running task, by another trace |
//! | `buffers.rs` | [`BufferSources`] |
//! | `joined.rs` | the trace of a thread in several buffers, of several processors |
//! | `saved.rs` | [`SavedStacks`]: the state of all stacks as a value |
//! | `part/` | [`Part`]: frames of a part of a trace, found without those before |
//! | `counts.rs` | [`StackCounts`] |

mod branches;
mod buffers;
mod choice;
mod counts;
mod engine;
mod events;
mod exceptions;
mod frame;
mod joined;
mod part;
mod saved;
mod stores;
mod suspended;
mod switches;
mod tasks;
#[cfg(test)]
mod tests;
mod visitor;

pub use crate::code::FunctionId;
pub use buffers::{BufferSource, BufferSources, ThreadIdentifier};
pub use counts::StackCounts;
pub use engine::Stacks;
pub use frame::{Begin, Ending, Entry};
pub(crate) use part::PartBuilder;
pub use part::{Join, Part, PathCounts};
pub use saved::{SavedCoroutine, SavedFrame, SavedSource, SavedStacks, SavedThread};
pub use suspended::SWITCHES;
pub use visitor::{Position, Time, Visitor};

use frame::{Beyond, Frame, Thread};

/// The most frames of a thread that are open at once, and one more. A frame that calls a function
/// beyond them ends there, and is continued when the function returns.
pub const MAX_DEPTH: usize = 1 << 16;

/// As [`MAX_DEPTH`], of all threads together; each thread may have one frame more.
pub const MAX_FRAMES: u64 = 1 << 20;
