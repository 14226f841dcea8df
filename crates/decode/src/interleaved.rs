//! Runs several series of tasks at once and passes on their text in the order of its timestamps.
//!
//! Each series has a thread, of which only some run at any time; a thread waits while enough of its
//! text waits. So the memory does not depend on the length of the text, however far apart the times
//! of two series are.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::ordered::Part;
use crate::timed::TimedText;

/// Text of all series that waits may take about this many bytes of memory.
const MOST: usize = 64 << 20;
/// That of a series is at least this.
const LEAST: usize = 1 << 18;
/// The text of a task before its first timestamp is that of the timestamp if it is not longer.
const HEAD: usize = 1 << 18;

/// The most series: each takes a thread.
pub const MAX_SERIES: usize = 1 << 10;

/// The system refused to start a thread for each series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused;

/// Calls `work` for each task of each of `series`: those of a series one after another, on up to
/// `threads` threads at a time. `work` is given the task, and a function that sends text and
/// returns whether more is wanted. `receive` gets all parts with their tasks, and returns whether
/// more is wanted. After it returns `false` it is not called again.
///
/// The parts of a series are received in order. Of several series, the text with the least time is
/// received first, and with equal times that of the first series. The time of text is that of the
/// last timestamp before it in its series, and in a task before the first timestamp that of the
/// first; where there is none, 0. It does not decrease in a series. The order does not depend on
/// `threads`, nor on how the text is cut when it is sent.
///
/// # Errors
/// [`Refused`]: `receive` was not called.
pub fn each<T, R, W, H>(
    threads: usize,
    series: &[Vec<T>],
    work: W,
    mut receive: H,
) -> Result<(), Refused>
where
    T: Sync,
    R: Send,
    W: Fn(&T, &mut dyn FnMut(TimedText) -> bool) -> R + Sync,
    H: FnMut(&T, Part<R>) -> bool,
{
    let queue = Queue::new(series.len(), threads);
    thread::scope(|scope| {
        let _close = CloseOnDrop(&queue);
        for (n, tasks) in series.iter().enumerate() {
            let (queue, work) = (&queue, &work);
            let run = move || {
                // A panic in one thread stops the others.
                let close = CloseOnDrop(queue);
                if queue.enter() {
                    run_tasks(n, tasks, work, queue);
                }
                queue.leave(n);
                std::mem::forget(close);
            };
            if thread::Builder::new().spawn_scoped(scope, run).is_err() {
                return Err(Refused);
            }
        }
        let mut heads: Vec<Head<R>> = series.iter().map(|_| Head::new()).collect();
        loop {
            for (n, head) in heads.iter_mut().enumerate() {
                while head.parts.is_empty() && !head.ended {
                    head.add(queue.receive(n));
                }
            }
            if queue.lock().closed {
                return Ok(());
            }
            let Some((first, second)) = next_of(&heads) else { return Ok(()) };
            let Some((head, tasks)) = heads.get_mut(first).zip(series.get(first)) else {
                return Ok(());
            };
            if !head.pass(first, second, tasks, &mut receive) {
                return Ok(());
            }
        }
    })
}

/// The series whose part is next, and the time and the number of the series after whose next part
/// it is not. `None` where no parts wait.
pub(crate) fn next_of<R>(heads: &[Head<R>]) -> Option<(usize, (u64, usize))> {
    let mut order = heads.iter().enumerate().filter_map(|(n, head)| {
        let (time, ..) = head.parts.front()?;
        Some((*time, n))
    });
    let mut first = order.next()?;
    let mut second = (u64::MAX, usize::MAX);
    for other in order {
        match other < first {
            true => (first, second) = (other, first),
            false => second = second.min(other),
        }
    }
    Some((first.1, second))
}

/// Does the tasks of series `n`.
fn run_tasks<T, R>(
    n: usize,
    tasks: &[T],
    work: &impl Fn(&T, &mut dyn FnMut(TimedText) -> bool) -> R,
    queue: &Queue<R>,
) {
    for (t, task) in tasks.iter().enumerate() {
        let mut head = Some(Vec::new());
        let done = work(task, &mut |text| match with_head(&mut head, text) {
            Some(text) => queue.send(n, t, Sent::Text(text)),
            None => queue.is_open(),
        });
        let head = head.take().unwrap_or_default();
        if !head.is_empty() && !queue.send(n, t, Sent::Text(head.into())) {
            return;
        }
        if !queue.send(n, t, Sent::Done(done)) {
            return;
        }
    }
}

