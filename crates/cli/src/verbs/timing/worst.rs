//! `tracewright timing --worst`

use std::collections::{BTreeMap, HashSet};

use tracewright::analysis::Code;
use tracewright::analysis::stacks::FunctionId;
use tracewright::analysis::timing::{
    Activated, Clock, Loop, Recorded, Timing, Turns, differences, longest_and_median,
};
use tracewright::decode::Caches;
use tracewright::views::functions::is_called;
use tracewright::views::json;
use tracewright::views::timing::{Shown, TimingView, Worst};

use super::{Table, each, gather};
use crate::args::{TimingArgs, TimingFormat};
use crate::fail::Fail;
use crate::input::Input;
use crate::message;
use crate::output::Output;
use crate::run::Runs;
use crate::select;
use crate::stacks;
use crate::tasks;

/// The functions that are called `pattern`; of code without symbols, the address.
pub(super) fn functions(code: &Code, pattern: &str) -> HashSet<FunctionId> {
    let is = |known: &FunctionId| is_called(pattern, &code.name(*known), code.symbol(*known));
    let known = (0..code.functions().len() as u32).map(FunctionId::Known).filter(is);
    let address = pattern.strip_prefix("0x").and_then(|text| u64::from_str_radix(text, 16).ok());
    known.chain(address.map(FunctionId::At)).collect()
}

/// Why the calls of the capture cannot be compared, if they cannot.
fn refuse(args: &TimingArgs, input: &Input) -> Result<(), Fail> {
    let function = args.worst.as_deref().unwrap_or_default();
    if input.capture().linux.is_some() {
        let why = "calls are selected in one buffer, and this capture is of many";
        return Err(Fail::option("--worst", function, why));
    }
    super::refuse(args, input, "--worst", function)
}

/// Runs the verb.
pub fn run(
    args: &TimingArgs,
    input: &Input,
    clock: Clock,
    mut output: Output,
) -> Result<bool, Fail> {
    refuse(args, input)?;
    let pattern = args.worst.as_deref().unwrap_or_default();
    let record = |code: &Code| Recorded::Functions(functions(code, pattern));
    let (found, problems) = gather(args, input, (clock, Caches::default()), &record, &mut output)?;
    input.decodable()?;
    super::unclocked(args, input, clock, &found);
    if args.format == TimingFormat::Json {
        output.json(&json::head("timing"))?;
    }
    let mut compared = false;
    for (number, table) in &found.tables {
        let (calls, more) = table.timing.records();
        if more > 0 {
            message::line(&format!("note: the first {} calls are compared", calls.len()));
        }
        let rank = args.rank as usize;
        let Some((longest, median)) = longest_and_median(calls, rank) else { continue };
        let Some(&buffer) = input.buffers.get(*number) else { continue };
        let both = [longest, median];
        let inside = inside(args, input, buffer, clock, both.to_vec())?;
        let loops = loops(input, buffer, both.to_vec())?;
        let shown = Shown { frequency: args.frequency, ..Shown::default() };
        let Table { timing, code, sources, .. } = table;
        let view = Worst {
            view: TimingView { timing, code, sources, threads: &[], shown },
            longest: &longest,
            rank,
            median: &median,
            calls: calls.len(),
            differences: &differences(&longest, &median, &inside),
            loops: &loops,
            sources: input.job(buffer).sources,
        };
        match args.format {
            TimingFormat::Json => output.json(&view.json())?,
            _ => output.print(&view.text())?,
        }
        compared = true;
    }
    output.close()?;
    if !compared {
        select::named_by("--worst", input, pattern)?;
        message::line(
            "note: no two calls with different times begin and end in the trace without a loss",
        );
    }
    Ok(problems.answer(input, args.outcome.strict) && compared)
}

/// What begins and ends in the calls.
fn inside(
    args: &TimingArgs,
    input: &Input,
    buffer: usize,
    clock: Clock,
    calls: Vec<Activated>,
) -> Result<Vec<Activated>, Fail> {
    let job = input.job(buffer);
    let runs = Runs::new(1, false, None);
    let (options, code) = (runs.options(args.threads.jobs()), job.code());
    let tasks = tasks::of(&args.switches, &job, &code, &args.input.input)?;
    let timing = Timing::new(clock).recording(Recorded::Within(calls));
    let (mut timing, ..) = stacks::run(&job, &options, &code, &tasks, timing, |_| true)?;
    timing.finish();
    Ok(timing.records().0.to_vec())
}

/// How often loops turn in the calls.
fn loops(
    input: &Input,
    buffer: usize,
    calls: Vec<Activated>,
) -> Result<BTreeMap<Loop, Vec<u64>>, Fail> {
    let mut turns = Turns::new(calls);
    each(&input.job(buffer), &mut turns)?;
    Ok(turns.counts().clone())
}
