//! Elements that wait to be taken.

use std::collections::VecDeque;

use tracewright_base::{Batch, Custom, Element, Range, Turns};

use crate::listener::{Listener, each_part};

/// Elements that were decoded and not taken yet, in order. The turns of a loop take one entry: a
/// packet can count billions of them.
#[derive(Debug, Default)]
pub struct Queue {
    waiting: VecDeque<Waiting>,
    /// The bytes of the last element, if it is [`Element::Custom`].
    content: Vec<u8>,
}

#[derive(Debug)]
enum Waiting {
    Element(usize, u64, Element),
    Custom(usize, u64, Custom, Vec<u8>),
    /// The turns of a loop, at least one.
    Turns {
        source: usize,
        at: u64,
        ranges: Vec<Range>,
        /// The index of the next range.
        next: usize,
        /// The number of turns that are not finished.
        times: u64,
    },
}

impl Queue {
    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Drops everything that waits.
    pub fn clear(&mut self) {
        self.waiting.clear();
        self.content.clear();
    }

    /// The next element, with the number of its source and its offset.
    pub fn take(&mut self) -> Option<(usize, u64, Element)> {
        self.content.clear();
        let (item, finished) = match self.waiting.front_mut()? {
            Waiting::Element(source, at, element) => ((*source, *at, *element), true),
            Waiting::Custom(source, at, custom, bytes) => {
                self.content = std::mem::take(bytes);
                ((*source, *at, Element::Custom(*custom)), true)
            }
            Waiting::Turns { source, at, ranges, next, times } => {
                let element = Element::Range(*ranges.get(*next)?);
                *next += 1;
                if *next == ranges.len() {
                    (*next, *times) = (0, *times - 1);
                }
                ((*source, *at, element), *times == 0)
            }
        };
        if finished {
            self.waiting.pop_front();
        }
        Some(item)
    }

    /// The bytes of the element that was taken last, if it is [`Element::Custom`]; none of others.
    pub fn content(&self) -> &[u8] {
        &self.content
    }
}

impl Listener for Queue {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        self.waiting.push_back(Waiting::Element(source, at, element));
    }

    fn custom(&mut self, source: usize, at: u64, custom: Custom, bytes: &[u8]) {
        self.waiting.push_back(Waiting::Custom(source, at, custom, bytes.to_vec()));
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        each_part(self, batch, |queue, turns| {
            let &Turns { at, ranges, times, .. } = turns;
            if times > 0 && !ranges.is_empty() {
                let (source, ranges) = (batch.source, ranges.to_vec());
                queue.waiting.push_back(Waiting::Turns { source, at, ranges, next: 0, times });
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use tracewright_base::{BatchBuffer, CachedBlocks, Counted, Instruction, Last};

    use super::*;

    #[test]
    fn the_turns_of_a_loop_take_one_entry() {
        let mut queue = Queue::default();
        let last = Last::new(&Instruction { size: 4, ..Instruction::default() }, false);
        let range = Range { start: 0, bytes: 4, instructions: 1, cycles: Counted::UNKNOWN, last };
        let turns = |queue: &mut Queue, at, ranges: &[Range], times| {
            let mut buffer = BatchBuffer::default();
            buffer.turns(Turns { at, ranges, times, listed: true });
            queue.batch(&buffer.batch(0, CachedBlocks::none()));
        };
        turns(&mut queue, 1, &[range], u64::MAX);
        turns(&mut queue, 2, &[range], 0);
        queue.element(0, 3, Element::End);
        assert_eq!(queue.len(), 2);

        let at = |queue: &mut Queue| queue.take().map(|(_, at, _)| at);
        assert_eq!((0..3).filter_map(|_| at(&mut queue)).collect::<Vec<_>>(), [1, 1, 1]);
        queue.waiting.pop_front();
        turns(&mut queue, 4, &[range, Range { start: 8, ..range }], 2);
        let rest: Vec<u64> = std::iter::from_fn(|| at(&mut queue)).collect();
        assert_eq!(rest, [3, 4, 4, 4, 4]);
        assert!(queue.is_empty());
    }

    #[test]
    fn content_comes_with_its_element() {
        let mut buffer = BatchBuffer::default();
        buffer.custom(1, "one", &[1, 2]);
        buffer.custom(2, "two", &[]);
        buffer.custom(3, "three", &[3]);
        buffer.element(4, Element::Trigger);
        let mut queue = Queue::default();
        queue.batch(&buffer.batch(7, CachedBlocks::none()));
        let mut got = Vec::new();
        for _ in 0..3 {
            let Some((source, at, Element::Custom(custom))) = queue.take() else { panic!("three") };
            got.push((source, at, custom.kind, custom.len, queue.content().to_vec()));
        }
        assert_eq!((queue.take(), queue.content()), (Some((7, 4, Element::Trigger)), &[][..]));
        let want =
            [(7, 1, "one", 2, vec![1, 2]), (7, 2, "two", 0, vec![]), (7, 3, "three", 1, vec![3])];
        assert_eq!(got, want);
    }
}