/// `text` with the text of the task before it, which is in `head` up to the first timestamp. `None`
/// while there is none.
pub(crate) fn with_head(head: &mut Option<Vec<u8>>, text: TimedText) -> Option<TimedText> {
    let Some(mut before) = head.take() else { return Some(text) };
    let offset = before.len();
    before.extend_from_slice(&text.text);
    let first = text.times.first().map_or(before.len(), |(at, _)| offset + at);
    if text.times.is_empty() && first <= HEAD {
        *head = Some(before);
        return None;
    }
    let mut times: Vec<_> = text.times.iter().map(|&(at, time)| (offset + at, time)).collect();
    if let Some((at, _)) = times.first_mut()
        && first <= HEAD
    {
        *at = 0;
    }
    Some(TimedText { text: before, times })
}

/// The next parts of a series, each with its time and the number of its task.
pub(crate) struct Head<R> {
    pub(crate) parts: VecDeque<(u64, usize, Part<R>)>,
    time: u64,
    pub(crate) ended: bool,
}

impl<R> Head<R> {
    pub(crate) fn new() -> Self {
        Head { parts: VecDeque::new(), time: 0, ended: false }
    }

    /// Passes on the parts before the time and the series `until` of series `n`, which has `tasks`.
    /// Returns whether more is wanted.
    pub(crate) fn pass<T>(
        &mut self,
        n: usize,
        until: (u64, usize),
        tasks: &[T],
        receive: &mut impl FnMut(&T, Part<R>) -> bool,
    ) -> bool {
        while self.parts.front().is_some_and(|(time, ..)| (*time, n) < until) {
            if let Some((_, task, part)) = self.parts.pop_front()
                && let Some(task) = tasks.get(task)
                && !receive(task, part)
            {
                return false;
            }
        }
        true
    }

    pub(crate) fn add(&mut self, sent: Option<(usize, Sent<R>)>) {
        let (task, sent) = match sent {
            Some(sent) => sent,
            None => return self.ended = true,
        };
        let TimedText { text, times } = match sent {
            Sent::Text(text) => text,
            Sent::Done(done) => {
                return self.parts.push_back((self.time, task, Part::Done(done)));
            }
        };
        let mut start = 0;
        let ends = times.iter().map(|&(at, time)| (at, Some(time)));
        for (end, time) in ends.chain([(text.len(), None)]) {
            if let Some(text) = text.get(start..end).filter(|text| !text.is_empty()) {
                self.parts.push_back((self.time, task, Part::Output(text.to_vec())));
            }
            (start, self.time) = (end, self.time.max(time.unwrap_or(0)));
        }
    }
}

/// What a task sends.
pub(crate) enum Sent<R> {
    Text(TimedText),
    Done(R),
}

struct Queue<R> {
    shared: Mutex<Shared<R>>,
    /// A part of the series that is waited for was sent.
    arrived: Condvar,
    /// Parts were received, or a thread waits.
    changed: Condvar,
    /// The most threads that run.
    threads: usize,
    /// The most text of a series.
    most: usize,
}

struct Shared<R> {
    /// Threads that run.
    running: usize,
    /// The series that is waited for.
    current: usize,
    closed: bool,
    series: Vec<Series<R>>,
}

/// What waits of a series.
struct Series<R> {
    /// The parts and the numbers of their tasks.
    parts: VecDeque<(usize, Sent<R>)>,
    /// Bytes of text.
    weight: usize,
    ended: bool,
}

impl<R> Queue<R> {
    fn new(series: usize, threads: usize) -> Self {
        let new = || Series { parts: VecDeque::new(), weight: 0, ended: false };
        let series: Vec<_> = std::iter::repeat_with(new).take(series).collect();
        let most = (MOST / series.len().max(1)).max(LEAST);
        let shared = Mutex::new(Shared { running: 0, current: 0, closed: false, series });
        let (arrived, changed) = (Condvar::new(), Condvar::new());
        Queue { shared, arrived, changed, threads: threads.max(1), most }
    }

