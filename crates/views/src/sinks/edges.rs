//! Control-flow edges and their counts.

use tracewright_base::{Batch, Element};
use tracewright_decode::{Listener, Merge, Wants};
use tracewright_scan::prefetch;

use super::chain::Chains;
use super::edge_steps::{self, EdgeCounts, EdgeSteps, Follower};
use crate::fold::mix;

/// A control-flow edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Edge {
    /// The address of the last instruction of a range: mostly a branch.
    pub from: u64,
    /// The address of the next instruction.
    pub to: u64,
    /// The number of executions.
    pub count: u64,
}

/// Counts the edges of all sources together. Exceptions and exception returns are not edges, and
/// there is no edge across missing information.
#[derive(Clone, Debug, Default)]
pub struct Edges {
    chains: Chains,
    /// With executions that `table` does not have.
    steps: EdgeSteps,
    table: Table,
}

/// Edges, each at a place that stays.
#[derive(Clone, Debug, Default)]
struct Table {
    edges: Vec<Edge>,
    /// A hash table with linear probing, of places plus 1: its size is a power of two, and at most
    /// half of it is used.
    slots: Vec<u32>,
    /// The edges that followers count: source, step, and place.
    counted: Vec<(u32, u32, u32)>,
}

impl Edges {
    /// The number of different edges.
    pub fn len(&self) -> usize {
        self.table.edges.len()
    }

    /// There are no edges.
    pub fn is_empty(&self) -> bool {
        self.table.edges.is_empty()
    }

    /// All edges, by their addresses.
    pub fn sorted(&self) -> Vec<Edge> {
        let mut edges = self.table.edges.clone();
        for (place, count) in self.pending() {
            if let Some(edge) = edges.get_mut(place) {
                edge.count += count;
            }
        }
        edges.sort_unstable();
        edges
    }

    /// The count of the edge from `from` to `to`.
    pub fn count(&self, from: u64, to: u64) -> u64 {
        let place = self.table.slot(from, to).and_then(|slot| self.table.place(slot));
        let counted = place.and_then(|place| self.table.edges.get(place));
        let pending = self.pending().filter(|&(its, _)| Some(its) == place);
        counted.map_or(0, |edge| edge.count) + pending.map(|(_, count)| count).sum::<u64>()
    }

    /// The places of edges that followers count, and these counts.
    fn pending(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.table.counted.iter().filter_map(|&(source, step, place)| {
            let follower = self.steps.followers.get(source as usize, step as usize)?;
            Some((place as usize, follower.count.into()))
        })
    }

    /// Adds the counts of followers to those of the edges.
    #[cold]
    fn settle(&mut self) {
        let Edges { steps, table, .. } = self;
        for (source, step, place) in table.counted.drain(..) {
            if let Some(edge) = table.edges.get_mut(place as usize)
                && let Some(follower) = steps.followers.get_mut(source as usize, step as usize)
            {
                edge.count += u64::from(follower.count);
                *follower = Follower::NONE;
            }
        }
    }
}

impl Table {
    /// The edge at a slot.
    #[inline]
    fn place(&self, slot: usize) -> Option<usize> {
        (self.slots.get(slot).copied()? as usize).checked_sub(1)
    }

    /// The slot of an edge, or the slot where it belongs. `None` for an empty table.
    #[inline]
    fn slot(&self, from: u64, to: u64) -> Option<usize> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut slot = mix(from, to) as usize & mask;
        loop {
            let Some(edge) = self.place(slot).and_then(|place| self.edges.get(place)) else {
                return Some(slot);
            };
            if edge.from == from && edge.to == to {
                return Some(slot);
            }
            slot = (slot + 1) & mask;
        }
    }

    #[cold]
    fn insert(&mut self, edge: Edge) -> u32 {
        self.edges.push(edge);
        if 2 * self.edges.len() > self.slots.len() {
            self.slots = vec![0; (2 * self.slots.len()).max(1024)];
            (0..self.edges.len()).for_each(|place| self.enter(place));
        } else {
            self.enter(self.edges.len() - 1);
        }
        (self.edges.len() - 1) as u32
    }

    fn enter(&mut self, place: usize) {
        if let Some(edge) = self.edges.get(place)
            && let Some(slot) = self.slot(edge.from, edge.to)
            && let Some(slot) = self.slots.get_mut(slot)
        {
            *slot = place as u32 + 1;
        }
    }
}

