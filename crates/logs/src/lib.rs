//! Execution logs of simulators and debuggers, and captures recorded from them.
//!
//! A log is a text of lines, and a line holds one or more [`Entry`] values. [`Reader`] converts
//! text to entries and [`Writer`] converts entries to text, with one file for each format.
//! [`Assembler`] converts entries to [`Step`](tracewright_base::Step)s: it looks up each
//! instruction in the program and determines its successor. [`Recorder`] feeds steps to trace units
//! in software and makes a capture of their trace. [`Converter`] makes the entries of another
//! format, and [`Counts`] sums what a processor executes. [`Follower`] makes the instructions of
//! logs that have changes of flow only.
//!
//! | format | file |
//! |---|---|
//! | QEMU, `-d exec,nochain` with one instruction a block | [`qemu`] |
//! | Tarmac, of Arm's Fast Models and of RTL | [`tarmac`] |
//! | Spike, `-l` and `--log-commits` | [`spike`] |
//! | Spike, in the columns of the RISC-V reference flow | [`spike_csv`] |
//! | comma-separated columns, for any other tool | [`csv`] |
//! | RVVI-TEXT | [`rvvi`] |
//! | the signals of RVFI in a Value Change Dump | [`rvfi`] |
//! | Kanata, of pipelines | [`kanata`] |
//! | BranchFlow, the changes of flow that TRACE32 exports | `branch_flow.rs` |
//! | others, by patterns of their lines: Ibex, CVA6, Sail and more | [`map`] |
//!
//! ```
//! use tracewright_base::{Isa, Step};
//! use tracewright_logs::{Assembler, Format, Lookup, Reader};
//!
//! let text = b"1 clk IT (1) 00008000 e1a00000 A svc_s : NOP\n\
//!              2 clk IT (2) 00008004 eafffffe A svc_s : B 0x8004\n";
//! let mut reader = Reader::new(Format::Tarmac, Isa::A32);
//! let mut assembler = Assembler::new(Lookup::default());
//! let mut retired = Vec::new();
//! let mut steps = |_: u16, step: &Step| {
//!     if let Step::Retired(r) = step {
//!         retired.push(r.address);
//!     }
//! };
//! reader.feed(text, &mut |entry| assembler.entry(&entry, &mut steps)).unwrap();
//! reader.finish(&mut |entry| assembler.entry(&entry, &mut steps)).unwrap();
//! assembler.finish(&mut steps);
//! assert_eq!(retired, [0x8000, 0x8004]);
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), warn(clippy::todo, clippy::unimplemented, clippy::unreachable))]
#![warn(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

mod assembler;
mod branch_flow;
mod choice;
pub mod code;
mod control;
mod converter;
mod counts;
pub mod csv;
mod entry;
mod follower;
mod format;
pub mod instruction_set;
pub mod kanata;
mod line;
mod logged_code;
mod lookup;
pub mod map;
mod outcomes;
mod processor;
mod programmed;
pub mod qemu;
mod reader;
mod recognised;
mod recorder;
pub mod rvfi;
pub mod rvvi;
pub mod selection;
pub mod spike;
pub mod spike_csv;
mod summary;
pub mod tarmac;
#[cfg(test)]
mod tests;
pub mod text;
mod writer;

pub use assembler::Assembler;
pub use converter::Converter;
pub use counts::Counts;
pub use entry::{Entry, Event, Executed, Mode, Opcode, Raised};
pub use follower::Follower;
pub use format::Format;
pub use instruction_set::InstructionSet;
pub use logged_code::LoggedCode;
pub use lookup::Lookup;
pub use map::{BuiltIn, LogMap};
pub use outcomes::Outcomes;
pub use processor::Timing;
pub use reader::{LogError, MAX_LINE, Reader};
pub use recognised::recognised;
pub use recorder::{RecordError, Recorder, Recording};
pub use summary::Summary;
pub use writer::{Writer, writes};
