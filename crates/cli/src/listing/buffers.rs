//! Lists the buffers of a capture, several of them at once, and prints them in order.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use tracewright::decode::ordered::{self, Part};
use tracewright::decode::{Counts, Jobs, Tally, TimedText, interleaved};
use tracewright::joined::traces_time;
use tracewright::views::Stats;

use crate::fail::Fail;
use crate::input::{Input, Job};
use crate::message;
use crate::output::Output;
use crate::report;
use crate::run::Runs;

/// Bytes of trace below which one thread decodes all buffers, before others would have started.
const SMALL: u64 = 1 << 12;

/// Receives the entries of a buffer, and returns whether more are needed.
pub type Write<'a> = dyn FnMut(Vec<u8>) -> bool + 'a;

/// Receives the entries of a listing, and returns whether more are needed.
pub type TimedWrite<'a> = dyn FnMut(TimedText) -> bool + 'a;

/// What is printed of each buffer, and in which order.
pub struct Listed<'a> {
    /// The text before the entries of a buffer, by its number among those that are listed.
    pub heading: &'a dyn Fn(usize) -> String,
    /// The summary of each buffer is output; otherwise it is printed to standard error.
    pub summary: bool,
    /// The buffers of each CPU or thread, as indices of the selected buffers: their output is in
    /// the order of timestamps. `None`: the output is in the order of the buffers.
    pub by_time: Option<Vec<Vec<usize>>>,
    /// The most lines of entries; all for `None`.
    pub limit: Option<u64>,
    /// The summary of each buffer is printed to standard error also where there are no problems.
    pub ends_with_summary: bool,
    /// A note is printed where there are no entries.
    pub explains_nothing: bool,
}

/// The result of a buffer. Its entries, which are lines of packets, elements or instructions, are
/// written before.
#[derive(Debug, Default)]
pub struct Found {
    pub tally: Tally,
    /// Counts for the summary.
    pub stats: Option<Stats>,
    /// The text after the entries.
    pub end: String,
}

impl From<Tally> for Found {
    fn from(tally: Tally) -> Found {
        Found { tally, ..Found::default() }
    }
}

/// The buffers of each CPU or thread, where there are several, and all of their trace units trace
/// timestamps.
pub fn timed_series(input: &Input) -> Option<Vec<Vec<usize>>> {
    let linux = input.capture().linux.as_ref()?;
    let mut series = BTreeMap::new();
    for (n, &buffer) in input.buffers.iter().enumerate() {
        let part = linux.parts.get(buffer)?;
        series.entry(part.queue).or_insert_with(Vec::new).push(n);
    }
    if series.len() < 2 || series.len() > interleaved::MAX_SERIES {
        return None;
    }
    let mut sources = input.capture().sources.iter().filter(|source| !source.buffers.is_empty());
    sources.all(traces_time).then(|| series.into_values().collect())
}

/// What was wrong with the trace.
#[derive(Clone, Copy, Debug, Default)]
pub struct Problems {
    /// Bytes were undecodable, packets inconsistent, or program memory was missing.
    pub flawed: bool,
    /// The number of times that trace was lost.
    pub losses: u64,
    /// Decoding ended because of errors.
    pub stopped: bool,
    /// There are instructions, exceptions, software writes or data accesses, or only a part of the
    /// trace was looked at.
    pub active: bool,
}

impl Problems {
    /// What was wrong with the trace of a buffer.
    pub fn of(tally: &Tally) -> Problems {
        let active = tally.sources.iter().any(Counts::has_activity);
        Problems { flawed: tally.flawed(), losses: tally.losses(), stopped: false, active }
    }

    /// What was wrong before anything is decoded, of a `part` of the trace or all of it.
    pub fn of_capture(input: &Input, part: bool) -> Problems {
        // What a part of the trace lacks is in the trace.
        let losses = if part { 0 } else { input.capture().losses(&input.buffers) };
        Problems { flawed: false, losses, stopped: false, active: part }
    }

