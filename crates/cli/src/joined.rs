//! Call stacks of a `perf.data` file: all of its buffers, joined by thread.

use std::path::Path;

use tracewright::Listener;
use tracewright::analysis::stacks::{StackCounts, Stacks, Visitor};
use tracewright::analysis::{self, Code};
use tracewright::decode::ordered::{self, Part};
use tracewright::decode::{Fork, Jobs, Tally};
use tracewright::joined::{self, Joined, JoinedBuffers, OpenBuffer};

use crate::args::SwitchArgs;
use crate::fail::Fail;
use crate::index::Selected;
use crate::input::{Input, Job};
use crate::listing::Problems;
use crate::live;
use crate::message;
use crate::report;
use crate::run::Runs;
use crate::stacks::{self, Take};

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
    let mut joined = JoinedBuffers::new(&input.capture, &input.buffers)?;
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
    (frames, take): (bool, Take<V>),
    listener: &(dyn Fn(&Job<'_>) -> L + Sync),
    more: &mut More<'_, V, L::Output>,
) -> Result<Found<V>, Fail> {
    let code = Code::of_capture(&input.capture);
    let switches = recipe.switches.numbers(&code, recipe.path)?;
    let targets = code.unwind_targets();
    let sources = input.capture.sources.len();
    let mut stacks = Stacks::joined(sources, visitor(&code), joined.shared)
        .with_switches(switches)
        .with_unwind_targets(targets);
    let runs = Runs::new(input.buffers.len(), recipe.committed, recipe.selected);
    let mut ended = Ended {
        input,
        part: runs.part,
        problems: Problems::of_capture(input, runs.part),
        tallies: Vec::new(),
    };
    let mut stopped = false;
    let more: &mut More<'_, V, L::Output> = &mut |visitor, output| {
        let wanted = more(visitor, output)?;
        stopped |= !wanted;
        Ok(wanted)
    };
    if joined.by_time {
        let open = |buffer, caches| {
            let job = input.job(buffer);
            Ok::<_, Fail>(OpenBuffer {
                session: job.session_with(caches)?,
                transfers: stacks::transfers(&job, &job.code(), false),
                listener: listener(&job),
                input: live::input_of(job.buffer),
                name: job.buffer.name.clone(),
                sources: joined.sources(&job.plan),
            })
        };
        joined::by_time(&joined.series, &mut stacks, open, |visitor, found| match found {
            Joined::Transfers => more(visitor, None),
            Joined::Output(buffer, output) => more(visitor, Some((buffer, output))),
            Joined::End(buffer, tally) => ended.add(buffer, tally).map(|()| true),
        })?;
    } else {
        let how = How { input, joined, jobs: &recipe.jobs, runs: &runs, frames, take };
        how.in_series(&mut stacks, listener, more, &mut ended)?;
    }
    if let Some(threads) = runs.refused() {
        message::threads(recipe.jobs.count, threads);
    }
    stacks.finish();
    more(&mut stacks.visitor, None)?;
    stacks::too_deep(&recipe.path.display().to_string(), &stacks.counts);
    let Ended { mut problems, tallies, .. } = ended;
    // What follows is not looked at.
    problems.active |= stopped;
    Ok(Found { visitor: stacks.visitor, code, counts: stacks.counts, problems, tallies })
}

/// A buffer of at most this many bytes is decoded on one thread, at the same time as others.
const SMALL: u64 = 1 << 20;

/// The parts of a buffer, each with the output of the other listener, and its counts.
type Decoded<O> = Result<(Vec<(analysis::stacks::Part, O)>, Tally), Fail>;

/// How buffers are decoded one after another.
struct How<'a, V: Visitor> {
    input: &'a Input,
    joined: &'a JoinedBuffers<'a>,
    jobs: &'a Jobs,
    runs: &'a Runs<'a>,
    frames: bool,
    take: Take<V>,
}

