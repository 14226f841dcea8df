//! `tracewright unit sequence`

use std::fmt::Write as _;
use std::path::Path;

use tracewright::units::finding::Finding;
use tracewright::units::program;
use tracewright::views::json::{self, Object};

use super::{finding, subject};
use crate::args::{InfoFormat, UnitSequenceArgs};
use crate::fail::Fail;
use crate::inputs::read_text;
use crate::output::Output;

/// Checks a recording.
pub fn run(args: &UnitSequenceArgs) -> Result<bool, Fail> {
    let Some((path, what)) = args.what.split_last().filter(|(_, what)| !what.is_empty()) else {
        let why = "write the unit, and then the recording";
        return Err(Fail::option("sequence", &args.what.join(" "), why));
    };
    let subjects = subject::read(what)?;
    let path = Path::new(path);
    let text = read_text(path)?;
    let accesses = program::read(&text).map_err(|e| Fail::input(path, &e.to_string()))?;
    let mut output = Output::standard()?;
    let mut good = true;
    if args.format == InfoFormat::Json {
        output.json(&json::head("unit sequence"))?;
    }
    for subject in &subjects {
        let findings = subject.unit.sequence(&accesses);
        good &= !findings.iter().any(Finding::is_error);
        if args.format == InfoFormat::Json {
            let mut text = String::new();
            Object::new(&mut text)
                .text("type", "recording")
                .text("source", &subject.label)
                .text("name", &subject.unit.name())
                .number("accesses", accesses.len() as u64)
                .end();
            text.push('\n');
            findings.iter().for_each(|f| finding::line(&subject.label, f, &mut text));
            output.json(&text)?;
            continue;
        }
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
