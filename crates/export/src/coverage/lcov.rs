//! The tracefile of lcov, which genhtml reads. Branch 0 of a block is the branch that is taken,
//! branch 1 the instruction after it; `-` where the branch was not executed. (geninfo(1), "FILES")

use std::borrow::Cow;
use std::fmt::Write;

use super::CoverageView;
use crate::text::{field, line};

/// A function. A number before a comma would be its last line.
fn name(symbol: &str) -> Cow<'_, str> {
    field(symbol, &[','])
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
