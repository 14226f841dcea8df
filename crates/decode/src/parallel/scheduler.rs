//! How long stretches are, and whether it is worth while to decode them apart.

use super::Jobs;
use super::work_queue::MOST_WEIGHT;

/// The longest stretch where joins come early.
const LONG: usize = 1 << 20;

/// A stretch is longer than what is decoded twice by this factor.
const WORTH: usize = 16;

/// After so many stretches in a row that never joined, one in `2^so many` is tried.
const MOST_FAILURES: u32 = 7;

/// What was learned of the trace so far.
#[derive(Debug)]
pub(super) struct Scheduler {
    step: usize,
    shortest: usize,
    longest: usize,
    /// Length of the next stretch.
    pub(super) len: usize,
    /// Bytes at the head of a stretch that are decoded twice, about.
    head: usize,
    /// Memory that the words of a byte take, about.
    weight: usize,
    failures: u32,
    /// So many stretches are decoded in turn before the next is tried apart.
    pub(super) hold: u32,
}

impl Scheduler {
    pub(super) fn new(jobs: &Jobs) -> Self {
        let step = jobs.step.max(1);
        let whole = |len: usize| len.next_multiple_of(step).max(step);
        let (shortest, longest) = (whole(*jobs.chunk.start()), whole(*jobs.chunk.end()));
        let len = shortest;
        Scheduler { step, shortest, longest, len, head: 0, weight: 0, failures: 0, hold: 0 }
    }

    /// A stretch of `len` bytes was said in `weight` bytes.
    pub(super) fn output(&mut self, len: usize, weight: usize) {
        self.weight = (3 * self.weight + weight / len.max(1)).div_ceil(4);
        // The words of a few stretches wait in memory.
        let bearable = MOST_WEIGHT / self.weight.max(1);
        let worth = (WORTH * self.head).max(LONG);
        let next = worth.min(bearable).min(2 * self.len).clamp(self.shortest, self.longest);
        self.len = (next / self.step * self.step).max(self.step);
    }

    /// Of a stretch of `len` bytes the first `head` had to be decoded again.
    pub(super) fn joined(&mut self, len: usize, head: usize) {
        if head < len {
            self.head = (3 * self.head + head) / 4;
            self.failures = 0;
        } else {
            self.head = self.head.max(len / 2);
            self.failures = (self.failures + 1).min(MOST_FAILURES);
            self.hold = 1 << self.failures;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_grow_but_not_past_what_memory_bears() {
        let mut scheduler = Scheduler::new(&Jobs::new(2));
        let first = scheduler.len;
        for _ in 0..20 {
            scheduler.output(scheduler.len, 0);
        }
        assert_eq!(scheduler.len, LONG);
        for _ in 0..40 {
            scheduler.output(scheduler.len, scheduler.len * 300);
        }
        assert!(scheduler.len >= first && scheduler.len * 300 <= MOST_WEIGHT, "{}", scheduler.len);
    }

    #[test]
    fn what_never_joins_is_tried_ever_less() {
        let mut scheduler = Scheduler::new(&Jobs::new(2));
        let mut held = 0;
        for _ in 0..10 {
            scheduler.joined(scheduler.len, scheduler.len);
            assert!(scheduler.hold >= held);
            held = scheduler.hold;
            scheduler.output(scheduler.len, 0);
        }
        assert_eq!(held, 1 << MOST_FAILURES);
        assert!(scheduler.len > LONG, "longer stretches may join");
        scheduler.joined(scheduler.len, scheduler.step);
        scheduler.joined(scheduler.len, scheduler.len);
        assert_eq!(scheduler.hold, 2);
    }
}
