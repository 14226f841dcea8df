//! The queue between the calling thread and the workers: tasks to the workers, their output back.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::any_fork::{AnyState, Output};
use crate::checkpoint::Checkpoint;
use crate::route::Route;

/// The bytes of a chunk, and those after it that its worker decodes, too.
#[derive(Default)]
pub(super) struct Chunk {
    pub(super) bytes: Vec<u8>,
    /// The number of bytes that belong to the chunk. The others are the head of the next one.
    pub(super) len: usize,
}

impl Chunk {
    /// The bytes of the chunk, and the head of the next one.
    pub(super) fn split(&self) -> (&[u8], &[u8]) {
        self.bytes.split_at_checked(self.len).unwrap_or((&self.bytes, &[]))
    }
}

/// A chunk of the buffer for a worker to decode.
pub(super) struct Task {
    /// The chunk's offset in the buffer.
    pub(super) at: u64,
    pub(super) chunk: Arc<Chunk>,
    pub(super) from: StartPoint,
}

/// The state at the beginning of a chunk.
pub(super) enum StartPoint {
    /// The state of session and listener is known.
    Known(State),
    /// Only the state of the trace link is known. The listener starts in the state of a new fork.
    Link(Route, Box<dyn AnyState>),
}

/// The states of a session and its listener.
pub(super) type State = (Checkpoint, Box<dyn AnyState>);

/// What a worker sends.
pub(super) enum Part {
    /// Output before that of the segment that follows, and its size in bytes of memory.
    Output(Output, usize),
    /// The end of a segment. Those after the end of the chunk belong to the head of the next one.
    Segment(Box<Segment>),
}

impl Part {
    fn weight(&self) -> usize {
        match self {
            Part::Output(_, weight) => *weight,
            Part::Segment(segment) => segment.weight,
        }
    }
}

/// The output of a worker for a part of a chunk.
pub(super) struct Segment {
    /// The end of the part, in bytes from the beginning of the chunk.
    pub(super) end: usize,
    /// The states at the end of the part.
    pub(super) state: State,
    /// The listener's output, and the size of output and state in bytes of memory.
    pub(super) output: Output,
    pub(super) weight: usize,
}

/// What the worker of one chunk sends to the joiner.
struct ChunkQueue {
    parts: VecDeque<Part>,
    weight: usize,
    done: bool,
    /// The joiner receives the parts until there are none.
    receiving: bool,
}

/// Parts that wait for the joiner may take this many bytes of memory for each worker, all chunks
/// together. The scheduler chooses chunks whose output is not larger.
pub(super) const MAX_WEIGHT: usize = 16 << 20;

/// Parts of a chunk that is not done are received once they take this many bytes of memory. To wake
/// the joiner for each part costs more than the part itself.
const WAKE_WEIGHT: usize = 4 << 20;

/// Tasks to the workers, their output back. Workers take tasks in order, so that the first chunk
/// that is not joined always has a worker: the joiner never waits for a chunk that no worker has.
pub(super) struct WorkQueue {
    shared: Mutex<Shared>,
    closed: AtomicBool,
    /// Notified when a task was added.
    given: Condvar,
    /// Notified when parts of the first chunk can be received.
    output: Condvar,
    /// Notified when parts were taken, or when another chunk has become the first.
    taken: Condvar,
    /// The most bytes of memory that waiting parts take: [`MAX_WEIGHT`] for each worker.
    /// [`MAX_WEIGHT`] of it are reserved for the first chunk, which can always be received. Each
    /// worker holds one part besides.
    bound: usize,
}

struct Shared {
    tasks: VecDeque<(u64, Task)>,
    chunks: VecDeque<ChunkQueue>,
    /// The number of the first of `chunks`.
    first: u64,
    /// The weight of all waiting parts, and its maximum so far.
    weight: usize,
    most: usize,
}

impl Shared {
    fn chunk(&mut self, n: u64) -> Option<&mut ChunkQueue> {
        let k = usize::try_from(n.checked_sub(self.first)?).ok()?;
        self.chunks.get_mut(k)
    }
}

