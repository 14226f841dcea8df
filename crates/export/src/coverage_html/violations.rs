//! What is not covered, the most basic part only: not the lines of a function that was not
//! executed, and not what is in a line that was not.

use std::collections::BTreeMap;

use tracewright_analysis::coverage::{FunctionLine, SourceFile, Totals};
use tracewright_analysis::decisions::MeasuredDecision;
use tracewright_analysis::exemptions::Part;

use super::page::Frame;
use super::report::{CoverageReport, KINDS, missed, totals_of};
use super::source::link;
use super::state::State;
use super::table::{Column, List, Table};
use crate::text::xml;

/// The order of the kinds: the most basic one first.
const ORDER: [usize; 6] = [2, 0, 1, 3, 4, 5];

/// What is not covered, or unknown.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Violation {
    /// The position of its kind in the order.
    rank: usize,
    /// The position of the source file.
    file: usize,
    /// Line and column; the column is 0 where it is not known.
    place: (u32, u32),
    /// Whether it is unknown.
    unknown: bool,
    what: String,
}

/// All of them, in order.
#[derive(Debug, Default)]
pub(super) struct Violations {
    pub(super) all: Vec<Violation>,
    /// By kind: what follows from others, and is not listed.
    pub(super) implied: [u64; 6],
}

/// Adds those of one source file.
struct Finder<'a> {
    file: usize,
    exempted: &'a BTreeMap<Part, usize>,
    found: &'a mut Violations,
}

impl Finder<'_> {
    fn state(&self, count: Option<u64>, part: Part) -> State {
        State::of(count, self.exempted, || part)
    }

    /// Adds a part of a kind with this state, unless it is covered or exempted. It is only counted
    /// where it is implied.
    fn add(
        &mut self,
        kind: usize,
        place: (u32, u32),
        state: State,
        implied: bool,
        what: impl FnOnce(bool) -> String,
    ) {
        let unknown = match state {
            State::Missed => false,
            State::Unknown => true,
            State::Covered(_) | State::Exempted(_) => return,
        };
        if implied {
            if let Some(own) = self.found.implied.get_mut(kind) {
                *own += 1;
            }
            return;
        }
        let rank = ORDER.iter().position(|own| *own == kind).unwrap_or(ORDER.len());
        let (file, what) = (self.file, what(unknown));
        self.found.all.push(Violation { rank, file, place, unknown, what });
    }

    /// Adds the lines with their branches, and the functions.
    fn lines(&mut self, source: &SourceFile) {
        let mut states = Vec::new();
        for own in &source.functions {
            let part = Part::Function(own.lines.0, own.symbol.clone());
            let state = self.state(own.count, part);
            states.push((own.lines, state));
            self.add(2, (own.lines.0, 0), state, false, |unknown| match unknown {
                true => format!("function {}: unknown whether executed", own.name),
                false => format!("function {}: not executed", own.name),
            });
        }
        let within = Within::new(&states, &source.functions);
        for (number, line) in &source.lines {
            let state = self.state(line.count, Part::Line(*number));
            let implied = within.all_have(*number, state);
            self.add(0, (*number, 0), state, implied, |unknown| match unknown {
                true => "line: unknown whether executed".to_owned(),
                false => "line: not executed".to_owned(),
            });
            for branch in &line.branches {
                for (count, taken) in branch.counts.into_iter().zip([true, false]) {
                    let (line, address) = (*number, branch.address);
                    let own = self.state(count, Part::Branch { line, address, taken });
                    let side = if taken { "taken" } else { "not taken" };
                    self.add(1, (line, 0), own, own == state, |unknown| match unknown {
                        true => format!("branch at {address:#x}: unknown whether {side}"),
                        false => format!("branch at {address:#x}: never {side}"),
                    });
                }
            }
        }
    }

    /// Adds those of a decision. The state of its line is that of `line`.
    fn decision(&mut self, own: &MeasuredDecision, line: Option<State>) {
        let (place, covered) = (own.decision.region.start, &own.covered);
        let outcomes = [false, true].map(|value| {
            let count = covered.outcomes.get(usize::from(value)).copied().flatten();
            self.state(count, Part::Outcome(place, value))
        });
        let in_line = |state: State| Some(state) == line;
        for (state, value) in outcomes.into_iter().zip([false, true]) {
            self.add(3, place, state, in_line(state), |unknown| match unknown {
                true => format!("decision: unknown whether {value}"),
                false => format!("decision: never {value}"),
            });
        }
        // Without both outcomes no condition is shown to decide.
        let evaluated = outcomes.iter().any(|own| matches!(own, State::Covered(_)));
        let lacks = outcomes.iter().any(|own| matches!(own, State::Missed | State::Unknown));
        let conditions = own.decision.conditions.iter().zip(&covered.conditions);
        for (n, (condition, its)) in conditions.enumerate() {
            let name = match condition.text.as_str() {
                "" => format!("condition {}", n + 1),
                text => format!("condition {} `{text}`", n + 1),
            };
            let at = condition.region.start;
            let mut all = true;
            let never = its.values.iter().all(|count| count.is_none_or(|count| count == 0));
            for (count, value) in its.values.into_iter().zip([false, true]) {
                let state = self.state(count, Part::Value(place, n, value));
                all &= !matches!(state, State::Missed | State::Unknown);
                let implied = in_line(state) || (!evaluated && never);
                self.add(4, at, state, implied, |unknown| match unknown {
                    true => format!("{name}: unknown whether {value}"),
                    false => format!("{name}: never {value}"),
                });
            }
            let state = self.state(its.independent.map(u64::from), Part::Independence(place, n));
            let implied = in_line(state) || lacks || !all;
            self.add(5, at, state, implied, |unknown| match unknown {
                true => format!("{name}: unknown whether it decides the outcome"),
                false => format!("{name}: not shown to decide the outcome"),
            });
        }
    }
}

