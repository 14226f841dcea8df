//! The receiver of elements.

use alloc::vec::Vec;

use crate::block_counts::BlockCounts;
use crate::cached_block::{BlockId, CachedBlocks};
use crate::element::Element;
use crate::execution_counts::ExecutionCounts;
use crate::execution_list::ExecutionList;
use crate::function_marks::{BlockTransfer, FunctionMarks};
use crate::path::Path;
use crate::range::{Range, RangeSum};

/// Receives elements. `at` is the offset in the trace buffer of the packet that traced the element;
/// for RISC-V, of the packet at which it is emitted. Offsets do not always rise.
pub trait Sink {
    /// Whether [`path`](Sink::path) is called for the atoms of a packet.
    const PATHS: bool = false;

    /// Whether [`path`](Sink::path) is called for the branches of a RISC-V packet.
    const BRANCH_PATHS: bool = false;

    /// Whether [`sum`](Sink::sum) and [`transfers`](Sink::transfers) may be called: a decoder takes
    /// the marks with [`take_marks`](Sink::take_marks), and returns them with
    /// [`return_marks`](Sink::return_marks).
    const SUMS: bool = false;

    /// Whether a decoder may count cached blocks instead of passing on their ranges: it takes the
    /// counts with [`take_counts`](Sink::take_counts), and returns them with
    /// [`counted`](Sink::counted).
    const COUNTS: bool = false;

    /// With [`COUNTS`](Sink::COUNTS): it counts how often each block is executed, and not what
    /// follows it, and takes the counts with [`take_executions`](Sink::take_executions) and returns
    /// them with [`executed`](Sink::executed) instead; or, where blocks are many,
    /// [`take_list`](Sink::take_list) and [`listed`](Sink::listed).
    const EXECUTIONS: bool = false;

    /// Whether packets are received between the elements: an element is then emitted after the
    /// packet after which [`Decode::packet`](crate::Decode::packet) emits it, not earlier.
    const WITH_PACKETS: bool = false;

    /// Takes one element.
    fn element(&mut self, at: u64, element: Element);

    /// The first and the last address of the function in which the last range ended: ranges between
    /// them may be received as a sum. None if the first is the greater.
    #[inline]
    fn sums_within(&self) -> (u64, u64) {
        (1, 0)
    }

    /// Takes consecutive ranges as their sum; `at` is the offset of the last one. Called only with
    /// [`SUMS`](Sink::SUMS). All of the ranges are between the addresses of
    /// [`sums_within`](Sink::sums_within). Only the last one may end with a call, an indirect
    /// branch or a return that takes effect; the range before them does not, or
    /// [`transfers`](Sink::transfers) was called. Each range begins at the end of the range before
    /// it, or at the target of the branch.
    #[inline]
    fn sum(&mut self, at: u64, sum: &RangeSum) {
        let _ = (at, sum);
    }

    /// Takes transfers between functions: at each, the ranges before it were in one function. Of a
    /// `from`, the sink has received the range, or it is among those of the sum that follows, which
    /// counts the ranges of all transfers, and the instructions after the last one. `at` is added
    /// to the offsets of all.
    #[inline]
    fn transfers(&mut self, at: u64, transfers: &[BlockTransfer], blocks: &CachedBlocks<'_>) {
        let _ = (at, transfers, blocks);
    }

    /// The marks of `blocks` for the functions of the sink.
    #[inline]
    fn take_marks(&mut self, blocks: &CachedBlocks<'_>) -> FunctionMarks {
        let _ = blocks;
        FunctionMarks::default()
    }

    /// Takes back the marks.
    #[inline]
    fn return_marks(&mut self, marks: FunctionMarks) {
        let _ = marks;
    }

    /// The counts of cached blocks so far, for `blocks`.
    #[inline]
    fn take_counts(&mut self, blocks: &CachedBlocks<'_>) -> BlockCounts {
        let _ = blocks;
        BlockCounts::default()
    }

    /// Takes back the counts. `last` is the range that was executed last, which is not counted:
    /// what follows it is not known.
    #[inline]
    fn counted(&mut self, counts: BlockCounts, at: u64, last: Option<Range>) {
        let _ = (counts, at, last);
    }

    /// The counts of executions so far, for `blocks`, of which those of a `slow` kind need more
    /// than an addition.
    #[inline]
    fn take_executions(&mut self, blocks: &CachedBlocks<'_>, slow: u16) -> ExecutionCounts {
        let _ = (blocks, slow);
        ExecutionCounts::default()
    }

    /// Takes back the counts of executions.
    #[inline]
    fn executed(&mut self, counts: ExecutionCounts) {
        let _ = counts;
    }

    /// The list for executed blocks, which is empty.
    #[inline]
    fn take_list(&mut self) -> ExecutionList {
        ExecutionList::default()
    }

    /// Takes back the list, whose blocks of `blocks` were executed.
    #[inline]
    fn listed(&mut self, list: ExecutionList, blocks: &CachedBlocks<'_>) {
        let _ = (list, blocks);
    }

