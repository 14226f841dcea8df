//! The functions of a trace: calls, instructions, cycles, time.

use std::collections::BTreeMap;

use crate::code::FunctionId;
use crate::paths::{PathId, Paths};

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
    let mut sums: Vec<[u64; 3]> =
        paths.paths().iter().map(|path| [path.instructions, path.cycles, path.ticks]).collect();
    for (number, _) in paths.in_order().into_iter().rev() {
        let own = sums.get(number as usize).copied().unwrap_or_default();
        let parent = paths.paths().get(number as usize).and_then(|path| path.parent);
        if let Some(sum) = parent.and_then(|parent| sums.get_mut(parent as usize)) {
            sum.iter_mut().zip(own).for_each(|(sum, own)| *sum = sum.saturating_add(own));
        }
    }
    sums
}

/// The functions of each thread: the number of the thread, and its functions.
pub fn by_thread(paths: &Paths) -> Vec<BTreeMap<FunctionId, FunctionTotals>> {
    let sums = inclusive(paths);
    let mut all = vec![BTreeMap::new(); paths.threads().len()];
    let roots: BTreeMap<PathId, usize> =
        paths.threads().iter().enumerate().map(|(n, thread)| (thread.root, n)).collect();
    // The functions of the callers of a path, and how often each is among them.
    let mut callers: Vec<FunctionId> = Vec::new();
    let mut active: BTreeMap<FunctionId, u64> = BTreeMap::new();
    let mut thread = None;
    for (number, depth) in paths.in_order() {
        let Some(path) = paths.paths().get(number as usize) else { continue };
        if path.parent.is_none() {
            callers.clear();
            active.clear();
            thread = roots.get(&number).and_then(|n| all.get_mut(*n));
            continue;
        }
        while callers.len() >= depth {
            if let Some(count) = callers.pop().and_then(|function| active.get_mut(&function)) {
                *count -= 1;
            }
        }
        let outermost = active.entry(path.function).or_default();
        *outermost += 1;
        let outermost = *outermost == 1;
        callers.push(path.function);
        let Some(functions) = &mut thread else { continue };
        let mut totals = FunctionTotals {
            calls: path.calls,
            instructions: path.instructions,
            cycles: path.cycles,
            ticks: path.ticks,
            uncertain: path.uncertain,
            ..FunctionTotals::default()
        };
        if let Some([instructions, cycles, ticks]) = sums.get(number as usize).filter(|_| outermost)
        {
            totals.inclusive_instructions = *instructions;
            totals.inclusive_cycles = *cycles;
            totals.inclusive_ticks = *ticks;
        }
        functions.entry(path.function).or_insert_with(FunctionTotals::default).add(&totals);
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
