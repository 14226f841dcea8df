//! Coverage of the object code as text and as JSON Lines.

use std::fmt::Write;

use tracewright_analysis::coverage::{
    CallSite, ExitKind, ExitSite, ObjectCoverage, ObjectFunction, Totals,
};
use tracewright_capture::plain;

use crate::json::Object;

/// `3/4`, and how many are unknown; `-` of nothing.
fn part(totals: Totals) -> String {
    if totals.all == 0 {
        return "-".to_owned();
    }
    let unknown = if totals.unknown > 0 { format!(" ?{}", totals.unknown) } else { String::new() };
    format!("{}/{}{unknown}", totals.executed, totals.all)
}

fn calls(own: &ObjectFunction) -> Totals {
    Totals::of(own.calls.iter().map(|own| own.count))
}

fn exits(own: &ObjectFunction) -> Totals {
    Totals::of(own.exits.iter().map(|own| own.count))
}

/// A row for each function, below it the calls and exits that were not executed and the functions
/// that indirect calls called, and then the sums.
pub fn text(all: &[(String, ObjectCoverage)]) -> String {
    let mut out = String::new();
    let row = |out: &mut String, cells: [String; 6], name: &str| {
        let [instructions, branches, calls, entries, exits, without] = cells;
        let _ = writeln!(
            out,
            "{instructions:>13} {branches:>11} {calls:>9} {entries:>7} {exits:>7} {without:>9}  {}",
            plain::line(name)
        );
    };
    let heads = ["instructions", "branches", "calls", "entries", "exits", "no line"];
    row(&mut out, heads.map(str::to_owned), "function");
    let mut sums = [Totals::default(); 6];
    let (mut outside, mut unknown) = (0, Vec::new());
    for (path, file) in all {
        for own in &file.functions {
            let entries = Totals::of([own.entered]);
            let cells =
                [own.instructions, own.branches, calls(own), entries, exits(own), own.without_line];
            let name = match all.len() {
                1 => own.name.clone(),
                _ => format!("{} ({path})", own.name),
            };
            row(&mut out, cells.map(part), &name);
            sums.iter_mut().zip(cells).for_each(|(sum, own)| *sum = sum.and(own));
            details(&mut out, own);
        }
        outside += file.outside;
        unknown.extend(&file.unknown);
    }
    row(&mut out, sums.map(part), "all");
    if outside > 0 {
        let _ = writeln!(
            out,
            "executed instructions outside of functions whose code is known: {outside}"
        );
    }
    if let Some(first) = unknown.first() {
        let _ = writeln!(
            out,
            "functions whose instruction set is not known: {}; the first is {}",
            unknown.len(),
            plain::line(first)
        );
    }
    out
}

fn place(line: Option<&(String, u32)>) -> String {
    line.map_or("no line".to_owned(), |(path, line)| format!("{path}:{line}"))
}

fn details(out: &mut String, own: &ObjectFunction) {
    let mut line = |text: String| {
        let _ = writeln!(out, "{:63}  {}", "", plain::line(&text));
    };
    for call in &own.calls {
        let to = match (&call.target, call.indirect) {
            (Some(name), _) => format!("call of {name}"),
            (None, true) => "indirect call".to_owned(),
            (None, false) => "call".to_owned(),
        };
        let at = format!("{to} at {:#x}, {}", call.address, place(call.line.as_ref()));
        match call.count {
            Some(0) => line(format!("{at}: never executed")),
            None => line(format!("{at}: unknown")),
            Some(_) if call.indirect => {
                let names: Vec<_> =
                    call.callees.iter().map(|(name, count)| format!("{name} {count}")).collect();
                let names = if names.is_empty() { "unknown".to_owned() } else { names.join(", ") };
                line(format!("{at}: {names}"));
            }
            Some(_) => {}
        }
    }
    for exit in &own.exits {
        let at =
            format!("{} at {:#x}, {}", kind(exit.kind), exit.address, place(exit.line.as_ref()));
        match exit.count {
            Some(0) => line(format!("{at}: never executed")),
            None => line(format!("{at}: unknown")),
            Some(_) => {}
        }
    }
}

fn kind(own: ExitKind) -> &'static str {
    match own {
        ExitKind::Return => "return",
        ExitKind::ExceptionReturn => "exception return",
        ExitKind::TailCall => "tail call",
    }
}

/// A line of JSON for each function, and for each file.
pub fn json(all: &[(String, ObjectCoverage)]) -> String {
    let mut out = String::new();
    for (path, file) in all {
        for own in &file.functions {
            let mut object = Object::new(&mut out)
                .text("type", "object-function")
                .text("file", path)
                .text("name", &own.name)
                .text("symbol", &own.symbol)
                .hex("address", own.start)
                .maybe_number("entered", own.entered);
            for (keys, totals) in [
                (
                    ["instructions", "executed_instructions", "unknown_instructions"],
                    own.instructions,
                ),
                (["outcomes", "occurred_outcomes", "unknown_outcomes"], own.branches),
                (
                    [
                        "instructions_without_line",
                        "executed_instructions_without_line",
                        "unknown_instructions_without_line",
                    ],
                    own.without_line,
                ),
            ] {
                let [all, executed, unknown] = keys;
                object = object
                    .number(all, totals.all)
                    .number(executed, totals.executed)
                    .number(unknown, totals.unknown);
            }
            object.list("calls", &own.calls, call).list("exits", &own.exits, exit).end();
            out.push('\n');
        }
        Object::new(&mut out)
            .text("type", "object-file")
            .text("file", path)
            .number("functions", file.functions.len() as u64)
            .number("functions_of_unknown_instruction_set", file.unknown.len() as u64)
            .number("executed_outside", file.outside)
            .end();
        out.push('\n');
    }
    out
}

/// The begin of an object: an address, and its line.
fn at<'a>(out: &'a mut String, address: u64, line: Option<&(String, u32)>) -> Object<'a> {
    Object::new(out)
        .hex("address", address)
        .maybe_text("path", line.map(|(path, _)| path.as_str()))
        .maybe_number("line", line.map(|(_, line)| u64::from(*line)))
}

fn call(own: &CallSite, out: &mut String) {
    at(out, own.address, own.line.as_ref())
        .maybe_text("target", own.target.as_deref())
        .mark("indirect", own.indirect)
        .maybe_number("count", own.count)
        .list("callees", &own.callees, |(name, count), out| {
            Object::new(out).text("name", name).number("count", *count).end();
        })
        .end();
}

fn exit(own: &ExitSite, out: &mut String) {
    at(out, own.address, own.line.as_ref())
        .text("kind", kind(own.kind))
        .maybe_number("count", own.count)
        .end();
}
