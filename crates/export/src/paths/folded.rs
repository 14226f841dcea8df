//! Folded stacks: `thread;caller;function instructions`, the input of flamegraph.pl, inferno and
//! speedscope.

use std::fmt::Write;

use super::PathView;

/// A frame must not have the separators.
fn frame(name: &str) -> String {
    name.replace([';', '\n', ' '], "_")
}

/// A line for each path with instructions of its own.
pub(super) fn write(view: &PathView<'_>) -> String {
    let (mut out, mut stack) = (String::new(), Vec::new());
    for (number, depth, name) in view.named() {
        stack.truncate(depth);
        stack.push(frame(&name));
        let own = view.paths.paths().get(number as usize).map_or(0, |path| path.instructions);
        if own > 0 {
            let _ = writeln!(out, "{} {own}", stack.join(";"));
        }
    }
    out
}
