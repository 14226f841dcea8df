//! The parts of a source file.

use crate::coverage::SourceFile;
use crate::part::Part;

/// Whether a part is covered, and what makes it neither covered nor not covered.
pub(super) struct Found<'a> {
    pub(super) part: Part,
    pub(super) covered: bool,
    state: State<'a>,
}

/// What is known of a part.
enum State<'a> {
    Count(&'a mut Option<u64>),
    Flag(&'a mut Option<bool>),
}

impl Found<'_> {
    /// Nothing is claimed of it any more.
    pub(super) fn clear(self) -> Part {
        match self.state {
            State::Count(count) => *count = None,
            State::Flag(flag) => *flag = None,
        }
        self.part
    }
}

fn counted(part: Part, count: &mut Option<u64>) -> Found<'_> {
    let covered = count.is_some_and(|count| count > 0);
    Found { part, covered, state: State::Count(count) }
}

/// All parts of a source file.
pub(super) fn parts(source: &mut SourceFile) -> Vec<Found<'_>> {
    let mut all = Vec::new();
    for (number, line) in &mut source.lines {
        all.push(counted(Part::Line(*number), &mut line.count));
        for branch in &mut line.branches {
            let address = branch.address;
            let sides = branch.counts.iter_mut().zip([true, false]);
            all.extend(sides.map(|(count, taken)| {
                counted(Part::Branch { line: *number, address, taken }, count)
            }));
        }
    }
    for function in &mut source.functions {
        let part = Part::Function(function.lines.0, function.symbol.clone());
        all.push(counted(part, &mut function.count));
    }
    for own in &mut source.decisions {
        let place = own.decision.region.start;
        let outcomes = own.covered.outcomes.iter_mut().zip([false, true]);
        all.extend(outcomes.map(|(count, value)| counted(Part::Outcome(place, value), count)));
        for (n, own) in own.covered.conditions.iter_mut().enumerate() {
            let values = own.values.iter_mut().zip([false, true]);
            all.extend(values.map(|(count, value)| counted(Part::Value(place, n, value), count)));
            let covered = own.independent == Some(true);
            let part = Part::Independence(place, n);
            all.push(Found { part, covered, state: State::Flag(&mut own.independent) });
        }
    }
    all
}
