//! Coverage as text and as JSON Lines: totals by file and by function, and annotated source.

use std::collections::BTreeMap;
use std::fmt::Write;

use tracewright_analysis::coverage::{Line, SourceFile, Totals};
use tracewright_analysis::exemptions::Part;
use tracewright_capture::plain;

use crate::coverage_runs::{self, FunctionRuns};
use crate::decisions;
use crate::json::Object;

/// The executed part, in percent with one digit; `-` of nothing.
fn percent(totals: Totals) -> String {
    match totals.all {
        0 => "-".to_owned(),
        all => format!("{:.1}", (1000 * totals.executed / all) as f64 / 10.0),
    }
}

/// The totals of all files: lines, branches, functions.
pub fn totals(sources: &BTreeMap<String, SourceFile>) -> [Totals; 3] {
    let mut all = [Totals::default(); 3];
    for source in sources.values() {
        let own = [source.line_totals(), source.branch_totals(), source.function_totals()];
        for (sum, own) in all.iter_mut().zip(own) {
            *sum = sum.and(own);
        }
    }
    all
}

/// A table with a row for each file. Where lines are unknown, it has their number.
pub fn files_text(sources: &BTreeMap<String, SourceFile>) -> String {
    let mut out = String::new();
    let all = totals(sources);
    let unknown = |text: &str| match all[0].unknown {
        0 => String::new(),
        _ => format!("{text:>9} "),
    };
    let _ = writeln!(
        out,
        "{:>15} {:>6} {}{:>15} {:>6} {:>13} {:>6}  file",
        "lines",
        "%",
        unknown("unknown"),
        "branches",
        "%",
        "functions",
        "%"
    );
    let mut row = |totals: [Totals; 3], name: &str| {
        let of = |totals: Totals| format!("{}/{}", totals.executed, totals.all);
        let [lines, branches, functions] = totals;
        let _ = writeln!(
            out,
            "{:>15} {:>6} {}{:>15} {:>6} {:>13} {:>6}  {name}",
            of(lines),
            percent(lines),
            unknown(&lines.unknown.to_string()),
            of(branches),
            percent(branches),
            of(functions),
            percent(functions),
            name = plain::line(name),
        );
    };
    for (path, source) in sources {
        let own = [source.line_totals(), source.branch_totals(), source.function_totals()];
        row(own, path);
    }
    row(all, "all");
    out
}

/// A table with a row for each function, and below it the runs that execute it, where some do.
pub fn functions_text(sources: &BTreeMap<String, SourceFile>, runs: &FunctionRuns) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{:>12} {:>11} {:>6}  function", "executions", "lines", "%");
    for (path, source) in sources {
        // The totals of the lines before each one with code, and of all.
        let mut sum = Totals::default();
        let mut sums = vec![(0, sum)];
        for (number, line) in &source.lines {
            if source.exempted.contains_key(&Part::Line(*number)) {
                continue;
            }
            sum = sum.and(Totals::of([line.count]));
            sums.push((*number, sum));
        }
        let up_to = |line: u32| {
            let next = sums.partition_point(|(number, _)| *number <= line);
            next.checked_sub(1).and_then(|n| sums.get(n)).map(|(_, sum)| *sum).unwrap_or_default()
        };
        for function in &source.functions {
            let (first, last) = function.lines;
            let exempted = Part::Function(first, function.symbol.clone());
            let (before, own) = (up_to(first.saturating_sub(1)), up_to(last));
            let own = Totals {
                executed: own.executed.saturating_sub(before.executed),
                unknown: own.unknown.saturating_sub(before.unknown),
                all: own.all.saturating_sub(before.all),
                exempted: 0,
            };
            let _ = writeln!(
                out,
                "{:>12} {:>11} {:>6}  {} {}:{}",
                match function.count {
                    Some(count) => count.to_string(),
                    None if source.exempted.contains_key(&exempted) => "exempted".to_owned(),
                    None => "unknown".to_owned(),
                },
                format!("{}/{}", own.executed, own.all),
                percent(own),
                plain::line(&function.name),
                plain::line(path),
                function.lines.0
            );
            let key = (path.clone(), function.lines, function.symbol.clone());
            if let Some(names) = runs.get(&key).filter(|names| !names.is_empty()) {
                let _ = writeln!(out, "{:32}  in {}", "", coverage_runs::names(names));
            }
        }
    }
    out
}

