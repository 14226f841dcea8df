//! The actual state of the trace, and the join of the workers' output to it.

use std::collections::VecDeque;
use std::mem;

use super::any_fork::{AnyFork, Output, Write};
use super::scheduler::Scheduler;
use super::work_queue::{Part, Segment, State, WorkQueue};
use super::{Jobs, Work, bounded};
use crate::session::Session;

/// The session and listener that have received the whole trace so far.
pub(super) struct Joiner<'a> {
    pub(super) session: &'a mut Session,
    pub(super) listener: &'a mut dyn AnyFork,
    output: &'a mut Write<'a>,
    step: usize,
    /// Output of this many bytes of memory is passed on.
    weight: usize,
    wanted: bool,
    /// The head of the next chunk, as the worker of the chunk before has decoded it: segments from
    /// the actual state on.
    next_head: VecDeque<Segment>,
    pub(super) work: Work,
}

impl<'a> Joiner<'a> {
    pub(super) fn new(
        session: &'a mut Session,
        listener: &'a mut dyn AnyFork,
        output: &'a mut Write<'a>,
        jobs: &Jobs,
    ) -> Self {
        let step = jobs.step.max(1);
        let parts = listener.size().growth.parts();
        let weight = match jobs.count {
            ..=1 if parts > 1 => jobs.output.saturating_mul(parts),
            // The writer of the output waits for less than a worker sends.
            _ => (jobs.output / 4).saturating_mul(parts),
        };
        let (next_head, work) = Default::default();
        Joiner { session, listener, output, step, weight, wanted: true, next_head, work }
    }

    /// Whether more output is wanted.
    pub(super) fn wants_more(&self) -> bool {
        self.wanted
    }

    /// The work done so far.
    pub(super) fn work(&self) -> Work {
        Work { bytes: self.session.state().at(), ..self.work }
    }

    /// The states of session and listener.
    pub(super) fn state(&self) -> State {
        (self.session.state().clone(), self.listener.state())
    }

    /// Decodes the next bytes, and passes on their output.
    pub(super) fn decode(&mut self, bytes: &[u8]) {
        self.feed_all(bytes);
        self.flush();
    }

    /// Decodes the next bytes, and passes on the output where there is much.
    pub(super) fn feed_all(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(self.step) {
            self.feed(Some(part));
            if self.listener.size().output >= self.weight || self.listener.full() {
                self.flush();
            }
            if !self.wanted {
                return;
            }
        }
    }

    /// Feeds a step of bytes, or ends the trace for `None`, and passes on the listener's output
    /// where there is much.
    fn feed(&mut self, bytes: Option<&[u8]>) {
        let Joiner { session, listener, output, weight, .. } = self;
        // The output is complete up to here.
        let at = session.state().at();
        let send = |text, _: usize| output(text, at);
        self.wanted &= bounded::feed(session, bytes, &mut **listener, *weight, send);
    }

    /// Passes on the listener's output.
    pub(super) fn flush(&mut self) {
        // A listener without its output may have room again.
        let full = self.listener.full();
        let output = self.listener.take();
        self.send(output, self.session.state().at());
        self.wanted &= !full;
    }

    fn send(&mut self, output: Output, up_to: u64) {
        // After a `false` the function is not called again.
        if self.wanted {
            self.wanted = (self.output)(output, up_to) && !self.listener.full();
        }
    }

    /// The trace ends.
    pub(super) fn finish(&mut self) {
        if self.wanted {
            self.feed(None);
            self.flush();
        }
    }

