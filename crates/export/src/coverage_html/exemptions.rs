//! Exemptions: what they exempt, why, and until when.

use tracewright_analysis::exemptions::{Exemption, ExemptionOrigin, PartKind, Target, Use};

use super::page::Frame;
use super::report::CoverageReport;
use super::source::{has_code, link};
use super::table::{Column, List};
use crate::text::xml;

/// What an exemption is of, beside its file.
fn subject(own: &Exemption) -> String {
    let mut parts = Vec::new();
    if let Some(function) = &own.function {
        parts.push(format!("function {function}"));
    }
    match &own.target {
        Target::All => {}
        Target::Lines(ranges) => {
            let range = |(first, last): &(u32, u32)| match first == last {
                true => first.to_string(),
                false => format!("{first}–{last}"),
            };
            let ranges: Vec<String> = ranges.iter().map(range).collect();
            parts.push(format!("lines {}", ranges.join(", ")));
        }
        Target::Decision { place, condition, value } => {
            parts.push(format!("decision {}:{}", place.0, place.1));
            parts.extend(condition.map(|n| format!("condition {}", n + 1)));
            parts.extend(value.map(|value| value.to_string()));
        }
    }
    let kind = PartKind::ALL.into_iter().find(|(_, kind)| Some(*kind) == own.kind);
    parts.extend(kind.map(|(name, _)| format!("only {name}")));
    if parts.is_empty() { "all of the file".to_owned() } else { parts.join(", ") }
}

/// How long it is valid.
fn validity(own: &Exemption, its: &Use) -> String {
    let lines = its.lines.map(|(first, last)| format!("lines {first} to {last}"));
    let text = lines.unwrap_or_else(|| "the text".to_owned());
    match own.hash {
        Some(hash) => format!("until {text} change: SHA-256 <code class=\"digest\">{hash}</code>"),
        None => "as long as the comment is in the text".to_owned(),
    }
}

/// The pages of the list; none without exemptions.
pub(super) fn pages(report: &CoverageReport<'_>, frame: &Frame) -> Vec<(String, String)> {
    use Column::{Number, Text};
    let Some((all, uses)) = report.exemptions else { return Vec::new() };
    let list = List {
        stem: "exemptions",
        title: "Exemptions",
        before: "<p>What is exempted is in no number of covered, not covered or unknown. What is \
                 covered stays covered.</p>\n"
            .to_owned(),
        caption: "Exemptions",
        columns: &[
            ("Number", Number),
            ("File", Text),
            ("Of", Text),
            ("Reason", Text),
            ("By", Text),
            ("Date", Text),
            ("Valid", Text),
            ("Exempted", Number),
            ("Covered", Number),
            ("Note", Text),
            ("Written in", Text),
        ],
        empty: "No exemption is written.",
    };
    let rows: Vec<(usize, (&Exemption, &Use))> = all.iter().zip(uses).enumerate().collect();
    list.pages(frame, &rows, |(n, (own, its))| {
        let path = its.path.as_deref().unwrap_or(&own.file);
        let file = report.sources.keys().position(|known| known == path);
        let listed = |line: u32| report.sources.get(path).is_some_and(|own| has_code(own, line));
        let place = match (file, its.lines) {
            (Some(file), Some((first, _))) if listed(first) => {
                format!("<a href=\"{}\">{}:{first}</a>", link(file, first), xml(path))
            }
            _ => xml(path),
        };
        let origin = match &own.origin {
            ExemptionOrigin::Table(path, number) => format!("{path}, table {number}"),
            ExemptionOrigin::Comment(line, word) => format!("line {line}, {word}"),
        };
        let note = its.unused.map(|why| format!("It exempts nothing: {why}"));
        let reason = if own.reason.is_empty() { "none is written" } else { &own.reason };
        let cells = vec![
            (n + 1).to_string(),
            place,
            xml(&subject(own)),
            format!("<div class=\"long\">{}</div>", xml(reason)),
            xml(&own.by),
            xml(&own.date),
            format!("<div class=\"long\">{}</div>", validity(own, its)),
            its.exempted.to_string(),
            its.covered.to_string(),
            xml(&note.unwrap_or_default()),
            xml(&origin),
        ];
        (format!("e{}", n + 1), cells)
    })
}
