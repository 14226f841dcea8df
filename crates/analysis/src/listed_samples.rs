//! The executions that the samples of a branch list describe.

use std::collections::HashMap;
use std::sync::Arc;

use tracewright_base::{Code, Isa, Kind, Pc, Space, Waypoints};
use tracewright_capture::perf::{BinaryKind, FileAddress, ListedProgram, ListedSamples};
use tracewright_image::{Cache, CacheOptions};

use crate::profile::{
    Branch, BranchCount, Filter, ModuleProfile, Profile, RangeCount, Target, Trace, add,
};
use crate::samples::{MOST, Piece, SIZE, Sampled, Unfollowed, pieces};

/// EM_AARCH64.
const AARCH64: u16 = 183;

/// Instructions between two branches, in one program file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Run {
    binary: u32,
    /// The branch before.
    from: Target,
    start: u64,
    /// The branch at the end, and its target.
    last: u64,
    to: Target,
}

/// Runs, and branches whose run is not known, with their counts.
#[derive(Default)]
struct Runs {
    runs: HashMap<Run, u64>,
    alone: HashMap<(u32, Branch), u64>,
    sampled: Sampled,
}

impl Runs {
    fn of(list: &ListedSamples) -> Runs {
        let mut all = Runs::default();
        for sample in &list.samples {
            all.sampled.samples += 1;
            let mut before = None;
            for &(from, to) in sample.branches.iter().rev() {
                all.sampled.branches += 1;
                all.branch(before.replace((from, to)), from, to);
            }
        }
        all
    }

    /// Counts a branch behind the branch `before`.
    fn branch(
        &mut self,
        before: Option<(FileAddress, FileAddress)>,
        from: FileAddress,
        to: FileAddress,
    ) {
        let binary = from.binary;
        if binary == 0 {
            return;
        }
        let here = |place: FileAddress| match place.binary == binary {
            true => Target::Here(place.address),
            false => Target::Unknown,
        };
        let (last, to) = (from.address, here(to));
        let run = before.filter(|(_, start)| start.binary == binary).and_then(|(from, start)| {
            let start = start.address;
            let whole = last.checked_sub(start).is_some_and(|len| len < MOST);
            self.sampled.broken += u64::from(!whole);
            whole.then_some(Run { binary, from: here(from), start, last, to })
        });
        let count = match run {
            Some(run) => self.runs.entry(run).or_default(),
            None => self.alone.entry((binary, Branch { from: last, to })).or_default(),
        };
        *count += 1;
    }
}

impl Profile {
    /// Adds the executions that the samples of a branch list describe; `programs` are its program
    /// files.
    pub fn add_listed_samples(
        &mut self,
        list: &ListedSamples,
        programs: &[ListedProgram],
        filter: &Filter,
    ) -> Sampled {
        let Runs { runs, alone, mut sampled } = Runs::of(list);
        let mut found: Vec<Option<Followed<'_>>> =
            programs.iter().map(|program| Followed::new(program, filter)).collect();
        // Numbers of program files begin with 1.
        let index = |binary: u32| (binary as usize).wrapping_sub(1);
        for (run, count) in runs {
            if let Some(Some(program)) = found.get_mut(index(run.binary)) {
                program.run(&run, count);
            }
        }
        for ((binary, branch), count) in alone {
            if let Some(Some(program)) = found.get_mut(index(binary)) {
                program.branch(branch, count);
            }
        }
        for program in found.into_iter().flatten() {
            sampled.opaque |= program.opaque && !program.own.ranges.is_empty();
            sampled.contradicted += program.contradicted;
            self.merge(program.profile());
        }
        sampled
    }
}

/// A program file whose runs are followed.
struct Followed<'a> {
    program: &'a ListedProgram,
    cache: Option<Cache>,
    /// Its instructions are not decoded.
    opaque: bool,
    own: ModuleProfile,
    profile: Profile,
    /// See [`Sampled`].
    contradicted: u64,
}

