//! What the decoders of the RISC-V protocols share: the walk through the program's blocks.

use tracewright_base::{
    Block, BlockCache, Counted, Element, Instruction, Last, Pc, Range, Sink, Space, Turns,
};
use tracewright_isa::rv::Upper;

/// Emits a range, unless it is empty.
#[inline]
pub(crate) fn emit_range<S: Sink>(
    at: u64,
    start: u64,
    bytes: u32,
    instructions: u32,
    last: &Instruction,
    taken: bool,
    sink: &mut S,
) {
    if instructions > 0 {
        let last = Last::new(last, taken);
        let cycles = Counted::UNKNOWN;
        sink.element(at, Element::Range(Range { start, bytes, instructions, cycles, last }));
    }
}

/// The address of the last instruction of a block.
#[inline]
pub(crate) fn last_address(block: &Block) -> u64 {
    let bytes = u64::from(block.bytes.saturating_sub(block.last.size.into()));
    block.start.wrapping_add(bytes) & block.last.isa.address_mask()
}

/// The target of a sequentially inferable jump, which ends `block`: the instruction before it loads
/// the address. `before` is the address of the instruction that was executed before the block.
pub(crate) fn inferred_target<K: BlockCache>(
    block: &Block,
    before: Option<u64>,
    space: Space,
    code: &mut K,
) -> Option<u64> {
    if block.last.target.is_some() || block.instructions > 1 {
        return block.last.target;
    }
    // The block begins with the jump.
    let (isa, before) = (block.last.isa, before?);
    let pc = |address| Pc { address, isa, space };
    let size = u64::from(code.instruction(pc(before)).ok()?.size);
    if before.wrapping_add(size) & isa.address_mask() != block.start {
        return None;
    }
    let upper = Upper::after(isa, code.opcode(pc(before))?, before);
    upper.target(isa, code.opcode(pc(block.start))?)
}

/// The memory space of a privilege level: that of the level whose page tables it uses.
pub(crate) const fn space(privilege: u8) -> Space {
    // VU (5) and VS (6) count as U (0) and S (1), all others as M (3). U and S have the same memory
    // (`SpaceMask::of`).
    Space::new(
        Some(match privilege {
            0 | 5 => 0,
            1 | 6 => 1,
            _ => 3,
        }),
        None,
    )
}

/// The most blocks of a turn of a loop that is emitted as a number of equal turns.
pub(crate) const MAX_BLOCKS: usize = 32;

/// Passes on the elements of a turn and records its ranges.
pub(crate) struct Recorder<'a, S, const N: usize> {
    sink: &'a mut S,
    ranges: [Range; N],
    len: usize,
    /// The turn has nothing but recorded ranges.
    whole: bool,
}

impl<'a, S: Sink, const N: usize> Recorder<'a, S, N> {
    pub(crate) fn new(sink: &'a mut S) -> Self {
        let last = Last::new(&Instruction::default(), false);
        let cycles = Counted::UNKNOWN;
        let empty = Range { start: 0, bytes: 0, instructions: 0, cycles, last };
        Recorder { sink, ranges: [empty; N], len: 0, whole: true }
    }

    /// Whether there is no room for another range.
    pub(crate) const fn is_full(&self) -> bool {
        self.len >= N
    }

    /// The ranges of the turn. `None` if it has other elements, or more.
    pub(crate) fn turn(&self) -> Option<&[Range]> {
        self.ranges.get(..self.len).filter(|_| self.whole)
    }

    /// Emits `times` further turns, of which listings have `listed`.
    pub(crate) fn repeat(&mut self, at: u64, listed: u64, times: u64) {
        let ranges = self.ranges.get(..self.len).unwrap_or_default();
        let turns = Turns { at, ranges, times: listed, listed: true };
        self.sink.turns(turns);
        if listed < times {
            self.sink.turns(Turns { times: times - listed, listed: false, ..turns });
        }
    }
}

impl<S: Sink, const N: usize> Sink for Recorder<'_, S, N> {
    fn element(&mut self, at: u64, element: Element) {
        match (element, self.ranges.get_mut(self.len)) {
            (Element::Range(range), Some(slot)) => {
                *slot = range;
                self.len += 1;
            }
            _ => self.whole = false,
        }
        self.sink.element(at, element);
    }
}
