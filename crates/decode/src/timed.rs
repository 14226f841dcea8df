//! Text with the times of its parts.

use tracewright_base::{Batch, Custom, Element, Part};

use crate::fork::{Fork, Received, Size};
use crate::listener::{Event, Listener, Wants};

/// Text of a listener, and where timestamps are in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimedText {
    /// The text.
    pub text: Vec<u8>,
    /// Offsets in `text`, ascending, and the values of the timestamps there. Text before the first
    /// of them belongs to the last timestamp of earlier text.
    pub times: Vec<(usize, u64)>,
}

impl From<Vec<u8>> for TimedText {
    fn from(text: Vec<u8>) -> Self {
        TimedText { text, times: Vec::new() }
    }
}

impl TimedText {
    /// Appends `text`.
    fn push(&mut self, mut text: Vec<u8>) {
        match self.text.is_empty() {
            true => self.text = text,
            false => self.text.append(&mut text),
        }
    }
}

/// Passes everything on to a listener that makes text, and records where timestamps are in it.
///
/// Whether they are recorded is chosen at run time, so that a session has one set of decoders for
/// both.
#[derive(Clone, Debug)]
pub struct Timed<L> {
    /// Makes the text.
    pub listener: L,
    wanted: bool,
    /// The text up to the last timestamp.
    done: TimedText,
}

impl<L: Fork<Output = Vec<u8>>> Timed<L> {
    /// Timestamps are recorded if they are `wanted`.
    pub fn when(wanted: bool, listener: L) -> Self {
        Timed { listener, wanted, done: TimedText::default() }
    }

    #[inline]
    fn mark(&mut self, element: &Element) {
        if let Element::Timestamp { value, .. } = element
            && self.wanted
        {
            self.done.push(self.listener.take());
            self.done.times.push((self.done.text.len(), *value));
        }
    }
}

impl<L: Listener + Fork<Output = Vec<u8>>> Listener for Timed<L> {
    #[inline]
    fn element(&mut self, source: usize, at: u64, element: Element) {
        self.mark(&element);
        self.listener.element(source, at, element);
    }

    fn custom(&mut self, source: usize, at: u64, custom: Custom, bytes: &[u8]) {
        self.listener.custom(source, at, custom, bytes);
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        if !self.wanted {
            return self.listener.batch(batch);
        }
        for (part, alone) in batch.parts_alone() {
            if let Part::Element(_, element) = part {
                self.mark(&element);
            }
            self.listener.batch(&alone);
        }
    }

    fn event(&mut self, event: &Event<'_>) {
        self.listener.event(event);
    }

    fn wants(&self) -> Wants {
        self.listener.wants()
    }

    fn full(&self) -> bool {
        self.listener.full()
    }
}

impl<L: Listener + Fork<Output = Vec<u8>>> Fork for Timed<L> {
    type State = L::State;
    type Output = TimedText;

    fn fork(&self) -> Self {
        Timed::when(self.wanted, self.listener.fork())
    }

    fn state(&self) -> Self::State {
        self.listener.state()
    }

    fn resume(&mut self, state: Self::State) {
        self.listener.resume(state);
        self.done = TimedText::default();
    }

    fn take(&mut self) -> TimedText {
        let mut all = std::mem::take(&mut self.done);
        all.push(self.listener.take());
        all
    }

    #[inline]
    fn size(&self) -> Size {
        self.listener.size().and(Size::of(self.done.text.len()))
    }

    #[inline]
    fn receive(&mut self, next: Option<Received>) -> bool {
        if let Some(Received { element, .. }) = &next {
            self.mark(element);
        }
        self.listener.receive(next)
    }
}

#[cfg(test)]
mod tests {
    use tracewright_base::{BatchBuffer, CachedBlocks};

    use super::*;

    /// A byte for each element: its offset.
    struct Offsets(Vec<u8>);

    impl Listener for Offsets {
        fn element(&mut self, _: usize, at: u64, _: Element) {
            self.0.push(at as u8);
        }

        fn custom(&mut self, _: usize, _: u64, _: Custom, bytes: &[u8]) {
            self.0.extend(bytes);
        }
    }

    impl Fork for Offsets {
        type State = ();
        type Output = Vec<u8>;

        fn fork(&self) -> Self {
            Offsets(Vec::new())
        }

        fn state(&self) {}

        fn resume(&mut self, (): ()) {
            self.0.clear();
        }

        fn take(&mut self) -> Vec<u8> {
            std::mem::take(&mut self.0)
        }
    }

    #[test]
    fn timestamps_are_before_their_text() {
        let feed = |timed: &mut Timed<Offsets>| {
            for (at, value) in [(1, None), (2, Some(70)), (3, Some(71)), (4, None)] {
                let timestamp = |value| Element::Timestamp { value, cycles: None };
                timed.element(0, at, value.map_or(Element::ExceptionReturn, timestamp));
            }
            timed.take()
        };
        let feed_batch = |timed: &mut Timed<Offsets>| {
            let mut buffer = BatchBuffer::default();
            for (at, value) in [(1, None), (2, Some(70)), (3, Some(71)), (4, None)] {
                let timestamp = |value| Element::Timestamp { value, cycles: None };
                buffer.element(at, value.map_or(Element::ExceptionReturn, timestamp));
            }
            timed.batch(&buffer.batch(0, CachedBlocks::none()));
            timed.take()
        };
        let mut timed = Timed::when(true, Offsets(Vec::new()));
        let text = vec![1, 2, 3, 4];
        let want = TimedText { text: text.clone(), times: vec![(1, 70), (2, 71)] };
        assert_eq!(feed(&mut timed), want);
        assert_eq!(feed_batch(&mut timed), want);
        assert_eq!(feed(&mut timed.fork()), want);
        timed.element(0, 9, Element::Timestamp { value: 1, cycles: None });
        timed.resume(());
        assert_eq!((timed.size().output, timed.take()), (0, TimedText::default()));
        timed.custom(0, 9, Custom::new("own", 2), &[8, 7]);
        assert_eq!(timed.take(), vec![8, 7].into());
        assert_eq!(feed(&mut Timed::when(false, Offsets(Vec::new()))), text.into());
    }
}
