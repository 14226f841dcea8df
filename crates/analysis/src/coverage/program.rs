//! Executions of the instructions of a program file, and outcomes of its branches.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use tracewright_base::{Code as _, Isa, Kind, Pc, Space, Waypoints};
use tracewright_capture::{Capture, Dump, Form, Kind as CaptureKind};
use tracewright_decode::Program;
use tracewright_image::{Bytes, Cache, CacheOptions, Elf, Image, Load, ProgramId, Segment};

use super::flow::Flow;
use crate::raw_profile::RawProfile;

/// A program file.
#[derive(Clone, Debug)]
pub struct ProgramFile {
    /// Its path in the capture.
    pub path: String,
    /// The file.
    pub bytes: Bytes,
    /// The separate file with its debug information, where the capture has one.
    pub debug: Option<Bytes>,
    /// The load bias; 0 where processes map it.
    pub bias: u64,
    /// Its number among the files that processes map, if they do.
    pub module: Option<u32>,
    /// Its number in the memory of the capture, where that is not the memory of processes.
    pub dump: Option<u32>,
    /// `e_machine`.
    pub machine: u16,
    /// Its LOAD segments.
    pub segments: Vec<Segment>,
    /// What distinguishes it from other programs.
    pub id: ProgramId,
    /// The folder whose files its line table may name as source files: that of a file that the user
    /// named, or that of the capture. `None` where the capture could name any file of the machine.
    pub folder: Option<PathBuf>,
}

/// The folder of source files of a program of `capture` in memory.
fn folder(capture: &Capture, dump: &Dump) -> Option<PathBuf> {
    let named = dump.given.then_some(dump.path.as_path());
    let own = matches!(capture.kind, CaptureKind::Snapshot | CaptureKind::Folder);
    let path = named.or_else(|| own.then_some(capture.path.as_path()))?;
    let folder = if path.is_dir() { Some(path) } else { path.parent() };
    folder.map(|folder| match folder.as_os_str().is_empty() {
        true => PathBuf::from("."),
        false => folder.to_owned(),
    })
}

/// The ELF files of a capture, and then those that its processes map.
pub fn program_files(capture: &Capture) -> Vec<ProgramFile> {
    let dumps = (0..).zip(&capture.memory).filter(|(_, dump)| dump.form == Form::Elf);
    let files = dumps.filter_map(|(number, dump)| {
        let bytes = dump.bytes.clone()?;
        let elf = Elf::read(&bytes, dump.name.as_str(), Load::default()).ok()?;
        Some(ProgramFile {
            path: dump.file.clone(),
            bytes: bytes.clone(),
            bias: dump.address,
            debug: None,
            module: None,
            dump: capture.linux.is_none().then_some(number),
            machine: elf.machine,
            id: ProgramId::of_elf(&bytes, &elf),
            folder: folder(capture, dump),
            segments: elf.segments,
        })
    });
    let modules = capture.linux.iter().flat_map(|linux| linux.spaces.modules());
    let mapped = (0..).zip(modules).filter_map(|(number, file)| {
        let bytes = file.content.clone()?;
        let elf = Elf::read(&bytes, file.path.as_str(), Load::default()).ok()?;
        Some(ProgramFile {
            path: file.path.clone(),
            bytes: bytes.clone(),
            debug: file.debug.clone(),
            bias: 0,
            module: Some(number),
            dump: None,
            machine: elf.machine,
            id: ProgramId::of_elf(&bytes, &elf),
            folder: None,
            segments: elf.segments,
        })
    });
    files.chain(mapped).collect()
}

impl ProgramFile {
    /// The file with its debug information.
    pub fn debug_info(&self) -> &Bytes {
        self.debug.as_ref().unwrap_or(&self.bytes)
    }

    /// The address in the file of an address of code in memory.
    pub fn address(&self, address: u64) -> Option<u64> {
        let own = address.wrapping_sub(self.bias);
        self.has_code(own).then_some(own)
    }

    /// Whether an address in the file is one of its code.
    fn has_code(&self, own: u64) -> bool {
        let inside = |segment: &&Segment| {
            let at = own.checked_sub(segment.address);
            segment.executable && at.is_some_and(|at| at < segment.file_size)
        };
        self.segments.iter().any(|segment| inside(&segment))
    }

    /// Its code that is in the file, in order: the first and the last address of each part.
    fn code(&self) -> Vec<(u64, u64)> {
        let size = self.bytes.len() as u64;
        let segments = self.segments.iter().filter(|segment| segment.executable);
        let mut parts: Vec<(u64, u64)> = segments
            .filter_map(|segment| {
                let bytes = segment.file_size.min(size.saturating_sub(segment.offset));
                Some((segment.address, segment.address.saturating_add(bytes.checked_sub(1)?)))
            })
            .collect();
        parts.sort_unstable();
        parts.dedup_by(|next, part| {
            let joined = next.0 <= part.1;
            part.1 = if joined { part.1.max(next.1) } else { part.1 };
            joined
        });
        parts
    }

    /// The instruction set, where the file has only one.
    pub fn isa(&self) -> Option<Isa> {
        const AARCH64: u16 = 183;
        const RISCV: u16 = 243;
        let bits64 = self.bytes.head(5).get(4) == Some(&2);
        match self.machine {
            AARCH64 => Some(Isa::A64),
            RISCV if bits64 => Some(Isa::Rv64),
            RISCV => Some(Isa::Rv32),
            _ => None,
        }
    }
}

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

/// The number of the file of `image` that has the code at `address`, and its bias.
fn file_of(files: &[ProgramFile], image: &Image, address: u64) -> Option<(usize, u64)> {
    let module = image.region(image.view(Space::ANY), address)?.module()?;
    let is = |file: &ProgramFile| [file.module, file.dump].contains(&Some(module.index));
    Some((files.iter().position(is)?, module.bias))
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
    use tracewright_decode::{Fork as _, Listener, Merge as _};
    use tracewright_image::Module;

    use super::*;
    use crate::profiler::Profiler;

    /// An ELF file for AArch64 with one segment of NOPs at 0x8000.
    fn elf() -> Bytes {
        let numbers = |size: usize, numbers: &[u64]| -> Vec<u8> {
            numbers.iter().flat_map(|n| n.to_le_bytes().into_iter().take(size)).collect()
        };
        let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
        file.extend(numbers(2, &[2, 183]));
        file.extend(numbers(4, &[1]));
        file.extend(numbers(8, &[0x8000, 64, 0]));
        file.extend(numbers(4, &[0]));
        file.extend(numbers(2, &[64, 56, 1, 0, 0, 0]));
        file.extend(numbers(4, &[1, 5]));
        file.extend(numbers(8, &[120, 0x8000, 0x8000, 16, 16, 4]));
        file.extend([0x1f, 0x20, 0x03, 0xd5].repeat(4));
        Bytes::from(file)
    }

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
