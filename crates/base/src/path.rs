//! Paths through cached blocks: what several branches execute from a block on.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::cached_block::{BlockId, CachedBlock, CachedBlocks};

/// The blocks that are executed from a cached block on, up to the last of several branches with a
/// condition, whose outcomes are known.
///
/// A path is stored when it is executed for the first time. Later the decoder takes all of its
/// branches at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// The outcomes of branches from bit 0 on, a 1 after the last, and [`TO_INDIRECT`].
    steps: u32,
    first: BlockId,
    /// The block after the path; [`BlockId::NONE`] after an indirect branch.
    pub next: BlockId,
    /// The last block.
    pub last: BlockId,
    instructions: u16,
    /// Half-words beyond one for each instruction.
    more: u16,
    /// The number of ranges.
    ranges: u8,
    /// A block before an indirect branch ends with a call.
    calls: bool,
    /// The only such block; [`BlockId::NONE`] where there are several.
    call: BlockId,
    /// The last block ends with an indirect branch.
    indirect: bool,
    /// The number of outcomes that the path has taken.
    outcomes: u8,
}

/// Paths by block and outcomes: a direct-mapped table, whose length is a power of two or 0.
pub type Paths = [PathSlot];

/// A path that can be replaced through a shared reference, by the one decoder that uses the cache.
#[derive(Debug)]
#[repr(align(32))]
pub struct PathSlot([AtomicU32; 6]);

const _: () = assert!(size_of::<PathSlot>() == 32);

impl PathSlot {
    /// A slot with [`Path::NONE`].
    pub fn new() -> Self {
        let slot = PathSlot(Default::default());
        slot.set(Path::NONE);
        slot
    }

    /// Whether the path is that of `steps` from `first` on.
    #[inline(always)]
    fn is_of(&self, first: BlockId, steps: u32) -> bool {
        let word = |n: usize| self.0[n].load(Ordering::Relaxed);
        word(0) == first.index() as u32 && word(1) == steps
    }

    /// The path, which is that of `steps` from `first` on.
    #[inline(always)]
    fn get(&self, first: BlockId, steps: u32) -> Path {
        let word = |n: usize| self.0[n].load(Ordering::Relaxed);
        let counts = word(5);
        let indirect = counts >> 31 != 0;
        Path {
            steps,
            first,
            next: if indirect { BlockId::NONE } else { BlockId::from_word(word(3)) },
            last: BlockId::from_word(word(4)),
            instructions: (counts & COUNT) as u16,
            more: (counts >> 11 & COUNT) as u16,
            ranges: (counts >> 22 & RANGES) as u8,
            calls: counts >> 30 & 1 != 0,
            call: BlockId::from_word(word(2)),
            indirect,
            outcomes: word(3) as u8,
        }
    }

    fn set(&self, path: Path) {
        let counts = u32::from(path.instructions)
            | u32::from(path.more) << 11
            | u32::from(path.ranges) << 22
            | u32::from(path.calls) << 30
            | u32::from(path.indirect) << 31;
        let next = if path.indirect { path.outcomes.into() } else { path.next.index() as u32 };
        let words = [
            path.first.index() as u32,
            path.steps,
            path.call.index() as u32,
            next,
            path.last.index() as u32,
            counts,
        ];
        for (slot, word) in self.0.iter().zip(words) {
            slot.store(word, Ordering::Relaxed);
        }
    }
}

impl Default for PathSlot {
    fn default() -> Self {
        PathSlot::new()
    }
}

impl Clone for PathSlot {
    fn clone(&self) -> Self {
        let word = |n: usize| AtomicU32::new(self.0[n].load(Ordering::Relaxed));
        PathSlot(core::array::from_fn(word))
    }
}

/// The most instructions of a path, and the most half-words beyond one for each of them.
const COUNT: u32 = (1 << 11) - 1;

/// The most ranges of a path.
const RANGES: u32 = (1 << 6) - 1;

/// In the steps of a path: it ends with one, also behind the last outcome.
const TO_INDIRECT: u32 = 1 << 31;

