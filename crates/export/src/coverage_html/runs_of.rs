//! Which runs cover a part.

use std::collections::{BTreeMap, BTreeSet};

use tracewright_analysis::coverage::SourceFile;
use tracewright_analysis::coverage_runs::{CoverageRuns, RunNumbers};
use tracewright_analysis::decisions::same_file;
use tracewright_analysis::exemptions::Part;

use super::table::file_of_row;

/// By part of a source file: the runs that cover it, in all programs.
pub(super) type RunsOfFile = BTreeMap<Part, RunNumbers>;

/// The runs that cover the parts of a source file which it lists.
pub(super) fn of_file(runs: &CoverageRuns, path: &str, source: &SourceFile) -> RunsOfFile {
    let mut all = RunsOfFile::new();
    let mut add = |part: Part, runs: &RunNumbers| {
        if !runs.is_empty() {
            all.entry(part).or_default().add(runs);
        }
    };
    let symbols: BTreeSet<&str> = source.functions.iter().map(|own| own.symbol.as_str()).collect();
    for program in 0..runs.programs.len() {
        let Some(file) = runs.files.get(&(program, path.to_owned())) else { continue };
        for (line, [cell]) in &file.lines {
            if source.lines.contains_key(line) {
                add(Part::Line(*line), &cell.runs);
            }
        }
        for (key, cells) in &file.branches {
            if source.lines.contains_key(&key.line) {
                for (cell, taken) in cells.iter().zip([true, false]) {
                    let (line, address) = (key.line, key.address);
                    add(Part::Branch { line, address, taken }, &cell.runs);
                }
            }
        }
        for (key, [cell]) in &file.functions {
            if symbols.contains(key.symbol.as_str()) {
                add(Part::Function(key.lines.0, key.symbol.clone()), &cell.runs);
            }
        }
    }
    let places: BTreeSet<_> = source.decisions.iter().map(|own| own.decision.region).collect();
    let own = runs.decisions.iter().filter(|(key, _)| places.contains(&key.region));
    for (key, decision) in own.filter(|(key, _)| same_file(path, &key.file)) {
        let place = key.region.start;
        for (cell, value) in decision.outcomes.iter().zip([false, true]) {
            add(Part::Outcome(place, value), &cell.runs);
        }
        for (n, condition) in decision.conditions.iter().enumerate() {
            for (cell, value) in condition.values.iter().zip([false, true]) {
                add(Part::Value(place, n, value), &cell.runs);
            }
        }
    }
    all
}

/// The number of the first of these runs, from 1; a dash where none covers the part.
pub(super) fn first_number(runs: Option<&RunNumbers>) -> String {
    let first = runs.and_then(|runs| runs.iter().next());
    first.map_or("–".to_owned(), |run| (run + 1).to_string())
}

/// A link to the first of these runs, as HTML; a dash where none covers the part.
pub(super) fn first(runs: Option<&RunNumbers>) -> String {
    let first = runs.and_then(|runs| runs.iter().next());
    first.map_or("–".to_owned(), link)
}

/// A link to a run, as HTML.
pub(super) fn link(run: usize) -> String {
    let (file, number) = (file_of_row("runs", run), run + 1);
    format!("<a href=\"{file}#r{number}\">{number}</a>")
}
