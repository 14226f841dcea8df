//! `tracewright unit sequence`

use std::fmt::Write as _;
use std::path::Path;

use tracewright::units::finding::Finding;
use tracewright::units::program;

use super::subject;
use crate::args::UnitSequenceArgs;
use crate::fail::Fail;
use crate::output::Output;

/// Checks a recording.
pub fn run(args: &UnitSequenceArgs) -> Result<bool, Fail> {
    let Some((path, what)) = args.what.split_last() else { return Ok(false) };
    let subjects = subject::read(what)?;
    let path = Path::new(path);
    let text =
        std::fs::read_to_string(path).map_err(|error| Fail::input(path, &error.to_string()))?;
    let accesses = program::read(&text).map_err(|e| Fail::input(path, &e.to_string()))?;
    let mut output = Output::standard()?;
    let mut good = true;
    for subject in &subjects {
        let findings = subject.unit.sequence(&accesses);
        good &= !findings.iter().any(Finding::is_error);
        let mut text = format!("{}: {} accesses\n", subject.unit.name(), accesses.len());
        for finding in &findings {
            let _ = writeln!(text, "  {finding}");
        }
        if findings.is_empty() {
            text += "  no finding\n";
        }
        output.print(&text)?;
    }
    output.close()?;
    Ok(good)
}
