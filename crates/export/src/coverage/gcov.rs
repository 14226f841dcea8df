//! The intermediate format of gcov: JSON, format version 1. (gcov(1), `--json-format`)

use std::fmt::Write;

use super::CoverageView;
use crate::text::json;

/// The file.
pub(super) fn write(view: &CoverageView<'_>) -> String {
    let mut out = String::from(
        "{\"format_version\":\"1\",\"gcc_version\":\"tracewright\",\
         \"current_working_directory\":\"/\",\"data_file\":\"trace\",\"files\":[",
    );
    for (n, (path, source)) in view.sources.iter().enumerate() {
        let comma = if n == 0 { "" } else { "," };
        let _ = write!(out, "{comma}\n{{\"file\":{},\"functions\":[", json(path));
        for (n, function) in source.functions.iter().enumerate() {
            let comma = if n == 0 { "" } else { "," };
            let executed = u8::from(function.count > 0);
            let _ = write!(
                out,
                "{comma}\n{{\"name\":{},\"demangled_name\":{},\"start_line\":{},\"end_line\":{},\
                 \"start_column\":1,\"end_column\":1,\"blocks\":1,\"blocks_executed\":{executed},\
                 \"execution_count\":{}}}",
                json(&function.symbol),
                json(&function.name),
                function.lines.0,
                function.lines.1,
                function.count
            );
        }
        out.push_str("],\"lines\":[");
        for (n, (number, line)) in source.lines.iter().enumerate() {
            let comma = if n == 0 { "" } else { "," };
            let inside = |f: &&tracewright_analysis::coverage::FunctionLine| {
                (f.lines.0..=f.lines.1).contains(number)
            };
            let function = source.functions.iter().rfind(inside).map_or("", |f| f.symbol.as_str());
            let _ = write!(
                out,
                "{comma}\n{{\"line_number\":{number},\"count\":{},\"function_name\":{},\
                 \"unexecuted_block\":{},\"branches\":[",
                line.count,
                json(function),
                line.count == 0
            );
            let outcomes = line.branches.iter().flat_map(|branch| {
                let [taken, not] = branch.counts.unwrap_or_default();
                [(taken, false), (not, true)]
            });
            for (n, (count, fallthrough)) in outcomes.enumerate() {
                let comma = if n == 0 { "" } else { "," };
                let _ = write!(
                    out,
                    "{comma}{{\"count\":{count},\"fallthrough\":{fallthrough},\"throw\":false}}"
                );
            }
            out.push_str("]}");
        }
        out.push_str("]}");
    }
    out.push_str("]}\n");
    out
}
