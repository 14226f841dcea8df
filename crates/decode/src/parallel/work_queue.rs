//! What the threads hand to each other.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::{Checkpoint, Fork, Route};

/// A stretch of the buffer that a worker is to decode.
pub(super) struct Task<L: Fork> {
    /// Its place in the buffer.
    pub(super) at: u64,
    pub(super) bytes: Arc<Vec<u8>>,
    pub(super) from: From<L>,
}

/// Where a stretch begins.
pub(super) enum From<L: Fork> {
    /// There.
    Known(Checkpoint, L::State),
    /// Only of the link it is known where it is. The listener goes on as one would that was forked
    /// last.
    Link(Route, L::State),
}

/// What a worker makes of a part of a stretch.
pub(super) struct Segment<L: Fork> {
    /// Where in the stretch it ends.
    pub(super) end: usize,
    /// Where session and listener are there.
    pub(super) checkpoint: Checkpoint,
    pub(super) state: L::State,
    /// What the listener said of it, and what memory that takes.
    pub(super) output: L::Output,
    pub(super) weight: usize,
}

/// What is made of one stretch, on its way from its worker to whoever joins the stretches.
struct ChunkQueue<L: Fork> {
    segments: VecDeque<Segment<L>>,
    weight: usize,
    done: bool,
    /// Its segments are being heard, until there are none.
    received: bool,
}

/// What waits to be taken may take so much memory for each worker, all stretches together; the
/// words of a stretch should not take more.
pub(super) const MOST_WEIGHT: usize = 16 << 20;

/// Segments of a stretch that is not done are heard once they take so much memory. To wake a thread
/// costs more than a segment that is taken as it stands.
const WORTH: usize = 4 << 20;

/// Tasks to the workers, segments back. Tasks are taken in order, so that the first stretch that is
/// not joined always has a worker: whoever waits for it waits for someone who works.
pub(super) struct WorkQueue<L: Fork> {
    shared: Mutex<Shared<L>>,
    closed: AtomicBool,
    /// There is a task.
    given: Condvar,
    /// The first lane can be heard.
    output: Condvar,
    /// There is room, or another lane is the first.
    taken: Condvar,
    /// No more than this waits, but for what each worker has in hand: [`MOST_WEIGHT`] for each. As
    /// much as that is kept for the first lane, which is taken whatever the others do.
    bound: usize,
}

struct Shared<L: Fork> {
    tasks: VecDeque<(u64, Task<L>)>,
    lanes: VecDeque<ChunkQueue<L>>,
    /// The number of the first of `lanes`.
    first: u64,
    /// What waits in all lanes, and the most that ever did.
    weight: usize,
    most: usize,
}

impl<L: Fork> Shared<L> {
    fn lane(&mut self, n: u64) -> Option<&mut ChunkQueue<L>> {
        let k = usize::try_from(n.checked_sub(self.first)?).ok()?;
        self.lanes.get_mut(k)
    }
}

impl<L: Fork> WorkQueue<L> {
    /// For so many workers.
    pub(super) fn new(workers: usize) -> Self {
        let (tasks, lanes) = (VecDeque::new(), VecDeque::new());
        let shared = Mutex::new(Shared { tasks, lanes, first: 0, weight: 0, most: 0 });
        let [given, output, taken] = [(); 3].map(|()| Condvar::new());
        let bound = workers.saturating_mul(MOST_WEIGHT);
        WorkQueue { shared, closed: AtomicBool::new(false), given, output, taken, bound }
    }

    fn lock(&self) -> MutexGuard<'_, Shared<L>> {
        // Nothing is left half done while the lock is held.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits while the board is open and `idle` holds.
    fn wait(
        &self,
        on: &Condvar,
        mut idle: impl FnMut(&mut Shared<L>) -> bool,
    ) -> MutexGuard<'_, Shared<L>> {
        on.wait_while(self.lock(), |shared| !self.closed() && idle(shared))
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the stretch after the last one to whoever is free.
    pub(super) fn give(&self, task: Task<L>) {
        let mut shared = self.lock();
        let n = shared.first + shared.lanes.len() as u64;
        let segments = VecDeque::new();
        shared.lanes.push_back(ChunkQueue { segments, weight: 0, done: false, received: false });
        shared.tasks.push_back((n, task));
        self.given.notify_one();
    }

    /// Takes the next task, and its number. `None` where no more will come.
    pub(super) fn task(&self) -> Option<(u64, Task<L>)> {
        let mut shared = self.wait(&self.given, |shared| shared.tasks.is_empty());
        if self.closed() { None } else { shared.tasks.pop_front() }
    }

