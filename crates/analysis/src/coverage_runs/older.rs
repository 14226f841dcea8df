//! Coverage by runs of an older state of a program.

use std::collections::{BTreeMap, BTreeSet};

use super::covered::{BranchKey, CoveredFile, FunctionKey};
use super::decision::DecisionKey;
use super::runs::CoverageRuns;
use crate::decisions::same_file;

/// What became of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FunctionState {
    /// Its code and lines are the same: what older runs cover is covered.
    Unchanged,
    /// Its code or its lines differ.
    Changed,
    /// Whether it is the same is not known: it is inlined elsewhere, or has several parts.
    Unknown,
    /// The older state does not have it.
    Added,
    /// Only the older state has it.
    Removed,
}

impl FunctionState {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            FunctionState::Unchanged => "unchanged",
            FunctionState::Changed => "changed",
            FunctionState::Unknown => "unknown",
            FunctionState::Added => "added",
            FunctionState::Removed => "removed",
        }
    }
}

/// A function in two states of a program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FunctionChange {
    /// The path of its source file.
    pub path: String,
    /// Its first line, in the newer state if it has the function.
    pub line: u32,
    /// Its name.
    pub name: String,
    /// Its name in the symbol table.
    pub symbol: String,
    /// What became of it.
    pub state: FunctionState,
    /// Older runs executed it.
    pub executed_before: bool,
}

/// A function of one state, and the program that has it.
type Own<'a> = (usize, &'a FunctionKey, bool);

fn functions(runs: &CoverageRuns) -> BTreeMap<(&str, &str), Vec<Own<'_>>> {
    let mut all: BTreeMap<(&str, &str), Vec<Own<'_>>> = BTreeMap::new();
    for ((program, path), file) in &runs.files {
        for (key, [cell]) in &file.functions {
            let own = all.entry((path, &key.symbol)).or_default();
            own.push((*program, key, !cell.runs.is_empty()));
        }
    }
    all
}

impl CoverageRuns {
    /// What these runs of an older state of a program cover of the state that `newer` has: only
    /// what is in functions that are the same in both. Functions are matched by the paths of their
    /// source files and their symbols.
    #[must_use]
    pub fn valid_for(mut self, newer: &CoverageRuns) -> (CoverageRuns, Vec<FunctionChange>) {
        let mut valid =
            CoverageRuns { programs: newer.programs.clone(), ..CoverageRuns::default() };
        let mut changes = Vec::new();
        let (before, after) = (functions(&self), functions(newer));
        let (mut programs, mut moved) = (BTreeSet::new(), Vec::new());
        let names: BTreeSet<_> = before.keys().chain(after.keys()).collect();
        for name in names {
            let none = Vec::new();
            let (old, new) = (before.get(name).unwrap_or(&none), after.get(name).unwrap_or(&none));
            let state = state(old, new);
            let executed_before = old.iter().any(|own| own.2);
            if let Some((_, key, _)) = new.first().or(old.first()) {
                changes.push(FunctionChange {
                    path: name.0.to_owned(),
                    line: key.lines.0,
                    name: key.name.clone(),
                    symbol: key.symbol.clone(),
                    state,
                    executed_before,
                });
            }
            if let ([old], [new], FunctionState::Unchanged) = (&old[..], &new[..], state) {
                programs.insert(new.0);
                moved.push((name.0, (old.0, old.1), (new.0, new.1)));
            }
        }
        let mut decisions = Vec::new();
        for (path, (old, from), (new, to)) in moved {
            let Some(file) = self.files.get(&(old, path.to_owned())) else { continue };
            let own = valid.files.entry((new, path.to_owned())).or_default();
            take(own, file, from, to);
            decisions.extend(of_function(&self, path, from, to));
        }
        for own in valid.files.values_mut() {
            own.sort();
        }
        for (from, to) in decisions {
            if let Some(own) = self.decisions.remove(&from) {
                valid.decisions.insert(to, own);
            }
        }
        valid.runs = std::mem::take(&mut self.runs);
        valid.runs.iter_mut().for_each(|run| run.programs.clone_from(&programs));
        changes.sort();
        (valid, changes)
    }
}

/// What became of a function with these places in both states.
fn state(old: &[Own<'_>], new: &[Own<'_>]) -> FunctionState {
    match (old, new) {
        ([], _) => FunctionState::Added,
        (_, []) => FunctionState::Removed,
        ([(_, old, _)], [(_, new, _)]) => match (old.code, new.code) {
            (Some(old), Some(new)) if old.digest == new.digest => FunctionState::Unchanged,
            (Some(_), Some(_)) => FunctionState::Changed,
            _ => FunctionState::Unknown,
        },
        _ => FunctionState::Unknown,
    }
}

/// Takes what a function has, to where it is in the newer state.
fn take(own: &mut CoveredFile, file: &CoveredFile, from: &FunctionKey, to: &FunctionKey) {
    let line = |line: u32| moved(line, from, to);
    let lines = file.lines.iter();
    own.lines.extend(lines.filter_map(|(number, cell)| Some((line(*number)?, cell.clone()))));
    let starts = from.code.zip(to.code).map(|(from, to)| (from.start, to.start));
    let branches = file.branches.iter().filter_map(|(key, cells)| {
        let (from, to) = starts?;
        let address = key.address.wrapping_sub(from).wrapping_add(to);
        Some((BranchKey { line: line(key.line)?, address }, cells.clone()))
    });
    own.branches.extend(branches);
    let functions = file.functions.iter().filter(|(key, _)| key == from);
    own.functions.extend(functions.map(|(_, cell)| (to.clone(), cell.clone())));
}

/// The line of the newer state, of a line in the function.
fn moved(line: u32, from: &FunctionKey, to: &FunctionKey) -> Option<u32> {
    let inside = (from.lines.0..=from.lines.1).contains(&line);
    inside.then(|| (line - from.lines.0).saturating_add(to.lines.0))
}

/// The decisions in a function, and what they are in the newer state. Decisions are those of all
/// programs of a run, so that there must be one.
fn of_function(
    runs: &CoverageRuns,
    path: &str,
    from: &FunctionKey,
    to: &FunctionKey,
) -> Vec<(DecisionKey, DecisionKey)> {
    if runs.programs.len() != 1 {
        return Vec::new();
    }
    let own = |key: &&DecisionKey| same_file(path, &key.file);
    runs.decisions
        .keys()
        .filter(own)
        .filter_map(|key| {
            let mut its = key.clone();
            let conditions = its.conditions.iter_mut().map(|own| &mut own.region);
            for region in std::iter::once(&mut its.region).chain(conditions) {
                region.start.0 = moved(region.start.0, from, to)?;
                region.end.0 = moved(region.end.0, from, to)?;
            }
            Some((key.clone(), its))
        })
        .collect()
}
