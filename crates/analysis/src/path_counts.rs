//! Counts of paths: of the ranges that atoms of a packet execute after a node of a [`RangeTree`].
//!
//! A path after a node always passes the same nodes. While it is executed only the path is counted;
//! the counts of its nodes follow when they are needed.

use tracewright_base::Path;

use crate::range_tree::{NONE, RangeTree};

/// The number of paths, a power of two. A new path replaces another one.
const SLOTS: usize = 1 << 16;
/// The most nodes in all paths. Beyond them the paths are made anew.
const MAX_NODES: usize = 1 << 20;

/// A path and its count, in 32 bytes.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Entry {
    /// [`Path::key`].
    key: (u64, u64),
    /// Executions since the counts were taken.
    count: u64,
    /// The node before the path; [`NONE`] in a free slot.
    before: u32,
    /// Its last node.
    after: u32,
}

const _: () = assert!(size_of::<Entry>() == 32);

const FREE: Entry = Entry { key: (0, 0), count: 0, before: NONE, after: NONE };

/// Paths after the nodes of a tree: a direct-mapped table.
#[derive(Clone, Debug, Default)]
pub(crate) struct PathCounts {
    entries: Vec<Entry>,
    /// The position in `nodes` and the number of the nodes of each entry.
    spans: Vec<(u32, u32)>,
    nodes: Vec<u32>,
    /// The slots whose counts were not taken.
    counted: Vec<u32>,
}

impl PathCounts {
    /// Counts `path` after the node `before`, and returns its last node. `None` if it is not known.
    #[inline]
    pub(crate) fn count(&mut self, before: u32, path: &Path) -> Option<u32> {
        let key = path.key();
        let slot = slot(before, key);
        let entry = self.entries.get_mut(slot)?;
        if entry.key != key || entry.before != before || before == NONE {
            return None;
        }
        if entry.count == 0 {
            self.counted.push(slot as u32);
        }
        entry.count += 1;
        Some(entry.after)
    }

    /// Stores `path` after the node `before`, which passes `nodes` of `tree`.
    pub(crate) fn insert(&mut self, before: u32, path: &Path, nodes: &[u32], tree: &mut RangeTree) {
        let Some(&after) = nodes.last().filter(|_| before != NONE) else { return };
        if self.nodes.len() + nodes.len() > MAX_NODES {
            self.settle(tree);
            self.clear();
        }
        if self.entries.is_empty() {
            self.entries = vec![FREE; SLOTS];
            self.spans = vec![(0, 0); SLOTS];
        }
        let key = path.key();
        let slot = slot(before, key);
        self.settle_slot(slot, tree);
        let span = (self.nodes.len() as u32, nodes.len() as u32);
        if let (Some(entry), Some(own)) = (self.entries.get_mut(slot), self.spans.get_mut(slot)) {
            *entry = Entry { key, count: 0, before, after };
            *own = span;
            self.nodes.extend_from_slice(nodes);
        }
    }

    /// Adds the counts of all paths to those of the nodes.
    pub(crate) fn settle(&mut self, tree: &mut RangeTree) {
        let mut counted = std::mem::take(&mut self.counted);
        for slot in counted.drain(..) {
            self.settle_slot(slot as usize, tree);
        }
        self.counted = counted;
    }

    fn settle_slot(&mut self, slot: usize, tree: &mut RangeTree) {
        let (Some(entry), Some(&(at, len))) = (self.entries.get_mut(slot), self.spans.get(slot))
        else {
            return;
        };
        let count = std::mem::take(&mut entry.count);
        if count > 0 {
            let nodes = self.nodes.get(at as usize..).and_then(|nodes| nodes.get(..len as usize));
            nodes.unwrap_or_default().iter().for_each(|node| tree.count(*node, count));
        }
    }

    /// Drops all counts.
    pub(crate) fn reset(&mut self) {
        for slot in self.counted.drain(..) {
            if let Some(entry) = self.entries.get_mut(slot as usize) {
                entry.count = 0;
            }
        }
    }

    /// Removes all paths.
    pub(crate) fn clear(&mut self) {
        self.entries.fill(FREE);
        self.nodes.clear();
        self.counted.clear();
    }
}

/// The slot of a path.
#[inline]
fn slot(before: u32, (start, atoms): (u64, u64)) -> usize {
    let place = (start ^ u64::from(before) << 36).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = place ^ atoms.wrapping_mul(0xd6e8_feb8_6659_fd93);
    (mixed >> 40) as usize & (SLOTS - 1)
}
