//! Decodes a buffer to call stacks.

use std::path::Path;

use tracewright::Listener;
use tracewright::analysis::stacks::{
    Join, MAX_DEPTH, MAX_FRAMES, Part, StackCounts, Stacks, Visitor,
};
use tracewright::analysis::{Code, Transfers};
use tracewright::base::Waypoints;
use tracewright::decode::{Fork, Merging, Tally};
use tracewright::image::CacheOptions;

use crate::fail::Fail;
use crate::input::{Input, Job};
use crate::listing;
use crate::live;
use crate::message;
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
    let take: Take<V> = |stacks, part, _| {
        stacks.part(part);
        true
    };
    run_how(job, options, code, switches, visitor, NO_OTHER, (true, take), |_: &mut V, _| true)
}

/// How a part of the trace is taken. The last argument is called after pieces of the part, and
/// returns whether more is needed; so does the function.
type Take<V> = fn(&mut Stacks<V>, &Part, &mut dyn FnMut(&mut V) -> bool) -> bool;

/// Transfers between two calls of what takes the output of a visitor, so that it is not collected.
const PIECE: usize = 1 << 12;

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
    let how: (bool, Take<V>) = (false, |stacks, part, more| {
        let mut transfers = part.transfers().peekable();
        while transfers.peek().is_some() {
            stacks.transfers(transfers.by_ref().take(PIECE));
            if !more(&mut stacks.visitor) {
                return false;
            }
        }
        true
    });
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
    let bytes = &mut *live::input_of(job.buffer);
    let both = (transfers, listener);
    let mut write = |(found, output): (Part, L::Output)| {
        take(&mut stacks, &found, &mut |visitor| more(visitor, None))
            && more(&mut stacks.visitor, Some(output))
    };
    let tally = if options.committed {
        let both = (both, listing::Nothing::<true>);
        listing::decode(job, bytes, options, both, &mut None, |(found, ())| write(found))?.1
    } else {
        crate::run::run(job.session()?, job.buffer, bytes, both, options, write)?.1
    };
    stacks.finish();
    more(&mut stacks.visitor, None);
    if stacks.counts.too_deep > 0 {
        message::line(&format!(
            "note: {}: calls are nested more than {MAX_DEPTH} deep, or more than {MAX_FRAMES} are open: \
             deeper ones are shown beside each other",
            job.buffer.name
        ));
    }
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
