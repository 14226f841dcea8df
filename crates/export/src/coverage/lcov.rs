//! The tracefile of lcov, which genhtml reads. Branch 0 of a block is the branch that is taken,
//! branch 1 the instruction after it; `-` where the branch was not executed. (geninfo(1), "FILES")

use std::fmt::Write;

use super::CoverageView;

/// The file.
pub(super) fn write(view: &CoverageView<'_>) -> String {
    let mut out = String::new();
    for (path, source) in view.sources {
        let _ = writeln!(out, "TN:\nSF:{}", path.replace('\n', " "));
        for function in &source.functions {
            let _ = writeln!(out, "FN:{},{}", function.lines.0, function.symbol);
        }
        for function in &source.functions {
            let _ = writeln!(out, "FNDA:{},{}", function.count, function.symbol);
        }
        let (executed, all) = source.function_totals();
        let _ = writeln!(out, "FNF:{all}\nFNH:{executed}");
        for (number, line) in &source.lines {
            for (block, branch) in line.branches.iter().enumerate() {
                for n in 0..2 {
                    let count = branch.counts.and_then(|counts| counts.get(n).copied());
                    let count = count.map_or_else(|| "-".to_owned(), |count| count.to_string());
                    let _ = writeln!(out, "BRDA:{number},{block},{n},{count}");
                }
            }
        }
        let (occurred, all) = source.branch_totals();
        let _ = writeln!(out, "BRF:{all}\nBRH:{occurred}");
        for (number, line) in &source.lines {
            let _ = writeln!(out, "DA:{number},{}", line.count);
        }
        let (executed, all) = source.line_totals();
        let _ = writeln!(out, "LF:{all}\nLH:{executed}\nend_of_record");
    }
    out
}