    /// Joins the first chunk on `queue`, whose bytes are `bytes`. If its worker began in the actual
    /// state (`known`), all of its output is taken; otherwise the output from the checkpoint on at
    /// which the states are equal. The output before is that of the worker of the chunk before, as
    /// far as it has decoded the head of this one.
    pub(super) fn join(
        &mut self,
        queue: &WorkQueue,
        bytes: &[u8],
        known: bool,
        scheduler: &mut Scheduler,
    ) {
        let sources = self.session.state().sources();
        let begin = self.session.state().at();
        // A worker that did not begin in the actual state has the chunk after the one joined last.
        let mut heads = mem::take(&mut self.next_head);
        // Which parts of the worker's state equal the actual state.
        let mut same = Same { link: known, sources: vec![known; sources] };
        // The activity of each source at the beginning of the segment, as the worker counts it.
        let mut activity: Vec<u64> = (0..sources)
            .map(|n| if known { self.session.state().activity(n) } else { 0 })
            .collect();
        // The actual state, if it is ahead of `self.session`.
        let mut ahead: Option<State> = None;
        let (mut end, mut head, mut weight) = (0, 0, 0);
        // Whether parts of the output of the current segment were dropped. They are taken where
        // all states are equal: then the segment fits, too.
        let mut dropped = false;
        // Whether all segments so far of the head of the next chunk begin in the actual state.
        let mut next_fits = true;
        while let Some(part) = queue.receive() {
            let segment = match part {
                Part::Segment(segment) => segment,
                // The output of the segment is too large to wait for its end.
                Part::Output(output, size) => {
                    weight += size;
                    if !dropped && same.all() {
                        self.send(output, begin + end as u64);
                    } else {
                        dropped = true;
                    }
                    if !self.wanted {
                        return;
                    }
                    continue;
                }
            };
            let is_active = |n: usize, activity: &[u64]| {
                activity.get(n).is_none_or(|&before| segment.state.0.activity(n) != before)
            };
            let fits = !dropped
                && same.link
                && same.sources.iter().enumerate().all(|(n, s)| *s || !is_active(n, &activity));
            activity.clear();
            activity.extend((0..sources).map(|n| segment.state.0.activity(n)));
            let mut segment = *segment;
            if fits {
                let before = self.next_head.back().map(|head| &head.state).or(ahead.as_ref());
                for (n, _) in same.sources.iter().enumerate().filter(|(_, same)| !**same) {
                    // The source is not active in the segment: its state has not changed.
                    match before {
                        Some(before) => segment.state.adopt(n, before),
                        None => segment.state.adopt(n, &self.state()),
                    }
                }
            }
            if let Some(beyond @ 1..) = segment.end.checked_sub(bytes.len()) {
                next_fits &= fits;
                if next_fits {
                    self.next_head.push_back(Segment { end: beyond, ..segment });
                }
                continue;
            }
            weight += segment.weight;
            let prepared = heads.pop_front().filter(|head| !fits && head.end == segment.end);
            if let Some(prepared) = prepared {
                same.compare(&prepared.state, &segment.state);
                self.work.prepared += (segment.end - end) as u64;
                head = segment.end;
                ahead = Some(prepared.state);
                self.send(prepared.output, begin + segment.end as u64);
            } else if fits {
                ahead = Some(segment.state);
                self.send(segment.output, begin + segment.end as u64);
            } else {
                heads.clear();
                self.go_to(ahead.take());
                self.decode(bytes.get(end..segment.end).unwrap_or_default());
                head = segment.end;
                same.compare(&self.state(), &segment.state);
            }
            end = segment.end;
            dropped = false;
            if !self.wanted {
                return;
            }
        }
        self.go_to(ahead);
        if !known {
            self.count(bytes.len(), head);
            scheduler.joined(bytes.len(), head);
        }
        scheduler.output(bytes.len(), weight);
    }

    /// Counts a chunk of `len` bytes, of which the worker's output for the first `head` was not
    /// taken.
    fn count(&mut self, len: usize, head: usize) {
        self.work.again += head as u64;
        self.work.chunks += 1;
        self.work.joined += u64::from(head < len);
    }

    fn go_to(&mut self, state: Option<State>) {
        if let Some((checkpoint, state)) = state {
            self.session.resume(checkpoint);
            self.listener.resume(state);
        }
    }
}

/// Which parts of two states are equal.
struct Same {
    /// The link, and the part of the listener's state that belongs to no source.
    link: bool,
    /// Each source, and the part of the listener's state that belongs to it.
    sources: Vec<bool>,
}

impl Same {
    fn all(&self) -> bool {
        self.link && self.sources.iter().all(|same| *same)
    }

    fn compare(&mut self, one: &State, other: &State) {
        self.link = one.0.same_link(&other.0) && one.1.same_beside(&*other.1);
        for (n, same) in self.sources.iter_mut().enumerate() {
            *same = one.0.same_source(n, &other.0) && one.1.same(n, &*other.1);
        }
    }
}

trait Adopt {
    fn adopt(&mut self, source: usize, other: &Self);
}

impl Adopt for State {
    fn adopt(&mut self, source: usize, other: &Self) {
        self.0.adopt(source, &other.0);
        self.1.adopt(source, &*other.1);
    }
}
