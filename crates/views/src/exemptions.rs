//! Exemptions, and what they exempt, as text and as JSON Lines.

use std::collections::BTreeMap;
use std::fmt::Write;

use tracewright_analysis::coverage::SourceFile;
use tracewright_analysis::exemptions::{Exemption, ExemptionOrigin, Part, PartKind, Target, Use};
use tracewright_capture::plain;

use crate::json::Object;

/// How many parts of each kind are exempted, in the order of [`PartKind::ALL`].
fn counts(sources: &BTreeMap<String, SourceFile>) -> [u64; 4] {
    let mut all = [0; 4];
    for part in sources.values().flat_map(|source| source.exempted.keys()) {
        let n = PartKind::ALL.iter().position(|(_, kind)| *kind == part.kind());
        if let Some(own) = n.and_then(|n| all.get_mut(n)) {
            *own += 1;
        }
    }
    all
}

/// A line with how much is exempted; empty where nothing is.
pub fn summary(sources: &BTreeMap<String, SourceFile>) -> String {
    let names = ["lines", "outcomes of branches", "functions", "values of decisions"];
    let all = counts(sources).into_iter().zip(names).filter(|(count, _)| *count > 0);
    let all: Vec<_> = all.map(|(count, name)| format!("{name} {count}")).collect();
    if all.is_empty() {
        return String::new();
    }
    format!("exempted, and in no number above: {}\n", all.join(", "))
}

/// Where an exemption is written.
pub fn origin(own: &Exemption) -> String {
    match &own.origin {
        ExemptionOrigin::Table(path, number) => format!("{path}: exemption {number}"),
        ExemptionOrigin::Comment(line, word) => format!("{}:{line}: {word}", own.file),
    }
}

/// What an exemption is of.
pub fn subject(own: &Exemption) -> String {
    let mut text = own.file.clone();
    if let Some(function) = &own.function {
        let _ = write!(text, ", {function}");
    }
    match &own.target {
        Target::All => {}
        Target::Lines(ranges) => {
            let ranges = ranges.iter().map(|(first, last)| match first == last {
                true => first.to_string(),
                false => format!("{first}-{last}"),
            });
            let _ = write!(text, ", lines {}", ranges.collect::<Vec<_>>().join(", "));
        }
        Target::Decision { place, condition, value } => {
            let _ = write!(text, ", decision {}:{}", place.0, place.1);
            if let Some(n) = condition {
                let _ = write!(text, ", condition {}", n + 1);
            }
            if let Some(value) = value {
                let _ = write!(text, ", {value}");
            }
        }
    }
    let kind = PartKind::ALL.into_iter().find(|(_, kind)| Some(*kind) == own.kind);
    if let Some((name, _)) = kind {
        let _ = write!(text, ", only {name}");
    }
    text
}

/// A row for each exemption: how many parts it exempts, and how many are covered.
pub fn text(all: &[Exemption], uses: &[Use]) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{:>8} {:>8}  exemption", "exempted", "covered");
    for (own, its) in all.iter().zip(uses) {
        let subject = plain::line(&subject(own)).into_owned();
        let _ = writeln!(out, "{:>8} {:>8}  {subject}", its.exempted, its.covered);
        let mut line = |text: &str| {
            let _ = writeln!(out, "{:19}{}", "", plain::line(text));
        };
        line(&format!("  {}", origin(own)));
        if !own.reason.is_empty() {
            line(&format!("  {}", own.reason));
        }
        if !own.by.is_empty() {
            line(&format!("  {}, {}", own.by, own.date));
        }
        if let Some(unused) = its.unused {
            line(&format!("  it exempts nothing: {unused}"));
        }
    }
    out
}

/// Lines of JSON: each exemption, and each part that is exempted, with the number of the
/// exemption.
pub fn json(all: &[Exemption], uses: &[Use], sources: &BTreeMap<String, SourceFile>) -> String {
    let mut out = String::new();
    for (n, (own, its)) in all.iter().zip(uses).enumerate() {
        let mut object = Object::new(&mut out).text("type", "exemption").number("number", n as u64);
        object = match &own.origin {
            ExemptionOrigin::Table(path, number) => {
                object.text("origin", path).number("position", *number as u64)
            }
            ExemptionOrigin::Comment(line, word) => {
                object.text("comment", word).number("comment_line", (*line).into())
            }
        };
        object = object.text("path", its.path.as_deref().unwrap_or(&own.file));
        object = object.text("subject", &subject(own));
        if let Some((first, last)) = its.lines {
            object = object.number("first_line", first.into()).number("last_line", last.into());
        }
        for (key, text) in [("reason", &own.reason), ("by", &own.by), ("date", &own.date)] {
            if !text.is_empty() {
                object = object.text(key, text);
            }
        }
        if let Some(hash) = own.hash {
            object = object.text("hash", &hash.to_string());
        }
        object = object.number("exempted", its.exempted).number("covered", its.covered);
        if let Some(unused) = its.unused {
            object = object.text("unused", &unused.to_string());
        }
        object.end();
        out.push('\n');
    }
    for (path, source) in sources {
        for (part, number) in &source.exempted {
            let mut object = Object::new(&mut out)
                .text("type", "exempted")
                .text("path", path)
                .number("line", part.line().into())
                .number("exemption", *number as u64);
            object = match part {
                Part::Line(_) => object.text("kind", "line"),
                Part::Branch { address, taken, .. } => {
                    let kind = if *taken { "taken" } else { "not-taken" };
                    object.text("kind", kind).hex("address", *address)
                }
                Part::Function(_, symbol) => object.text("kind", "function").text("symbol", symbol),
                Part::Outcome(place, value) => object
                    .text("kind", "outcome")
                    .number("column", place.1.into())
                    .flag("value", *value),
                Part::Value(place, n, value) => object
                    .text("kind", "value")
                    .number("column", place.1.into())
                    .number("condition", *n as u64 + 1)
                    .flag("value", *value),
                Part::Independence(place, n) => object
                    .text("kind", "independence")
                    .number("column", place.1.into())
                    .number("condition", *n as u64 + 1),
            };
            object.end();
            out.push('\n');
        }
    }
    out
}
