//! Takes a listener's output while it receives elements, so that it holds little at any time.

use tracewright_base::{Batch, Element, Part, Turns};

use super::any_fork::{AnyFork, Output};
use crate::listener::{Event, Listener, Wants};
use crate::session::Session;

/// Receives output and its size, and returns whether more is wanted.
type Send<'a> = dyn FnMut(Output, usize) -> bool + 'a;

/// Cached blocks whose output is made before it is taken: their instructions are few.
const AT_ONCE: usize = 64;

/// Passes everything on to `listener`. Whenever the listener's output takes `limit` bytes of memory
/// or more, it is taken and passed to `send`. One element makes little output before it is
/// taken again ([`AnyFork::start`]), and there are few packets in a block of bytes, so that the
/// memory does not depend on the number of elements of the block.
struct Bounded<'a> {
    listener: &'a mut dyn AnyFork,
    limit: usize,
    /// The weight of the output at which it is taken: more than `limit` where the listener retains
    /// a part of its output.
    due: usize,
    send: &'a mut Send<'a>,
    /// No more output is wanted: elements are ignored.
    stopped: bool,
}

impl Bounded<'_> {
    /// A batch that makes little output.
    fn part(&mut self, batch: &Batch<'_>) {
        if self.stopped {
            return;
        }
        self.listener.batch(batch);
        if self.listener.weight() >= self.due {
            self.take(false);
        }
    }

    /// Takes output until the listener has made all output of the last element.
    #[cold]
    #[inline(never)]
    fn take(&mut self, mut unfinished: bool) {
        loop {
            let weight = self.listener.weight();
            if weight >= self.due {
                let output = self.listener.take();
                self.stopped = !(self.send)(output, weight);
                self.due = self.listener.weight() + self.limit;
            }
            if self.stopped || !unfinished {
                return;
            }
            unfinished = self.listener.more();
        }
    }
}

impl Listener for Bounded<'_> {
    #[inline]
    fn element(&mut self, source: usize, at: u64, element: Element) {
        if self.stopped {
            return;
        }
        let unfinished = self.listener.start(source, at, element);
        if unfinished || self.listener.weight() >= self.due {
            self.take(unfinished);
        }
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        for (part, alone) in batch.parts_alone() {
            if self.stopped {
                return;
            }
            match part {
                // Its bytes are in the batch.
                Part::Element(_, Element::Custom(_)) => self.part(&alone),
                Part::Element(at, element) => self.element(batch.source, at, element),
                Part::Steps(steps) => {
                    for steps in steps.chunks(AT_ONCE * self.listener.parts()) {
                        self.part(&alone.with_steps(steps));
                    }
                }
                Part::Turns(Turns { at, ranges, times, listed: true }) => {
                    for _ in 0..times {
                        if self.stopped {
                            return;
                        }
                        for range in ranges {
                            self.element(batch.source, at, Element::Range(*range));
                        }
                    }
                }
                // A listener whose output grows makes one line of them.
                Part::Turns(_) => self.part(&alone),
            }
        }
    }

    fn event(&mut self, event: &Event<'_>) {
        if !self.stopped {
            self.listener.event(event);
        }
    }

    fn wants(&self) -> Wants {
        self.listener.wants()
    }

    fn full(&self) -> bool {
        self.stopped || self.listener.full()
    }
}

/// Feeds `bytes` to `session`, or ends the trace for `None`. `send` receives output of `listener`
/// that takes `limit` bytes of memory or more, with its size, and returns whether more is wanted;
/// the rest remains with the listener. Returns whether more is wanted.
pub(super) fn feed(
    session: &mut Session,
    bytes: Option<&[u8]>,
    listener: &mut dyn AnyFork,
    limit: usize,
    mut send: impl FnMut(Output, usize) -> bool,
) -> bool {
    if !listener.grows() {
        match bytes {
            Some(bytes) => session.feed(bytes, listener),
            None => session.finish(listener),
        }
        return true;
    }
    let mut bounded = Bounded { listener, limit, due: limit, send: &mut send, stopped: false };
    match bytes {
        Some(bytes) => session.feed(bytes, &mut bounded),
        None => session.finish(&mut bounded),
    }
    !bounded.stopped
}
