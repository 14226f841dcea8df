//! Paths through cached blocks: what the atoms of a packet execute from a block on.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::{BlockId, CachedBlock, CachedBlocks, CodeSpace, Range};

/// The blocks that atoms of one packet execute, from a cached block on: up to the last atom, the
/// first waypoint of a special kind that takes effect, or the first indirect branch that is taken.
///
/// A path is stored when it is executed for the first time. Later the decoder takes all of its
/// atoms at once, and so does a listener that only counts: [`Sink::path`](crate::Sink::path).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// Address of the first instruction.
    start: u64,
    code_space: CodeSpace,
    /// Bits \[25:0]: the atoms of the packet from bit 0 on, and a 1 after the last; the path may be
    /// shorter. Bits \[31:26]: the special kinds of waypoints.
    steps: u32,
    first: BlockId,
    /// The block after the path; [`BlockId::NONE`] after an indirect branch.
    pub next: BlockId,
    /// The last block.
    pub last: BlockId,
    instructions: u16,
    /// The number of ranges, and of atoms.
    ranges: u8,
    /// The last waypoint is of a special kind and takes effect.
    special: bool,
}

/// Paths by block and atoms: a direct-mapped table, whose length is a power of two or 0.
pub type Paths = [PathSlot];

/// A path that can be replaced through a shared reference, by the one decoder that uses the cache.
#[derive(Debug)]
#[repr(align(32))]
pub struct PathSlot([AtomicU32; 8]);

const _: () = assert!(size_of::<PathSlot>() == 32);

impl PathSlot {
    /// A slot with [`Path::NONE`].
    pub fn new() -> Self {
        let slot = PathSlot(Default::default());
        slot.set(Path::NONE);
        slot
    }

    /// The path, if it is that of `steps`, as [`key`] makes them, from `first` on.
    #[inline]
    fn get(&self, first: BlockId, steps: u32) -> Option<Path> {
        let word = |n: usize| self.0[n].load(Ordering::Relaxed);
        if word(0) != first.index() as u32 || word(1) != steps {
            return None;
        }
        let counts = word(7);
        Some(Path {
            start: u64::from(word(2)) | u64::from(word(3)) << 32,
            code_space: CodeSpace(word(4)),
            steps,
            first,
            next: BlockId::from_word(word(5)),
            last: BlockId::from_word(word(6)),
            instructions: counts as u16,
            ranges: (counts >> 16) as u8,
            special: counts >> 24 != 0,
        })
    }

