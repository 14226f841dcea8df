//! Executions of source lines, and counts of branches.

use std::collections::BTreeMap;

use tracewright::analysis::Target;
use tracewright::decode::Tally;

use super::common::{infos, write};
use super::functions::in_part;
use super::{By, Definition, Division, Input};
use crate::arrays::column;
use crate::output::{Batches, Column};
use crate::query::TableError;

pub(super) const TABLE: Definition = Definition {
    name: "coverage_lines",
    about: "source lines with code: executions, and the outcomes of branches",
    columns: || infos(columns()),
    by: &[By::Window],
    division: Division::Captures,
    read,
};

pub(super) const BRANCHES: Definition = Definition {
    name: "branch_counts",
    about: "how often each branch was taken to each target, and not taken",
    columns: || infos(branch_columns()),
    by: &[By::Window],
    division: Division::Captures,
    read: read_branches,
};

/// A source line.
struct Line {
    file: String,
    line: u32,
    executions: Option<u64>,
    branches: u32,
    /// The outcomes that are known: taken, not taken.
    taken: Option<u64>,
    not_taken: Option<u64>,
}

fn read(input: &Input<'_>, batches: &mut Batches<'_>) -> Result<Tally, TableError> {
    let mut rows = Vec::new();
    for (path, source) in in_part(input).coverage()? {
        rows.extend(source.lines.iter().map(|(number, line)| {
            let sum = |outcome: usize| {
                let counts = line.branches.iter().map(|branch| branch.counts[outcome]);
                let sum: Option<u64> = counts.sum();
                sum.filter(|_| !line.branches.is_empty())
            };
            Line {
                file: path.clone(),
                line: *number,
                executions: line.count,
                branches: line.branches.len() as u32,
                taken: sum(0),
                not_taken: sum(1),
            }
        }));
    }
    write(input, columns(), rows, batches);
    Ok(Tally::default())
}

fn columns() -> Vec<Column<Line>> {
    type Own = Line;
    vec![
        column!(Name(files) "file" ! "path of the source file",
            |s, r| Some(s.files.number(&r.file))),
        column!(U32 "line" ! "number of the line", |_, r| r.line),
        column!(U64 "executions" ? "executions; null where they are unknown, as trace was lost",
            |_, r| r.executions),
        column!(U32 "branches" ! "conditional branches of the line", |_, r| r.branches),
        column!(U64 "branches_taken" ? "how often they were taken", |_, r| r.taken),
        column!(U64 "branches_not_taken" ? "how often they were not taken", |_, r| r.not_taken),
    ]
}

/// How often a branch was taken to a target, or not taken.
struct BranchRow {
    image: String,
    from: u64,
    to: Option<u64>,
    outside: Option<u64>,
    indirect: Option<bool>,
    followed: Option<bool>,
    taken: u64,
    not_taken: u64,
}

fn read_branches(input: &Input<'_>, batches: &mut Batches<'_>) -> Result<Tally, TableError> {
    let profile = in_part(input).profile()?;
    let mut rows = Vec::new();
    for module in profile.modules.values() {
        let image = &module.file.path;
        let mut not_taken: BTreeMap<u64, u64> = BTreeMap::new();
        for ((_, last), counts) in &module.ranges {
            if counts.not_taken > 0 {
                let own = not_taken.entry(*last).or_default();
                *own = own.saturating_add(counts.not_taken);
            }
        }
        let mut own: Vec<BranchRow> = Vec::new();
        for (branch, counts) in &module.branches {
            let (to, outside) = match branch.to {
                Target::Unknown => (None, None),
                Target::Here(to) => (Some(to), None),
                Target::Outside(to) => (None, Some(to)),
            };
            own.push(BranchRow {
                image: image.clone(),
                from: branch.from,
                to,
                outside,
                indirect: Some(counts.indirect),
                followed: Some(counts.followed),
                taken: counts.count,
                not_taken: 0,
            });
        }
        own.extend(not_taken.into_iter().map(|(from, not_taken)| BranchRow {
            image: image.clone(),
            from,
            to: None,
            outside: None,
            indirect: None,
            followed: None,
            taken: 0,
            not_taken,
        }));
        own.sort_by_key(|row| (row.from, row.not_taken, row.to, row.outside));
        rows.append(&mut own);
    }
    write(input, branch_columns(), rows, batches);
    Ok(Tally::default())
}

fn branch_columns() -> Vec<Column<BranchRow>> {
    type Own = BranchRow;
    vec![
        column!(Name(files) "image" ! "path of the program file",
            |s, r| Some(s.files.number(&r.image))),
        column!(Hex "from_address" ! "address of the branch in its file", |_, r| r.from),
        column!(Hex "to_address" ? "target in the same file", |_, r| r.to),
        column!(Hex "to_outside" ? "target in memory, where it is in another file",
            |_, r| r.outside),
        column!(Bool "indirect" ? "the target is not in the opcode", |_, r| r.indirect),
        column!(Bool "followed" ? "the trace has what follows", |_, r| r.followed),
        column!(U64 "taken" ! "how often it was taken to the target", |_, r| r.taken),
        column!(U64 "not_taken" ! "how often it was not taken: in a row without a target",
            |_, r| r.not_taken),
    ]
}
