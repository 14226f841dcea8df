//! Runs several tasks at once and passes on their output in the order of the tasks.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// A part of what a task produces.
pub enum Part<R> {
    /// Output.
    Output(Vec<u8>),
    /// The result. The task has ended.
    Done(R),
}

/// Output of a task that waits for earlier tasks may take this many bytes of memory. Then the task
/// waits.
const MOST: usize = 16 << 20;

/// Calls `work` for each of `things` on up to `threads` threads. `work` is given the number of the
/// thing, the thing, and a function that sends output and returns whether more is wanted. `receive`
/// gets all parts in the order of `things`, with the number of each thing, and returns whether more
/// is wanted. After it returns `false` it is not called again.
///
/// Where the system refuses to start a thread, fewer are used. Returns their number in that case.
pub fn each<T, R, W, H>(threads: usize, things: &[T], work: W, receive: H) -> Option<usize>
where
    T: Sync,
    R: Send,
    W: Fn(usize, &T, &mut dyn FnMut(Vec<u8>) -> bool) -> R + Sync,
    H: FnMut(usize, Part<R>) -> bool,
{
    each_near(threads, usize::MAX, things, work, receive)
}

/// [`each`] for results that take much memory: a thread begins with one of `things` after all but
/// `ahead` of those before it were received. `ahead` counts as the number of threads where it is
/// less.
pub fn each_near<T, R, W, H>(
    threads: usize,
    ahead: usize,
    things: &[T],
    work: W,
    mut receive: H,
) -> Option<usize>
where
    T: Sync,
    R: Send,
    W: Fn(usize, &T, &mut dyn FnMut(Vec<u8>) -> bool) -> R + Sync,
    H: FnMut(usize, Part<R>) -> bool,
{
    let threads = threads.min(things.len());
    if threads <= 1 {
        one_by_one(things, work, receive);
        return None;
    }
    let queue = Queue::new(ahead.max(threads));
    thread::scope(|scope| {
        let _close = CloseOnDrop(&queue);
        let run = || {
            // A panic in one thread stops the others.
            let close = CloseOnDrop(&queue);
            while let Some((n, thing)) = queue.next().and_then(|n| Some((n, things.get(n)?))) {
                let done = work(n, thing, &mut |output| queue.send(n, Part::Output(output)));
                queue.send(n, Part::Done(done));
            }
            std::mem::forget(close);
        };
        let start = |_: &usize| thread::Builder::new().spawn_scoped(scope, run).is_ok();
        let started = (0..threads).take_while(start).count();
        let refused = (started < threads).then_some(started.max(1));
        if started == 0 {
            one_by_one(things, &work, receive);
            return refused;
        }
        for n in 0..things.len() {
            loop {
                let Some(part) = queue.receive(n) else { return refused };
                let done = matches!(part, Part::Done(_));
                if !receive(n, part) {
                    return refused;
                }
                if done {
                    break;
                }
            }
        }
        refused
    })
}

/// [`each`] on the calling thread.
fn one_by_one<T, R>(
    things: &[T],
    work: impl Fn(usize, &T, &mut dyn FnMut(Vec<u8>) -> bool) -> R,
    mut receive: impl FnMut(usize, Part<R>) -> bool,
) {
    for (n, thing) in things.iter().enumerate() {
        let mut wanted = true;
        let done = work(n, thing, &mut |output| {
            wanted = wanted && receive(n, Part::Output(output));
            wanted
        });
        if !wanted || !receive(n, Part::Done(done)) {
            return;
        }
    }
}

struct Queue<R> {
    shared: Mutex<Shared<R>>,
    changed: Condvar,
    /// How far behind the current thing one may be that a thread takes.
    ahead: usize,
}

struct Shared<R> {
    /// The next thing that no thread has taken.
    next: usize,
    /// The thing whose parts are received now.
    current: usize,
    closed: bool,
    /// Parts that were sent and not received, by thing, and the bytes that they take.
    parts: Vec<(VecDeque<Part<R>>, usize)>,
}

impl<R> Shared<R> {
    fn of(&mut self, n: usize) -> Option<&mut (VecDeque<Part<R>>, usize)> {
        if n >= self.parts.len() {
            self.parts.resize_with(n + 1, Default::default);
        }
        self.parts.get_mut(n)
    }
}

