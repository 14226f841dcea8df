//! Decodes a buffer to call stacks.

use std::mem::take;
use std::path::Path;

use tracewright::Listener;
use tracewright::analysis::stacks::{
    Join, MAX_DEPTH, MAX_FRAMES, Part, StackCounts, Stacks, Visitor,
};
use tracewright::analysis::tasks::Tasks;
use tracewright::analysis::{Code, Transfers};
use tracewright::base::Waypoints;
use tracewright::decode::input::Input as Bytes;
use tracewright::decode::{Caches, Fork, Merging, Session, Tally};
use tracewright::image::CacheOptions;
use tracewright::joined::Taking;

use crate::fail::Fail;
use crate::input::{Input, Job};
use crate::listing;
use crate::live;
use crate::message;
use crate::run::{self, RunOptions};

/// No other listener: of a type that receives sums of ranges, as the transfers do.
pub const NO_OTHER: Option<Merging<Tally>> = None;

/// Decodes `job` to the call stacks of its threads, with `visitor`. `more` is called after each
/// part, and returns whether more is needed.
pub fn run<V: Visitor>(
    job: &Job<'_>,
    options: &RunOptions<'_>,
    code: &Code,
    tasks: &Tasks,
    visitor: V,
    mut more: impl FnMut(&mut V) -> bool,
) -> Result<(V, StackCounts, Tally), Fail> {
    let more = |visitor: &mut V, _| more(visitor);
    run_with(job, options, code, tasks, visitor, NO_OTHER, more)
}

/// As [`run`], where the order of the frames does not matter: workers find them.
pub fn run_joined<V: Join>(
    job: &Job<'_>,
    options: &RunOptions<'_>,
    code: &Code,
    tasks: &Tasks,
    visitor: V,
) -> Result<(V, StackCounts, Tally), Fail> {
    let more = |_: &mut V, _| true;
    run_how(job, options, code, tasks, visitor, NO_OTHER, &Taking::by_frames(), more)
}

/// As [`run`], with another listener. `more` receives its output, too.
pub fn run_with<V: Visitor, L: Listener + Fork + Send>(
    job: &Job<'_>,
    options: &RunOptions<'_>,
    code: &Code,
    tasks: &Tasks,
    visitor: V,
    listener: L,
    more: impl FnMut(&mut V, Option<L::Output>) -> bool,
) -> Result<(V, StackCounts, Tally), Fail> {
    run_how(job, options, code, tasks, visitor, listener, &Taking::in_order(), more)
}

#[expect(clippy::too_many_arguments, reason = "those of its callers")]
fn run_how<V: Visitor, L: Listener + Fork + Send>(
    job: &Job<'_>,
    options: &RunOptions<'_>,
    code: &Code,
    tasks: &Tasks,
    visitor: V,
    listener: L,
    taking: &Taking<V>,
    mut more: impl FnMut(&mut V, Option<L::Output>) -> bool,
) -> Result<(V, StackCounts, Tally), Fail> {
    // Handlers are counted from the begin of the trace, and in order.
    let stores = tasks.stores().filter(|_| options.selected.is_none() && !options.committed);
    let in_order = Taking::in_order();
    let taking = if stores.is_some() { &in_order } else { taking };
    let transfers = transfers(job, code, taking.frames).watching(tasks);
    let mut stacks = Stacks::new(job.sources.len(), visitor)
        .with_switches(tasks.switches().iter().copied())
        .with_unwind_targets(code.unwind_targets())
        .with_events(tasks.events())
        .with_stores(stores);
    let write = |(found, output): (Part, L::Output)| {
        (taking.take)(&mut stacks, &found, &mut |visitor| more(visitor, None))
            && more(&mut stacks.visitor, Some(output))
    };
    let bytes = &mut *live::input_of(job.buffer);
    let caches = options.caches.and_then(|own| own.lock().ok().map(|mut own| take(&mut *own)));
    let session = job.session_with(caches.unwrap_or_default())?;
    let tally = decode(job, (session, bytes), options, (transfers, listener), write)?.0;
    stacks.finish();
    more(&mut stacks.visitor, None);
    too_deep(&job.buffer.name, &stacks.counts);
    Ok((stacks.visitor, stacks.counts, tally))
}

/// Finds the transfers of the sources of `job`; with `frames`, those of each part.
pub fn transfers(job: &Job<'_>, code: &Code, frames: bool) -> Transfers {
    let caches = job.sources.iter().map(|source| {
        let options = CacheOptions { riscv: source.config.riscv(), ..CacheOptions::default() };
        source.program.cache(Waypoints::default(), options)
    });
    let transfers = Transfers::new(code.clone(), caches.collect());
    if frames { transfers.with_frames() } else { transfers }
}

/// Decodes `job` to the transfers and the output of another listener, which `write` receives.
/// Returns the counts, and the caches of the session.
pub fn decode<L: Listener + Fork + Send>(
    job: &Job<'_>,
    (session, bytes): (Session, &mut dyn Bytes),
    options: &RunOptions<'_>,
    both: (Transfers, L),
    mut write: impl FnMut((Part, L::Output)) -> bool,
) -> Result<(Tally, Caches), Fail> {
    if options.committed {
        let both = (both, listing::Nothing);
        let write = |(found, ())| write(found);
        let done = listing::decode(job, bytes, options, both, &mut None, write)?;
        return Ok((done.1, Caches::default()));
    }
    let ran = run::run_whole(session, job.buffer, bytes, both, options, write)?;
    Ok((ran.tally, ran.caches))
}

/// Prints that calls of the trace with this name were too deep.
pub fn too_deep(name: &str, counts: &StackCounts) {
    if counts.too_deep > 0 {
        message::line(&format!(
            "note: {name}: calls are nested more than {MAX_DEPTH} deep, or more than {MAX_FRAMES} are \
             open: deeper ones are shown beside each other"
        ));
    }
}

/// The only buffer of `input`, for an output that has one.
pub fn one_buffer(input: &Input, path: &Path) -> Result<(), Fail> {
    if input.buffers.len() > 1 {
        let names = input.buffers.iter().map(|&n| input.capture().buffers[n].name.as_str());
        let names = names.collect::<Vec<_>>().join(", ");
        let what = format!("the format has one trace buffer; select it with --source: {names}");
        return Err(Fail::input(path, &what));
    }
    Ok(())
}
