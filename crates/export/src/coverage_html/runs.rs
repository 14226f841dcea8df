//! Runs: what each covers and adds, and what it was measured from.

use std::fmt::Write;

use tracewright_analysis::coverage_runs::{Run, RunNumbers};
use tracewright_analysis::exemptions::PartKind;

use super::page::Frame;
use super::report::CoverageReport;
use super::runs_of;
use super::table::{Column, List};
use crate::text::xml;

/// The most inputs and options of a run that are shown.
const MAX_INPUTS: usize = 16;

/// How much of each kind a run covers, and how much of that no run before it does.
type Parts = [(u64, u64); 4];

/// The parts of the source files that each run covers.
fn parts(report: &CoverageReport<'_>) -> Vec<Parts> {
    let mut all = vec![Parts::default(); report.runs.runs.len()];
    let mut count = |kind: usize, runs: &RunNumbers| {
        for (n, run) in runs.iter().enumerate() {
            if let Some((covered, added)) = all.get_mut(run).and_then(|own| own.get_mut(kind)) {
                *covered += 1;
                *added += u64::from(n == 0);
            }
        }
    };
    for (path, source) in report.sources {
        for (part, runs) in runs_of::of_file(report.runs, path, source) {
            let kind = PartKind::ALL.iter().position(|(_, kind)| *kind == part.kind());
            count(kind.unwrap_or(usize::MAX), &runs);
        }
    }
    all
}

/// Its inputs: path, size and digest.
fn inputs(run: &Run) -> String {
    let mut out = String::new();
    for input in run.inputs.iter().take(MAX_INPUTS) {
        let content = match &input.content {
            Some((bytes, digest)) => {
                format!("{bytes} bytes, SHA-256 <code class=\"digest\">{digest}</code>")
            }
            None => "a pipe: its digest is not known".to_owned(),
        };
        let _ = write!(out, "<li>{}, {content}</li>", xml(&input.path));
    }
    if let Some(more) = run.inputs.len().checked_sub(MAX_INPUTS).filter(|more| *more > 0) {
        let _ = write!(out, "<li>{more} more inputs</li>");
    }
    format!("<div class=\"long\"><ul>{out}</ul></div>")
}

/// The pages of the list.
pub(super) fn pages(report: &CoverageReport<'_>, frame: &Frame) -> Vec<(String, String)> {
    use Column::{Number, Text};
    let mut columns = vec![("Run", Number), ("Tests", Text)];
    let heads = [
        ("Lines", "Lines added"),
        ("Outcomes of branches", "Outcomes added"),
        ("Functions", "Functions added"),
        ("Values of decisions", "Values added"),
    ];
    let kinds = if report.has_decisions() { 4 } else { 3 };
    for (covered, added) in heads.into_iter().take(kinds) {
        columns.extend([(covered, Number), (added, Number)]);
    }
    columns.extend([
        ("Losses", Number),
        ("Sound", Text),
        ("Tool", Text),
        ("Options", Text),
        ("Inputs", Text),
        ("Identifier", Text),
    ]);
    let list = List {
        stem: "runs",
        title: "Runs",
        before: "<p>Added is what no run before it covers, in the order of their tests. A run is \
                 sound where all its buffers are traced, and undamaged.</p>\n"
            .to_owned(),
        caption: "Runs: what each covers and adds",
        columns: &columns,
        empty: "There are no runs.",
    };
    let parts = parts(report);
    let rows: Vec<(usize, (&Run, &Parts))> =
        report.runs.runs.iter().zip(&parts).enumerate().collect();
    list.pages(frame, &rows, |(n, (run, parts))| {
        let tags: Vec<String> = run.tags.iter().map(|tag| xml(tag)).collect();
        let tags = if tags.is_empty() { "–".to_owned() } else { tags.join(", ") };
        let mut cells = vec![(n + 1).to_string(), tags];
        for (covered, added) in parts.iter().take(kinds) {
            cells.extend([covered.to_string(), added.to_string()]);
        }
        let options: Vec<String> = run.options.iter().map(|own| xml(own)).collect();
        cells.extend([
            run.losses.to_string(),
            if run.sound { "sound" } else { "not sound" }.to_owned(),
            xml(&run.tool),
            format!("<div class=\"long\"><code>{}</code></div>", options.join(" ")),
            inputs(run),
            format!("<code class=\"digest\">{}</code>", run.id),
        ]);
        (format!("r{}", n + 1), cells)
    })
}
