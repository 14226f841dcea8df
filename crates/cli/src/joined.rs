//! Call stacks of a `perf.data` file: all of its buffers, joined by thread.

use std::path::Path;

use tracewright::Listener;
use tracewright::analysis::Code;
use tracewright::analysis::stacks::{Part, StackCounts, Stacks, Visitor};
use tracewright::decode::{Caches, Fork, Jobs, Tally};
use tracewright::joined::{DecodeBuffers, Joined, JoinedBuffers, OpenBuffer, Taking};

use crate::args::SwitchArgs;
use crate::fail::Fail;
use crate::index::Selected;
use crate::input::{Input, Job};
use crate::listing::Problems;
use crate::live;
use crate::message;
use crate::report;
use crate::run::Runs;
use crate::stacks;
use crate::tasks;

/// How the call stacks of a capture are found.
pub struct Recipe<'a> {
    /// Elements of a transaction are withheld until it commits.
    pub committed: bool,
    /// The threads of the decoder.
    pub jobs: Jobs,
    /// Functions that switch tasks.
    pub switches: &'a SwitchArgs,
    /// The part of the trace.
    pub selected: Option<&'a Selected>,
    /// The path of the capture.
    pub path: &'a Path,
}

/// The call stacks of a capture.
pub struct Found<V> {
    pub visitor: V,
    pub code: Code,
    pub counts: StackCounts,
    pub problems: Problems,
    /// The counts of each buffer, by its number in the capture.
    pub tallies: Vec<(usize, Tally)>,
}

/// Receives the output of a listener with the number of its buffer; `None` after other frames.
/// Returns whether more is wanted.
type More<'a, V, O> = dyn FnMut(&mut V, Option<(usize, O)>) -> Result<bool, Fail> + 'a;

/// How the buffers of `input` continue each other, where it records their threads. Prints what is
/// not known of them.
pub fn of<'a>(input: &'a Input, recipe: &Recipe<'_>) -> Option<JoinedBuffers<'a>> {
    let mut joined = JoinedBuffers::new(input.capture(), &input.buffers)?;
    if joined.by_time && (recipe.committed || recipe.selected.is_some()) {
        (joined.by_time, joined.shared) = (false, false);
    }
    if !joined.shared && joined.series.len() > 1 {
        let why = match recipe.selected.is_some() || recipe.committed {
            true => "of a part of the trace",
            false => "without timestamps in the trace",
        };
        message::line(&format!(
            "note: {why}, the order of the CPUs is not known: a thread has a call stack on each CPU"
        ));
    }
    if joined.threads_of_records() {
        message::line(
            "note: the trace has no thread identifiers: each AUX record is taken for trace of the thread \
             that it was recorded with",
        );
    }
    Some(joined)
}

/// Decodes the buffers of `joined` to the call stacks of their threads. `visitor` is made for the
/// functions of the capture, and `listener` for each buffer.
pub fn run<V: Visitor, L: Listener + Fork + Send>(
    input: &Input,
    joined: &JoinedBuffers<'_>,
    recipe: &Recipe<'_>,
    visitor: impl FnOnce(&Code) -> V,
    taking: &Taking<V>,
    listener: &(dyn Fn(&Job<'_>) -> L + Sync),
    more: &mut More<'_, V, L::Output>,
) -> Result<Found<V>, Fail> {
    let code = Code::of_capture(input.capture());
    let tasks = tasks::of_joined(recipe.switches, input, &code, recipe.path)?;
    let targets = code.unwind_targets();
    let sources = input.capture().sources.len();
    let mut stacks = Stacks::joined(sources, visitor(&code), joined.shared)
        .with_switches(tasks.switches().iter().copied())
        .with_unwind_targets(targets);
    let runs = Runs::new(input.buffers.len(), recipe.committed, recipe.selected);
    let mut ended = Ended {
        input,
        part: runs.part,
        problems: Problems::of_capture(input, runs.part),
        tallies: Vec::new(),
    };
    let mut stopped = false;
    let mut wanted = |visitor: &mut V, output| {
        let wanted = more(visitor, output)?;
        stopped |= !wanted;
        Ok::<bool, Fail>(wanted)
    };
    let decoder = Buffers { input, joined, runs: &runs, listener };
    let decoded =
        joined.decode(&decoder, &mut stacks, taking, &recipe.jobs, &mut |visitor, found| {
            match found {
                Joined::Transfers => wanted(visitor, None),
                Joined::Output(buffer, output) => wanted(visitor, Some((buffer, output))),
                Joined::End(buffer, tally) => ended.add(buffer, tally).map(|()| true),
            }
        })?;
    if let Some(threads) = runs.refused().or(decoded) {
        message::threads(recipe.jobs.count, threads);
    }
    stacks.finish();
    wanted(&mut stacks.visitor, None)?;
    stacks::too_deep(&recipe.path.display().to_string(), &stacks.counts);
    let Ended { mut problems, tallies, .. } = ended;
    // What follows is not looked at.
    problems.active |= stopped;
    Ok(Found { visitor: stacks.visitor, code, counts: stacks.counts, problems, tallies })
}

/// Decodes the buffers of a capture.
struct Buffers<'a, L> {
    input: &'a Input,
    joined: &'a JoinedBuffers<'a>,
    runs: &'a Runs<'a>,
    listener: &'a (dyn Fn(&Job<'_>) -> L + Sync),
}

impl<L: Listener + Fork + Send> DecodeBuffers<L> for Buffers<'_, L> {
    type Error = Fail;

    fn open(&self, buffer: usize, frames: bool, caches: Caches) -> Result<OpenBuffer<L>, Fail> {
        let job = self.input.job(buffer);
        Ok(OpenBuffer {
            session: job.session_with(caches)?,
            transfers: stacks::transfers(&job, &job.code(), frames),
            listener: (self.listener)(&job),
            input: live::input_of(job.buffer),
            name: job.buffer.name.clone(),
            sources: self.joined.sources(job.plan),
        })
    }

    fn decode(
        &self,
        buffer: usize,
        open: OpenBuffer<L>,
        jobs: Jobs,
        write: &mut dyn FnMut((Part, L::Output)) -> bool,
    ) -> Result<(Tally, Caches), Fail> {
        let OpenBuffer { session, transfers, listener, mut input, .. } = open;
        let (job, options) = (self.input.job(buffer), self.runs.options(jobs));
        stacks::decode(&job, (session, &mut *input), &options, (transfers, listener), write)
    }
}

/// The buffers that ended.
struct Ended<'a> {
    input: &'a Input,
    part: bool,
    problems: Problems,
    tallies: Vec<(usize, Tally)>,
}

impl Ended<'_> {
    /// Prints the summary of a buffer.
    fn add(&mut self, buffer: usize, tally: Tally) -> Result<(), Fail> {
        self.problems.add(Problems::of(&tally));
        let job = self.input.job(buffer);
        if report::found(&job.decoded(&tally), None, None, self.part, false)? {
            self.input.contradicted.store(true, std::sync::atomic::Ordering::Relaxed);
        }
        self.tallies.push((buffer, tally));
        Ok(())
    }
}
