//! What runs of a program cover together.

use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};
use std::fmt;

use super::cell::sum;
use super::covered::{CoveredFile, Part, Unknown};
use super::decision::{CoveredDecision, DecisionKey};
use super::digest::Digest;
use super::function_code::{FunctionCode, FunctionPlace};
use super::program::RunProgram;
use crate::coverage::{BranchOutcomes, FunctionLine, SourceFile};
use crate::decisions::{Criterion, same_file};

/// A file that a run was measured from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunInput {
    /// Its path, as the run names it.
    pub path: String,
    /// Its size in bytes, and its digest; `None` of a pipe.
    pub content: Option<(u64, Digest)>,
}

/// A run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Run {
    /// The names of its tests, in order.
    pub tags: BTreeSet<String>,
    /// The digest of what was saved of it; zero until it is saved.
    pub id: Digest,
    /// The name and the version of the tool that measured it.
    pub tool: String,
    /// The options that it was measured with.
    pub options: Vec<String>,
    /// The files that it was measured from, in order of their paths.
    pub inputs: Vec<RunInput>,
    /// Losses of trace: where there are some, what was not executed in the trace is unknown.
    pub losses: u64,
    /// The buffers are traced, and nothing in them is damaged.
    pub sound: bool,
    /// Its programs.
    pub programs: BTreeSet<usize>,
}

impl Run {
    /// Its tags, or else the beginning of its digest.
    pub fn name(&self) -> String {
        if self.tags.is_empty() {
            return self.id.to_string().get(..12).unwrap_or_default().to_owned();
        }
        self.tags.iter().map(String::as_str).collect::<Vec<_>>().join(",")
    }
}

/// Why runs are not summed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunsDifference {
    /// Two different programs are in one another's place.
    Place(Box<[RunProgram; 2]>),
    /// Two runs have no program in common.
    Nothing(Box<[RunProgram; 2]>),
    /// A decision is described in two ways.
    Decision(Box<DecisionKey>),
}

impl fmt::Display for RunsDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunsDifference::Place(both) => {
                let [a, b] = &**both;
                let what = match a.key.code == b.key.code {
                    true => "they have other lines or functions",
                    false => "their code differs",
                };
                write!(f, "different programs: {a}, and {b}: {what}")
            }
            RunsDifference::Nothing(both) => {
                let [a, b] = &**both;
                write!(f, "different programs: {a}, and {b}: no run has both")
            }
            RunsDifference::Decision(key) => {
                let ((line, column), file) = (key.region.start, &key.file);
                write!(
                    f,
                    "the decision {file}:{line}:{column} is described in two ways: its source \
                     text was changed, or could not be read in all runs"
                )
            }
        }
    }
}

/// What runs cover together.
///
/// [`CoverageRuns::finish`] puts the runs in the order of their tags and digests, so that the
/// result depends neither on the order in which runs were added nor on what was added first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoverageRuns {
    /// The runs; cells have their positions.
    pub runs: Vec<Run>,
    /// The programs; runs and files have their positions.
    pub programs: Vec<RunProgram>,
    /// By program and path: its source files.
    pub files: BTreeMap<(usize, String), CoveredFile>,
    /// Decisions, of all programs of a run.
    pub decisions: BTreeMap<DecisionKey, CoveredDecision>,
}

impl CoverageRuns {
    /// Whether a run lost trace.
    fn lost(&self) -> bool {
        self.runs.iter().any(|run| run.losses > 0)
    }

    /// The losses of all runs.
    pub fn losses(&self) -> u64 {
        self.runs.iter().fold(0, |sum, run| sum.saturating_add(run.losses))
    }

    /// Adds a program, and returns its position.
    pub fn program(&mut self, program: RunProgram) -> usize {
        let known = self.programs.iter_mut().enumerate();
        let known = known.into_iter().find(|(_, own)| own.key == program.key);
        if let Some((n, own)) = known {
            own.add(program);
            return n;
        }
        self.programs.push(program);
        self.programs.len() - 1
    }

    /// Adds what the only run covers of source files of a program, after [`finish`]. Its functions
    /// have `codes`. With `lost`, the run lost trace.
    ///
    /// [`finish`]: crate::coverage::finish
    pub fn cover(
        &mut self,
        program: usize,
        sources: &BTreeMap<String, SourceFile>,
        codes: &BTreeMap<FunctionPlace, FunctionCode>,
        lost: bool,
    ) {
        let unknown = Unknown { own: lost, its: lost };
        for (path, source) in sources {
            let file = CoveredFile::of(path, source, codes);
            match self.files.entry((program, path.clone())) {
                Entry::Vacant(own) => _ = own.insert(file),
                Entry::Occupied(mut own) => own.get_mut().add(file, unknown),
            }
        }
    }

