//! SonarQube's generic format of test coverage, version 1. (SonarQube, "Generic test data")
//! It has no executions, functions or conditions. The branches of a line are the outcomes of its
//! conditional branches.

use std::fmt::Write;

use tracewright_analysis::coverage::Totals;

use super::CoverageView;
use crate::text::xml;

/// The file.
pub(super) fn write(view: &CoverageView<'_>) -> String {
    let mut out =
        String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<coverage version=\"1\">\n");
    for (path, source) in view.sources {
        // What is unknown is left out. Line 0 is none.
        let known =
            source.lines.iter().filter_map(|(number, line)| Some((number, line, line.count?)));
        let lines: Vec<_> = known.filter(|(number, ..)| **number > 0).collect();
        if lines.is_empty() {
            continue;
        }
        let _ = writeln!(out, "  <file path=\"{}\">", xml(path));
        for (number, line, count) in lines {
            let _ =
                write!(out, "    <lineToCover lineNumber=\"{number}\" covered=\"{}\"", count > 0);
            let outcomes = Totals::of(line.branches.iter().flat_map(|branch| branch.counts));
            let (occurred, all) = outcomes.known();
            if all > 0 {
                let _ = write!(out, " branchesToCover=\"{all}\" coveredBranches=\"{occurred}\"");
            }
            out.push_str("/>\n");
        }
        out.push_str("  </file>\n");
    }
    out.push_str("</coverage>\n");
    out
}