impl EdgeCounts for Table {
    #[inline]
    fn add(&mut self, from: u64, to: u64, times: u64) -> u32 {
        if let Some(place) = self.slot(from, to).and_then(|slot| self.place(slot))
            && let Some(edge) = self.edges.get_mut(place)
        {
            edge.count += times;
            return place as u32;
        }
        self.insert(Edge { from, to, count: times })
    }

    #[inline]
    fn approach(&self, from: u64, to: u64) {
        prefetch(&self.slots, mix(from, to) as usize & self.slots.len().wrapping_sub(1));
    }

    #[inline]
    fn prefetch(&self, from: u64, to: u64) {
        let slot = mix(from, to) as usize & self.slots.len().wrapping_sub(1);
        if let Some(place) = self.place(slot) {
            prefetch(&self.edges, place);
        }
    }

    fn begin(&mut self, source: usize, step: usize, place: u32) -> u32 {
        self.counted.push((source as u32, step as u32, place));
        0
    }

    #[inline(always)]
    fn again(&mut self, count: &mut u32) -> bool {
        *count = count.wrapping_add(1);
        *count == 0
    }
}

/// Two values are equal where their edges are.
impl PartialEq for Edges {
    fn eq(&self, other: &Self) -> bool {
        self.chains == other.chains && self.sorted() == other.sorted()
    }
}

impl Listener for Edges {
    fn element(&mut self, source: usize, _: u64, element: Element) {
        let edge = self.chains.of(source).and_then(|chain| chain.element(&element));
        if let Some((from, to)) = edge {
            self.table.add(from, to, 1);
        }
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        if !self.steps.followers.are_of(batch.source, &batch.blocks) {
            self.settle();
        }
        let Edges { chains, steps, table } = self;
        edge_steps::count(batch, chains, steps, table);
    }

    fn wants(&self) -> Wants {
        Wants::ANY_ORDER
    }
}

impl Merge for Edges {
    fn merge(&mut self, mut later: Self) {
        later.settle();
        if self.is_empty() {
            self.table = std::mem::take(&mut later.table);
        }
        let mut between = Vec::new();
        self.chains.join(later.chains, |from, to| between.push((from, to)));
        for (from, to) in between {
            self.table.add(from, to, 1);
        }
        for edge in later.table.edges {
            self.table.add(edge.from, edge.to, edge.count);
        }
    }
}

#[cfg(test)]
mod tests {
    use tracewright_base::{BatchBuffer, BlockId, BlockStep, Role};
    use tracewright_testing::Random;

    use super::super::step_tests::Program;
    use super::*;

    /// The count of a follower has 32 bits.
    #[test]
    fn counts_by_step_have_no_limit() {
        // A block that ends with a jump.
        let jumps = |program: &Program, id: usize| {
            let step = BlockStep::new(BlockId::new(id), true, 0);
            (program.range(step).last.role == Role::Jump).then_some(step)
        };
        let program = Program::new(&mut Random::new(1), 24);
        let step = (0..24).find_map(|id| jumps(&program, id)).expect("a jump");
        let mut buffer = BatchBuffer::default();
        for _ in 0..5 {
            buffer.step(0, step.id(), true);
        }
        let mut edges = Edges::default();
        let batch = buffer.batch(0, program.blocks());
        edges.batch(&batch);
        let range = program.range(step);
        let count = |edges: &Edges| edges.count(range.last_address(), range.start);
        assert_eq!(count(&edges), 4);
        edges.batch(&batch);
        assert_eq!(count(&edges), 9);
        let follower = edges.steps.followers.get_mut(0, step.index()).expect("a follower");
        let before = u64::from(std::mem::replace(&mut follower.count, u32::MAX - 1));
        edges.batch(&batch);
        let want = 9 - before + u64::from(u32::MAX - 1) + 5;
        assert_eq!(count(&edges), want);
        let mut all = Edges::default();
        all.merge(edges);
        assert_eq!(all.count(range.last_address(), range.start), want);
    }
}