    /// Adds other runs, none of which is known.
    pub fn add(&mut self, other: CoverageRuns) {
        if self.runs.is_empty() {
            *self = other;
            return;
        }
        let unknown = Unknown { own: self.lost(), its: other.lost() };
        let first = self.runs.len();
        let CoverageRuns { runs, programs, mut files, mut decisions } = other;
        let numbers: Vec<usize> = programs.into_iter().map(|own| self.program(own)).collect();
        let number = |n: usize| numbers.get(n).copied().unwrap_or(n);
        self.runs.extend(
            runs.into_iter().map(|run| Run {
                programs: run.programs.iter().map(|n| number(*n)).collect(),
                ..run
            }),
        );
        for cell in files.values_mut().flat_map(CoveredFile::cells_mut) {
            cell.runs = cell.runs.renumbered(|run| run + first);
        }
        for cell in decisions.values_mut().flat_map(CoveredDecision::cells_mut) {
            cell.runs = cell.runs.renumbered(|run| run + first);
        }
        let mut files: BTreeMap<_, _> =
            files.into_iter().map(|((n, path), file)| ((number(n), path), file)).collect();
        for (key, own) in &mut self.files {
            own.add(files.remove(key).unwrap_or_default(), unknown);
        }
        for (key, file) in files {
            self.files.entry(key).or_default().add(file, unknown);
        }
        for (key, own) in &mut self.decisions {
            let absent = || CoveredDecision::absent(key.conditions.len());
            own.add(decisions.remove(key).unwrap_or_else(absent));
        }
        for (key, mut decision) in decisions {
            decision.add(CoveredDecision::absent(key.conditions.len()));
            self.decisions.insert(key, decision);
        }
    }

    /// Puts runs and programs in order.
    pub fn finish(&mut self) {
        let programs = order(&self.programs, |a, b| a.key.cmp(&b.key));
        let number = |n: usize| programs.get(n).copied().unwrap_or(n);
        sort_by_number(&mut self.programs, &programs);
        for run in &mut self.runs {
            run.programs = run.programs.iter().map(|n| number(*n)).collect();
        }
        let files = std::mem::take(&mut self.files);
        let files = files.into_iter().map(|((n, path), file)| ((number(n), path), file));
        self.files = files.collect();
        let runs = order(&self.runs, Run::cmp);
        sort_by_number(&mut self.runs, &runs);
        if runs.iter().enumerate().all(|(n, own)| n == *own) {
            return;
        }
        let number = |run: usize| runs.get(run).copied().unwrap_or(run);
        for cell in self.files.values_mut().flat_map(CoveredFile::cells_mut) {
            cell.runs = cell.runs.renumbered(number);
        }
        for cell in self.decisions.values_mut().flat_map(CoveredDecision::cells_mut) {
            cell.runs = cell.runs.renumbered(number);
        }
    }

    /// Why these runs should not have been summed: whatever the order in which they were added.
    pub fn difference(&self) -> Option<RunsDifference> {
        let sets: BTreeSet<&BTreeSet<usize>> = self.runs.iter().map(|run| &run.programs).collect();
        let both = |a: usize, b: usize| {
            let (a, b) = (self.programs.get(a)?.clone(), self.programs.get(b)?.clone());
            Some(Box::new([a, b]))
        };
        for (a, own) in self.programs.iter().enumerate() {
            for (b, other) in self.programs.iter().enumerate().skip(a + 1) {
                // Programs that all runs have together are those of several cores or processes.
                let alone = |one: usize, other: usize| {
                    sets.iter().any(|set| set.contains(&one) && !set.contains(&other))
                };
                if alone(a, b) && alone(b, a) && own.is_in_place_of(other) {
                    return both(a, b).map(RunsDifference::Place);
                }
            }
        }
        // Runs of which each has a program that another one has, too.
        let mut sets: Vec<&BTreeSet<usize>> = sets.into_iter().collect();
        let mut known = sets.pop().cloned().unwrap_or_default();
        while let Some(n) = sets.iter().position(|set| !set.is_disjoint(&known)) {
            known.extend(sets.swap_remove(n));
        }
        if let Some(other) = sets.first().and_then(|set| set.first())
            && let Some(own) = known.first()
        {
            return both(*own.min(other), *own.max(other)).map(RunsDifference::Nothing);
        }
        let mut keys = self.decisions.keys();
        let mut before = keys.next();
        for key in keys {
            if before.is_some_and(|own| own.file == key.file && own.region == key.region) {
                return Some(RunsDifference::Decision(Box::new(key.clone())));
            }
            before = Some(key);
        }
        None
    }

