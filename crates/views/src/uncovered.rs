//! What is not covered, and what is unknown, one line each.

use std::collections::BTreeMap;
use std::fmt::Write;

use tracewright_analysis::coverage::{SourceFile, Totals};
use tracewright_analysis::exemptions::Part;
use tracewright_capture::plain;

/// What is not covered of the source files, in order of their lines, and then how much.
pub fn text(sources: &BTreeMap<String, SourceFile>) -> String {
    let mut out = String::new();
    let mut sum = Totals::default();
    for (path, source) in sources {
        let path = plain::line(path);
        let mut all = of(source);
        all.sort();
        for (line, what) in all {
            let _ = writeln!(out, "{path}:{line}: {}", plain::line(&what));
        }
        let totals = [source.line_totals(), source.branch_totals(), source.function_totals()];
        sum = totals.into_iter().fold(sum, Totals::and);
        sum = source.decision_totals().into_iter().fold(sum, Totals::and);
    }
    let lacks = sum.all - sum.executed - sum.unknown;
    let exempted = match sum.exempted {
        0 => String::new(),
        exempted => format!("; exempted: {exempted}"),
    };
    let unknown = sum.unknown;
    let _ = writeln!(out, "not covered: {lacks}, unknown: {unknown}, of {}{exempted}", sum.all);
    out
}

/// Lines, and what is not covered there.
fn of(source: &SourceFile) -> Vec<(u32, String)> {
    let mut all = Vec::new();
    let exempted = |part: &Part| source.exempted.contains_key(part);
    for own in &source.functions {
        if exempted(&Part::Function(own.lines.0, own.symbol.clone())) {
            continue;
        }
        match own.count {
            None => all.push((own.lines.0, format!("function {}: unknown", own.name))),
            Some(0) => all.push((own.lines.0, format!("function {}: not executed", own.name))),
            Some(_) => {}
        }
    }
    for (number, line) in &source.lines {
        match line.count {
            None if exempted(&Part::Line(*number)) => {}
            None => all.push((*number, "line: unknown".to_owned())),
            Some(0) => all.push((*number, "line: not executed".to_owned())),
            Some(_) => {}
        }
        for branch in &line.branches {
            let name = format!("branch at {:#x}", branch.address);
            let (line, address) = (*number, branch.address);
            let skipped =
                [true, false].map(|taken| exempted(&Part::Branch { line, address, taken }));
            sides(&mut all, line, &name, (branch.counts, skipped), ["taken", "not taken"]);
        }
    }
    for own in &source.decisions {
        let place = own.decision.region.start;
        let (line, column) = place;
        let name = format!("decision in column {column}");
        let skipped = [false, true].map(|value| exempted(&Part::Outcome(place, value)));
        sides(&mut all, line, &name, (own.covered.outcomes, skipped), ["false", "true"]);
        let conditions = own.decision.conditions.iter().zip(&own.covered.conditions);
        for (n, (condition, covered)) in conditions.enumerate() {
            let (line, _) = condition.region.start;
            let name = format!("{name}, condition {} `{}`", n + 1, condition.text);
            let skipped = [false, true].map(|value| exempted(&Part::Value(place, n, value)));
            sides(&mut all, line, &name, (covered.values, skipped), ["false", "true"]);
            if exempted(&Part::Independence(place, n)) {
                continue;
            }
            let what = match covered.independent {
                None => "unknown whether it decides the outcome",
                Some(false) => "not shown to decide the outcome",
                Some(true) => continue,
            };
            all.push((line, format!("{name}: {what}")));
        }
    }
    all
}

/// Adds what did not occur of both `sides` of something.
fn sides(
    all: &mut Vec<(u32, String)>,
    line: u32,
    name: &str,
    (counts, skipped): ([Option<u64>; 2], [bool; 2]),
    sides: [&str; 2],
) {
    for ((count, side), _) in counts.into_iter().zip(sides).zip(skipped).filter(|own| !own.1) {
        match count {
            None => all.push((line, format!("{name}: unknown whether {side}"))),
            Some(0) => all.push((line, format!("{name}: never {side}"))),
            Some(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use tracewright_analysis::coverage::{BranchOutcomes, FunctionLine, Line};

    use super::*;

    #[test]
    fn each_value_has_its_words() {
        let branch = |counts| BranchOutcomes { address: 0x80, counts };
        let line = |count, branches| Line { count, branches };
        let lines = BTreeMap::from([
            (3, line(Some(2), vec![branch([Some(2), Some(0)]), branch([None, Some(1)])])),
            (4, line(Some(0), Vec::new())),
            (5, line(None, Vec::new())),
            (6, line(Some(1), vec![branch([Some(1), Some(1)])])),
        ]);
        let functions = vec![FunctionLine {
            name: "f".to_owned(),
            symbol: "f".to_owned(),
            lines: (3, 6),
            count: Some(0),
        }];
        let source = SourceFile { lines, functions, ..SourceFile::default() };
        let got = text(&BTreeMap::from([("a.c".to_owned(), source)]));
        let want = "a.c:3: branch at 0x80: never not taken\n\
                    a.c:3: branch at 0x80: unknown whether taken\n\
                    a.c:3: function f: not executed\n\
                    a.c:4: line: not executed\n\
                    a.c:5: line: unknown\n\
                    not covered: 3, unknown: 2, of 11\n";
        assert_eq!(got, want);
    }
}
