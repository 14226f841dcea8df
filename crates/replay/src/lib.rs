//! Replays a trace: a position between its instructions, and steps in both directions.
//!
//! | file | contents |
//! |---|---|
//! | `position.rs` | [`Position`]: an executed instruction, as text too |
//! | `machine.rs` | [`Machine`]: the position, steps, threads, memory |
//! | `run.rs` | [`Machine::run`]: to the next or the previous breakpoint |
//! | `accesses.rs`, `watch.rs` | [`Machine::run_watching`]: to data accesses; the memory that they show |
//! | `stack.rs`, `frame.rs` | [`Machine::stack`]: the call stack at the position |
//! | `calls.rs` | [`Machine::frame_begin`], [`Machine::frame_end`]: where a frame begins and ends |
//! | `places.rs` | [`Machine::go_to_place`]: places that are named by words |
//! | `blocks.rs` | [`Machine::blocks`]: straight code that was executed before the position |
//! | `windows.rs` | decoded parts of the trace, cached |
//! | `program.rs` | the program memory of each source: sizes of instructions |
//!
//! A [`Machine`] stands **before** an executed instruction, as a debugger does that has stopped
//! there. Each source executes one thread, and one position is that of all: another source is at
//! its last instruction up to the position, and tasks that wait are where they continue
//! ([`Machine::parked`]). Registers and variables are not in a trace of instructions; what
//! is known is where each thread is, what called it, and the memory of the program that no
//! instruction writes.
//!
//! The crate does no I/O. It needs an index with a view, which
//! [`Subject::make`](tracewright::index::Subject::make) also makes in memory.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), warn(clippy::todo, clippy::unimplemented, clippy::unreachable))]
#![warn(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

mod accesses;
mod blocks;
mod calls;
mod frame;
mod machine;
mod places;
mod position;
mod program;
mod run;
mod stack;
mod watch;
mod windows;

pub use blocks::Block;
pub use frame::{Frame, Parked};
pub use machine::{Direction, Instruction, Machine, Stop, Stopped};
pub use places::NoPlace;
pub use position::Position;
pub use watch::{Accessed, Watch};
