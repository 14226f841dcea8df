//! Options of `tracewright dap`.

use std::path::PathBuf;

use clap::{Args, Parser};

use super::gdb::ReplayArgs;

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  tracewright dap              the command of a debug adapter, in the configuration of an editor
  tracewright dap CAPTURE      of this capture, where the configuration names none
  tracewright dap --port 4711  for an editor that connects to a port")]
pub struct DapArgs {
    /// The capture of a configuration without `capture`.
    #[arg(value_name = "CAPTURE")]
    pub input: Option<PathBuf>,
    /// Wait for the editor on this port of the loopback interface, 0 for any free one, instead of
    /// standard input and output. The first line that is printed is the address.
    #[arg(long, value_name = "PORT")]
    pub port: Option<u16>,
}

/// What a configuration selects: the options of a command that reads a capture.
#[derive(Debug, Parser)]
#[command(name = "arguments", disable_help_flag = true)]
pub struct Launched {
    #[command(flatten)]
    pub replay: ReplayArgs,
}
