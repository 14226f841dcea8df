//! Cobertura XML. (DTD coverage-04)

use std::fmt::Write;

use tracewright_analysis::coverage::{SourceFile, Totals};

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
    // What is unknown is left out.
    let sum = |totals: fn(&SourceFile) -> Totals| {
        view.sources.values().map(totals).fold(Totals::default(), Totals::and).known()
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
            rate(source.line_totals().known()),
            rate(source.branch_totals().known())
        );
        for (function, count) in source.functions.iter().filter_map(|f| Some((f, f.count?))) {
            let covered = if count > 0 { "1" } else { "0" };
            let _ = writeln!(
                out,
                "<method name=\"{}\" signature=\"\" line-rate=\"{covered}\" branch-rate=\"1\" \
                 complexity=\"0\"><lines><line number=\"{}\" hits=\"{}\" branch=\"false\"/></lines>\
                 </method>",
                xml(&function.name),
                function.lines.0,
                count
            );
        }
        out.push_str("</methods>\n<lines>\n");
        for (number, line) in &source.lines {
            let Some(count) = line.count else { continue };
            let _ = write!(out, "<line number=\"{number}\" hits=\"{count}\"");
            let outcomes = Totals::of(line.branches.iter().flat_map(|branch| branch.counts));
            let (occurred, all) = outcomes.known();
            if all == 0 {
                out.push_str(" branch=\"false\"/>\n");
                continue;
            }
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
