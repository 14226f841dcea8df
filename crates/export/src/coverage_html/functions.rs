//! Functions, and the runs that execute them.

use tracewright_analysis::coverage::{FunctionLine, SourceFile, Totals};
use tracewright_analysis::coverage_runs::RunNumbers;
use tracewright_analysis::exemptions::Part;

use super::page::Frame;
use super::report::{CoverageReport, missed};
use super::runs_of;
use super::source::link;
use super::state::State;
use super::table::{Column, List};
use crate::text::xml;

/// The most runs that a function names.
const MAX_RUNS: usize = 16;

/// A row of the list.
struct Row<'a> {
    file: usize,
    path: &'a str,
    function: &'a FunctionLine,
    state: State,
    lines: Totals,
    runs: RunNumbers,
}

/// The totals of the lines before each one with code, and of all.
fn sums(source: &SourceFile) -> Vec<(u32, Totals)> {
    let mut sum = Totals::default();
    let mut sums = vec![(0, sum)];
    for (number, line) in &source.lines {
        let state = State::of(line.count, &source.exempted, || Part::Line(*number));
        match state {
            State::Exempted(_) => sum.exempted += 1,
            _ => sum = sum.and(Totals::of([line.count])),
        }
        sums.push((*number, sum));
    }
    sums
}

/// The totals of the lines from `first` to `last`.
fn between(sums: &[(u32, Totals)], first: u32, last: u32) -> Totals {
    let up_to = |line: u32| {
        let next = sums.partition_point(|(number, _)| *number <= line);
        next.checked_sub(1).and_then(|n| sums.get(n)).map(|(_, sum)| *sum).unwrap_or_default()
    };
    let (before, own) = (up_to(first.saturating_sub(1)), up_to(last));
    Totals {
        executed: own.executed.saturating_sub(before.executed),
        unknown: own.unknown.saturating_sub(before.unknown),
        all: own.all.saturating_sub(before.all),
        exempted: own.exempted.saturating_sub(before.exempted),
    }
}

/// The pages of the list.
pub(super) fn pages(report: &CoverageReport<'_>, frame: &Frame) -> Vec<(String, String)> {
    use Column::{Number, Text};
    let mut rows = Vec::new();
    for (file, (path, source)) in report.sources.iter().enumerate() {
        let mut runs = runs_of::of_file(report.runs, path, source);
        let sums = sums(source);
        for function in &source.functions {
            let part = Part::Function(function.lines.0, function.symbol.clone());
            let state = State::of(function.count, &source.exempted, || part.clone());
            let lines = between(&sums, function.lines.0, function.lines.1);
            let runs = runs.remove(&part).unwrap_or_default();
            rows.push(Row { file, path, function, state, lines, runs });
        }
    }
    let mut columns = vec![
        ("Function", Text),
        ("Place", Text),
        ("State", Text),
        ("Executions", Number),
        ("Lines covered", Number),
        ("Not covered", Number),
        ("Unknown", Number),
        ("Exempted", Number),
    ];
    let names: Vec<String> = report.runs.runs.iter().map(|run| run.name()).collect();
    if report.has_runs() {
        columns.extend([("Runs", Number), ("Executed in", Text)]);
    }
    let list = List {
        stem: "functions",
        title: "Functions",
        before: "<p>Executions are those of the first instruction.</p>\n".to_owned(),
        caption: "Functions, and the runs that execute them",
        columns: &columns,
        empty: "The programs have no functions with source lines.",
    };
    list.pages(frame, &rows, |own| {
        let (line, lines) = (own.function.lines.0, own.lines);
        let mut cells = vec![
            format!("<code>{}</code>", xml(&own.function.name)),
            format!("<a href=\"{}\">{}:{line}</a>", link(own.file, line), xml(own.path)),
            own.state.html(["executed", "not executed"]),
            own.state.count(),
        ];
        let numbers = [lines.executed, missed(lines), lines.unknown, lines.exempted];
        cells.extend(numbers.iter().map(u64::to_string));
        if report.has_runs() {
            let all: Vec<usize> = own.runs.iter().collect();
            let name = |run: &usize| {
                let name = names.get(*run).map_or("", String::as_str);
                format!("{} {}", runs_of::link(*run), xml(name))
            };
            let mut text: Vec<String> = all.iter().take(MAX_RUNS).map(name).collect();
            if let Some(more) = all.len().checked_sub(MAX_RUNS).filter(|more| *more > 0) {
                text.push(format!("{more} more"));
            }
            cells.extend([all.len().to_string(), text.join(", ")]);
        }
        (String::new(), cells)
    })
}
