//! A profile by program file, at addresses in the file.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use tracewright_base::{Code, Instruction, Isa, Kind, Pc, Space, Waypoints};
use tracewright_decode::Program;
use tracewright_image::{Cache, CacheOptions, Image, MemoryId, Module, ModuleFile};

use crate::branch_lists::{BranchLists, Branches};
use crate::executed::{Executed, Following, Missing};
use crate::raw_profile::RawProfile;

/// The counts of a range of instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RangeCount {
    /// Executions that ended with a branch that was taken.
    pub taken: u64,
    /// Other executions.
    pub not_taken: u64,
    /// Number of instructions.
    pub instructions: u32,
}

impl RangeCount {
    /// All executions.
    pub fn total(&self) -> u64 {
        self.taken.saturating_add(self.not_taken)
    }
}

/// The target of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// It is not known.
    Unknown,
    /// An address in the same file.
    Here(u64),
    /// An address in memory, in another file or in none.
    Outside(u64),
}

/// A branch that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Branch {
    /// The address of the branch.
    pub from: u64,
    /// The address of the next instruction.
    pub to: Target,
}

/// The counts of a branch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BranchCount {
    /// Number of times that it was taken.
    pub count: u64,
    /// Its target is not in the opcode.
    pub indirect: bool,
    /// The trace reports what follows. Otherwise the target is that in the opcode.
    pub followed: bool,
}

/// A sequence of instructions between two branches that were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Trace {
    /// The branch before; [`Target::Unknown`] where it is not known.
    pub from: Target,
    /// The address of the first instruction.
    pub start: u64,
    /// The address of the last instruction.
    pub last: u64,
}

/// Branches from an address on: the address, and whether each branch was taken.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Listed {
    /// The address in the file. Bit 0 is set for T32.
    pub address: u64,
    /// The branches.
    pub branches: Branches,
}

/// The profile of one file.
#[derive(Clone, Debug, Default)]
pub struct ModuleProfile {
    /// The file.
    pub file: ModuleFile,
    /// Ranges by the addresses of their first and last instructions. Each ends with a branch, or
    /// where it is not known what follows.
    pub ranges: BTreeMap<(u64, u64), RangeCount>,
    /// Branches that were taken.
    pub branches: BTreeMap<Branch, BranchCount>,
    /// Sequences between branches that were taken.
    pub traces: BTreeMap<Trace, u64>,
    /// Sequences of branches.
    pub lists: BTreeMap<Listed, u64>,
}

/// Which part of a trace is in a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Processes that are not.
    pub excluded: BTreeSet<u32>,
    /// The kernel only (`true`), or user space only (`false`).
    pub kernel: Option<bool>,
}

/// The path and the build identifier of a file.
pub type FileKey = (String, Option<Vec<u8>>);

/// Program memory that was missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MissingCode {
    /// How often the trace led to it.
    pub times: u64,
    /// The least address in memory.
    pub first: u64,
}

/// Profiles by file.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// The profiles, in the order of the paths and build identifiers of their files.
    pub modules: BTreeMap<FileKey, ModuleProfile>,
    /// Instructions that the filter selects, those outside of all files included.
    pub instructions: u64,
    /// A count was larger than `u64::MAX` and is that number.
    pub saturated: bool,
    /// Executions of ranges outside of all files.
    pub outside: u64,
    /// The files that were not found, as far as the trace leads to them; `None` for addresses that
    /// are in no file.
    pub missing: BTreeMap<Option<FileKey>, MissingCode>,
}

/// Adds to a count that saturates.
pub(crate) fn add(sum: &mut u64, count: u64, saturated: &mut bool) {
    *saturated |= sum.checked_add(count).is_none();
    *sum = sum.saturating_add(count);
}

/// The bit that distinguishes the addresses of the kernel.
const KERNEL: u64 = 1 << 63;

