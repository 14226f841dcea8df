//! Samples of a `perf.data` file, in the order of each CPU or thread.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use tracewright::capture::{Linux, Queue};
use tracewright::views::perf_script::{PerfScript, Receiver, Samples, State, Traced};

use crate::args::JobsArgs;
use crate::fail::Fail;
use crate::input::Input;
use crate::listing::Problems;
use crate::live;
use crate::message;
use crate::report;
use crate::run::{self, RunOptions, Stop};

/// What perf takes where the number after `i` or `l` is missing, and the most last branches.
/// (Linux 6.1.192, tools/perf/util/auxtrace.c:1373, 1376 and 1377, `PERF_ITRACE_DEFAULT_PERIOD`,
/// `PERF_ITRACE_DEFAULT_LAST_BRANCH_SZ`, `PERF_ITRACE_MAX_LAST_BRANCH_SZ`)
const PERIOD: u64 = 100_000;
pub const LAST: usize = 64;
const MOST_LAST: usize = 1024;

/// Parses the value of `--itrace`: letters, some with a number behind. A unit of time of `i` is
/// that of a clock with one instruction each nanosecond, as perf takes it.
/// (auxtrace.c:1465, `itrace_do_parse_synth_opts`)
pub fn parse(text: &str) -> Result<Samples, Fail> {
    let fail = |what: &str| Err(Fail::option("--itrace", text, what));
    let mut samples = Samples::default();
    let mut rest = text;
    let (mut timeless, mut known) = (false, false);
    while let Some(letter) = rest.chars().next() {
        rest = &rest[letter.len_utf8()..];
        let digits = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let number = &rest[..rest.len() - digits.len()];
        let value = number.parse::<u64>().ok();
        if !number.is_empty() && value.is_none_or(|value| value == 0) {
            return fail("a number is from 1 to 18446744073709551615");
        }
        match letter {
            'b' if number.is_empty() => samples.branches = true,
            'i' => {
                rest = digits;
                let units = [("ms", 1_000_000), ("us", 1000), ("ns", 1), ("i", 1), ("t", 1)];
                let unit = units.iter().find(|(unit, _)| value.is_some() && rest.starts_with(unit));
                let scale = unit.map_or(1, |(unit, scale)| {
                    rest = &rest[unit.len()..];
                    *scale
                });
                samples.instructions = Some(value.unwrap_or(PERIOD).saturating_mul(scale));
            }
            'l' | 'L' => {
                rest = digits;
                samples.last = match value.map(usize::try_from) {
                    None => LAST,
                    Some(Ok(count)) if count <= MOST_LAST => count,
                    Some(_) => return fail("a sample has at most 1024 last branches"),
                };
            }
            'Z' => timeless = true,
            ',' | ' ' => {}
            _ => {
                return fail(
                    "expected letters of b for branches, iN for a sample of N instructions, lN for \
                     the last N branches before each sample, Z for no times, such as i1000il64; \
                     `tracewright profile` counts each branch",
                );
            }
        }
        known |= matches!(letter, 'b' | 'i');
    }
    if !known {
        return fail("it selects no samples: b is for branches, iN for samples of N instructions");
    }
    // The times are known later, unless they are not wanted.
    samples.clock = (!timeless).then(Default::default);
    Ok(samples)
}

/// The system that was traced.
pub fn linux(input: &Input) -> Result<&Linux, Fail> {
    let linux = input.capture().linux.as_deref();
    linux.ok_or_else(|| Fail::input(&input.path, "only perf.data has the threads of samples"))
}

/// `samples` with the times of `linux`, where they are wanted, and its clock is that of the trace.
pub fn timed(samples: Samples, linux: &Linux) -> Samples {
    let traced = linux.conversion.filter(|_| linux.virtual_counter && samples.clock.is_some());
    Samples { clock: traced, ..samples }
}

