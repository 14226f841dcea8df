//! Whether a branch evaluates the condition that it is assigned to, by the line table. The graph
//! of `a && b` is that of `b && a`, and optimisers evaluate conditions without side
//! effects in any order.

use tracewright_base::Kind;
use tracewright_symbols::{Lines, Place, Row};

use super::assign::Assignment;
use super::decision::Decision;
use super::walk::Walk;

/// The most rows in front of a branch that may evaluate its condition.
const ROWS: usize = 32;

/// What wrote the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Compiler {
    /// A branch has the column of the operator in front of its condition.
    gcc: bool,
    /// Conditions are evaluated in the order of the text.
    in_order: bool,
}

impl Compiler {
    fn of(producer: &str) -> Compiler {
        let gcc = producer.starts_with("GNU ");
        // GCC states its options, and -O0 is its default.
        let states = producer.contains(" -");
        let mut level = producer.split(' ').filter_map(|word| word.strip_prefix("-O"));
        Compiler { gcc, in_order: gcc && states && level.all(|level| level == "0") }
    }
}

/// What is known of the copies of a decision in a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// Each branch evaluates its condition, and nothing else evaluates one.
    All,
    /// Each branch does. An optimiser may evaluate conditions without a branch, and leave out
    /// evaluations whose outcome is known from an earlier branch.
    Part,
    /// It is not known which condition a branch evaluates.
    Nothing,
}

/// What is known of `copies`.
pub(super) fn shown(
    decision: &Decision,
    copies: &[Assignment],
    lines: &Lines,
    walk: &mut Walk<'_>,
) -> Shown {
    let first = copies.first().and_then(|copy| copy.branches.first());
    let Some(first) = first else { return Shown::Nothing };
    let compiler = Compiler::of(&lines.producer(first.address).unwrap_or_default());
    if compiler.in_order {
        return Shown::All;
    }
    for copy in copies {
        for (n, branch) in copy.branches.iter().enumerate() {
            let mut rows = rows_before(branch.address, lines, walk);
            // Code of another file that is inlined has no place in the decision.
            let file = rows.first().map(|row| row.location.file);
            rows.retain(|row| Some(row.location.file) == file);
            let mut conditions: Vec<usize> = rows
                .iter()
                .filter_map(|row| inside(decision, (row.location.line, row.column)))
                .collect();
            if let Some(own) = rows.first().filter(|_| compiler.gcc) {
                conditions.extend(in_front(decision, (own.location.line, own.column)));
            }
            if conditions.is_empty() || conditions.iter().any(|own| *own != n) {
                return Shown::Nothing;
            }
        }
    }
    Shown::Part
}

/// The rows of the code that is executed before a branch and behind the branch before it; that of
/// the branch is the first one.
fn rows_before<'a>(branch: u64, lines: &'a Lines, walk: &mut Walk<'_>) -> Vec<&'a Row> {
    let rows = lines.rows();
    let next = rows.partition_point(|row| row.start <= branch);
    let mut found = Vec::new();
    let mut begin = branch;
    for (n, row) in rows.get(..next).unwrap_or_default().iter().rev().take(ROWS).enumerate() {
        // The rows of one piece of code.
        if n > 0 && row.last.checked_add(1) != Some(begin) {
            break;
        }
        let (after, branches) = behind_branch(row, branch, walk);
        if n == 0 || !branches || after < begin {
            found.push(row);
        }
        if branches {
            break;
        }
        begin = row.start;
    }
    found
}

/// The address behind the last branch of a row in front of `end`, and whether there is one. Calls
/// are none.
fn behind_branch(row: &Row, end: u64, walk: &mut Walk<'_>) -> (u64, bool) {
    let (mut address, mut found) = (row.start, None);
    while address <= row.last && address < end {
        let Some(own) = walk.instruction(address) else { break };
        let Some(next) = address.checked_add(own.size.max(1).into()) else { break };
        let jumps = matches!(own.kind, Kind::Branch | Kind::Indirect) && !Walk::calls(&own);
        if jumps {
            found = Some(next);
        }
        address = next;
    }
    (found.unwrap_or(row.start), found.is_some())
}

/// The condition that has a place.
fn inside(decision: &Decision, place: Place) -> Option<usize> {
    decision.conditions.iter().position(|own| own.region.has(place))
}

/// The condition with the operator at a place in front of it.
fn in_front(decision: &Decision, place: Place) -> Option<usize> {
    if inside(decision, place).is_some() || place.1 == 0 {
        return None;
    }
    let next = decision.conditions.iter().position(|own| place < own.region.start)?;
    // In front of the first one are the keyword and parentheses.
    let near = decision.region.start.0 == place.0;
    (next > 0 || near).then_some(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compilers_state_whether_they_optimise() {
        let of = |producer: &str| {
            let Compiler { gcc, in_order } = Compiler::of(producer);
            (gcc, in_order)
        };
        assert_eq!(of("GNU C17 12.2.0 -mlittle-endian -mabi=lp64 -g"), (true, true));
        assert_eq!(of("GNU C17 12.2.0 -mabi=lp64 -g -O0"), (true, true));
        assert_eq!(of("GNU C17 12.2.0 -mabi=lp64 -g -Og"), (true, false));
        assert_eq!(of("GNU C17 12.2.0 -mabi=lp64 -g -O"), (true, false));
        assert_eq!(of("GNU C17 12.2.0"), (true, false));
        assert_eq!(of("Debian clang version 22.1.0"), (false, false));
        assert_eq!(of(""), (false, false));
    }
}
