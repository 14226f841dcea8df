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
        for function in &source.functions {
            let _ = writeln!(out, "FN:{},{}", function.lines.0, name(&function.symbol));
        }
        for function in &source.functions {
            let _ = writeln!(out, "FNDA:{},{}", function.count, name(&function.symbol));
        }
        let (executed, all) = source.function_totals();
        let _ = writeln!(out, "FNF:{all}\nFNH:{executed}");
        for (number, own) in &source.lines {
            for (block, branch) in own.branches.iter().enumerate() {
                for n in 0..2 {
                    let count = branch.counts.and_then(|counts| counts.get(n).copied());
                    let count = count.map_or_else(|| "-".to_owned(), |count| count.to_string());
                    let _ = writeln!(out, "BRDA:{number},{block},{n},{count}");
                }
            }
        }
        let (occurred, all) = source.branch_totals();
        let _ = writeln!(out, "BRF:{all}\nBRH:{occurred}");
        for (number, own) in &source.lines {
            let _ = writeln!(out, "DA:{number},{}", own.count);
        }
        let (executed, all) = source.line_totals();
        let _ = writeln!(out, "LF:{all}\nLH:{executed}\nend_of_record");
    }
    out
}
