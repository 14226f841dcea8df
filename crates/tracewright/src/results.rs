//! What a trace shows as a whole: functions, call trees, timelines, profiles.

use std::collections::BTreeMap;
use std::sync::Arc;

use tracewright_analysis::coverage::{self, Losses, ProgramCoverage, SourceFile, program_files};
use tracewright_analysis::functions::{FunctionTotals, by_thread, together};
use tracewright_analysis::stacks::{FunctionId, Part, SWITCHES, StackCounts, Stacks, Visitor};
use tracewright_analysis::tasks::Tasks;
use tracewright_analysis::timing::{Clock, Timing};
use tracewright_analysis::{
    Code, Filter, Paths, Profile, Profiler, RawProfile, Timeline, Transfers,
};
use tracewright_base::Waypoints;
use tracewright_decode::{Caches, Jobs, Merge, Merging, Program, Tally, input, memory};
use tracewright_export::paths::{PathFormat, PathView};
use tracewright_image::CacheOptions;
use tracewright_views::Source;

use crate::error::{DecodeError, unreadable};
use crate::joined::{DecodeBuffers, Joined, JoinedBuffers, OpenBuffer, Taking};
use crate::run::{self, Selection};
use crate::summary::Summary;
use crate::trace::Trace;

/// A function, and what it executed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FunctionRow {
    /// Its name; without a symbol, the address that was called.
    pub name: String,
    /// The program file, where processes have mapped it.
    pub module: Option<Arc<str>>,
    /// Its calls and its instructions, cycles and ticks.
    pub totals: FunctionTotals,
}

/// The functions that a trace executed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Functions {
    /// The functions, with the most instructions in themselves first.
    pub rows: Vec<FunctionRow>,
    /// Calls, returns, and losses of trace.
    pub counts: StackCounts,
    /// What was decoded.
    pub summary: Summary,
}

/// The call stacks of a buffer, or those of all buffers where these are joined by thread.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CallStacks<V> {
    /// What received the frames: [`Paths`], [`Timeline`] or [`Timing`].
    pub frames: V,
    /// The names of its threads.
    pub threads: Vec<String>,
    /// The names of its sources; on a timeline of joined buffers, those of the threads.
    pub sources: Vec<String>,
}

/// The call stacks of a trace.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Stacked<V> {
    /// Those of each buffer; of a `perf.data` file one, in which all buffers are joined by thread.
    pub buffers: Vec<CallStacks<V>>,
    /// The functions of the programs.
    pub code: Code,
    /// Calls, returns, and losses of trace.
    pub counts: StackCounts,
    /// What was decoded.
    pub summary: Summary,
}

impl Stacked<Paths> {
    /// The call trees in a format: a flame graph, folded stacks, callgrind, pprof. One file for
    /// each of the [`buffers`](Self::buffers).
    pub fn write(&self, format: PathFormat) -> Vec<Vec<u8>> {
        let file = |own: &CallStacks<Paths>| {
            let view = PathView { paths: &own.frames, code: &self.code, threads: &own.threads };
            let mut all = Vec::new();
            format.write(&view, &mut |mut bytes| {
                all.append(&mut bytes);
                true
            });
            all
        };
        self.buffers.iter().map(file).collect()
    }
}

/// The source that executed a thread first, and the identifier of the thread.
type ThreadKey = (usize, Option<u64>);

/// Receives the frames of [`Trace::frames`].
pub trait VisitFrames: Visitor {
    /// The source that executed each thread first, and the identifier of the thread.
    fn threads(&self) -> Vec<(usize, Option<u64>)>;

    /// Whether no more frames are wanted.
    fn full(&self) -> bool {
        false
    }
}

/// How the frames of a part are taken, and the names of the threads found: the source that executed
/// each first, and its identifier.
struct Frames<'a, V: Visitor> {
    joined: &'a dyn Fn(usize) -> V,
    alone: &'a dyn Fn(usize) -> V,
    taking: Taking<V>,
    /// No more frames are wanted.
    full: fn(&V) -> bool,
    threads: fn(&V) -> Vec<ThreadKey>,
    /// The outermost functions of the threads.
    outermost: fn(&V) -> Vec<Option<FunctionId>>,
    /// The sources are the threads.
    threads_are_sources: bool,
}

