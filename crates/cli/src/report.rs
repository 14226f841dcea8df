//! Messages: what is odd in a capture, and what came of decoding it.

use tracewright::capture::Severity;
use tracewright::views::Stats;
use tracewright::views::explain::{Decoded, Remark};

use crate::fail::Fail;
use crate::input::Input;
use crate::output::Output;

/// Prints what is odd in the capture.
pub fn notes(input: &Input) {
    let notes = input.capture.notes.iter().filter(|note| note.severity() > Severity::Info);
    for note in notes {
        eprintln!("note: {note}");
    }
    for problem in input.memory.problems.iter().chain(&input.notes) {
        eprintln!("note: {problem}");
    }
    let mut said = Vec::new();
    for note in
        input.buffers.iter().flat_map(|&buffer| input.job(buffer).plan.notes().collect::<Vec<_>>())
    {
        if !said.contains(&note) {
            eprintln!("note: {note}");
            said.push(note);
        }
    }
}

/// Prints what was found: on `answer` where the summary is the answer, else beside it where something is
/// missing.
pub fn found(
    decoded: &Decoded<'_>,
    stats: Option<&Stats>,
    answer: Option<&mut Output>,
) -> Result<(), Fail> {
    let table = stats.map(|stats| stats.table(decoded.sources)).unwrap_or_default();
    match answer {
        Some(output) => output.print(&format!("{}{table}", decoded.summary()))?,
        None if decoded.needs_explanation() => eprint!("{}{table}", decoded.summary()),
        None => eprint!("{table}"),
    }
    if decoded.needs_explanation() {
        remarks(&decoded.remarks());
    }
    Ok(())
}

/// Says why there is no instruction in what could be decoded.
pub fn no_instructions() {
    remarks(&[Remark {
        what: "no instruction is in this trace, only what was written and accessed".into(),
        help: "`tracewright decode` shows that".into(),
    }]);
}

/// Prints remarks.
pub fn remarks(remarks: &[Remark]) {
    for Remark { what, help } in remarks {
        eprintln!("note: {what}");
        if !help.is_empty() {
            eprintln!("help: {help}");
        }
    }
}
