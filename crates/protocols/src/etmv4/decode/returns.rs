//! The return stack: the addresses after branches with link. (ETE K10.5.5.3)
//!
//! [`Returns`] is the stack as part of the decoder's state. The fast path pushes and pops
//! [`Calls`], which holds blocks instead of addresses, and hands its entries over before anything
//! else uses the stack.

use tracewright_base::{BlockCache, BlockId, CachedBlocks, Isa, Links, Pc};

use super::lookup::{Set, Sets};

/// How many entries an analyzer has, whatever the depth of the trace unit's own stack is.
const DEPTH: u8 = 15;

/// Slots of the ring, a power of two.
const SLOTS: usize = 16;

/// A return address and its sub-ISA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Return {
    pub(super) address: u64,
    pub(super) is1: bool,
}

impl Return {
    /// The entry that a branch with link at the end of a block pushes.
    #[inline]
    fn after(call: BlockId, blocks: &CachedBlocks<'_>) -> Option<Return> {
        let (call, class) = blocks.get(call)?;
        Some(Return { address: call.end(class), is1: class.isa() == Isa::T32 })
    }
}

/// The analyzer's return stack. A push to a full stack drops the oldest entry, and a Trace Info or
/// a Trace On clears it. The stack may hold other entries that the trace unit has dropped; they do
/// no harm, because the unit omits only addresses that are on its own stack.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Returns {
    /// A ring: the newest entry is at [`index`] of `slot`, older ones are before it. Other slots
    /// are unused.
    entries: [Return; SLOTS],
    slot: u8,
    len: u8,
}

/// The index of a slot in the ring.
#[inline]
const fn index(slot: u8) -> usize {
    slot as usize % SLOTS
}

impl Returns {
    #[inline]
    pub(super) fn push(&mut self, entry: Return) {
        self.slot = self.slot.wrapping_add(1);
        self.len = (self.len + 1).min(DEPTH);
        self.entries[index(self.slot)] = entry;
    }

    /// The newest entry.
    #[inline]
    pub(super) fn top(&self) -> Option<Return> {
        (self.len > 0).then(|| self.entries[index(self.slot)])
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Return> {
        let top = self.top()?;
        self.slot = self.slot.wrapping_sub(1);
        self.len -= 1;
        Some(top)
    }

    /// The entries, the newest first.
    fn iter(&self) -> impl Iterator<Item = Return> {
        (0..self.len).map(|age| self.entries[index(self.slot.wrapping_sub(age))])
    }
}

/// Equal where the entries are; their slots in the ring do not matter.
impl PartialEq for Returns {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl Eq for Returns {}

/// The newest entries of the return stack in the fast path. Each entry is the block that pushed it.
pub(super) struct Calls {
    /// The block that pushed the entry at the same [`index`] of [`Returns`], where it is known.
    /// For an entry that is in [`Returns`] it is a prediction: another block may have pushed it.
    blocks: [BlockId; SLOTS],
    /// The links to the blocks at the return addresses of entries that are not in [`Returns`], as
    /// far as they were known at the push: a pop waits for one load less.
    behind: [u32; SLOTS],
    /// The slot of the newest entry.
    slot: u8,
    /// How many entries are not in [`Returns`].
    pushed: u8,
    /// The maximum of `pushed` since the entries were handed over.
    most: u8,
}

/// The link to the block at the return address of `call`.
#[inline]
fn behind(call: BlockId, links: &[u32]) -> u32 {
    links.get(2 * call.index()).map_or(Links::NONE, |link| link & Links::NONE)
}

impl Calls {
    /// No entries beside those of `returns`.
    pub(super) const fn new(returns: &Returns) -> Calls {
        let (blocks, behind) = ([BlockId::NONE; SLOTS], [Links::NONE; SLOTS]);
        Calls { blocks, behind, slot: returns.slot, pushed: 0, most: 0 }
    }

    /// The block that pushed the newest entry, where it is known.
    #[inline]
    fn newest(&self) -> BlockId {
        self.blocks[index(self.slot)]
    }