impl Trace {
    /// The functions that were executed: calls, instructions, cycles, time.
    ///
    /// # Errors
    /// As [`decode`](Trace::decode).
    pub fn functions(&self) -> Result<Functions, DecodeError> {
        let Stacked { buffers, code, counts, summary } = self.call_trees()?;
        let threads: Vec<_> = buffers.iter().flat_map(|own| by_thread(&own.frames)).collect();
        let row = |(function, totals): (FunctionId, FunctionTotals)| {
            let known = match function {
                FunctionId::Known(number) => code.get(number),
                _ => None,
            };
            let module = known.and_then(|known| known.module.clone());
            FunctionRow { name: code.name(function).into_owned(), module, totals }
        };
        let mut rows: Vec<FunctionRow> = together(&threads).into_iter().map(row).collect();
        rows.sort_by(|a, b| {
            b.totals.instructions.cmp(&a.totals.instructions).then_with(|| a.name.cmp(&b.name))
        });
        Ok(Functions { rows, counts, summary })
    }

    /// What was executed by path of callers: for flame graphs and the like.
    ///
    /// # Errors
    /// As [`decode`](Trace::decode).
    pub fn call_trees(&self) -> Result<Stacked<Paths>, DecodeError> {
        self.stacked(
            0,
            &Frames {
                joined: &|_| Paths::new(),
                alone: &|_| Paths::new(),
                taking: Taking::by_frames(),
                full: |_| false,
                threads: |paths| paths.threads().iter().map(|own| (own.source, own.id)).collect(),
                outermost: Paths::outermost,
                threads_are_sources: false,
            },
        )
    }

    /// The frames of all calls over time, at most `limit` of them for each timeline.
    ///
    /// # Errors
    /// As [`decode`](Trace::decode).
    pub fn timelines(&self, limit: usize) -> Result<Stacked<Timeline>, DecodeError> {
        self.stacked(
            limit,
            &Frames {
                joined: &Timeline::joined,
                alone: &Timeline::new,
                taking: Taking::in_order(),
                full: |_| false,
                threads: |own| own.threads.iter().map(|own| (own.first_source, own.id)).collect(),
                outermost: Timeline::outermost,
                threads_are_sources: true,
            },
        )
    }

    /// How long functions and exceptions take, by this clock.
    ///
    /// # Errors
    /// As [`decode`](Trace::decode).
    pub fn timings(&self, clock: Clock) -> Result<Stacked<Timing>, DecodeError> {
        let mut found = self.stacked(
            0,
            &Frames {
                joined: &|_| Timing::new(clock),
                alone: &|_| Timing::new(clock),
                taking: Taking::in_order(),
                full: |_| false,
                threads: |own| own.threads().collect(),
                outermost: |_| Vec::new(),
                threads_are_sources: false,
            },
        )?;
        for own in &mut found.buffers {
            own.frames.finish();
        }
        Ok(found)
    }

    /// The frames of all calls, given to a visitor as they are found: one visitor for each buffer,
    /// or where buffers are joined by thread, one for all. `new` makes it, in the order of
    /// [`plans`](Trace::plans), and `full` returns whether it wants no more.
    ///
    /// # Errors
    /// As [`decode`](Trace::decode).
    pub fn frames<V: VisitFrames>(&self, new: &dyn Fn() -> V) -> Result<Stacked<V>, DecodeError> {
        self.stacked(
            0,
            &Frames {
                joined: &|_| new(),
                alone: &|_| new(),
                taking: Taking::in_order(),
                full: V::full,
                threads: |own| own.threads(),
                outermost: |_| Vec::new(),
                threads_are_sources: false,
            },
        )
    }

    /// The counts of branches and ranges by program file: for AutoFDO, BOLT, LLVM, Propeller.
    /// [`export::Format`](crate::export::Format) writes it.
    ///
    /// # Errors
    /// As [`decode`](Trace::decode).
    pub fn profile(&self) -> Result<Profile, DecodeError> {
        self.check()?;
        let modules = memory::modules(self.capture());
        let (mut profile, mut caches) = (Profile::default(), Caches::default());
        for (number, plan) in self.plans().iter().enumerate() {
            let sources = self.sources_of(number);
            let programs: Vec<Program> = sources.iter().map(|own| own.program.clone()).collect();
            let mut counts = RawProfile::default();
            let session = self.session_with(plan, std::mem::take(&mut caches))?;
            let profiler = Profiler::new(programs.iter().cloned());
            caches = self
                .run(plan, session, profiler, |more| {
                    counts.merge(more);
                    true
                })?
                .1;
            profile.add(counts, &programs, &modules, &Filter::default());
        }
        Ok(profile)
    }

