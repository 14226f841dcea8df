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
    /// Branches that are where the programs have none, and no instruction that makes an exception:
    /// what is before them is not counted.
    pub contradicted: u64,
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
            let image = spaces.image(run.memory);
            let mapped = |address| image.region(image.view(Space::ANY), address).is_some();
            let followed = match arm64 {
                true => {
                    let leaves = !mapped(run.to) || run.to == run.last.wrapping_add(SIZE);
                    follow(cache, &run, leaves, count, &mut raw)
                }
                false if mapped(run.start) => {
                    raw.executed.add(opaque(&run), count);
                    Ok(())
                }
                false => Err(Unfollowed::Missing),
            };
            let Run { memory, from, start, last, .. } = run;
            match followed {
                Ok(()) => {
                    let following = Following { memory, source: 0, from: Some(from), start, last };
                    raw.following.add(following, count);
                }
                Err(Unfollowed::Missing) => {
                    raw.missing.add(Missing { memory, source: 0, address: start }, count);
                }
                Err(Unfollowed::NoBranch) => sampled.contradicted += count,
            }
        }
        let programs = [Program::Spaces(viewpoint)];
        self.add(raw, &programs, spaces.modules(), filter);
        self.add_branches(firsts, arm64, &programs, spaces.modules(), filter);
        sampled
    }
}

/// A range of a run: it ends with a branch, or an exception follows it.
pub(crate) struct Piece {
    pub(crate) start: u64,
    pub(crate) bytes: u32,
    pub(crate) instructions: u32,
    /// The last instruction, as an executed one.
    pub(crate) last: Last,
}

impl Piece {
    /// The address of the last instruction.
    pub(crate) fn last_address(&self) -> u64 {
        self.start.wrapping_add(self.bytes.into()).wrapping_sub(self.last.size().into())
    }
}

/// Why a run has no ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unfollowed {
    /// Its code is not known.
    Missing,
    /// The program has neither a branch at its end, nor an instruction that makes an exception.
    NoBranch,
}

/// The bytes of an instruction of A64.
pub(crate) const SIZE: u64 = 4;

/// The ranges of the code from `start` to the instruction at `last`, which end at each branch.
/// `leaves`: an exception may follow, as the code after it is of no program, or that of its return,
/// the next instruction.
pub(crate) fn pieces(
    cache: &mut Cache,
    start: u64,
    last: u64,
    leaves: bool,
) -> Result<Vec<Piece>, Unfollowed> {
    let mut pc = Pc { address: start, isa: Isa::A64, space: Space::ANY };
    let mut pieces = Vec::new();
    loop {
        let (start, mut instructions) = (pc.address, 0u32);
        let (block, at) = loop {
            let block = *cache.block(pc).map_err(|_| Unfollowed::Missing)?;
            let at = block.next().wrapping_sub(block.last.size.into());
            instructions = instructions.saturating_add(block.instructions);
            if block.end == End::Waypoint || at >= last {
                break (block, at);
            }
            if block.end != End::Limit || block.instructions == 0 {
                return Err(Unfollowed::Missing);
            }
            pc.address = block.next();
        };
        let branch = matches!(block.last.kind, Kind::Branch | Kind::Indirect);
        if at > last || at == last && !branch {
            pieces.push(before_exception(cache, start, last, leaves)?);
            return Ok(pieces);
        }
        let Ok(bytes) = u32::try_from(block.next().wrapping_sub(start)) else {
            return Err(Unfollowed::NoBranch);
        };
        pieces.push(Piece { start, bytes, instructions, last: Last::new(&block.last, at == last) });
        if at == last {
            return Ok(pieces);
        }
        pc.address = block.next();
    }
}

