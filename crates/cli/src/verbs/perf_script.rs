//! `tracewright perf-script`

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use tracewright::capture::Queue;
use tracewright::views::perf_script::{PerfScript, Samples, State, Traced};

use crate::args::PerfScriptArgs;
use crate::fail::Fail;
use crate::input::Input;
use crate::listing;
use crate::live;
use crate::message;
use crate::output::Output;
use crate::report;
use crate::run::{self, RunOptions};

/// Runs the verb.
pub fn run(args: &PerfScriptArgs) -> Result<bool, Fail> {
    let samples = samples(&args.itrace).ok_or_else(|| {
        let what = "expected b for branches, or iN for a sample of N instructions, such as i1000";
        Fail::option("--itrace", &args.itrace, what)
    })?;
    let input = Input::open(&args.input, None)?;
    let Some(linux) = &input.capture.linux else {
        return Err(Fail::input(
            &args.input.input,
            "only perf.data has the threads that are printed",
        ));
    };
    report::notes(&input);
    input.readable(args.strict)?;
    let mut output = Output::open(args.output.as_deref(), &input.inputs)?;
    // As perf prints them: one CPU or thread after another.
    let mut buffers = input.buffers.clone();
    buffers.sort_by_key(|&n| linux.parts.get(n).map(|part| (part.queue, n)));
    let refused = AtomicUsize::new(0);
    let mut view = PerfScript::new(Vec::new(), samples, &linux.modes);
    let mut states: HashMap<(Queue, u16), State> = HashMap::new();
    let mut problems =
        listing::Problems { flawed: false, losses: input.capture.losses(&input.buffers) };
    for n in buffers {
        let job = input.job(n);
        let Some(part) = linux.parts.get(n) else { continue };
        let planned = job.plan.sources.iter().zip(&job.sources);
        let traced = planned.map(|(planned, source)| Traced {
            source: source.clone(),
            cpu: linux.cpus.get(planned.source).copied().unwrap_or(0),
            thread: part.thread,
        });
        let key = |id: u16| (part.queue, id);
        let ids: Vec<u16> = job.plan.sources.iter().map(|planned| planned.id).collect();
        let before = ids.iter().map(|id| states.get(&key(*id)).copied().unwrap_or_default());
        view.begin(traced.collect(), before.collect());
        let jobs = args.threads.jobs();
        let options = RunOptions {
            committed: false,
            jobs,
            alone: true,
            refused: &refused,
            selected: None,
            parts: None,
        };
        let bytes = &mut *live::input_of(job.buffer);
        let write = |lines: Vec<u8>| output.put(&lines);
        let (after, tally) = run::run(job.session()?, job.buffer, bytes, view, &options, write)?;
        view = after;
        for (id, state) in ids.iter().zip(view.states()) {
            states.insert(key(*id), *state);
        }
        problems.add(listing::Problems::of(&tally));
        output.failed()?;
        if output.closed() {
            break;
        }
        report::found(&job.decoded(&tally), None, None, false, false)?;
    }
    let threads = refused.load(Ordering::Relaxed);
    if threads > 0 {
        message::threads(args.threads.jobs().count, threads);
    }
    input.decodable()?;
    output.close()?;
    Ok(input.is_unchanged() && !problems.fail(args.strict))
}

/// Parses `b` and `iN`, with an optional unit after N: perf ignores it.
fn samples(text: &str) -> Option<Samples> {
    if text == "b" {
        return Some(Samples::Branches);
    }
    let count = text.strip_prefix('i')?.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    count.parse().ok().filter(|count| *count > 0).map(Samples::Instructions)
}
