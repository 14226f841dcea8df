//! Runs several series of tasks on one thread and passes on their text in the order of its
//! timestamps, where the system has no threads.

use crate::interleaved::{Head, Sent, next_of, with_head};
use crate::ordered::Part;
use crate::timed::TimedText;

/// A task whose text is made when it is asked for.
pub trait Pull {
    /// What a task returns at its end.
    type Result;

    /// The next text, which may be empty; `None` at the end.
    fn next(&mut self) -> Option<TimedText>;

    /// The result, after the end.
    fn finish(self) -> Self::Result;
}

/// As [`interleaved::each`](crate::interleaved::each), on the calling thread: `start` begins a
/// task. Of each series one task runs, as far as its text is next, so that little text waits.
pub fn each<T, P: Pull>(
    series: &[Vec<T>],
    mut start: impl FnMut(&T) -> P,
    mut receive: impl FnMut(&T, Part<P::Result>) -> bool,
) {
    let mut heads: Vec<Head<P::Result>> = series.iter().map(|_| Head::new()).collect();
    let mut runs: Vec<Run<P>> = series.iter().map(|_| Run::default()).collect();
    loop {
        for ((head, run), tasks) in heads.iter_mut().zip(&mut runs).zip(series) {
            while head.parts.is_empty() && !head.ended {
                head.add(run.more(tasks, &mut start));
            }
        }
        let Some((first, second)) = next_of(&heads) else { return };
        let Some((head, tasks)) = heads.get_mut(first).zip(series.get(first)) else { return };
        if !head.pass(first, second, tasks, &mut receive) {
            return;
        }
    }
}

/// The task of a series that runs.
struct Run<P> {
    /// The number of the task that is next.
    next: usize,
    running: Option<P>,
    /// Its text before the first timestamp, until there is one.
    head: Option<Vec<u8>>,
}

impl<P> Default for Run<P> {
    fn default() -> Self {
        Run { next: 0, running: None, head: None }
    }
}

impl<P: Pull> Run<P> {
    /// What the series sends next; `None` at its end.
    fn more<T>(
        &mut self,
        tasks: &[T],
        start: &mut impl FnMut(&T) -> P,
    ) -> Option<(usize, Sent<P::Result>)> {
        if self.running.is_none() {
            self.running = Some(start(tasks.get(self.next)?));
            self.head = Some(Vec::new());
            self.next += 1;
        }
        let task = self.next - 1;
        while let Some(text) = self.running.as_mut().and_then(P::next) {
            if let Some(text) = with_head(&mut self.head, text) {
                return Some((task, Sent::Text(text)));
            }
        }
        match self.head.take().filter(|head| !head.is_empty()) {
            Some(head) => Some((task, Sent::Text(head.into()))),
            None => Some((task, Sent::Done(self.running.take()?.finish()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use tracewright_testing::Random;

    use super::*;
    use crate::interleaved;

    /// The texts of a task, last first, and its name.
    #[derive(Clone, Debug)]
    struct Texts(Vec<TimedText>, String);

    impl Pull for Texts {
        type Result = String;

        fn next(&mut self) -> Option<TimedText> {
            self.0.pop()
        }

        fn finish(self) -> String {
            self.1
        }
    }

    /// Texts of random length with random times, some without.
    fn texts(random: &mut Random, now: &mut u64, name: String) -> Texts {
        let mut all = Vec::new();
        for n in 0..random.below(30) {
            let mut timed = TimedText::default();
            for line in 0..random.below(4) {
                if random.below(4) == 0 {
                    *now += random.below(4);
                    timed.times.push((timed.text.len(), *now));
                }
                timed.text.extend(format!("{name} {n} {line}\n").into_bytes());
            }
            all.push(timed);
        }
        all.reverse();
        Texts(all, format!("{name} done\n"))
    }

    /// The text is that of several threads, also where it is not wanted to the end.
    #[test]
    fn one_thread_makes_the_text_of_several() {
        let mut random = Random::new(5);
        for round in 0..60 {
            let series: Vec<Vec<Texts>> = (0..1 + random.below(6))
                .map(|n| {
                    let mut now = random.below(20);
                    let count = random.below(4);
                    (0..count).map(|t| texts(&mut random, &mut now, format!("{n}.{t}"))).collect()
                })
                .collect();
            let parts = if round % 3 == 0 { random.index(40) } else { usize::MAX };
            let add = |all: &mut Vec<u8>, left: &mut usize, part| {
                match part {
                    Part::Output(text) => all.extend(text),
                    Part::Done(done) => all.extend(String::into_bytes(done)),
                }
                *left -= 1;
                *left > 0
            };
            let (mut one, mut left) = (Vec::new(), parts.max(1));
            each(&series, Texts::clone, |_, part| add(&mut one, &mut left, part));
            let (mut several, mut left) = (Vec::new(), parts.max(1));
            let work = |task: &Texts, send: &mut dyn FnMut(TimedText) -> bool| {
                let mut task = task.clone();
                while let Some(text) = task.next() {
                    if !send(text) {
                        break;
                    }
                }
                task.finish()
            };
            let done =
                interleaved::each(3, &series, work, |_, part| add(&mut several, &mut left, part));
            assert_eq!(done, Ok(()));
            assert_eq!(String::from_utf8(one), String::from_utf8(several), "round {round}");
        }
    }
}
