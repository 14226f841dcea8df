//! The table of functions, as text and as JSON Lines.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write;

use tracewright_analysis::Code;
use tracewright_analysis::functions::{FunctionTotals, together};
use tracewright_analysis::stacks::{FunctionId, StackCounts};
use tracewright_capture::plain::line;
use tracewright_symbols::without_parameters;

use crate::json::Object;

/// The column that orders the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// Instructions in the function itself.
    #[default]
    Instructions,
    /// Instructions with the functions that it calls.
    Inclusive,
    /// Calls.
    Calls,
    /// Cycles in the function itself.
    Cycles,
    /// Time in the function itself.
    Time,
    /// The name.
    Name,
}

/// The functions of one thread, or of all of them.
#[derive(Clone, Debug, Default)]
pub struct FunctionTable {
    /// The thread; `None` for all threads.
    pub thread: Option<String>,
    /// Its functions.
    pub functions: BTreeMap<FunctionId, FunctionTotals>,
}

/// What is shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shown<'a> {
    /// The order.
    pub sort: Sort,
    /// The most rows of a table.
    pub limit: Option<usize>,
    /// Only functions that are [called](is_called) so.
    pub name: Option<&'a str>,
}

impl FunctionTable {
    /// One table of all threads.
    pub fn of_all(threads: &[FunctionTable]) -> FunctionTable {
        let tables: Vec<_> = threads.iter().map(|table| table.functions.clone()).collect();
        FunctionTable { thread: None, functions: together(&tables) }
    }

    /// The rows that are shown, in order.
    fn rows<'a>(&'a self, code: &'a Code, shown: &Shown<'_>) -> Vec<Row<'a>> {
        let is_shown = |function: &FunctionId| {
            let called = |name| is_called(name, &code.name(*function), code.symbol(*function));
            shown.name.is_none_or(called)
        };
        let functions = self.functions.iter().filter(|(function, _)| is_shown(function));
        let rows = functions.map(|(function, totals)| {
            let known = match function {
                FunctionId::Known(number) => code.get(*number),
                _ => None,
            };
            let module = known.and_then(|known| known.module.as_deref());
            let address = match (function, known) {
                (FunctionId::At(address), _) => Some(*address),
                (_, known) => known.map(|known| known.function.start),
            };
            Row { name: code.name(*function), address, module, totals }
        });
        let mut rows: Vec<Row<'_>> = rows.collect();
        rows.sort_by(|a, b| {
            let key = |row: &Row<'_>| {
                let t = row.totals;
                Reverse(match shown.sort {
                    Sort::Instructions => t.instructions,
                    Sort::Inclusive => t.inclusive_instructions,
                    Sort::Calls => t.calls,
                    Sort::Cycles => t.cycles,
                    Sort::Time => t.ticks,
                    Sort::Name => 0,
                })
            };
            key(a).cmp(&key(b)).then_with(|| (&a.name, a.module).cmp(&(&b.name, b.module)))
        });
        rows.truncate(shown.limit.unwrap_or(usize::MAX));
        rows
    }

    /// Whether no row is shown.
    pub fn is_empty(&self, code: &Code, shown: &Shown<'_>) -> bool {
        self.rows(code, shown).is_empty()
    }

    fn sum(&self) -> FunctionTotals {
        let mut sum = FunctionTotals::default();
        self.functions.values().for_each(|totals| sum.add(totals));
        sum
    }

    /// Text. Columns of cycles and time are there where the trace has them.
    pub fn text(&self, code: &Code, shown: &Shown<'_>) -> String {
        let mut out = String::new();
        if let Some(thread) = &self.thread {
            let _ = writeln!(out, "{}", line(thread));
        }
        let sum = self.sum();
        let (cycles, ticks) = (sum.cycles > 0, sum.ticks > 0);
        let _ = write!(out, "{:>11} {:>13} {:>6} {:>13} {:>6}", "calls", "self", "%", "total", "%");
        if cycles {
            let _ = write!(out, " {:>13} {:>13}", "cycles", "total cycles");
        }
        if ticks {
            let _ = write!(out, " {:>13} {:>13}", "ticks", "total ticks");
        }
        out.push_str("  function\n");
        for Row { name, module, totals: t, .. } in self.rows(code, shown) {
            let share = |part: u64| percent(part, sum.instructions);
            let _ = write!(
                out,
                "{:>11} {:>13} {:>6} {:>13} {:>6}",
                t.calls,
                t.instructions,
                share(t.instructions),
                t.inclusive_instructions,
                share(t.inclusive_instructions)
            );
            if cycles {
                let _ = write!(out, " {:>13} {:>13}", t.cycles >> 16, t.inclusive_cycles >> 16);
            }
            if ticks {
                let _ = write!(out, " {:>13} {:>13}", t.ticks >> 16, t.inclusive_ticks >> 16);
            }
            let _ = write!(out, "  {}", line(&name));
            if let Some(module) = module {
                let file = module.rsplit('/').next().unwrap_or(module);
                let _ = write!(out, " [{}]", line(file));
            }
            out.push('\n');
        }
        out
    }

    /// JSON Lines.
    pub fn json(&self, code: &Code, shown: &Shown<'_>) -> String {
        let mut out = String::new();
        for Row { name, address, module, totals: t } in self.rows(code, shown) {
            Object::new(&mut out)
                .text("type", "function")
                .text("name", &name)
                .maybe_hex("address", address)
                .maybe_text("module", module)
                .maybe_text("thread", self.thread.as_deref())
                .number("calls", t.calls)
                .number("instructions", t.instructions)
                .number("inclusive_instructions", t.inclusive_instructions)
                .maybe_number("cycles", (t.inclusive_cycles > 0).then_some(t.cycles >> 16))
                .maybe_number(
                    "inclusive_cycles",
                    (t.inclusive_cycles > 0).then_some(t.inclusive_cycles >> 16),
                )
                .maybe_number("ticks", (t.inclusive_ticks > 0).then_some(t.ticks >> 16))
                .maybe_number(
                    "inclusive_ticks",
                    (t.inclusive_ticks > 0).then_some(t.inclusive_ticks >> 16),
                )
                .maybe_number("uncertain_frames", (t.uncertain > 0).then_some(t.uncertain))
                .end();
            out.push('\n');
        }
        out
    }
}

