//! `tracewright history`

use std::sync::atomic::AtomicUsize;

use tracewright::analysis::Code;
use tracewright::decode::{CommittedListener, Fork, Jobs, input};
use tracewright::views::history::{Event, History};
use tracewright::views::instructions::{Expand, Text};

use crate::args::HistoryArgs;
use crate::fail::Fail;
use crate::input::{Input, Job};
use crate::listing;
use crate::message;
use crate::output::Output;
use crate::report;
use crate::run::{self, RunOptions};

/// Runs the verb.
pub fn run(args: &HistoryArgs) -> Result<bool, Fail> {
    let input = Input::open(&args.input, Some(&args.how))?;
    report::notes(&input);
    input.readable(args.strict)?;
    let mut output = Output::open(args.output.as_deref(), &input.inputs)?;
    let colour = output.colour();
    let refused = &AtomicUsize::new(0);
    let alone = input.buffers.len() == 1;
    let work = |_: usize, job: &Job<'_>, _: Jobs, write: &mut listing::Write<'_>| {
        let event = event(&args.before, &job.code(), args)?;
        // What is stored depends on all of the trace before: one thread decodes.
        let jobs = Jobs::new(1);
        let options = RunOptions { committed: args.how.committed, jobs, alone, refused };
        let history = History::new(event, args.count, args.first);
        let expand = Expand::new(history, &job.sources);
        let expand = CommittedListener::when(options.committed, expand);
        let bytes = &mut *input::of(job.buffer);
        let (mut found, tally) =
            run::run(&mut job.session()?, job.buffer, bytes, expand, &options, |()| true)?;
        let mut text = Text::new(Vec::new(), job.sources.clone(), colour);
        let history = &mut found.listener.view;
        history.show(&mut text);
        if history.events == 0 {
            message::line(&format!("note: `{}` does not occur in the trace", args.before));
        } else if history.events > 1 && !args.first {
            message::line(&format!("note: the last of {} occurrences", history.events));
        }
        write(text.take());
        Ok((tally, None))
    };
    let jobs = Jobs::all();
    let problems = listing::buffers(&input, &jobs, &mut output, false, refused, false, work)?;
    input.decodable()?;
    output.close()?;
    Ok(input.is_unchanged() && !(args.strict && problems))
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
    let starts: Vec<(u64, u64)> = code
        .named(text)
        .filter_map(|number| code.get(number))
        .map(|known| (known.function.start, known.function.start))
        .collect();
    if starts.is_empty() {
        let what = format!(
            "--before: `{text}` is not `end`, `exception`, `exception:NUMBER`, an address such as \
             0x8000, or a function of the program"
        );
        return Err(Fail::input(&args.input.input, &what));
    }
    Ok(Event::Address(starts))
}
