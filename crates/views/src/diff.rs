//! Differences between the functions, or the executed lines, of two traces.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use tracewright_analysis::coverage::{SourceFile, Totals};
use tracewright_analysis::functions::FunctionTotals;
use tracewright_capture::plain::line;

use crate::json::Object;

/// A function that differs: its name, and its sums in both traces.
pub type Changed<'a> = (&'a str, FunctionTotals, FunctionTotals);

/// The functions with other calls or instructions, the greatest difference first.
pub fn functions<'a>(
    a: &'a BTreeMap<String, FunctionTotals>,
    b: &'a BTreeMap<String, FunctionTotals>,
) -> Vec<Changed<'a>> {
    let names: BTreeSet<&str> = a.keys().chain(b.keys()).map(String::as_str).collect();
    let of = |all: &BTreeMap<String, FunctionTotals>, name: &str| {
        all.get(name).copied().unwrap_or_default()
    };
    let mut changed: Vec<Changed<'a>> = names
        .into_iter()
        .map(|name| (name, of(a, name), of(b, name)))
        .filter(|(_, a, b)| {
            let key = |t: &FunctionTotals| (t.calls, t.instructions, t.inclusive_instructions);
            key(a) != key(b)
        })
        .collect();
    changed.sort_by_key(|(name, a, b)| (Reverse(a.instructions.abs_diff(b.instructions)), *name));
    changed
}

/// A difference with its sign.
fn signed(a: u64, b: u64) -> String {
    if b >= a { format!("+{}", b - a) } else { format!("-{}", a - b) }
}

/// A table of functions that differ.
pub fn functions_text(changed: &[Changed<'_>], limit: usize) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{:>11} {:>10} {:>13} {:>11} {:>13} {:>11}  function",
        "calls", "change", "self", "change", "total", "change"
    );
    for (name, a, b) in changed.iter().take(limit) {
        let _ = writeln!(
            out,
            "{:>11} {:>10} {:>13} {:>11} {:>13} {:>11}  {}",
            b.calls,
            signed(a.calls, b.calls),
            b.instructions,
            signed(a.instructions, b.instructions),
            b.inclusive_instructions,
            signed(a.inclusive_instructions, b.inclusive_instructions),
            line(name)
        );
    }
    out
}

/// The same as lines of JSON.
pub fn functions_json(changed: &[Changed<'_>], limit: usize) -> String {
    let mut out = String::new();
    for (name, a, b) in changed.iter().take(limit) {
        let o = Object::new(&mut out).text("type", "changed-function").text("name", name);
        o.number("calls_before", a.calls)
            .number("calls", b.calls)
            .number("instructions_before", a.instructions)
            .number("instructions", b.instructions)
            .number("inclusive_instructions_before", a.inclusive_instructions)
            .number("inclusive_instructions", b.inclusive_instructions)
            .end();
        out.push('\n');
    }
    out
}

/// A line that was executed in one trace only, or an outcome that occurred in one only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedLine<'a> {
    /// The path of the source file.
    pub path: &'a str,
    /// The line.
    pub line: u32,
    /// Its executions in the first trace and in the second; `None` where it has no code, or they
    /// are unknown.
    pub counts: [Option<u64>; 2],
    /// Outcomes of its branches that occurred in the first trace and in the second.
    pub outcomes: [usize; 2],
}

/// The lines that were executed in one trace only, and those with other outcomes. What may have
/// been executed where trace was lost is no difference: the second value is the number of lines
/// that are left out for that.
pub fn lines<'a>(
    a: &'a BTreeMap<String, SourceFile>,
    b: &'a BTreeMap<String, SourceFile>,
) -> (Vec<ChangedLine<'a>>, usize) {
    let paths: BTreeSet<&str> = a.keys().chain(b.keys()).map(String::as_str).collect();
    let unknown = |source: &SourceFile| {
        source.line_totals().unknown > 0 || source.branch_totals().unknown > 0
    };
    let lost = [a, b].map(|sources| sources.values().any(unknown));
    let (mut changed, mut left_out) = (Vec::new(), 0);
    for path in paths {
        let files = [a.get(path), b.get(path)];
        let numbers: BTreeSet<u32> =
            files.iter().flatten().flat_map(|file| file.lines.keys().copied()).collect();
        for line in numbers {
            let both = files.map(|file| file.and_then(|file| file.lines.get(&line)));
            let counts = both.map(|line| line.and_then(|line| line.count));
            let unknown = both.iter().flatten().any(|line| line.count.is_none());
            let totals = both.map(|line| {
                let branches = line.into_iter().flat_map(|line| &line.branches);
                Totals::of(branches.flat_map(|branch| branch.counts))
            });
            let outcomes = totals.map(|totals| totals.executed as usize);
            let executed = counts.map(|count| count.is_some_and(|count| count > 0));
            // A branch that was not executed may not be listed.
            let known = match outcomes[0].cmp(&outcomes[1]) {
                Ordering::Less => !lost[0],
                Ordering::Equal => false,
                Ordering::Greater => !lost[1],
            };
            if !unknown && (executed[0] != executed[1] || known) {
                changed.push(ChangedLine { path, line, counts, outcomes });
            } else if unknown || outcomes[0] != outcomes[1] {
                left_out += 1;
            }
        }
    }
    (changed, left_out)
}

/// A line of text for each line that differs.
pub fn lines_text(changed: &[ChangedLine<'_>], limit: usize) -> String {
    let mut out = String::new();
    let count = |count: Option<u64>| count.map_or_else(|| "-".to_owned(), |n| n.to_string());
    for own in changed.iter().take(limit) {
        let ([a, b], [before, after]) = (own.counts, own.outcomes);
        let path = line(own.path);
        let _ = write!(out, "{path}:{}: executions {} to {}", own.line, count(a), count(b));
        if before != after {
            let _ = write!(out, ", outcomes of branches {before} to {after}");
        }
        out.push('\n');
    }
    out
}

/// The same as lines of JSON.
pub fn lines_json(changed: &[ChangedLine<'_>], limit: usize) -> String {
    let mut out = String::new();
    for line in changed.iter().take(limit) {
        Object::new(&mut out)
            .text("type", "changed-line")
            .text("path", line.path)
            .number("line", line.line.into())
            .maybe_number("executions_before", line.counts[0])
            .maybe_number("executions", line.counts[1])
            .number("outcomes_before", line.outcomes[0] as u64)
            .number("outcomes", line.outcomes[1] as u64)
            .end();
        out.push('\n');
    }
    out
}