impl Path {
    /// No path.
    pub const NONE: Path = Path {
        steps: 0,
        first: BlockId::NONE,
        next: BlockId::NONE,
        last: BlockId::NONE,
        instructions: 0,
        more: 0,
        ranges: 0,
        calls: false,
        call: BlockId::NONE,
        indirect: false,
        outcomes: 0,
    };

    /// The most branches of a path: longer paths are more, and each is executed less often.
    pub const BRANCHES: u32 = 16;

    /// The path of `steps` from `first` on. `None` where a block or the one after the path is not
    /// known, or where it is too long.
    fn new(first: BlockId, steps: u32, blocks: &CachedBlocks<'_>) -> Option<Path> {
        let to_indirect = steps & TO_INDIRECT != 0;
        let all = steps & !TO_INDIRECT;
        let (mut left, mut next, mut last) = (all, first, BlockId::NONE);
        let (mut instructions, mut half_words, mut ranges) = (0, 0, 0);
        let (mut calls, mut call) = (false, BlockId::NONE);
        let mut indirect = false;
        while left > 1 || to_indirect {
            let (cached, successors, _) = blocks.step(next)?;
            let passed = cached.is_any_of(CachedBlock::UNCONDITIONAL);
            if left <= 1 && !passed || ranges == RANGES {
                return None;
            }
            let taken = passed || left & 1 != 0;
            instructions += cached.instructions();
            half_words += cached.bytes() / 2;
            ranges += 1;
            if cached.is_any_of(CachedBlock::CALL) && !cached.is_any_of(CachedBlock::INDIRECT) {
                (call, calls) = (if calls { BlockId::NONE } else { next }, true);
            }
            (last, next) = (next, successors[usize::from(taken)]);
            // The mask depends on the outcome, which is hard to predict, without a branch.
            indirect = cached.is_any_of(CachedBlock::INDIRECT * u16::from(taken));
            if indirect {
                break;
            }
            left >>= u32::from(!passed);
        }
        let more = half_words.checked_sub(instructions)?;
        let is_short = instructions <= COUNT && more <= COUNT;
        (is_short && (indirect || next.can_be_next())).then(|| Path {
            steps,
            first,
            next,
            last,
            instructions: instructions as u16,
            more: more as u16,
            ranges: ranges as u8,
            calls,
            call,
            indirect,
            outcomes: (all.ilog2() - left.ilog2()) as u8,
        })
    }

    /// The number of ranges.
    #[inline]
    pub const fn ranges(&self) -> u32 {
        self.ranges as u32
    }

    /// The number of instructions.
    #[inline]
    pub const fn instructions(&self) -> u32 {
        self.instructions as u32
    }

    /// Its length in units of 16 bits.
    #[inline]
    pub const fn half_words(&self) -> u32 {
        self.instructions as u32 + self.more as u32
    }

    /// Whether a block ends with a direct call.
    #[inline]
    pub const fn has_calls(&self) -> bool {
        self.calls
    }

    /// The only block that ends with a direct call; [`BlockId::NONE`] without, or with several.
    #[inline]
    pub const fn only_call(&self) -> BlockId {
        self.call
    }

    /// Where the path ends with an indirect branch, the number of outcomes on the way to it.
    #[inline]
    pub const fn indirect(&self) -> Option<u32> {
        if self.indirect { Some(self.outcomes as u32) } else { None }
    }

    /// Whether the last waypoint takes effect.
    #[inline]
    pub const fn taken(&self) -> bool {
        if self.indirect {
            return true;
        }
        let steps = (self.steps & !TO_INDIRECT).ilog2();
        self.steps >> (steps.wrapping_sub(1) & 31) & 1 != 0
    }

