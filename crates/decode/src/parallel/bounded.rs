//! Takes a listener's output while it receives elements, so that it holds little at any time.

use tracewright_base::{Batch, Element, Part, Turns};

use super::any_fork::{AnyFork, Output};
use crate::fork::{Growth, Received};
use crate::listener::{Event, Listener, Wants};
use crate::session::Session;

/// Receives output and its size, and returns whether more is wanted.
type Send<'a> = dyn FnMut(Output, usize) -> bool + 'a;

/// Cached blocks whose output is made before it is taken: their instructions are few.
const AT_ONCE: usize = 64;

/// Passes everything on to `listener`. Whenever the listener's output takes `limit` bytes of memory
/// or more, it is taken and passed to `send`. One element makes little output before it is
/// taken again ([`AnyFork::receive`]), and there are few packets in a block of bytes, so that the
/// memory does not depend on the number of elements of the block.
struct Bounded<'a> {
    listener: &'a mut dyn AnyFork,
    limit: usize,
    /// The size of the output at which it is taken: more than `limit` where the listener retains a
    /// part of its output.
    due: usize,
    /// The number of cached blocks whose output is made before it is taken.
    at_once: usize,
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
        if self.listener.size().output >= self.due {
            self.take(false);
        }
    }

    /// Takes output until the listener has made all output of the last element.
    #[cold]
    #[inline(never)]
    fn take(&mut self, mut unfinished: bool) {
        loop {
            let size = self.listener.size().output;
            if size >= self.due {
                let output = self.listener.take();
                self.stopped = !(self.send)(output, size);
                self.due = self.listener.size().output + self.limit;
            }
            if self.stopped || !unfinished {
                return;
            }
            unfinished = self.listener.receive(None);
        }
    }
}

impl Listener for Bounded<'_> {
    #[inline]
    fn element(&mut self, source: usize, at: u64, element: Element) {
        if self.stopped {
            return;
        }
        let unfinished = self.listener.receive(Some(Received { source, at, element }));
        if unfinished || self.listener.size().output >= self.due {
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
                    for steps in steps.chunks(self.at_once) {
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
    let growth = listener.size().growth;
    if growth == Growth::None {
        match bytes {
            Some(bytes) => session.feed(bytes, listener),
            None => session.finish(listener),
        }
        return true;
    }
    let (at_once, stopped) = (AT_ONCE * growth.parts(), false);
    let mut bounded = Bounded { listener, limit, due: limit, at_once, send: &mut send, stopped };
    match bytes {
        Some(bytes) => session.feed(bytes, &mut bounded),
        None => session.finish(&mut bounded),
    }
    !bounded.stopped
}

#[cfg(test)]
mod tests {
    use tracewright_base::{BatchBuffer, BlockId, CachedBlocks, Counted, Instruction, Last, Range};
    use tracewright_frames as frames;

    use super::*;
    use crate::fork::{Fork, Size};

    /// The numbers of the steps, and the offsets of elements. Each takes 10 bytes.
    #[derive(Default)]
    struct Rows(Vec<u64>);

    impl Listener for Rows {
        fn element(&mut self, _: usize, at: u64, _: Element) {
            self.0.push(at);
        }

        fn batch(&mut self, batch: &Batch<'_>) {
            self.0.extend(batch.steps().iter().map(|step| step.id().index() as u64));
        }

        fn event(&mut self, event: &Event<'_>) {
            if let Event::Link { at, .. } = event {
                self.0.push(*at);
            }
        }
    }

    impl Fork for Rows {
        type State = ();
        type Output = Vec<u64>;

        fn fork(&self) -> Self {
            Rows::default()
        }

        fn state(&self) {}

        fn resume(&mut self, (): ()) {}

        fn take(&mut self) -> Vec<u64> {
            std::mem::take(&mut self.0)
        }

        fn size(&self) -> Size {
            Size::of(10 * self.0.len())
        }
    }

    /// All turns of a loop arrive, and events, until no more output is wanted.
    #[test]
    fn turns_and_events_arrive_until_no_more_is_wanted() {
        let (last, cycles) = (Last::new(&Instruction::default(), true), Counted::UNKNOWN);
        let range = Range { start: 0x100, bytes: 4, instructions: 1, cycles, last };
        let mut buffer = BatchBuffer::default();
        buffer.turns(Turns { at: 7, ranges: &[range, range], times: 50, listed: true });
        for wanted in [usize::MAX, 30] {
            let (mut rows, mut got) = (Rows::default(), 0);
            let mut send = |output: Output, _: usize| {
                got += output.downcast::<Vec<u64>>().map_or(0, |output| output.len());
                got < wanted
            };
            let mut bounded = Bounded {
                listener: &mut rows,
                limit: 100,
                due: 100,
                at_once: AT_ONCE,
                send: &mut send,
                stopped: false,
            };
            bounded.batch(&buffer.batch(0, CachedBlocks::none()));
            bounded.event(&Event::Link { at: 9, event: frames::Event::FullSync });
            bounded.element(0, 8, Element::Trigger);
            let left = Fork::take(&mut rows);
            match wanted {
                usize::MAX => {
                    assert_eq!((got + left.len(), &left[left.len() - 2..]), (102, &[9, 8][..]))
                }
                _ => assert_eq!((got, left.len()), (30, 0)),
            }
        }
    }

    /// All steps and elements of a batch arrive, in order, whatever is taken between them; and
    /// nothing after the output that is the last wanted.
    #[test]
    fn a_batch_arrives_in_parts() {
        const STEPS: u64 = 3 * AT_ONCE as u64 + 5;
        let mut buffer = BatchBuffer::default();
        for n in 0..STEPS {
            if n % 100 == 0 {
                buffer.element(1000 + n, Element::Trigger);
            }
            buffer.step(0, BlockId::new(n as usize), true);
        }
        let want: Vec<u64> = (0..STEPS)
            .flat_map(|n| (n % 100 == 0).then_some(1000 + n).into_iter().chain([n]))
            .collect();
        for (limit, at_once, wanted) in
            [(1, 1, usize::MAX), (100, 7, usize::MAX), (500, AT_ONCE, usize::MAX), (100, 7, 40)]
        {
            let (mut rows, mut got, mut most) = (Rows::default(), Vec::new(), 0);
            let mut send = |output: Output, size: usize| {
                let Ok(output) = output.downcast::<Vec<u64>>() else { return false };
                assert_eq!(size, 10 * output.len());
                most = most.max(size);
                got.extend(*output);
                got.len() < wanted
            };
            let mut bounded = Bounded {
                listener: &mut rows,
                limit,
                due: limit,
                at_once,
                send: &mut send,
                stopped: false,
            };
            bounded.batch(&buffer.batch(0, CachedBlocks::none()));
            assert_eq!(bounded.full(), wanted < want.len());
            got.extend(Fork::take(&mut rows));
            assert!(most < limit + 10 * at_once, "{most}");
            if wanted == usize::MAX {
                assert_eq!(got, want);
            } else {
                assert_eq!(got, want[..got.len()]);
                assert!((wanted..wanted + limit / 10 + at_once).contains(&got.len()));
            }
        }
    }
}