/// The note that there are no samples of the kinds that `samples` selects.
pub fn none(samples: &Samples) -> String {
    match samples.instructions.filter(|period| *period > 1 && !samples.branches) {
        Some(period) => format!(
            "note: there are no samples: a sample is of {period} instructions of known code, which the \
             trace of no CPU has; i100 makes one of 100"
        ),
        None => "note: there are no samples: the trace has no branches of known code".into(),
    }
}

/// Makes the samples of all buffers, one CPU or thread after another as perf does, and gives the
/// output to `write`, which returns whether more is needed. `quiet`: what was found of each buffer
/// is not printed.
pub fn each<R: Receiver>(
    input: &Input,
    threads: &JobsArgs,
    quiet: bool,
    mut script: PerfScript<R>,
    write: &mut dyn FnMut(&[u8]) -> Result<bool, Fail>,
) -> Result<Problems, Fail> {
    let linux = linux(input)?;
    let mut buffers = input.buffers.clone();
    buffers.sort_by_key(|&n| linux.parts.get(n).map(|part| (part.queue, n)));
    let refused = AtomicUsize::new(0);
    let mut states: HashMap<(Queue, u16), State> = HashMap::new();
    let mut problems = Problems::of_capture(input, false);
    for n in buffers {
        let job = input.job(n);
        let Some(part) = linux.parts.get(n) else { continue };
        let planned = job.plan.sources.iter().zip(job.sources);
        let traced = planned.map(|(planned, source)| Traced {
            source: source.clone(),
            cpu: linux.cpus.get(planned.source).copied().unwrap_or(0),
            thread: part.thread,
            recorded: linux.timed.then_some(part.moment),
        });
        let key = |id: u16| (part.queue, id);
        let ids: Vec<u16> = job.plan.sources.iter().map(|planned| planned.id).collect();
        let before = ids.iter().map(|id| states.remove(&key(*id)).unwrap_or_default());
        script.begin(traced.collect(), before.collect());
        let options = RunOptions {
            committed: false,
            jobs: threads.jobs(),
            alone: true,
            refused: &refused,
            selected: None,
            parts: None,
            stop: Stop::default(),
            caches: None,
        };
        let bytes = &mut *live::input_of(job.buffer);
        let (mut more, mut failed) = (true, None);
        let put = |part: Vec<u8>| {
            match write(&part) {
                Ok(wanted) => more = wanted,
                Err(fail) => (more, failed) = (false, Some(fail)),
            }
            more
        };
        let (after, tally) = run::run(job.session()?, job.buffer, bytes, script, &options, put)?;
        if let Some(fail) = failed {
            return Err(fail);
        }
        script = after;
        for (id, state) in ids.iter().zip(script.states()) {
            states.insert(key(*id), state.clone());
        }
        problems.add(Problems::of(&tally));
        if !more {
            break;
        }
        if !quiet {
            report::found(&job.decoded(&tally), None, None, false, false)?;
        }
    }
    let started = refused.load(Ordering::Relaxed);
    if started > 0 {
        message::threads(threads.jobs().count, started);
    }
    Ok(problems)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_those_of_perf() {
        let of = |branches, instructions, last| Samples {
            branches,
            instructions,
            last,
            each_branch: false,
            clock: Some(Default::default()),
        };
        for (text, want) in [
            ("b", of(true, None, 0)),
            ("i", of(false, Some(100_000), 0)),
            ("i1000i", of(false, Some(1000), 0)),
            ("i1us", of(false, Some(1000), 0)),
            ("i2ms", of(false, Some(2_000_000), 0)),
            ("i1000il64", of(false, Some(1000), 64)),
            ("l64i1us", of(false, Some(1000), 64)),
            ("bl", of(true, None, 64)),
            ("bi7L16", of(true, Some(7), 16)),
            ("i10Zl", Samples { clock: None, ..of(false, Some(10), 64) }),
        ] {
            assert_eq!(parse(text).ok(), Some(want), "{text}");
        }
        for text in ["", "l", "l64", "x", "i0", "i1000il2000", "bq", "b7", "i99999999999999999999"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
