//! `tracewright history`

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use tracewright::analysis::Code;
use tracewright::base::{Element, Gap, Isa};
use tracewright::decode::{CommittedListener, Fork, Jobs, Listener, Program, Tally};
use tracewright::index::query::{Condition, Which};
use tracewright::index::{Answer, Cursor, Finder, Found, Index, Query};
use tracewright::symbols::is_named;
use tracewright::views::history::{Event, History, OTHERS};
use tracewright::views::instructions::{Expand, Text};

use crate::args::HistoryArgs;
use crate::contradictions::Contradictions;
use crate::fail::Fail;
use crate::index::{self, Selected};
use crate::input::{Input, Job};
use crate::listing;
use crate::live;
use crate::message;
use crate::output::Output;
use crate::report;
use crate::run::{self, RunOptions, Runs};
use crate::tasks::WhileRunning;

/// Runs the verb.
pub fn run(args: &HistoryArgs) -> Result<bool, Fail> {
    let input = Input::open(&args.input, Some(&args.how))?;
    report::notes(&input);
    input.readable(args.outcome.strict)?;
    let selected = Selected::open(&input, Some(&args.window), args.how.committed)?;
    let path = args.input.path();
    let running = WhileRunning::new(&args.running, &input, args.how.committed, path)?;
    let whole = selected.is_none() && running.is_none();
    // With --strict, the whole trace is checked.
    let index = match whole && !args.how.committed && !args.outcome.strict {
        true if !index::is_piped(&input) => index::open(&input, &args.window.index)?,
        _ => None,
    };
    let mut output =
        Output::open(args.outcome.output.as_deref(), &index::inputs(&input, &args.window.index))?;
    let colour = output.colour();
    let mut runs = Runs::new(input.buffers.len(), args.how.committed, selected.as_ref());
    runs.part |= index.is_some() || running.is_some();
    let occurred = AtomicBool::new(false);
    let work = |_: usize, job: &Job<'_>, _: Jobs, write: &mut listing::Write<'_>| {
        let event = event(&args.before, &job.code(), args)?;
        // What is stored depends on all of the trace before: one thread decodes.
        let jobs = Jobs::new(1);
        let options = runs.options(jobs);
        let own = running.as_ref().map(|tasks| tasks.part(job, &options, options.selected));
        let own = own.transpose()?;
        let options = RunOptions { selected: own.as_ref().or(options.selected), ..options };
        if let Some(index) = &index
            && let Some(mut history) = with_index(&input, job, index, &event, args)?
        {
            occurred.fetch_or(history.events > 0, Ordering::Relaxed);
            show(&mut history, job, args, colour, write);
            return Ok(Tally::default());
        }
        let history = History::new(event, args.count, args.first);
        let expand = Expand::new(history, job.sources);
        let expand = CommittedListener::when(options.committed, expand);
        let bytes = &mut *live::input_of(job.buffer);
        let (mut found, tally) =
            run::run(job.session()?, job.buffer, bytes, expand, &options, |()| true)?;
        write(Contradictions::of(&tally).misfit().into_bytes());
        let history = &mut found.listener.view;
        occurred.fetch_or(history.events > 0, Ordering::Relaxed);
        show(history, job, args, colour, write);
        Ok(tally)
    };
    let jobs = Jobs::all();
    let problems = listing::buffers(&input, &jobs, &mut output, &runs, work)?;
    input.decodable()?;
    if let Some(running) = &running {
        running.check()?;
    }
    output.close()?;
    // Each trace has an end.
    let occurred = occurred.into_inner() || args.before == "end";
    let answer = problems.answer(&input, args.outcome.strict);
    if !occurred && input.has_trace() {
        message::line(&format!("note: `{}` does not occur in the trace", args.before));
    }
    Ok(occurred && answer)
}

/// Writes what was found.
fn show(
    history: &mut History,
    job: &Job<'_>,
    args: &HistoryArgs,
    colour: bool,
    write: &mut listing::Write<'_>,
) {
    let mut text = Text::new(Vec::new(), job.sources.to_vec(), colour);
    history.show(&mut text);
    if history.events > 1 && !args.first {
        message::line(&format!("note: the last of {} occurrences", history.events));
    }
    write(text.take());
}

