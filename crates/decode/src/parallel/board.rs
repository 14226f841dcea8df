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
    /// Only of the link it is known where it is. The listener goes on as one would that was forked last.
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
    pub(super) said: L::Said,
    pub(super) weight: usize,
}

/// What is made of one stretch, on its way from its worker to whoever joins the stretches.
struct Lane<L: Fork> {
    segments: VecDeque<Segment<L>>,
    weight: usize,
    done: bool,
    /// Its segments are being heard, until there are none.
    heard: bool,
}

/// A worker waits where what it made of a stretch takes more memory than this and nobody takes it.
pub(super) const MOST_WEIGHT: usize = 16 << 20;

/// Segments of a stretch that is not done are heard once they take so much memory. To wake a thread costs more than
/// a segment that is taken as it stands.
const WORTH: usize = 4 << 20;

/// Tasks to the workers, segments back. Tasks are taken in order, so that the first stretch that is not
/// joined always has a worker: whoever waits for it waits for someone who works.
pub(super) struct Board<L: Fork> {
    shared: Mutex<Shared<L>>,
    closed: AtomicBool,
    /// There is a task.
    given: Condvar,
    /// The first lane can be heard.
    said: Condvar,
    /// A lane has room.
    taken: Condvar,
}

struct Shared<L: Fork> {
    tasks: VecDeque<(u64, Task<L>)>,
    lanes: VecDeque<Lane<L>>,
    /// The number of the first of `lanes`.
    first: u64,
}

impl<L: Fork> Shared<L> {
    fn lane(&mut self, n: u64) -> Option<&mut Lane<L>> {
        let k = usize::try_from(n.checked_sub(self.first)?).ok()?;
        self.lanes.get_mut(k)
    }
}

impl<L: Fork> Board<L> {
    pub(super) fn new() -> Self {
        let (tasks, lanes) = (VecDeque::new(), VecDeque::new());
        let shared = Mutex::new(Shared { tasks, lanes, first: 0 });
        let [given, said, taken] = [(); 3].map(|()| Condvar::new());
        Board { shared, closed: AtomicBool::new(false), given, said, taken }
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
        shared.lanes.push_back(Lane { segments, weight: 0, done: false, heard: false });
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
    pub(super) fn say(&self, n: u64, segment: Segment<L>) {
        let full = |lane: &mut Lane<L>| lane.weight > MOST_WEIGHT;
        let mut shared = self.wait(&self.taken, |shared| shared.lane(n).is_some_and(full));
        let first = shared.first == n;
        if let Some(lane) = shared.lane(n) {
            lane.weight += segment.weight;
            lane.segments.push_back(segment);
            if first && lane.weight >= WORTH {
                self.said.notify_one();
            }
        }
    }

    /// Stretch `n` is done.
    pub(super) fn done(&self, n: u64) {
        let mut shared = self.lock();
        if let Some(lane) = shared.lane(n) {
            lane.done = true;
        }
        if shared.first == n {
            self.said.notify_one();
        }
    }

    /// The next segment of the first stretch; `None` after its last one, and then the next stretch is the
    /// first.
    pub(super) fn hear(&self) -> Option<Segment<L>> {
        let mut shared = self.wait(&self.said, |shared| {
            shared.lanes.front().is_some_and(|lane| {
                !lane.done && (lane.segments.is_empty() || !lane.heard && lane.weight < WORTH)
            })
        });
        if self.closed() {
            return None;
        }
        let lane = shared.lanes.front_mut()?;
        match lane.segments.pop_front() {
            Some(segment) => {
                lane.heard = !lane.segments.is_empty();
                lane.weight -= segment.weight;
                if lane.weight <= MOST_WEIGHT {
                    self.taken.notify_all();
                }
                Some(segment)
            }
            None => {
                shared.lanes.pop_front();
                shared.first += 1;
                None
            }
        }
    }

    fn close(&self) {
        // Under the lock: whoever is about to wait sees it, or is woken.
        let _shared = self.lock();
        self.closed.store(true, Ordering::Relaxed);
        for waits in [&self.given, &self.said, &self.taken] {
            waits.notify_all();
        }
    }
}

/// Closes the board where it is dropped, however that comes: no thread waits for one that is gone.
pub(super) struct Closes<'a, L: Fork>(pub(super) &'a Board<L>);

impl<L: Fork> Drop for Closes<'_, L> {
    fn drop(&mut self) {
        self.0.close();
    }
}
