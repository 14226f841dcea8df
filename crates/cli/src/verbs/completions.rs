//! `tracewright completions`

use std::path::Path;

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use crate::args::Cli;
use crate::fail::Fail;
use crate::output::Output;

/// Runs the verb. The completions are for the name that the command was called by.
pub fn run(shell: Shell) -> Result<bool, Fail> {
    let mut script = Vec::new();
    generate(shell, &mut Cli::command(), called_as(), &mut script);
    let mut output = Output::standard()?;
    output.print(&String::from_utf8_lossy(&script))?;
    output.close()?;
    Ok(true)
}

/// The file name in the first argument, without the ending of programs. A name with characters that
/// a shell interprets is not used.
fn called_as() -> String {
    let path = crate::arguments::all().first().cloned().unwrap_or_default();
    let name = Path::new(&path).file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
    if name.is_empty() || name.starts_with('-') || !name.chars().all(plain) {
        return "tracewright".to_owned();
    }
    name.to_owned()
}
