//! `index.html`: context, what is not covered, totals by file.

use std::collections::BTreeSet;
use std::fmt::Write;

use tracewright_analysis::decisions::Criterion;

use super::page::Frame;
use super::report::{CoverageReport, missed, totals_of};
use super::source::first_page;
use super::table::{Column, List, Table};
use super::totals::totals_table;
use super::violations;
use crate::text::xml;

/// The pages: the overview, and further ones where there are many files.
pub(super) fn pages(report: &CoverageReport<'_>, frame: &Frame) -> Vec<(String, String)> {
    let found = violations::find(report.sources);
    let mut before = format!("<h2>Context</h2>\n{}", context(report));
    before += &programs(report);
    before += &limits(report);
    let _ = write!(
        before,
        "<h2>Not covered</h2>\n{}<p><a href=\"violations.html\">All of it, by criterion</a></p>\n\
         <h2>Totals</h2>\n{}<h2>Files</h2>\n",
        violations::summary(report, &found),
        totals_table(report, "Totals of all files", violations::sums(report.sources))
    );
    let mut columns = vec![("File", Column::Text)];
    let names = ["Lines", "Branches", "Functions", "Decisions", "Conditions", "MC/DC"];
    let kinds = report.kinds().len();
    let heads: Vec<[String; 4]> = names
        .iter()
        .take(kinds)
        .map(|name| {
            ["covered", "not covered", "unknown", "exempted"].map(|what| format!("{name} {what}"))
        })
        .collect();
    let heads = heads.iter().flatten();
    columns.extend(heads.map(|head| (head.as_str(), Column::Number)));
    let list = List {
        stem: "index",
        title: "Coverage",
        before,
        caption: "Source files",
        columns: &columns,
        empty: "No program has source lines.",
    };
    let rows: Vec<_> = report.sources.iter().enumerate().collect();
    list.pages(frame, &rows, |(n, (path, source))| {
        let mut cells = vec![format!("<a href=\"{}\">{}</a>", first_page(*n, source), xml(path))];
        for own in totals_of(source).into_iter().take(kinds) {
            let numbers = [own.executed, missed(own), own.unknown, own.exempted];
            cells.extend(numbers.iter().map(u64::to_string));
        }
        (String::new(), cells)
    })
}

/// What was measured, by what, and with which losses.
fn context(report: &CoverageReport<'_>) -> String {
    let mut rows = vec![("Tool", xml(&report.tool))];
    let command: Vec<String> = report.command.iter().map(|own| xml(own)).collect();
    rows.push(("Arguments", format!("<code>{}</code>", command.join(" "))));
    let runs = report.runs.runs.len();
    let unsound = report.runs.runs.iter().filter(|run| !run.sound).count();
    let damaged = match unsound {
        0 => "in all of them every buffer is traced, and undamaged".to_owned(),
        _ => format!("in {unsound} of them a buffer is not traced, or damaged"),
    };
    rows.push(("Runs", format!("<a href=\"runs.html\">{runs}</a>; {damaged}")));
    let losses = match report.losses {
        0 => "none".to_owned(),
        losses => format!(
            "{losses}; what was not executed in the trace may have been executed there, and is \
             unknown"
        ),
    };
    rows.push(("Losses of trace", losses));
    if report.has_decisions() {
        let criterion = match report.criterion {
            Criterion::Masking => "masking MC/DC",
            Criterion::UniqueCause => "unique-cause MC/DC with short circuits",
        };
        rows.push(("Conditions", criterion.to_owned()));
        rows.push(("Decisions", described(report)));
    }
    if let Some((all, uses)) = report.exemptions {
        let parts: u64 = uses.iter().map(|own| own.exempted).sum();
        let text = format!(
            "<a href=\"exemptions.html\">{}</a>; parts of the program that they exempt: {parts}",
            all.len()
        );
        rows.push(("Exemptions", text));
    }
    if let Some(changes) = report.changes {
        let text = format!("<a href=\"states.html\">{} functions compared</a>", changes.len());
        rows.push(("Older state", text));
    }
    rows.push((
        "Values",
        "covered, not covered, unknown; percentages count unknown as not covered".to_owned(),
    ));
    rows.push((
        "Qualification",
        "none: evidence for a review. What is covered is object code that was executed; its line \
         table and the descriptions of decisions relate it to the source"
            .to_owned(),
    ));
    let rows: String =
        rows.iter().map(|(name, text)| format!("<dt>{name}</dt><dd>{text}</dd>\n")).collect();
    format!("<dl>\n{rows}</dl>\n")
}

/// Of how many source files with code decisions are known: those of others are not counted.
fn described(report: &CoverageReport<'_>) -> String {
    let has_code = report.sources.values().filter(|own| !own.lines.is_empty());
    let (all, others) = has_code
        .fold((0, 0), |(all, no), own| (all + 1, no + usize::from(own.decisions.is_empty())));
    let count: usize = report.sources.values().map(|own| own.decisions.len()).sum();
    match others {
        0 => format!("{count}; each source file with code has some"),
        _ => format!(
            "{count}; source files with code of which no decision is described, so that none is \
             counted: {others} of {all}"
        ),
    }
}

/// The programs of the runs.
fn programs(report: &CoverageReport<'_>) -> String {
    let columns = [
        ("Program", Column::Text),
        ("Build ID", Column::Text),
        ("Bytes of code", Column::Number),
        ("SHA-256 of the code", Column::Text),
    ];
    let mut table = Table::new("Programs", &columns);
    for own in &report.runs.programs {
        let list = |all: &BTreeSet<String>| {
            let all: Vec<String> = all.iter().take(8).map(|text| xml(text)).collect();
            if all.is_empty() { "–".to_owned() } else { all.join(", ") }
        };
        let bytes = own.parts.iter().fold(0_u64, |sum, (_, size)| sum.saturating_add(*size));
        table.row(
            "",
            &[
                list(&own.paths),
                format!("<code class=\"digest\">{}</code>", list(&own.build_ids)),
                bytes.to_string(),
                format!("<code class=\"digest\">{}</code>", own.key.code),
            ],
        );
    }
    table.end()
}

/// The limits that were checked.
fn limits(report: &CoverageReport<'_>) -> String {
    if report.limits.is_empty() {
        return String::new();
    }
    let columns = [("Limit", Column::Text), ("Result", Column::Text), ("Measured", Column::Text)];
    let mut table = Table::new("Limits", &columns);
    for own in report.limits {
        let (class, word) = if own.met { ("covered", "met") } else { ("missed", "not met") };
        let result = format!("<span class=\"state {class}\">{word}</span>");
        table.row("", &[xml(&own.name), result, xml(&own.measured)]);
    }
    table.end()
}
