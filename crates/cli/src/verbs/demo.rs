//! `tracewright demo`

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::AtomicUsize;

use tracewright::analysis::itm::Signals;
use tracewright::analysis::tasks::Tasks;
use tracewright::capture::write_with;
use tracewright::decode::{CommittedListener, Fork, Jobs, input};
use tracewright::index::query::Query;
use tracewright::index::{Answer, Finder};
use tracewright::views::calls::{self, Calls};
use tracewright::views::functions;
use tracewright::views::history::{Event, History};
use tracewright::views::instructions::{Expand, Text};
use tracewright::views::text::{Listing, Shown};

use crate::args::{DemoArgs, JobsArgs, SwitchArgs};
use crate::demo::{self, Example};
use crate::fail::Fail;
use crate::input::{Input, Job};
use crate::listing;
use crate::message;
use crate::output::Output;
use crate::run::{self, RunOptions, Stop};
use crate::stacks;
use crate::tasks::Chosen;
use crate::verbs::find;
use crate::verbs::functions as table;
use crate::verbs::report;

const ABOUT: &str = "\
Built-in example: a Cortex-M7 places 5 queens on a chessboard of 5 by 5 and prints each solution to an ITM, while
a timer interrupts it. Then it tries 3 queens, for which there is no solution. An ETMv4 traces it.

What ran, how often? (tracewright functions FOLDER)

";

const CALLS: &str = "
Who called it? The first calls. (tracewright calls FOLDER)
Columns: instructions before, time, function with its instructions.

";

const HISTORY: &str = "
What happened just before the fault? (tracewright history FOLDER --before exception:6)

";

const ELEMENTS: &str = "
What the trace consists of: the first elements. (tracewright decode FOLDER)
Columns: byte offset in the trace buffer, trace source, decoded element.

";

const NEXT: &str = "
Next:
  tracewright demo --report report.html     one page with functions, flame graph, timeline, coverage
  tracewright demo --write FOLDER           write this capture as a snapshot, with its program
  tracewright info FOLDER                   describe it, each register field by field
  tracewright decode --packets FOLDER       interleave its packets with the decoded elements
  tracewright instructions FOLDER           every executed instruction
  tracewright coverage FOLDER --annotate program.c
                                            the source, with what was executed and what was not
With your own capture, a snapshot, a perf.data or a dump of a trace buffer:
  tracewright info CAPTURE --image program.elf   what it is, what is missing, and the next command
";

const ABOUT_DATA: &str = "\
Built-in example with data accesses: a Cortex-R5 reads temperatures and raises an alarm where their mean is above
a limit. The limit is 60, and the alarm is raised at 25: something has written the limit. An ETMv3 traces
instructions, and addresses and values of data.

What ran, how often? (tracewright functions FOLDER)

";

const ACCESSES: &str = "
Who wrote the limit? (tracewright find FOLDER all access 0x20219)
Columns: element, instructions before, byte offset in the trace buffer, trace source, access and its instruction.

";

const NEXT_DATA: &str = "
Next:
  tracewright demo --data --write FOLDER    write this capture as a snapshot, with its program
  tracewright gdb FOLDER                    the trace in gdb, forwards and backwards; there:
    break alarm
    continue
    watch heater.limit
    reverse-continue                        stops where the limit was written last
docs/data-example.md goes through this session.
";

/// The accesses that the second example prints.
const LIMIT: &str = "all access 0x20219";

/// The lines of the calls, the instructions before the fault, and the lines of elements.
const CALL_LINES: u64 = 30;
const INSTRUCTIONS: usize = 6;
const ELEMENT_LINES: usize = 31;

/// The exception number of UsageFault. (Armv7-M ARM, B1.5.2)
const USAGE_FAULT: u16 = 6;