/// The memory of the sources of a buffer.
struct Resolver<'a> {
    programs: &'a [Program],
    modules: &'a [ModuleFile],
    filter: &'a Filter,
    images: HashMap<(u16, MemoryId), (Arc<Image>, bool)>,
}

impl Resolver<'_> {
    /// The image of `memory` of a source, and whether its process is in the profile.
    fn image(&mut self, source: u16, memory: MemoryId) -> Option<(Arc<Image>, bool)> {
        if let Some(known) = self.images.get(&(source, memory)) {
            return Some(known.clone());
        }
        let entry = match self.programs.get(usize::from(source))? {
            Program::Image(image) => (Arc::clone(image), true),
            Program::Spaces(viewpoint) => {
                let process = viewpoint.spaces.process(memory);
                let excluded = process.is_some_and(|p| self.filter.excluded.contains(&p));
                (viewpoint.spaces.image(memory), !excluded)
            }
        };
        self.images.insert((source, memory), entry.clone());
        Some(entry)
    }

    /// The file that was not found, and has the address.
    fn missing(&self, missing: &Missing) -> Option<FileKey> {
        let Program::Spaces(viewpoint) = self.programs.get(usize::from(missing.source))? else {
            return None;
        };
        let index = viewpoint.spaces.missing_at(missing.memory, missing.address)?;
        let file = self.modules.get(index as usize)?;
        Some((file.path.clone(), file.build_id.clone()))
    }

    /// Whether `address` is in the profile.
    fn selects(&self, address: u64) -> bool {
        self.filter.kernel.is_none_or(|kernel| kernel == (address & KERNEL != 0))
    }
}

/// The instruction at `address`.
fn instruction(image: &Arc<Image>, address: u64, isa: Isa) -> Option<Instruction> {
    let options = CacheOptions::default();
    let mut cache = Cache::new(Arc::clone(image), Waypoints::default(), options);
    cache.instruction(Pc { address, isa, space: Space::ANY }).ok()
}

/// The file that `address` is mapped from.
fn module(image: &Image, address: u64) -> Option<Module> {
    image.region(image.view(Space::ANY), address)?.module()
}

/// The target at `to` of a branch in `place`.
fn target_at(image: &Image, place: Module, to: u64) -> Target {
    match module(image, to) == Some(place) {
        true => Target::Here(to.wrapping_sub(place.bias)),
        false => Target::Outside(to),
    }
}

impl Profile {
    /// Adds the counts of a buffer whose sources have these `programs`, with the files `modules`.
    pub fn add(
        &mut self,
        mut raw: RawProfile,
        programs: &[Program],
        modules: &[ModuleFile],
        filter: &Filter,
    ) {
        raw.settle();
        self.saturated |= raw.saturated;
        let mut resolver = Resolver { programs, modules, filter, images: HashMap::new() };
        for (executed, count) in raw.executed.into_counts() {
            self.executed(&mut resolver, &executed, count);
        }
        for (following, count) in raw.following.into_counts() {
            self.following(&mut resolver, &following, count);
        }
        for (missing, count) in raw.missing.into_counts() {
            let Some((_, true)) = resolver.image(missing.source, missing.memory) else { continue };
            if resolver.selects(missing.address) {
                let times = MissingCode { times: count, first: missing.address };
                self.add_missing(resolver.missing(&missing), times);
            }
        }
    }

    fn add_missing(&mut self, file: Option<FileKey>, found: MissingCode) {
        let sum = self.missing.entry(file).or_insert(MissingCode { times: 0, ..found });
        sum.times = sum.times.saturating_add(found.times);
        sum.first = sum.first.min(found.first);
    }

