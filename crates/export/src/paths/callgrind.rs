//! The format of callgrind with calls. (Valgrind manual, "Callgrind Format Specification")

use std::collections::BTreeMap;
use std::fmt::Write;

use tracewright_analysis::FunctionId;

use super::PathView;
use crate::pieces::Pieces;
use crate::text::line;

/// The file.
pub(super) fn write(view: &PathView<'_>, out: &mut Pieces<'_>) {
    let sums = view.inclusive();
    let mut own: BTreeMap<FunctionId, u64> = BTreeMap::new();
    // By caller and called function: calls, instructions with what is called.
    let mut calls: BTreeMap<FunctionId, BTreeMap<FunctionId, (u64, u64)>> = BTreeMap::new();
    let paths = view.paths.paths();
    for (path, sum) in paths.iter().zip(&sums) {
        let Some(parent) = path.parent.and_then(|parent| paths.get(parent as usize)) else {
            continue;
        };
        let total = own.entry(path.function).or_default();
        *total = total.saturating_add(path.instructions);
        // A thread calls nothing.
        if parent.parent.is_some() {
            let called = calls.entry(parent.function).or_default();
            let (count, total) = called.entry(path.function).or_default();
            // What was entered otherwise has one at least, as the format needs.
            *count = count.saturating_add(path.calls.max(1));
            *total = total.saturating_add(*sum);
        }
    }
    out.text("# callgrind format\nversion: 1\ncreator: tracewright\npositions: line\nevents: Ir\n");
    let mut numbers: BTreeMap<FunctionId, usize> = BTreeMap::new();
    let mut name = |function: FunctionId| {
        let next = numbers.len() + 1;
        match numbers.get(&function) {
            Some(number) => format!("({number})"),
            None => {
                numbers.insert(function, next);
                format!("({next}) {}", line(&view.code.name(function)))
            }
        }
    };
    for (function, instructions) in &own {
        let _ = write!(out, "\nfl=???\nfn={}\n0 {instructions}\n", name(*function));
        for (called, (count, total)) in calls.get(function).into_iter().flatten() {
            let _ = write!(out, "cfn={}\ncalls={count} 0\n0 {total}\n", name(*called));
        }
    }
    let sum = own.values().fold(0u64, |sum, own| sum.saturating_add(*own));
    let _ = write!(out, "\ntotals: {sum}\n");
}