/// The outcomes of the branches of a line: `+` and the count of each that was taken, `-` and that
/// of each that was not.
fn outcomes(line: &Line) -> String {
    let mut text = String::new();
    for branch in &line.branches {
        if !text.is_empty() {
            text.push(' ');
        }
        let count = |count: Option<u64>| count.map_or("?".to_owned(), |count| count.to_string());
        match branch.counts {
            _ if !branch.executed() => text.push('?'),
            [taken, not] => _ = write!(text, "+{}-{}", count(taken), count(not)),
        }
    }
    text
}

/// A line of a source file, in which tabs stay.
fn source_line(text: &str) -> String {
    text.split('\t').map(plain::line).collect::<Vec<_>>().join("\t")
}

/// A source file with the executions of each line and the outcomes of its branches.
pub fn annotated(text: &str, source: &SourceFile) -> String {
    let mut out = String::new();
    let widths = source.lines.values().map(|line| outcomes(line).len());
    let width = widths.max().unwrap_or(0).max(16);
    for (number, code) in (1..).zip(text.lines()) {
        let (count, branches) = match source.lines.get(&number) {
            None => (String::new(), String::new()),
            Some(line) => {
                let count = match line.count {
                    None if source.exempted.contains_key(&Part::Line(number)) => {
                        "exempted".to_owned()
                    }
                    None => "unknown".to_owned(),
                    Some(0) => "####".to_owned(),
                    Some(count) => count.to_string(),
                };
                (count, outcomes(line))
            }
        };
        let code = source_line(code);
        let _ = writeln!(out, "{count:>10} {branches:>width$} {number:>6}  {code}");
    }
    out
}

/// Lines of JSON: each file with its totals, its functions and its lines.
pub fn json(sources: &BTreeMap<String, SourceFile>, losses: u64) -> String {
    let mut out = String::new();
    for (path, source) in sources {
        let (lines, branches) = (source.line_totals(), source.branch_totals());
        Object::new(&mut out)
            .text("type", "source-file")
            .text("path", path)
            .number("lines", lines.all)
            .number("executed_lines", lines.executed)
            .number("unknown_lines", lines.unknown)
            .number("outcomes", branches.all)
            .number("occurred_outcomes", branches.executed)
            .number("unknown_outcomes", branches.unknown)
            .end();
        out.push('\n');
        for function in &source.functions {
            Object::new(&mut out)
                .text("type", "source-function")
                .text("path", path)
                .text("name", &function.name)
                .number("first_line", function.lines.0.into())
                .number("last_line", function.lines.1.into())
                .maybe_number("executions", function.count)
                .end();
            out.push('\n');
        }
        for (number, line) in &source.lines {
            Object::new(&mut out)
                .text("type", "line")
                .text("path", path)
                .number("line", (*number).into())
                .maybe_number("executions", line.count)
                .list("branches", &line.branches, |branch, out| {
                    Object::new(out)
                        .hex("address", branch.address)
                        .maybe_number("taken", branch.counts[0].filter(|_| branch.executed()))
                        .maybe_number("not_taken", branch.counts[1].filter(|_| branch.executed()))
                        .end();
                })
                .end();
            out.push('\n');
        }
        decisions::json(&mut out, path, source);
    }
    let [lines, branches, functions] = totals(sources);
    let mut object = Object::new(&mut out)
        .text("type", "coverage")
        .number("lines", lines.all)
        .number("executed_lines", lines.executed)
        .number("unknown_lines", lines.unknown)
        .number("outcomes", branches.all)
        .number("occurred_outcomes", branches.executed)
        .number("unknown_outcomes", branches.unknown)
        .number("functions", functions.all)
        .number("executed_functions", functions.executed)
        .number("unknown_functions", functions.unknown)
        .number("losses", losses);
    let [outcomes, values, independent] = decisions::totals(sources);
    if outcomes.all > 0 {
        object = object
            .number("decision_outcomes", outcomes.all)
            .number("occurred_decision_outcomes", outcomes.executed)
            .number("unknown_decision_outcomes", outcomes.unknown)
            .number("condition_values", values.all)
            .number("occurred_condition_values", values.executed)
            .number("unknown_condition_values", values.unknown)
            .number("conditions", independent.all)
            .number("independent_conditions", independent.executed)
            .number("unknown_independent_conditions", independent.unknown);
    }
    if sources.values().any(|source| !source.exempted.is_empty()) {
        object = object
            .number("exempted_lines", lines.exempted)
            .number("exempted_outcomes", branches.exempted)
            .number("exempted_functions", functions.exempted)
            .number("exempted_decision_outcomes", outcomes.exempted)
            .number("exempted_condition_values", values.exempted)
            .number("exempted_conditions", independent.exempted);
    }
    object.end();
    out.push('\n');
    out
}
