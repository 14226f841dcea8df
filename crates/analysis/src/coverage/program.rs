//! Executions of the instructions of a program file, and outcomes of its branches.

use std::collections::{BTreeMap, HashMap};

use tracewright_base::{Code as _, Isa, Kind, Pc, Space, Waypoints};
use tracewright_decode::Program;
use tracewright_image::{Cache, CacheOptions};

use super::flow::Flow;
use crate::program_file::{ProgramFile, file_of};
use crate::raw_profile::RawProfile;

/// What was executed of a program file, at the addresses in the file.
#[derive(Clone, Debug, Default)]
pub struct ProgramCoverage {
    /// Executions of each instruction that was executed.
    pub executions: BTreeMap<u64, u64>,
    /// Of each conditional branch that was executed: how often it was taken, and how often not.
    pub branches: BTreeMap<u64, [u64; 2]>,
    /// Executed ranges: address, size in bytes, instruction set.
    pub ranges: BTreeMap<u64, (u32, Isa)>,
    /// What was executed before each instruction.
    pub(super) flow: Flow,
}

impl ProgramCoverage {
    /// The instruction set of the first code that was executed from `start` to `end`.
    pub fn isa(&self, start: u64, end: u64) -> Option<Isa> {
        self.ranges.range(start..end).next().map(|(_, (_, isa))| *isa)
    }

    /// Adds the counts of a buffer whose sources have these programs to the coverage of `files`,
    /// one for each. Addresses in no file are left out; their executions are returned.
    pub fn add(
        all: &mut [ProgramCoverage],
        files: &[ProgramFile],
        raw: RawProfile,
        programs: &[(Program, CacheOptions)],
    ) -> u64 {
        let mut outside = 0u64;
        let mut caches: HashMap<u16, Cache> = HashMap::new();
        let mut images = HashMap::new();
        for (range, count) in raw.executed.into_counts() {
            let program = programs.get(usize::from(range.source)).map(|(program, _)| program);
            let found = match program {
                Some(Program::Spaces(viewpoint)) => {
                    let image = images
                        .entry(range.memory)
                        .or_insert_with(|| viewpoint.spaces.image(range.memory));
                    file_of(files, image, range.start)
                }
                Some(Program::Image(image)) => file_of(files, image, range.start).or_else(|| {
                    // A dump has the memory of the program.
                    let has = |file: &&ProgramFile| file.address(range.start).is_some();
                    let dumps = files.iter().take_while(|file| file.module.is_none());
                    let found = dumps.enumerate().find(|(_, file)| has(file));
                    found.map(|(n, file)| (n, file.bias))
                }),
                None => None,
            };
            let file = found.and_then(|(n, _)| files.get(n));
            let Some((own, bias)) = found.and_then(|(n, bias)| Some((all.get_mut(n)?, bias)))
            else {
                outside = outside.saturating_add(count);
                continue;
            };
            let isa = range.last.isa;
            let mut address = range.start;
            let mut before = None;
            for n in 0..range.instructions {
                let sum = own.executions.entry(address.wrapping_sub(bias)).or_default();
                *sum = sum.saturating_add(count);
                if let Some(before) = before {
                    own.flow.sequence(before, address.wrapping_sub(bias), count);
                }
                before = Some(address.wrapping_sub(bias));
                let size = match isa {
                    Isa::A64 | Isa::A32 => 4,
                    _ if n + 1 == range.instructions => u64::from(range.last.size()),
                    _ => {
                        let Some((program, options)) = programs.get(usize::from(range.source))
                        else {
                            break;
                        };
                        let cache = caches
                            .entry(range.source)
                            .or_insert_with(|| program.cache(Waypoints::default(), *options));
                        cache.select_memory(range.memory);
                        let pc = Pc { address, isa, space: Space::ANY };
                        cache.instruction(pc).map_or(2, |found| u64::from(found.size))
                    }
                };
                address = address.wrapping_add(size) & isa.address_mask();
            }
            if let Some(last) = before {
                let next = range.next.map(|next| next.wrapping_sub(bias));
                let next = next.filter(|next| file.is_some_and(|file| file.has_code(*next)));
                own.flow.end(range.last, last, address.wrapping_sub(bias), next, count);
            }
            let start = range.start.wrapping_sub(bias);
            let (bytes, its) = own.ranges.entry(start).or_default();
            (*bytes, *its) = ((*bytes).max(range.bytes), isa);
            if range.last.conditional() && matches!(range.last.kind, Kind::Branch | Kind::Indirect)
            {
                let outcomes =
                    own.branches.entry(range.last_address().wrapping_sub(bias)).or_default();
                if let Some(sum) = outcomes.get_mut(usize::from(!range.last.taken())) {
                    *sum = sum.saturating_add(count);
                }
            }
        }
        outside
    }

