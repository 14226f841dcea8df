//! `tracewright timing --between`

use tracewright::analysis::Code;
use tracewright::analysis::timing::{
    Clock, Distances, EventAt, LocalDistances, Statistics, Timing,
};
use tracewright::base::Element;
use tracewright::capture::plain;
use tracewright::index::query::{Condition, Query, Which};
use tracewright::index::{Answer, Finder, Found, Running};
use tracewright::views::Source;
use tracewright::views::functions::is_called;
use tracewright::views::json;
use tracewright::views::timing::{Between, Shown, TimingView};

use super::{each, refuse};
use crate::args::{TimingArgs, TimingFormat};
use crate::fail::Fail;
use crate::input::{Input, Job};
use crate::message;
use crate::output::Output;
use crate::recordings;
use crate::run::Runs;
use crate::tasks::WhileRunning;

/// The most events of each query in one buffer.
const MAX_EVENTS: usize = 1 << 22;

/// A query that finds all of its elements.
fn parse(text: &str) -> Result<Query, Fail> {
    let mut query = Query::parse(&[text])
        .map_err(|error| Fail::option("--between", text, &error.to_string()))?;
    match query.which {
        Which::First | Which::All => query.which = Which::All,
        Which::Last | Which::Nth(_) | Which::Count => {
            let why = "all events are measured: leave out `last`, `nth` and `count`";
            return Err(Fail::option("--between", text, why));
        }
    }
    Ok(query)
}

/// Whether the event is the first of the instructions of its element.
fn is_first(query: &Query, found: &Found, sources: &[Source]) -> bool {
    let Element::Range(range) = found.element else { return true };
    query.conditions.first().is_some_and(|condition| match condition {
        Condition::Address(addresses) => addresses.contains(&range.start),
        Condition::Function(name) => {
            let source = sources.get(found.source);
            let symbol = source.and_then(|source| source.symbol_at(range.start));
            symbol.is_some_and(|symbol| symbol.offset == 0 && is_called(name, &symbol.name, None))
        }
        _ => false,
    })
}

/// Whether an event is a packet of an ITM or STM beside a trace unit.
fn has_no_time(job: &Job<'_>, found: &Found) -> bool {
    !recordings::only_of(job) && job.sources.get(found.source).is_some_and(recordings::is_itm)
}

/// The events of both queries.
fn events(
    input: &Input,
    job: &Job<'_>,
    queries: &[Query; 2],
    running: Option<Running>,
) -> Result<Vec<EventAt>, Fail> {
    let (mut events, mut untimed) = (Vec::new(), None);
    let finder = Finder::new(input.trace.subject(), job.plan, None);
    let Some(mut finder) = finder else { return Ok(events) };
    if let Some(running) = running {
        finder = finder.while_running(running);
    }
    finder.limit = MAX_EVENTS;
    for (n, query) in queries.iter().enumerate() {
        let answer = finder.find(query);
        let answer = answer.map_err(|error| Fail::input(&input.path, &error.to_string()))?;
        let Answer::Elements(found) = answer else { continue };
        if found.len() >= MAX_EVENTS {
            message::line(&format!("note: the first {MAX_EVENTS} events of a query are measured"));
        }
        untimed = untimed.or_else(|| found.iter().find(|found| has_no_time(job, found)).copied());
        events.extend(found.iter().map(|found| EventAt {
            number: found.number,
            begins: n == 0,
            first: is_first(query, found, job.sources),
        }));
    }
    if let Some(source) = untimed.and_then(|found| job.sources.get(found.source)) {
        message::line(&format!(
            "note: packets of {} have no time by the clock of the instructions: select it alone \
             with --id",
            plain::line(&source.name)
        ));
    }
    Ok(events)
}

/// Why a query finds nothing in the trace of an ITM or STM alone, if that is certain.
fn refuse_instructions(text: &str, query: &Query) -> Result<(), Fail> {
    let why = |condition: &Condition| match condition {
        Condition::Exception(_) => Some("its exceptions are `dwt enter N`, `dwt exit N`"),
        Condition::Access { .. } => Some("its data accesses are `dwt data COMPARATOR`"),
        Condition::Function(_)
        | Condition::Line { .. }
        | Condition::Address(_)
        | Condition::Instruction(_)
        | Condition::Context(_) => Some("it has `write PORT` and `dwt`"),
        _ => None,
    };
    match query.conditions.iter().find_map(why) {
        None => Ok(()),
        Some(why) => {
            let why =
                format!("the trace is that of an ITM or STM, which has no instructions: {why}");
            Err(Fail::option("--between", &plain::line(text), &why))
        }
    }
}

/// The distances between the events of a buffer, and the events without one.
fn measured(
    job: &Job<'_>,
    clock: Clock,
    events: Vec<EventAt>,
) -> Result<(Statistics, (u64, u64)), Fail> {
    if recordings::only_of(job) {
        let mut distances = LocalDistances::new(events);
        each(job, &mut distances)?;
        return Ok(distances.finish());
    }
    let mut distances = Distances::new(clock, events);
    each(job, &mut distances)?;
    Ok(distances.finish())
}

/// Runs the verb.
pub fn run(
    args: &TimingArgs,
    input: &Input,
    clock: Clock,
    mut output: Output,
) -> Result<bool, Fail> {
    refuse(args, input, "--between", "")?;
    let [from, to] = args.between.as_slice() else { return Ok(false) };
    let queries = [parse(from)?, parse(to)?];
    let only_events = recordings::only(input);
    if only_events {
        refuse_instructions(from, &queries[0])?;
        refuse_instructions(to, &queries[1])?;
    }
    let running = super::running(args, input)?;
    if args.format == TimingFormat::Json {
        output.json(&json::head("timing"))?;
    }
    let mut any = false;
    for &buffer in &input.buffers {
        let job = input.job(buffer);
        let runs = Runs::new(1, false, None);
        let while_runs =
            |tasks: &WhileRunning<'_>| tasks.running(&job, &runs.options(args.threads.jobs()));
        let while_running = running.as_ref().map(while_runs).transpose()?;
        let events = events(input, &job, &queries, while_running)?;
        let (statistics, unpaired) = measured(&job, clock, events)?;
        let sources: Vec<String> = job.sources.iter().map(|source| source.name.clone()).collect();
        let shown = Shown { frequency: args.frequency, ..Shown::default() };
        let timing = &Timing::new(clock).without_instructions(only_events);
        let code = &Code::default();
        let view = Between {
            view: TimingView { timing, code, sources: &sources, threads: &[], shown },
            queries: [from, to],
            statistics: &statistics,
            unpaired,
        };
        match args.format {
            TimingFormat::Json => output.json(&view.json())?,
            _ => output.print(&view.text())?,
        }
        any |= statistics.count() + statistics.lost() > 0;
    }
    output.close()?;
    input.decodable()?;
    if let Some(tasks) = &running {
        tasks.check()?;
    }
    if !any {
        message::line("note: no event of the second query follows one of the first");
    }
    Ok(any)
}