    /// The source files, with what all runs cover.
    pub fn sources(&self, criterion: Criterion) -> BTreeMap<String, SourceFile> {
        let mut sources: BTreeMap<String, SourceFile> = BTreeMap::new();
        for ((_, path), file) in &self.files {
            let source = sources.entry(path.clone()).or_default();
            for (number, [cell]) in &file.lines {
                let known = source.lines.contains_key(number);
                let line = source.lines.entry(*number).or_default();
                line.count = if known { sum(line.count, cell.count) } else { cell.count };
            }
            for (key, cells) in &file.branches {
                let counts = cells.each_ref().map(|cell| cell.count);
                let line = source.lines.entry(key.line).or_default();
                let same = line.branches.iter_mut().find(|own| own.address == key.address);
                if let Some(own) = same {
                    let pairs = own.counts.iter_mut().zip(counts);
                    pairs.for_each(|(own, its)| *own = sum(*own, its));
                } else {
                    line.branches.push(BranchOutcomes { address: key.address, counts });
                }
            }
            for (key, [cell]) in &file.functions {
                let same = |own: &&mut FunctionLine| {
                    own.symbol == key.symbol && own.lines == key.lines && own.name == key.name
                };
                match source.functions.iter_mut().find(same) {
                    Some(own) => own.count = sum(own.count, cell.count),
                    None => source.functions.push(FunctionLine {
                        name: key.name.clone(),
                        symbol: key.symbol.clone(),
                        lines: key.lines,
                        count: cell.count,
                    }),
                }
            }
        }
        sources.values_mut().for_each(SourceFile::join);
        for (key, covered) in &self.decisions {
            let path = sources.keys().find(|path| same_file(path, &key.file));
            let path = path.unwrap_or(&key.file).clone();
            let source = sources.entry(path).or_default();
            source.decisions.push(covered.measured(key, criterion));
        }
        sources
    }

    /// What each run covers, and what it adds to the runs before it: lines, outcomes of branches,
    /// functions, outcomes of decisions and values of conditions.
    pub fn parts(&self) -> Vec<[Part; 4]> {
        let none = || vec![Part::default(); self.runs.len()];
        let [mut lines, mut branches, mut functions, mut decisions] =
            [none(), none(), none(), none()];
        for file in self.files.values() {
            let all = file.lines.iter().flat_map(|(_, own)| own);
            all.for_each(|own| Part::count(&mut lines, &own.runs));
            let all = file.branches.iter().flat_map(|(_, own)| own);
            all.for_each(|own| Part::count(&mut branches, &own.runs));
            let all = file.functions.iter().flat_map(|(_, own)| own);
            all.for_each(|own| Part::count(&mut functions, &own.runs));
        }
        let all = self.decisions.values().flat_map(CoveredDecision::cells);
        all.for_each(|own| Part::count(&mut decisions, &own.runs));
        let pairs = lines.into_iter().zip(branches).zip(functions.into_iter().zip(decisions));
        pairs.map(|((a, b), (c, d))| [a, b, c, d]).collect()
    }
}

/// The position that each element has in order.
fn order<T>(all: &[T], compare: impl Fn(&T, &T) -> std::cmp::Ordering) -> Vec<usize> {
    let mut sorted: Vec<(usize, &T)> = all.iter().enumerate().collect();
    sorted.sort_by(|a, b| compare(a.1, b.1));
    let mut positions = vec![0; all.len()];
    for (position, (n, _)) in sorted.into_iter().enumerate() {
        if let Some(own) = positions.get_mut(n) {
            *own = position;
        }
    }
    positions
}

/// Puts each element at its position.
fn sort_by_number<T>(all: &mut Vec<T>, positions: &[usize]) {
    let mut pairs: Vec<(usize, T)> = positions.iter().copied().zip(std::mem::take(all)).collect();
    pairs.sort_by_key(|(position, _)| *position);
    all.extend(pairs.into_iter().map(|(_, own)| own));
}
