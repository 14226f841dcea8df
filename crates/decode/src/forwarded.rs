//! Listeners behind others: an optional one, and a reference to one.

use std::ops::Range;

use tracewright_base::{
    self as base, BlockTransfer, CachedBlocks, Element, Fault, FunctionMarks, OffsetMap, Path,
    RangeSum,
};
use tracewright_frames::{Event, Frame};
use tracewright_protocols::registry::AnyPacket;

use crate::listener::Listener;
use crate::listener::pass_on;

/// `None` ignores everything.
impl<L: Listener> Listener for Option<L> {
    const PACKETS: bool = L::PACKETS;
    const FRAMES: bool = L::FRAMES;
    const PATHS: bool = L::PATHS;
    const BRANCH_PATHS: bool = L::BRANCH_PATHS;
    const ERASED: bool = L::ERASED;
    const BY_SOURCE: bool = L::BY_SOURCE;
    const SUMS: bool = L::SUMS;
    const FUNCTIONS: bool = L::FUNCTIONS;

    #[inline]
    fn sums_within(&self, source: usize) -> (u64, u64) {
        self.as_ref().map_or((0, u64::MAX), |listener| listener.sums_within(source))
    }

    #[inline]
    fn sum(&mut self, source: usize, at: u64, sum: &RangeSum) {
        if let Some(listener) = self {
            listener.sum(source, at, sum);
        }
    }

    #[inline]
    fn transfers(
        &mut self,
        source: usize,
        at: u64,
        transfers: &[BlockTransfer],
        blocks: &CachedBlocks<'_>,
    ) {
        if let Some(listener) = self {
            listener.transfers(source, at, transfers, blocks);
        }
    }

    #[inline]
    fn take_marks(&mut self, source: usize, blocks: &CachedBlocks<'_>) -> FunctionMarks {
        self.as_mut().map(|listener| listener.take_marks(source, blocks)).unwrap_or_default()
    }

    #[inline]
    fn return_marks(&mut self, source: usize, marks: FunctionMarks) {
        if let Some(listener) = self {
            listener.return_marks(source, marks);
        }
    }

    #[inline]
    fn path(&mut self, source: usize, at: u64, path: &Path, blocks: &CachedBlocks<'_>) {
        if let Some(listener) = self {
            listener.path(source, at, path, blocks);
        }
    }

    #[inline]
    fn element(&mut self, source: usize, at: u64, element: Element) {
        if let Some(listener) = self {
            listener.element(source, at, element);
        }
    }

    fn repeat(&mut self, source: usize, at: u64, range: base::Range, times: u32) {
        if let Some(listener) = self {
            listener.repeat(source, at, range, times);
        }
    }

    fn repeat_path(&mut self, source: usize, at: u64, ranges: &[base::Range], times: u64) {
        if let Some(listener) = self {
            listener.repeat_path(source, at, ranges, times);
        }
    }

    fn repeat_unlisted(&mut self, source: usize, at: u64, ranges: &[base::Range], times: u64) {
        if let Some(listener) = self {
            listener.repeat_unlisted(source, at, ranges, times);
        }
    }

    fn wants_each_packet(&self) -> bool {
        self.as_ref().is_some_and(L::wants_each_packet)
    }

    fn wants_frames(&self) -> bool {
        self.as_ref().is_some_and(L::wants_frames)
    }

    pass_on!(|this| this);

    fn full(&self) -> bool {
        self.as_ref().is_none_or(L::full)
    }
}

impl<L: Listener> Listener for &mut L {
    const PACKETS: bool = L::PACKETS;
    const FRAMES: bool = L::FRAMES;
    const PATHS: bool = L::PATHS;
    const BRANCH_PATHS: bool = L::BRANCH_PATHS;
    const ERASED: bool = L::ERASED;
    const BY_SOURCE: bool = L::BY_SOURCE;
    const SUMS: bool = L::SUMS;
    const FUNCTIONS: bool = L::FUNCTIONS;

    #[inline(always)]
    fn sums_within(&self, source: usize) -> (u64, u64) {
        (**self).sums_within(source)
    }

    #[inline(always)]
    fn sum(&mut self, source: usize, at: u64, sum: &RangeSum) {
        (**self).sum(source, at, sum);
    }

    #[inline(always)]
    fn transfers(
        &mut self,
        source: usize,
        at: u64,
        transfers: &[BlockTransfer],
        blocks: &CachedBlocks<'_>,
    ) {
        (**self).transfers(source, at, transfers, blocks);
    }

    #[inline]
    fn take_marks(&mut self, source: usize, blocks: &CachedBlocks<'_>) -> FunctionMarks {
        (**self).take_marks(source, blocks)
    }

    #[inline]
    fn return_marks(&mut self, source: usize, marks: FunctionMarks) {
        (**self).return_marks(source, marks);
    }

    #[inline]
    fn path(&mut self, source: usize, at: u64, path: &Path, blocks: &CachedBlocks<'_>) {
        (**self).path(source, at, path, blocks);
    }

    #[inline]
    fn element(&mut self, source: usize, at: u64, element: Element) {
        (**self).element(source, at, element);
    }

    #[inline(always)]
    fn cached_range(&mut self, source: usize, at: u64, range: base::Range) {
        (**self).cached_range(source, at, range);
    }

    #[inline]
    fn repeat(&mut self, source: usize, at: u64, range: base::Range, times: u32) {
        (**self).repeat(source, at, range, times);
    }

    fn repeat_path(&mut self, source: usize, at: u64, ranges: &[base::Range], times: u64) {
        (**self).repeat_path(source, at, ranges, times);
    }

    fn repeat_unlisted(&mut self, source: usize, at: u64, ranges: &[base::Range], times: u64) {
        (**self).repeat_unlisted(source, at, ranges, times);
    }

    fn wants_each_packet(&self) -> bool {
        (**self).wants_each_packet()
    }

    fn wants_frames(&self) -> bool {
        (**self).wants_frames()
    }

    pass_on!(|this| Some(&mut **this));

    fn full(&self) -> bool {
        (**self).full()
    }
}
