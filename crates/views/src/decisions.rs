//! Coverage of decisions and conditions as text and as JSON Lines.

use std::collections::BTreeMap;
use std::fmt::Write;

use tracewright_analysis::coverage::{SourceFile, Totals};
use tracewright_analysis::decisions::{MeasuredDecision, Vector};
use tracewright_capture::plain;

use crate::json::Object;

/// The totals of all decisions: outcomes, values of conditions, independent conditions.
pub fn totals(sources: &BTreeMap<String, SourceFile>) -> [Totals; 3] {
    let mut all = [Totals::default(); 3];
    for own in sources.values() {
        for (sum, own) in all.iter_mut().zip(own.decision_totals()) {
            *sum = sum.and(own);
        }
    }
    all
}

/// `3/4`, and how many are unknown.
fn part(totals: Totals) -> String {
    let unknown = if totals.unknown > 0 { format!(" ?{}", totals.unknown) } else { String::new() };
    format!("{}/{}{unknown}", totals.executed, totals.all)
}

/// The totals as a text, where there are decisions.
pub fn summary(sources: &BTreeMap<String, SourceFile>) -> Option<String> {
    let [outcomes, values, independent] = totals(sources);
    (outcomes.all > 0).then(|| {
        format!(
            "decisions: {} outcomes, {} values of conditions, {} conditions by MC/DC",
            part(outcomes),
            part(values),
            part(independent)
        )
    })
}

/// The values of an evaluation in the order of the conditions: `T`, `F`, or `-` where one was not
/// evaluated.
fn values(vector: &Vector) -> String {
    let value = |value: &Option<bool>| value.map_or('-', |value| if value { 'T' } else { 'F' });
    vector.values.iter().map(value).collect()
}

/// A row for each decision, and below it what is not covered; then the sum. `?2`: two are unknown.
pub fn text(sources: &BTreeMap<String, SourceFile>) -> String {
    let mut out = String::new();
    let row = |totals: [Totals; 3], name: &str| {
        let [outcomes, values, independent] = totals.map(part);
        format!("{outcomes:>12} {values:>12} {independent:>12}  {name}\n")
    };
    let _ = writeln!(out, "{:>12} {:>12} {:>12}  decision", "decisions", "conditions", "MC/DC");
    for (path, source) in sources {
        for own in &source.decisions {
            let (line, column) = own.decision.region.start;
            out += &row(source.totals_of(own), &format!("{}:{line}:{column}", plain::line(path)));
            missing(&mut out, own);
        }
    }
    out += &row(totals(sources), "all");
    out
}

/// What is not covered of a decision.
fn missing(out: &mut String, own: &MeasuredDecision) {
    let MeasuredDecision { decision, covered } = own;
    let mut line = |text: &str| {
        let _ = writeln!(out, "{:40}  {}", "", plain::line(text));
    };
    let never = |counts: [Option<u64>; 2]| match counts.map(|count| count == Some(0)) {
        [true, true] => Some("never evaluated"),
        [true, false] => Some("never false"),
        [false, true] => Some("never true"),
        [false, false] => None,
    };
    if let Some(what) = never(covered.outcomes) {
        line(&format!("outcome: {what}"));
    }
    for (n, (condition, own)) in decision.conditions.iter().zip(&covered.conditions).enumerate() {
        let name = match condition.text.as_str() {
            "" => format!("condition {}", n + 1),
            text => format!("condition {} `{text}`", n + 1),
        };
        match (never(own.values), own.independent) {
            (Some(what), _) if decision.conditions.len() > 1 => line(&format!("{name}: {what}")),
            (None, Some(false)) if decision.conditions.len() > 1 => {
                line(&format!("{name}: not shown to decide the outcome"));
            }
            _ => {}
        }
    }
    if covered.unnamed > 0 {
        line("it is not known which outcome is true");
    }
    for own in &covered.unmeasured {
        let function = own.function.as_ref().map(|name| format!("in {name}: ")).unwrap_or_default();
        line(&format!("not measurable: {function}{}", own.reason));
    }
}

/// A line of JSON for each decision of the source file with the path `path`.
pub fn json(out: &mut String, path: &str, source: &SourceFile) {
    for MeasuredDecision { decision, covered } in &source.decisions {
        let ((line, column), (end_line, end_column)) = (decision.region.start, decision.region.end);
        let conditions: Vec<_> = decision.conditions.iter().zip(&covered.conditions).collect();
        let vectors: Vec<_> = covered.vectors.iter().collect();
        Object::new(out)
            .text("type", "decision")
            .text("path", path)
            .number("line", line.into())
            .number("column", column.into())
            .number("end_line", end_line.into())
            .number("end_column", end_column.into())
            .number("copies", covered.copies as u64)
            .number("unnamed_copies", covered.unnamed as u64)
            .maybe_number("false", covered.outcomes[0])
            .maybe_number("true", covered.outcomes[1])
            .list("conditions", &conditions, |(condition, own), out| {
                let (line, column) = condition.region.start;
                let mut object =
                    Object::new(out).number("line", line.into()).number("column", column.into());
                if !condition.text.is_empty() {
                    object = object.text("text", &condition.text);
                }
                object =
                    object.maybe_number("false", own.values[0]).maybe_number("true", own.values[1]);
                if let Some(independent) = own.independent {
                    object = object.flag("independent", independent);
                }
                object.end();
            })
            .list("vectors", &vectors, |(vector, count), out| {
                Object::new(out)
                    .text("values", &values(vector))
                    .flag("outcome", vector.outcome)
                    .number("count", **count)
                    .end();
            })
            .list("unmeasured", &covered.unmeasured, |own, out| {
                let object = Object::new(out);
                let object = match &own.function {
                    Some(function) => object.text("function", function),
                    None => object,
                };
                object.text("reason", &own.reason).end();
            })
            .end();
        out.push('\n');
    }
}