impl<'a> Followed<'a> {
    /// `None` where `filter` excludes it.
    fn new(program: &'a ListedProgram, filter: &Filter) -> Option<Followed<'a>> {
        let kernel = program.binary.kind != BinaryKind::Program;
        if filter.kernel.is_some_and(|selected| selected != kernel) {
            return None;
        }
        let cache = program.code.as_ref().map(|image| {
            Cache::new(Arc::clone(image), Waypoints::default(), CacheOptions::default())
        });
        let own = ModuleProfile { file: program.file.clone(), ..ModuleProfile::default() };
        let opaque = program.machine.is_some_and(|machine| machine != AARCH64);
        let profile = Profile::default();
        Some(Followed { program, cache, opaque, own, profile, contradicted: 0 })
    }

    /// Counts a run.
    fn run(&mut self, run: &Run, count: u64) {
        let returns = Target::Here(run.last.wrapping_add(SIZE));
        let leaves = run.to == Target::Unknown || run.to == returns;
        let parts = match (&mut self.cache, self.opaque) {
            (Some(_), true) => Ok(vec![(run.start, run.last, 0, true)]),
            (Some(cache), false) => pieces(cache, run.start, run.last, leaves).map(|pieces| {
                let part = |piece: Piece| {
                    let branch = matches!(piece.last.kind, Kind::Branch | Kind::Indirect);
                    (piece.start, piece.last_address(), piece.instructions, branch)
                };
                pieces.into_iter().map(part).collect()
            }),
            (None, _) => Err(Unfollowed::Missing),
        };
        if parts == Err(Unfollowed::NoBranch) {
            self.contradicted = self.contradicted.saturating_add(count);
            return;
        }
        let Ok(parts) = parts else {
            let key = (self.program.file.path.clone(), self.program.file.build_id.clone());
            let missing = self.profile.missing.entry(Some(key)).or_default();
            missing.first =
                if missing.times == 0 { run.start } else { missing.first.min(run.start) };
            missing.times = missing.times.saturating_add(count);
            return;
        };
        let saturated = &mut self.profile.saturated;
        let mut ends_with_branch = false;
        for (start, last, instructions, branch) in parts {
            let range = self.own.ranges.entry((start, last)).or_default();
            range.instructions = instructions;
            ends_with_branch = last == run.last && branch;
            let RangeCount { taken, not_taken, .. } = range;
            add(if ends_with_branch { taken } else { not_taken }, count, saturated);
            let executed = count.saturating_mul(instructions.into());
            add(&mut self.profile.instructions, executed, saturated);
        }
        let trace = Trace { from: run.from, start: run.start, last: run.last };
        add(self.own.traces.entry(trace).or_default(), count, saturated);
        if ends_with_branch {
            self.branch(Branch { from: run.last, to: run.to }, count);
        }
    }

    /// Counts a branch.
    fn branch(&mut self, branch: Branch, count: u64) {
        let pc = Pc { address: branch.from, isa: Isa::A64, space: Space::ANY };
        let cache = self.cache.as_mut().filter(|_| !self.opaque);
        let instruction = cache.and_then(|cache| cache.instruction(pc).ok());
        // An exception has the address of an instruction that is no branch.
        if instruction.is_some_and(|i| !matches!(i.kind, Kind::Branch | Kind::Indirect)) {
            return;
        }
        let direct = instruction.is_some_and(|instruction| instruction.target.is_some());
        let new = BranchCount { count: 0, indirect: !direct, followed: true };
        let known = self.own.branches.entry(branch).or_insert(new);
        add(&mut known.count, count, &mut self.profile.saturated);
    }

    fn profile(self) -> Profile {
        let Followed { program, own, mut profile, .. } = self;
        if !own.ranges.is_empty() || !own.branches.is_empty() {
            let key = (program.file.path.clone(), program.file.build_id.clone());
            profile.modules = [(key, own)].into();
        }
        profile
    }
}

#[cfg(test)]
mod tests {
    use tracewright_capture::perf::{ListedBinary, ListedSample};
    use tracewright_image::{Image, ModuleFile, Region};

