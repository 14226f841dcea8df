//! Where the trace really is, and the join of what workers say to it.

use super::Work;
use super::scheduler::Scheduler;
use super::work_queue::{Segment, WorkQueue};
use crate::{Checkpoint, Fork, ForkState, Listener, Session};

/// So much that was said is handed on.
const HEAVY: usize = 1 << 18;

/// The one session and listener that have been told everything so far.
pub(super) struct Joiner<'a, L: Fork, S> {
    pub(super) session: &'a mut Session,
    pub(super) listener: &'a mut L,
    output: S,
    step: usize,
    wanted: bool,
    pub(super) work: Work,
}

impl<'a, L, S> Joiner<'a, L, S>
where
    L: Listener + Fork,
    S: FnMut(L::Output, u64) -> bool,
{
    pub(super) fn new(
        session: &'a mut Session,
        listener: &'a mut L,
        output: S,
        step: usize,
    ) -> Self {
        Joiner { session, listener, output, step, wanted: true, work: Work::default() }
    }

    /// Whether whoever listens wants more.
    pub(super) fn wants_more(&self) -> bool {
        self.wanted
    }

    /// What was done so far.
    pub(super) fn work(&self) -> Work {
        Work { bytes: self.session.state().at(), ..self.work }
    }

    /// Where it is.
    pub(super) fn offset(&self) -> (Checkpoint, L::State) {
        (self.session.state().clone(), self.listener.state())
    }

    /// Decodes the next bytes.
    pub(super) fn decode(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(self.step) {
            self.session.feed(part, self.listener);
            if self.listener.weight() >= HEAVY {
                self.hand_on();
            }
            if !self.wanted {
                return;
            }
        }
        self.hand_on();
    }

    /// Hands on what the listener has to say.
    pub(super) fn hand_on(&mut self) {
        let output = self.listener.take();
        self.send(output, self.session.state().at());
    }

    fn send(&mut self, output: L::Output, up_to: u64) {
        // What it says after it wanted no more is not asked for.
        if self.wanted {
            self.wanted = (self.output)(output, up_to) && !self.listener.full();
        }
    }

    /// The trace ends.
    pub(super) fn finish(&mut self) {
        if self.wanted {
            self.session.finish(self.listener);
            self.hand_on();
        }
    }

    /// Takes over what the worker of the first stretch on `queue` says of its `bytes`; where it
    /// began not knowing what came before (is not `known`), only from where it has come to know it.
    pub(super) fn join(
        &mut self,
        queue: &WorkQueue<L>,
        bytes: &[u8],
        known: bool,
        scheduler: &mut Scheduler,
    ) {
        let sources = self.session.state().sources();
        let begin = self.session.state().at();
        // What is the same for the worker as it is here.
        let mut same = Same { link: known, sources: vec![known; sources] };
        // Bytes of each source so far, as the worker counts.
        let mut received: Vec<u64> = (0..sources)
            .map(|n| if known { self.session.state().received(n) } else { 0 })
            .collect();
        // Where the trace is, if not where `self.session` is.
        let mut ahead: Option<(Checkpoint, L::State)> = None;
        let (mut end, mut head, mut weight) = (0, 0, 0);
        while let Some(segment) = queue.receive() {
            let speaks = |n: usize, received: &[u64]| {
                received.get(n).is_none_or(|&before| segment.checkpoint.received(n) != before)
            };
            let fits = same.link
                && same.sources.iter().enumerate().all(|(n, s)| *s || !speaks(n, &received));
            received.clear();
            received.extend((0..sources).map(|n| segment.checkpoint.received(n)));
            weight += segment.weight;
            if fits {
                let Segment { checkpoint, state, output, .. } = segment;
                let before = ahead.take();
                let mut now = (checkpoint, state);
                for (n, _) in same.sources.iter().enumerate().filter(|(_, same)| !**same) {
                    // It was silent: it is where it was.
                    match &before {
                        Some(before) => now.adopt(n, before),
                        None => now.adopt(n, &self.offset()),
                    }
                }
                ahead = Some(now);
                self.send(output, begin + segment.end as u64);
            } else {
                self.go_to(ahead.take());
                self.decode(bytes.get(end..segment.end).unwrap_or_default());
                head = segment.end;
                same.compare(&self.offset(), &(segment.checkpoint, segment.state));
            }
            end = segment.end;
            if !self.wanted {
                return;
            }
        }
        self.go_to(ahead);
        if !known {
            self.work.again += head as u64;
            self.work.chunks += 1;
            self.work.joined += u64::from(head < bytes.len());
            scheduler.joined(bytes.len(), head);
        }
        scheduler.output(bytes.len(), weight);
    }

    fn go_to(&mut self, offset: Option<(Checkpoint, L::State)>) {
        if let Some((checkpoint, state)) = offset {
            self.session.resume(checkpoint);
            self.listener.resume(state);
        }
    }
}

/// In what two places are the same.
struct Same {
    /// The link, and what the listener knows beside the sources.
    link: bool,
    /// Each source, and what the listener knows of it.
    sources: Vec<bool>,
}

impl Same {
    fn compare<S: ForkState>(&mut self, one: &(Checkpoint, S), other: &(Checkpoint, S)) {
        self.link = one.0.same_link(&other.0) && one.1.same_beside(&other.1);
        for (n, same) in self.sources.iter_mut().enumerate() {
            *same = one.0.same_source(n, &other.0) && one.1.same(n, &other.1);
        }
    }
}

trait Adopt {
    fn adopt(&mut self, source: usize, other: &Self);
}

impl<S: ForkState> Adopt for (Checkpoint, S) {
    fn adopt(&mut self, source: usize, other: &Self) {
        self.0.adopt(source, &other.0);
        self.1.adopt(source, &other.1);
    }
}
