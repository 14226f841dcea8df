//! Several things to do at once, of which each may say something, and all that is said in their
//! order.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// What comes of one thing.
pub enum Part<R> {
    /// It says this.
    Output(Vec<u8>),
    /// It is done; nothing more comes of it.
    Done(R),
}

/// What those say whose turn has not come may take so much memory, each; who says more waits for
/// its turn.
const MOST: usize = 16 << 20;

/// Does `work` for each of `things`, of up to `threads` at once. Each is given where to say
/// something, which answers whether more is wanted. `receive` gets all in the order of `things`,
/// with the number of each, and answers the same; after a `false`, nothing more is heard.
pub fn each<T, R, W, H>(threads: usize, things: &[T], work: W, mut receive: H)
where
    T: Sync,
    R: Send,
    W: Fn(usize, &T, &mut dyn FnMut(Vec<u8>) -> bool) -> R + Sync,
    H: FnMut(usize, Part<R>) -> bool,
{
    let threads = threads.min(things.len());
    if threads <= 1 {
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
        return;
    }
    let queue = Queue::new();
    thread::scope(|scope| {
        let _closes = Closes(&queue);
        for _ in 0..threads {
            scope.spawn(|| {
                // Where one panics, the others need not go on.
                let closes = Closes(&queue);
                while let Some((n, thing)) = queue.next().and_then(|n| Some((n, things.get(n)?))) {
                    let done = work(n, thing, &mut |output| queue.send(n, Part::Output(output)));
                    queue.send(n, Part::Done(done));
                }
                std::mem::forget(closes);
            });
        }
        for n in 0..things.len() {
            loop {
                let Some(part) = queue.receive(n) else { return };
                let done = matches!(part, Part::Done(_));
                if !receive(n, part) {
                    return;
                }
                if done {
                    break;
                }
            }
        }
    });
}

struct Queue<R> {
    shared: Mutex<Shared<R>>,
    changed: Condvar,
}

struct Shared<R> {
    /// The next thing that nobody does yet.
    next: usize,
    /// Whose turn it is.
    turn: usize,
    closed: bool,
    /// What was said and not heard, by thing, and the memory that it takes.
    output: Vec<(VecDeque<Part<R>>, usize)>,
}

impl<R> Shared<R> {
    fn of(&mut self, n: usize) -> Option<&mut (VecDeque<Part<R>>, usize)> {
        if n >= self.output.len() {
            self.output.resize_with(n + 1, Default::default);
        }
        self.output.get_mut(n)
    }
}

impl<R> Queue<R> {
    fn new() -> Self {
        let shared = Shared { next: 0, turn: 0, closed: false, output: Vec::new() };
        Queue { shared: Mutex::new(shared), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Shared<R>> {
        // Nothing is left half done while the lock is held.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, idle: impl Fn(&mut Shared<R>) -> bool) -> MutexGuard<'_, Shared<R>> {
        self.changed
            .wait_while(self.lock(), |shared| !shared.closed && idle(shared))
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The next thing to do.
    fn next(&self) -> Option<usize> {
        let mut shared = self.lock();
        let n = shared.next;
        shared.next += 1;
        (!shared.closed).then_some(n)
    }

    /// Thing `n` says something. Answers whether more is wanted.
    fn send(&self, n: usize, part: Part<R>) -> bool {
        let weight = if let Part::Output(output) = &part { output.len() } else { 0 };
        let mut shared = self.wait(|shared| shared.of(n).is_some_and(|(_, heavy)| *heavy > MOST));
        if let Some((parts, heavy)) = shared.of(n) {
            parts.push_back(part);
            *heavy += weight;
        }
        if shared.turn == n {
            self.changed.notify_all();
        }
        !shared.closed
    }

    /// What thing `n` says next; its turn has come. `None` where a thread is gone.
    fn receive(&self, n: usize) -> Option<Part<R>> {
        self.lock().turn = n;
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

/// Nobody waits for one who is gone.
struct Closes<'a, R>(&'a Queue<R>);

impl<R> Drop for Closes<'_, R> {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each thing says its number many times; they are heard in order, whoever is done first.
    #[test]
    fn all_are_heard_in_order() {
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