    /// The conditional branches of `parts` of the code, whose first and last addresses do not
    /// overlap and are in order.
    pub(super) fn branches_of(
        cache: &mut Cache,
        file: &ProgramFile,
        isa: Isa,
        parts: impl Iterator<Item = (u64, u64)>,
    ) -> Vec<u64> {
        let mut found = Vec::new();
        // Segments of a hostile file may share their bytes.
        let mut left = (file.bytes.len() as u64).saturating_mul(2);
        let code = file.code();
        for (start, last) in parts {
            let first = code.partition_point(|(_, end)| *end < start);
            let known = code.get(first..).unwrap_or_default().iter();
            for (from, to) in known.take_while(|(from, _)| *from <= last) {
                let (mut address, end) = (start.max(*from), last.min(*to));
                while address <= end && left > 0 {
                    let pc =
                        Pc { address: address.wrapping_add(file.bias), isa, space: Space::ANY };
                    let instruction = cache.instruction(pc).ok();
                    let kind = instruction.filter(|instruction| instruction.conditional);
                    let kind = kind.map(|instruction| instruction.kind);
                    if matches!(kind, Some(Kind::Branch | Kind::Indirect)) {
                        found.push(address);
                    }
                    let size =
                        instruction.map_or(isa.alignment(), |found| found.size.into()).max(1);
                    left = left.saturating_sub(size);
                    let Some(next) = address.checked_add(size) else { break };
                    address = next;
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use tracewright_base::Last;
    use tracewright_base::{Counted, Element, Instruction, Range};
    use tracewright_capture::{Capture, Dump, Form};
    use tracewright_decode::{Fork as _, Listener, Merge as _};
    use tracewright_image::{Elf, Image, Load, Module};

    use super::*;
    use crate::profiler::Profiler;
    use crate::program_file::program_files;
    use crate::program_file::tests::elf;

    /// Two cores have programs of their own at the same address.
    #[test]
    fn sources_with_programs_of_their_own() {
        let dump = |name: &str| {
            let mut dump = Dump::new(name, 0, elf());
            dump.form = Form::Elf;
            dump
        };
        let capture = Capture { memory: vec![dump("a"), dump("b")], ..Capture::default() };
        let files = program_files(&capture);
        assert_eq!(files.len(), 2);
        let image = |index| {
            let load = Load::default();
            let elf = Elf::read(&elf(), "program", load).expect("a program");
            let module = Module { index, bias: 0 };
            let regions = elf.regions.into_iter().map(|region| region.of_module(module));
            Program::Image(Image::new(regions).into())
        };
        let programs = [image(0), image(1)].map(|program| (program, CacheOptions::default()));
        let mut profiler = Profiler::new(programs.iter().map(|(program, _)| program.clone()));
        let last =
            Last::new(&Instruction { size: 4, isa: Isa::A64, ..Instruction::default() }, true);
        let range =
            Range { start: 0x8000, bytes: 4, instructions: 1, cycles: Counted::UNKNOWN, last };
        for source in [0, 1, 1] {
            profiler.element(source, 0, Element::Range(range));
            profiler.element(source, 0, Element::End);
        }
        let mut raw = RawProfile::default();
        raw.merge(profiler.take());
        let mut covered = vec![ProgramCoverage::default(); 2];
        assert_eq!(ProgramCoverage::add(&mut covered, &files, raw, &programs), 0);
        let counts: Vec<_> = covered.iter().map(|own| own.executions.get(&0x8000)).collect();
        assert_eq!(counts, [Some(&1), Some(&2)]);
    }
}