    /// Adds sequences of branches, as [`add`](Profile::add) does.
    pub fn add_lists(
        &mut self,
        lists: BranchLists,
        programs: &[Program],
        modules: &[ModuleFile],
        filter: &Filter,
    ) {
        let mut resolver = Resolver { programs, modules, filter, images: HashMap::new() };
        for ((source, memory, address, t32, branches), count) in lists.counts {
            let Some((image, true)) = resolver.image(source, memory) else { continue };
            let Some(place) = module(&image, address).filter(|_| resolver.selects(address)) else {
                continue;
            };
            let Some(profile) = self.of(&resolver, place) else { continue };
            let address = address.wrapping_sub(place.bias) | u64::from(t32);
            let mut saturated = false;
            let sum = profile.lists.entry(Listed { address, branches }).or_default();
            add(sum, count, &mut saturated);
            self.saturated |= saturated;
        }
    }

    /// Adds branches that were taken, of which no range is known: the memory, the address, and that
    /// of the next instruction. `decoded`: their instructions are known, and those that are no
    /// branches are exceptions.
    pub(crate) fn add_branches(
        &mut self,
        branches: impl IntoIterator<Item = ((MemoryId, u64, u64), u64)>,
        decoded: bool,
        programs: &[Program],
        modules: &[ModuleFile],
        filter: &Filter,
    ) {
        let mut resolver = Resolver { programs, modules, filter, images: HashMap::new() };
        for ((memory, from, to), count) in branches {
            let Some((image, true)) = resolver.image(0, memory) else { continue };
            let Some(place) = module(&image, from).filter(|_| resolver.selects(from)) else {
                continue;
            };
            let instruction = instruction(&image, from, Isa::A64);
            let branches = |kind| matches!(kind, Kind::Branch | Kind::Indirect);
            if decoded && !instruction.is_some_and(|instruction| branches(instruction.kind)) {
                continue;
            }
            let target = instruction.and_then(|instruction| instruction.target);
            let to = target_at(&image, place, to);
            let mut saturated = false;
            let Some(profile) = self.of(&resolver, place) else { continue };
            let from = from.wrapping_sub(place.bias);
            let indirect = target.is_none();
            let new = BranchCount { count: 0, indirect, followed: true };
            let known = profile.branches.entry(Branch { from, to }).or_insert(new);
            add(&mut known.count, count, &mut saturated);
            self.saturated |= saturated;
        }
    }

    /// Removes the profiles of the files that `selects` does not have, and what is outside of all
    /// files.
    pub fn retain(&mut self, selects: impl Fn(&ModuleProfile) -> bool) {
        self.modules.retain(|_, module| selects(module));
        let ranges = self.modules.values().flat_map(|module| module.ranges.values());
        self.instructions = ranges
            .map(|range| range.total().saturating_mul(range.instructions.into()))
            .fold(0, u64::saturating_add);
        self.outside = 0;
    }

    fn of(&mut self, resolver: &Resolver<'_>, place: Module) -> Option<&mut ModuleProfile> {
        let file = resolver.modules.get(place.index as usize)?;
        let key = (file.path.clone(), file.build_id.clone());
        let new = || ModuleProfile { file: file.clone(), ..ModuleProfile::default() };
        Some(self.modules.entry(key).or_insert_with(new))
    }

    fn executed(&mut self, resolver: &mut Resolver<'_>, executed: &Executed, count: u64) {
        let Some((image, included)) = resolver.image(executed.source, executed.memory) else {
            return;
        };
        if !included || !resolver.selects(executed.start) {
            return;
        }
        let all = count.saturating_mul(executed.instructions.into());
        add(&mut self.instructions, all, &mut self.saturated);
        let Some(place) = module(&image, executed.start) else {
            add(&mut self.outside, count, &mut self.saturated);
            return;
        };
        let last = executed.last_address();
        let branches = executed.branches();
        let mut branch = None;
        if branches {
            let indirect = executed.last.kind == Kind::Indirect;
            let isa = executed.last.isa;
            let to = executed.next.or_else(|| match indirect {
                true => None,
                false => instruction(&image, last, isa).and_then(|found| found.target),
            });
            let to = match to {
                None => Target::Unknown,
                Some(to) => target_at(&image, place, to),
            };
            let followed = executed.next.is_some();
            branch = Some((to, BranchCount { count: 0, indirect, followed }));
        }
        let mut saturated = false;
        let Some(profile) = self.of(resolver, place) else { return };
        let (start, last) =
            (executed.start.wrapping_sub(place.bias), last.wrapping_sub(place.bias));
        let range = profile.ranges.entry((start, last)).or_default();
        range.instructions = executed.instructions;
        add(if branches { &mut range.taken } else { &mut range.not_taken }, count, &mut saturated);
        if let Some((to, new)) = branch {
            let known = profile.branches.entry(Branch { from: last, to }).or_insert(new);
            known.followed |= new.followed;
            add(&mut known.count, count, &mut saturated);
        }
        self.saturated |= saturated;
    }