    #[inline]
    pub(super) fn push(&mut self, call: BlockId, links: &[u32]) {
        self.slot = self.slot.wrapping_add(1);
        self.blocks[index(self.slot)] = call;
        self.behind[index(self.slot)] = behind(call, links);
        self.pushed = (self.pushed + 1).min(DEPTH);
        self.most = self.most.max(self.pushed);
    }

    /// Pops the newest entry, where it was pushed here and the block at the return address is
    /// known. Returns the link to that block.
    #[inline]
    pub(super) fn pop(&mut self, links: &[u32]) -> u32 {
        if self.pushed == 0 {
            return Links::NONE;
        }
        let mut next = self.behind[index(self.slot)];
        if next == Links::NONE {
            next = behind(self.newest(), links);
        }
        if next != Links::NONE {
            self.slot = self.slot.wrapping_sub(1);
            self.pushed -= 1;
        }
        next
    }

    /// Pops the newest entry of `returns`, where no newer entry is here and the block at the return
    /// address is cached.
    pub(super) fn pop_from<K: BlockCache>(
        &mut self,
        returns: &mut Returns,
        sets: &Sets,
        code: &K,
    ) -> BlockId {
        if self.pushed > 0 {
            return BlockId::NONE;
        }
        let blocks = code.blocks();
        // No entry is handed over, but those that were here may have displaced older ones.
        self.hand_over(returns, &blocks);
        let Some(top) = returns.top() else { return BlockId::NONE };
        let Set { code_space, mask } = sets.get(top.is1);
        let address = top.address & mask;
        let is_there = |&id: &BlockId| {
            blocks.get(id).is_some_and(|(cached, class)| {
                cached.start(class) == address && class.code_space == code_space
            })
        };
        // Most often the block is the one that was at the return address before, or the cached
        // block after the call.
        let call = self.newest();
        let near = [blocks.after_return(call), BlockId::new(call.index().wrapping_add(1))];
        let next =
            near.into_iter().find(is_there).unwrap_or_else(|| code.find(address, code_space));
        if next != BlockId::NONE {
            returns.pop();
            self.follow(returns);
        }
        next
    }

    /// Moves all entries to `returns`: before blocks change, and before the flow uses its stack.
    #[inline]
    pub(super) fn hand_over(&mut self, returns: &mut Returns, blocks: &CachedBlocks<'_>) {
        if self.most == 0 {
            return;
        }
        // When `pushed` was at its maximum, the entries had displaced the oldest ones of `returns`.
        returns.len = returns.len.min(DEPTH.saturating_sub(self.most)) + self.pushed;
        returns.slot = self.slot;
        for age in 0..self.pushed {
            let slot = index(self.slot.wrapping_sub(age));
            returns.entries[slot] = Return::after(self.blocks[slot], blocks).unwrap_or_default();
        }
        (self.pushed, self.most) = (0, 0);
    }

    /// Adopts the state of `returns`, which changed after [`hand_over`](Self::hand_over).
    #[inline]
    pub(super) const fn follow(&mut self, returns: &Returns) {
        self.slot = returns.slot;
    }

