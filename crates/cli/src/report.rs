//! Messages on standard error: problems of a capture, and the summary of decoding.

use std::collections::HashSet;
use std::fmt::Display;

use tracewright::capture::Severity;
use tracewright::views::Stats;
use tracewright::views::explain::{Decoded, Remark};

use crate::fail::Fail;
use crate::input::Input;
use crate::message::{line, lines};
use crate::output::Output;

/// The most notes on a capture that are printed.
const MAX_NOTES: usize = 128;

/// Prints the problems of the capture.
pub fn notes(input: &Input) {
    let notes = input.capture.notes.iter().filter(|note| note.severity() > Severity::Info);
    let mut count = 0;
    let mut print = |note: &dyn Display| {
        count += 1;
        if count <= MAX_NOTES {
            line(&format!("note: {note}"));
        }
    };
    notes.for_each(|note| print(note));
    for problem in input.memory.problems.iter().chain(&input.notes) {
        print(problem);
    }
    let mut printed = HashSet::new();
    for note in
        input.buffers.iter().flat_map(|&buffer| input.job(buffer).plan.notes().collect::<Vec<_>>())
    {
        let text = note.to_string();
        if printed.insert(text) {
            print(&note);
        }
    }
    if count > MAX_NOTES {
        let more = count - MAX_NOTES;
        line(&format!("note: {more} more notes; `tracewright info --format json` lists them"));
    }
}

/// Prints the summary of decoding: to `output` where it is the output of the command, else to
/// standard error, if there are problems or it is `always` printed. Of a `part` of a trace, nothing
/// is explained.
pub fn found(
    decoded: &Decoded<'_>,
    stats: Option<&Stats>,
    output: Option<&mut Output>,
    part: bool,
    always: bool,
) -> Result<(), Fail> {
    let table = stats.map(|stats| stats.table(decoded.sources)).unwrap_or_default();
    match output {
        Some(output) => output.print(&format!("{}{table}", decoded.summary()))?,
        None if part => lines(&table),
        None if always || decoded.needs_explanation() => {
            lines(&format!("{}{table}", decoded.summary()))
        }
        None => lines(&table),
    }
    if !part && decoded.needs_explanation() {
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
        line(&format!("note: {what}"));
        if !help.is_empty() {
            line(&format!("help: {help}"));
        }
    }
}