/// The range from `start` to the instruction at `last`, after which an exception was taken: it
/// makes one (SVC, HVC, SMC, BRK, HLT), or one may follow: see [`pieces`].
fn before_exception(
    cache: &mut Cache,
    start: u64,
    last: u64,
    leaves: bool,
) -> Result<Piece, Unfollowed> {
    /// Exception generation: bits \[31:24] of the opcode. (DDI 0487, C4.1.94)
    const EXCEPTION: u32 = 0xd4;
    let pc = Pc { address: last, isa: Isa::A64, space: Space::ANY };
    let mut opcode = [0; SIZE as usize];
    let read = cache.read(pc, &mut opcode) == opcode.len();
    let makes = read && u32::from_le_bytes(opcode) >> 24 == EXCEPTION;
    let instruction = cache.instruction(pc).map_err(|_| Unfollowed::Missing)?;
    let bytes = last.wrapping_add(SIZE).wrapping_sub(start);
    match u32::try_from(bytes) {
        Ok(bytes) if bytes % SIZE as u32 == 0 && (makes || leaves) => {
            let last = Last::new(&instruction, false);
            Ok(Piece { start, bytes, instructions: bytes / SIZE as u32, last })
        }
        _ => Err(Unfollowed::NoBranch),
    }
}

/// Counts the ranges of a run.
fn follow(
    cache: &mut Cache,
    run: &Run,
    leaves: bool,
    count: u64,
    raw: &mut RawProfile,
) -> Result<(), Unfollowed> {
    let pieces = pieces(cache, run.start, run.last, leaves)?;
    for Piece { start, bytes, instructions, last } in pieces {
        let (memory, end) = (run.memory, start.wrapping_add(bytes.into()));
        let ends = end.wrapping_sub(last.size().into()) == run.last;
        let branch = matches!(last.kind, Kind::Branch | Kind::Indirect);
        let next = match (ends, branch) {
            (false, _) => Some(end),
            (true, true) => Some(run.to),
            (true, false) => None,
        };
        raw.executed
            .add(Executed { memory, source: 0, start, bytes, instructions, last, next }, count);
    }
    Ok(())
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
        for (branches, broken, contradicted, missing) in [
            // The second branch is before the target of the first.
            (vec![(0x1004, 0x100c), (0x1004, 0x1008)], 1, 0, 0),
            // No branch is at the address; and the target is in no file.
            (vec![(0x1008, 0x1000), (0x100c, 0x1000)], 0, 1, 0),
            (vec![(0x9004, 0x1000), (0x100c, 0x9000)], 0, 0, 1),
        ] {
            let mut profile = Profile::default();
            let sampled = profile.add_samples(&samples(branches, true), &Filter::default());
            let times: u64 = profile.missing.values().map(|missing| missing.times).sum();
            let found = (sampled.broken, sampled.contradicted, times, profile.instructions);
            assert_eq!(found, (broken, contradicted, missing, 0));
        }
    }

    /// A run ends with a system call, or where an interrupt leads into the kernel. What is before
    /// the exception was executed, and no instruction of it is a branch.
    #[test]
    fn what_is_before_an_exception_was_executed() {
        const KERNEL: u64 = 0xffff_8000_0000_0000;
        for (last, to, instructions) in [
            // The SVC, after which the handler of a signal follows, which is code of the program.
            (0x1010, 0x1000, 5),
            (0x1010, KERNEL, 5),
            // An interrupt after the CBZ, and after the NOP behind it.
            (0x1008, KERNEL, 3),
            // Its handler is not traced, and returns.
            (0x1008, 0x100c, 3),
        ] {
            let mut samples = samples(vec![(last, to), (0x1014, 0x1000)], true);
            // NOP; CBZ X0, 0x100c; NOP; NOP; SVC #0; B 0x1000.
            let nop = 0xd503_201f_u32;
            let code = [nop, 0xb400_0040, nop, nop, 0xd400_0001, 0x17ff_fffb];
            let bytes: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
            let mut spaces = AddressSpaces::default();
            let file = ModuleFile { path: "prog".into(), ..ModuleFile::default() };
            let module = Module { index: spaces.add_module(file), bias: 0x1000 };
            let region = Region::new("prog", 0x1000, bytes).of_module(module);
            spaces.change(Some(1), 0, Change::Load(vec![region]));
            samples.spaces = Arc::new(spaces);
            let mut profile = Profile::default();
            let sampled = profile.add_samples(&samples, &Filter::default());
            let found = (sampled.contradicted, profile.missing.len(), profile.instructions);
            assert_eq!(found, (0, 0, instructions), "{last:#x}");
            let module = profile.modules.values().next().unwrap();
            let branches: Vec<u64> = module.branches.keys().map(|branch| branch.from).collect();
            assert_eq!(branches, [0x14], "{last:#x}");
        }
    }
}
