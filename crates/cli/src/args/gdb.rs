//! Options of `tracewright gdbserver` and `tracewright gdb`.

use std::ffi::OsString;

use clap::Args;

use super::input::{HowArgs, InputArgs, JobsArgs};
use super::random::UseIndexArgs;

/// What is replayed to a debugger.
#[derive(Debug, Args)]
pub struct ReplayArgs {
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub how: HowArgs,
    #[command(flatten)]
    pub threads: JobsArgs,
    #[command(flatten)]
    pub index: UseIndexArgs,
}

/// How a trace is shown to gdb.
#[derive(Debug, Args)]
pub struct ShownArgs {
    #[command(flatten)]
    pub replay: ReplayArgs,
    /// Where the trace stands at the beginning: `start`, `end`, or what `monitor goto` takes, such
    /// as "last exception". Default: start.
    #[arg(long, value_name = "PLACE")]
    pub at: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  tracewright gdbserver CAPTURE                       in gdb: target remote | tracewright gdbserver CAPTURE
  tracewright gdbserver CAPTURE --at end --port 3333  in gdb: target remote :3333")]
pub struct GdbserverArgs {
    #[command(flatten)]
    pub shown: ShownArgs,
    /// Wait for gdb on this port of the loopback interface, 0 for any free one, instead of standard
    /// input and output. The first line that is printed is the address.
    #[arg(long, value_name = "PORT")]
    pub port: Option<u16>,
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  tracewright gdb CAPTURE                             at the first instruction
  tracewright gdb CAPTURE --at end                    at the last one, as with a core file
  tracewright gdb CAPTURE --unwinder                  callers without an invented stack
  tracewright gdb CAPTURE --at end -- -batch -ex backtrace  arguments of gdb are after --")]
pub struct GdbArgs {
    #[command(flatten)]
    pub shown: ShownArgs,
    /// The gdb that is started. Default: the first of gdb-multiarch, arm-none-eabi-gdb and gdb.
    #[arg(long = "gdb", value_name = "PROGRAM")]
    pub program: Option<OsString>,
    /// Show callers by a script in the Python of gdb, and not by an invented stack: also those of
    /// functions without unwind tables. They end at an exception.
    #[arg(long)]
    pub unwinder: bool,
    /// Arguments of gdb.
    #[arg(last = true, value_name = "GDB_ARGUMENT")]
    pub arguments: Vec<OsString>,
}
