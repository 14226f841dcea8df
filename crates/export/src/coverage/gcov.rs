//! The intermediate format of gcov: JSON, format version 1; and with decisions version 2 of GCC 14,
//! which has conditions and the numbers of blocks. Here each branch is a block, and each outcome.
//! (gcov(1), `--json-format`)

use std::collections::HashMap;
use std::fmt::Write;

use tracewright_analysis::coverage::SourceFile;

use super::CoverageView;
use crate::text::json;

/// The file.
pub(super) fn write(view: &CoverageView<'_>) -> String {
    let has_decisions = view.sources.values().any(|source| !source.decisions.is_empty());
    let version = if has_decisions { 2 } else { 1 };
    let mut out = format!(
        "{{\"format_version\":\"{version}\",\"gcc_version\":\"tracewright\",\
         \"current_working_directory\":\"/\",\"data_file\":\"trace\",\"files\":["
    );
    let mut blocks = 0usize;
    for (n, (path, source)) in view.sources.iter().enumerate() {
        let comma = if n == 0 { "" } else { "," };
        let _ = write!(out, "{comma}\n{{\"file\":{},\"functions\":[", json(path));
        // What is unknown is left out.
        let known = source.functions.iter().filter_map(|f| Some((f, f.count?)));
        for (n, (function, count)) in known.enumerate() {
            let comma = if n == 0 { "" } else { "," };
            let executed = u8::from(count > 0);
            let _ = write!(
                out,
                "{comma}\n{{\"name\":{},\"demangled_name\":{},\"start_line\":{},\"end_line\":{},\
                 \"start_column\":1,\"end_column\":1,\"blocks\":1,\"blocks_executed\":{executed},\
                 \"execution_count\":{}}}",
                json(&function.symbol),
                json(&function.name),
                function.lines.0,
                function.lines.1,
                count
            );
        }
        out.push_str("],\"lines\":[");
        let functions = functions_of_lines(source);
        let known = source.lines.iter().filter_map(|(n, line)| Some((n, line, line.count?)));
        for (n, (number, line, count)) in known.enumerate() {
            let comma = if n == 0 { "" } else { "," };
            let function = functions.get(number).copied().unwrap_or_default();
            let _ = write!(
                out,
                "{comma}\n{{\"line_number\":{number},\"count\":{},\"function_name\":{},\
                 \"unexecuted_block\":{},{}\"branches\":[",
                count,
                json(function),
                count == 0,
                if has_decisions { "\"block_ids\":[]," } else { "" }
            );
            let first = blocks;
            blocks += 3 * line.branches.len();
            let outcomes = (first..).step_by(3).zip(&line.branches).flat_map(|(block, branch)| {
                let [taken, not] = branch.counts;
                [(taken, false, block + 1), (not, true, block + 2)]
                    .into_iter()
                    .filter_map(move |(count, falls, to)| Some((count?, falls, block, to)))
            });
            for (n, (count, fallthrough, from, to)) in outcomes.enumerate() {
                let comma = if n == 0 { "" } else { "," };
                let _ = write!(
                    out,
                    "{comma}{{\"count\":{count},\"fallthrough\":{fallthrough},\"throw\":false"
                );
                if has_decisions {
                    let _ =
                        write!(out, ",\"source_block_id\":{from},\"destination_block_id\":{to}");
                }
                out.push('}');
            }
            out.push(']');
            conditions(&mut out, source, *number);
            out.push('}');
        }
        out.push_str("]}");
    }
    out.push_str("]}\n");
    out
}

/// The decisions that begin in a line, as gcov writes those of `-fcondition-coverage`: two outcomes
/// for each condition, and the positions of the conditions whose outcomes were not shown to decide
/// that of the decision. Those with unknown conditions are left out.
fn conditions(out: &mut String, source: &SourceFile, number: u32) {
    let here = source.decisions.iter().filter(|own| own.decision.region.start.0 == number);
    let known = here.filter_map(|own| {
        let all = own.covered.conditions.iter().map(|own| own.independent);
        all.collect::<Option<Vec<bool>>>()
    });
    let mut first = true;
    for independent in known {
        out.push_str(if std::mem::take(&mut first) { ",\"conditions\":[" } else { "," });
        let missing: Vec<String> = (0..)
            .zip(&independent)
            .filter(|(_, shown)| !**shown)
            .map(|(n, _): (usize, _)| n.to_string())
            .collect();
        let (count, missing_count) = (2 * independent.len(), 2 * missing.len());
        let missing = missing.join(",");
        let _ = write!(
            out,
            "{{\"count\":{count},\"covered\":{},\"not_covered_true\":[{missing}],\
             \"not_covered_false\":[{missing}]}}",
            count - missing_count
        );
    }
    if !first {
        out.push(']');
    }
}

/// The symbol of the function of each line: of several functions, the last one.
fn functions_of_lines(source: &SourceFile) -> HashMap<u32, &str> {
    let mut found = HashMap::new();
    // The functions are in order of their first lines. Those that have not ended, the last one on
    // top: one below another that ends no earlier is not needed.
    let mut open: Vec<(u32, &str)> = Vec::new();
    let mut functions = source.functions.iter().peekable();
    for number in source.lines.keys() {
        while let Some(function) = functions.next_if(|function| function.lines.0 <= *number) {
            let last = function.lines.1;
            while open.pop_if(|(end, _)| *end <= last).is_some() {}
            open.push((last, &function.symbol));
        }
        while open.pop_if(|(end, _)| *end < *number).is_some() {}
        if let Some((_, symbol)) = open.last() {
            found.insert(*number, *symbol);
        }
    }
    found
}