    /// Adds what was wrong with another part of the trace.
    pub fn add(&mut self, other: Problems) {
        self.flawed |= other.flawed;
        self.losses = self.losses.saturating_add(other.losses);
        self.stopped |= other.stopped;
        self.active |= other.active;
    }

    /// Whether the result is that of a trace and not empty, and nothing is wrong with it if
    /// problems are failures. Prints what is not so.
    pub fn answer(&self, input: &Input, strict: bool) -> bool {
        let traced = report::is_traced(input);
        if traced && !self.active {
            report::nothing_executed(input);
        }
        !self.fail(strict) && traced && self.active
    }

    /// Whether the command fails: where decoding ended because of errors, and for any problem if
    /// problems are failures. A note states the losses, which the
    /// summary of a buffer may not show.
    pub fn fail(&self, strict: bool) -> bool {
        if strict && self.losses > 0 {
            message::line(&format!("note: losses of trace: {}", self.losses));
        }
        self.stopped || strict && (self.flawed || self.losses > 0)
    }
}

/// Decodes the buffers of `input`, several of them at once, each by `work`, and prints what it
/// writes to `output`, in the order of the buffers, and the summary of each to standard error.
pub fn buffers<W>(
    input: &Input,
    jobs: &Jobs,
    output: &mut Output,
    runs: &Runs<'_>,
    work: W,
) -> Result<Problems, Fail>
where
    W: Fn(usize, &Job<'_>, Jobs, &mut Write<'_>) -> Result<Tally, Fail> + Sync,
{
    let listed = Listed {
        heading: &|_| String::new(),
        summary: false,
        by_time: None,
        limit: None,
        ends_with_summary: false,
        explains_nothing: false,
    };
    let work = |n: usize, job: &Job<'_>, jobs, write: &mut TimedWrite<'_>| {
        work(n, job, jobs, &mut |text| write(text.into())).map(Found::from)
    };
    listed_buffers(input, jobs, output, listed, runs, work)
}

/// As [`buffers`], as `listed` states.
pub fn listed_buffers<W>(
    input: &Input,
    jobs: &Jobs,
    output: &mut Output,
    listed: Listed<'_>,
    runs: &Runs<'_>,
    work: W,
) -> Result<Problems, Fail>
where
    W: Fn(usize, &Job<'_>, Jobs, &mut TimedWrite<'_>) -> Result<Found, Fail> + Sync,
{
    let size = |&buffer: &usize| input.capture().buffers[buffer].size();
    let all: u64 = input.buffers.iter().filter_map(size).sum();
    let small = input.buffers.iter().all(|buffer| size(buffer).is_some()) && all < SMALL;
    let mut printer = Printer::new(input, output, &listed, runs);
    let (mut threads, mut in_time, mut unordered) = (None, false, false);
    if let Some(series) = &listed.by_time {
        let count = (jobs.count / series.len()).max(1);
        let work = |&n: &usize, write: &mut TimedWrite<'_>| {
            work(n, &input.job(input.buffers[n]), Jobs { count, ..jobs.clone() }, write)
        };
        let run = interleaved::each(jobs.count, series, work, |&n, part| printer.receive(n, part));
        (in_time, unordered) = (run.is_ok(), run.is_err());
        if unordered {
            message::unordered(series.len());
        }
    }
    if !in_time {
        let work = |n: usize, buffer: &usize, write: &mut Write<'_>| {
            // A buffer larger than the share of a thread, or of unknown size, is decoded by all
            // threads.
            let large = size(buffer).is_none_or(|size| size > all / jobs.count as u64);
            let jobs = Jobs { count: if large { jobs.count } else { 1 }, ..jobs.clone() };
            work(n, &input.job(*buffer), jobs, &mut |text| write(text.text))
        };
        let receive = |n: usize, part: Part<_>| printer.receive(n, part);
        let count = if small { 1 } else { jobs.count };
        threads = ordered::each(count, &input.buffers, work, receive);
    }
    if let Some(threads) = threads.or(runs.refused()) {
        message::threads(jobs.count, threads);
    }
    let mut problems = printer.finish()?;
    problems.stopped = runs.report_stops();
    problems.flawed |= unordered;
    Ok(problems)
}