    fn following(&mut self, resolver: &mut Resolver<'_>, following: &Following, count: u64) {
        let Some((image, true)) = resolver.image(following.source, following.memory) else {
            return;
        };
        let Some(place) = module(&image, following.start) else { return };
        if !resolver.selects(following.start) {
            return;
        }
        let from = match following.from {
            None => Target::Unknown,
            Some(from) => target_at(&image, place, from),
        };
        let mut saturated = false;
        let Some(profile) = self.of(resolver, place) else { return };
        let start = following.start.wrapping_sub(place.bias);
        let last = following.last.wrapping_sub(place.bias);
        add(profile.traces.entry(Trace { from, start, last }).or_default(), count, &mut saturated);
        self.saturated |= saturated;
    }

    /// Adds another profile: the counts of a file with the same path and build identifier are
    /// summed.
    pub fn merge(&mut self, other: Profile) {
        self.saturated |= other.saturated;
        let mut saturated = false;
        add(&mut self.instructions, other.instructions, &mut saturated);
        add(&mut self.outside, other.outside, &mut saturated);
        for (file, missing) in other.missing {
            self.add_missing(file, missing);
        }
        for (key, its) in other.modules {
            let Some(own) = self.modules.get_mut(&key) else {
                self.modules.insert(key, its);
                continue;
            };
            if own.file.found.is_none() {
                own.file = its.file;
            }
            for (key, range) in its.ranges {
                let sum = own.ranges.entry(key).or_default();
                sum.instructions = range.instructions;
                add(&mut sum.taken, range.taken, &mut saturated);
                add(&mut sum.not_taken, range.not_taken, &mut saturated);
            }
            for (key, branch) in its.branches {
                let sum = own.branches.entry(key).or_default();
                sum.indirect = branch.indirect;
                sum.followed |= branch.followed;
                add(&mut sum.count, branch.count, &mut saturated);
            }
            for (key, count) in its.traces {
                add(own.traces.entry(key).or_default(), count, &mut saturated);
            }
            for (key, count) in its.lists {
                add(own.lists.entry(key).or_default(), count, &mut saturated);
            }
        }
        self.saturated |= saturated;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The totals are those of the files that are left.
    #[test]
    fn files_are_removed_with_their_counts() {
        let mut profile = Profile { instructions: 1000, outside: 7, ..Profile::default() };
        for (path, taken, not_taken) in [("a", 2, 3), ("b", 10, 0)] {
            let file = ModuleFile { path: path.to_owned(), ..ModuleFile::default() };
            let count = RangeCount { taken, not_taken, instructions: 4 };
            let ranges = BTreeMap::from([((0x100, 0x10c), count)]);
            let module = ModuleProfile { file, ranges, ..ModuleProfile::default() };
            profile.modules.insert((path.to_owned(), None), module);
        }
        profile.retain(|module| module.file.path == "a");
        let left: Vec<_> = profile.modules.keys().map(|(path, _)| path.as_str()).collect();
        assert_eq!((left, profile.instructions, profile.outside), (vec!["a"], 4 * (2 + 3), 0));
    }
}
