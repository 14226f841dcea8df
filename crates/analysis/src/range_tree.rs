//! Counts of ranges by the path to each of them: what is counted for a range is one number.
//!
//! A node is a range that was executed after the node before it: after a branch that was taken, the
//! range before it matters only; otherwise all ranges since that branch do. From the counts of the
//! nodes follow the counts of ranges, of branches, and of sequences.
//!
//! Each node has the nodes that were last found after it, so that a range takes one comparison and
//! one addition. What is needed for that is in 32 bytes.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use tracewright_base::{Counted, Range, mix};
use tracewright_image::MemoryId;

use crate::counts::Mix;
use crate::executed::{Executed, Following, branches};
use crate::raw_profile::RawProfile;

/// No node.
pub(crate) const NONE: u32 = u32::MAX;

/// Slots for recent look-ups, a power of two.
const RECENT: usize = 1 << 15;
/// The most nodes. Beyond them the counts are taken out, and the nodes made anew.
const MAX_NODES: usize = 1 << 21;

/// The range of a node without what follows from these fields, and its count.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Node {
    start: u64,
    /// Executions since the counts were taken.
    count: u64,
    /// The last instruction.
    word: u32,
    bytes: u32,
    /// The nodes that were last found after this one: of a range whose waypoint took no effect, and
    /// of one whose waypoint did.
    next: [u32; 2],
}

const _: () = assert!(size_of::<Node>() == 32);

/// What else belongs to a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    pub(crate) range: Range,
    pub(crate) memory: MemoryId,
    source: u16,
    /// The node before; [`NONE`] where it is not known what precedes the range.
    before: u32,
    /// The node that later ones follow: after a branch that was taken, the first with this range.
    link: u32,
    /// Executions that were counted before, except for what follows them: 1 for the last range of a
    /// source when the counts were taken, less those of which it is known.
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

/// The branch before a sequence, and its first address.
type Sequence = (Option<u64>, u64);

/// The nodes.
#[derive(Clone, Debug, Default)]
pub(crate) struct RangeTree {
    nodes: Vec<Node>,
    /// That of each node.
    paths: Vec<Path>,
    recent: Vec<Recent>,
    known: HashMap<Key, u32, BuildHasherDefault<Mix>>,
    /// Those that [`resume`](RangeTree::resume) makes.
    resumed: HashMap<(Key, Sequence), u32, BuildHasherDefault<Mix>>,
    /// The nodes with counts that were not taken.
    counted: Vec<u32>,
    saturated: bool,
}

impl RangeTree {
    /// The node of `range` after `before`. It is counted. `origin` has the memory and the source,
    /// which are those of `before` where there is one.
    #[inline(always)]
    pub(crate) fn execute(
        &mut self,
        before: u32,
        range: &Range,
        times: u64,
        origin: impl FnOnce() -> (MemoryId, u16),
    ) -> u32 {
        let taken = usize::from(range.taken());
        let node = self.nodes.get(before as usize).map_or(NONE, |node| node.next[taken]);
        if let Some(found) = self.nodes.get_mut(node as usize)
            && found.start == range.start
            && (found.word, found.bytes) == (range.last.word(), range.bytes)
        {
            if found.count != 0
                && let Some(count) = found.count.checked_add(times)
            {
                found.count = count;
            } else {
                self.count(node, times);
            }
            return node;
        }
        let (memory, source) = origin();
        self.execute_other(before, range, times, memory, source)
    }

    /// As [`execute`](Self::execute), where another node was found last.
    #[cold]
    #[inline(never)]
    fn execute_other(
        &mut self,
        before: u32,
        range: &Range,
        times: u64,
        memory: MemoryId,
        source: u16,
    ) -> u32 {
        let node = self.find(before, range, memory, source);
        let taken = usize::from(range.taken());
        if let Some(before) = self.nodes.get_mut(before as usize) {
            before.next[taken] = node;
        }
        self.count(node, times);
        node
    }

    /// Adds to the count of a node.
    #[cold]
    #[inline(never)]
    pub(crate) fn count(&mut self, node: u32, times: u64) {
        let Some(found) = self.nodes.get_mut(node as usize) else { return };
        if found.count == 0 {
            self.counted.push(node);
        }
        match found.count.checked_add(times) {
            Some(count) => found.count = count,
            None => (found.count, self.saturated) = (u64::MAX, true),
        }
    }

