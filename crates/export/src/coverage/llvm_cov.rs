//! The JSON of `llvm-cov export`, version 2.0.1: a segment for each line, which covers it whole.
//! (llvm/tools/llvm-cov/CoverageExporterJson.cpp)

use std::fmt::Write;

use tracewright_analysis::coverage::{BranchOutcomes, SourceFile, Totals};

use super::CoverageView;
use crate::text::json;

/// The counts of one kind, as in a summary.
fn counts(out: &mut String, name: &str, (covered, count): (u64, u64)) {
    let percent = if count == 0 { 0.0 } else { 100.0 * covered as f64 / count as f64 };
    let _ = write!(
        out,
        "\"{name}\":{{\"count\":{count},\"covered\":{covered},\"percent\":{percent:.4}}}"
    );
}

fn summary(out: &mut String, totals: [(u64, u64); 3]) {
    let [lines, functions, branches] = totals;
    out.push('{');
    counts(out, "lines", lines);
    out.push(',');
    counts(out, "functions", functions);
    out.push(',');
    counts(out, "instantiations", functions);
    out.push(',');
    counts(out, "regions", lines);
    out.push(',');
    counts(out, "branches", branches);
    out.push('}');
}

/// The counts of a branch, whose record has both outcomes.
fn known(branch: &BranchOutcomes) -> Option<[u64; 2]> {
    let [taken, not] = branch.counts;
    Some([taken?, not?])
}

fn totals(source: &SourceFile) -> [(u64, u64); 3] {
    let branches = source.lines.values().flat_map(|line| &line.branches).filter_map(known);
    let outcomes = Totals::of(branches.flatten().map(Some));
    [source.line_totals(), source.function_totals(), outcomes].map(|totals| totals.known())
}

/// The file.
pub(super) fn write(view: &CoverageView<'_>) -> String {
    let mut out = String::from(
        "{\"type\":\"llvm.coverage.json.export\",\"version\":\"2.0.1\",\"data\":[{\"files\":[",
    );
    let mut all = [(0, 0); 3];
    for (n, (path, source)) in view.sources.iter().enumerate() {
        let comma = if n == 0 { "" } else { "," };
        let _ = write!(out, "{comma}\n{{\"filename\":{},\"segments\":[", json(path));
        let mut first = true;
        for (number, line) in &source.lines {
            let comma = if std::mem::take(&mut first) { "" } else { "," };
            // What is unknown has no count.
            let (count, known) = (line.count.unwrap_or(0), line.count.is_some());
            let _ = write!(out, "{comma}[{number},1,{count},{known},{known},false]");
            if !source.lines.contains_key(&(number + 1)) {
                let _ = write!(out, ",[{},1,0,false,false,false]", number + 1);
            }
        }
        out.push_str("],\"branches\":[");
        let branches = source.lines.iter().flat_map(|(number, line)| {
            line.branches.iter().filter_map(move |branch| Some((number, known(branch)?)))
        });
        for (n, (number, [taken, not])) in branches.enumerate() {
            let comma = if n == 0 { "" } else { "," };
            let _ = write!(out, "{comma}[{number},1,{number},1,{taken},{not},0,0,4]");
        }
        out.push_str("],\"expansions\":[],\"summary\":");
        let own = totals(source);
        summary(&mut out, own);
        out.push('}');
        for (sum, own) in all.iter_mut().zip(own) {
            *sum = (sum.0 + own.0, sum.1 + own.1);
        }
    }
    out.push_str("],\"functions\":[");
    let mut first = true;
    for (path, source) in view.sources {
        for (function, count) in source.functions.iter().filter_map(|f| Some((f, f.count?))) {
            let comma = if std::mem::take(&mut first) { "" } else { "," };
            let (from, to) = function.lines;
            let _ = write!(
                out,
                "{comma}\n{{\"name\":{},\"count\":{},\"regions\":[[{from},1,{to},1,{},0,0,0]],\
                 \"branches\":[],\"filenames\":[{}]}}",
                json(&function.symbol),
                count,
                count,
                json(path)
            );
        }
    }
    out.push_str("],\"totals\":");
    summary(&mut out, all);
    out.push_str("}]}\n");
    out
}
