//! Transfers between cached blocks, which are known by their numbers.

use tracewright_base::{Batch, BlockId, BlockStep, Range};

use super::Transfers;
use super::marks::Walk;
use super::state::{Before, Pending};
use crate::code::Place;
use crate::entered::{BlockTransfer, Entered, EnteredBlock, Exit};
use crate::transfer::{Kind, NO_FUNCTION, Transfer, empty};

/// Transfers that are taken at once: what is known of their blocks fits into the nearest cache.
const AT_ONCE: usize = 128;

impl Transfers {
    /// Takes consecutive steps of a batch.
    pub(super) fn steps(&mut self, batch: &Batch<'_>, mut steps: &[BlockStep]) {
        let (source, blocks) = (batch.source, &batch.blocks);
        let memory = self.memory(source);
        let (Some(marks), Some(entered)) =
            (self.marks.get_mut(source), self.entered.get_mut(source))
        else {
            return;
        };
        let known = marks.prepare(memory, blocks);
        if !known {
            *entered = Entered::default();
        }
        entered.resize(blocks.all().len());
        let mut last = self.sources.get(source).and_then(|current| current.step).filter(|_| known);
        let mut walk = std::mem::take(&mut self.walk);
        while !steps.is_empty() {
            // The steps of which all is known are those after `last`.
            if let (Some(last), Some(marks)) = (last, self.marks.get(source)) {
                steps = walk.run(marks, last, steps);
                self.walked(batch, &walk);
            }
            if let [step, left @ ..] = steps {
                self.step(batch, *step);
                (last, steps) = (Some(*step), left);
            }
        }
        self.walk = walk;
    }

    /// Takes a step by its addresses.
    #[inline(never)]
    fn step(&mut self, batch: &Batch<'_>, step: BlockStep) {
        let Some(range) = batch.range(step) else { return };
        self.range(batch.source, batch.at(step), range);
        if let (Some(marks), Some(current)) =
            (self.marks.get_mut(batch.source), self.sources.get(batch.source))
        {
            marks.learn(step, current.state.within, &batch.blocks);
        }
        self.precedes(batch.source, step);
    }

    /// The next steps follow `step`.
    fn precedes(&mut self, source: usize, step: BlockStep) {
        if let Some(current) = self.sources.get_mut(source) {
            current.step = Some(step);
        }
    }

    /// Takes the steps of a walk.
    fn walked(&mut self, batch: &Batch<'_>, walk: &Walk) {
        let mut chunks = walk.transfers().chunks(AT_ONCE).peekable();
        if let Some(first) = chunks.peek() {
            self.prefetch(batch.source, first);
        }
        while let Some(transfers) = chunks.next() {
            if let Some(next) = chunks.peek() {
                self.prefetch(batch.source, next);
            }
            self.block_transfers(batch, transfers);
        }
        if let Some(last) = walk.last
            && let Some(range) = batch.range(last)
            && let Some(current) = self.sources.get_mut(batch.source)
        {
            current.pending.at = batch.at(last);
            current.pending.instructions += u64::from(walk.instructions);
            current.precede(Before::Range(range.last, range.end()));
            self.precedes(batch.source, last);
        }
    }

    fn prefetch(&self, source: usize, transfers: &[BlockTransfer]) {
        if let Some(entered) = self.entered.get(source) {
            entered.prefetch(transfers);
        }
    }

    /// Takes transfers of a source.
    fn block_transfers(&mut self, batch: &Batch<'_>, transfers: &[BlockTransfer]) {
        let (source, at, blocks) = (batch.source, batch.start, &batch.blocks);
        let mut left = transfers;
        loop {
            left = left.get(self.known_transfers(source, at, left)..).unwrap_or_default();
            let [transfer, others @ ..] = left else { return self.weigh() };
            left = others;
            let BlockTransfer { from, to, .. } = *transfer;
            let at = batch.at(from);
            if let Some(current) = self.sources.get_mut(source) {
                current.pending.at = at;
                current.pending.instructions += u64::from(transfer.instructions);
            }
            if self.known_transfer(source, at, transfer) {
                continue;
            }
            let known = batch.range(from).zip(blocks.get(to));
            let Some((last, (block, its))) = known else { continue };
            if let Some(entered) = self.entered.get_mut(source) {
                entered.learn(from.id(), &last);
            }
            self.enter(source, at, &last, (to, block.start(its)));
        }
    }

