//! Counts of ranges by the path to them: what is counted for a range is one number.
//!
//! A node is a range that was executed after the node before it: after a branch that was taken, the
//! range before it matters only; otherwise all ranges since that branch do. From the counts of the
//! nodes follow the counts of ranges, of branches, and of sequences.

use std::collections::HashMap;

use tracewright_base::{Counted, Range};
use tracewright_image::MemoryId;

use crate::raw_profile::{Executed, Following, RawProfile, branches};

/// No node.
pub(crate) const NONE: u32 = u32::MAX;

/// Slots for recent look-ups, a power of two.
const RECENT: usize = 1 << 13;
/// The most nodes. Beyond them the counts are taken out, and the nodes made anew.
const MAX_NODES: usize = 1 << 20;

/// A range with its path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub(crate) range: Range,
    pub(crate) memory: MemoryId,
    source: u16,
    /// The node before; [`NONE`] where it is not known what precedes the range.
    before: u32,
    /// The node that later ones follow: after a branch that was taken, the first with this range.
    link: u32,
    /// Executions.
    count: u64,
    /// Executions that were counted before, except for what follows them: 1 for the last range of a
    /// source when the nodes were made anew, less those of which it is known.
    earlier: u64,
    /// Executions after which it is not known what follows.
    ended: u64,
    /// The branch before the sequence, and the first address of the sequence.
    pub(crate) from: Option<u64>,
    pub(crate) start: u64,
}

/// A recent look-up: the node before, the range, and the node.
#[derive(Clone, Copy, Debug)]
struct Recent {
    start: u64,
    before: u32,
    word: u32,
    bytes: u32,
    node: u32,
}

const FREE: Recent = Recent { start: 0, before: NONE, word: 0, bytes: 0, node: NONE };

/// Memory, source, node before, and the range without its cycles.
type Key = (MemoryId, u16, u32, u64, u32, u32);

/// The nodes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Paths {
    nodes: Vec<Node>,
    recent: Vec<Recent>,
    known: HashMap<Key, u32>,
    saturated: bool,
}

impl Paths {
    /// The node of `range` after `before`, in memory `memory` of `source`. It is counted.
    #[inline]
    pub(crate) fn execute(
        &mut self,
        before: u32,
        range: &Range,
        memory: MemoryId,
        source: u16,
        times: u64,
    ) -> u32 {
        let link = self.nodes.get(before as usize).map_or(NONE, |node| node.link);
        let word = range.last.word();
        let node = match self.recent.get(slot(link, range.start, word)) {
            // The node before has the memory and the source.
            Some(recent)
                if recent.start == range.start
                    && (recent.before, recent.word, recent.bytes) == (link, word, range.bytes)
                    && link != NONE =>
            {
                recent.node
            }
            _ => self.find(link, range, memory, source),
        };
        if let Some(found) = self.nodes.get_mut(node as usize) {
            match found.count.checked_add(times) {
                Some(count) => found.count = count,
                None => (found.count, self.saturated) = (u64::MAX, true),
            }
        }
        node
    }

    /// Finds or makes a node.
    #[cold]
    fn find(&mut self, link: u32, range: &Range, memory: MemoryId, source: u16) -> u32 {
        let word = range.last.word();
        let key = (memory, source, link, range.start, word, range.bytes);
        let new = self.nodes.len() as u32;
        let node = *self.known.entry(key).or_insert(new);
        if node == new {
            let (from, start) = match self.nodes.get(link as usize) {
                None => (None, range.start),
                Some(last) if branches(last.range.last) => {
                    (Some(last.range.last_address()), range.start)
                }
                Some(last) => (last.from, last.start),
            };
            // All paths to a branch that was taken continue as one.
            let link_of = match branches(range.last) {
                true => *self
                    .known
                    .entry((memory, source, NONE - 1, range.start, word, range.bytes))
                    .or_insert(new),
                false => new,
            };
            let range = Range { cycles: Counted::UNKNOWN, ..*range };
            self.nodes.push(Node {
                range,
                memory,
                source,
                before: link,
                link: link_of,
                count: 0,
                earlier: 0,
                ended: 0,
                from,
                start,
            });
        }
        if self.recent.is_empty() {
            self.recent = vec![FREE; RECENT];
        }
        if let Some(recent) = self.recent.get_mut(slot(link, range.start, word)) {
            *recent = Recent { start: range.start, before: link, word, bytes: range.bytes, node };
        }
        node
    }