impl<V: Visitor> How<'_, V> {
    fn in_series<L: Listener + Fork + Send>(
        &self,
        stacks: &mut Stacks<V>,
        listener: &(dyn Fn(&Job<'_>) -> L + Sync),
        more: &mut More<'_, V, L::Output>,
        ended: &mut Ended<'_>,
    ) -> Result<(), Fail> {
        let all: Vec<usize> = self.joined.series.iter().flatten().copied().collect();
        let size = |buffer: &usize| self.input.capture.buffers[*buffer].size();
        let small = |buffer: &usize| size(buffer).is_some_and(|size| size <= SMALL);
        let several = self.jobs.count > 1 && all.len() > 1;
        for part in all.chunk_by(|a, b| several && small(a) && small(b)) {
            // So the results that wait are few.
            for batch in part.chunks(2 * self.jobs.count.max(1)) {
                let wanted = match batch {
                    &[buffer] => self.one(buffer, stacks, listener, more, ended)?,
                    _ => self.at_once(batch, stacks, listener, more, ended)?,
                };
                if !wanted {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Decodes a buffer. Returns whether more is wanted.
    fn one<L: Listener + Fork + Send>(
        &self,
        buffer: usize,
        stacks: &mut Stacks<V>,
        listener: &dyn Fn(&Job<'_>) -> L,
        more: &mut More<'_, V, L::Output>,
        ended: &mut Ended<'_>,
    ) -> Result<bool, Fail> {
        let job = self.input.job(buffer);
        stacks.begin_buffer(&self.joined.sources(&job.plan));
        let both = (stacks::transfers(&job, &job.code(), self.frames), listener(&job));
        let options = self.runs.options(self.jobs.clone());
        let mut done = Ok(true);
        let tally = stacks::decode(&job, job.session()?, &options, both, |(part, output)| {
            done = self.take(stacks, &part, Some((buffer, output)), more);
            matches!(done, Ok(true))
        })?;
        let wanted = done?;
        ended.add(buffer, tally)?;
        Ok(wanted)
    }

    /// Decodes buffers at the same time. Returns whether more is wanted.
    fn at_once<L: Listener + Fork + Send>(
        &self,
        buffers: &[usize],
        stacks: &mut Stacks<V>,
        listener: &(dyn Fn(&Job<'_>) -> L + Sync),
        more: &mut More<'_, V, L::Output>,
        ended: &mut Ended<'_>,
    ) -> Result<bool, Fail> {
        let work =
            |_: usize, &buffer: &usize, _: &mut dyn FnMut(Vec<u8>) -> bool| -> Decoded<L::Output> {
                let job = self.input.job(buffer);
                let both = (stacks::transfers(&job, &job.code(), self.frames), listener(&job));
                let options = self.runs.options(Jobs { count: 1, ..self.jobs.clone() });
                let mut parts = Vec::new();
                let tally = stacks::decode(&job, job.session()?, &options, both, |part| {
                    parts.push(part);
                    true
                })?;
                Ok((parts, tally))
            };
        let mut result = Ok(true);
        let mut receive = |n: usize, found: Part<Decoded<L::Output>>| -> Result<bool, Fail> {
            let (Part::Done(found), Some(&buffer)) = (found, buffers.get(n)) else {
                return Ok(true);
            };
            let (parts, tally) = found?;
            stacks.begin_buffer(&self.joined.sources(&self.input.job(buffer).plan));
            for (part, output) in parts {
                if !self.take(stacks, &part, Some((buffer, output)), more)? {
                    return Ok(false);
                }
            }
            ended.add(buffer, tally)?;
            Ok(true)
        };
        let refused = ordered::each(self.jobs.count, buffers, work, |n, found| {
            result = receive(n, found);
            matches!(result, Ok(true))
        });
        if let Some(threads) = refused {
            message::threads(self.jobs.count, threads);
        }
        result
    }

    /// Adds a part of a buffer. Returns whether more is wanted.
    fn take<O>(
        &self,
        stacks: &mut Stacks<V>,
        part: &analysis::stacks::Part,
        output: Option<(usize, O)>,
        more: &mut More<'_, V, O>,
    ) -> Result<bool, Fail> {
        let mut done = Ok(true);
        let wanted = (self.take)(stacks, part, &mut |visitor| {
            done = more(visitor, None);
            matches!(done, Ok(true))
        });
        done?;
        if wanted { more(&mut stacks.visitor, output) } else { Ok(false) }
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