    /// The block of the call that returns to `pc`, if that pushed the newest entry.
    pub(super) fn call_before<K: BlockCache>(&self, pc: Pc, code: &K) -> Option<BlockId> {
        let call = self.newest();
        let (cached, class) = code.blocks().get(call)?;
        let code_space = code.code_space(pc.isa, pc.space);
        (cached.end(class) == pc.address && class.code_space == code_space).then_some(call)
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use tracewright_base::{
        BLOCK_CLASSES, Block, BlockClass, CachedBlock, Code, CodeSpace, Instruction, Miss,
        Successors,
    };

    use super::*;
    use crate::ways::Random;

    #[test]
    fn a_push_to_a_full_stack_drops_the_oldest_entry() {
        let mut returns = Returns::default();
        for address in 0..20 {
            returns.push(Return { address, is1: false });
        }
        let mut others = Returns::default();
        for address in 5..20 {
            others.push(Return { address, is1: false });
        }
        assert_eq!(returns, others);
        for address in (5..20).rev() {
            assert_eq!(returns.top(), Some(Return { address, is1: false }));
            assert_eq!(returns.pop(), Some(Return { address, is1: false }));
            assert_ne!(returns, others);
        }
        assert_eq!(returns.pop(), None);
        assert_eq!(returns, Returns::default());
    }

    /// Blocks of [`SIZE`] bytes, one behind the other.
    struct Program {
        blocks: Vec<CachedBlock>,
        successors: Vec<Successors>,
        links: Vec<[u32; 2]>,
        classes: Vec<BlockClass>,
    }

    const SIZE: u64 = 8;
    const SPACE: CodeSpace = CodeSpace(3);

    impl Program {
        /// `len` blocks. Of every third one no successor is known.
        fn new(len: usize) -> Program {
            let last = Instruction { isa: Isa::A64, ..Instruction::default() };
            let block = |start| Block {
                start,
                bytes: SIZE as u32,
                instructions: 2,
                last,
                ..Block::default()
            };
            let blocks = (0..len as u64).map(|n| CachedBlock::new(&block(SIZE * n), 0).unwrap());
            let next =
                |n: usize| if n.is_multiple_of(3) { BlockId::NONE } else { BlockId::new(n + 1) };
            let mut classes = std::vec![BlockClass::NONE; BLOCK_CLASSES];
            classes[0] = BlockClass::of(&block(0), SPACE);
            let (blocks, successors): (Vec<_>, Vec<_>) =
                blocks.zip((0..len).map(|n| [next(n), BlockId::NONE])).unzip();
            let links =
                blocks.iter().zip(&successors).map(|(cached, next)| Links::of(cached, next));
            Program { links: links.collect(), blocks, successors, classes }
        }
    }

    impl Code for Program {
        fn block(&mut self, pc: Pc) -> Result<&Block, Miss> {
            Err(Miss { address: pc.address })
        }

        fn instruction(&mut self, pc: Pc) -> Result<Instruction, Miss> {
            Err(Miss { address: pc.address })
        }
    }

    impl BlockCache for Program {
        fn blocks(&self) -> CachedBlocks<'_> {
            CachedBlocks::new(&self.blocks, &self.successors, self.classes.first_chunk().unwrap())
                .with_links(&self.links)
        }

        fn find(&self, address: u64, code_space: CodeSpace) -> BlockId {
            assert_eq!(code_space, SPACE);
            BlockId::new((address / SIZE) as usize)
        }
    }

    /// Pushes and pops of the fast path have the effect of the same pushes and pops of [`Returns`],
    /// whenever the entries are handed over.
    #[test]
    fn calls_are_the_newest_entries() {
        let (mut random, program) = (Random::new(7), Program::new(1000));
        let (blocks, set) = (program.blocks(), Set { code_space: SPACE, mask: u64::MAX });
        let sets = Sets { is0: set, is1: set };
        let (mut fast, mut older, mut emptied, mut filled) = (0, 0, 0, 0);
        for _ in 0..200 {
            let (mut returns, mut expected) = (Returns::default(), Returns::default());
            let mut calls = Calls::new(&returns);
            for _ in 0..200 {
                match random.next() >> 8 & 15 {
                    0 => calls.hand_over(&mut returns, &blocks),
                    1..=8 => {
                        let call = BlockId::new(random.next() as usize >> 8 & 511);
                        calls.push(call, blocks.links());
                        expected.push(Return::after(call, &blocks).unwrap());
                        filled += u32::from(expected.len == DEPTH);
                    }
                    _ => {
                        let want = expected.pop().map(|entry| entry.address);
                        emptied += u32::from(want.is_none());
                        let mut next = Links::id(calls.pop(blocks.links()));
                        fast += u32::from(next != BlockId::NONE);
                        if next == BlockId::NONE {
                            next = calls.pop_from(&mut returns, &sets, &program);
                            older += u32::from(next != BlockId::NONE);
                        }
                        let got = match blocks.get(next) {
                            Some((block, class)) => Some(block.start(class)),
                            None => {
                                calls.hand_over(&mut returns, &blocks);
                                let top = returns.pop();
                                calls.follow(&returns);
                                top.map(|entry| entry.address)
                            }
                        };
                        assert_eq!(got, want);
                    }
                }
            }
            calls.hand_over(&mut returns, &blocks);
            assert_eq!(returns, expected);
        }
        assert!(fast > 1000 && older > 100 && emptied > 50 && filled > 1000);
    }
}
