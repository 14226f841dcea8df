//! What became of functions since an older state of a program, as text and as JSON Lines.

use std::fmt::Write;

use tracewright_analysis::coverage_runs::{FunctionChange, FunctionState};
use tracewright_capture::plain;

use crate::json_object::Object;

/// All states.
const STATES: [FunctionState; 5] = [
    FunctionState::Unchanged,
    FunctionState::Changed,
    FunctionState::Unknown,
    FunctionState::Added,
    FunctionState::Removed,
];

/// How many functions have each state.
pub fn summary(changes: &[FunctionChange]) -> String {
    let count = |state: FunctionState| changes.iter().filter(|own| own.state == state).count();
    let counts = STATES.map(|state| format!("{} {}", state.name(), count(state)));
    format!("functions since the older state: {}", counts.join(", "))
}

/// A row for each function, and then how many have each state.
pub fn text(changes: &[FunctionChange]) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{:>10} {:>15}  function", "state", "executed before");
    for own in changes {
        let before = if own.executed_before { "yes" } else { "no" };
        let _ = writeln!(
            out,
            "{:>10} {before:>15}  {} {}:{}",
            own.state.name(),
            plain::line(&own.name),
            plain::line(&own.path),
            own.line
        );
    }
    let _ = writeln!(out, "{}", summary(changes));
    out
}

/// A line of JSON for each function.
pub fn json(changes: &[FunctionChange]) -> String {
    let mut out = String::new();
    for own in changes {
        Object::new(&mut out)
            .text("type", "function-state")
            .text("path", &own.path)
            .text("name", &own.name)
            .text("symbol", &own.symbol)
            .number("first_line", own.line.into())
            .text("state", own.state.name())
            .flag("executed_before", own.executed_before)
            .end();
        out.push('\n');
    }
    out
}
