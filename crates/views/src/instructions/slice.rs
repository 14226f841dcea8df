//! Parts of ranges.

use std::sync::atomic::{AtomicU64, Ordering};

use tracewright_base::{BlockId, Element, Range};
use tracewright_decode::{Fork, Size};
use tracewright_image::Selection;

use super::expand::ProgramId;
use super::{Step, Steps};

/// Which instructions of the next range are passed on.
#[derive(Debug, Default)]
pub struct Parts {
    skipped: AtomicU64,
    shown: AtomicU64,
}

impl Parts {
    /// Of the next range, `skipped` instructions are omitted, and the `shown` that follow are
    /// passed on.
    pub fn set(&self, skipped: u64, shown: u64) {
        self.skipped.store(skipped, Ordering::Relaxed);
        self.shown.store(shown, Ordering::Relaxed);
    }

    /// Whether the next instruction is passed on.
    fn step(&self) -> bool {
        let skipped = self.skipped.load(Ordering::Relaxed);
        let shown = self.shown.load(Ordering::Relaxed);
        if skipped > 0 {
            self.skipped.store(skipped - 1, Ordering::Relaxed);
        } else if shown > 0 {
            self.shown.store(shown - 1, Ordering::Relaxed);
            return true;
        }
        false
    }

    /// Whether all of `count` instructions are passed on.
    fn all(&self, count: u32) -> bool {
        self.skipped.load(Ordering::Relaxed) == 0
            && self.shown.load(Ordering::Relaxed) >= count.into()
    }
}

/// Passes on parts of ranges. It is used on one thread.
#[derive(Debug)]
pub struct Slice<'a, V> {
    view: V,
    /// `None` where all instructions are passed on.
    parts: Option<&'a Parts>,
    /// A part of the range is omitted.
    cut: bool,
}

impl<'a, V> Slice<'a, V> {
    /// Passes the parts of each range on to `view`, or all instructions for `None`.
    pub fn new(view: V, parts: Option<&'a Parts>) -> Self {
        Slice { view, parts, cut: false }
    }
}

impl<V: Steps> Steps for Slice<'_, V> {
    const OPCODES: bool = V::OPCODES;

    #[inline]
    fn step(&mut self, source: usize, at: u64, step: &Step) {
        if self.parts.is_none_or(Parts::step) {
            self.view.step(source, at, step);
        }
    }

    #[inline]
    fn recall(&mut self, source: usize, range: &Range, context: usize) -> bool {
        self.cut = self.parts.is_some_and(|parts| !parts.all(range.instructions));
        !self.cut && self.view.recall(source, range, context)
    }

    #[inline]
    fn store(&mut self) {
        // The view has a part of the range.
        if !self.cut {
            self.view.store();
        }
    }

    fn takes_blocks(&self) -> bool {
        self.parts.is_none() && self.view.takes_blocks()
    }

    #[inline(always)]
    fn recall_block(&mut self, program: ProgramId, id: BlockId, range: &Range) -> bool {
        self.view.recall_block(program, id, range)
    }

    fn begin_block(&mut self, program: ProgramId, id: BlockId, range: &Range) -> bool {
        self.view.begin_block(program, id, range)
    }

    fn store_block(&mut self, program: ProgramId, id: BlockId, range: &Range) {
        self.view.store_block(program, id, range);
    }

    fn other(&mut self, source: usize, at: u64, element: &Element) {
        self.view.other(source, at, element);
    }

    fn select(&mut self, source: usize, selection: Selection) {
        self.view.select(source, selection);
    }

    fn hidden(&mut self, source: usize, element: &Element) {
        self.view.hidden(source, element);
    }

    /// Turns of which a part is passed on are listed.
    fn unlisted(&mut self, source: usize, at: u64, ranges: &[Range], turns: u64) -> bool {
        self.parts.is_none() && self.view.unlisted(source, at, ranges, turns)
    }

    fn full(&self) -> bool {
        self.view.full()
    }
}

impl<V: Steps + Fork> Fork for Slice<'_, V> {
    type State = V::State;
    type Output = V::Output;

    fn fork(&self) -> Self {
        Slice { view: self.view.fork(), parts: self.parts, cut: false }
    }

    fn state(&self) -> V::State {
        self.view.state()
    }

    fn resume(&mut self, state: V::State) {
        self.view.resume(state);
    }

    fn take(&mut self) -> V::Output {
        self.view.take()
    }

    #[inline]
    fn size(&self) -> Size {
        self.view.size()
    }
}