impl<R> Queue<R> {
    fn new(ahead: usize) -> Self {
        let shared = Shared { next: 0, current: 0, closed: false, parts: Vec::new() };
        Queue { shared: Mutex::new(shared), changed: Condvar::new(), ahead }
    }

    fn lock(&self) -> MutexGuard<'_, Shared<R>> {
        // The shared state is consistent whenever the lock is released, also by a panic.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, idle: impl Fn(&mut Shared<R>) -> bool) -> MutexGuard<'_, Shared<R>> {
        self.changed
            .wait_while(self.lock(), |shared| !shared.closed && idle(shared))
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of the next thing to do. `None` after the queue is closed.
    fn next(&self) -> Option<usize> {
        let mut shared =
            self.wait(|shared| shared.next - shared.current.min(shared.next) > self.ahead);
        let n = shared.next;
        shared.next += 1;
        (!shared.closed).then_some(n)
    }

    /// Sends a part of thing `n`. Returns whether more is wanted.
    fn send(&self, n: usize, part: Part<R>) -> bool {
        let weight = if let Part::Output(output) = &part { output.len() } else { 0 };
        let mut shared = self.wait(|shared| shared.of(n).is_some_and(|(_, heavy)| *heavy > MOST));
        if let Some((parts, heavy)) = shared.of(n) {
            parts.push_back(part);
            *heavy += weight;
        }
        if shared.current == n {
            self.changed.notify_all();
        }
        !shared.closed
    }

    /// Receives the next part of thing `n`, which becomes the current one. `None` where the queue
    /// is closed.
    fn receive(&self, n: usize) -> Option<Part<R>> {
        let before = std::mem::replace(&mut self.lock().current, n);
        if before != n && self.ahead < usize::MAX {
            self.changed.notify_all();
        }
        let mut shared = self.wait(|shared| shared.of(n).is_none_or(|(parts, _)| parts.is_empty()));
        let (parts, heavy) = shared.of(n)?;
        let part = parts.pop_front();
        if let Some(Part::Output(output)) = &part {
            let full = *heavy > MOST;
            *heavy -= output.len();
            if full && *heavy <= MOST {
                self.changed.notify_all();
            }
        }
        part
    }
}

/// Closes the queue when it is dropped, so that a thread that ends early does not block the
/// others.
struct CloseOnDrop<'a, R>(&'a Queue<R>);

impl<R> Drop for CloseOnDrop<'_, R> {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// No thing begins before all but a few of those before it were received.
    #[test]
    fn things_wait_for_those_before_them() {
        let things = [(); 40];
        for (threads, ahead) in [(2, 2), (3, 3), (4, 6)] {
            let received = AtomicUsize::new(0);
            let work = |n: usize, (): &(), _: &mut dyn FnMut(Vec<u8>) -> bool| {
                let before = received.load(Ordering::SeqCst);
                assert!(n <= before + ahead, "{n} began after {before} were received");
                n
            };
            let mut all = Vec::new();
            each_near(threads, ahead, &things, work, |_, part| {
                if let Part::Done(n) = part {
                    all.push(n);
                    received.fetch_add(1, Ordering::SeqCst);
                    thread::sleep(std::time::Duration::from_micros(200));
                }
                true
            });
            assert!(all.into_iter().eq(0..things.len()));
        }
    }

    /// Each thing sends its number many times. The parts are received in the order of the things.
    #[test]
    fn parts_are_received_in_order() {
        let things: Vec<usize> = vec![400, 3, 0, 250, 7];
        let received = |threads, most: usize| {
            let mut received = Vec::new();
            let work = |n: usize, times: &usize, send: &mut dyn FnMut(Vec<u8>) -> bool| {
                (0..*times).all(|_| send(vec![n as u8; 1 << 17]))
            };
            each(threads, &things, work, |n, part| {
                received.push((n, matches!(part, Part::Output(output) if output[0] == n as u8)));
                received.len() < most
            });
            received
        };
        let want = received(1, usize::MAX);
        assert_eq!(want.len(), things.iter().sum::<usize>() + things.len());
        for threads in [2, 3, 8] {
            assert_eq!(received(threads, usize::MAX), want, "{threads} threads");
            assert_eq!(
                received(threads, 402),
                want[..402],
                "{threads} threads, and not all wanted"
            );
        }
    }
}
