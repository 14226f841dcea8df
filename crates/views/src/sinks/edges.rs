//! Control-flow edges and their counts.

use tracewright_base::{CountedEdge, Element, Range, Role};
use tracewright_decode::{CountEdges, Listener, Merge};

use super::chain::Chains;
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
    /// A hash table with linear probing: its size is a power of two, and at most half of it is
    /// used.
    table: Vec<Edge>,
    used: usize,
}

impl Edges {
    /// The number of different edges.
    pub const fn len(&self) -> usize {
        self.used
    }

    /// There are no edges.
    pub const fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// All edges, by their addresses.
    pub fn sorted(&self) -> Vec<Edge> {
        let mut edges: Vec<Edge> = self.table.iter().copied().filter(|e| e.count > 0).collect();
        edges.sort_unstable();
        edges
    }

    /// The count of the edge from `from` to `to`.
    pub fn count(&self, from: u64, to: u64) -> u64 {
        self.slot(from, to).and_then(|n| self.table.get(n)).map_or(0, |edge| edge.count)
    }

    /// The slot of an edge, or the slot where it belongs. `None` for an empty table.
    #[inline]
    fn slot(&self, from: u64, to: u64) -> Option<usize> {
        let mask = self.table.len().checked_sub(1)?;
        let mut n = mix(from, to) as usize & mask;
        loop {
            let edge = self.table.get(n)?;
            if edge.count == 0 || edge.from == from && edge.to == to {
                return Some(n);
            }
            n = (n + 1) & mask;
        }
    }

    #[inline]
    fn add(&mut self, from: u64, to: u64, count: u64) {
        if let Some(edge) = self.slot(from, to).and_then(|n| self.table.get_mut(n))
            && edge.count > 0
        {
            edge.count += count;
            return;
        }
        self.insert(Edge { from, to, count });
    }

    #[cold]
    fn insert(&mut self, edge: Edge) {
        if 2 * (self.used + 1) > self.table.len() {
            let double = (2 * self.table.len()).max(1024);
            let old = std::mem::replace(&mut self.table, vec![Edge::default(); double]);
            for edge in old.into_iter().filter(|edge| edge.count > 0) {
                self.set(edge);
            }
        }
        self.used += 1;
        self.set(edge);
    }

    fn set(&mut self, edge: Edge) {
        if let Some(slot) = self.slot(edge.from, edge.to).and_then(|n| self.table.get_mut(n)) {
            *slot = edge;
        }
    }
}

/// Two values are equal where their edges are.
impl PartialEq for Edges {
    fn eq(&self, other: &Self) -> bool {
        self.chains == other.chains && self.sorted() == other.sorted()
    }
}

impl Listener for Edges {
    const PACKETS: bool = false;
    const BY_SOURCE: bool = true;

    #[inline]
    fn element(&mut self, source: usize, _: u64, element: Element) {
        let edge = self.chains.of(source).and_then(|chain| chain.element(&element));
        if let Some((from, to)) = edge {
            self.add(from, to, 1);
        }
    }

    fn repeat(&mut self, source: usize, at: u64, range: Range, times: u32) {
        self.repeat_path(source, at, &[range], times.into());
    }

    fn repeat_path(&mut self, source: usize, _: u64, ranges: &[Range], times: u64) {
        // After the first turn, each turn has the same edges.
        for times in [times.min(1), times.saturating_sub(1)] {
            for range in ranges.iter().filter(|_| times > 0) {
                let edge = self.chains.of(source);
                let edge = edge.and_then(|chain| chain.element(&Element::Range(*range)));
                if let Some((from, to)) = edge {
                    self.add(from, to, times);
                }
            }
        }
    }
}

impl CountEdges for Edges {
    fn edge(&mut self, edge: &CountedEdge) {
        // No edge leads from an exception return.
        if edge.count > 0 && edge.range.last.role != Role::ExceptionReturn {
            self.add(edge.range.last_address(), edge.to, edge.count);
        }
    }

    fn last(&mut self, source: usize, range: &Range) {
        if let Some(chain) = self.chains.of(source) {
            chain.element(&Element::Range(*range));
        }
    }
}

impl Merge for Edges {
    fn merge(&mut self, later: Self) {
        let mut between = Vec::new();
        self.chains.join(later.chains, |from, to| between.push((from, to)));
        between.into_iter().for_each(|(from, to)| self.add(from, to, 1));
        for edge in later.table.into_iter().filter(|edge| edge.count > 0) {
            self.add(edge.from, edge.to, edge.count);
        }
    }
}
