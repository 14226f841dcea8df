//! The executions that samples with branches describe: what is between two branches was executed.

use std::collections::HashMap;

use tracewright_base::{Code, End, Instruction, Isa, Kind, Last, Pc, Space, Waypoints};
use tracewright_capture::perf::{BranchSample, BranchSamples};
use tracewright_decode::Program;
use tracewright_image::{Cache, CacheOptions, ContextKey, Host, MemoryId, Viewpoint};

use crate::executed::{Executed, Following, Missing};
use crate::profile::{Filter, Profile};
use crate::raw_profile::RawProfile;

/// The most bytes between two branches: more are the result of lost branches.
pub(crate) const MOST: u64 = 1 << 16;

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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tracewright_image::{AddressSpaces, Change, Module, ModuleFile, Region};

    use super::*;
    use crate::profile::{Branch, RangeCount, Target};

    /// NOP; CBZ X0, 0x100c; NOP; B 0x1000, at 0x1000 of process 1.
    fn samples(branches: Vec<(u64, u64)>, arm64: bool) -> BranchSamples {
        let code = [0xd503_201f_u32, 0xb400_0040, 0xd503_201f, 0x17ff_fffd];
        let bytes: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut spaces = AddressSpaces::default();
        let index = spaces.add_module(ModuleFile { path: "prog".into(), ..ModuleFile::default() });
        let region = Region::new("prog", 0x1000, bytes).of_module(Module { index, bias: 0x1000 });
        spaces.change(Some(1), 0, Change::Load(vec![region]));
        let sample = BranchSample { task: Some((1, 1)), moment: 5, address: None, branches };
        BranchSamples {
            samples: vec![sample],
            spaces: Arc::new(spaces),
            arm64: Some(arm64),
            problems: Vec::new(),
            damage: Vec::new(),
        }
    }

    #[test]
    fn what_is_between_two_branches_was_executed() {
        let mut profile = Profile::default();
        let two = vec![(0x100c, 0x1000); 2];
        let sampled = profile.add_samples(&samples(two.clone(), true), &Filter::default());
        let want = Sampled { samples: 1, branches: 2, ..Sampled::default() };
        assert_eq!((sampled, profile.instructions), (want, 4));
        let module = profile.modules.values().next().unwrap();
        let count = |taken, not_taken| RangeCount { taken, not_taken, instructions: 2 };
        let ranges: Vec<_> = module.ranges.iter().map(|(range, count)| (*range, *count)).collect();
        assert_eq!(ranges, [((0, 4), count(0, 1)), ((8, 12), count(1, 0))]);
        let branch = &module.branches[&Branch { from: 12, to: Target::Here(0) }];
        assert_eq!((branch.count, branch.indirect), (2, false));
        // Of another machine, the range is one, without a number of instructions.
        let mut profile = Profile::default();
        let sampled = profile.add_samples(&samples(two, false), &Filter::default());
        let module = profile.modules.values().next().unwrap();
        let range = module.ranges[&(0, 12)];
        assert_eq!((sampled.opaque, profile.instructions, range.taken), (true, 0, 1));
        assert_eq!(range.instructions, 0);
    }

    #[test]
    fn branches_that_do_not_follow_each_other_are_counted() {
        for (branches, broken, missing) in [
            // The second branch is before the target of the first.
            (vec![(0x1004, 0x100c), (0x1004, 0x1008)], 1, 0),
            // No branch is at the address, and the target is in no file.
            (vec![(0x1008, 0x1000), (0x100c, 0x1000)], 0, 1),
            (vec![(0x9004, 0x1000), (0x100c, 0x9000)], 0, 1),
        ] {
            let mut profile = Profile::default();
            let sampled = profile.add_samples(&samples(branches, true), &Filter::default());
            let times: u64 = profile.missing.values().map(|missing| missing.times).sum();
            assert_eq!((sampled.broken, times, profile.instructions), (broken, missing, 0));
        }
    }
}
