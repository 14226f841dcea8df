//! Messages on standard error: problems of a capture, and the summary of decoding.

use tracewright::capture::Severity;
use tracewright::views::Stats;
use tracewright::views::explain::{Decoded, Remark};

use crate::fail::Fail;
use crate::input::Input;
use crate::output::Output;

/// Prints the problems of the capture.
pub fn notes(input: &Input) {
    let notes = input.capture.notes.iter().filter(|note| note.severity() > Severity::Info);
    for note in notes {
        eprintln!("note: {note}");
    }
    for problem in input.memory.problems.iter().chain(&input.notes) {
        eprintln!("note: {problem}");
    }
    let mut printed = Vec::new();
    for note in
        input.buffers.iter().flat_map(|&buffer| input.job(buffer).plan.notes().collect::<Vec<_>>())
    {
        if !printed.contains(&note) {
            eprintln!("note: {note}");
            printed.push(note);
        }
    }
}

/// Prints the summary of decoding: to `output` where it is the output of the command, else to
/// standard error if there are problems.
pub fn found(
    decoded: &Decoded<'_>,
    stats: Option<&Stats>,
    output: Option<&mut Output>,
) -> Result<(), Fail> {
    let table = stats.map(|stats| stats.table(decoded.sources)).unwrap_or_default();
    match output {
        Some(output) => output.print(&format!("{}{table}", decoded.summary()))?,
        None if decoded.needs_explanation() => eprint!("{}{table}", decoded.summary()),
        None => eprint!("{table}"),
    }
    if decoded.needs_explanation() {
        remarks(&decoded.remarks());
    }
    Ok(())
}

/// Prints why a trace without instructions gives no output.
pub fn no_instructions() {
    remarks(&[Remark {
        what: "the trace contains no instructions, only software writes and data accesses".into(),
        help: "`tracewright decode` shows them".into(),
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
