//! `tracewright man`

use std::path::Path;

use clap::CommandFactory;

use crate::args::Cli;
use crate::fail::Fail;

/// Writes `tracewright.1`, and a page for each verb, to `folder`, which is made if it does not
/// exist. Pages that exist are replaced.
pub fn run(folder: &Path) -> Result<bool, Fail> {
    std::fs::create_dir_all(folder).map_err(|error| Fail::write(Some(folder), &error))?;
    clap_mangen::generate_to(Cli::command(), folder)
        .map_err(|error| Fail::write(Some(folder), &error))?;
    Ok(true)
}
