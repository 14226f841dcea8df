//! Executions of the instructions of a program file, and outcomes of its branches.

use std::collections::{BTreeMap, HashMap};

use tracewright_base::{Code as _, Isa, Kind, Pc, Space, Waypoints};
use tracewright_capture::{Capture, Form};
use tracewright_decode::Program;
use tracewright_image::{Bytes, Cache, CacheOptions, Elf, Load, Segment};

use crate::raw_profile::RawProfile;

/// A program file.
#[derive(Clone, Debug)]
pub struct ProgramFile {
    /// Its path in the capture.
    pub path: String,
    /// The file.
    pub bytes: Bytes,
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
}

/// The ELF files of a capture, and then those that its processes map.
pub fn program_files(capture: &Capture) -> Vec<ProgramFile> {
    let dumps = (0..).zip(&capture.memory).filter(|(_, dump)| dump.form == Form::Elf);
    let files = dumps.filter_map(|(number, dump)| {
        let bytes = dump.bytes.clone()?;
        let elf = Elf::read(&bytes, dump.name.as_str(), Load::default()).ok()?;
        Some(ProgramFile {
            path: dump.file.clone(),
            bytes,
            bias: dump.address,
            module: None,
            dump: capture.linux.is_none().then_some(number),
            machine: elf.machine,
            segments: elf.segments,
        })
    });
    let modules = capture.linux.iter().flat_map(|linux| linux.spaces.modules());
    let mapped = (0..).zip(modules).filter_map(|(number, file)| {
        let bytes = file.content.clone()?;
        let elf = Elf::read(&bytes, file.path.as_str(), Load::default()).ok()?;
        Some(ProgramFile {
            path: file.path.clone(),
            bytes,
            bias: 0,
            module: Some(number),
            dump: None,
            machine: elf.machine,
            segments: elf.segments,
        })
    });
    files.chain(mapped).collect()
}

impl ProgramFile {
    /// The address in the file of an address of code in memory.
    pub fn address(&self, address: u64) -> Option<u64> {
        let own = address.wrapping_sub(self.bias);
        let inside = |segment: &&Segment| {
            let at = own.checked_sub(segment.address);
            segment.executable && at.is_some_and(|at| at < segment.file_size)
        };
        self.segments.iter().find(inside).map(|_| own)
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
            let spaces = match programs.get(usize::from(range.source)) {
                Some((Program::Spaces(viewpoint), _)) => Some(&viewpoint.spaces),
                _ => None,
            };
            let found = match spaces {
                Some(spaces) => {
                    let image =
                        images.entry(range.memory).or_insert_with(|| spaces.image(range.memory));
                    let region = image.region(image.view(Space::ANY), range.start);
                    region.and_then(|region| region.module()).and_then(|module| {
                        let is = |file: &ProgramFile| {
                            [file.module, file.dump].contains(&Some(module.index))
                        };
                        Some((files.iter().position(is)?, module.bias))
                    })
                }
                None => {
                    let has = |file: &&ProgramFile| file.address(range.start).is_some();
                    let dumps = files.iter().take_while(|file| file.module.is_none());
                    let found = dumps.enumerate().find(|(_, file)| has(file));
                    found.map(|(n, file)| (n, file.bias))
                }
            };
            let Some((own, bias)) = found.and_then(|(n, bias)| Some((all.get_mut(n)?, bias)))
            else {
                outside = outside.saturating_add(count);
                continue;
            };
            let isa = range.last.isa;
            let mut address = range.start;
            for n in 0..range.instructions {
                let sum = own.executions.entry(address.wrapping_sub(bias)).or_default();
                *sum = sum.saturating_add(count);
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

    /// The conditional branches of code from `start` to `end` in the file.
    pub(super) fn branches_of(
        cache: &mut Cache,
        file: &ProgramFile,
        isa: Isa,
        code: (u64, u64),
    ) -> Vec<u64> {
        let (mut address, end) = code;
        let mut found = Vec::new();
        while address < end {
            let pc = Pc { address: address.wrapping_add(file.bias), isa, space: Space::ANY };
            let Ok(instruction) = cache.instruction(pc) else {
                address += isa.alignment();
                continue;
            };
            let branch = matches!(instruction.kind, Kind::Branch | Kind::Indirect);
            if branch && instruction.conditional {
                found.push(address);
            }
            address += u64::from(instruction.size.max(1));
        }
        found
    }
}