    /// Finds or makes a node.
    fn find(&mut self, before: u32, range: &Range, memory: MemoryId, source: u16) -> u32 {
        let word = range.last.word();
        if let Some(recent) = self.recent.get(slot(before, range.start, word))
            && recent.start == range.start
            && (recent.before, recent.word, recent.bytes) == (before, word, range.bytes)
            && before != NONE
        {
            // The node before has the memory and the source.
            return recent.node;
        }
        let link = self.paths.get(before as usize).map_or(NONE, |path| path.link);
        let key = (memory, source, link, range.start, word, range.bytes);
        let new = self.nodes.len() as u32;
        let node = *self.known.entry(key).or_insert(new);
        if node == new {
            let (from, start) = match self.paths.get(link as usize) {
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
            self.push(Path {
                range,
                memory,
                source,
                before: link,
                link: link_of,
                earlier: 0,
                ended: 0,
                from,
                start,
            });
        }
        if self.recent.is_empty() {
            self.recent = vec![FREE; RECENT];
        }
        if let Some(recent) = self.recent.get_mut(slot(before, range.start, word)) {
            *recent = Recent { start: range.start, before, word, bytes: range.bytes, node };
        }
        node
    }

    fn push(&mut self, path: Path) {
        let Range { start, bytes, last, .. } = path.range;
        self.nodes.push(Node { start, count: 0, word: last.word(), bytes, next: [NONE; 2] });
        self.paths.push(path);
    }

    /// The path to a node.
    pub(crate) fn get(&self, node: u32) -> Option<&Path> {
        self.paths.get(node as usize)
    }

    /// It is not known what follows `node`.
    pub(crate) fn end(&mut self, node: u32, times: u64) {
        if let Some(path) = self.paths.get_mut(node as usize) {
            if path.ended == 0 {
                self.counted.push(node);
            }
            path.ended = path.ended.saturating_add(times);
        }
    }

    /// The last range of `node` had another outcome. Returns the node with that outcome.
    pub(crate) fn correct(&mut self, node: u32, taken: bool) -> u32 {
        let n = node as usize;
        let (Some(found), Some(own)) = (self.nodes.get_mut(n), self.paths.get_mut(n)) else {
            return node;
        };
        let (before, memory, source) = (own.before, own.memory, own.source);
        let range = Range { last: own.range.last.with_taken(taken), ..own.range };
        if found.count == 0 {
            // Its last execution is an earlier one.
            own.earlier = own.earlier.saturating_sub(1);
            let sequence = (own.from, own.start);
            return self.resume(&range, memory, source, sequence);
        }
        found.count = found.count.saturating_sub(1);
        let corrected = self.find(before, &range, memory, source);
        self.count(corrected, 1);
        corrected
    }

    /// A node for a range that was executed once and is counted, except for what follows it. The
    /// sequence began earlier.
    pub(crate) fn resume(
        &mut self,
        range: &Range,
        memory: MemoryId,
        source: u16,
        sequence: Sequence,
    ) -> u32 {
        let new = self.nodes.len() as u32;
        let key = (memory, source, NONE, range.start, range.last.word(), range.bytes);
        let node = *self.resumed.entry((key, sequence)).or_insert(new);
        if node == new {
            let ((from, start), range) = (sequence, *range);
            let (before, link, earlier, ended) = (NONE, node, 0, 0);
            self.push(Path { range, memory, source, before, link, earlier, ended, from, start });
        }
        if let Some(path) = self.paths.get_mut(node as usize) {
            if path.earlier == 0 {
                self.counted.push(node);
            }
            path.earlier = path.earlier.saturating_add(1);
        }
        node
    }

    /// Whether the nodes should be made anew.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.nodes.len() >= MAX_NODES
    }

    /// Adds all counts to `raw`, without what follows the last execution of each of `pending`, of
    /// which it is not known yet.
    pub(crate) fn take_into(&mut self, raw: &mut RawProfile, pending: &[u32]) {
        let mut counted = std::mem::take(&mut self.counted);
        for n in counted.drain(..) {
            let open = pending.iter().filter(|pending| **pending == n).count() as u64;
            self.add(n, open, raw);
        }
        counted.extend(pending.iter().filter(|pending| (**pending as usize) < self.nodes.len()));
        self.counted = counted;
        raw.saturated |= self.saturated;
        self.saturated = false;
    }

    /// Drops all counts.
    pub(crate) fn reset(&mut self) {
        for n in std::mem::take(&mut self.counted) {
            if let Some(node) = self.nodes.get_mut(n as usize) {
                node.count = 0;
            }
            if let Some(path) = self.paths.get_mut(n as usize) {
                (path.earlier, path.ended) = (0, 0);
            }
        }
        self.saturated = false;
    }

    /// Removes all nodes.
    pub(crate) fn clear(&mut self) {
        self.nodes.clear();
        self.paths.clear();
        self.known.clear();
        self.resumed.clear();
        self.recent.fill(FREE);
        self.counted.clear();
        self.saturated = false;
    }

    /// Adds what follows from the counts of node `n`, and sets them to zero. It is not known yet
    /// what follows the last `open` executions.
    fn add(&mut self, n: u32, open: u64, raw: &mut RawProfile) {
        let executed = |path: &Path, next| {
            let Range { start, bytes, instructions, last, .. } = path.range;
            let (memory, source) = (path.memory, path.source);
            Executed { memory, source, start, bytes, instructions, last, next }
        };
        let n = n as usize;
        let (Some(node), Some(path)) = (self.nodes.get_mut(n), self.paths.get_mut(n)) else {
            return;
        };
        let count = std::mem::take(&mut node.count);
        let ended = std::mem::take(&mut path.ended);
        let earlier = std::mem::replace(&mut path.earlier, open);
        let path = *path;
        if ended > 0 {
            raw.executed.add(executed(&path, None), ended);
        }
        if count > 0
            && let Some(before) = self.paths.get(path.before as usize)
        {
            raw.executed.add(executed(before, Some(path.range.start)), count);
        }
        let ends = match branches(path.range.last) {
            true => count.saturating_add(earlier).saturating_sub(open),
            false => ended,
        };
        if ends > 0 {
            let Path { from, start, memory, source, .. } = path;
            let last = path.range.last_address();
            raw.following.add(Following { memory, source, from, start, last }, ends);
        }
    }
}

/// The slot of a look-up.
#[inline]
fn slot(before: u32, start: u64, word: u32) -> usize {
    let mixed = mix(start >> 1 ^ u64::from(before) << 32 ^ u64::from(word) << 20);
    (mixed >> 40) as usize & (RECENT - 1)
}
