//! The tracefile of lcov, which genhtml reads. Branch 0 of a block is the branch that is taken,
//! branch 1 the instruction after it; `-` where the branch was not executed. (geninfo(1), "FILES")

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write;

use tracewright_analysis::coverage::SourceFile;
use tracewright_analysis::decisions::MeasuredDecision;

use super::CoverageView;
use crate::text::{field, line};

/// A function. A number before a comma would be its last line.
fn name(symbol: &str) -> Cow<'_, str> {
    field(symbol, &[','])
}

/// The conditions of decisions, whose lines are those of the decision. A condition has no record of
/// its own values: both are covered where it was shown to decide the outcome.
fn conditions(out: &mut String, source: &SourceFile) {
    // Conditions of decisions with as many conditions in the same line have one list.
    let mut listed = BTreeMap::<(u32, usize), usize>::new();
    let (mut found, mut shown) = (0, 0);
    for MeasuredDecision { decision, covered } in &source.decisions {
        let (line, size) = (decision.region.start.0, decision.conditions.len());
        // What is unknown has no records.
        let known = covered.conditions.iter().all(|own| own.independent.is_some());
        if !known {
            continue;
        }
        let next = listed.entry((line, size)).or_default();
        for (n, (condition, own)) in decision.conditions.iter().zip(&covered.conditions).enumerate()
        {
            let taken = u8::from(own.independent == Some(true));
            let text = match condition.text.as_str() {
                "" => Cow::Owned(format!("condition {}", n + 1)),
                text => Cow::Borrowed(text),
            };
            for sense in ['t', 'f'] {
                let _ = writeln!(
                    out,
                    "MCDC:{line},{size},{sense},{taken},{next},{}",
                    self::line(&text)
                );
                found += 1;
                shown += u64::from(taken);
            }
            *next += 1;
        }
    }
    if found > 0 {
        let _ = writeln!(out, "MCF:{found}\nMCH:{shown}");
    }
}

/// The file.
pub(super) fn write(view: &CoverageView<'_>) -> String {
    let mut out = String::new();
    for (path, source) in view.sources {
        let _ = writeln!(out, "TN:\nSF:{}", line(path));
        // What is unknown has no records.
        let known = || source.functions.iter().filter_map(|f| Some((f, f.count?)));
        for (function, _) in known() {
            let _ = writeln!(out, "FN:{},{}", function.lines.0, name(&function.symbol));
        }
        for (function, count) in known() {
            let _ = writeln!(out, "FNDA:{count},{}", name(&function.symbol));
        }
        let (executed, all) = source.function_totals().known();
        let _ = writeln!(out, "FNF:{all}\nFNH:{executed}");
        for (number, own) in &source.lines {
            for (block, branch) in own.branches.iter().enumerate() {
                for (n, count) in branch.counts.iter().enumerate() {
                    let Some(count) = count else { continue };
                    let count = if branch.executed() { count.to_string() } else { "-".to_owned() };
                    let _ = writeln!(out, "BRDA:{number},{block},{n},{count}");
                }
            }
        }
        let (occurred, all) = source.branch_totals().known();
        let _ = writeln!(out, "BRF:{all}\nBRH:{occurred}");
        conditions(&mut out, source);
        for (number, own) in &source.lines {
            if let Some(count) = own.count {
                let _ = writeln!(out, "DA:{number},{count}");
            }
        }
        let (executed, all) = source.line_totals().known();
        let _ = writeln!(out, "LF:{all}\nLH:{executed}\nend_of_record");
    }
    out
}