    /// As [`follow`](Self::follow) after the range `last`, to the cached block `to` at `target`.
    #[cold]
    #[inline(never)]
    fn enter(&mut self, source: usize, at: u64, last: &Range, (to, target): (BlockId, u64)) {
        let memory = self.memory(source);
        let Some(entered) = self.entered.get_mut(source) else { return };
        if entered.get(to).is_some_and(|block| !block.entered) {
            let place = self.finder.find(source, memory, target);
            let unwinds = self.finder.code().is_unwind_target(target);
            entered.insert(to, target, place, unwinds);
        }
        if let Some(current) = self.sources.get_mut(source) {
            current.precede(Before::Range(last.last, last.end()));
            if !current.expects(target) {
                self.follow(source, at, target);
            }
        }
    }

    /// Takes calls, returns and indirect branches between blocks whose functions and exits are
    /// known, if they depend on frames of the part only, or no frames are found. Returns the number
    /// of those that are taken.
    #[inline(never)]
    fn known_transfers(&mut self, source: usize, at: u64, transfers: &[BlockTransfer]) -> usize {
        let memory = self.memory(source);
        let Some(current) = self.sources.get_mut(source) else { return 0 };
        let Some(entered) = self.entered.get(source) else { return 0 };
        let Pending { instructions: before, cycles: 0, .. } = current.pending else { return 0 };
        let Ok(before) = u32::try_from(before) else { return 0 };
        let mut own = match &mut self.frames {
            None => None,
            Some(frames) => match frames.source(source).filter(|own| own.is_ready()) {
                None => return 0,
                own => own,
            },
        };
        let (mut function, mut here, mut more) = (current.state.function, None, before);
        let taken = transfers.iter().take_while(|transfer| {
            let BlockTransfer { from, to, .. } = **transfer;
            let (exit, block) = (entered.exit(from.id()), entered.get(to));
            let Some(block) = block.filter(|block| block.entered && from.taken()) else {
                return false;
            };
            let Some(executed) = transfer.instructions.checked_add(more) else { return false };
            let EnteredBlock { target, function: to, .. } = *block;
            let is_taken = match (&mut own, exit, exit.return_address()) {
                (None, _, Some(ret)) => target != ret,
                (None, Exit::INDIRECT, _) => function == NO_FUNCTION,
                (None, exit, _) => exit.kind().is_some(),
                (Some(own), _, Some(ret)) if !block.stub && target != ret => {
                    own.take_call(executed, target, to, ret);
                    true
                }
                (Some(own), Exit::RETURN, _) => !block.unwinds && own.take_return(executed, target),
                (Some(own), Exit::INDIRECT, _) => {
                    function == NO_FUNCTION
                        && to == NO_FUNCTION
                        && own.take_branch(executed, target)
                }
                _ => false,
            };
            if is_taken {
                (function, here, more) = (to, Some(target), 0);
            }
            is_taken
        });
        let count = taken.count();
        if let Some(taken) = transfers.get(..count).filter(|_| count > 0) {
            self.found.push_all(taken, (source as u16, entered.shared()), at, before);
        }
        if let Some(target) = here {
            if let Some(own) = own {
                own.is_in(function);
            }
            let within = current.state.within;
            if current.stale || target < within.0 || within.1 < target {
                let Place { found, whole, stub } = self.finder.find(source, memory, target);
                current.state.within = (found.start, found.last);
                (current.stale, current.whole, current.stub) = (false, whole, stub);
            }
            current.state.function = function;
            current.pending.instructions = 0;
        }
        count
    }

    /// Takes a transfer between two blocks. Returns `false`, and does nothing, if their functions
    /// or exits are not known, or it may be no transfer.
    fn known_transfer(&mut self, source: usize, at: u64, transfer: &BlockTransfer) -> bool {
        let memory = self.memory(source);
        let Some(entered) = self.entered.get(source) else { return false };
        let BlockTransfer { from, to, .. } = *transfer;
        let (exit, Some(block)) = (entered.exit(from.id()), entered.get(to)) else { return false };
        let (Some(kind), true) = (exit.kind(), block.entered && from.taken()) else {
            return false;
        };
        let EnteredBlock { target, function, entry, stub, .. } = *block;
        let Some(current) = self.sources.get_mut(source) else { return false };
        let ret = exit.return_address();
        if ret == Some(target) || current.state.function != NO_FUNCTION && kind == Kind::Indirect {
            return false;
        }
        let place = self.finder.find(source, memory, target);
        let Place { found, whole, .. } = place;
        (current.state.within, current.state.function) = ((found.start, found.last), function);
        (current.stale, current.whole, current.stub) = (false, whole, stub);
        let transfer = Transfer { target, ret, function, kind, entry, stub, ..empty(source, at) };
        self.push(source, transfer);
        true
    }
}
