//! Functions in two states of the program.

use std::collections::HashMap;

use tracewright_analysis::coverage_runs::{FunctionChange, FunctionState};

use super::page::Frame;
use super::report::CoverageReport;
use super::source::{has_code, link};
use super::table::{Column, List, Table};
use crate::text::xml;

/// The states, those first in which coverage of older runs is not valid.
const STATES: [(FunctionState, &str); 5] = [
    (FunctionState::Changed, "the instructions or the lines differ: older runs do not count"),
    (FunctionState::Unknown, "it cannot be compared: older runs do not count"),
    (FunctionState::Removed, "only the older state has it"),
    (FunctionState::Added, "only the newer state has it"),
    (FunctionState::Unchanged, "what older runs executed is executed"),
];

fn rank(state: FunctionState) -> usize {
    STATES.iter().position(|(own, _)| *own == state).unwrap_or(STATES.len())
}

/// The pages of the list; none without an older state.
pub(super) fn pages(report: &CoverageReport<'_>, frame: &Frame) -> Vec<(String, String)> {
    let Some(changes) = report.changes else { return Vec::new() };
    let columns =
        [("State", Column::Text), ("Functions", Column::Number), ("Meaning", Column::Text)];
    let mut summary = Table::new("Functions by state", &columns);
    for (state, meaning) in STATES {
        let count = changes.iter().filter(|own| own.state == state).count();
        let cells = [state.name().to_owned(), count.to_string(), meaning.to_owned()];
        summary.row("", &cells);
    }
    let mut rows: Vec<&FunctionChange> = changes.iter().collect();
    rows.sort_by_key(|own| rank(own.state));
    let list = List {
        stem: "states",
        title: "Older state",
        before: summary.end(),
        caption: "Functions since the older state",
        columns: &[
            ("Function", Column::Text),
            ("Place", Column::Text),
            ("State", Column::Text),
            ("Executed by older runs", Column::Text),
        ],
        empty: "Neither state has functions.",
    };
    let numbers: HashMap<&str, usize> =
        report.sources.keys().enumerate().map(|(n, path)| (path.as_str(), n)).collect();
    list.pages(frame, &rows, |own| {
        let place = format!("{}:{}", xml(&own.path), own.line);
        let source = report.sources.get(&own.path).filter(|its| has_code(its, own.line));
        let source = source.filter(|_| own.state != FunctionState::Removed);
        let place = match source.and_then(|_| numbers.get(own.path.as_str()).copied()) {
            Some(file) => format!("<a href=\"{}\">{place}</a>", link(file, own.line)),
            None => place,
        };
        let before = if own.executed_before { "yes" } else { "no" };
        let cells = vec![
            format!("<code>{}</code>", xml(&own.name)),
            place,
            own.state.name().to_owned(),
            before.to_owned(),
        ];
        (String::new(), cells)
    })
}
