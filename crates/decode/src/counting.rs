//! Counts cached blocks instead of ranges, for listeners that only count.

use std::ops::Range;

use tracewright_base::{
    self as base, BlockCounts, CachedBlocks, CountedEdge, Element, Fault, OffsetMap,
};
use tracewright_frames::{Event, Frame};
use tracewright_protocols::registry::AnyPacket;

use crate::fork::Fork;
use crate::listener::Listener;
use crate::listener::pass_on;
use crate::merge::Merge;

/// A listener that can receive how often a range was executed before another one.
pub trait CountEdges: Listener + Merge {
    /// `edge.range` was executed `edge.count` times, and `edge.to` after it.
    fn edge(&mut self, edge: &CountedEdge);

    /// `range` of `source` was executed, and ranges before it that [`edge`](CountEdges::edge)
    /// states. What follows is an element.
    fn last(&mut self, source: usize, range: &base::Range);
}

/// Both receive everything.
impl<A: CountEdges, B: CountEdges> CountEdges for (A, B) {
    fn edge(&mut self, edge: &CountedEdge) {
        self.0.edge(edge);
        self.1.edge(edge);
    }

    fn last(&mut self, source: usize, range: &base::Range) {
        self.0.last(source, range);
        self.1.last(source, range);
    }
}

/// Counts blocks for a listener. Ranges that are not counted, and all other elements, it receives
/// itself; the counts when the output is taken.
#[derive(Clone, Debug, Default)]
pub struct Counting<L> {
    listener: L,
    /// Of each source.
    counts: Vec<BlockCounts>,
}

impl<L: CountEdges> Counting<L> {
    /// Counts for `listener`.
    pub fn new(listener: L) -> Self {
        Counting { listener, counts: Vec::new() }
    }
}

impl<L: CountEdges> Listener for Counting<L> {
    const PACKETS: bool = L::PACKETS;
    const BY_SOURCE: bool = L::BY_SOURCE;
    const FRAMES: bool = L::FRAMES;
    const COUNTS: bool = true;

    #[inline]
    fn take_counts(&mut self, source: usize, blocks: &CachedBlocks<'_>) -> BlockCounts {
        let mut counts = self.counts.get_mut(source).map(std::mem::take).unwrap_or_default();
        counts.prepare(blocks, |edge| self.listener.edge(edge));
        counts
    }

    #[inline]
    fn counted(&mut self, source: usize, counts: BlockCounts, _: u64, last: Option<base::Range>) {
        if source >= self.counts.len() {
            self.counts.resize_with(source + 1, BlockCounts::default);
        }
        if let Some(own) = self.counts.get_mut(source) {
            *own = counts;
        }
        if let Some(last) = last {
            self.listener.last(source, &last);
        }
    }

    #[inline]
    fn element(&mut self, source: usize, at: u64, element: Element) {
        self.listener.element(source, at, element);
    }

    #[inline(always)]
    fn cached_range(&mut self, source: usize, at: u64, range: base::Range) {
        self.listener.cached_range(source, at, range);
    }

    #[inline]
    fn repeat(&mut self, source: usize, at: u64, range: base::Range, times: u32) {
        self.listener.repeat(source, at, range, times);
    }

    fn repeat_path(&mut self, source: usize, at: u64, ranges: &[base::Range], times: u64) {
        self.listener.repeat_path(source, at, ranges, times);
    }

    fn repeat_unlisted(&mut self, source: usize, at: u64, ranges: &[base::Range], times: u64) {
        self.listener.repeat_unlisted(source, at, ranges, times);
    }

    fn wants_each_packet(&self) -> bool {
        self.listener.wants_each_packet()
    }

    pass_on!(|this| Some(&mut this.listener));

    fn full(&self) -> bool {
        self.listener.full()
    }
}

/// What a listener received, and the counts.
#[derive(Clone, Debug, Default)]
pub struct Counted<L> {
    listener: L,
    /// Each edge once or more often.
    edges: Vec<CountedEdge>,
}

impl<L: CountEdges> Counted<L> {
    /// Adds all of it to `sum`, the result of what precedes.
    pub fn add_to(self, sum: &mut L) {
        sum.merge(self.listener);
        self.edges.iter().for_each(|edge| sum.edge(edge));
    }
}

impl<L: CountEdges + Send> Fork for Counting<L> {
    type State = ();
    type Output = Counted<L>;
    const GROWS: bool = false;

    fn fork(&self) -> Self {
        Counting::new(L::default())
    }

    fn state(&self) {}

    fn resume(&mut self, (): ()) {
        for counts in &mut self.counts {
            counts.take(|_| ());
        }
        self.listener = L::default();
    }

    fn take(&mut self) -> Counted<L> {
        let mut edges = Vec::new();
        for counts in &mut self.counts {
            counts.take(|edge| edges.push(*edge));
        }
        Counted { listener: std::mem::take(&mut self.listener), edges }
    }
}
