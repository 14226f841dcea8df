//! Instructions by address, and elements by kind.

use tracewright_base::{BlockId, Element, Range};
use tracewright_decode::{Fork, Size};
use tracewright_image::Selection;

use super::expand::ProgramId;
use super::{Step, Steps};
use crate::filter::Filter;
use crate::loop_turns::KIND;

/// Passes on what a filter selects.
#[derive(Debug)]
pub struct Picked<V> {
    view: V,
    filter: Filter,
    /// A part of the range is omitted.
    cut: bool,
}

impl<V> Picked<V> {
    /// Passes on to `view` what `filter` selects.
    pub fn new(view: V, filter: Filter) -> Self {
        Picked { view, filter, cut: false }
    }
}

impl<V: Steps> Steps for Picked<V> {
    const OPCODES: bool = V::OPCODES;

    #[inline]
    fn step(&mut self, source: usize, at: u64, step: &Step) {
        if !self.cut || self.filter.instruction(source, step.address) {
            self.view.step(source, at, step);
        }
    }

    #[inline]
    fn recall(&mut self, source: usize, range: &Range, context: usize) -> bool {
        let selected = match self.filter.is_all() {
            true => Some(true),
            false => self.filter.instructions(source, range),
        };
        self.cut = selected.is_none();
        match selected {
            Some(true) => self.view.recall(source, range, context),
            // Nothing of the range is passed on.
            Some(false) => true,
            None => false,
        }
    }

    #[inline]
    fn store(&mut self) {
        // The view has a part of the range.
        if !self.cut {
            self.view.store();
        }
    }

    fn takes_blocks(&self) -> bool {
        self.filter.is_all() && self.view.takes_blocks()
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
        if self.filter.is_all() || self.filter.element(source, element) {
            self.view.other(source, at, element);
        } else {
            self.view.hidden(source, element);
        }
    }

    fn select(&mut self, source: usize, selection: Selection) {
        self.view.select(source, selection);
    }

    fn hidden(&mut self, source: usize, element: &Element) {
        self.view.hidden(source, element);
    }

    fn unlisted(&mut self, source: usize, at: u64, ranges: &[Range], turns: u64) -> bool {
        if !self.filter.is_all() && !self.filter.turns(source, KIND, ranges) {
            return true;
        }
        self.view.unlisted(source, at, ranges, turns)
    }

    fn full(&self) -> bool {
        self.view.full()
    }
}

impl<V: Steps + Fork> Fork for Picked<V> {
    type State = (V::State, Vec<Option<u32>>);
    type Output = V::Output;

    fn fork(&self) -> Self {
        Picked { view: self.view.fork(), filter: self.filter.clone(), cut: false }
    }

    fn state(&self) -> Self::State {
        (self.view.state(), self.filter.contexts())
    }

    fn resume(&mut self, (state, contexts): Self::State) {
        self.view.resume(state);
        self.filter.resume(contexts);
    }

    fn take(&mut self) -> V::Output {
        self.view.take()
    }

    #[inline]
    fn size(&self) -> Size {
        self.view.size()
    }
}
