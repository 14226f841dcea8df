//! Control-flow edges and their counts.

use tracewright_base::{Batch, Element};
use tracewright_decode::{Listener, Merge, Wants};
use tracewright_scan::prefetch;

use super::chain::Chains;
use super::edge_steps::{self, EdgeCounts, Places};
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
    places: Places,
    table: Table,
}

/// Edges, each at a place that stays.
#[derive(Clone, Debug, Default)]
struct Table {
    edges: Vec<Edge>,
    /// A hash table with linear probing, of places plus 1: its size is a power of two, and at most
    /// half of it is used.
    slots: Vec<u32>,
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
        edges.sort_unstable();
        edges
    }

    /// The count of the edge from `from` to `to`.
    pub fn count(&self, from: u64, to: u64) -> u64 {
        let place = self.table.slot(from, to).and_then(|slot| self.table.place(slot));
        place.and_then(|place| self.table.edges.get(place)).map_or(0, |edge| edge.count)
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

    #[inline(always)]
    fn prefetch(&self, place: u32) {
        prefetch(&self.edges, place as usize);
    }

    #[inline(always)]
    fn add_at(&mut self, place: u32) {
        if let Some(edge) = self.edges.get_mut(place as usize) {
            edge.count += 1;
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
    fn element(&mut self, source: usize, _: u64, element: Element) {
        let edge = self.chains.of(source).and_then(|chain| chain.element(&element));
        if let Some((from, to)) = edge {
            self.table.add(from, to, 1);
        }
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        let Edges { chains, places, table } = self;
        edge_steps::count(batch, chains, places, table);
    }

    fn wants(&self) -> Wants {
        Wants::ANY_ORDER
    }
}

impl Merge for Edges {
    fn merge(&mut self, later: Self) {
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
