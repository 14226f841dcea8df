//! What runs cover of a source file of a program.

use std::collections::BTreeMap;

use super::cell::{Cell, RunNumbers};
use super::function_code::{FunctionCode, FunctionPlace};
use crate::coverage::SourceFile;

/// A function of a source file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FunctionKey {
    /// Its first and its last line.
    pub lines: (u32, u32),
    /// Its name in the symbol table.
    pub symbol: String,
    /// Its name, demangled.
    pub name: String,
    /// Its code, where it can be compared with that of another state of the program.
    pub code: Option<FunctionCode>,
}

/// A conditional branch of a source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BranchKey {
    /// The line.
    pub line: u32,
    /// The address in the program file.
    pub address: u64,
}

/// What runs cover of a source file of a program. Each list is in order, and has each key once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoveredFile {
    /// Lines with code.
    pub lines: Vec<(u32, [Cell; 1])>,
    /// Of conditional branches: that it was taken, and that it was not.
    pub branches: Vec<(BranchKey, [Cell; 2])>,
    /// Functions.
    pub functions: Vec<(FunctionKey, [Cell; 1])>,
}

impl CoveredFile {
    /// That of one run, of the source file with a path and with this code of functions.
    pub fn of(
        path: &str,
        source: &SourceFile,
        codes: &BTreeMap<FunctionPlace, FunctionCode>,
    ) -> CoveredFile {
        let mut own = CoveredFile::default();
        for (number, line) in &source.lines {
            own.lines.push((*number, [Cell::of(line.count)]));
            for branch in &line.branches {
                let key = BranchKey { line: *number, address: branch.address };
                own.branches.push((key, branch.counts.map(Cell::of)));
            }
        }
        for function in &source.functions {
            let (symbol, name) = (function.symbol.clone(), function.name.clone());
            let place = (path.to_owned(), function.lines, symbol.clone());
            let code = codes.get(&place).copied();
            let key = FunctionKey { lines: function.lines, symbol, name, code };
            own.functions.push((key, [Cell::of(function.count)]));
        }
        own.sort();
        own
    }

    /// Puts all in order, and sums what has equal keys.
    pub(super) fn sort(&mut self) {
        combine(&mut self.lines);
        combine(&mut self.branches);
        combine(&mut self.functions);
    }

    /// All cells.
    pub fn cells(&self) -> impl Iterator<Item = &Cell> {
        let lines = self.lines.iter().flat_map(|(_, own)| own);
        let branches = self.branches.iter().flat_map(|(_, own)| own);
        lines.chain(branches).chain(self.functions.iter().flat_map(|(_, own)| own))
    }

    pub(super) fn cells_mut(&mut self) -> impl Iterator<Item = &mut Cell> {
        let lines = self.lines.iter_mut().flat_map(|(_, own)| own);
        let branches = self.branches.iter_mut().flat_map(|(_, own)| own);
        lines.chain(branches).chain(self.functions.iter_mut().flat_map(|(_, own)| own))
    }

    /// Adds what other runs cover. What one of both does not list is `unknown` there, or was not
    /// executed.
    pub(super) fn add(&mut self, other: CoveredFile, unknown: Unknown) {
        join(&mut self.lines, other.lines, unknown);
        join(&mut self.branches, other.branches, unknown);
        join(&mut self.functions, other.functions, unknown);
    }
}

/// Whether what runs do not list may have been executed in one that lost trace.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unknown {
    /// In these runs.
    pub(super) own: bool,
    /// In those that are added.
    pub(super) its: bool,
}

/// Puts the cells in order, and sums those of equal keys.
fn combine<K: Ord, const N: usize>(all: &mut Vec<(K, [Cell; N])>) {
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all.dedup_by(|(next, its), (key, own)| {
        let same = next == key;
        if same {
            own.iter_mut().zip(its).for_each(|(own, its)| own.add(its));
        }
        same
    });
}

/// Adds the cells of other runs. Both lists are in order.
fn join<K: Ord, const N: usize>(
    own: &mut Vec<(K, [Cell; N])>,
    other: Vec<(K, [Cell; N])>,
    unknown: Unknown,
) {
    let same = own.len() == other.len() && own.iter().zip(&other).all(|(a, b)| a.0 == b.0);
    if same {
        for ((_, own), (_, its)) in own.iter_mut().zip(&other) {
            own.iter_mut().zip(its).for_each(|(own, its)| own.add(its));
        }
        return;
    }
    let lacks = |mut cells: [Cell; N], unknown: bool| {
        cells.iter_mut().for_each(|cell| cell.add(&Cell::absent(unknown)));
        cells
    };
    let (mut mine, mut its) =
        (std::mem::take(own).into_iter().peekable(), other.into_iter().peekable());
    loop {
        let order = match (mine.peek(), its.peek()) {
            (Some(a), Some(b)) => a.0.cmp(&b.0),
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (None, None) => break,
        };
        let next = match order {
            std::cmp::Ordering::Less => {
                mine.next().map(|(key, cells)| (key, lacks(cells, unknown.its)))
            }
            std::cmp::Ordering::Greater => {
                its.next().map(|(key, cells)| (key, lacks(cells, unknown.own)))
            }
            std::cmp::Ordering::Equal => {
                mine.next().zip(its.next()).map(|((key, mut a), (_, b))| {
                    a.iter_mut().zip(&b).for_each(|(own, its)| own.add(its));
                    (key, a)
                })
            }
        };
        own.extend(next);
    }
}

/// How much of a kind runs cover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// What a run covers.
    pub covered: u64,
    /// What it covers and no run before it.
    pub added: u64,
}

impl Part {
    /// Counts a cell with these runs for each run.
    pub(super) fn count(all: &mut [Part], runs: &RunNumbers) {
        for (n, run) in runs.iter().enumerate() {
            if let Some(own) = all.get_mut(run) {
                own.covered += 1;
                own.added += u64::from(n == 0);
            }
        }
    }
}
