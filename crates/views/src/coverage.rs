//! Coverage as text and as JSON Lines: totals by file and by function, and annotated source.

use std::collections::BTreeMap;
use std::fmt::Write;

use tracewright_analysis::coverage::{Line, SourceFile};
use tracewright_capture::plain;

use crate::json::Object;

/// A part and the whole, in percent with one digit; `-` of nothing.
fn percent((part, whole): (u64, u64)) -> String {
    match whole {
        0 => "-".to_owned(),
        _ => format!("{:.1}", (1000 * part / whole) as f64 / 10.0),
    }
}

/// The totals of all files: lines, branches, functions.
pub fn totals(sources: &BTreeMap<String, SourceFile>) -> [(u64, u64); 3] {
    let mut all = [(0, 0); 3];
    for source in sources.values() {
        let own = [source.line_totals(), source.branch_totals(), source.function_totals()];
        for (sum, own) in all.iter_mut().zip(own) {
            *sum = (sum.0 + own.0, sum.1 + own.1);
        }
    }
    all
}

/// A table with a row for each file.
pub fn files_text(sources: &BTreeMap<String, SourceFile>) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{:>15} {:>6} {:>15} {:>6} {:>13} {:>6}  file",
        "lines", "%", "outcomes", "%", "functions", "%"
    );
    let mut row = |totals: [(u64, u64); 3], name: &str| {
        let of = |(part, whole): (u64, u64)| format!("{part}/{whole}");
        let [lines, branches, functions] = totals;
        let _ = writeln!(
            out,
            "{:>15} {:>6} {:>15} {:>6} {:>13} {:>6}  {name}",
            of(lines),
            percent(lines),
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
    row(totals(sources), "all");
    out
}

/// A table with a row for each function.
pub fn functions_text(sources: &BTreeMap<String, SourceFile>) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{:>12} {:>11} {:>6}  function", "executions", "lines", "%");
    for (path, source) in sources {
        for function in &source.functions {
            let own = source.lines.range(function.lines.0..=function.lines.1);
            let (mut executed, mut all) = (0, 0);
            for (_, line) in own {
                all += 1;
                executed += u64::from(line.count > 0);
            }
            let _ = writeln!(
                out,
                "{:>12} {:>11} {:>6}  {} {}:{}",
                function.count,
                format!("{executed}/{all}"),
                percent((executed, all)),
                plain::line(&function.name),
                plain::line(path),
                function.lines.0
            );
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
        match branch.counts {
            Some([taken, not]) => _ = write!(text, "+{taken}-{not}"),
            None => text.push('?'),
        }
    }
    text
}

/// A line of a source file, in which tabs stay.
fn source_line(text: &str) -> String {
    text.split('\t').map(plain::line).collect::<Vec<_>>().join("\t")
}

/// A source file with the executions of each line and the outcomes of its branches. `lost`: what
/// was not executed in the trace may have been executed where trace was lost.
pub fn annotated(text: &str, source: &SourceFile, lost: bool) -> String {
    let mut out = String::new();
    for (number, code) in (1..).zip(text.lines()) {
        let (count, branches) = match source.lines.get(&number) {
            None => (String::new(), String::new()),
            Some(line) if line.count == 0 && lost => ("unknown".to_owned(), outcomes(line)),
            Some(line) if line.count == 0 => ("####".to_owned(), outcomes(line)),
            Some(line) => (line.count.to_string(), outcomes(line)),
        };
        let _ = writeln!(out, "{count:>10} {branches:>16} {number:>6}  {}", source_line(code));
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
            .number("lines", lines.1)
            .number("executed_lines", lines.0)
            .number("outcomes", branches.1)
            .number("occurred_outcomes", branches.0)
            .end();
        out.push('\n');
        for function in &source.functions {
            Object::new(&mut out)
                .text("type", "source-function")
                .text("path", path)
                .text("name", &function.name)
                .number("first_line", function.lines.0.into())
                .number("last_line", function.lines.1.into())
                .number("executions", function.count)
                .end();
            out.push('\n');
        }
        for (number, line) in &source.lines {
            let known = line.count > 0 || losses == 0;
            Object::new(&mut out)
                .text("type", "line")
                .text("path", path)
                .number("line", (*number).into())
                .maybe_number("executions", known.then_some(line.count))
                .list("branches", &line.branches, |branch, out| {
                    Object::new(out)
                        .hex("address", branch.address)
                        .maybe_number("taken", branch.counts.map(|[taken, _]| taken))
                        .maybe_number("not_taken", branch.counts.map(|[_, not]| not))
                        .end();
                })
                .end();
            out.push('\n');
        }
    }
    let [lines, branches, functions] = totals(sources);
    Object::new(&mut out)
        .text("type", "coverage")
        .number("lines", lines.1)
        .number("executed_lines", lines.0)
        .number("outcomes", branches.1)
        .number("occurred_outcomes", branches.0)
        .number("functions", functions.1)
        .number("executed_functions", functions.0)
        .number("losses", losses)
        .end();
    out.push('\n');
    out
}
