//! The counts of [runs](crate::runs), and what ranges and sequences they are of.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracewright_base::{BlockStep, Range};
use tracewright_image::MemoryId;

use crate::counts::{Counts, Mix};
use crate::executed::{Executed, Following};

/// Counters of a chain, a power of two. The last one is not used: the run continues in another
/// chain.
pub(crate) const CHAIN: usize = 8;

/// The last range of a run, and the sequence that it is in: the branch before and the start.
pub(crate) type Left = (Range, (Option<u64>, u64));

/// A cached block.
#[derive(Clone, Copy, Debug)]
struct Named {
    /// Its range if its waypoint does not take effect, and if it does.
    outcomes: [Range; 2],
    memory: MemoryId,
    /// The block that follows if its waypoint is not taken, where that was executed.
    next: Option<u32>,
}

/// Runs that begin with the same block after the same branch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Chain {
    /// The block that ends with the branch.
    pub(crate) from: u32,
    /// The first block.
    pub(crate) start: u32,
    /// The number of blocks before that of the first counter.
    pub(crate) skipped: u32,
}

/// The blocks and chains that have numbers. They are shared by all counts with these numbers.
#[derive(Debug, Default)]
pub(crate) struct Names {
    blocks: HashMap<u32, Named, BuildHasherDefault<Mix>>,
    pub(crate) chains: Vec<Chain>,
}

pub(crate) fn lock(names: &Mutex<Names>) -> MutexGuard<'_, Names> {
    names.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Names {
    /// Stores a block that is executed.
    pub(crate) fn learn(
        &mut self,
        step: BlockStep,
        outcomes: [Range; 2],
        memory: MemoryId,
        next: Option<u32>,
    ) {
        let new = Named { outcomes, memory, next: None };
        let known = self.blocks.entry(step.id().index() as u32).or_insert(new);
        if !step.taken() {
            known.next = next;
        }
    }

    /// The range of the block `last` at a position, and its sequence.
    pub(crate) fn last(&self, position: u32, last: BlockStep) -> Option<Left> {
        let chain = self.chains.get(position as usize / CHAIN)?;
        let [_, from] = self.blocks.get(&chain.from)?.outcomes;
        let [start, _] = self.blocks.get(&chain.start)?.outcomes;
        let own = self.blocks.get(&(last.id().index() as u32))?;
        let range = own.outcomes[usize::from(last.taken())];
        Some((range, (Some(from.last_address()), start.start)))
    }
}

/// Counts of runs.
#[derive(Clone, Debug)]
pub(crate) struct RunCounts {
    source: u16,
    names: Arc<Mutex<Names>>,
    /// By position: that of the last block, which ends with a branch that was taken. Pairs, and a
    /// table where there are several.
    ended: Vec<(u32, u32)>,
    table: Vec<u64>,
    /// The same of runs that continue elsewhere.
    left: HashMap<u32, u64, BuildHasherDefault<Mix>>,
}

impl RunCounts {
    pub(crate) fn new(
        source: u16,
        names: Arc<Mutex<Names>>,
        ended: Vec<(u32, u32)>,
        left: HashMap<u32, u64, BuildHasherDefault<Mix>>,
    ) -> RunCounts {
        RunCounts { source, names, ended, table: Vec::new(), left }
    }

    /// Whether both have the same numbers.
    pub(crate) fn is_like(&self, other: &RunCounts) -> bool {
        self.source == other.source && Arc::ptr_eq(&self.names, &other.names)
    }

    /// Adds counts with the same numbers.
    pub(crate) fn merge(&mut self, mut later: RunCounts) {
        self.sum();
        self.ended.append(&mut later.ended);
        self.sum();
        self.grow(later.table.len());
        self.table.iter_mut().zip(later.table).for_each(|(sum, count)| *sum += count);
        later.left.into_iter().for_each(|(key, count)| *self.left.entry(key).or_default() += count);
    }

