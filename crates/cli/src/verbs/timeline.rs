//! `tracewright timeline`

use std::collections::{BTreeMap, HashSet};

use tracewright::analysis::tasks::{TaskThread, Tasks, comparators};
use tracewright::analysis::timing::{Clock, Load, Span};
use tracewright::analysis::{Code, Timeline};
use tracewright::capture::plain::line;
use tracewright::capture::{NewFolder, check_empty};
use tracewright::decode::Jobs;
use tracewright::export::timeline::{Counter, TimelineFormat, TimelineView};
use tracewright::joined::{JoinedBuffers, Taking};

use crate::args::TimelineArgs;
use crate::contradictions::Contradictions;
use crate::fail::Fail;
use crate::index::{self, Selected};
use crate::input::{Input, Job};
use crate::joined;
use crate::listing;
use crate::message;
use crate::output::Output;
use crate::recordings::{self, Recorded};
use crate::report;
use crate::run::Runs;
use crate::stacks;
use crate::tasks::{self, Chosen};
use crate::verbs::timing::load;

/// Runs the verb.
pub fn run(args: &TimelineArgs) -> Result<bool, Fail> {
    let input = Input::open(&args.input, Some(&args.how))?;
    report::notes(&input);
    input.readable(args.outcome.strict)?;
    let selected = Selected::open(&input, Some(&args.window), args.how.committed)?;
    if input.capture().linux.is_none() {
        stacks::one_buffer(&input, &args.input.input)?;
    }
    let format = args.format.format();
    // The format of a folder has no output file.
    let file = args.outcome.output.as_deref().filter(|_| format.is_some());
    let mut output = Output::open(file, &index::inputs(&input, &args.window.index))?;
    match (format, &args.outcome.output) {
        (Some(_), _) => {}
        (None, Some(folder)) => {
            check_empty(folder)?;
            input.inputs.refuse(Some(&folder.join("metadata")))?;
        }
        (None, None) => {
            let what = "the format is a folder; name it with --output";
            return Err(Fail::input(&args.input.input, what));
        }
    }
    if selected.is_some() && recordings::has_any(&input) {
        message::line(
            "note: the events of ITMs are shown of the whole trace only, and are left out",
        );
    }
    let load = LoadOf::new(args, &input)?;
    let signals = args.signals.signals(input.capture(), comparators(input.capture()))?;
    let only = Chosen::new(&args.only.task);
    let runs = Runs::new(input.buffers.len(), args.how.committed, selected.as_ref());
    let work = |_: usize, job: &Job<'_>, jobs: Jobs, write: &mut listing::Write<'_>| {
        let options = runs.options(jobs);
        let code = job.code();
        let mut tasks = tasks::of_any(&args.switches, job, &code, &args.input.input)?;
        let timeline = Timeline::new(args.limit);
        let mut loads = Vec::new();
        let (mut timeline, tally) = match &load {
            None => {
                let run = stacks::run(job, &options, &code, &tasks, timeline, |_| true)?;
                (run.0, run.2)
            }
            Some(load) => {
                let threads = match tasks.events() {
                    Some(_) => tasks::threads(job, &options, &code, &tasks)?,
                    None => Vec::new(),
                };
                let both = (timeline, load.visitors(&code, &tasks, &threads)?);
                let run = stacks::run(job, &options, &code, &tasks, both, |_| true)?;
                let (timeline, found) = run.0;
                loads = load.counters(&timeline, &found);
                (timeline, run.2)
            }
        };
        let follows = tasks.events().is_some() && timeline.threads.iter().any(|t| t.id.is_some());
        if follows {
            timeline.has_no_instructions();
        } else if tasks.events().is_some() && !job.buffer.is_piped() {
            // The exceptions of the recording are shown.
            tasks = tasks::of(&args.switches, job, &code, &args.input.input)?;
            let timeline_of = Timeline::new(args.limit);
            timeline = stacks::run(job, &options, &code, &tasks, timeline_of, |_| true)?.0;
        }
        let recorded = match selected {
            None => recordings::of(job, &signals, args.limit)?,
            Some(_) => Vec::new(),
        };
        let counters = [loads, counters(&recorded)].concat();
        let threads = timeline.threads.iter().map(|t| (t.source, t.id));
        let outermost = timeline.outermost_without(|function| tasks.is_wrapper(function));
        let threads = job.task_threads(&tasks, threads, (&code, &outermost));
        let mut threads = of_tasks(&only, &mut timeline, threads);
        if !follows {
            recordings::add_to(&mut timeline, &mut threads, &recorded);
        }
        let mut contradictions = Contradictions::default();
        contradictions.add(&tally);
        let sources: Vec<String> = job.sources.iter().map(|source| source.name.clone()).collect();
        let names = Names { threads: &threads, sources: &sources };
        let warning = contradictions.text();
        write_view(args, &timeline, &code, &names, (&counters, &warning), write)?;
        Ok(tally)
    };
    let recipe = joined::Recipe {
        committed: args.how.committed,
        jobs: args.threads.jobs(),
        switches: &args.switches,
        selected: selected.as_ref(),
        path: &args.input.input,
    };
    if let Some(buffers) = joined::of(&input, &recipe) {
        return of_joined(args, &input, (&recipe, &buffers), &only, output);
    }
    let problems = listing::buffers(&input, &args.threads.jobs(), &mut output, &runs, work)?;
    input.decodable()?;
    only.check()?;
    output.close()?;
    Ok(problems.answer(&input, args.outcome.strict))
}

