//! `tracewright timing`

mod between;
pub mod load;
mod masked;
mod worst;

use std::collections::{BTreeMap, BTreeSet};
use std::mem::take;
use std::sync::Mutex;

use tracewright::Element;
use tracewright::analysis::Code;
use tracewright::analysis::tasks::{TaskThread, ThreadList};
use tracewright::analysis::timing::{Clock, Limit, Recorded, Timing, Verdict};
use tracewright::capture::plain;
use tracewright::decode::{Caches, Jobs, Listener, More};
use tracewright::joined::{JoinedBuffers, Taking};
use tracewright::views::json;
use tracewright::views::timing::{Shown, TimingView};

use crate::args::{ClockArg, TimingArgs, TimingFormat};
use crate::contradictions::Contradictions;
use crate::fail::Fail;
use crate::index::{self, Selected};
use crate::input::{Input, Job};
use crate::joined;
use crate::listing;
use crate::live;
use crate::message;
use crate::output::Output;
use crate::recordings;
use crate::report;
use crate::run::{RunOptions, Runs};
use crate::select;
use crate::stacks;
use crate::tasks::{self, Chosen, WhileRunning};

/// Bytes of all buffers in which a clock is looked for.
const LOOK: usize = 64 << 10;
const CHUNK: usize = 1 << 14;

/// Whether the trace has timestamps, and counts of cycles.
#[derive(Default)]
struct Clocks {
    timestamps: bool,
    cycles: bool,
}

impl Listener for Clocks {
    fn element(&mut self, _: usize, _: u64, element: Element) {
        match element {
            Element::Timestamp { value, .. } => self.timestamps |= value > 0,
            Element::Cycles(Some(_)) => self.cycles = true,
            Element::Range(range) => self.cycles |= range.cycles.get().is_some(),
            _ => {}
        }
    }
}

/// The clock of a capture. Only timestamps are common to its processors. `caches` receives the code
/// that was decoded.
fn clock(args: &TimingArgs, input: &Input, caches: &mut Caches) -> Result<Clock, Fail> {
    if recordings::only(input) {
        return match args.clock {
            None | Some(ClockArg::Timestamps) => Ok(Clock::Timestamps),
            Some(other) => {
                let why = "the trace of an ITM or STM has timestamps only";
                Err(Fail::option("--clock", other.clock().name(), why))
            }
        };
    }
    if let Some(clock) = args.clock {
        return Ok(clock.clock());
    }
    let joined = input.capture().linux.is_some();
    let (mut found, mut left) = (Clocks::default(), LOOK);
    for &buffer in &input.buffers {
        let job = input.job(buffer);
        if job.buffer.is_piped() {
            // It can be read only once.
            found.timestamps = true;
            continue;
        }
        let (mut session, mut bytes, mut block) =
            (job.session_with(take(caches))?, live::input_of(job.buffer), Vec::new());
        while left > 0 && !found.cycles && !(joined && found.timestamps) {
            block.clear();
            let more = bytes.more(CHUNK, true, &mut block);
            let more = more.map_err(|error| Fail::read(&job.buffer.name, &error))?;
            session.feed(&block, &mut found);
            left = left.saturating_sub(block.len());
            if more == More::End {
                session.finish(&mut found);
                break;
            }
        }
        *caches = session.into_caches();
    }
    Ok(match (found.cycles && !(joined && found.timestamps), found.timestamps) {
        (true, _) => Clock::Cycles,
        (false, true) => Clock::Timestamps,
        (false, false) => Clock::Instructions,
    })
}

/// Why `option` cannot decode the capture, if it cannot: it reads the whole of a buffer, more than
/// once.
fn refuse(args: &TimingArgs, input: &Input, option: &str, value: &str) -> Result<(), Fail> {
    let fail = |why: &str| Err(Fail::option(option, value, why));
    if args.how.committed || Selected::open(input, Some(&args.window), false)?.is_some() {
        return fail("the whole of a trace is looked at");
    }
    if input.buffers.iter().any(|&buffer| input.job(buffer).buffer.is_piped()) {
        return fail("the trace is read more than once, and a pipe can be read only once");
    }
    if args.format == TimingFormat::Csv {
        return fail("the output is text or JSON");
    }
    Ok(())
}

