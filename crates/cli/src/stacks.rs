//! Decodes a buffer to call stacks.

use std::path::Path;

use tracewright::Listener;
use tracewright::analysis::stacks::{Join, Part, StackCounts, Stacks, Visitor};
use tracewright::analysis::{Code, Transfers};
use tracewright::base::Waypoints;
use tracewright::decode::{Fork, Merging, Tally, input};
use tracewright::image::CacheOptions;

use crate::fail::Fail;
use crate::input::{Input, Job};
use crate::listing;
use crate::run::RunOptions;

/// No other listener: of a type that receives sums of ranges, as the transfers do.
const NO_OTHER: Option<Merging<Tally>> = None;

/// Decodes `job` to the call stacks of its threads, with `visitor`. `more` is called after each
/// part, and returns whether more is needed.
pub fn run<V: Visitor>(
    job: &Job<'_>,
    options: &RunOptions<'_>,
    code: &Code,
    switches: &[u32],
    visitor: V,
    mut more: impl FnMut(&mut V) -> bool,
) -> Result<(V, StackCounts, Tally), Fail> {
    let more = |visitor: &mut V, _| more(visitor);
    run_with(job, options, code, switches, visitor, NO_OTHER, more)
}

/// As [`run`], where the order of the frames does not matter: workers find them.
pub fn run_joined<V: Join>(
    job: &Job<'_>,
    options: &RunOptions<'_>,
    code: &Code,
    switches: &[u32],
    visitor: V,
) -> Result<(V, StackCounts, Tally), Fail> {
    let (how, more) = ((true, Stacks::part as Take<V>), |_: &mut V, _| true);
    run_how(job, options, code, switches, visitor, NO_OTHER, how, more)
}

/// How a part of the trace is taken.
type Take<V> = fn(&mut Stacks<V>, &Part);

/// As [`run`], with another listener. `more` receives its output, too.
pub fn run_with<V: Visitor, L: Listener + Fork + Send>(
    job: &Job<'_>,
    options: &RunOptions<'_>,
    code: &Code,
    switches: &[u32],
    visitor: V,
    listener: L,
    more: impl FnMut(&mut V, Option<L::Output>) -> bool,
) -> Result<(V, StackCounts, Tally), Fail> {
    let how: (bool, Take<V>) = (false, |stacks, part| stacks.transfers(part.transfers()));
    run_how(job, options, code, switches, visitor, listener, how, more)
}

/// `how`: whether the frames of each part are looked for, and what takes the parts.
#[expect(clippy::too_many_arguments, reason = "those of its callers")]
fn run_how<V: Visitor, L: Listener + Fork + Send>(
    job: &Job<'_>,
    options: &RunOptions<'_>,
    code: &Code,
    switches: &[u32],
    visitor: V,
    listener: L,
    (frames, take): (bool, Take<V>),
    mut more: impl FnMut(&mut V, Option<L::Output>) -> bool,
) -> Result<(V, StackCounts, Tally), Fail> {
    let caches = job.sources.iter().map(|source| {
        let options = CacheOptions { riscv: source.config.riscv(), ..CacheOptions::default() };
        source.program.cache(Waypoints::default(), options)
    });
    let transfers = Transfers::new(code.clone(), caches.collect());
    let transfers = if frames { transfers.with_frames() } else { transfers };
    let mut stacks = Stacks::new(job.sources.len(), visitor)
        .with_switches(switches.iter().copied())
        .with_unwind_targets(code.unwind_targets());
    let bytes = &mut *input::of(job.buffer);
    let both = (transfers, listener);
    let mut write = |(found, output): (Part, L::Output)| {
        take(&mut stacks, &found);
        more(&mut stacks.visitor, Some(output))
    };
    let tally = if options.committed {
        let both = (both, listing::Nothing::<true>);
        listing::decode(job, bytes, options, both, &mut None, |(found, ())| write(found))?.1
    } else {
        crate::run::run(job.session()?, job.buffer, bytes, both, options, write)?.1
    };
    stacks.finish();
    more(&mut stacks.visitor, None);
    Ok((stacks.visitor, stacks.counts, tally))
}

/// The only buffer of `input`, for an output that has one.
pub fn one_buffer(input: &Input, path: &Path) -> Result<(), Fail> {
    if input.buffers.len() > 1 {
        let names = input.buffers.iter().map(|&n| input.capture.buffers[n].name.as_str());
        let names = names.collect::<Vec<_>>().join(", ");
        let what = format!("the format has one trace buffer; select it with --source: {names}");
        return Err(Fail::input(path, &what));
    }
    Ok(())
}
