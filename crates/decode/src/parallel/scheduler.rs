//! The length of chunks, and whether they are decoded by workers.

use super::Jobs;
use super::work_queue::MAX_WEIGHT;

/// The longest chunk while chunks join near their beginning, in bytes. On one thread nothing joins.
const LONG: usize = 1 << 20;

/// A chunk is at least this many times as long as its head, the part that is decoded twice.
const HEADS_PER_CHUNK: usize = 16;

/// A chunk is at least this many times as long as the bytes after it that its worker decodes.
const CHUNK_PER_OVERLAP: usize = 4;

/// The number of chunks beyond one for each worker: the chunk that is being joined, and one for the
/// next worker that is done.
const AHEAD: usize = 2;

/// The number of chunks that are decoded before the size of the output is known.
const FIRST: usize = 2;

/// Output of a chunk that waits for nearly all of the time of its worker.
const TOO_LARGE: usize = 2 * MAX_WEIGHT;

/// The greatest exponent of the wait: after `n` chunks in a row that did not join, `2^n` chunks are
/// decoded without workers before the next is tried.
const MAX_FAILURES: u32 = 7;

/// Observations of the trace so far, and the decisions that follow from them.
#[derive(Debug)]
pub(super) struct Scheduler {
    step: usize,
    shortest: usize,
    pub(super) longest: usize,
    /// [`LONG`], or `longest` on one thread.
    long: usize,
    /// Length of the next chunk in bytes.
    pub(super) len: usize,
    /// Average number of bytes at the head of a chunk that are decoded twice.
    head: usize,
    /// Average size of the output for one byte of trace, in bytes of memory. `None` before the
    /// first chunk has ended.
    weight: Option<usize>,
    /// The number of chunks in a row that did not join, at most [`MAX_FAILURES`].
    failures: u32,
    /// The number of chunks that the calling thread decodes before workers are tried again.
    pub(super) hold: u32,
}

impl Scheduler {
    pub(super) fn new(jobs: &Jobs) -> Self {
        let step = jobs.step.max(1);
        let whole = |len: usize| len.next_multiple_of(step).max(step);
        let (shortest, longest) = (whole(*jobs.chunk.start()), whole(*jobs.chunk.end()));
        let len = shortest;
        let long = if jobs.count <= 1 { longest } else { LONG };
        Scheduler {
            step,
            shortest,
            longest,
            long,
            len,
            head: 0,
            weight: None,
            failures: 0,
            hold: 0,
        }
    }

    /// Reports that the output for a chunk of `len` bytes takes `weight` bytes of memory.
    pub(super) fn output(&mut self, len: usize, weight: usize) {
        let average = (3 * self.weight.unwrap_or(0) + weight / len.max(1)).div_ceil(4);
        self.weight = Some(average);
        // The output of a few chunks waits in memory.
        let by_memory = MAX_WEIGHT / average.max(1);
        let by_head = (HEADS_PER_CHUNK * self.head).max(self.long);
        let next = by_head.min(by_memory).min(2 * self.len).clamp(self.shortest, self.longest);
        self.len = (next / self.step * self.step).max(self.step);
    }

    /// The most chunks that are decoded at a time by `count` workers. Where the output of the next
    /// chunk would wait for that of the one before, it is not begun: from the actual state it may
    /// take less time.
    pub(super) fn chunks(&self, count: usize) -> usize {
        match self.weight {
            Some(weight) if weight.saturating_mul(self.len) > TOO_LARGE => 1,
            Some(_) => count + AHEAD,
            None => FIRST,
        }
    }

    /// The number of bytes of the head of the next chunk that the worker of a chunk of `len` bytes
    /// decodes, too: the average head of the chunks so far, in whole steps.
    pub(super) fn overlap(&self, len: usize) -> usize {
        let most = len / CHUNK_PER_OVERLAP;
        let whole = |len: usize| len / self.step * self.step;
        whole(whole(self.head + self.step / 2).max(self.step).min(most))
    }

    /// Reports that the first `head` bytes of a chunk of `len` bytes were decoded twice.
    pub(super) fn joined(&mut self, len: usize, head: usize) {
        if head < len {
            self.head = (3 * self.head + head) / 4;
            self.failures = 0;
        } else {
            self.head = self.head.max(len / 2);
            self.failures = (self.failures + 1).min(MAX_FAILURES);
            self.hold = 1 << self.failures;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_grow_up_to_the_bound_of_memory() {
        let mut scheduler = Scheduler::new(&Jobs::new(2));
        let first = scheduler.len;
        for _ in 0..20 {
            scheduler.output(scheduler.len, 0);
        }
        assert_eq!(scheduler.len, LONG);
        for _ in 0..40 {
            scheduler.output(scheduler.len, scheduler.len * 300);
        }
        assert!(scheduler.len >= first && scheduler.len * 300 <= MAX_WEIGHT, "{}", scheduler.len);
    }

    #[test]
    fn chunks_that_never_join_are_tried_less_often() {
        let mut scheduler = Scheduler::new(&Jobs::new(2));
        let mut held = 0;
        for _ in 0..10 {
            scheduler.joined(scheduler.len, scheduler.len);
            assert!(scheduler.hold >= held);
            held = scheduler.hold;
            scheduler.output(scheduler.len, 0);
        }
        assert_eq!(held, 1 << MAX_FAILURES);
        assert!(scheduler.len > LONG, "longer chunks may join");
        scheduler.joined(scheduler.len, scheduler.step);
        scheduler.joined(scheduler.len, scheduler.len);
        assert_eq!(scheduler.hold, 2);
    }
}
