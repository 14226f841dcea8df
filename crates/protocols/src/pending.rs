//! What an exception may still withdraw. ETMv2 and ETMv3 share it.

use alloc::vec::Vec;

use tracewright_base::{Access, Element, Range, Sink};

/// The last instruction and what came after it. An exception packet may say that it did not
/// complete, so it waits for the next instruction. (IHI 0014, Table 7-10, Can)
///
/// Order is kept: while something waits, all that follows waits behind it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Held {
    last: Option<(u64, Range)>,
    after: Vec<Entry>,
    /// A branch packet came since the last instruction: another one may replace it.
    branched: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    at: u64,
    element: Element,
    of: Of,
}

/// With what an element is withdrawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    /// Never.
    Nothing,
    /// With the last instruction.
    Last,
    /// With a return from an exception: its stack pop.
    Return,
    /// With a branch packet that another one follows.
    Branch,
}

impl Held {
    /// The last instruction, if it may still be withdrawn.
    pub(crate) fn last(&self) -> Option<&Range> {
        self.last.as_ref().map(|(_, range)| range)
    }

    /// A branch packet came since the last instruction.
    pub(crate) const fn branched(&self) -> bool {
        self.branched
    }

    pub(crate) const fn branch(&mut self) {
        self.branched = true;
    }

    /// An instruction was traced: the one before it has completed.
    #[inline]
    pub(crate) fn instruction<S: Sink>(&mut self, at: u64, range: Range, sink: &mut S) {
        self.commit(sink);
        self.last = Some((at, range));
    }

    /// Something that waits with the last instruction if it must.
    pub(crate) fn element<S: Sink>(&mut self, at: u64, element: Element, of: Of, sink: &mut S) {
        if self.is_empty() {
            sink.element(at, element);
        } else {
            self.after.push(Entry { at, element, of });
        }
    }

    /// Data. It waits in any case: the next packet may say that the store failed.
    pub(crate) fn data(&mut self, at: u64, access: Access, of: Of) {
        self.wait(at, Element::DataAccess(access), of);
    }

    /// Something that waits for the next packet in any case.
    pub(crate) fn wait(&mut self, at: u64, element: Element, of: Of) {
        self.after.push(Entry { at, element, of });
    }

    /// Where the last instruction is, if all that is known of it is that its memory is not there.
    pub(crate) fn missing(&self) -> Option<u64> {
        self.after.iter().find_map(|entry| match entry.element {
            Element::NoCode { address, .. } if entry.of == Of::Last => Some(address),
            _ => None,
        })
    }

    /// What waits for the next packet only has waited long enough.
    #[inline]
    pub(crate) fn settle<S: Sink>(&mut self, sink: &mut S) {
        if self.last.is_none() && !self.branched && !self.after.is_empty() {
            self.commit(sink);
        }
    }

    /// Nothing can be withdrawn any more.
    #[inline]
    pub(crate) fn commit<S: Sink>(&mut self, sink: &mut S) {
        if let Some((at, range)) = self.last.take() {
            sink.element(at, Element::Range(range));
        }
        if !self.after.is_empty() {
            for entry in &self.after {
                sink.element(entry.at, entry.element);
            }
            self.after.clear();
        }
        self.branched = false;
    }

    /// Nothing waits.
    pub(crate) const fn is_empty(&self) -> bool {
        self.last.is_none() && !self.branched && self.after.is_empty()
    }

    /// The last instruction did not complete, and its data are not valid.
    pub(crate) fn cancel(&mut self) {
        self.last = None;
        self.drop(Of::Last);
    }

    /// The last instruction stopped half-way: the data that it moved stay.
    pub(crate) fn pause(&mut self) {
        self.last = None;
    }

    /// Withdraws what belongs to `of`.
    pub(crate) fn drop(&mut self, of: Of) {
        self.after.retain(|entry| entry.of != of);
    }

    /// The store-exclusive whose data came last did not write.
    pub(crate) fn store_failed(&mut self) {
        let mut by = None;
        for entry in self.after.iter_mut().rev() {
            let Element::DataAccess(access) = &mut entry.element else { return };
            if by.is_some_and(|by| by != access.by()) {
                return;
            }
            by = Some(access.by());
            access.flags |= Access::STORE_FAILED;
        }
    }
}
