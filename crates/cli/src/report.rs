//! Messages on standard error: problems of a capture, and the summary of decoding.

use std::collections::HashSet;

use tracewright::capture::{Kind, Note, Severity};
use tracewright::decode::detect::cause::Cause;
use tracewright::decode::{Report, Reports, Severity as Level};
use tracewright::views::Stats;
use tracewright::views::explain::{Decoded, Diagnosis, Remark};

use crate::command_line;
use crate::fail::Fail;
use crate::input::{Input, Job};
use crate::message::{line, lines, prints};
use crate::options;
use crate::output::Output;

/// The most notes on a capture that are printed.
const MAX_NOTES: usize = 128;

/// Prints the problems of the capture.
pub fn notes(input: &Input) {
    let all = |_: &Note| true;
    notes_of(input, &all);
}

/// Prints the problems of the capture, without those in its description that are not `shown`.
pub fn notes_of(input: &Input, shown: &dyn Fn(&Note) -> bool) {
    if let Some(detected) = &input.detected {
        let options = detected.description().line();
        line(&format!("note: no --protocol was given; detected: {}", detected.summary()));
        line(&format!("note: options with the same meaning: {options}"));
    }
    let all = problems(input, shown);
    all.iter().take(MAX_NOTES).for_each(|note| line(&format!("note: {note}")));
    if all.len() > MAX_NOTES {
        let more = all.len() - MAX_NOTES;
        line(&format!("note: {more} more notes; `tracewright info --format json` lists them"));
    }
    if prints(Level::Info) {
        input.buffers.iter().for_each(|&buffer| reports(&input.job(buffer)));
    }
}

/// Prints a line for each error and loss in the trace of a buffer. It is decoded for this.
fn reports(job: &Job<'_>) {
    let name = &job.buffer.name;
    if job.buffer.is_piped() {
        return line(&format!("note: {name}: errors are not listed: a pipe is read once"));
    }
    let Ok(mut session) = job.session() else { return };
    let mut reports = Reports::new(Level::Info, |report: &Report| {
        let source = report.source.and_then(|n| job.sources.get(n));
        let of = source.map_or("trace link", |source| source.name.as_str());
        let Report { severity, offset, text, .. } = report;
        line(&format!("{}: {name}: offset {offset}, {of}: {text}", severity.name()));
    });
    session.run(job.buffer.parts(), &mut reports);
}

/// The problems of the capture, without those in its description that are not `shown`.
pub fn problems(input: &Input, shown: &dyn Fn(&Note) -> bool) -> Vec<String> {
    let notes = input.capture().notes.iter();
    let least = |note: &&Note| note.severity() > Severity::Info || prints(Level::Info);
    let notes = notes.filter(least).filter(|note| shown(note));
    let memory = input.trace.memory().problems.iter().map(ToString::to_string);
    let notes = notes.map(ToString::to_string).chain(memory).chain(input.notes.iter().cloned());
    let mut all: Vec<String> = notes.collect();
    let mut printed = HashSet::new();
    for &buffer in &input.buffers {
        let plan = input.job(buffer).plan;
        let notes = plan.notes().map(|note| note.to_string());
        all.extend(notes.filter(|note| printed.insert(note.clone())));
    }
    all
}