    /// The source files of the programs by their paths: the executions of their lines, the outcomes
    /// of branches, and functions. Empty where no program has line numbers. Where trace was lost,
    /// what was not executed is unknown.
    ///
    /// # Errors
    /// As [`decode`](Trace::decode).
    pub fn coverage(&self) -> Result<BTreeMap<String, SourceFile>, DecodeError> {
        self.check()?;
        let files = program_files(self.capture());
        let mut covered = vec![ProgramCoverage::default(); files.len()];
        let buffers: Vec<usize> = self.plans().iter().map(|plan| plan.buffer).collect();
        let mut losses = self.capture().losses(&buffers);
        let mut instructions = 0;
        for (number, plan) in self.plans().iter().enumerate() {
            let sources = self.sources_of(number);
            let programs = sources.iter().map(|own| own.program.clone());
            let listener = (Profiler::new(programs), Merging(Losses::default()));
            let mut all = (RawProfile::default(), Losses::default());
            let (tally, _) = self.run(plan, self.session(plan)?, listener, |more| {
                all.merge(more);
                true
            })?;
            let (raw, lost) = all;
            losses +=
                lost.count + self.decoded(number, &tally).map_or(0, |decoded| decoded.unseen());
            instructions += tally.sources.iter().map(|counts| counts.instructions).sum::<u64>();
            let program = |own: &Source| (own.program.clone(), cache_options(own));
            let programs: Vec<_> = sources.iter().map(program).collect();
            ProgramCoverage::add(&mut covered, &files, raw, &programs);
        }
        if losses == 0 && instructions == 0 {
            // The trace does not show what was executed while it was recorded.
            losses = 1;
        }
        let mut sources = BTreeMap::new();
        for (file, covered) in files.iter().zip(&covered) {
            covered.lines(file, &mut sources);
        }
        coverage::finish(&mut sources, losses);
        Ok(sources)
    }

    fn stacked<V: Visitor>(
        &self,
        limit: usize,
        frames: &Frames<'_, V>,
    ) -> Result<Stacked<V>, DecodeError> {
        self.check()?;
        let code = Code::of_capture(self.capture());
        let buffers: Vec<usize> = self.plans().iter().map(|plan| plan.buffer).collect();
        let mut stacked = Stacked {
            buffers: Vec::new(),
            code,
            counts: StackCounts::default(),
            summary: Summary::new(self.left_out()),
        };
        match JoinedBuffers::new(self.capture(), &buffers) {
            Some(mut joined) => {
                if self.is_part() && joined.by_time {
                    (joined.by_time, joined.shared) = (false, false);
                }
                self.stack_joined(&joined, limit, frames, &mut stacked)?;
            }
            None => self.stack_each(limit, frames, &mut stacked)?,
        }
        Ok(stacked)
    }

    /// Finds the transfers of the sources of a buffer.
    fn transfers(&self, number: usize, code: &Code, frames: bool) -> Transfers {
        let sources = self.sources_of(number);
        let cache =
            |source: &Source| source.program.cache(Waypoints::default(), cache_options(source));
        let code = code.with_programs(sources.iter().map(|source| source.program.clone()));
        let transfers = Transfers::new(code, sources.iter().map(cache).collect());
        if frames { transfers.with_frames() } else { transfers }
    }

    /// The stacks of each buffer by itself.
    fn stack_each<V: Visitor>(
        &self,
        limit: usize,
        frames: &Frames<'_, V>,
        stacked: &mut Stacked<V>,
    ) -> Result<(), DecodeError> {
        for (number, plan) in self.plans().iter().enumerate() {
            let code = &stacked.code;
            let image = self.sources_of(number).first().map(|source| source.program.start());
            let tasks = Tasks::of_capture(self.capture(), image.as_ref(), code, &[]);
            let mut stacks = Stacks::new(plan.sources.len(), (frames.alone)(limit))
                .with_switches(tasks.switches().iter().copied())
                .with_unwind_targets(code.unwind_targets());
            let transfers = self.transfers(number, code, frames.taking.frames);
            let transfers = transfers.watching(&tasks);
            let (tally, _) = self.run(plan, self.session(plan)?, transfers, |part| {
                (frames.taking.take)(&mut stacks, &part, &mut |visitor| !(frames.full)(visitor))
            })?;
            stacks.finish();
            stacked.counts.add(&stacks.counts);
            stacked.summary.add_buffer(self.sources_of(number), tally);
            let sources: Vec<String> =
                self.sources_of(number).iter().map(|source| source.name.clone()).collect();
            let outermost = (frames.outermost)(&stacks.visitor);
            let function = |number| tasks.outermost_name(code, &outermost, number);
            let threads = tasks.threads(&sources, (frames.threads)(&stacks.visitor), function);
            let threads = threads.into_iter().map(|thread| thread.text).collect();
            stacked.buffers.push(CallStacks { frames: stacks.visitor, threads, sources });
        }
        Ok(())
    }

