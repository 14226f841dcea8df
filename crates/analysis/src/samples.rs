//! The executions that samples with branches describe: what is between two branches was executed.

use std::collections::HashMap;

use tracewright_base::{Code, End, Instruction, Isa, Kind, Last, Pc, Space, Waypoints};
use tracewright_capture::perf::{BranchSample, BranchSamples};
use tracewright_decode::Program;
use tracewright_image::{Cache, CacheOptions, ContextKey, Host, MemoryId, Viewpoint};

use crate::raw_profile::Missing;
use crate::{Executed, Filter, Following, Profile, RawProfile};

/// The most bytes between two branches: more are the result of lost branches.
const MOST: u64 = 1 << 16;

/// What was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sampled {
    /// Samples.
    pub samples: u64,
    /// Branches.
    pub branches: u64,
    /// Pairs of branches of which the second is not behind the target of the first: some were lost.
    pub broken: u64,
    /// The instructions of the machine are not decoded: ranges have no number of instructions.
    pub opaque: bool,
}

/// A run of instructions between two branches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Run {
    memory: MemoryId,
    /// The branch before.
    from: u64,
    start: u64,
    /// The branch at the end, and its target.
    last: u64,
    to: u64,
}

/// Runs and first branches of samples, with their counts.
#[derive(Default)]
struct Runs {
    runs: HashMap<Run, u64>,
    /// Branches whose range is not known, as they are the oldest of a sample.
    firsts: HashMap<(MemoryId, u64, u64), u64>,
    sampled: Sampled,
}

impl Runs {
    fn add(&mut self, memory: MemoryId, sample: &BranchSample) {
        self.sampled.samples += 1;
        let mut before: Option<(u64, u64)> = None;
        for &(last, to) in sample.branches.iter().rev() {
            self.sampled.branches += 1;
            let run = before.and_then(|(from, start)| {
                let whole = last.checked_sub(start).is_some_and(|len| len < MOST);
                self.sampled.broken += u64::from(!whole);
                whole.then_some(Run { memory, from, start, last, to })
            });
            match run {
                Some(run) => *self.runs.entry(run).or_default() += 1,
                None => *self.firsts.entry((memory, last, to)).or_default() += 1,
            }
            before = Some((last, to));
        }
    }
}

impl Profile {
    /// Adds the executions that samples describe.
    pub fn add_samples(&mut self, samples: &BranchSamples, filter: &Filter) -> Sampled {
        let spaces = &samples.spaces;
        let mut runs = Runs::default();
        for sample in &samples.samples {
            let thread = sample.task.map(|(_, thread)| thread);
            runs.add(spaces.memory(thread, sample.moment), sample);
        }
        let viewpoint = Viewpoint {
            spaces: spaces.clone(),
            key: ContextKey::default(),
            host: Host::Any,
            thread: None,
            moment: 0,
            clock: None,
        };
        // Without a statement, a program of another machine has no code that can be followed.
        let arm64 = samples.arm64.unwrap_or(true);
        let (mut raw, mut caches) = (RawProfile::default(), HashMap::new());
        let Runs { runs, firsts, mut sampled } = runs;
        sampled.opaque = !arm64;
        for (run, count) in runs {
            let cache = caches.entry(run.memory).or_insert_with(|| {
                let image = spaces.image(run.memory);
                Cache::new(image, Waypoints::default(), CacheOptions::default())
            });
            let known = match arm64 {
                true => follow(cache, &run, count, &mut raw),
                false => {
                    let image = spaces.image(run.memory);
                    image.region(image.view(Space::ANY), run.start).is_some()
                }
            };
            if !known {
                let missing = Missing { memory: run.memory, source: 0, address: run.start };
                raw.missing.add(missing, count);
            } else if !arm64 {
                raw.executed.add(opaque(&run), count);
            }
            let Run { memory, from, start, last, .. } = run;
            let following = Following { memory, source: 0, from: Some(from), start, last };
            if known {
                raw.following.add(following, count);
            }
        }
        let programs = [Program::Spaces(viewpoint)];
        self.add(raw, &programs, spaces.modules(), filter);
        self.add_branches(firsts, &programs, spaces.modules(), filter);
        sampled
    }
}

/// Counts the ranges of a run, which end at each branch. Returns `false` where its code is not
/// known, or has no branch at its end.
fn follow(cache: &mut Cache, run: &Run, count: u64, raw: &mut RawProfile) -> bool {
    let mut pc = Pc { address: run.start, isa: Isa::A64, space: Space::ANY };
    let mut parts = Vec::new();
    loop {
        let (start, mut instructions) = (pc.address, 0u32);
        let block = loop {
            let Ok(block) = cache.block(pc) else { return false };
            instructions = instructions.saturating_add(block.instructions);
            match block.end {
                End::Waypoint => break *block,
                End::Limit if block.instructions > 0 => pc.address = block.next(),
                _ => return false,
            }
        };
        let end = block.next();
        let at = end.wrapping_sub(block.last.size.into());
        let ends = at == run.last;
        if at > run.last || ends && !matches!(block.last.kind, Kind::Branch | Kind::Indirect) {
            return false;
        }
        let Ok(bytes) = u32::try_from(end.wrapping_sub(start)) else { return false };
        parts.push(Executed {
            memory: run.memory,
            source: 0,
            start,
            bytes,
            instructions,
            last: Last::new(&block.last, ends),
            next: Some(if ends { run.to } else { end }),
        });
        if ends {
            break;
        }
        pc.address = end;
    }
    parts.into_iter().for_each(|part| raw.executed.add(part, count));
    true
}

/// A run whose instructions are not decoded.
fn opaque(run: &Run) -> Executed {
    let last =
        Instruction { size: 1, isa: Isa::A64, kind: Kind::Indirect, ..Instruction::default() };
    Executed {
        memory: run.memory,
        source: 0,
        start: run.start,
        // Runs are shorter than `MOST`.
        bytes: (run.last - run.start) as u32 + 1,
        instructions: 0,
        last: Last::new(&last, true),
        next: Some(run.to),
    }
}
