//! The functions of a trace: calls, instructions, cycles, time.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasherDefault;

use crate::code::FunctionId;
use crate::counts::Mix;
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
    inclusive_of(paths, &paths.in_order())
}

/// The same of paths whose callers precede them in `order`.
fn inclusive_of(paths: &Paths, order: &[(PathId, usize)]) -> Vec<[u64; 3]> {
    let mut sums: Vec<[u64; 3]> =
        paths.paths().iter().map(|path| [path.instructions, path.cycles, path.ticks]).collect();
    for (number, _) in order.iter().rev() {
        let own = sums.get(*number as usize).copied().unwrap_or_default();
        let parent = paths.paths().get(*number as usize).and_then(|path| path.parent);
        if let Some(sum) = parent.and_then(|parent| sums.get_mut(parent as usize)) {
            sum.iter_mut().zip(own).for_each(|(sum, own)| *sum = sum.saturating_add(own));
        }
    }
    sums
}

/// A function of a thread.
#[derive(Default)]
struct Function {
    totals: FunctionTotals,
    /// How often it is among the callers of the current path, and in the path.
    active: u32,
}

/// The functions of each thread: the number of the thread, and its functions.
pub fn by_thread(paths: &Paths) -> Vec<BTreeMap<FunctionId, FunctionTotals>> {
    let order = paths.in_order();
    let sums = inclusive_of(paths, &order);
    let mut all = vec![BTreeMap::new(); paths.threads().len()];
    let roots: BTreeMap<PathId, usize> =
        paths.threads().iter().enumerate().map(|(n, thread)| (thread.root, n)).collect();
    let mut numbers: HashMap<FunctionId, usize, BuildHasherDefault<Mix>> = HashMap::default();
    let mut functions: Vec<Function> = Vec::new();
    // The functions of the callers of a path.
    let mut callers: Vec<usize> = Vec::new();
    // Each thread has a path without a caller, which all of its other paths follow.
    for tree in order.chunk_by(|_, (_, depth)| *depth > 0) {
        for (number, depth) in tree.get(1..).unwrap_or_default() {
            let Some(path) = paths.paths().get(*number as usize) else { continue };
            while callers.len() >= *depth {
                let caller = callers.pop().and_then(|caller| functions.get_mut(caller));
                caller.into_iter().for_each(|caller| caller.active -= 1);
            }
            let next = numbers.len();
            let function = *numbers.entry(path.function).or_insert(next);
            if function == next {
                functions.push(Function::default());
            }
            let Some(own) = functions.get_mut(function) else { continue };
            own.active += 1;
            callers.push(function);
            let mut totals = FunctionTotals {
                calls: path.calls,
                instructions: path.instructions,
                cycles: path.cycles,
                ticks: path.ticks,
                uncertain: path.uncertain,
                ..FunctionTotals::default()
            };
            if let Some([instructions, cycles, ticks]) =
                sums.get(*number as usize).filter(|_| own.active == 1)
            {
                totals.inclusive_instructions = *instructions;
                totals.inclusive_cycles = *cycles;
                totals.inclusive_ticks = *ticks;
            }
            own.totals.add(&totals);
        }
        let thread = tree.first().and_then(|(root, _)| roots.get(root));
        if let Some(thread) = thread.and_then(|n| all.get_mut(*n)) {
            let functions = numbers
                .drain()
                .filter_map(|(function, n)| Some((function, functions.get(n)?.totals)));
            thread.extend(functions);
        }
        numbers.clear();
        functions.clear();
        callers.clear();
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
