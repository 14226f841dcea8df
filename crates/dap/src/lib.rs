//! The Debug Adapter Protocol over a trace, with steps backwards. (Debug Adapter Protocol 1.68)
//!
//! | file | contents |
//! |---|---|
//! | `framing.rs` | [`Framer`]: messages from bytes, and back |
//! | `message.rs` | requests, their arguments, and what answers them |
//! | `handshake.rs` | [`Handshake`]: `initialize`, `launch` |
//! | `session.rs` | [`Session`]: answers |
//! | `stack.rs`, `frames.rs` | threads and frames, inlined ones too |
//! | `variables.rs`, `address.rs` | what is known of a frame; memory |
//! | `stepping.rs`, `targets.rs` | where steps lead: over calls, in both directions; into which calls |
//! | `moving.rs`, `motion.rs` | runs and steps with breakpoints, and where they end |
//! | `going.rs` | jumps to executions of a line, and to the beginning of a call |
//! | `breakpoint.rs`, `breakpoints.rs`, `conditions.rs` | breakpoints of each kind, conditions, numbers of hits |
//! | `filters.rs`, `exceptions.rs` | exceptions and lost trace, as what ends a run |
//! | `work.rs`, `pending.rs` | counts of executions, and log points, while the client waits for nothing |
//! | `code.rs`, `functions.rs` | disassembly |
//! | `program.rs`, `sources.rs` | source lines, and source files |
//! | `evaluate.rs` | queries and names |
//! | `output.rs` | text of an ITM or STM |
//! | `connection.rs`, `control.rs` | [`Connection`], [`Port`]: a connection to a client; requests that end others |
//!
//! What the trace does not have, registers and variables, is shown as unavailable. A step is
//! followed on the call stacks of the trace, so that one backwards passes over calls as one
//! forwards does.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), warn(clippy::todo, clippy::unimplemented, clippy::unreachable))]
#![warn(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

mod address;
mod breakpoint;
mod breakpoints;
mod code;
mod conditions;
mod connection;
mod control;
mod evaluate;
mod exceptions;
mod executions;
mod filters;
mod frames;
mod framing;
mod functions;
mod going;
mod handshake;
mod message;
mod motion;
mod moving;
mod output;
mod pending;
mod program;
mod session;
mod sources;
mod stack;
mod stepping;
mod targets;
mod variables;
mod work;

pub use connection::{Connection, Port};
pub use control::Control;
pub use framing::{Damage, Framer, MOST, Received, emit};
pub use handshake::{Before, Handshake, Launch};
pub use message::{Arguments, NoRequest, Outbox, Refused, Request};
pub use session::{Replayed, Session};
pub use sources::SourceFiles;