/// Prints the summary of decoding: to `output` where it is the output of the command, else to
/// standard error, if there are problems or it is `always` printed. Of a `part` of a trace, nothing
/// is explained. Returns whether the description contradicts the trace.
pub fn found(
    decoded: &Decoded<'_>,
    stats: Option<&Stats>,
    output: Option<&mut Output>,
    part: bool,
    always: bool,
) -> Result<bool, Fail> {
    let Diagnosis { cause, remarks, .. } =
        if part { Diagnosis::default() } else { decoded.diagnosis() };
    if let Some(cause) = &cause {
        let Remark { what, help } = decoded.cause_remark(cause);
        line(&format!("note: {what}"));
        match command_line::next(decoded.plan, decoded.capture.kind == Kind::Raw, cause) {
            Some(command) => line(&format!("help: run: {command}")),
            None => line(&format!("help: {help}")),
        }
    }
    let table = stats.map(|stats| stats.table(decoded.sources)).unwrap_or_default();
    match output {
        Some(output) => output.print(&format!("{}{table}", decoded.summary()))?,
        None if part => lines(&table),
        None if always || decoded.needs_explanation() => {
            lines(&format!("{}{table}", decoded.summary()))
        }
        None => lines(&table),
    }
    self::remarks(&remarks);
    let others = matches!(cause, Some(Cause::Sources { .. }));
    // What is described is decoded, where only other sources are not.
    Ok(cause.is_some() && !others)
}

/// Prints why a trace without instructions gives no output.
pub fn no_instructions() {
    remarks(&[Remark {
        what: "the trace contains no instructions, only software writes and data accesses".into(),
        help: "`tracewright decode` shows them".into(),
    }]);
}

/// Prints why a trace of ITMs and STMs has no branches and calls.
pub fn no_branches() {
    remarks(&[Remark {
        what:
            "the trace is that of an ITM or STM, which has no instructions, and so no branches and \
               calls"
                .into(),
        help:
            "`tracewright itm --exceptions` has the exceptions, `itm --profile` the samples of the \
               program counter, `timeline` and `report` both"
                .into(),
    }]);
}

/// Whether the selected buffers have bytes, and no file of the capture changed since it was opened.
/// Prints what is not so.
pub fn is_traced(input: &Input) -> bool {
    let traced = input.has_trace();
    if !traced {
        no_trace(input);
    }
    input.is_unchanged() && traced
}

/// Prints that there is no trace.
pub fn no_trace(input: &Input) {
    let help = match input.capture().kind {
        Kind::Perf => "`tracewright info` lists what was recorded",
        // The summary of the buffers has more.
        _ => "",
    };
    let what = format!("{}: {}", input.path.display(), without_trace(input));
    remarks(&[Remark { what, help: help.into() }]);
}

/// Why there is no trace.
pub fn without_trace(input: &Input) -> String {
    let what = match input.capture().kind {
        Kind::Perf => "no AUX record has bytes in the file",
        _ => "the trace buffers have no bytes",
    };
    format!("there is no trace: {what}")
}

/// The problems of the capture for a page: those that [`notes`] prints.
pub fn page_notes(input: &Input) -> Vec<String> {
    let mut all = problems(input, &|_| true);
    if all.len() > MAX_NOTES {
        let more = all.len() - MAX_NOTES;
        all.truncate(MAX_NOTES);
        all.push(format!("{more} more notes; `tracewright info --format json` lists them"));
    }
    all.iter().map(|note| options::spelled(note)).collect()
}

/// Prints that there is trace, and nothing was executed in it.
pub fn nothing_executed(input: &Input) {
    remarks(&[Remark {
        what: format!(
            "{}: the result is empty: the trace has no instructions of known code, no exceptions \
             and no data",
            input.path.display()
        ),
        help: "`tracewright packets` lists what it has".into(),
    }]);
}

/// Prints that nothing is selected, and what there is to select.
pub fn nothing_selected(input: &Input) {
    const MAX: usize = 4;
    let buffers = input.buffers.iter().map(|&buffer| &input.capture().buffers[buffer]);
    let mut parts: Vec<String> = buffers
        .filter_map(|buffer| Some(format!("{} has offsets 0..{}", buffer.name, buffer.size()?)))
        .collect();
    if parts.len() > MAX {
        let more = parts.len() - MAX;
        parts.truncate(MAX);
        parts.push(format!("{more} more buffers"));
    }
    parts.push(
        "`tracewright find INPUT last any` reports the last element with its number, time and \
         number of instructions"
            .into(),
    );
    remarks(&[Remark { what: "nothing is in the selection".into(), help: parts.join("; ") }]);
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