    fn set(&self, path: Path) {
        let counts = u32::from(path.instructions)
            | u32::from(path.ranges) << 16
            | u32::from(path.special) << 24;
        let words = [
            path.first.index() as u32,
            path.steps,
            path.start as u32,
            (path.start >> 32) as u32,
            path.code_space.0,
            path.next.index() as u32,
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

/// The bits of the atoms.
const ATOMS: u32 = (1 << 26) - 1;

impl Path {
    /// No path.
    pub const NONE: Path = Path {
        start: 0,
        code_space: CodeSpace::NONE,
        steps: 0,
        first: BlockId::NONE,
        next: BlockId::NONE,
        last: BlockId::NONE,
        instructions: 0,
        ranges: 0,
        special: false,
    };

    /// The path of `steps` from `first` on. `None` where a block or the one after the path is not
    /// known.
    fn new(first: BlockId, steps: u32, special: u16, blocks: &CachedBlocks<'_>) -> Option<Path> {
        let (start, class) = blocks.get(first)?;
        let mut path = Path {
            start: start.start(class),
            code_space: class.code_space,
            steps: key(steps, special),
            first,
            next: first,
            ..Path::NONE
        };
        let mut left = steps;
        while left > 1 {
            let (cached, successors, class) = blocks.step(path.next)?;
            let taken = left & 1 != 0;
            let range = cached.range(class, taken);
            path.instructions = path.instructions.checked_add(range.instructions as u16)?;
            path.ranges += 1;
            (path.last, path.next) = (path.next, successors[usize::from(taken)]);
            path.special = taken && cached.is_any_of(special);
            if path.special || taken && cached.is_any_of(CachedBlock::INDIRECT) {
                return Some(path);
            }
            left >>= 1;
        }
        path.next.can_be_next().then_some(path)
    }

    /// What determines the ranges of a path in one memory: the address of the first instruction;
    /// and in one number the code space, bits \[63:32], and its atoms, bits \[31:0].
    #[inline]
    pub const fn key(&self) -> (u64, u64) {
        let end = 1 << self.ranges;
        let atoms = self.steps & (end - 1) | end;
        (self.start, (self.code_space.0 as u64) << 32 | atoms as u64)
    }

    /// Address of the first instruction.
    #[inline]
    pub const fn start(&self) -> u64 {
        self.start
    }

    /// The number of ranges, and of atoms.
    #[inline]
    pub const fn ranges(&self) -> u32 {
        self.ranges as u32
    }

    /// The number of instructions.
    #[inline]
    pub const fn instructions(&self) -> u32 {
        self.instructions as u32
    }

    /// Whether the last waypoint takes effect.
    #[inline]
    pub const fn taken(&self) -> bool {
        self.steps >> self.ranges.wrapping_sub(1) & 1 != 0
    }

    /// Whether the last waypoint is of a special kind and takes effect.
    #[inline]
    pub const fn is_special(&self) -> bool {
        self.special
    }

    /// Calls `each` with the ranges, in order. `blocks` are those of the path.
    pub fn for_each(&self, blocks: &CachedBlocks<'_>, mut each: impl FnMut(Range)) {
        let mut next = self.first;
        for n in 0..self.ranges {
            let Some((cached, successors, class)) = blocks.step(next) else { return };
            let taken = self.steps >> n & 1 != 0;
            each(cached.range(class, taken));
            next = successors[usize::from(taken)];
        }
    }
}

/// [`Path::steps`].
const fn key(steps: u32, special: u16) -> u32 {
    steps & ATOMS | (special as u32) << ATOMS.count_ones()
}

impl CachedBlocks<'_> {
    /// The path of the atoms `steps` from `first` on, which has a 1 after the last atom. `special`:
    /// the kinds of waypoints that end a path where they take effect, of
    /// [`CachedBlock::CALL`] and [`CachedBlock::EXCEPTION_RETURN`]. `None` where not all blocks are
    /// known.
    #[inline]
    pub fn path(&self, first: BlockId, steps: u32, special: u16) -> Option<Path> {
        let mixed =
            (u64::from(steps) << 32 | first.index() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let paths = self.paths();
        let slot = paths.get((mixed >> 40) as usize & paths.len().wrapping_sub(1))?;
        match slot.get(first, key(steps, special)) {
            Some(path) => Some(path),
            None => self.find_path(slot, first, steps, special),
        }
    }

    /// Makes the path.
    #[cold]
    #[inline(never)]
    fn find_path(&self, slot: &PathSlot, first: BlockId, steps: u32, special: u16) -> Option<Path> {
        let path = Path::new(first, steps, special, self)?;
        slot.set(path);
        Some(path)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::{BLOCK_CLASSES, Block, BlockClass, Instruction, Isa, Kind, Role, Successors};

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
        let mut classes = alloc::vec![BlockClass::NONE; BLOCK_CLASSES];
        for (class, block) in classes.iter_mut().zip(&blocks) {
            *class = BlockClass::of(block, CodeSpace(3));
        }
        let cached: Vec<CachedBlock> = blocks
            .iter()
            .enumerate()
            .map(|(n, block)| CachedBlock::new(block, n).expect("a short block"))
            .collect();
        let classes = classes.first_chunk().expect("all classes");
        let paths = alloc::vec![PathSlot::new(); 4];
        let blocks = CachedBlocks::new(&cached, &successors, classes).with_paths(&paths);
        for _ in 0..2 {
            // Taken, taken, not taken, the call, the indirect branch; two more atoms.
            let longer = blocks.path(id(0), 0b1011_1011, 0).expect("a path");
            assert_eq!((longer.ranges(), longer.key()), (5, (0x1000, 3 << 32 | 0b11_1011)));
            let path = blocks.path(id(0), 0b11_1011, 0).expect("a path");
            assert_eq!((path.ranges(), path.instructions(), path.taken()), (5, 15, true));
            assert_eq!((path.next, path.last), (BlockId::NONE, id(2)));
            assert_eq!(path.key(), (0x1000, 3 << 32 | 0b11_1011));
            let mut starts = Vec::new();
            path.for_each(&blocks, |range| starts.push((range.start, range.taken())));
            let want =
                [(0x1000, true), (0x1000, true), (0x1000, false), (0x100c, true), (0x2000, true)];
            assert_eq!(starts, want);
            let path = blocks.path(id(0), 0b101, 0).expect("a path");
            assert_eq!((path.next, path.last, path.taken()), (id(1), id(0), false));
            // A call ends a path where it is special.
            let path = blocks.path(id(0), 0b111_1110, CachedBlock::CALL).expect("a path");
            assert_eq!((path.ranges(), path.is_special(), path.next), (2, true, id(2)));
            assert_eq!(path.key(), (0x1000, 3 << 32 | 0b110));
            // A call that is not taken, and blocks that are not known.
            assert_eq!(blocks.path(id(1), 0b10, 0), None);
            assert_eq!(blocks.path(id(2), 0b10, 0), None);
            assert_eq!(blocks.path(BlockId::NONE, 0b11, 0), None);
        }
        let without = CachedBlocks::new(&cached, &successors, classes);
        assert_eq!(without.path(id(0), 0b11, 0), None);
    }
}
