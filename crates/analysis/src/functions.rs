//! The functions of a trace: calls, instructions, cycles, time.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasherDefault;

use crate::code::FunctionId;
use crate::counts::Mix;
use crate::paths::{Path, PathId, Paths};

/// The sums of one function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FunctionTotals {
    /// Calls and exceptions.
    pub calls: u64,
    /// Instructions in the function itself.
    pub instructions: u64,
    /// The same with the functions that it calls. Recursive calls count once.
    pub inclusive_instructions: u64,
    /// Processor cycles in the function itself, in parts of 2^-16.
    pub cycles: u64,
    /// The same with the functions that it calls.
    pub inclusive_cycles: u64,
    /// Timestamp ticks in the function itself, in parts of 2^-16.
    pub ticks: u64,
    /// The same with the functions that it calls.
    pub inclusive_ticks: u64,
    /// Frames in which trace was lost.
    pub uncertain: u64,
}

impl FunctionTotals {
    /// Adds the sums of another thread.
    pub fn add(&mut self, other: &FunctionTotals) {
        let FunctionTotals {
            calls,
            instructions,
            inclusive_instructions,
            cycles,
            inclusive_cycles,
            ticks,
            inclusive_ticks,
            uncertain,
        } = *other;
        for (own, its) in [
            (&mut self.calls, calls),
            (&mut self.instructions, instructions),
            (&mut self.inclusive_instructions, inclusive_instructions),
            (&mut self.cycles, cycles),
            (&mut self.inclusive_cycles, inclusive_cycles),
            (&mut self.ticks, ticks),
            (&mut self.inclusive_ticks, inclusive_ticks),
            (&mut self.uncertain, uncertain),
        ] {
            *own = own.saturating_add(its);
        }
    }
}

/// The sums of each path with the paths that it calls: instructions, cycles, ticks.
pub fn inclusive(paths: &Paths) -> Vec<[u64; 3]> {
    let mut sums: Vec<[u64; 3]> = paths.paths().iter().map(own).collect();
    for (number, _) in paths.in_order().iter().rev() {
        let own = sums.get(*number as usize).copied().unwrap_or_default();
        let parent = paths.paths().get(*number as usize).and_then(|path| path.parent);
        if let Some(sum) = parent.and_then(|parent| sums.get_mut(parent as usize)) {
            add(sum, &own);
        }
    }
    sums
}

/// Instructions, cycles and ticks of a path itself.
const fn own(path: &Path) -> [u64; 3] {
    [path.instructions, path.cycles, path.ticks]
}

fn add(sums: &mut [u64; 3], more: &[u64; 3]) {
    sums.iter_mut().zip(more).for_each(|(sum, more)| *sum = sum.saturating_add(*more));
}

/// A function of a thread.
#[derive(Default)]
struct Function {
    totals: FunctionTotals,
    /// How often it is among the callers of the next path.
    active: u32,
}

/// The functions of a thread while its paths are visited, callers first.
#[derive(Default)]
struct Visit {
    numbers: HashMap<FunctionId, usize, BuildHasherDefault<Mix>>,
    functions: Vec<Function>,
    /// The callers of the next path: the number of each function, and the sums of the path with the
    /// paths that it calls, as far as they were visited.
    callers: Vec<(usize, [u64; 3])>,
}

impl Visit {
    /// Visits a path that has `depth` callers with the thread.
    fn enter(&mut self, path: &Path, depth: usize) {
        while self.callers.len() >= depth.max(1) {
            self.leave();
        }
        let next = self.numbers.len();
        let number = *self.numbers.entry(path.function).or_insert(next);
        if number == next {
            self.functions.push(Function::default());
        }
        if let Some(function) = self.functions.get_mut(number) {
            function.active += 1;
            function.totals.add(&FunctionTotals {
                calls: path.calls,
                instructions: path.instructions,
                cycles: path.cycles,
                ticks: path.ticks,
                uncertain: path.uncertain,
                ..FunctionTotals::default()
            });
        }
        self.callers.push((number, own(path)));
    }

    /// All paths that the last caller calls were visited.
    fn leave(&mut self) {
        let Some((number, sums)) = self.callers.pop() else { return };
        if let Some((_, caller)) = self.callers.last_mut() {
            add(caller, &sums);
        }
        let Some(function) = self.functions.get_mut(number) else { return };
        function.active -= 1;
        // Of recursive calls the outermost one has the sums of all.
        if function.active == 0 {
            let [inclusive_instructions, inclusive_cycles, inclusive_ticks] = sums;
            function.totals.add(&FunctionTotals {
                inclusive_instructions,
                inclusive_cycles,
                inclusive_ticks,
                ..FunctionTotals::default()
            });
        }
    }
}

/// The functions of each thread: the number of the thread, and its functions.
pub fn by_thread(paths: &Paths) -> Vec<BTreeMap<FunctionId, FunctionTotals>> {
    let mut all = vec![BTreeMap::new(); paths.threads().len()];
    let roots: BTreeMap<PathId, usize> =
        paths.threads().iter().enumerate().map(|(n, thread)| (thread.root, n)).collect();
    // Each thread has a path without a caller, which all of its other paths follow.
    for tree in paths.in_order().chunk_by(|_, (_, depth)| *depth > 0) {
        let mut visit = Visit::default();
        for (number, depth) in tree.get(1..).unwrap_or_default() {
            if let Some(path) = paths.paths().get(*number as usize) {
                visit.enter(path, *depth);
            }
        }
        while !visit.callers.is_empty() {
            visit.leave();
        }
        let thread = tree.first().and_then(|(root, _)| roots.get(root));
        if let Some(thread) = thread.and_then(|n| all.get_mut(*n)) {
            let Visit { numbers, functions, .. } = visit;
            thread.extend(
                numbers.into_iter().filter_map(|(id, n)| Some((id, functions.get(n)?.totals))),
            );
        }
    }
    all
}

/// The functions of all threads together.
pub fn together(
    threads: &[BTreeMap<FunctionId, FunctionTotals>],
) -> BTreeMap<FunctionId, FunctionTotals> {
    let mut all: BTreeMap<FunctionId, FunctionTotals> = BTreeMap::new();
    for (function, totals) in threads.iter().flatten() {
        all.entry(*function).or_default().add(totals);
    }
    all
}
