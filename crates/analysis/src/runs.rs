//! Counts of runs: cached blocks after a branch that was taken, up to the next one.
//!
//! A run is determined by the branch before it, its first block, and its number of blocks, because
//! each of its branches but the last is not taken. So a counter by these three is enough, and one
//! addition counts all blocks of a run. Runs after the same branch with the same first block are in
//! a *chain*: consecutive counters, by the number of blocks.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::{Arc, Mutex, Weak};

use tracewright_base::{BlockStep, CachedBlocks, Numbering, mix};
use tracewright_image::MemoryId;

use crate::counts::Mix;
use crate::executed::branches;
use crate::run_counts::{CHAIN, Chain, Left, Names, RunCounts, lock};

/// The most blocks of a run that are counted here.
const MAX_BLOCKS: u32 = 1 << 10;
/// The most chains. Beyond them the counts are taken out, and the chains made anew.
const MAX_CHAINS: usize = 1 << 20;
/// Slots of branches that were looked up last, a power of two.
const JUMPS: usize = 1 << 14;
/// Steps after which the counters might overflow.
const MAX_STEPS: u64 = 1 << 31;

/// No block that follows.
const NONE: u32 = u32::MAX;
/// In place of a position: that of the chain is not known.
const ANY: u32 = 1;
/// In place of the position of the last step: it is counted elsewhere.
pub(crate) const ELSEWHERE: u32 = 0;

/// What is known of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(8))]
struct Entry {
    /// The index of the step that follows, if its waypoint is not taken; after a branch that was
    /// taken, that which followed last. [`NONE`] if it is not known.
    next: u32,
    /// After a branch that was taken, the first position of the chain from `next` on, or [`ANY`];
    /// otherwise 0.
    chain: u32,
}

const UNKNOWN: Entry = Entry { next: NONE, chain: 0 };

/// A branch that was taken, by the index of its step, the block that followed, and their chain.
#[derive(Clone, Copy, Debug)]
struct Jump {
    from: u32,
    to: u32,
    chain: u32,
}

const FREE: Jump = Jump { from: NONE, to: NONE, chain: 0 };

#[inline]
const fn slot(from: u32, to: u32) -> usize {
    let both = (from as u64) << 32 | to as u64;
    (mix(both) >> 40) as usize & (JUMPS - 1)
}

/// A counter is not 0 any more.
#[cold]
#[inline(never)]
fn first(counted: &mut Vec<u32>, position: u32) {
    counted.push(position);
}

/// The position in a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Position {
    /// The index of the last step.
    last: u32,
    /// Its position; [`ELSEWHERE`] if it was not counted here.
    pub(crate) before: u32,
    /// That of the next step.
    next: u32,
    /// The memory that is executed.
    pub(crate) memory: MemoryId,
}

/// The runs of a source.
#[derive(Clone, Debug, Default)]
pub(crate) struct Runs {
    /// That of the blocks.
    numbering: Weak<()>,
    /// By [`BlockStep::index`].
    entries: Vec<Entry>,
    /// [`CHAIN`] for each chain.
    counters: Vec<u32>,
    /// The counters that are not 0.
    counted: Vec<u32>,
    /// By position, how often runs were continued elsewhere.
    left: HashMap<u32, u64, BuildHasherDefault<Mix>>,
    /// Recent branches. Empty until there is one.
    jumps: Vec<Jump>,
    chains: HashMap<(u32, u32), u32, BuildHasherDefault<Mix>>,
    /// That of the runs of more blocks, by the chain of those with fewer.
    longer: HashMap<u32, u32, BuildHasherDefault<Mix>>,
    /// The number of steps since the counts were taken, at most.
    steps: u64,
    names: Arc<Mutex<Names>>,
}

impl Runs {
    /// Whether `blocks` have the numbers that are known, and there is room for further counts.
    /// Otherwise all is to be [renewed](Self::renew).
    #[inline]
    pub(crate) fn is_ready(&self, blocks: &CachedBlocks<'_>) -> bool {
        blocks.numbering().is_some_and(|numbering| numbering.is(&self.numbering))
            && self.counters.len() < MAX_CHAINS * CHAIN
            && self.steps < MAX_STEPS
    }