/// The timeline of buffers that are joined by thread.
fn of_joined(
    args: &TimelineArgs,
    input: &Input,
    (recipe, buffers): (&joined::Recipe<'_>, &JoinedBuffers<'_>),
    only: &Chosen,
    mut output: Output,
) -> Result<bool, Fail> {
    if args.format.format() == Some(TimelineFormat::Btf) {
        let what = "a thread is executed by several processors, which the timeline does not \
                    have: use another format than btf";
        return Err(Fail::input(&args.input.input, what));
    }
    let visitor = |_: &Code| Timeline::joined(args.limit);
    let (other, how) = (|_: &Job<'_>| stacks::NO_OTHER, Taking::in_order());
    let mut found =
        joined::run(input, buffers, recipe, visitor, &how, &other, &mut |_, _| Ok(true))?;
    input.decodable()?;
    let threads = found.visitor.threads.iter().map(|t| (t.first_source, t.id));
    let threads = buffers.threads(threads);
    let threads = of_tasks(only, &mut found.visitor, threads);
    only.check()?;
    // A thread is the source of its trace.
    let names = Names { threads: &threads, sources: &threads };
    let write = &mut |bytes: Vec<u8>| output.put(&bytes);
    let mut contradictions = Contradictions::default();
    found.tallies.iter().for_each(|(_, tally)| contradictions.add(tally));
    let warning = contradictions.text();
    write_view(args, &found.visitor, &found.code, &names, (&[], &warning), write)?;
    output.failed()?;
    output.close()?;
    Ok(found.problems.answer(input, args.outcome.strict))
}

/// Removes the frames of tasks that are not wanted. Returns the names of all threads.
fn of_tasks(only: &Chosen, timeline: &mut Timeline, threads: Vec<TaskThread>) -> Vec<String> {
    if !only.is_all() {
        let chosen = only.threads(&threads);
        timeline.retain_threads(|thread| chosen.contains(&thread));
    }
    threads.into_iter().map(|thread| thread.text).collect()
}

/// The load that is wanted.
struct LoadOf<'a> {
    span: Span,
    width: u64,
    idle: &'a [String],
}