/// Refuses what the trace of an ITM or STM alone does not show.
fn refuse_events(args: &TimingArgs) -> Result<(), Fail> {
    let fail = |option: &str, value: &str, why: &str| {
        let why = format!("the trace is that of an ITM or STM, which has no instructions: {why}");
        Err(Fail::option(option, &plain::line(value), &why))
    };
    match &args.worst {
        Some(name) => fail("--worst", name, "it has no calls of functions"),
        None if args.masked => fail("--masked", "", "which of them mask interrupts is not known"),
        None => Ok(()),
    }
}

/// The tasks of --task, for what is measured while they run. `None`: all of the trace is.
fn running<'a>(args: &'a TimingArgs, input: &Input) -> Result<Option<WhileRunning<'a>>, Fail> {
    let (task, path) = (&args.only.task, &args.input.input);
    if let Some(name) = task.first()
        && recordings::only(input)
    {
        let why = "the trace is that of an ITM or STM: its packets are selected by port or \
                   comparator, and not by task";
        return Err(Fail::option("--task", &plain::line(name), why));
    }
    WhileRunning::of(task, &args.switches, input, args.how.committed, path)
}

/// Decodes a buffer in order.
fn each(job: &Job<'_>, listener: &mut dyn Listener) -> Result<(), Fail> {
    let (mut session, mut bytes, mut block) =
        (job.session()?, live::input_of(job.buffer), Vec::new());
    while !listener.full() {
        block.clear();
        let more = bytes.more(CHUNK, true, &mut block);
        let more = more.map_err(|error| Fail::read(&job.buffer.name, &error))?;
        session.feed(&block, listener);
        if more == More::End {
            session.finish(listener);
            break;
        }
    }
    Ok(())
}

/// The durations of a buffer, or of joined ones.
struct Table {
    name: String,
    timing: Timing,
    code: Code,
    sources: Vec<String>,
    threads: Vec<TaskThread>,
    /// The tasks that are wanted, where not all are.
    only: Option<BTreeSet<usize>>,
}

#[derive(Default)]
struct Found {
    tables: BTreeMap<usize, Table>,
    contradictions: Contradictions,
}

/// Selects what is recorded one by one.
type Record<'a> = dyn Fn(&Code) -> Recorded + Sync + 'a;

/// The durations of all buffers.
fn gather(
    args: &TimingArgs,
    input: &Input,
    (clock, caches): (Clock, Caches),
    record: &Record<'_>,
    output: &mut Output,
) -> Result<(Found, listing::Problems), Fail> {
    let only = &Chosen::new(&args.only.task);
    let selected = Selected::open(input, Some(&args.window), args.how.committed)?;
    let recipe = joined::Recipe {
        committed: args.how.committed,
        jobs: args.threads.jobs(),
        switches: &args.switches,
        selected: selected.as_ref(),
        path: &args.input.input,
    };
    if let Some(buffers) = joined::of(input, &recipe) {
        tasks::refuse_joined(only)?;
        return gather_joined(args, input, &recipe, &buffers, clock, record);
    }
    let runs = Runs::new(input.buffers.len(), args.how.committed, selected.as_ref());
    let (found, caches) = (Mutex::new(Found::default()), Mutex::new(caches));
    let work = |number: usize, job: &Job<'_>, jobs: Jobs, _: &mut listing::Write<'_>| {
        let options = RunOptions { caches: Some(&caches), ..runs.options(jobs) };
        let code = job.code();
        let tasks = tasks::of_any(&args.switches, job, &code, &args.input.input)?;
        let timing = Timing::new(clock)
            .by_caller(args.by_caller)
            .recording(record(&code))
            .with_tasks(tasks.clone());
        let selected = tasks::selected(only, job, &options, &code, &tasks)?;
        let (mut timing, threads, chosen, tally) = match selected {
            None => {
                let both = (timing, ThreadList::new(&tasks));
                let ((timing, list), _, tally) =
                    stacks::run(job, &options, &code, &tasks, both, |_| true)?;
                (timing, tasks::listed(job, &code, &tasks, &list), None, tally)
            }
            Some((chosen, threads)) => {
                let timing = timing.of_threads(chosen.clone());
                let (timing, _, tally) =
                    stacks::run(job, &options, &code, &tasks, timing, |_| true)?;
                (timing, threads, Some(chosen), tally)
            }
        };
        timing.finish();
        let sources = job.sources.iter().map(|source| source.name.clone()).collect();
        if let Ok(mut found) = found.lock() {
            found.contradictions.add(&tally);
            let name = job.buffer.name.clone();
            let table = Table { name, timing, code, sources, threads, only: chosen };
            found.tables.insert(number, table);
        }
        Ok(tally)
    };
    let problems = listing::buffers(input, &args.threads.jobs(), output, &runs, work)?;
    only.check()?;
    Ok((found.into_inner().unwrap_or_default(), problems))
}

