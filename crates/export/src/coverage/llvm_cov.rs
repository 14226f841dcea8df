//! The JSON of `llvm-cov export`, version 2.0.1: a segment for each line, which covers it whole;
//! and with decisions, version 3.1.0. (llvm/tools/llvm-cov/CoverageExporterJson.cpp)

use std::fmt::Write;

use tracewright_analysis::coverage::{BranchOutcomes, SourceFile, Totals};
use tracewright_analysis::decisions::{Decision, DecisionCoverage, MeasuredDecision};

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

/// The counts of lines, functions, branches, and of conditions that were shown to be independent.
type Counts = [(u64, u64); 4];

fn summary(out: &mut String, totals: Counts, has_decisions: bool) {
    let [lines, functions, branches, conditions] = totals;
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
    if has_decisions {
        out.push(',');
        counts(out, "mcdc", conditions);
    }
    out.push('}');
}

/// The counts of a branch, whose record has both outcomes.
fn known(branch: &BranchOutcomes) -> Option<[u64; 2]> {
    let [taken, not] = branch.counts;
    Some([taken?, not?])
}

/// Decisions whose conditions are all known, with whether each was shown to be independent.
fn decisions(
    source: &SourceFile,
) -> impl Iterator<Item = (&Decision, &DecisionCoverage, Vec<bool>)> {
    source.decisions.iter().filter_map(|MeasuredDecision { decision, covered }| {
        let independent: Option<_> = covered.conditions.iter().map(|own| own.independent).collect();
        Some((decision, covered, independent?))
    })
}

/// The record of a decision: its place, the evaluations with each outcome, the numbers of its file
/// and of the kind, and its conditions and evaluations.
fn record(
    out: &mut String,
    (decision, covered, independent): (&Decision, &DecisionCoverage, Vec<bool>),
) {
    let ((line, column), (end_line, end_column)) = (decision.region.start, decision.region.end);
    let vectors =
        |outcome: bool| covered.vectors.keys().filter(|own| own.outcome == outcome).count();
    let _ = write!(
        out,
        "[{line},{column},{end_line},{end_column},{},{},0,0,5,{independent:?},[",
        vectors(true),
        vectors(false)
    );
    for (n, vector) in covered.vectors.keys().enumerate() {
        let comma = if n == 0 { "" } else { "," };
        let value =
            |value: &Option<bool>| value.map_or("null".to_owned(), |value| value.to_string());
        let values: Vec<_> = vector.values.iter().map(value).collect();
        let _ = write!(
            out,
            "{comma}{{\"conditions\":[{}],\"executed\":true,\"result\":{}}}",
            values.join(","),
            vector.outcome
        );
    }
    out.push_str("]]");
}

fn totals(source: &SourceFile) -> Counts {
    let branches = source.lines.values().flat_map(|line| &line.branches).filter_map(known);
    let outcomes = Totals::of(branches.flatten().map(Some));
    let independent = decisions(source).flat_map(|(_, _, own)| own).map(|own| Some(u64::from(own)));
    let conditions = Totals::of(independent);
    [source.line_totals(), source.function_totals(), outcomes, conditions]
        .map(|totals| totals.known())
}

/// The file.
pub(super) fn write(view: &CoverageView<'_>) -> String {
    let has_decisions = view.sources.values().any(|source| !source.decisions.is_empty());
    let version = if has_decisions { "3.1.0" } else { "2.0.1" };
    let mut out = format!(
        "{{\"type\":\"llvm.coverage.json.export\",\"version\":\"{version}\",\"data\":[{{\"files\":["
    );
    let mut all = Counts::default();
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
        out.push_str("],\"expansions\":[],");
        if has_decisions {
            out.push_str("\"mcdc_records\":[");
            for (n, own) in decisions(source).enumerate() {
                out.push_str(if n == 0 { "" } else { "," });
                record(&mut out, own);
            }
            out.push_str("],");
        }
        out.push_str("\"summary\":");
        let own = totals(source);
        summary(&mut out, own, has_decisions);
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
    summary(&mut out, all, has_decisions);
    out.push_str("}]}\n");
    out
}
