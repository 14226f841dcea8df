//! Collects elements.

use tracewright::base::Turns;
use tracewright::decode::listener::{each_part, each_turn};
use tracewright::decode::{Fork, Size};
use tracewright::{Element, Listener};

use crate::element::TwElement;

/// Elements of one buffer, as the client receives them.
pub(crate) struct Batch {
    /// The number of the first source of the buffer.
    pub(crate) first: u32,
    pub(crate) elements: Vec<TwElement>,
}

impl Batch {
    pub(crate) fn new(first: usize) -> Batch {
        Batch { first: first as u32, elements: Vec::new() }
    }

    #[inline]
    fn source(&self, source: usize) -> u32 {
        self.first.wrapping_add(source as u32)
    }
}

impl Batch {
    /// Of the turns beyond those that are listed, the first one has the ranges, and an element
    /// states the number of the others.
    fn unlisted(&mut self, source: usize, turns: &Turns<'_>) {
        let &Turns { at, ranges, times, .. } = turns;
        let Some(further) = times.checked_sub(1) else { return };
        for range in ranges {
            self.element(source, at, Element::Range(*range));
        }
        if further > 0 && !ranges.is_empty() {
            let source = self.source(source);
            self.elements.push(TwElement::repeat(source, at, ranges.len(), further));
        }
    }
}

impl Listener for Batch {
    #[inline]
    fn element(&mut self, source: usize, at: u64, element: Element) {
        let source = self.source(source);
        self.elements.push(TwElement::new(source, at, &element));
    }

    fn batch(&mut self, batch: &tracewright::base::Batch<'_>) {
        each_part(self, batch, |own, turns| match turns.listed {
            true => each_turn(own, batch.source, turns),
            false => own.unlisted(batch.source, turns),
        });
    }
}

impl Fork for Batch {
    type State = ();
    type Output = Vec<TwElement>;

    fn fork(&self) -> Self {
        Batch { first: self.first, elements: Vec::new() }
    }

    fn state(&self) {}

    fn resume(&mut self, (): ()) {
        self.elements.clear();
    }

    fn take(&mut self) -> Vec<TwElement> {
        std::mem::take(&mut self.elements)
    }

    #[inline]
    fn size(&self) -> Size {
        Size::of(self.elements.len() * std::mem::size_of::<TwElement>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::{TW_ELEMENT_RANGE, TW_ELEMENT_REPEAT};
    use tracewright::base::{Counted, Instruction, Last, Range};

    #[test]
    fn turns_that_are_not_listed_take_one_element() {
        let last = Last::new(&Instruction { size: 4, ..Instruction::default() }, true);
        let (cycles, bytes) = (Counted::UNKNOWN, 4);
        let range = Range { start: 0, bytes, instructions: 1, cycles, last };
        let mut batch = Batch::new(2);
        let ranges = &[range, Range { start: 8, ..range }];
        batch.unlisted(1, &Turns { at: 5, ranges, times: 1 << 40, listed: false });
        let kinds: Vec<u32> = batch.elements.iter().map(|element| element.kind).collect();
        assert_eq!(kinds, [TW_ELEMENT_RANGE, TW_ELEMENT_RANGE, TW_ELEMENT_REPEAT]);
        let repeat = batch.elements[2];
        assert_eq!((repeat.source, repeat.number, repeat.value), (3, 2, (1 << 40) - 1));
        batch.resume(());
        batch.unlisted(0, &Turns { at: 5, ranges: &[range], times: 1, listed: false });
        batch.unlisted(0, &Turns { at: 5, ranges: &[range], times: 0, listed: false });
        assert_eq!(batch.take().len(), 1);
    }
}
