//! The remote protocol of gdb over a trace, with reverse execution. (gdb, appendix "GDB Remote
//! Serial Protocol")
//!
//! | file | contents |
//! |---|---|
//! | `packet.rs` | [`Framer`], [`emit`]: packets from bytes, and back |
//! | `request.rs` | [`Request`]: what a packet asks for |
//! | `hex.rs` | numbers and bytes in hexadecimal |
//! | `target.rs` | [`Architecture`]: registers, and their description |
//! | `synthetic.rs` | the invented stack that shows callers to gdb |
//! | `server.rs` | [`Server`]: answers |
//! | `registers.rs` | registers and memory |
//! | `resume.rs` | steps and runs |
//! | `monitor.rs` | the commands of `monitor` |
//! | `connection.rs` | [`serve`], [`Port`]: a connection to gdb |
//!
//! A trace of instructions has no registers: the program counter is known, and all others are
//! answered as unavailable. gdb finds callers by unwinding registers and memory of the stack. So
//! that it finds those of the trace, the server invents a stack: a stack pointer in a range where
//! the program has no memory, and the return addresses, at the places that the unwind tables of the
//! program name; of the status of an Arm processor it states the instruction set only. `monitor
//! stack off` turns it off.
//!
//! The server does no I/O: [`serve`] passes packets between it and two streams, or a caller passes
//! bytes to [`Server::feed`] and writes what it returns.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), warn(clippy::todo, clippy::unimplemented, clippy::unreachable))]
#![warn(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

mod btrace;
mod connection;
mod hex;
mod monitor;
mod packet;
mod registers;
mod request;
mod resume;
mod server;
mod synthetic;
mod target;
mod thread;
mod threads;

pub use connection::{Port, serve};
pub use monitor::UNWINDER;
pub use packet::{Framer, MOST, Received, emit};
pub use request::{Request, Resume};
pub use server::Server;
pub use target::Architecture;
