//! The decisions of a source file: values, evaluations, reasons.

use std::fmt::Write;

use tracewright_analysis::coverage::SourceFile;
use tracewright_analysis::decisions::{Criterion, MeasuredDecision};
use tracewright_analysis::exemptions::Part;

use super::report::CoverageReport;
use super::runs_of::{RunsOfFile, first};
use super::state::State;
use super::table::{Column, Table};
use crate::text::xml;

/// The most decisions of a page.
const MAX_DECISIONS: usize = 500;
/// The most evaluations of a decision.
const MAX_EVALUATIONS: usize = 32;
/// The most reasons why one is not measurable.
const MAX_REASONS: usize = 16;

/// The identifier of a decision in its page.
pub(super) fn id(own: &MeasuredDecision) -> String {
    let (line, column) = own.decision.region.start;
    format!("d{line}-{column}")
}

/// A section for each decision.
pub(super) fn sections<'a>(
    source: &SourceFile,
    runs: &RunsOfFile,
    report: &CoverageReport<'_>,
    all: impl Iterator<Item = &'a MeasuredDecision>,
) -> String {
    let all: Vec<_> = all.collect();
    if all.is_empty() {
        return String::new();
    }
    let criterion = match report.criterion {
        Criterion::Masking => "masking",
        Criterion::UniqueCause => "unique cause",
    };
    let mut out = format!("<h2>Decisions</h2>\n<p>MC/DC by {criterion}.</p>\n");
    let runs = Some(runs).filter(|_| report.has_runs());
    for own in all.iter().take(MAX_DECISIONS) {
        section(&mut out, source, runs, own);
    }
    if all.len() > MAX_DECISIONS {
        let more = all.len() - MAX_DECISIONS;
        let _ =
            writeln!(out, "<p class=\"note\">{more} more decisions: coverage.jsonl has all.</p>");
    }
    out
}

/// A value of an outcome or a condition, with its number and its first run.
fn value(
    source: &SourceFile,
    runs: Option<&RunsOfFile>,
    count: Option<u64>,
    part: Part,
) -> Vec<String> {
    let state = State::of(count, &source.exempted, || part.clone());
    let mut cells = vec![state.html(["occurred", "never"]), state.count()];
    cells.extend(runs.map(|runs| first(runs.get(&part))));
    cells
}

fn section(
    out: &mut String,
    source: &SourceFile,
    runs: Option<&RunsOfFile>,
    own: &MeasuredDecision,
) {
    let MeasuredDecision { decision, covered } = own;
    let place = decision.region.start;
    let (line, column) = place;
    let _ = writeln!(
        out,
        "<section aria-labelledby=\"{id}\"><h3 id=\"{id}\">Decision in line <a \
         href=\"#L{line}\">{line}</a>, column {column}</h3>",
        id = id(own)
    );
    let mut columns = vec![("Part", Column::Text), ("Text", Column::Text)];
    for name in ["False", "True"] {
        columns.extend([(name, Column::Text), ("Times", Column::Number)]);
        columns.extend(runs.map(|_| ("First run", Column::Number)));
    }
    columns.push(("Decides the outcome", Column::Text));
    let mut table = Table::new(&format!("Values of the decision {line}:{column}"), &columns);
    let mut cells = vec!["outcome".to_owned(), String::new()];
    for (count, side) in covered.outcomes.into_iter().zip([false, true]) {
        cells.extend(value(source, runs, count, Part::Outcome(place, side)));
    }
    cells.push(String::new());
    table.row("", &cells);
    for (n, (condition, own)) in decision.conditions.iter().zip(&covered.conditions).enumerate() {
        let text = xml(&condition.text);
        let mut cells = vec![format!("condition {}", n + 1), format!("<code>{text}</code>")];
        for (count, side) in own.values.into_iter().zip([false, true]) {
            cells.extend(value(source, runs, count, Part::Value(place, n, side)));
        }
        let part = || Part::Independence(place, n);
        let state = State::of(own.independent.map(u64::from), &source.exempted, part);
        cells.push(state.html(["shown", "not shown"]));
        table.row("", &cells);
    }
    out.push_str(&table.end());
    evaluations(out, own);
    if covered.unnamed > 0 {
        out.push_str("<p class=\"note\">It is not known which outcome is true.</p>\n");
    }
    if !covered.unmeasured.is_empty() {
        out.push_str("<p>Not measurable:</p>\n<ul>\n");
        for own in covered.unmeasured.iter().take(MAX_REASONS) {
            let function = own.function.as_ref().map(|name| format!("in {name}: "));
            let text = format!("{}{}", function.unwrap_or_default(), own.reason);
            let _ = writeln!(out, "<li>{}</li>", xml(&text));
        }
        if let Some(more) = covered.unmeasured.len().checked_sub(MAX_REASONS).filter(|n| *n > 0) {
            let _ = writeln!(out, "<li>{more} more: coverage.jsonl has all.</li>");
        }
        out.push_str("</ul>\n");
    }
    out.push_str("</section>\n");
}

/// The evaluations of a decision with several conditions.
fn evaluations(out: &mut String, own: &MeasuredDecision) {
    let all = &own.covered.vectors;
    if all.is_empty() || own.decision.conditions.len() < 2 {
        return;
    }
    let (line, column) = own.decision.region.start;
    let caption = format!("Evaluations of {line}:{column}: true, false, or – not evaluated");
    let names: Vec<String> =
        (1..=own.decision.conditions.len()).map(|n| format!("Condition {n}")).collect();
    let mut columns = vec![("Evaluation", Column::Number)];
    columns.extend(names.iter().map(|name| (name.as_str(), Column::Text)));
    columns.extend([("Outcome", Column::Text), ("Times", Column::Number)]);
    let word = |value: bool| if value { "true" } else { "false" }.to_owned();
    let mut table = Table::new(&caption, &columns);
    for (n, (vector, count)) in all.iter().take(MAX_EVALUATIONS).enumerate() {
        let mut cells = vec![(n + 1).to_string()];
        cells.extend(vector.values.iter().map(|own| own.map_or("–".to_owned(), word)));
        cells.extend([word(vector.outcome), count.to_string()]);
        table.row("", &cells);
    }
    out.push_str(&table.end());
    if all.len() > MAX_EVALUATIONS {
        let more = all.len() - MAX_EVALUATIONS;
        let _ =
            writeln!(out, "<p class=\"note\">{more} more evaluations: coverage.jsonl has all.</p>");
    }
}