/// The event and what was before it, found with an index. `None` where the whole trace is decoded:
/// program memory depends on what was executed before, or the event has several addresses.
fn with_index(
    input: &Input,
    job: &Job<'_>,
    index: &Index,
    event: &Event,
    args: &HistoryArgs,
) -> Result<Option<History>, Fail> {
    if job.sources.iter().any(|source| !matches!(source.program, Program::Image(_))) {
        return Ok(None);
    }
    let condition = match event {
        Event::End => Condition::Any,
        Event::Exception(number) => Condition::Exception(number.map(u64::from)),
        Event::Address(ranges) => match ranges[..] {
            [(first, last)] if last < u64::MAX => Condition::Address(first..last + 1),
            _ => return Ok(None),
        },
    };
    let Some(mut finder) = Finder::new(input.trace.subject(), job.plan, Some(index)) else {
        return Ok(None);
    };
    let failed = |error| Fail::input(&input.path, &format!("{error}"));
    let which = if args.first && *event != Event::End { Which::First } else { Which::Last };
    let query = |which| Query { which, conditions: vec![condition.clone()], bound: None };
    let Answer::Elements(found) = finder.find(&query(which)).map_err(failed)? else {
        return Ok(None);
    };
    let Some(found) = found.first().copied() else {
        return Ok(Some(History::new(event.clone(), args.count, args.first)));
    };
    // Only instructions of A64 all begin at the addresses that ranges of their length have.
    let exact = match found.element {
        Element::Range(range) => range.last.isa == Isa::A64 && found_at(event).is_multiple_of(4),
        _ => true,
    };
    let events = match event {
        Event::End => 0,
        _ if args.first => 1,
        Event::Address(_) if !exact => return Ok(None),
        _ => match finder.find(&query(Which::Count)).map_err(failed)? {
            Answer::Count(count) => count,
            Answer::Elements(_) => return Ok(None),
        },
    };
    let before = before(finder, &found, args.count).map_err(failed)?;
    let mut expand = Expand::new(History::new(event.clone(), args.count, args.first), job.sources);
    let mut known = vec![false; job.sources.len()];
    for found in before.iter().rev() {
        if let (Some(known), Some(context)) = (known.get_mut(found.source), found.context)
            && !std::mem::replace(known, true)
        {
            expand.element(found.source, found.at, Element::Context(context));
        }
    }
    // The contexts were only for the program memory.
    expand.view = History::new(event.clone(), args.count, args.first);
    for found in before.iter().rev() {
        expand.element(found.source, found.at, found.element);
    }
    let mut history = expand.view;
    if matches!(event, Event::Address(_)) && history.events == 0 {
        // An instruction contains the address, and does not begin there.
        return Ok(None);
    }
    history.events = events;
    Ok(Some(history))
}

/// The address of an event, or 0.
fn found_at(event: &Event) -> u64 {
    match event {
        Event::Address(ranges) => ranges.first().map_or(0, |(first, _)| *first),
        Event::End | Event::Exception(_) => 0,
    }
}

/// The elements up to `found` that have the last `count` instructions before it, the latest first.
fn before(
    finder: Finder<'_>,
    found: &Found,
    count: usize,
) -> Result<Vec<Found>, tracewright::index::FindError> {
    let mut cursor = Cursor::new(finder, vec![Condition::Any], found.number.saturating_add(1));
    let (mut elements, mut items, mut instructions) = (Vec::new(), 0, 0);
    // Instructions after the event in its own range are not shown.
    let enough =
        |items: usize, instructions: usize| items > OTHERS * count.max(1) || instructions > count;
    while !enough(items, instructions) {
        let Some(found) = cursor.previous()? else { break };
        match found.element {
            Element::Range(_) if elements.is_empty() => {}
            Element::Range(range) => instructions += range.instructions as usize,
            Element::Gap(Gap::Start) | Element::End => {}
            _ => items += 1,
        }
        elements.push(found);
    }
    Ok(elements)
}

/// The event of the command line.
fn event(text: &str, code: &Code, args: &HistoryArgs) -> Result<Event, Fail> {
    if text == "end" {
        return Ok(Event::End);
    }
    if text == "exception" {
        return Ok(Event::Exception(None));
    }
    if let Some(number) = text.strip_prefix("exception:").and_then(|n| n.parse().ok()) {
        return Ok(Event::Exception(Some(number)));
    }
    if let Some(address) = text.strip_prefix("0x").and_then(|n| u64::from_str_radix(n, 16).ok()) {
        return Ok(Event::Address(vec![(address, address)]));
    }
    let named = || code.functions().iter().filter(|known| is_named(&known.function.symbol, text));
    let fixed = named().filter(|known| known.module.is_none()).map(|known| known.function.start);
    let starts: BTreeSet<u64> = fixed.collect();
    if starts.is_empty() {
        let why = match named().next() {
            Some(_) => "has another address in each process; write an address such as 0x8000",
            None => {
                "is not `end`, `exception`, `exception:NUMBER`, an address such as 0x8000, or a \
                 function of the program"
            }
        };
        return Err(Fail::input(&args.input.input, &format!("--before: `{text}` {why}")));
    }
    Ok(Event::Address(starts.into_iter().map(|start| (start, start)).collect()))
}