    use super::*;

    fn at(binary: u32, address: u64) -> FileAddress {
        FileAddress { binary, address }
    }

    /// NOP; CBZ X0, 0x100c; NOP; B 0x1000, at 0x1000.
    fn program(path: &str, machine: Option<u16>) -> ListedProgram {
        let code = [0xd503_201f_u32, 0xb400_0040, 0xd503_201f, 0x17ff_fffd];
        let bytes: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
        let region = Region::new(path, 0x1000, bytes);
        ListedProgram {
            binary: ListedBinary { path: path.into(), ..ListedBinary::default() },
            file: ModuleFile { path: path.into(), ..ModuleFile::default() },
            code: machine.map(|_| Arc::new(Image::new([region]))),
            machine,
            bias: 0,
        }
    }

    /// One sample with these branches, the newest first.
    fn profile(
        branches: &[(FileAddress, FileAddress)],
        machine: Option<u16>,
    ) -> (Profile, Sampled) {
        let sample = ListedSample { branches: branches.to_vec(), ..ListedSample::default() };
        let list = ListedSamples { samples: vec![sample], ..ListedSamples::default() };
        let programs = [program("a", machine), program("b", Some(AARCH64))];
        let mut profile = Profile::default();
        let sampled = profile.add_listed_samples(&list, &programs, &Filter::default());
        (profile, sampled)
    }

    #[test]
    fn what_is_between_two_branches_of_a_file_was_executed() {
        let own = (at(1, 0x100c), at(1, 0x1000));
        let (found, sampled) = profile(&[own, own], Some(AARCH64));
        let want = Sampled { samples: 1, branches: 2, ..Sampled::default() };
        assert_eq!((sampled, found.instructions, found.modules.len()), (want, 4, 1));
        let module = &found.modules[&("a".to_owned(), None)];
        let count = |taken, not_taken| RangeCount { taken, not_taken, instructions: 2 };
        let ranges: Vec<_> = module.ranges.iter().map(|(range, count)| (*range, *count)).collect();
        assert_eq!(ranges, [((0x1000, 0x1004), count(0, 1)), ((0x1008, 0x100c), count(1, 0))]);
        let branch = &module.branches[&Branch { from: 0x100c, to: Target::Here(0x1000) }];
        assert_eq!((branch.count, branch.indirect), (2, false));
        // Of another machine, the range is one, without a number of instructions.
        let (found, sampled) = profile(&[own, own], Some(62));
        assert_eq!((sampled.opaque, found.instructions), (true, 0));
        let range = found.modules[&("a".to_owned(), None)].ranges[&(0x1000, 0x100c)];
        assert_eq!((range.taken, range.instructions), (1, 0));
        // The file was not found.
        let (found, _) = profile(&[own, own], None);
        assert_eq!(found.missing[&Some(("a".to_owned(), None))].times, 1);
    }

    #[test]
    fn branches_between_files_have_no_target() {
        let (into, out) = ((at(1, 0x100c), at(2, 0x1000)), (at(2, 0x100c), at(0, 7)));
        let (found, sampled) = profile(&[out, into, (at(0, 5), at(1, 0x100c))], Some(AARCH64));
        assert_eq!((sampled.branches, sampled.broken, found.instructions), (3, 0, 5));
        for path in ["a", "b"] {
            let module = &found.modules[&(path.to_owned(), None)];
            let branch = Branch { from: 0x100c, to: Target::Unknown };
            assert_eq!(module.branches[&branch].count, 1, "{path}");
            let froms: Vec<_> = module.traces.keys().map(|trace| trace.from).collect();
            assert_eq!(froms, [Target::Unknown], "{path}");
        }
        // The second branch is before the target of the first.
        let (found, sampled) = profile(
            &[(at(1, 0x1004), at(1, 0x1000)), (at(1, 0x100c), at(1, 0x1008))],
            Some(AARCH64),
        );
        assert_eq!((sampled.broken, found.instructions), (1, 0));
    }
}