    /// Begins with `blocks`. The counts were taken.
    pub(crate) fn renew(&mut self, blocks: &CachedBlocks<'_>) {
        let numbering = blocks.numbering().map(Numbering::downgrade).unwrap_or_default();
        *self = Runs { numbering, ..Runs::default() };
        // No run is in the first chain.
        self.counters.resize(CHAIN, 0);
        lock(&self.names).chains.push(Chain::default());
    }

    /// Prepares for steps of `blocks`, of which there are `steps`.
    #[inline]
    pub(crate) fn prepare(&mut self, blocks: &CachedBlocks<'_>, steps: usize) {
        let len = 2 * blocks.all().len();
        if self.entries.len() < len {
            self.entries.resize(len, UNKNOWN);
        }
        self.steps += steps as u64;
    }

    /// The position after the branch `last`, which was taken and is counted elsewhere.
    pub(crate) fn after(
        &mut self,
        last: BlockStep,
        memory: MemoryId,
        blocks: &CachedBlocks<'_>,
    ) -> Option<Position> {
        let entry = match self.entries.get(last.index()) {
            Some(known) if *known != UNKNOWN => *known,
            _ => self.learn(last, memory, blocks),
        };
        let (last, before, next) = (last.index() as u32, ELSEWHERE, entry.chain);
        (next != 0).then_some(Position { last, before, next, memory })
    }