impl<'a> LoadOf<'a> {
    fn new(args: &'a TimelineArgs, input: &Input) -> Result<Option<LoadOf<'a>>, Fail> {
        let Some(span) = args.load else { return Ok(None) };
        let format = args.format.format();
        use TimelineFormat::{Chrome, Firefox, Perfetto, Vcd};
        if !matches!(format, Some(Chrome | Firefox | Perfetto | Vcd)) {
            let why =
                "the format has no values over time: use --format chrome, firefox, perfetto or vcd";
            return Err(Fail::option("--load", &span.to_string(), why));
        }
        if input.capture().linux.is_some() {
            let why = "the load is of one buffer, and this capture is of many";
            return Err(Fail::option("--load", &span.to_string(), why));
        }
        let width = load::width(span, args.frequency, &args.idle, input)?;
        Ok(Some(LoadOf { span, width, idle: &args.idle }))
    }

    /// By timestamps, and by instructions: which of them the timeline has is known at its end.
    fn visitors(
        &self,
        code: &Code,
        tasks: &Tasks,
        threads: &[TaskThread],
    ) -> Result<(Load, Load), Fail> {
        if tasks.events().is_some() {
            let idle = load::idle_threads(self.span, self.idle, tasks, threads)?;
            let unknown = load::unknown_threads(threads);
            let by = |clock| {
                let load = Load::new(clock, self.width, HashSet::new());
                load.with_idle_threads(idle.clone(), unknown.clone())
            };
            return Ok((by(Clock::Timestamps), by(Clock::Instructions)));
        }
        let idle = load::idle(self.span, code, self.idle, tasks)?;
        let by = |clock| Load::new(clock, self.width, idle.clone());
        Ok((by(Clock::Timestamps), by(Clock::Instructions)))
    }

    /// The values for the clock of the timeline. Where a load is not known exactly, there is a
    /// counter for each of its bounds.
    fn counters(&self, timeline: &Timeline, both: &(Load, Load)) -> Vec<Counter> {
        let is_clocked = timeline.has_time();
        let load = if is_clocked { &both.0 } else { &both.1 };
        load::note(load);
        let mut by_source: BTreeMap<usize, Vec<(u64, [f64; 2])>> = BTreeMap::new();
        for (source, at, slice) in load.slices().filter(|(.., slice)| slice.traced > 0) {
            let busy = slice.busy();
            let bounds = [busy.least, busy.most.unwrap_or(slice.traced)];
            let percent = bounds.map(|time| time as f64 * 100.0 / slice.traced as f64);
            by_source.entry(source).or_default().push((at, percent));
        }
        let mut counters = Vec::new();
        for (source, values) in by_source {
            let mut add = |name: &str, bound: usize| {
                let values = values.iter().map(|(at, bounds)| (*at, bounds[bound])).collect();
                let (name, unit) = (name.to_owned(), "%".to_owned());
                counters.push(Counter { source, name, unit, values, is_clocked });
            };
            if values.iter().all(|(_, [least, most])| least == most) {
                add("load", 0);
            } else {
                add("load, at least", 0);
                add("load, at most", 1);
            }
        }
        if counters.is_empty() {
            message::line("note: no load is known: no two points of the clock are in the trace");
        }
        counters
    }
}

/// The names of threads and of sources.
struct Names<'a> {
    threads: &'a [String],
    sources: &'a [String],
}

/// Writes the timeline to `write`, or into the folder of the command line.
fn write_view(
    args: &TimelineArgs,
    timeline: &Timeline,
    code: &Code,
    names: &Names<'_>,
    (counters, warning): (&[Counter], &str),
    write: &mut listing::Write<'_>,
) -> Result<(), Fail> {
    if timeline.left_out > 0 {
        message::line(&format!(
            "note: {} frames and events after the first {} are left out; see --limit",
            timeline.left_out, args.limit
        ));
    }
    if args.format.format() == Some(TimelineFormat::Firefox) {
        let is_negative = |own: &&Counter| own.values.iter().any(|(_, value)| *value < 0.0);
        for own in counters.iter().filter(is_negative) {
            message::line(&format!(
                "note: the values of {} are left out: some are negative, which the Firefox \
                 Profiler does not show",
                line(&own.name)
            ));
        }
    }
    warning.lines().for_each(|line| message::line(&format!("note: {line}")));
    let &Names { threads, sources } = names;
    let (frequency, warning) = (args.frequency, warning.trim_end());
    let view = TimelineView { timeline, code, threads, sources, counters, warning, frequency };
    match (args.format.format(), &args.outcome.output) {
        (Some(format), _) => format.write(&view, write),
        (None, Some(folder)) => {
            let new = NewFolder::new(folder)?;
            let mut done = Ok(());
            view.ctf(&mut |name, bytes| {
                done = new.append(name, &bytes);
                done.is_ok()
            });
            done?;
            new.finish()?;
        }
        (None, None) => {}
    }
    Ok(())
}

/// The values of the signals of ITMs.
fn counters(recorded: &[Recorded]) -> Vec<Counter> {
    let of = |own: &Recorded| {
        let source = own.source;
        let tracks = own.recording.tracks();
        let counters = tracks.map(move |(name, track)| Counter {
            source,
            name: name.to_owned(),
            unit: track.unit,
            values: track.values,
            is_clocked: false,
        });
        counters.collect::<Vec<_>>()
    };
    recorded.iter().flat_map(of).collect()
}
