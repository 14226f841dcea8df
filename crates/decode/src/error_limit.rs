//! Ends decoding after a number of errors.

use tracewright_base::{Batch, Custom, Element, Part};

use crate::fork::{Fork, ForkState, Received, Size};
use crate::listener::{Event, Listener, Packets, Wants};
use crate::report::{Severity, link_severity, severity};

/// Passes everything on to a listener up to the error with a number, and then is
/// [full](Listener::full). An error is what [`Severity::Error`] is: undecodable bytes, of a source
/// or of the link, and packets that contradict one another or the program.
///
/// What precedes the error in the order of the trace is passed on, the error included, and nothing
/// after it, whatever the pieces in which a session is fed and the number of threads.
#[derive(Debug)]
pub struct ErrorLimit<L> {
    /// Receives everything up to the error.
    pub listener: L,
    most: Option<u64>,
    errors: Errors,
}

/// How many errors there were, and the offset of the last one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Errors {
    count: u64,
    at: u64,
}

impl<L> ErrorLimit<L> {
    /// Passes on to `listener` up to error number `most`, counted from 1; everything for `None`.
    /// 0 is taken as 1.
    pub fn new(most: Option<u64>, listener: L) -> Self {
        ErrorLimit { listener, most: most.map(|most| most.max(1)), errors: Errors::default() }
    }

    /// The offset of the error that ended decoding. `None` where there were fewer errors.
    pub fn ended(&self) -> Option<u64> {
        self.is_over().then_some(self.errors.at)
    }

    fn is_over(&self) -> bool {
        self.most.is_some_and(|most| self.errors.count >= most)
    }

    fn count(&mut self, at: u64) {
        self.errors = Errors { count: self.errors.count + 1, at };
    }
}

fn is_error(element: &Element) -> bool {
    matches!(severity(element), Some((Severity::Error, _)))
}

impl<L: Listener> Listener for ErrorLimit<L> {
    #[inline]
    fn element(&mut self, source: usize, at: u64, element: Element) {
        if self.is_over() {
            return;
        }
        if self.most.is_some() && is_error(&element) {
            self.count(at);
        }
        self.listener.element(source, at, element);
    }

    fn custom(&mut self, source: usize, at: u64, custom: Custom, bytes: &[u8]) {
        if !self.is_over() {
            self.listener.custom(source, at, custom, bytes);
        }
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        let error = |part| matches!(part, Part::Element(_, element) if is_error(&element));
        if self.most.is_none() || !self.is_over() && !batch.parts().any(error) {
            return self.listener.batch(batch);
        }
        for (part, alone) in batch.parts_alone() {
            if self.is_over() {
                return;
            }
            if let Part::Element(at, element) = part
                && is_error(&element)
            {
                self.count(at);
            }
            self.listener.batch(&alone);
        }
    }

    fn event(&mut self, event: &Event<'_>) {
        if self.is_over() {
            return;
        }
        if let Event::Link { at, event } = *event
            && self.most.is_some()
            && link_severity(&event) == Some(Severity::Error)
        {
            self.count(at);
        }
        self.listener.event(event);
    }

    fn wants(&self) -> Wants {
        let wants = self.listener.wants();
        match self.most {
            None => wants,
            // Errors have an order.
            Some(_) => {
                Wants { any_order: false, packets: wants.packets.max(Packets::Counted), ..wants }
            }
        }
    }

    fn full(&self) -> bool {
        self.is_over() || self.listener.full()
    }
}

impl ForkState for Errors {
    fn same(&self, _: usize, _: &Self) -> bool {
        true
    }

    /// What is passed on depends on the number of errors before.
    fn same_beside(&self, other: &Self) -> bool {
        self == other
    }

    fn adopt(&mut self, _: usize, _: &Self) {}
}

/// The state has the number of errors.
impl<L: Listener + Fork> Fork for ErrorLimit<L> {
    type State = (Errors, L::State);
    type Output = L::Output;

    fn fork(&self) -> Self {
        ErrorLimit { listener: self.listener.fork(), most: self.most, errors: self.errors }
    }

    fn state(&self) -> Self::State {
        (self.errors, self.listener.state())
    }

    fn resume(&mut self, (errors, state): Self::State) {
        self.errors = errors;
        self.listener.resume(state);
    }

    fn take(&mut self) -> Self::Output {
        self.listener.take()
    }

    #[inline]
    fn size(&self) -> Size {
        self.listener.size()
    }

    #[inline]
    fn receive(&mut self, next: Option<Received>) -> bool {
        if let Some(Received { at, element, .. }) = next {
            if self.is_over() {
                return false;
            }
            if self.most.is_some() && is_error(&element) {
                self.count(at);
            }
        }
        self.listener.receive(next)
    }
}

#[cfg(test)]
mod tests {
    use tracewright_base::{BatchBuffer, CachedBlocks, Fault, Gap};
    use tracewright_frames as frames;

    use super::*;

    #[derive(Default)]
    struct Offsets(Vec<u64>);

    impl Listener for Offsets {
        fn element(&mut self, _: usize, at: u64, _: Element) {
            self.0.push(at);
        }

        fn event(&mut self, event: &Event<'_>) {
            if let Event::Link { at, .. } = event {
                self.0.push(*at);
            }
        }
    }

    /// Errors at offsets 2 and 4, of the link at 6, and at 8; what is no error beside them.
    fn call(listener: &mut impl Listener) {
        let undecodable = |fault| Element::Undecodable { len: 1, fault };
        let mut buffer = BatchBuffer::default();
        buffer.element(0, undecodable(Fault::Unsynchronised));
        buffer.element(1, Element::Gap(Gap::Overflow));
        buffer.element(2, undecodable(Fault::Truncated));
        buffer.custom(3, "own", b"1");
        buffer.element(4, undecodable(Fault::Truncated));
        buffer.element(5, Element::Trigger);
        listener.batch(&buffer.batch(0, CachedBlocks::none()));
        for (at, fault) in [(6, Fault::Frame), (7, Fault::Unsynchronised)] {
            let event = frames::Event::Bad { len: 1, fault };
            listener.event(&Event::Link { at, event });
        }
        listener.element(0, 8, undecodable(Fault::Truncated));
        listener.custom(0, 9, Custom::new("own", 0), b"");
    }

    #[test]
    fn the_error_with_a_number_is_the_last() {
        for (most, last, ended) in [
            (None, 9, None),
            (Some(0), 2, Some(2)),
            (Some(1), 2, Some(2)),
            (Some(2), 4, Some(4)),
            (Some(3), 6, Some(6)),
            (Some(4), 8, Some(8)),
            (Some(5), 9, None),
        ] {
            let mut limit = ErrorLimit::new(most, Offsets::default());
            call(&mut limit);
            assert_eq!(limit.listener.0, (0..=last).collect::<Vec<_>>(), "{most:?}");
            assert_eq!((limit.ended(), limit.full()), (ended, ended.is_some()), "{most:?}");
        }
    }
}