    /// Calls `each` with the number of each block and whether its waypoint took effect, in order.
    /// `blocks` are those of the path.
    #[inline]
    pub fn for_each_step(&self, blocks: &CachedBlocks<'_>, mut each: impl FnMut(BlockId, bool)) {
        let (mut next, mut left) = (self.first, self.steps);
        for _ in 0..self.ranges {
            let Some((cached, successors, _)) = blocks.step(next) else { return };
            let passed = cached.is_any_of(CachedBlock::UNCONDITIONAL);
            let taken = passed || left & 1 != 0;
            each(next, taken);
            next = successors[usize::from(taken)];
            left >>= u32::from(!passed);
        }
    }

    /// The same for a path of branches. The processor predicts which blocks end with a branch that
    /// has a condition: the next block need not wait for what is read of this one.
    #[inline]
    pub fn for_each_branch_step(
        &self,
        blocks: &CachedBlocks<'_>,
        mut each: impl FnMut(BlockId, bool),
    ) {
        let (mut next, mut left) = (self.first, self.steps);
        for _ in 0..self.ranges {
            let Some((cached, successors, _)) = blocks.step(next) else { return };
            if cached.is_any_of(CachedBlock::UNCONDITIONAL) {
                each(next, true);
                next = successors[1];
                continue;
            }
            let taken = left & 1 != 0;
            each(next, taken);
            next = successors[usize::from(taken)];
            left >>= 1;
        }
    }
}