/// Runs the verb.
pub fn run(args: &DemoArgs) -> Result<bool, Fail> {
    let example = if args.data { demo::heater::HEATER } else { demo::QUEENS };
    let capture = (example.capture)();
    if let Some(folder) = &args.write {
        let source = (example.name, example.source.as_bytes());
        write_with(&capture, folder, &[source])?;
        if let Some(path) = &args.report {
            report(&Input::of(capture), &example, path)?;
            message::line(&format!("{} written", path.display()));
        }
        message::line(&format!("{0} written; next: tracewright info {0}", folder.display()));
        return Ok(true);
    }
    let input = Input::of(capture);
    let mut output = Output::standard()?;
    let switches = &SwitchArgs::default();
    let how = table::FunctionOptions {
        committed: false,
        threads: &JobsArgs { jobs: Some(NonZeroUsize::MIN) },
        switches,
        only: &Chosen::default(),
        window: None,
        path: Path::new(example.name),
    };
    output.print(if args.data { ABOUT_DATA } else { ABOUT })?;
    table::print(&input, &how, &functions::Shown::default(), &mut output)?;

    let job = input.job(0);
    let refused = &AtomicUsize::new(0);
    let options = RunOptions {
        committed: false,
        jobs: Jobs::new(1),
        alone: true,
        refused,
        selected: None,
        parts: None,
        stop: Stop::default(),
        caches: None,
    };
    if args.data {
        output.print(ACCESSES)?;
        accesses(&input, &job, &mut output)?;
    } else {
        output.print(CALLS)?;
        calls(&job, &options, &mut output)?;
        output.print(HISTORY)?;
        history(&job, &options, &mut output)?;
    }
    output.print(ELEMENTS)?;
    elements(&job, &options, &mut output)?;
    output.failed()?;

    output.print(if args.data { NEXT_DATA } else { NEXT })?;
    if let Some(path) = &args.report {
        report(&input, &example, path)?;
        let name = path.display();
        output.print(&format!(
            "\nThe report of this example is in {name}: open it in a browser.\n"
        ))?;
    }
    output.close()?;
    Ok(true)
}

/// Prints the first calls.
fn calls(job: &Job<'_>, options: &RunOptions<'_>, output: &mut Output) -> Result<(), Fail> {
    let code = job.code();
    let shown = calls::Shown { limit: Some(CALL_LINES), ..calls::Shown::default() };
    let names = job.sources.iter().map(|source| source.name.clone());
    let calls = Calls::new(code.clone(), names, shown);
    let (mut calls, ..) = stacks::run(job, options, &code, &Tasks::default(), calls, |_| true)?;
    output.print(&calls.take())
}

/// Prints the instructions before the fault.
fn history(job: &Job<'_>, options: &RunOptions<'_>, output: &mut Output) -> Result<(), Fail> {
    let history = History::new(Event::Exception(Some(USAGE_FAULT)), INSTRUCTIONS, true);
    let expand = Expand::new(history, job.sources);
    let expand = CommittedListener::when(options.committed, expand);
    let bytes = &mut *input::of(job.buffer);
    let (mut found, _) = run::run(job.session()?, job.buffer, bytes, expand, options, |()| true)?;
    let mut text = Text::new(Vec::new(), job.sources.to_vec(), output.colour());
    found.listener.view.show(&mut text);
    output.put(&text.take());
    Ok(())
}

/// Prints the accesses of the limit.
fn accesses(input: &Input, job: &Job<'_>, output: &mut Output) -> Result<(), Fail> {
    let query =
        Query::parse(&[LIMIT]).map_err(|error| Fail::input(&input.path, &error.to_string()))?;
    let Some(mut finder) = Finder::new(input.trace.subject(), job.plan, None) else {
        return Ok(());
    };
    let answer = finder.find(&query);
    let answer = answer.map_err(|error| Fail::input(&input.path, &error.to_string()))?;
    if let Answer::Elements(found) = answer {
        found.iter().try_for_each(|found| output.print(&find::line(job, found, &[])))?;
    }
    Ok(())
}

/// Prints the first elements.
fn elements(job: &Job<'_>, options: &RunOptions<'_>, output: &mut Output) -> Result<(), Fail> {
    let shown = Shown { elements: true, colour: output.colour(), ..Shown::default() };
    let listing = Listing::new(Vec::new(), job.sources.to_vec(), job.buffer.size(), shown);
    let bytes = &mut *input::of(job.buffer);
    let mut all = Vec::new();
    listing::decode(job, bytes, options, listing, &mut None, |text| {
        all.extend(text);
        true
    })?;
    for line in all.split_inclusive(|&byte| byte == b'\n').take(ELEMENT_LINES) {
        output.put(line);
    }
    Ok(())
}

/// Writes the report.
fn report(input: &Input, example: &Example, path: &Path) -> Result<(), Fail> {
    let how = report::ReportOptions {
        committed: false,
        jobs: Jobs::new(1),
        only: &[],
        switches: &SwitchArgs::default(),
        limit: 10_000,
        title: Path::new("built-in example"),
        options: &[],
        signals: &Signals::default(),
        selected: None,
        index: None,
        source_roots: &[],
        read: &|_, _| Err(std::io::Error::from(std::io::ErrorKind::NotFound)),
        source: &|name, _| {
            let own = name.ends_with(example.name);
            own.then(|| (example.source.to_owned(), example.name.to_owned()))
        },
        check: &|| Ok(()),
    };
    let mut file = Output::open(Some(path), &input.inputs)?;
    report::write(input, &how, &mut file)?;
    file.failed()?;
    file.close()
}
