//! What the threads hand to each other.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tracewright_frames::Splitter;

use crate::{Checkpoint, Fork};

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
    /// Only of the link it is known where it is.
    Link(Splitter),
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
}

/// A worker waits where what it made of a stretch takes more memory than this and nobody takes it.
pub(super) const MOST_WEIGHT: usize = 16 << 20;

/// Tasks to the workers, segments back. Tasks are taken in order, so that the first stretch that is not
/// joined always has a worker: whoever waits for it waits for someone who works.
pub(super) struct Board<L: Fork> {
    shared: Mutex<Shared<L>>,
    changed: Condvar,
}

struct Shared<L: Fork> {
    tasks: VecDeque<(u64, Task<L>)>,
    lanes: VecDeque<Lane<L>>,
    /// The number of the first of `lanes`.
    first: u64,
    closed: bool,
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
        let shared = Mutex::new(Shared { tasks, lanes, first: 0, closed: false });
        Board { shared, changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Shared<L>> {
        // Nothing is left half done while the lock is held.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, shared: MutexGuard<'a, Shared<L>>) -> MutexGuard<'a, Shared<L>> {
        self.changed.wait(shared).unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the stretch after the last one to whoever is free.
    pub(super) fn give(&self, task: Task<L>) {
        let mut shared = self.lock();
        let n = shared.first + shared.lanes.len() as u64;
        shared.lanes.push_back(Lane { segments: VecDeque::new(), weight: 0, done: false });
        shared.tasks.push_back((n, task));
        self.changed.notify_all();
    }

    /// Takes the next task, and its number. `None` where no more will come.
    pub(super) fn task(&self) -> Option<(u64, Task<L>)> {
        let mut shared = self.lock();
        loop {
            if shared.closed {
                return None;
            }
            match shared.tasks.pop_front() {
                Some(task) => return Some(task),
                None => shared = self.wait(shared),
            }
        }
    }

    /// Whether nothing more is wanted.
    pub(super) fn closed(&self) -> bool {
        self.lock().closed
    }

    /// Hands over the next segment of stretch `n`.
    pub(super) fn say(&self, n: u64, segment: Segment<L>) {
        let mut shared = self.lock();
        while !shared.closed && shared.lane(n).is_some_and(|lane| lane.weight > MOST_WEIGHT) {
            shared = self.wait(shared);
        }
        if let Some(lane) = shared.lane(n) {
            lane.weight += segment.weight;
            lane.segments.push_back(segment);
        }
        self.changed.notify_all();
    }

    /// Stretch `n` is done.
    pub(super) fn done(&self, n: u64) {
        if let Some(lane) = self.lock().lane(n) {
            lane.done = true;
        }
        self.changed.notify_all();
    }

    /// The next segment of the first stretch; `None` after its last one, and then the next stretch is the
    /// first.
    pub(super) fn hear(&self) -> Option<Segment<L>> {
        let mut shared = self.lock();
        loop {
            if shared.closed {
                return None;
            }
            let lane = shared.lanes.front_mut()?;
            if let Some(segment) = lane.segments.pop_front() {
                lane.weight -= segment.weight;
                self.changed.notify_all();
                return Some(segment);
            }
            if lane.done {
                shared.lanes.pop_front();
                shared.first += 1;
                return None;
            }
            shared = self.wait(shared);
        }
    }

    fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }
}

/// Closes the board where it is dropped, however that comes: no thread waits for one that is gone.
pub(super) struct Closes<'a, L: Fork>(pub(super) &'a Board<L>);

impl<L: Fork> Drop for Closes<'_, L> {
    fn drop(&mut self) {
        self.0.close();
    }
}
