//! gdb on a trace, compared with gdb on the program in QEMU.

mod btrace;
mod captures;
mod common;
mod example;
mod machines;
mod oracle;
mod session;
mod tasks;
mod two_tasks;
mod unwinder;
mod watch;

pub(crate) use common::{Folder, TRACEWRIGHT, gdb, tracewright, transcript};
