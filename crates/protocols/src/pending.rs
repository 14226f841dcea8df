//! Elements that an exception packet may still withdraw, for ETMv1, ETMv2 and ETMv3.

use alloc::vec::Vec;

use tracewright_base::{Access, Direction, Element, Inconsistency, Range, Sink};

/// The last instruction and the elements after it, held back from the sink.
///
/// An exception packet may state that the last instruction did not complete, so that instruction
/// stays here until the next one is traced. (IHI 0014, Table 7-10, Can) Elements that follow it are
/// queued behind it, which preserves their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pending {
    /// The last instruction and the offset of its packet.
    last: Option<(u64, Range)>,
    /// Elements that are reported with it, in order.
    after: Vec<Entry>,
    /// How many of them are reported before it.
    before: usize,
    /// A branch packet came after the last instruction. A second one may replace it.
    branched: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    /// Offset of the packet.
    at: u64,
    element: Element,
    withdrawal: Withdrawal,
}

/// What withdraws a pending element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Withdrawal {
    /// Nothing.
    Never,
    /// Cancellation of the last instruction.
    Instruction,
    /// Cancellation of a return from an exception; the element is an access of its stack pop.
    Return,
    /// Another branch packet for the same instruction.
    Branch,
}

impl Pending {
    /// The last instruction, if it can still be withdrawn.
    pub(crate) fn last(&self) -> Option<&Range> {
        self.last.as_ref().map(|(_, range)| range)
    }

    /// Whether a branch packet came after the last instruction.
    pub(crate) const fn branched(&self) -> bool {
        self.branched
    }

    /// Records a branch packet.
    pub(crate) const fn branch(&mut self) {
        self.branched = true;
    }

    /// Adds a traced instruction. It proves that the instruction before it completed.
    #[inline]
    pub(crate) fn instruction<S: Sink>(&mut self, at: u64, range: Range, sink: &mut S) {
        self.commit(sink);
        self.last = Some((at, range));
    }

    /// The last instruction, of which only the first half was traced, is complete. Elements after
    /// the first half are reported before the whole instruction. Those that belong to the first
    /// half are not withdrawn with the second.
    pub(crate) fn complete(&mut self, at: u64, range: Range) {
        self.last = Some((at, range));
        for entry in &mut self.after {
            if entry.withdrawal == Withdrawal::Instruction {
                entry.withdrawal = Withdrawal::Never;
            }
        }
        self.before = self.after.len();
    }

    /// Reports an element now if nothing is pending, else queues it.
    pub(crate) fn element<S: Sink>(
        &mut self,
        at: u64,
        element: Element,
        withdrawal: Withdrawal,
        sink: &mut S,
    ) {
        if self.is_empty() {
            sink.element(at, element);
        } else {
            self.after.push(Entry { at, element, withdrawal });
        }
    }

    /// Reports cycles that no exception withdraws: [`element`](Self::element), in line.
    #[inline]
    pub(crate) fn cycles<S: Sink>(&mut self, at: u64, cycles: u32, sink: &mut S) {
        let element = Element::Cycles(Some(cycles));
        if self.is_empty() {
            sink.element(at, element);
        } else {
            self.after.push(Entry { at, element, withdrawal: Withdrawal::Never });
        }
    }

    /// Queues a data access. The next packet may state that the store failed.
    pub(crate) fn data(&mut self, at: u64, access: Access, withdrawal: Withdrawal) {
        self.push(at, Element::DataAccess(access), withdrawal);
    }

    /// Queues an element, even if nothing else is pending.
    pub(crate) fn push(&mut self, at: u64, element: Element, withdrawal: Withdrawal) {
        self.after.push(Entry { at, element, withdrawal });
    }

    /// The address of the last instruction, if no code is there.
    pub(crate) fn missing_code(&self) -> Option<u64> {
        self.after.iter().find_map(|entry| match entry.element {
            Element::NoCode { address, .. }
            | Element::Inconsistency(Inconsistency::Misaligned { address, .. })
                if entry.withdrawal == Withdrawal::Instruction =>
            {
                Some(address)
            }
            _ => None,
        })
    }

    /// Reports the queue where no instruction, no return from an exception, and no branch packet is
    /// pending.
    #[inline]
    pub(crate) fn settle<S: Sink>(&mut self, sink: &mut S) {
        if self.last.is_none() && !self.branched && !self.after.is_empty() && !self.returns() {
            self.commit(sink);
        }
    }

    #[cold]
    fn returns(&self) -> bool {
        self.after.first().is_some_and(|entry| entry.withdrawal == Withdrawal::Return)
    }

    /// Reports everything: it can no longer be withdrawn.
    #[inline]
    pub(crate) fn commit<S: Sink>(&mut self, sink: &mut S) {
        if !self.after.is_empty() {
            return self.commit_queue(sink);
        }
        if let Some((at, range)) = self.last.take() {
            sink.element(at, Element::Range(range));
        }
        self.branched = false;
    }

    /// Reports the last instruction and the queue.
    #[inline(never)]
    fn commit_queue<S: Sink>(&mut self, sink: &mut S) {
        let before = core::mem::take(&mut self.before);
        let mut last = self.last.take();
        for (n, entry) in self.after.iter().enumerate() {
            if n >= before
                && let Some((at, range)) = last.take()
            {
                sink.element(at, Element::Range(range));
            }
            // Most of them are cycles. Where the kind is known, a sink need not find out.
            match entry.element {
                Element::Cycles(cycles) => sink.element(entry.at, Element::Cycles(cycles)),
                element => sink.element(entry.at, element),
            }
        }
        if let Some((at, range)) = last {
            sink.element(at, Element::Range(range));
        }
        self.after.clear();
        self.branched = false;
    }

    /// Whether nothing is pending.
    pub(crate) const fn is_empty(&self) -> bool {
        self.last.is_none() && !self.branched && self.after.is_empty()
    }

    /// Withdraws the last instruction, which did not complete, and its data, which are not valid.
    /// Returns it and the offset of its packet.
    pub(crate) fn cancel(&mut self) -> Option<(u64, Range)> {
        self.withdraw(Withdrawal::Instruction);
        self.withdraw_last()
    }

    /// Withdraws the last instruction alone: one that was interrupted, whose data stay, or a half
    /// of an instruction that is reported as a whole. Returns it and the offset of its packet.
    pub(crate) const fn withdraw_last(&mut self) -> Option<(u64, Range)> {
        self.before = 0;
        self.last.take()
    }

    /// Withdraws the elements of one kind.
    pub(crate) fn withdraw(&mut self, withdrawal: Withdrawal) {
        let gone = |entry: &&Entry| entry.withdrawal == withdrawal;
        self.before -= self.after.iter().take(self.before).filter(gone).count();
        self.after.retain(|entry| entry.withdrawal != withdrawal);
    }

    /// Marks the last access: its store-exclusive did not write. `pair`: that of a doubleword has
    /// two accesses. A load has no store that fails.
    pub(crate) fn store_failed(&mut self, pair: bool) {
        let mut by = None;
        for entry in self.after.iter_mut().rev().take(if pair { 2 } else { 1 }) {
            let Element::DataAccess(access) = &mut entry.element else { return };
            if by.is_some_and(|by| by != access.by()) || access.direction == Direction::Read {
                return;
            }
            access.flags |= Access::STORE_FAILED;
            by = Some(access.by());
        }
    }
}