/// Prints the buffers.
struct Printer<'a> {
    input: &'a Input,
    output: &'a mut Output,
    listed: &'a Listed<'a>,
    runs: &'a Runs<'a>,
    /// The lines of entries that may still be printed; all for `None`.
    left: Option<u64>,
    /// The heading of each buffer is printed.
    headed: Vec<bool>,
    /// An entry was received.
    any: bool,
    problems: Problems,
    done: Result<(), Fail>,
}

impl<'a> Printer<'a> {
    fn new(
        input: &'a Input,
        output: &'a mut Output,
        listed: &'a Listed<'a>,
        runs: &'a Runs<'a>,
    ) -> Self {
        let headed = vec![false; input.buffers.len()];
        let (left, any, problems) = (listed.limit, false, Problems::of_capture(input, runs.part));
        let done = Ok(());
        Printer { input, output, listed, runs, left, headed, any, problems, done }
    }

    /// Prints a part of buffer `n`. Returns whether more is needed.
    fn receive(&mut self, n: usize, part: Part<Result<Found, Fail>>) -> bool {
        let more = self.print(n, part);
        // What follows is not looked at.
        self.problems.active |= !more;
        more
    }

    fn print(&mut self, n: usize, part: Part<Result<Found, Fail>>) -> bool {
        if !std::mem::replace(&mut self.headed[n], true) {
            let heading = (self.listed.heading)(n);
            if !heading.is_empty() && (!self.output.put(heading.as_bytes()) || self.left == Some(0))
            {
                return false;
            }
        }
        match part {
            Part::Output(lines) => {
                self.any |= !lines.is_empty();
                let (lines, more) = limited(&lines, &mut self.left);
                self.output.put(lines) && more
            }
            Part::Done(found) => {
                self.done = self.output.failed().and(found).and_then(|found| self.end(n, found));
                self.done.is_ok() && !self.output.closed()
            }
        }
    }

    /// Prints the end and the summary of buffer `n`.
    fn end(&mut self, n: usize, found: Found) -> Result<(), Fail> {
        let Found { tally, stats, end } = found;
        self.output.put(end.as_bytes());
        self.output.failed()?;
        self.problems.add(Problems::of(&tally));
        if self.runs.quiet || self.output.closed() {
            return Ok(());
        }
        let Listed { summary, ends_with_summary, .. } = *self.listed;
        let job = self.input.job(self.input.buffers[n]);
        // What follows an end because of errors explains nothing.
        let part = self.runs.part || self.runs.is_stopped(&job.buffer.name);
        let output = summary.then_some(&mut *self.output);
        if report::found(&job.decoded(&tally), stats.as_ref(), output, part, ends_with_summary)? {
            self.input.contradicted.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    fn finish(self) -> Result<Problems, Fail> {
        self.done?;
        // The reader may have closed the output within a buffer.
        self.output.failed()?;
        let Listed { limit, explains_nothing, .. } = *self.listed;
        if explains_nothing && !self.any && limit != Some(0) && !self.output.closed() {
            report::nothing_selected(self.input);
        }
        Ok(self.problems)
    }
}

/// The lines of `bytes` within `left`, which is reduced by them, and whether more are.
fn limited<'a>(bytes: &'a [u8], left: &mut Option<u64>) -> (&'a [u8], bool) {
    let Some(left) = left else { return (bytes, true) };
    let mut end = 0;
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        if *left == 0 {
            break;
        }
        *left -= 1;
        end += line.len();
    }
    (bytes.get(..end).unwrap_or_default(), *left > 0)
}