    /// Takes a range that a decoder found in the block cache's table, without asking for its code.
    #[inline]
    fn cached_range(&mut self, at: u64, range: Range) {
        self.element(at, Element::Range(range));
    }

    /// As [`cached_range`](Sink::cached_range), with the number of the block: a sink that prepares
    /// its output for each block finds it there. Blocks may get other numbers.
    #[inline(always)]
    fn cached_block(&mut self, at: u64, id: BlockId, range: Range) {
        let _ = id;
        self.cached_range(at, range);
    }

    /// As [`repeat`](Sink::repeat), with the number of the block.
    #[inline(always)]
    fn repeat_block(&mut self, at: u64, id: BlockId, range: Range, times: u32) {
        let _ = id;
        self.repeat(at, range, times);
    }

    /// Takes the ranges of `path`, in order, all at offset `at`. Called only with
    /// [`PATHS`](Sink::PATHS) or [`BRANCH_PATHS`](Sink::BRANCH_PATHS), where all of them are in the
    /// table of the block cache.
    #[inline]
    fn path(&mut self, at: u64, path: &Path, blocks: &CachedBlocks<'_>) {
        path.for_each(blocks, |range| self.cached_range(at, range));
    }

    /// Takes `range` `times` times in a row: the iterations of a loop of one block.
    #[inline]
    fn repeat(&mut self, at: u64, range: Range, times: u32) {
        for _ in 0..times {
            self.element(at, Element::Range(range));
        }
    }

    /// Takes all of `ranges`, in order, `times` times: the turns of a loop of several blocks.
    fn repeat_path(&mut self, at: u64, ranges: &[Range], times: u64) {
        for _ in 0..times {
            for range in ranges {
                self.element(at, Element::Range(*range));
            }
        }
    }

    /// Takes `times` further turns of a loop after those of [`repeat`](Sink::repeat) or
    /// [`repeat_path`](Sink::repeat_path), beyond the instructions that
    /// [`Code::max_expansion`](crate::Code::max_expansion) allows for the packet: listings only
    /// state their number, counts include them. By default they are taken as the turns before them.
    fn repeat_unlisted(&mut self, at: u64, ranges: &[Range], times: u64) {
        self.repeat_path(at, ranges, times);
    }

    /// Whether the sink wants no further elements. Decoders and `Stream` do not ask; the caller
    /// does, between blocks of bytes.
    #[inline]
    fn full(&self) -> bool {
        false
    }
}

impl<S: Sink + ?Sized> Sink for &mut S {
    // Called through a mutable borrow of a sink, too: the method of the borrow comes first.
    #[inline(always)]
    fn sums_within(&self) -> (u64, u64) {
        (**self).sums_within()
    }

    #[inline]
    fn element(&mut self, at: u64, element: Element) {
        (**self).element(at, element);
    }

    #[inline]
    fn cached_range(&mut self, at: u64, range: Range) {
        (**self).cached_range(at, range);
    }

    #[inline]
    fn repeat(&mut self, at: u64, range: Range, times: u32) {
        (**self).repeat(at, range, times);
    }

    fn repeat_path(&mut self, at: u64, ranges: &[Range], times: u64) {
        (**self).repeat_path(at, ranges, times);
    }

    fn repeat_unlisted(&mut self, at: u64, ranges: &[Range], times: u64) {
        (**self).repeat_unlisted(at, ranges, times);
    }

    #[inline]
    fn full(&self) -> bool {
        (**self).full()
    }
}

impl Sink for Vec<(u64, Element)> {
    fn element(&mut self, at: u64, element: Element) {
        self.push((at, element));
    }
}

/// Drops all elements.
impl Sink for () {
    #[inline]
    fn element(&mut self, _at: u64, _element: Element) {}
}

/// Passes each element to both sinks.
impl<A: Sink, B: Sink> Sink for (A, B) {
    #[inline]
    fn element(&mut self, at: u64, element: Element) {
        self.0.element(at, element);
        self.1.element(at, element);
    }

    #[inline]
    fn cached_range(&mut self, at: u64, range: Range) {
        self.0.cached_range(at, range);
        self.1.cached_range(at, range);
    }

    #[inline]
    fn repeat(&mut self, at: u64, range: Range, times: u32) {
        self.0.repeat(at, range, times);
        self.1.repeat(at, range, times);
    }

    fn repeat_path(&mut self, at: u64, ranges: &[Range], times: u64) {
        self.0.repeat_path(at, ranges, times);
        self.1.repeat_path(at, ranges, times);
    }

    fn repeat_unlisted(&mut self, at: u64, ranges: &[Range], times: u64) {
        self.0.repeat_unlisted(at, ranges, times);
        self.1.repeat_unlisted(at, ranges, times);
    }

    #[inline]
    fn full(&self) -> bool {
        self.0.full() && self.1.full()
    }
}