    fn lock(&self) -> MutexGuard<'_, Shared<R>> {
        // The shared state is consistent whenever the lock is released, also by a panic.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_open(&self) -> bool {
        !self.lock().closed
    }

    /// Waits until a further thread may run. Returns whether the queue is open.
    fn run<'a>(&self, shared: MutexGuard<'a, Shared<R>>) -> bool {
        let waits = |shared: &mut Shared<R>| !shared.closed && shared.running >= self.threads;
        let mut shared =
            self.changed.wait_while(shared, waits).unwrap_or_else(PoisonError::into_inner);
        shared.running += 1;
        !shared.closed
    }

    /// A thread begins. Returns whether it has anything to do.
    fn enter(&self) -> bool {
        self.run(self.lock())
    }

    /// The thread of series `n` ends.
    fn leave(&self, n: usize) {
        let mut shared = self.lock();
        shared.running = shared.running.saturating_sub(1);
        if let Some(series) = shared.series.get_mut(n) {
            series.ended = true;
        }
        self.arrived.notify_all();
        self.changed.notify_all();
    }

    /// Sends a part of series `n`. Returns whether more is wanted.
    fn send(&self, n: usize, task: usize, part: Sent<R>) -> bool {
        let mut shared = self.lock();
        let current = shared.current == n;
        let Some(series) = shared.series.get_mut(n) else { return false };
        if let Sent::Text(text) = &part {
            series.weight += text.text.len();
        }
        series.parts.push_back((task, part));
        if current {
            self.arrived.notify_all();
        }
        if series.weight <= self.most || shared.closed {
            return !shared.closed;
        }
        shared.running = shared.running.saturating_sub(1);
        self.changed.notify_all();
        let full = |shared: &mut Shared<R>| {
            let heavy = shared.series.get(n).is_some_and(|series| series.weight > self.most / 2);
            heavy && !shared.closed
        };
        let shared = self.changed.wait_while(shared, full).unwrap_or_else(PoisonError::into_inner);
        self.run(shared)
    }

    /// Receives the next part of series `n`. `None` after its end, and where the queue is closed.
    fn receive(&self, n: usize) -> Option<(usize, Sent<R>)> {
        let mut shared = self.lock();
        shared.current = n;
        let waits = |shared: &mut Shared<R>| {
            let empty = |series: &Series<R>| series.parts.is_empty() && !series.ended;
            !shared.closed && shared.series.get(n).is_some_and(empty)
        };
        let mut shared =
            self.arrived.wait_while(shared, waits).unwrap_or_else(PoisonError::into_inner);
        if shared.closed {
            return None;
        }
        let series = shared.series.get_mut(n)?;
        let part = series.parts.pop_front()?;
        if let Sent::Text(text) = &part.1 {
            let full = series.weight > self.most / 2;
            series.weight -= text.text.len();
            if full && series.weight <= self.most / 2 {
                self.changed.notify_all();
            }
        }
        Some(part)
    }
}

/// Closes the queue when it is dropped, so that a thread that ends early does not block the
/// others.
struct CloseOnDrop<'a, R>(&'a Queue<R>);