    /// Whether nothing more is wanted.
    pub(super) fn closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Hands over the next segment of stretch `n`.
    pub(super) fn send(&self, n: u64, segment: Segment<L>) {
        let full = |shared: &mut Shared<L>| {
            let of_first = shared.lanes.front().map_or(0, |lane| lane.weight);
            match shared.first == n {
                true => of_first >= MOST_WEIGHT,
                false => shared.weight.max(shared.weight - of_first + MOST_WEIGHT) >= self.bound,
            }
        };
        let mut shared = self.wait(&self.taken, full);
        let (first, weight) = (shared.first == n, segment.weight);
        if let Some(lane) = shared.lane(n) {
            lane.weight += weight;
            lane.segments.push_back(segment);
            if first && lane.weight >= WORTH {
                self.output.notify_one();
            }
            shared.weight += weight;
            shared.most = shared.most.max(shared.weight);
        }
    }

    /// The most that ever waited.
    pub(super) fn most(&self) -> usize {
        self.lock().most
    }

    /// Stretch `n` is done.
    pub(super) fn done(&self, n: u64) {
        let mut shared = self.lock();
        if let Some(lane) = shared.lane(n) {
            lane.done = true;
        }
        if shared.first == n {
            self.output.notify_one();
        }
    }

    /// The next segment of the first stretch; `None` after its last one, and then the next stretch
    /// is the first.
    pub(super) fn receive(&self) -> Option<Segment<L>> {
        let mut shared = self.wait(&self.output, |shared| {
            shared.lanes.front().is_some_and(|lane| {
                !lane.done && (lane.segments.is_empty() || !lane.received && lane.weight < WORTH)
            })
        });
        if self.closed() {
            return None;
        }
        let lane = shared.lanes.front_mut()?;
        match lane.segments.pop_front() {
            Some(segment) => {
                let full = lane.weight >= MOST_WEIGHT;
                lane.received = !lane.segments.is_empty();
                lane.weight -= segment.weight;
                let room = full && lane.weight < MOST_WEIGHT;
                let before = shared.weight;
                shared.weight -= segment.weight;
                if room || before >= self.bound && shared.weight < self.bound {
                    self.taken.notify_all();
                }
                Some(segment)
            }
            None => {
                shared.lanes.pop_front();
                shared.first += 1;
                // What waits in the lane that is the first now is no longer among the others.
                self.taken.notify_all();
                None
            }
        }
    }

    fn close(&self) {
        // Under the lock: whoever is about to wait sees it, or is woken.
        let _shared = self.lock();
        self.closed.store(true, Ordering::Relaxed);
        for waits in [&self.given, &self.output, &self.taken] {
            waits.notify_all();
        }
    }
}

/// Closes the board where it is dropped, however that comes: no thread waits for one that is gone.
pub(super) struct Closes<'a, L: Fork>(pub(super) &'a WorkQueue<L>);

impl<L: Fork> Drop for Closes<'_, L> {
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
    use crate::{Memory, Options, Plan, Session};

    /// Says nothing; what it says is as heavy as it is said to be.
    struct Mute;

    impl Fork for Mute {
        type State = ();
        type Output = ();

        fn fork(&self) -> Self {
            Mute
        }

        fn state(&self) {}

        fn resume(&mut self, (): ()) {}

        fn take(&mut self) {}
    }

    const SEGMENT: usize = 1 << 20;

    /// So many segments are said of stretch `n`: of the first few, more than is borne.
    const fn segments(n: u64) -> u64 {
        if n < 6 { 40 } else { n * 7 % 31 }
    }

    /// Stretches of all weights, a reader who comes late: what waits is bounded, and nobody waits
    /// for ever.
    #[test]
    fn what_waits_is_bounded() {
        const CHUNKS: u64 = 120;
        let capture = Capture::default();
        let (sources, skipped, messages) = Default::default();
        let plan = Plan { buffer: 0, framing: Framing::Raw, sources, skipped, messages };
        let memory = Memory::new(&capture);
        let session = Session::new(&capture, &plan, &memory, &Options::default());
        // Threads share where it is, not what it knows of the program.
        let state = session.state();
        for workers in [1, 2, 3, 8] {
            let queue = WorkQueue::<Mute>::new(workers);
            let task = || {
                let bytes = Arc::new(Vec::new());
                Task { at: 0, bytes, from: From::Known(state.clone(), ()) }
            };
            let mut received = 0;
            thread::scope(|scope| {
                let _closes = Closes(&queue);
                for _ in 0..workers {
                    scope.spawn(|| {
                        while let Some((n, _)) = queue.task() {
                            for k in 0..segments(n) {
                                let (end, checkpoint) = (k as usize, state.clone());
                                let weight = SEGMENT;
                                queue.send(
                                    n,
                                    Segment { end, checkpoint, state: (), output: (), weight },
                                );
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
                    // Nothing is heard before as much waits as may.
                    while n == 0 && queue.most() < workers * MOST_WEIGHT {
                        thread::yield_now();
                    }
                    while queue.receive().is_some() {
                        received += 1;
                    }
                }
            });
            assert_eq!(received, (0..CHUNKS).map(segments).sum::<u64>(), "{workers} workers");
            let bound = workers * MOST_WEIGHT + workers * SEGMENT;
            assert!(queue.most() <= bound, "{workers} workers: {} > {bound}", queue.most());
        }
    }
}
