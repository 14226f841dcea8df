//! Coverage of several runs: what each covers and adds, and which of them execute a function.

use std::collections::BTreeMap;
use std::fmt::Write;

use tracewright_analysis::coverage_runs::CoverageRuns;
use tracewright_capture::plain;

use crate::json_object::Object;

/// The most names of runs in a line of text.
const MOST_NAMES: usize = 8;

/// By path, lines and symbol of a function: the names of the runs that execute it, in order.
pub type FunctionRuns = BTreeMap<(String, (u32, u32), String), Vec<String>>;

/// The runs that execute each function.
pub fn of_functions(runs: &CoverageRuns) -> FunctionRuns {
    let mut numbers: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for ((_, path), file) in &runs.files {
        for (key, [cell]) in &file.functions {
            let key = (path.clone(), key.lines, key.symbol.clone());
            numbers.entry(key).or_default().extend(cell.runs.iter());
        }
    }
    let names = |mut all: Vec<usize>| {
        // Several programs may have the function.
        all.sort_unstable();
        all.dedup();
        all.into_iter().filter_map(|n| Some(runs.runs.get(n)?.name())).collect()
    };
    numbers.into_iter().map(|(key, all)| (key, names(all))).collect()
}

/// The names of runs in a line of text.
pub(crate) fn names(all: &[String]) -> String {
    let first: Vec<_> = all.iter().take(MOST_NAMES).map(|name| plain::line(name)).collect();
    let more = match all.len().saturating_sub(MOST_NAMES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", first.join(" "))
}

/// A row for each run: lines, outcomes of branches, functions, and outcomes and values of decisions
/// that it covers, each with how many no run before it covers.
pub fn text(runs: &CoverageRuns) -> String {
    let mut out = String::new();
    let decisions = !runs.decisions.is_empty();
    let mut row = |parts: [(String, String); 4], losses: &str, name: &str| {
        for (n, (covered, added)) in parts.iter().enumerate() {
            if n < 3 || decisions {
                let _ = write!(out, "{covered:>9} {added:>8} ");
            }
        }
        let _ = writeln!(out, "{losses:>7}  {name}");
    };
    let heads = ["lines", "branches", "functions", "decisions"];
    row(heads.map(|head| (head.to_owned(), "added".to_owned())), "losses", "run");
    for (run, parts) in runs.runs.iter().zip(runs.parts()) {
        let parts = parts.map(|part| (part.covered.to_string(), part.added.to_string()));
        row(parts, &run.losses.to_string(), &plain::line(&run.name()));
    }
    out
}

/// A line of JSON for each run, and for each function with the runs that execute it.
pub fn json(runs: &CoverageRuns) -> String {
    let mut out = String::new();
    for (run, [lines, branches, functions, decisions]) in runs.runs.iter().zip(runs.parts()) {
        let tags: Vec<&String> = run.tags.iter().collect();
        Object::new(&mut out)
            .text("type", "run")
            .text("id", &run.id.to_string())
            .list("tags", &tags, |tag, out| crate::json_object::string(tag, out))
            .number("losses", run.losses)
            .flag("sound", run.sound)
            .number("lines", lines.covered)
            .number("added_lines", lines.added)
            .number("outcomes", branches.covered)
            .number("added_outcomes", branches.added)
            .number("functions", functions.covered)
            .number("added_functions", functions.added)
            .number("decision_values", decisions.covered)
            .number("added_decision_values", decisions.added)
            .end();
        out.push('\n');
    }
    for ((path, lines, symbol), names) in of_functions(runs) {
        Object::new(&mut out)
            .text("type", "function-runs")
            .text("path", &path)
            .text("symbol", &symbol)
            .number("first_line", lines.0.into())
            .list("runs", &names, |name, out| crate::json_object::string(name, out))
            .end();
        out.push('\n');
    }
    out
}
