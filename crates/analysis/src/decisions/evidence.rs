//! Whether a branch evaluates the condition that it is assigned to, by the line table. The graph
//! of `a && b` is that of `b && a`, and optimisers evaluate conditions without side
//! effects in any order.

use std::collections::BTreeSet;

use tracewright_base::{Kind, Role};
use tracewright_symbols::{Lines, Place, Row};

use super::assign::Assignment;
use super::decision::Decision;
use super::nearby::DecisionLines;
use super::walk::Walk;

/// The most rows in front of a branch that may evaluate its condition.
const ROWS: usize = 32;

/// The most instructions that are followed from a branch to the next one.
const INSTRUCTIONS: usize = 256;

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
    /// A branch may evaluate something else, too: that of another decision, or a search among the
    /// values that several decisions compare with.
    Joined,
}

/// What is known of `copies`.
pub(super) fn shown(
    decision: &Decision,
    copies: &[Assignment],
    (lines, known): (&Lines, &DecisionLines),
    walk: &mut Walk<'_>,
) -> Shown {
    let first = copies.first().and_then(|copy| copy.branches.first());
    let Some(first) = first else { return Shown::Nothing };
    let optimises = !lines.is_unoptimised(first.address);
    if let [_] = &decision.conditions[..] {
        let own: BTreeSet<u64> =
            copies.iter().flat_map(|copy| &copy.branches).map(|own| own.address).collect();
        if own.iter().any(|own_at| continues(*own_at, (&own, optimises), decision, lines, walk)) {
            return Shown::Joined;
        }
    }
    // Without optimisation, conditions are evaluated in the order of the text, each by a branch.
    if !optimises {
        return Shown::All;
    }
    // A branch of GCC has the column of the operator in front of its condition.
    let gcc = lines.producer(first.address).is_some_and(|own| own.starts_with("GNU "));
    for copy in copies {
        for (n, branch) in copy.branches.iter().enumerate() {
            let mut rows = rows_before(branch.address, lines, walk);
            // Code of another file that is inlined has no place in the decision.
            let file = rows.first().map(|row| row.location.file);
            let has = |row: &&Row| {
                let lines = decision.region.start.0..=decision.region.end.0;
                !lines.contains(&row.location.line) && known.contains_key(&row.location)
            };
            if rows.iter().any(has) {
                return Shown::Joined;
            }
            rows.retain(|row| Some(row.location.file) == file);
            let mut conditions: Vec<usize> = rows
                .iter()
                .filter_map(|row| inside(decision, (row.location.line, row.column)))
                .collect();
            if let Some(own) = rows.first().filter(|_| gcc) {
                conditions.extend(in_front(decision, (own.location.line, own.column)));
            }
            if conditions.is_empty() || conditions.iter().any(|own| *own != n) {
                return Shown::Nothing;
            }
        }
    }
    Shown::Part
}

/// Whether execution reaches, behind a branch and in the lines of the decision, another branch: one
/// of `own`, or any where the compiler `optimises`.
fn continues(
    branch: u64,
    (own, optimises): (&BTreeSet<u64>, bool),
    decision: &Decision,
    lines: &Lines,
    walk: &mut Walk<'_>,
) -> bool {
    let region = decision.region.start.0..=decision.region.end.0;
    let Some(edges) = walk.edges(branch) else { return true };
    edges.into_iter().any(|mut address| {
        for _ in 0..INSTRUCTIONS {
            let line = lines.at(address).map_or(0, |location| location.line);
            if address == branch || line > 0 && !region.contains(&line) {
                return false;
            }
            let Some(found) = walk.instruction(address) else { return false };
            let calls = Walk::calls(&found);
            let searches = found.kind == Kind::Indirect && found.role == Role::Jump;
            if own.contains(&address) || optimises && (Walk::is_conditional(&found) || searches) {
                return true;
            }
            let next = match found.kind {
                Kind::Branch if !calls && !found.conditional => found.target,
                Kind::Indirect if !calls => None,
                _ => address.checked_add(found.size.max(1).into()),
            };
            let Some(next) = next else { return false };
            address = next;
        }
        true
    })
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