    fn grow(&mut self, len: usize) {
        if self.table.len() < len {
            self.table.resize(len, 0);
        }
    }

    /// Moves all counts to the tables.
    fn sum(&mut self) {
        let most = self.ended.iter().map(|(position, _)| *position as usize + 1).max();
        self.grow(most.unwrap_or(0));
        for (position, count) in std::mem::take(&mut self.ended) {
            if let Some(sum) = self.table.get_mut(position as usize) {
                *sum += u64::from(count);
            }
        }
    }

    /// Adds what was counted to counts of ranges and sequences.
    pub(crate) fn add_to(
        mut self,
        executed: &mut Counts<Executed>,
        following: &mut Counts<Following>,
    ) {
        self.sum();
        let names = lock(&self.names);
        let mut sums = Sums { names: &names, source: self.source, executed, following };
        let mut not_taken = Edges::default();
        let mut ended = self.table.chunks(CHAIN);
        for (n, chain) in names.chains.iter().enumerate() {
            let mut runs = [(0, 0); CHAIN];
            for (run, count) in runs.iter_mut().zip(ended.next().unwrap_or_default()) {
                run.0 = *count;
            }
            let positions = (n * CHAIN) as u32..;
            if !self.left.is_empty() {
                for (run, position) in runs.iter_mut().zip(positions) {
                    run.1 = self.left.get(&position).copied().unwrap_or(0);
                }
            }
            sums.chain(chain, &runs, &mut not_taken);
        }
        sums.not_taken(not_taken);
    }
}

/// How often the waypoint of a block was not taken, and the next block followed.
type Edges = HashMap<u32, u64, BuildHasherDefault<Mix>>;

/// Receives what was counted.
struct Sums<'a> {
    names: &'a Names,
    source: u16,
    executed: &'a mut Counts<Executed>,
    following: &'a mut Counts<Following>,
}

impl Sums<'_> {
    /// The runs of a chain: by the number of blocks, those that ended with a branch, and those that
    /// continue elsewhere.
    fn chain(&mut self, chain: &Chain, runs: &[(u64, u64)], not_taken: &mut Edges) -> Option<()> {
        let (source, blocks) = (self.source, &self.names.blocks);
        let mut left = runs.iter().map(|(ended, left)| ended + left).sum::<u64>();
        if left == 0 {
            return None;
        }
        let from = blocks.get(&chain.from)?;
        let start = blocks.get(&chain.start)?;
        self.edge(&from.outcomes[1], start, left);
        let (from, first) = (Some(from.outcomes[1].last_address()), start.outcomes[0].start);
        let (mut number, mut own) = (chain.start, start);
        let skipped = (0..chain.skipped).map(|_| &(0, 0));
        for (ended, continued) in skipped.chain(runs) {
            let (start, last, memory) = (first, own.outcomes[1].last_address(), own.memory);
            if *ended > 0 {
                self.following.add(Following { memory, source, from, start, last }, *ended);
            }
            left -= ended + continued;
            if left == 0 {
                break;
            }
            *not_taken.entry(number).or_default() += left;
            number = own.next?;
            own = blocks.get(&number)?;
        }
        Some(())
    }

    fn not_taken(&mut self, not_taken: Edges) {
        for (number, count) in not_taken {
            let own = self.names.blocks.get(&number);
            let next = own.and_then(|own| self.names.blocks.get(&own.next?));
            if let Some((own, next)) = own.zip(next) {
                self.edge(&own.outcomes[0], next, count);
            }
        }
    }

    fn edge(&mut self, range: &Range, next: &Named, count: u64) {
        let Range { start, bytes, instructions, last, .. } = *range;
        let (source, memory, next) = (self.source, next.memory, Some(next.outcomes[0].start));
        let executed = Executed { memory, source, start, bytes, instructions, last, next };
        self.executed.add(executed, count);
    }
}