/// As [`gather`], with the buffers joined by thread.
fn gather_joined(
    args: &TimingArgs,
    input: &Input,
    recipe: &joined::Recipe<'_>,
    buffers: &JoinedBuffers<'_>,
    clock: Clock,
    record: &Record<'_>,
) -> Result<(Found, listing::Problems), Fail> {
    let other = |_: &Job<'_>| stacks::NO_OTHER;
    let (visitor, how) = (
        |code: &Code| Timing::new(clock).by_caller(args.by_caller).recording(record(code)),
        Taking::in_order(),
    );
    let joined::Found { visitor: mut timing, code, problems, tallies, .. } =
        joined::run(input, buffers, recipe, visitor, &how, &other, &mut |_, _| Ok(true))?;
    timing.finish();
    let mut found = Found::default();
    tallies.iter().for_each(|(_, tally)| found.contradictions.add(tally));
    let sources = input.capture().sources.iter().map(|source| source.name.clone()).collect();
    let (name, threads, only) = (String::new(), Vec::new(), None);
    found.tables.insert(0, Table { name, timing, code, sources, threads, only });
    Ok((found, problems))
}

/// The limits by the clock.
fn limits(args: &TimingArgs) -> Result<Vec<Limit>, Fail> {
    let resolve = |limit: &Limit| {
        let why = "the bound is a time, and the frequency of the clock is not known; state it with \
                   --frequency, or give the bound in ticks of the clock";
        let none = || Fail::option("--limit", &plain::line(&limit.to_string()), why);
        limit.clone().at(args.frequency).ok_or_else(none)
    };
    args.limits.iter().map(resolve).collect()
}

/// Runs the verb.
pub fn run(args: &TimingArgs) -> Result<bool, Fail> {
    let limits = limits(args)?;
    let input = Input::open(&args.input, Some(&args.how))?;
    report::notes(&input);
    input.readable(args.outcome.strict)?;
    let of_function = |limit: &&Limit| limit.exception().is_none() && limit.task().is_none();
    for limit in limits.iter().filter(of_function) {
        select::named_by("--limit", &input, &limit.subject)?;
    }
    let mut output =
        Output::open(args.outcome.output.as_deref(), &index::inputs(&input, &args.window.index))?;
    let only_events = recordings::only(&input);
    if only_events {
        refuse_events(args)?;
    }
    let mut caches = Caches::default();
    let clock = clock(args, &input, &mut caches)?;
    if args.worst.is_some() {
        return worst::run(args, &input, clock, output);
    }
    if !args.between.is_empty() {
        return between::run(args, &input, clock, output);
    }
    if args.load.is_some() {
        return load::run(args, &input, clock, output);
    }
    if args.masked {
        return masked::run(args, &input, clock, output);
    }
    let nothing = |_: &Code| Recorded::Nothing;
    let (found, problems) = gather(args, &input, (clock, caches), &nothing, &mut output)?;
    input.decodable()?;
    tasks_exist(&limits, &found)?;
    unclocked(args, &input, clock, &found);
    let shown = Shown {
        measure: args.measure.measure(),
        function: args.function.as_deref(),
        exceptions: args.exceptions,
        tasks: args.task_times,
        only: None,
        rows: args.rows,
        histogram: args.histogram,
        frequency: args.frequency,
    };
    let (nothing, met) = print(args, &found, shown, &limits, &mut output)?;
    output.close()?;
    if nothing && args.rows != Some(0) {
        if let Some(name) = &args.function {
            select::named(&input, name)?;
        }
        let any = found.tables.values().any(|table| !table.timing.rows().is_empty());
        match args.task_times && any {
            true if only_events => {
                tasks::note_no_events(&input, &args.switches, &args.input.input)?;
            }
            true => message::line("note: the trace shows no task of an operating system"),
            false => report::nothing_selected(&input),
        }
    }
    Ok(problems.answer(&input, args.outcome.strict) && met && !(nothing && args.rows != Some(0)))
}

