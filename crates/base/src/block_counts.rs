//! Counts of executed cached blocks: an addition for each block instead of a range.

use alloc::sync::Weak;
use alloc::vec::Vec;

use crate::cached_block::{BlockId, CachedBlock, CachedBlocks};
use crate::numbering::Numbering;
use crate::range::Range;

/// A range, the address that was executed after it, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedEdge {
    /// The range.
    pub range: Range,
    /// The start of the range after it.
    pub to: u64,
    /// How often both were executed in this order.
    pub count: u64,
}

/// No block.
const NONE: u32 = u32::MAX;
/// The slots of recent jumps, a power of two.
const JUMPS: usize = 1 << 14;
/// The most counts that are stored for jumps without a slot. Further ones are not counted.
const MAX_SPILLED: usize = 1 << 18;

/// How often each cached block was executed, and what followed it.
///
/// A block and the outcome of its waypoint have a counter, by the number of the block, where its
/// successor follows. Where execution gets to another block by an address of the trace or a return,
/// both numbers are looked up. The addresses are recorded at the first execution, so that the
/// counts can be taken when the blocks have other numbers.
#[derive(Clone, Debug, Default)]
pub struct BlockCounts {
    /// That of the blocks.
    numbering: Weak<()>,
    /// For each block whose waypoint did not take effect, and did, the number of executions and 1;
    /// 0 where there is no record in `edges`.
    counters: Vec<[u32; 2]>,
    /// The number of the block and what follows it, without the count.
    edges: Vec<(BlockId, CountedEdge)>,
    /// Recent jumps: a direct-mapped table. Empty until there is a jump.
    jumps: Vec<Jump>,
    /// What each jump is, without the count.
    jump_edges: Vec<CountedEdge>,
    /// Counts of jumps that others have replaced, and those that have become too large.
    spilled: Vec<CountedEdge>,
}

/// How often one block was executed after another.
#[derive(Clone, Copy, Debug)]
struct Jump {
    /// The number of the first block, and in bit 0 the outcome; [`NONE`] in a free slot.
    from: u32,
    to: u32,
    count: u32,
}

const FREE: Jump = Jump { from: NONE, to: NONE, count: 0 };

impl BlockCounts {
    /// Prepares the counts for `blocks`. If these have other numbers than those that were counted,
    /// the counts are taken before.
    pub fn prepare(&mut self, blocks: &CachedBlocks<'_>, each: impl FnMut(&CountedEdge)) {
        if !blocks.numbering().is_some_and(|numbering| numbering.is(&self.numbering)) {
            self.take(each);
            self.counters.clear();
            self.edges.clear();
            self.jumps.fill(FREE);
            self.numbering = blocks.numbering().map(Numbering::downgrade).unwrap_or_default();
        }
        if self.counters.len() < blocks.all().len() {
            self.counters.resize(blocks.all().len(), [0; 2]);
        }
    }

    /// Takes all counts, each edge once or more often.
    pub fn take(&mut self, mut each: impl FnMut(&CountedEdge)) {
        for (block, edge) in &self.edges {
            if let Some(counters) = self.counters.get_mut(block.index())
                && let counter = &mut counters[usize::from(edge.range.taken())]
                && *counter > 1
            {
                each(&CountedEdge { count: u64::from(*counter - 1), ..*edge });
                *counter = 1;
            }
        }
        for (jump, edge) in self.jumps.iter_mut().zip(&self.jump_edges) {
            if jump.count > 0 {
                each(&CountedEdge { count: u64::from(core::mem::take(&mut jump.count)), ..*edge });
            }
        }
        self.spilled.drain(..).for_each(|edge| each(&edge));
    }

    /// The counters of all blocks, by their numbers. A decoder adds 1 for each block that it
    /// executes, to the counter of the outcome. If the result is less than 2, it passes the counter
    /// to [`first`](BlockCounts::first).
    #[inline]
    pub fn take_counters(&mut self) -> Vec<[u32; 2]> {
        core::mem::take(&mut self.counters)
    }

    /// Takes the counters back.
    #[inline]
    pub fn return_counters(&mut self, counters: Vec<[u32; 2]>) {
        self.counters = counters;
    }

    /// The counter of a block that was 0 or is too large, after `times` further executions.
    #[cold]
    #[inline(never)]
    pub fn first(
        &mut self,
        counter: u32,
        (id, taken): (BlockId, bool),
        times: u32,
        blocks: &CachedBlocks<'_>,
    ) -> u32 {
        let to = blocks.next(id, taken);
        match edge(id, taken, to, blocks) {
            // The walk stops here, or a jump follows, which is counted. After an indirect branch it
            // always does: a counter that is not 0 is not passed to this function.
            None => u32::from(
                blocks.get(id).is_some_and(|(b, _)| taken && b.is_any_of(CachedBlock::INDIRECT)),
            ),
            Some(edge) if counter == 0 => {
                self.edges.push((id, edge));
                times + 1
            }
            Some(edge) => {
                self.spilled.push(CountedEdge { count: u64::from(counter - 1), ..edge });
                times + 1
            }
        }
    }

