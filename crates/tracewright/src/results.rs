//! What a trace shows as a whole: functions, call trees, timelines, profiles.

use std::collections::BTreeMap;
use std::sync::Arc;

use tracewright_analysis::coverage::{self, Losses, ProgramCoverage, SourceFile, program_files};
use tracewright_analysis::functions::{FunctionTotals, by_thread, together};
use tracewright_analysis::stacks::{FunctionId, Part, SWITCHES, StackCounts, Stacks, Visitor};
use tracewright_analysis::timing::{Clock, Timing};
use tracewright_analysis::{
    Code, Filter, Paths, Profile, Profiler, RawProfile, Timeline, Transfers, thread_names,
};
use tracewright_base::Waypoints;
use tracewright_decode::{Caches, Merge, Merging, Plan, Program, Tally, input, memory};
use tracewright_export::paths::{PathFormat, PathView};
use tracewright_image::CacheOptions;
use tracewright_views::Source;

use crate::error::DecodeError;
use crate::joined::{self, Joined, JoinedBuffers, OpenBuffer};
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
    /// The frames of each part are looked for.
    by_parts: bool,
    /// Returns whether more is wanted.
    take: fn(&mut Stacks<V>, &Part) -> bool,
    threads: fn(&V) -> Vec<ThreadKey>,
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
                by_parts: true,
                take: |stacks, part| {
                    stacks.part(part);
                    true
                },
                threads: |paths| paths.threads().iter().map(|own| (own.source, own.id)).collect(),
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
                by_parts: false,
                take: |stacks, part| {
                    stacks.transfers(part.transfers());
                    true
                },
                threads: |own| own.threads.iter().map(|own| (own.first_source, own.id)).collect(),
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
                by_parts: false,
                take: |stacks, part| {
                    stacks.transfers(part.transfers());
                    true
                },
                threads: |own| own.threads().collect(),
                threads_are_sources: false,
            },
        )?;
        for own in &mut found.buffers {
            own.frames.finish();
        }
        Ok(found)
    }

    /// The frames of all calls, given to a visitor as they are found: one visitor for each buffer,
    /// or where buffers are joined by thread, one for all. `new` makes it, and `full` returns
    /// whether it wants no more.
    ///
    /// # Errors
    /// As [`decode`](Trace::decode).
    pub fn frames<V: VisitFrames>(&self, new: &dyn Fn() -> V) -> Result<Stacked<V>, DecodeError> {
        self.stacked(
            0,
            &Frames {
                joined: &|_| new(),
                alone: &|_| new(),
                by_parts: false,
                take: |stacks, part| {
                    stacks.transfers(part.transfers());
                    !stacks.visitor.full()
                },
                threads: |own| own.threads(),
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
            losses += lost.count + self.unseen(plan, sources, &tally);
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
            let mut stacks = Stacks::new(plan.sources.len(), (frames.alone)(limit))
                .with_switches(SWITCHES.iter().flat_map(|name| code.named(name)))
                .with_unwind_targets(code.unwind_targets());
            let transfers = self.transfers(number, code, frames.by_parts);
            let (tally, _) = self.run(plan, self.session(plan)?, transfers, |part| {
                (frames.take)(&mut stacks, &part)
            })?;
            stacks.finish();
            stacked.counts.add(&stacks.counts);
            stacked.summary.add_buffer(self.sources_of(number), tally);
            let sources: Vec<String> =
                self.sources_of(number).iter().map(|source| source.name.clone()).collect();
            let threads = thread_names(&sources, (frames.threads)(&stacks.visitor));
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
        let plan = |buffer: usize| -> Option<(usize, &Plan)> {
            self.plans().iter().enumerate().find(|(_, plan)| plan.buffer == buffer)
        };
        let mut tallies: BTreeMap<usize, Tally> = BTreeMap::new();
        if joined.by_time {
            let missing =
                || DecodeError::NothingToDecode { buffers: Vec::new(), left_out: Vec::new() };
            let open = |buffer: usize, caches: Caches| {
                let (number, plan) = plan(buffer).ok_or_else(missing)?;
                Ok::<_, DecodeError>(OpenBuffer {
                    session: self.session_with(plan, caches)?,
                    transfers: self.transfers(number, code, false),
                    listener: None::<Merging<Tally>>,
                    input: input::of(&self.capture().buffers[buffer]),
                    name: self.capture().buffers[buffer].name.clone(),
                    sources: joined.sources(plan),
                })
            };
            joined::by_time(&joined.series, &mut stacks, open, |_, found| {
                if let Joined::End(buffer, tally) = found {
                    tallies.insert(buffer, tally);
                }
                Ok(true)
            })?;
        } else {
            let mut caches = Caches::default();
            for &buffer in joined.series.iter().flatten() {
                let Some((number, plan)) = plan(buffer) else { continue };
                stacks.begin_buffer(&joined.sources(plan));
                let session = self.session_with(plan, std::mem::take(&mut caches))?;
                let transfers = self.transfers(number, code, frames.by_parts);
                let (tally, own) =
                    self.run(plan, session, transfers, |part| (frames.take)(&mut stacks, &part))?;
                caches = own;
                tallies.insert(buffer, tally);
            }
        }
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

fn cache_options(source: &Source) -> CacheOptions {
    CacheOptions { riscv: source.config.riscv(), ..CacheOptions::default() }
}
