//! Cobertura XML. (DTD coverage-04)

use std::fmt::Write;

use super::CoverageView;
use crate::text::xml;

fn rate((part, whole): (u64, u64)) -> String {
    match whole {
        0 => "1".to_owned(),
        _ => format!("{:.4}", part as f64 / whole as f64),
    }
}

/// The file.
pub(super) fn write(view: &CoverageView<'_>) -> String {
    let sum = |totals: fn(&tracewright_analysis::coverage::SourceFile) -> (u64, u64)| {
        view.sources.values().map(totals).fold((0, 0), |(a, b), (c, d)| (a + c, b + d))
    };
    let (lines, branches) = (sum(|s| s.line_totals()), sum(|s| s.branch_totals()));
    let rates = format!("line-rate=\"{}\" branch-rate=\"{}\"", rate(lines), rate(branches));
    let mut out = String::from(
        "<?xml version=\"1.0\" ?>\n<!DOCTYPE coverage SYSTEM \
         \"http://cobertura.sourceforge.net/xml/coverage-04.dtd\">\n",
    );
    let _ = write!(
        out,
        "<coverage {rates} lines-covered=\"{}\" lines-valid=\"{}\" branches-covered=\"{}\" \
         branches-valid=\"{}\" complexity=\"0\" version=\"tracewright\" timestamp=\"0\">\n\
         <sources><source>/</source></sources>\n\
         <packages><package name=\"program\" {rates} complexity=\"0\"><classes>\n",
        lines.0, lines.1, branches.0, branches.1
    );
    for (path, source) in view.sources {
        let name = path.rsplit('/').next().unwrap_or(path);
        let _ = write!(
            out,
            "<class name=\"{}\" filename=\"{}\" line-rate=\"{}\" branch-rate=\"{}\" \
             complexity=\"0\">\n<methods>\n",
            xml(name),
            xml(path.trim_start_matches('/')),
            rate(source.line_totals()),
            rate(source.branch_totals())
        );
        for function in &source.functions {
            let covered = if function.count > 0 { "1" } else { "0" };
            let _ = writeln!(
                out,
                "<method name=\"{}\" signature=\"\" line-rate=\"{covered}\" branch-rate=\"1\" \
                 complexity=\"0\"><lines><line number=\"{}\" hits=\"{}\" branch=\"false\"/></lines>\
                 </method>",
                xml(&function.name),
                function.lines.0,
                function.count
            );
        }
        out.push_str("</methods>\n<lines>\n");
        for (number, line) in &source.lines {
            let _ = write!(out, "<line number=\"{number}\" hits=\"{}\"", line.count);
            let all = 2 * line.branches.len();
            if all == 0 {
                out.push_str(" branch=\"false\"/>\n");
                continue;
            }
            let counts = line.branches.iter().filter_map(|branch| branch.counts).flatten();
            let occurred = counts.filter(|count| *count > 0).count();
            let _ = writeln!(
                out,
                " branch=\"true\" condition-coverage=\"{}% ({occurred}/{all})\"/>",
                100 * occurred / all
            );
        }
        out.push_str("</lines>\n</class>\n");
    }
    out.push_str("</classes></package></packages>\n</coverage>\n");
    out
}