    /// `to` was executed after `from`, whose waypoint took effect if `taken`. Returns `false` if
    /// that was not counted.
    #[inline(always)]
    pub fn jump(
        &mut self,
        (from, taken): (BlockId, bool),
        to: BlockId,
        blocks: &CachedBlocks<'_>,
    ) -> bool {
        let (own, its) = (from.index() as u32 * 2 + u32::from(taken), to.index() as u32);
        if let Some(jump) = self.jumps.get_mut(slot(own, its))
            && (jump.from, jump.to) == (own, its)
            && let Some(count) = jump.count.checked_add(1)
        {
            jump.count = count;
            return true;
        }
        self.other_jump((from, taken), to, blocks)
    }

    #[cold]
    #[inline(never)]
    fn other_jump(
        &mut self,
        (from, taken): (BlockId, bool),
        to: BlockId,
        blocks: &CachedBlocks<'_>,
    ) -> bool {
        if self.jumps.is_empty() {
            let Some(any) = edge(from, taken, to, blocks) else { return false };
            self.jumps.resize(JUMPS, FREE);
            self.jump_edges.resize(JUMPS, any);
        }
        let (own, its) = (from.index() as u32 * 2 + u32::from(taken), to.index() as u32);
        let n = slot(own, its);
        if let Some(edge) = edge(from, taken, to, blocks)
            && let Some(jump) = self.jumps.get_mut(n)
            && let Some(known) = self.jump_edges.get_mut(n)
            && self.spilled.len() < MAX_SPILLED
        {
            if jump.count > 0 {
                self.spilled.push(CountedEdge { count: jump.count.into(), ..*known });
            }
            *jump = Jump { from: own, to: its, count: 1 };
            *known = edge;
            return true;
        }
        false
    }
}

/// What leads from one block to another.
fn edge(from: BlockId, taken: bool, to: BlockId, blocks: &CachedBlocks<'_>) -> Option<CountedEdge> {
    let (cached, class) = blocks.get(from)?;
    let (next, its) = blocks.get(to)?;
    Some(CountedEdge { range: cached.range(class, taken), to: next.start(its), count: 0 })
}

#[inline]
const fn slot(from: u32, to: u32) -> usize {
    let both = (from as u64) << 32 | to as u64;
    (both.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize & (JUMPS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cached_block::{BLOCK_CLASSES, BlockClass, CodeSpace, Successors};
    use crate::code::Block;
    use crate::instruction::{Instruction, Kind, Role};
    use crate::isa::Isa;

    /// A loop of two blocks, and how often an edge from each was counted.
    #[test]
    fn counts_larger_than_a_counter_and_of_other_numbers() {
        let block = |start, role| {
            let last = Instruction {
                kind: Kind::Branch,
                role,
                size: 4,
                isa: Isa::A64,
                ..Instruction::default()
            };
            Block { start, bytes: 8, instructions: 2, last, ..Block::default() }
        };
        let all = [block(0x100, Role::Jump), block(0x200, Role::Call)];
        let mut classes = alloc::vec![BlockClass::NONE; BLOCK_CLASSES];
        let cached: Vec<CachedBlock> = all
            .iter()
            .enumerate()
            .map(|(n, block)| {
                classes[n] = BlockClass::of(block, CodeSpace(3));
                CachedBlock::new(block, n).expect("a short block")
            })
            .collect();
        let id = BlockId::new;
        let successors: [Successors; 2] = [[BlockId::NONE, id(1)], [id(0).behind_call(), id(0)]];
        let classes = classes.first_chunk().expect("all classes");
        let (one, other) = (Numbering::default(), Numbering::default());
        let blocks = CachedBlocks::new(&cached, &successors, classes);
        let mut counts = BlockCounts::default();
        counts.prepare(&blocks.with_numbering(&one), |edge| panic!("{edge:?}"));
        let mut counters = counts.take_counters();
        counters[0][1] = counts.first(0, (id(0), true), 1, &blocks);
        // One less than the most, and two more.
        counters[0][1] = counts.first(u32::MAX, (id(0), true), 2, &blocks);
        // The next block is not known.
        assert_eq!(counts.first(0, (id(0), false), 1, &blocks), 0);
        assert_eq!(counts.first(0, (id(1), false), 1, &blocks), 0);
        counts.return_counters(counters);
        for _ in 0..3 {
            assert!(counts.jump((id(1), true), id(1), &blocks));
        }
        let mut found = Vec::new();
        counts.prepare(&blocks.with_numbering(&one), |edge| panic!("{edge:?}"));
        counts.prepare(&blocks.with_numbering(&other), |e| {
            found.push((e.range.start, e.to, e.count))
        });
        found.sort_unstable();
        let want = [(0x100, 0x200, 2), (0x100, 0x200, u64::from(u32::MAX) - 1), (0x200, 0x200, 3)];
        assert_eq!(found, want);
        counts.take(|edge| panic!("{edge:?}"));
        // A clone of a table is another one.
        counts.prepare(&blocks.with_numbering(&one), |_| ());
        counts.return_counters(alloc::vec![[0, 2]; 2]);
        assert!(counts.jump((id(0), true), id(0), &blocks));
        let mut taken = 0;
        counts.prepare(&blocks.with_numbering(&one.clone()), |_| taken += 1);
        assert_eq!(taken, 1);
    }
}