/// Fails for a limit of a task that the trace does not have.
fn tasks_exist(limits: &[Limit], found: &Found) -> Result<(), Fail> {
    for limit in limits {
        let Some(name) = limit.task() else { continue };
        let chosen = Chosen::new(&[name.to_owned()]);
        found.tables.values().for_each(|table| drop(chosen.threads(&table.threads)));
        if let Some((_, why)) = chosen.unknown() {
            return Err(Fail::option("--limit", &plain::line(&limit.to_string()), &why));
        }
    }
    Ok(())
}

/// States what the clock is where the trace has none, or lacks the one that is asked for.
fn unclocked(args: &TimingArgs, input: &Input, clock: Clock, found: &Found) {
    let has = |clock| found.tables.values().any(|table| table.timing.has(clock));
    let joined = input.capture().linux.is_some();
    let better = match clock {
        Clock::Instructions if has(Clock::Cycles) && !joined => Some(Clock::Cycles),
        Clock::Timestamps if has(Clock::Cycles) && !joined => Some(Clock::Cycles),
        Clock::Instructions if has(Clock::Timestamps) => Some(Clock::Timestamps),
        _ => None,
    };
    if let Some(better) = better.filter(|_| args.clock.is_none()) {
        message::line(&format!(
            "note: durations are in {}; the trace has {}, too: see --clock",
            clock.unit(),
            better.name()
        ));
    } else if clock == Clock::Instructions && args.clock.is_none() {
        let why = match args.frequency {
            Some(_) => "; --frequency is that of instructions",
            None => "",
        };
        message::line(&format!(
            "note: the trace has no timestamps and no counts of cycles: durations are numbers of \
             instructions{why}"
        ));
    } else if !found.tables.values().any(|table| table.timing.ticks()) {
        message::line(&format!(
            "note: the trace has no {}: no duration is known; see --clock",
            clock.name()
        ));
    }
}

/// Prints all tables and the answers of the limits. Returns whether nothing is shown, and whether
/// the limits are met.
fn print(
    args: &TimingArgs,
    found: &Found,
    shown: Shown<'_>,
    limits: &[Limit],
    output: &mut Output,
) -> Result<(bool, bool), Fail> {
    let (mut nothing, mut met) = (true, true);
    match args.format {
        TimingFormat::Text => output.print(&found.contradictions.text())?,
        TimingFormat::Json => output.json(&json::head("timing"))?,
        TimingFormat::Csv => {}
    }
    for (n, table) in found.tables.values().enumerate() {
        let Table { name, timing, code, sources, threads, only } = table;
        let shown = Shown { only: only.as_ref(), ..shown };
        let view = TimingView { timing, code, sources, threads, shown };
        nothing &= view.is_empty();
        match args.format {
            TimingFormat::Text => {
                if found.tables.len() > 1 {
                    output.print(&format!("{}\n", plain::line(name)))?;
                }
                output.print(&view.text())?;
            }
            TimingFormat::Json => output.json(&view.json())?,
            TimingFormat::Csv => output.print(&view.csv(n == 0))?,
        }
        for limit in limits {
            for answer in view.answers(limit) {
                met &= match answer.verdict {
                    Verdict::Met => true,
                    Verdict::Violated => false,
                    Verdict::Open | Verdict::Never => !args.outcome.strict,
                };
                match args.format {
                    TimingFormat::Text => output.print(&format!("{}\n", answer.text))?,
                    TimingFormat::Json => output.json(&answer.json(limit))?,
                    // The lines of CSV are those of durations.
                    TimingFormat::Csv => message::line(&answer.text),
                }
            }
        }
    }
    Ok((nothing, met))
}