    /// The node with this number.
    pub(crate) fn get(&self, node: u32) -> Option<&Node> {
        self.nodes.get(node as usize)
    }

    /// It is not known what follows `node`.
    pub(crate) fn end(&mut self, node: u32, times: u64) {
        if let Some(node) = self.nodes.get_mut(node as usize) {
            node.ended = node.ended.saturating_add(times);
        }
    }

    /// The last range of `node` had another outcome. Returns the node with that outcome.
    pub(crate) fn correct(&mut self, node: u32, taken: bool) -> u32 {
        let Some(own) = self.nodes.get_mut(node as usize) else { return node };
        let (before, memory, source) = (own.before, own.memory, own.source);
        let range = Range { last: own.range.last.with_taken(taken), ..own.range };
        if own.earlier > 0 {
            own.earlier -= 1;
            let sequence = (own.from, own.start);
            return self.resume(&range, memory, source, sequence);
        }
        own.count = own.count.saturating_sub(1);
        let corrected = self.find(before, &range, memory, source);
        if let Some(node) = self.nodes.get_mut(corrected as usize) {
            node.count = node.count.saturating_add(1);
        }
        corrected
    }

    /// A node for a range that was executed once and is counted, except for what follows it. The
    /// sequence began earlier.
    pub(crate) fn resume(
        &mut self,
        range: &Range,
        memory: MemoryId,
        source: u16,
        sequence: (Option<u64>, u64),
    ) -> u32 {
        let node = self.nodes.len() as u32;
        let (from, start) = sequence;
        self.nodes.push(Node {
            range: *range,
            memory,
            source,
            before: NONE,
            link: node,
            count: 0,
            earlier: 1,
            ended: 0,
            from,
            start,
        });
        node
    }

    /// Whether the nodes should be made anew.
    pub(crate) fn is_full(&self) -> bool {
        self.nodes.len() >= MAX_NODES
    }

    /// Adds all counts to `raw`, without what follows the last execution of each of `pending`, and
    /// removes the nodes.
    pub(crate) fn take_into(&mut self, raw: &mut RawProfile, pending: &[u32]) {
        for (n, node) in (0..).zip(&self.nodes) {
            let open = pending.iter().filter(|pending| **pending == n).count() as u64;
            self.add(node, open, raw);
        }
        raw.saturated |= self.saturated;
        self.nodes.clear();
        self.known.clear();
        self.recent.fill(FREE);
        self.saturated = false;
    }

    /// Adds what follows from the counts of a node, of which it is not known yet what follows the
    /// last `open` executions.
    fn add(&self, node: &Node, open: u64, raw: &mut RawProfile) {
        let executed = |node: &Node, next| {
            let Range { start, bytes, instructions, last, .. } = node.range;
            let (memory, source) = (node.memory, node.source);
            Executed { memory, source, start, bytes, instructions, last, next }
        };
        if node.ended > 0 {
            raw.executed.add(executed(node, None), node.ended);
        }
        if node.count > 0
            && let Some(before) = self.nodes.get(node.before as usize)
        {
            raw.executed.add(executed(before, Some(node.range.start)), node.count);
        }
        let ends = match branches(node.range.last) {
            true => node.count.saturating_add(node.earlier).saturating_sub(open),
            false => node.ended,
        };
        if ends > 0 {
            let (from, start) = (node.from, node.start);
            let (memory, source) = (node.memory, node.source);
            let last = node.range.last_address();
            raw.following.add(Following { memory, source, from, start, last }, ends);
        }
        let all = u64::from(node.range.instructions).saturating_mul(node.count);
        raw.instructions = raw.instructions.saturating_add(all);
    }
}

/// The slot of a look-up.
#[inline]
fn slot(link: u32, start: u64, word: u32) -> usize {
    let mixed = (start >> 1 ^ u64::from(link) << 32 ^ u64::from(word) << 20)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 40) as usize & (RECENT - 1)
}
