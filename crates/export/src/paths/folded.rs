//! Folded stacks: `thread;caller;function instructions`, the input of flamegraph.pl, inferno and
//! speedscope.

use std::fmt::Write;

use super::PathView;
use crate::folded::frame;
use crate::pieces::Pieces;

/// A line for each path with instructions of its own.
pub(super) fn write(view: &PathView<'_>, out: &mut Pieces<'_>) {
    // The frames with the semicolons between them, and the length of the text up to each.
    let (mut stack, mut lengths) = (String::new(), Vec::new());
    for (number, depth, name) in view.named() {
        if !out.is_wanted() {
            return;
        }
        lengths.truncate(depth);
        stack.truncate(lengths.last().copied().unwrap_or(0));
        if !stack.is_empty() {
            stack.push(';');
        }
        stack.push_str(&frame(&name));
        lengths.push(stack.len());
        let own = view.paths.paths().get(number as usize).map_or(0, |path| path.instructions);
        if own > 0 {
            let _ = writeln!(out, "{stack} {own}");
        }
    }
}