    /// Counts steps from `position` on. Returns those before which the run leaves the chains.
    pub(crate) fn run<'a>(
        &mut self,
        position: &mut Position,
        steps: &'a [BlockStep],
        blocks: &CachedBlocks<'_>,
    ) -> &'a [BlockStep] {
        let mut left = self.walk(position, steps);
        while let [step, ..] = left {
            if !self.follow(position, *step, blocks) {
                break;
            }
            let others = self.walk(position, left);
            if others.len() == left.len() {
                break;
            }
            left = others;
        }
        let last = BlockStep::from_word(position.last, 0);
        if self.entries.get(last.index()) == Some(&UNKNOWN) {
            self.end_unknown(position, last, blocks);
        }
        left
    }

    /// Counts steps of which all is known. Returns the others.
    #[inline(never)]
    fn walk<'a>(&mut self, at: &mut Position, steps: &'a [BlockStep]) -> &'a [BlockStep] {
        let (entries, counters) = (&mut self.entries[..], &mut self.counters[..]);
        let jumps = &self.jumps[..];
        let Position { mut last, mut before, mut next, .. } = *at;
        let mut entry = entries.get(last as usize).copied().unwrap_or(UNKNOWN);
        let mut left = steps;
        while let [step, others @ ..] = left {
            let index = step.index() as u32;
            if entry.next != index & !1 {
                match jumps.get(slot(last, index >> 1)) {
                    Some(jump) if (jump.from, jump.to) == (last, index >> 1) => next = jump.chain,
                    _ => break,
                }
                if let Some(known) = entries.get_mut(last as usize) {
                    *known = Entry { next: index & !1, chain: next };
                }
            }
            let Some(counter) = counters.get_mut(next as usize) else { break };
            let Some(known) = entries.get(index as usize) else { break };
            if next as usize % CHAIN == CHAIN - 1 {
                break;
            }
            entry = *known;
            // Whether a branch is taken is not predictable: without a branch on that.
            let stays = u32::from(entry.chain == 0);
            if *counter | stays == 0 {
                first(&mut self.counted, next);
            }
            *counter = counter.wrapping_add(1 - stays);
            (last, before, left) = (index, next, others);
            next = entry.chain | (next + 1) & stays.wrapping_neg();
        }
        (at.last, at.before, at.next) = (last, before, next);
        left
    }

    /// Finds the position of `step` after the last one. Returns `false` if the run leaves the
    /// chains.
    #[cold]
    #[inline(never)]
    fn follow(&mut self, at: &mut Position, step: BlockStep, blocks: &CachedBlocks<'_>) -> bool {
        let last = BlockStep::from_word(at.last, 0);
        let mut entry = self.entries.get(last.index()).copied().unwrap_or(UNKNOWN);
        if entry == UNKNOWN {
            entry = self.end_unknown(at, last, blocks);
        }
        let (from, to) = (at.last, step.index() as u32 & !1);
        if entry.chain != 0 {
            let chain = self.chain(from, to >> 1);
            if let Some(known) = self.entries.get_mut(last.index()) {
                *known = Entry { next: to, chain };
            }
            self.jumps.resize(JUMPS, FREE);
            if let Some(jump) = self.jumps.get_mut(slot(from, to >> 1)) {
                *jump = Jump { from, to: to >> 1, chain };
            }
            at.next = chain;
        } else if entry.next != to {
            return false;
        } else if at.next as usize % CHAIN == CHAIN - 1 {
            at.next = self.continued(at.next);
        }
        at.next != 0
    }

    /// Learns what is known of the last step, which was counted as a branch that was not taken.
    #[cold]
    #[inline(never)]
    fn end_unknown(
        &mut self,
        at: &mut Position,
        last: BlockStep,
        blocks: &CachedBlocks<'_>,
    ) -> Entry {
        let entry = self.learn(last, at.memory, blocks);
        if entry.chain != 0 {
            at.next = entry.chain;
            self.count(at.before);
        }
        entry
    }

    fn count(&mut self, position: u32) {
        if let Some(counter) = self.counters.get_mut(position as usize) {
            if *counter == 0 {
                self.counted.push(position);
            }
            *counter += 1;
        }
    }

    /// Learns of a step. Returns [`UNKNOWN`] if it is no branch, but takes effect, or if it is not
    /// known what follows.
    fn learn(&mut self, step: BlockStep, memory: MemoryId, blocks: &CachedBlocks<'_>) -> Entry {
        let Some((cached, class)) = blocks.get(step.id()) else { return UNKNOWN };
        let taken = branches(class.last[usize::from(step.taken())]);
        let next = blocks.next(step.id(), step.taken());
        let number = if next.can_be_next() { Some(next.index() as u32) } else { None };
        let outcomes = [false, true].map(|taken| cached.range(class, taken));
        lock(&self.names).learn(step, outcomes, memory, number.filter(|_| !taken));
        let entry = match (taken, number) {
            (true, _) => Entry { next: NONE, chain: ANY },
            (false, Some(to)) if !step.taken() => Entry { next: to << 1, chain: 0 },
            (false, _) => UNKNOWN,
        };
        if let Some(known) = self.entries.get_mut(step.index()) {
            *known = entry;
        }
        entry
    }

    /// Finds or makes a chain.
    fn chain(&mut self, from: u32, start: u32) -> u32 {
        if let Some(known) = self.chains.get(&(from, start)) {
            return *known;
        }
        let chain = self.add(Chain { from: from >> 1, start, skipped: 0 });
        self.chains.insert((from, start), chain);
        chain
    }

    /// The chain that continues one whose last counter is at `position`; 0 if the run is too long.
    #[cold]
    fn continued(&mut self, position: u32) -> u32 {
        if let Some(known) = self.longer.get(&position) {
            return *known;
        }
        let known = lock(&self.names).chains.get(position as usize / CHAIN).copied();
        let chain = match known {
            Some(chain) if chain.skipped < MAX_BLOCKS => {
                self.add(Chain { skipped: chain.skipped + CHAIN as u32 - 1, ..chain })
            }
            _ => 0,
        };
        self.longer.insert(position, chain);
        chain
    }

    fn add(&mut self, chain: Chain) -> u32 {
        let position = self.counters.len();
        self.counters.resize(position + CHAIN, 0);
        lock(&self.names).chains.push(chain);
        position as u32
    }

    /// The run at `position` is continued elsewhere: the last range, which is executed and counted,
    /// but not what follows it.
    pub(crate) fn leave(&mut self, position: &Position) -> Option<Left> {
        let Position { last, before, .. } = *position;
        let last = BlockStep::from_word(last, 0);
        if self.entries.get(last.index()).is_some_and(|entry| entry.chain != 0)
            && let Some(counter) = self.counters.get_mut(before as usize)
        {
            *counter = counter.saturating_sub(1);
        }
        *self.left.entry(before).or_default() += 1;
        lock(&self.names).last(before, last)
    }

    /// Takes the counts. No run is in progress.
    pub(crate) fn take(&mut self, source: u16) -> Option<RunCounts> {
        self.steps = 0;
        if self.counted.is_empty() && self.left.is_empty() {
            return None;
        }
        let mut counts = Vec::with_capacity(self.counted.len());
        for position in self.counted.drain(..) {
            if let Some(counter) = self.counters.get_mut(position as usize) {
                counts.push((position, std::mem::take(counter)));
            }
        }
        let left = std::mem::take(&mut self.left);
        Some(RunCounts::new(source, Arc::clone(&self.names), counts, left))
    }
}