impl CachedBlocks<'_> {
    /// The path of the outcomes `steps` of branches with a condition from `first` on, at most
    /// [`Path::BRANCHES`], with a 1 after the last, up to the first indirect branch, which belongs to
    /// the path, as its last one. Calls and jumps without a condition on the way belong to it. With
    /// `to_indirect` also those behind the last outcome: `None` where no indirect branch ends them,
    /// and where not all blocks are known.
    #[inline(always)]
    pub fn branch_path(&self, first: BlockId, steps: u32, to_indirect: bool) -> Option<Path> {
        let steps = steps | if to_indirect { TO_INDIRECT } else { 0 };
        let mixed = crate::mix::mix(u64::from(steps) << 32 | first.index() as u64);
        let paths = self.paths();
        let slot = paths.get((mixed >> 40) as usize & paths.len().wrapping_sub(1))?;
        // A path that was made is read like one that was found: its fields need no memory then.
        if !slot.is_of(first, steps) && !self.make_path(slot, first, steps) {
            return None;
        }
        Some(slot.get(first, steps))
    }

    /// Makes the path. Returns whether it can be made.
    #[cold]
    #[inline(never)]
    fn make_path(&self, slot: &PathSlot, first: BlockId, steps: u32) -> bool {
        let path = Path::new(first, steps, self);
        path.inspect(|path| slot.set(*path)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::cached_block::{BLOCK_CLASSES, BlockClass, CodeSpace, Successors};
    use crate::code::Block;
    use crate::instruction::{Instruction, Kind, Role};
    use crate::isa::Isa;

    fn block(start: u64, kind: Kind, role: Role) -> Block {
        let last = Instruction {
            kind,
            role,
            size: 4,
            conditional: role == Role::Jump && kind == Kind::Branch,
            isa: Isa::A64,
            ..Instruction::default()
        };
        Block { start, bytes: 12, instructions: 3, last, ..Block::default() }
    }

    /// Cached blocks and their classes.
    fn table(blocks: &[Block]) -> (Vec<CachedBlock>, Vec<BlockClass>) {
        let mut classes = alloc::vec![BlockClass::NONE; BLOCK_CLASSES];
        for (class, block) in classes.iter_mut().zip(blocks) {
            *class = BlockClass::of(block, CodeSpace(3));
        }
        let cached = blocks
            .iter()
            .enumerate()
            .map(|(n, block)| CachedBlock::new(block, n).expect("a short block"))
            .collect();
        (cached, classes)
    }

    /// A conditional branch to itself or on, a call, and an indirect branch.
    #[test]
    fn a_path_is_found_again() {
        let blocks = [
            block(0x1000, Kind::Branch, Role::Jump),
            block(0x100c, Kind::Branch, Role::Call),
            block(0x2000, Kind::Indirect, Role::Return),
        ];
        let id = BlockId::new;
        let successors: [Successors; 3] =
            [[id(1), id(0)], [id(0).behind_call(), id(2)], [BlockId::NONE; 2]];
        let (cached, classes) = table(&blocks);
        let classes = classes.first_chunk().expect("all classes");
        let paths = alloc::vec![PathSlot::new(); 4];
        let blocks = CachedBlocks::new(&cached, &successors, classes).with_paths(&paths);
        // The first block is a branch, taken and not taken, and an indirect branch ends it.
        let path = blocks.branch_path(id(0), 0b101, false).expect("a path");
        assert_eq!((path.ranges(), path.next, path.last), (1 + 1, id(1), id(0)));
        assert!(!path.taken());
        for _ in 0..2 {
            for (steps, to_indirect) in [(0b101, true), (0b11101, false), (0b1101, true)] {
                let path = blocks.branch_path(id(0), steps, to_indirect).expect("a path");
                assert_eq!((path.indirect(), path.only_call()), (Some(2), id(1)), "{steps:b}");
                assert_eq!((path.ranges(), path.next, path.last), (4, BlockId::NONE, id(2)));
                assert!(path.taken() && path.has_calls());
                let mut found = Vec::new();
                path.for_each_step(&blocks, |id, taken| found.push((id.index(), taken)));
                assert_eq!(found, [(0, true), (0, false), (1, true), (2, true)]);
                path.for_each_branch_step(&blocks, |id, taken| {
                    assert_eq!((id.index(), taken), found.remove(0));
                });
                assert!(found.is_empty());
            }
            let short = blocks.branch_path(id(0), 0b101, false).expect("a path");
            assert_eq!((short.indirect(), short.next, short.has_calls()), (None, id(1), false));
            // Behind the outcome comes a branch without one.
            assert_eq!(blocks.branch_path(id(0), 0b11, true), None);
        }
        let without = CachedBlocks::new(&cached, &successors, classes);
        assert_eq!(without.branch_path(id(0), 0b11, false), None);
    }

    /// A jump and a call are on the way to a branch, which leads back or on.
    #[test]
    fn a_path_of_branches_passes_jumps() {
        let jump = |start, role| {
            let block = block(start, Kind::Branch, role);
            Block { last: Instruction { conditional: false, ..block.last }, ..block }
        };
        let blocks = [
            jump(0x1000, Role::Jump),
            jump(0x2000, Role::Call),
            block(0x3000, Kind::Branch, Role::Jump),
            jump(0x4000, Role::Jump),
        ];
        let (id, none) = (BlockId::new, BlockId::NONE);
        let successors: [Successors; 4] =
            [[none, id(1)], [id(0).behind_call(), id(2)], [id(0), id(1)], [none, id(3)]];
        let (cached, classes) = table(&blocks);
        let classes = classes.first_chunk().expect("all classes");
        let paths = alloc::vec![PathSlot::new(); 4];
        let blocks = CachedBlocks::new(&cached, &successors, classes).with_paths(&paths);
        for _ in 0..2 {
            // Not taken, taken, taken.
            let path = blocks.branch_path(id(0), 0b1110, false).expect("a path");
            assert_eq!((path.ranges(), path.instructions()), (8, 24));
            assert_eq!((path.half_words(), path.has_calls()), (48, true));
            assert_eq!((path.next, path.last, path.taken()), (id(1), id(2), true));
            let mut found = Vec::new();
            path.for_each_step(&blocks, |id, taken| found.push((id.index(), taken)));
            let branches = [(2, false), (2, true), (2, true)];
            let want = [(0, true), (1, true), branches[0], (0, true), (1, true), branches[1]];
            assert_eq!(found, [&want[..], &[(1, true), branches[2]]].concat());
            path.for_each_branch_step(&blocks, |id, taken| {
                assert_eq!((id.index(), taken), found.remove(0));
            });
            assert!(found.is_empty());
            // A loop without branches.
            assert_eq!(blocks.branch_path(id(3), 0b10, false), None);
        }
    }
}