/// The functions that lines are in.
struct Within<'a> {
    /// First line, last line and state, in order of their first lines.
    all: Vec<((u32, u32), State)>,
    /// The last line of these and of all before.
    ends: Vec<u32>,
    functions: &'a [FunctionLine],
}

impl<'a> Within<'a> {
    fn new(states: &[((u32, u32), State)], functions: &'a [FunctionLine]) -> Within<'a> {
        let mut all = states.to_vec();
        all.sort_by_key(|own| own.0);
        let mut end = 0;
        let ends = all.iter().map(|own| {
            end = end.max(own.0.1);
            end
        });
        let ends = ends.collect();
        Within { all, ends, functions }
    }

    /// Whether the line is in functions, and all of them have this state.
    fn all_have(&self, line: u32, state: State) -> bool {
        if self.functions.is_empty() {
            return false;
        }
        let begun = self.all.partition_point(|own| own.0.0 <= line);
        let own = self.all.iter().zip(&self.ends).take(begun).rev();
        let mut around =
            own.take_while(|(_, end)| **end >= line).filter(|(own, _)| own.0.1 >= line).peekable();
        around.peek().is_some() && around.all(|(own, _)| own.1 == state)
    }
}

/// What is not covered of source files.
pub(super) fn find(sources: &BTreeMap<String, SourceFile>) -> Violations {
    let mut found = Violations::default();
    for (file, source) in sources.values().enumerate() {
        let mut finder = Finder { file, exempted: &source.exempted, found: &mut found };
        finder.lines(source);
        for own in &source.decisions {
            let line = own.decision.region.start.0;
            let state =
                source.lines.get(&line).map(|its| finder.state(its.count, Part::Line(line)));
            let state = state.filter(|own| matches!(own, State::Missed | State::Unknown));
            finder.decision(own, state);
        }
    }
    found.all.sort();
    found
}

/// The sums of all files, by kind.
pub(super) fn sums(sources: &BTreeMap<String, SourceFile>) -> [Totals; 6] {
    let mut sums = [Totals::default(); 6];
    for source in sources.values() {
        sums.iter_mut().zip(totals_of(source)).for_each(|(sum, own)| *sum = sum.and(own));
    }
    sums
}

/// A row for each kind: how much is not covered and unknown, and how much of that is listed.
pub(super) fn summary(report: &CoverageReport<'_>, found: &Violations) -> String {
    use Column::{Number, Text};
    let columns = [
        ("Criterion", Text),
        ("Not covered", Number),
        ("Unknown", Number),
        ("Listed", Number),
        ("Follow from others", Number),
        ("Exempted", Number),
        ("Of", Number),
    ];
    let mut table = Table::new("What is not covered, by criterion", &columns);
    let sums = sums(report.sources);
    for (rank, kind) in ORDER.into_iter().enumerate() {
        let Some(name) = report.kinds().get(kind) else { continue };
        let own = sums.get(kind).copied().unwrap_or_default();
        let listed = found.all.iter().filter(|its| its.rank == rank).count();
        let implied = found.implied.get(kind).copied().unwrap_or(0);
        let numbers = [missed(own), own.unknown, listed as u64, implied, own.exempted, own.all];
        let mut cells = vec![(*name).to_owned()];
        cells.extend(numbers.iter().map(u64::to_string));
        table.row("", &cells);
    }
    table.end()
}

/// The pages of the list.
pub(super) fn pages(report: &CoverageReport<'_>, frame: &Frame) -> Vec<(String, String)> {
    let found = find(report.sources);
    let paths: Vec<&String> = report.sources.keys().collect();
    let list = List {
        stem: "violations",
        title: "Not covered",
        before: format!(
            "<p>The most basic part is listed: not the lines of a function that was not executed, \
             not what is in a line that was not, and not what cannot be shown without a value or \
             an outcome that is listed. Unknown is what trace that was lost may have covered, and \
             what is not measurable.</p>\n{}",
            summary(report, &found)
        ),
        caption: "What is not covered",
        columns: &[
            ("Place", Column::Text),
            ("Criterion", Column::Text),
            ("Value", Column::Text),
            ("What", Column::Text),
        ],
        empty: "All is covered, or exempted.",
    };
    list.pages(frame, &found.all, |own| {
        let (line, column) = own.place;
        let path = paths.get(own.file).map_or("", |path| path.as_str());
        let place = match column {
            0 => format!("{path}:{line}"),
            _ => format!("{path}:{line}:{column}"),
        };
        let kind = ORDER.get(own.rank).and_then(|kind| KINDS.get(*kind)).copied().unwrap_or("");
        let state = if own.unknown { State::Unknown } else { State::Missed };
        let cells = vec![
            format!("<a href=\"{}\">{}</a>", link(own.file, line), xml(&place)),
            kind.to_owned(),
            state.html(["covered", "not covered"]),
            format!("<code>{}</code>", xml(&own.what)),
        ];
        (String::new(), cells)
    })
}
