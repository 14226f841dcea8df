//! `tracewright completions`

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use crate::args::Cli;
use crate::fail::Fail;
use crate::output::Output;

/// Runs the verb.
pub fn run(shell: Shell) -> Result<bool, Fail> {
    let mut script = Vec::new();
    generate(shell, &mut Cli::command(), "tracewright", &mut script);
    let mut output = Output::standard()?;
    output.print(&String::from_utf8_lossy(&script))?;
    output.close()?;
    Ok(true)
}
