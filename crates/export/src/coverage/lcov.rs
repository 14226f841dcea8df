//! The tracefile of lcov, which genhtml reads. Branch 0 of a block is the branch that is taken,
//! branch 1 the instruction after it; `-` where the branch was not executed. (geninfo(1), "FILES")

use std::fmt::Write;

use super::CoverageView;

/// The file.
pub(super) fn write(view: &CoverageView<'_>) -> String {
    let mut out = String::new();
    for (path, source) in view.sources {
        let _ = writeln!(out, "TN:\nSF:{}", path.replace('\n', " "));
        // What is unknown has no records.
        let known = || source.functions.iter().filter_map(|f| Some((f, f.count?)));
        for (function, _) in known() {
            let _ = writeln!(out, "FN:{},{}", function.lines.0, function.symbol);
        }
        for (function, count) in known() {
            let _ = writeln!(out, "FNDA:{count},{}", function.symbol);
        }
        let (executed, all) = source.function_totals().known();
        let _ = writeln!(out, "FNF:{all}\nFNH:{executed}");
        for (number, line) in &source.lines {
            for (block, branch) in line.branches.iter().enumerate() {
                for (n, count) in branch.counts.iter().enumerate() {
                    let Some(count) = count else { continue };
                    let count = if branch.executed() { count.to_string() } else { "-".to_owned() };
                    let _ = writeln!(out, "BRDA:{number},{block},{n},{count}");
                }
            }
        }
        let (occurred, all) = source.branch_totals().known();
        let _ = writeln!(out, "BRF:{all}\nBRH:{occurred}");
        for (number, line) in &source.lines {
            if let Some(count) = line.count {
                let _ = writeln!(out, "DA:{number},{count}");
            }
        }
        let (executed, all) = source.line_totals().known();
        let _ = writeln!(out, "LF:{all}\nLH:{executed}\nend_of_record");
    }
    out
}