impl<R> Drop for CloseOnDrop<'_, R> {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.arrived.notify_all();
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use tracewright_testing::Random;

    use super::*;

    /// Lines of one task: whether each begins with a timestamp.
    type Lines = Vec<(Option<u64>, String)>;

    /// The lines of all series in order: by the definition, sorted by time and series.
    fn expected(series: &[Vec<Lines>]) -> Vec<String> {
        let mut all = Vec::new();
        for (n, tasks) in series.iter().enumerate() {
            let mut now = 0;
            for (task, lines) in tasks.iter().enumerate() {
                let first = lines.iter().find_map(|(time, _)| *time);
                now = now.max(first.unwrap_or(0));
                for (time, line) in lines {
                    now = now.max(time.unwrap_or(0));
                    all.push((now, n, line.clone()));
                }
                all.push((now, n, format!("done {n} {task}")));
            }
        }
        // The sort is stable.
        all.sort_by_key(|(time, n, _)| (*time, *n));
        all.into_iter().map(|(.., line)| line).collect()
    }

    /// The lines as they are received. They are sent in random pieces.
    fn received(threads: usize, series: &[Vec<Lines>], most: usize) -> Vec<String> {
        let tasks: Vec<Vec<(usize, usize)>> = series
            .iter()
            .enumerate()
            .map(|(n, tasks)| (0..tasks.len()).map(|task| (n, task)).collect())
            .collect();
        let work = |&(n, task): &(usize, usize), send: &mut dyn FnMut(TimedText) -> bool| {
            let mut random = Random::new((threads * 100 + n * 10 + task) as u64);
            let mut timed = TimedText::default();
            for (time, line) in &series[n][task] {
                timed.times.extend(time.map(|time| (timed.text.len(), time)));
                timed.text.extend_from_slice(line.as_bytes());
                timed.text.push(b'\n');
                if random.below(3) == 0 && !send(std::mem::take(&mut timed)) {
                    return String::new();
                }
            }
            send(timed);
            format!("done {n} {task}")
        };
        let (mut lines, mut text) = (Vec::new(), Vec::new());
        let done = each(threads, &tasks, work, |_, part| {
            match part {
                Part::Output(part) => text.extend(part),
                Part::Done(done) => text.extend(format!("{done}\n").into_bytes()),
            }
            let whole = String::from_utf8(std::mem::take(&mut text)).expect("text");
            lines.extend(whole.lines().map(str::to_owned));
            lines.len() < most
        });
        assert_eq!(done, Ok(()));
        lines
    }

    fn series(random: &mut Random) -> Vec<Vec<Lines>> {
        let lines = |random: &mut Random, now: &mut u64, n: usize| -> Lines {
            (0..random.below(60))
                .map(|line| {
                    let time = (random.below(4) == 0).then(|| {
                        *now += random.below(4);
                        *now
                    });
                    (time, format!("{n} {line} {}", "x".repeat(random.below(9) as usize)))
                })
                .collect()
        };
        (0..1 + random.below(6) as usize)
            .map(|n| {
                let mut now = random.below(20);
                (0..random.below(4)).map(|_| lines(random, &mut now, n)).collect()
            })
            .collect()
    }

    #[test]
    fn text_is_in_the_order_of_time() {
        let mut random = Random::new(3);
        for _ in 0..40 {
            let series = series(&mut random);
            let want = expected(&series);
            for threads in [1, 2, 5] {
                assert_eq!(received(threads, &series, usize::MAX), want, "{threads} threads");
            }
        }
    }

    /// A series that is far ahead waits, and so does one whose text is not wanted any more.
    #[test]
    fn text_that_waits_is_bounded() {
        let line = "y".repeat(LEAST / 2);
        let late: Lines = (0..300).map(|n| (Some(1000 + n), format!("a{n} {line}"))).collect();
        let early: Lines = (0..900).map(|n| (Some(n), format!("b{n}"))).collect();
        let most = |series: &[Vec<Lines>], count| {
            let found = received(2, series, count);
            assert!(found.iter().take(count.min(900)).all(|line| line.starts_with('b')));
            found.len()
        };
        let series = [vec![late], vec![early]];
        assert_eq!(most(&series, 400), 400);
        assert_eq!(most(&series, usize::MAX), 1202);
        // What is not received stays where it is made, except for the bounds.
        let queue: Queue<()> = Queue::new(3, 1);
        assert!(queue.enter());
        thread::scope(|scope| {
            let sender = scope.spawn(|| {
                let piece = || TimedText::from(vec![0; queue.most / 4]);
                (0..9).all(|_| queue.send(1, 0, Sent::Text(piece())))
            });
            while queue.lock().series[1].weight <= queue.most {
                thread::yield_now();
            }
            // Its thread does not run: another one may.
            assert!(queue.enter());
            assert_eq!(queue.lock().series[1].weight, queue.most / 4 * 5);
            drop(CloseOnDrop(&queue));
            assert!(!sender.join().expect("a result"));
        });
    }
}