/// A row of the table.
struct Row<'a> {
    name: std::borrow::Cow<'a, str>,
    address: Option<u64>,
    module: Option<&'a str>,
    totals: &'a FunctionTotals,
}

/// `part` of `whole` in percent, with one digit.
fn percent(part: u64, whole: u64) -> String {
    let whole = u128::from(whole.max(1));
    let tenths = (u128::from(part) * 1000 + whole / 2) / whole;
    format!("{}.{}", tenths / 10, tenths % 10)
}

/// Whether a function with this `name` and `symbol` is called `pattern`, in which each `*` stands
/// for any characters: the name, with its parameters or without them. The symbol has no `*`.
pub fn is_called(pattern: &str, name: &str, symbol: Option<&str>) -> bool {
    let is = |name| matches(pattern, name);
    is(name) || without_parameters(name).is_some_and(is) || symbol == Some(pattern)
}

/// Whether `name` is `pattern`, in which each `*` stands for any characters.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(start) else { return false };
    let mut parts = rest.split('*').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return name.ends_with(part);
        }
        match name.find(part) {
            Some(at) => name = name.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    true
}

/// What was found, in one line of text.
pub fn counts_text(counts: &StackCounts) -> String {
    let mut out = format!("{} instructions, {} calls, ", counts.instructions, counts.calls);
    let _ = write!(out, "{} returns", counts.returns);
    for (count, what) in counted(counts) {
        if count > 0 {
            let _ = write!(out, ", {count} {what}");
        }
    }
    out.push('\n');
    out
}

/// The counts beside calls and returns.
fn counted(counts: &StackCounts) -> [(u64, &'static str); 10] {
    [
        (counts.returns_of_unseen_calls, "returns of calls before the trace or in losses"),
        (counts.unwinding, "returns further down"),
        (counts.other_returns, "other returns"),
        (counts.tail_calls, "tail calls"),
        (counts.jumps, "branches into functions"),
        (counts.exceptions, "exceptions"),
        (counts.exception_returns, "exception returns"),
        (counts.switches, "thread switches"),
        (counts.losses, "losses"),
        (counts.too_deep, "calls too deep to be followed"),
    ]
}

/// What was found, as a line of JSON.
pub fn counts_json(counts: &StackCounts) -> String {
    let mut out = String::new();
    Object::new(&mut out)
        .text("type", "stacks")
        .number("instructions", counts.instructions)
        .number("calls", counts.calls)
        .number("returns", counts.returns)
        .number("returns_of_unseen_calls", counts.returns_of_unseen_calls)
        .number("unwinding", counts.unwinding)
        .number("other_returns", counts.other_returns)
        .number("tail_calls", counts.tail_calls)
        .number("jumps", counts.jumps)
        .number("exceptions", counts.exceptions)
        .number("exception_returns", counts.exception_returns)
        .number("switches", counts.switches)
        .number("losses", counts.losses)
        .number("begun", counts.begun)
        .number("ended", counts.ended)
        .maybe_number("too_deep", (counts.too_deep > 0).then_some(counts.too_deep))
        .end();
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, name, want) in [
            ("main", "main", true),
            ("main", "main2", false),
            ("ma*", "main", true),
            ("*in", "main", true),
            ("m*n", "main", true),
            ("m*x", "main", false),
            ("*a*i*", "main", true),
            ("ab*ba", "aba", false),
            ("*", "", true),
        ] {
            assert_eq!(matches(pattern, name), want, "{pattern} {name}");
        }
    }

    #[test]
    fn functions_by_name_and_symbol() {
        let is = |pattern| is_called(pattern, "add(int, int)", Some("_Z3addii"));
        for pattern in ["add(int, int)", "add", "a*d", "add(*", "_Z3addii"] {
            assert!(is(pattern), "{pattern}");
        }
        for pattern in ["ad", "add(", "_Z*", "int"] {
            assert!(!is(pattern), "{pattern}");
        }
        assert!(is_called("main", "main", None));
    }

    #[test]
    fn shares() {
        assert_eq!(percent(1, 3), "33.3");
        assert_eq!(percent(0, 0), "0.0");
        assert_eq!(percent(u64::MAX, u64::MAX), "100.0");
    }
}
