//! Functions of the object code: instructions, branches, calls, entries, exits, and code without
//! source lines.

use tracewright_analysis::coverage::{ObjectFunction, Totals};

use super::page::Frame;
use super::report::{CoverageReport, missed};
use super::table::{Column, List};
use crate::text::xml;

/// The totals of a function, in the order of the columns.
fn totals(own: &ObjectFunction) -> [Totals; 6] {
    [
        own.instructions,
        own.without_line,
        own.branches,
        Totals::of(own.calls.iter().map(|own| own.count)),
        Totals::of([own.entered]),
        Totals::of(own.exits.iter().map(|own| own.count)),
    ]
}

/// Covered, not covered, unknown.
fn words(own: Totals) -> String {
    match own.all {
        0 => "–".to_owned(),
        all => format!("{} of {all}, {} not, {} unknown", own.executed, missed(own), own.unknown),
    }
}

/// The pages of the list; none where it is not wanted.
pub(super) fn pages(report: &CoverageReport<'_>, frame: &Frame) -> Vec<(String, String)> {
    if report.object.is_empty() {
        return Vec::new();
    }
    let mut before = String::from("<p>Code of all functions, whatever its source is.</p>\n");
    for (path, file) in report.object {
        let path = xml(path);
        if file.outside > 0 {
            before += &format!(
                "<p class=\"note\">{path}: executed instructions outside of functions whose code \
                 is known: {}</p>\n",
                file.outside
            );
        }
        if !file.unknown.is_empty() {
            before += &format!(
                "<p class=\"note\">{path}: functions whose instruction set is not known: {}</p>\n",
                file.unknown.len()
            );
        }
    }
    let list = List {
        stem: "object",
        title: "Object code",
        before,
        caption: "Functions of the object code",
        columns: &[
            ("Function", Column::Text),
            ("Program", Column::Text),
            ("Instructions", Column::Text),
            ("Of them without a source line", Column::Text),
            ("Outcomes of branches", Column::Text),
            ("Calls", Column::Text),
            ("Entry", Column::Text),
            ("Exits", Column::Text),
        ],
        empty: "The programs have no functions.",
    };
    let rows: Vec<(&str, &ObjectFunction)> = report
        .object
        .iter()
        .flat_map(|(path, file)| file.functions.iter().map(move |own| (path.as_str(), own)))
        .collect();
    list.pages(frame, &rows, |(path, own)| {
        let mut cells = vec![format!("<code>{}</code>", xml(&own.name)), xml(path)];
        cells.extend(totals(own).map(words));
        (String::new(), cells)
    })
}