    /// The stacks of all buffers.
    fn stack_joined<V: Visitor>(
        &self,
        joined: &JoinedBuffers<'_>,
        limit: usize,
        frames: &Frames<'_, V>,
        stacked: &mut Stacked<V>,
    ) -> Result<(), DecodeError> {
        let code = &stacked.code;
        let sources = self.capture().sources.len();
        let mut stacks = Stacks::joined(sources, (frames.joined)(limit), joined.shared)
            .with_switches(SWITCHES.iter().flat_map(|name| code.named(name)))
            .with_unwind_targets(code.unwind_targets());
        let mut tallies: BTreeMap<usize, Tally> = BTreeMap::new();
        let decoder = Buffers { trace: self, joined, code };
        joined.decode(
            &decoder,
            &mut stacks,
            &frames.taking,
            self.jobs(),
            &mut |visitor, found| {
                if let Joined::End(buffer, tally) = found {
                    tallies.insert(buffer, tally);
                }
                Ok(!(frames.full)(visitor))
            },
        )?;
        stacks.finish();
        stacked.counts = stacks.counts;
        for (number, plan) in self.plans().iter().enumerate() {
            let tally = tallies.remove(&plan.buffer).unwrap_or_default();
            stacked.summary.add_buffer(self.sources_of(number), tally);
        }
        let threads = joined.thread_names((frames.threads)(&stacks.visitor));
        let sources = match frames.threads_are_sources {
            true => threads.clone(),
            false => self.capture().sources.iter().map(|source| source.name.clone()).collect(),
        };
        stacked.buffers.push(CallStacks { frames: stacks.visitor, threads, sources });
        Ok(())
    }
}

/// Decodes the buffers of a trace, of which each has a plan.
struct Buffers<'a> {
    trace: &'a Trace,
    joined: &'a JoinedBuffers<'a>,
    code: &'a Code,
}

impl DecodeBuffers<Option<Merging<Tally>>> for Buffers<'_> {
    type Error = DecodeError;

    fn open(
        &self,
        buffer: usize,
        frames: bool,
        caches: Caches,
    ) -> Result<OpenBuffer<Option<Merging<Tally>>>, DecodeError> {
        let Buffers { trace, joined, code } = *self;
        let missing = || DecodeError::NothingToDecode { buffers: Vec::new(), left_out: Vec::new() };
        let number = trace.plans().binary_search_by_key(&buffer, |plan| plan.buffer);
        let number = number.map_err(|_| missing())?;
        let plan = trace.plans().get(number).ok_or_else(missing)?;
        let own = &trace.capture().buffers[buffer];
        Ok(OpenBuffer {
            session: trace.session_with(plan, caches)?,
            transfers: trace.transfers(number, code, frames),
            // Of a type that receives sums of ranges, as the transfers do.
            listener: None,
            input: input::of(own),
            name: own.name.clone(),
            sources: joined.sources(plan),
        })
    }

    fn decode(
        &self,
        buffer: usize,
        open: OpenBuffer<Option<Merging<Tally>>>,
        jobs: Jobs,
        write: &mut dyn FnMut((Part, Option<Tally>)) -> bool,
    ) -> Result<(Tally, Caches), DecodeError> {
        let own = &self.trace.capture().buffers[buffer];
        let OpenBuffer { session, transfers, listener, mut input, .. } = open;
        let selection = Selection { jobs, ..self.trace.selection() };
        let both = (transfers, listener);
        let ran = run::run(session, own, &mut *input, &selection, both, |found, _, _| write(found));
        ran.map(|ran| (ran.tally, ran.caches)).map_err(|error| unreadable(own, error))
    }
}

fn cache_options(source: &Source) -> CacheOptions {
    CacheOptions { riscv: source.config.riscv(), ..CacheOptions::default() }
}