impl WorkQueue {
    /// A queue for `workers` workers.
    pub(super) fn new(workers: usize) -> Self {
        let (tasks, chunks) = (VecDeque::new(), VecDeque::new());
        let shared = Mutex::new(Shared { tasks, chunks, first: 0, weight: 0, most: 0 });
        let [given, output, taken] = [(); 3].map(|()| Condvar::new());
        let bound = workers.saturating_mul(MAX_WEIGHT);
        WorkQueue { shared, closed: AtomicBool::new(false), given, output, taken, bound }
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        // The shared state is consistent whenever the lock is released, also by a panic.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits while the queue is open and `idle` holds.
    fn wait(
        &self,
        on: &Condvar,
        mut idle: impl FnMut(&mut Shared) -> bool,
    ) -> MutexGuard<'_, Shared> {
        on.wait_while(self.lock(), |shared| !self.closed() && idle(shared))
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a task for the chunk after the last one.
    pub(super) fn give(&self, task: Task) {
        let mut shared = self.lock();
        let n = shared.first + shared.chunks.len() as u64;
        let parts = VecDeque::new();
        shared.chunks.push_back(ChunkQueue { parts, weight: 0, done: false, receiving: false });
        shared.tasks.push_back((n, task));
        self.given.notify_one();
    }

    /// Takes the next task, and its number. `None` after the queue is closed.
    pub(super) fn task(&self) -> Option<(u64, Task)> {
        let mut shared = self.wait(&self.given, |shared| shared.tasks.is_empty());
        if self.closed() { None } else { shared.tasks.pop_front() }
    }

    /// Whether the queue is closed.
    pub(super) fn closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Sends the next part of chunk `n`. Waits while there is no room. Returns whether the queue is
    /// open.
    pub(super) fn send(&self, n: u64, part: Part) -> bool {
        let full = |shared: &mut Shared| {
            let of_first = shared.chunks.front().map_or(0, |chunk| chunk.weight);
            match shared.first == n {
                true => of_first >= MAX_WEIGHT,
                false => shared.weight.max(shared.weight - of_first + MAX_WEIGHT) >= self.bound,
            }
        };
        let mut shared = self.wait(&self.taken, full);
        let (first, weight) = (shared.first == n, part.weight());
        if let Some(chunk) = shared.chunk(n) {
            chunk.weight += weight;
            chunk.parts.push_back(part);
            if first && chunk.weight >= WAKE_WEIGHT {
                self.output.notify_one();
            }
            shared.weight += weight;
            shared.most = shared.most.max(shared.weight);
        }
        !self.closed()
    }

    /// The maximum weight of waiting parts so far, in bytes.
    pub(super) fn most(&self) -> usize {
        self.lock().most
    }

    /// Reports that chunk `n` has no more parts.
    pub(super) fn done(&self, n: u64) {
        let mut shared = self.lock();
        if let Some(chunk) = shared.chunk(n) {
            chunk.done = true;
        }
        if shared.first == n {
            self.output.notify_one();
        }
    }

    /// Receives the next part of the first chunk. `None` after its last one: then the next chunk
    /// becomes the first.
    pub(super) fn receive(&self) -> Option<Part> {
        let mut shared = self.wait(&self.output, |shared| {
            shared.chunks.front().is_some_and(|chunk| {
                !chunk.done
                    && (chunk.parts.is_empty() || !chunk.receiving && chunk.weight < WAKE_WEIGHT)
            })
        });
        if self.closed() {
            return None;
        }
        let chunk = shared.chunks.front_mut()?;
        match chunk.parts.pop_front() {
            Some(part) => {
                let weight = part.weight();
                let full = chunk.weight >= MAX_WEIGHT;
                chunk.receiving = !chunk.parts.is_empty();
                chunk.weight -= weight;
                let room = full && chunk.weight < MAX_WEIGHT;
                let before = shared.weight;
                shared.weight -= weight;
                if room || before >= self.bound && shared.weight < self.bound {
                    self.taken.notify_all();
                }
                Some(part)
            }
            None => {
                shared.chunks.pop_front();
                shared.first += 1;
                // The weight of the new first chunk does not count against the others.
                self.taken.notify_all();
                None
            }
        }
    }

    fn close(&self) {
        // The lock is held, so that a thread that is about to wait either sees the flag or is
        // notified.
        let _shared = self.lock();
        self.closed.store(true, Ordering::Relaxed);
        for waits in [&self.given, &self.output, &self.taken] {
            waits.notify_all();
        }
    }
}

/// Closes the queue when it is dropped, also by a panic, so that no thread waits for a thread
/// that has ended.
pub(super) struct CloseOnDrop<'a>(pub(super) &'a WorkQueue);

impl Drop for CloseOnDrop<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use tracewright_capture::Capture;
    use tracewright_frames::Framing;

    use super::*;
    use crate::memory::Memory;
    use crate::plan::{Options, Plan};
    use crate::session::Session;

    /// The weight of the segments, which have no output.
    const SEGMENT: usize = 1 << 20;

    /// The number of segments of chunk `n`. The first few chunks have more than may wait.
    const fn segments(n: u64) -> u64 {
        if n < 6 { 40 } else { n * 7 % 31 }
    }

    /// Chunks of different weights and a late receiver: the waiting weight is bounded, and no
    /// thread blocks forever.
    #[test]
    fn waiting_output_is_bounded() {
        const CHUNKS: u64 = 120;
        let capture = Capture::default();
        let plan = Plan::with_sources(0, Framing::Raw, Vec::new());
        let memory = Memory::new(&capture);
        let session = Session::new(&capture, &plan, &memory, &Options::default()).unwrap();
        // The threads share the checkpoint, not the block cache.
        let state = session.state();
        for workers in [1, 2, 3, 8] {
            let queue = WorkQueue::new(workers);
            let task = || {
                let chunk = Arc::new(Chunk::default());
                Task { at: 0, chunk, from: StartPoint::Known((state.clone(), Box::new(()))) }
            };
            let mut received = 0;
            thread::scope(|scope| {
                let _close = CloseOnDrop(&queue);
                for _ in 0..workers {
                    scope.spawn(|| {
                        while let Some((n, _)) = queue.task() {
                            for k in 0..segments(n) {
                                let (end, weight) = (k as usize, SEGMENT);
                                // Every other part is output in the middle of a segment.
                                let part = match k % 2 {
                                    0 => Part::Output(Box::new(()), weight),
                                    _ => Part::Segment(Box::new(Segment {
                                        end,
                                        state: (state.clone(), Box::new(())),
                                        output: Box::new(()),
                                        weight,
                                    })),
                                };
                                queue.send(n, part);
                            }
                            queue.done(n);
                        }
                    });
                }
                let mut given = 0;
                for n in 0..CHUNKS {
                    while given < CHUNKS && given < n + workers as u64 + 2 {
                        queue.give(task());
                        given += 1;
                    }
                    // Nothing is received before the waiting weight has reached its bound.
                    while n == 0 && queue.most() < workers * MAX_WEIGHT {
                        thread::yield_now();
                    }
                    while queue.receive().is_some() {
                        received += 1;
                    }
                }
            });
            assert_eq!(received, (0..CHUNKS).map(segments).sum::<u64>(), "{workers} workers");
            let bound = workers * MAX_WEIGHT + workers * SEGMENT;
            assert!(queue.most() <= bound, "{workers} workers: {} > {bound}", queue.most());
        }
    }
}
