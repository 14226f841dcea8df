//! `tracewright functions`

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;

use tracewright::analysis::functions::by_thread;
use tracewright::analysis::stacks::StackCounts;
use tracewright::analysis::{Code, Paths};
use tracewright::decode::Jobs;
use tracewright::export::paths::PathView;
use tracewright::views::functions::{FunctionTable, Shown, counts_json, counts_text};
use tracewright::views::json;

use crate::args::{FunctionFormat, FunctionsArgs};
use crate::fail::Fail;
use crate::input::{Input, Job};
use crate::listing;
use crate::message;
use crate::output::Output;
use crate::report;
use crate::run::RunOptions;
use crate::stacks;

/// The functions of all buffers.
#[derive(Default)]
struct All {
    code: Code,
    threads: BTreeMap<String, FunctionTable>,
    counts: StackCounts,
    overflowed: bool,
}

/// Runs the verb.
pub fn run(args: &FunctionsArgs) -> Result<bool, Fail> {
    let input = Input::open(&args.input, Some(&args.how))?;
    report::notes(&input);
    input.readable(args.strict)?;
    if args.format.paths().is_some() {
        stacks::one_buffer(&input, &args.input.input)?;
    }
    let mut output = Output::open(args.output.as_deref(), &input.inputs)?;
    let refused = &AtomicUsize::new(0);
    let all = Mutex::new(All::default());
    let alone = input.buffers.len() == 1;
    let work = |_: usize, job: &Job<'_>, jobs: Jobs, write: &mut listing::Write<'_>| {
        let options = RunOptions {
            committed: args.how.committed,
            jobs,
            alone,
            refused,
            selected: None,
            parts: None,
        };
        let code = stacks::code(job);
        let switches = args.switches.numbers(&code, &args.input.input)?;
        let (paths, counts, tally) =
            stacks::run(job, &options, &code, &switches, Paths::new(), |_| true)?;
        if let Some(format) = args.format.paths() {
            let threads = paths.threads().iter();
            let threads: Vec<String> =
                threads.map(|thread| job.thread_name(thread.source, thread.id)).collect();
            let view = PathView { paths: &paths, code: &code, threads: &threads };
            write(format.write(&view).into_bytes());
            return Ok((tally, None));
        }
        if let Ok(mut all) = all.lock() {
            all.counts.add(&counts);
            all.overflowed |= paths.overflowed;
            for (thread, functions) in paths.threads().iter().zip(by_thread(&paths)) {
                let name = job.thread_name(thread.source, thread.id);
                let table = all.threads.entry(name.clone()).or_default();
                table.thread = Some(name);
                for (function, totals) in functions {
                    table.functions.entry(function).or_default().add(&totals);
                }
            }
            all.code = code;
        }
        Ok((tally, None))
    };
    let problems =
        listing::buffers(&input, &args.threads.jobs(), &mut output, false, refused, false, work)?;
    input.decodable()?;
    let All { code, threads, counts, overflowed } = all.into_inner().unwrap_or_default();
    if overflowed {
        message::line(
            "note: there are too many call paths; totals of some functions are too small",
        );
    }
    let tables: Vec<FunctionTable> =
        threads.into_values().filter(|table| !table.functions.is_empty()).collect();
    let tables = match args.per_thread {
        true => tables,
        false => vec![FunctionTable::of_all(&tables)],
    };
    let shown = Shown { sort: args.sort.sort(), limit: args.limit, name: args.function.as_deref() };
    match args.format {
        FunctionFormat::Text => {
            for table in &tables {
                output.print(&table.text(&code, &shown))?;
            }
            output.print(&counts_text(&counts))?;
        }
        FunctionFormat::Json => {
            output.json(&json::head("functions"))?;
            for table in &tables {
                output.json(&table.json(&code, &shown))?;
            }
            output.json(&counts_json(&counts))?;
        }
        FunctionFormat::Folded | FunctionFormat::FlameGraph | FunctionFormat::Callgrind => {}
    }
    output.close()?;
    Ok(input.is_unchanged() && !(args.strict && problems))
}
