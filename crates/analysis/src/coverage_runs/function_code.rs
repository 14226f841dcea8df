//! Whether a function is the same in two states of a program.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use tracewright_base::{Code as _, Instruction, Isa, Kind, Pc, Space, Waypoints};
use tracewright_image::{Cache, CacheOptions, Image};
use tracewright_symbols::{CodeStates, DataObjects, Functions, Lines, Location};

use super::digest::{Digest, Digester};
use crate::coverage::{ProgramCoverage, ProgramFile, SourceFile};

/// The code of a function that can be compared with that of another state of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FunctionCode {
    /// The address of its first instruction.
    pub start: u64,
    /// Of its instructions and data, and of the lines that they belong to, counted from its first
    /// line. What depends on where the code or what it refers to is has its name instead: direct
    /// branches to other functions, and addresses of variables among data.
    pub digest: Digest,
}

/// A function: the path of its source file, its first and last line, its symbol.
pub type FunctionPlace = (String, (u32, u32), String);

/// Constants below are not taken as addresses of variables.
const LEAST_ADDRESS: u64 = 0x1_0000;

/// The most lines of functions: in a hostile file, each function may have all lines.
const MOST_LINES: usize = 1 << 24;

/// The code of the functions of a program file. Left out is a function that cannot be compared, or
/// whose lines are not only its own: parts of it are elsewhere, several functions have its symbol,
/// or code of another function has its lines, as where it is inlined.
pub fn function_codes(file: &ProgramFile) -> BTreeMap<FunctionPlace, FunctionCode> {
    let mut all = BTreeMap::new();
    let Some(lines) = Lines::of_elf(file.debug_info()) else { return all };
    let Ok(image) = Image::from_elf(&file.bytes, &file.path, file.bias) else { return all };
    let mut sources = BTreeMap::new();
    ProgramCoverage::default().lines(file, &mut sources);
    let own = Program {
        file,
        functions: Functions::of_elf(file.debug_info()),
        states: CodeStates::of_elf(file.debug_info()),
        objects: DataObjects::of_files([(file.debug_info(), 0)]),
        lines: &lines,
    };
    let mut numbers: HashMap<&str, Option<u32>> = HashMap::new();
    for (number, function) in (0..).zip(own.functions.iter()) {
        let known = numbers.entry(&function.symbol);
        known.and_modify(|own| *own = None).or_insert(Some(number));
    }
    let (apart, shared) = (own.apart(), own.shared(&sources));
    // Functions of a hostile file may share their bytes.
    let mut left = (file.bytes.len() as u64).saturating_mul(2);
    let mut cache = Cache::new(Arc::new(image), Waypoints::default(), CacheOptions::default());
    for (path, source) in &sources {
        for function in &source.functions {
            let number = numbers.get(function.symbol.as_str()).copied().flatten();
            let Some(number) = number.filter(|n| !apart.contains(n) && !shared.contains(n)) else {
                continue;
            };
            let size = own.functions.get(number).map(|own| own.end.saturating_sub(own.start));
            let Some(rest) = size.and_then(|size| left.checked_sub(size)) else { continue };
            left = rest;
            if let Some(code) = own.code(&mut cache, number, (path, function.lines)) {
                all.insert((path.clone(), function.lines, function.symbol.clone()), code);
            }
        }
    }
    all
}

struct Program<'a> {
    file: &'a ProgramFile,
    functions: Functions,
    states: CodeStates,
    objects: DataObjects,
    lines: &'a Lines,
}

impl Program<'_> {
    /// The functions with code outside of their first and last address.
    fn apart(&self) -> HashSet<u32> {
        let (mut all, mut address) = (HashSet::new(), 0);
        loop {
            let found = self.functions.at(address);
            if let Some(number) = found.function {
                let own = self.functions.get(number);
                let inside =
                    own.is_some_and(|own| own.start <= found.start && found.last < own.end);
                if !inside {
                    all.insert(number);
                }
            }
            match found.last.checked_add(1) {
                Some(next) => address = next,
                None => return all,
            }
        }
    }

    /// The functions whose lines code outside of them has; all of them where their lines are too
    /// many.
    fn shared(&self, sources: &BTreeMap<String, SourceFile>) -> HashSet<u32> {
        let numbers: HashMap<&str, u32> =
            (0..).zip(self.functions.iter()).map(|(n, own)| (own.symbol.as_str(), n)).collect();
        let mut owners: HashMap<(u32, u32), Vec<u32>> = HashMap::new();
        let mut left = MOST_LINES;
        for number in 0..self.lines.files() as u32 {
            let Some(source) = self.lines.file(number).and_then(|path| sources.get(path)) else {
                continue;
            };
            for own in &source.functions {
                let Some(function) = numbers.get(own.symbol.as_str()) else { continue };
                for line in source.lines.range(own.lines.0..=own.lines.1.max(own.lines.0)) {
                    if left == 0 {
                        return numbers.into_values().collect();
                    }
                    left -= 1;
                    owners.entry((number, *line.0)).or_default().push(*function);
                }
            }
        }
        let mut all = HashSet::new();
        for row in self.lines.rows() {
            let Some(own) = owners.get(&(row.location.file, row.location.line)) else { continue };
            let inside = |number: &u32| {
                let own = self.functions.get(*number);
                own.is_some_and(|own| own.start <= row.start && row.last < own.end)
            };
            all.extend(own.iter().filter(|number| !inside(number)));
        }
        all
    }

    /// The code of the function with a number, whose source file has a path.
    fn code(
        &self,
        cache: &mut Cache,
        number: u32,
        (path, (first, last)): (&str, (u32, u32)),
    ) -> Option<FunctionCode> {
        let (start, end) = self.functions.get(number).map(|own| (own.start, own.end))?;
        let mut digester = Digester::default();
        digester.number(end.checked_sub(start)?);
        let mut address = start;
        while address < end {
            let size = match self.states.at(address) {
                Some(isa) => {
                    self.instruction(cache, &mut digester, (address, isa), (start, end))?
                }
                None => self.data(&mut digester, address, end)?,
            };
            address = address.checked_add(size)?;
        }
        let rows = self.lines.rows();
        let next = rows.partition_point(|row| row.last < start);
        for row in rows.get(next..)?.iter().take_while(|row| row.start < end) {
            digester.number(row.start.wrapping_sub(start));
            digester.number(row.last.wrapping_sub(start));
            let Location { file, line } = row.location;
            let own = self.lines.file(file) == Some(path) && (first..=last).contains(&line);
            digester.number(u64::from(own));
            digester.number(u64::from(self.lines.has_statement(row.location)));
            match own {
                true => digester.number((line - first).into()),
                false => {
                    digester.text(self.lines.file(file).unwrap_or_default());
                    digester.number(line.into());
                }
            }
        }
        Some(FunctionCode { start, digest: digester.finish() })
    }

    /// Adds an instruction, and returns its size.
    fn instruction(
        &self,
        cache: &mut Cache,
        digester: &mut Digester,
        (address, isa): (u64, Isa),
        (start, end): (u64, u64),
    ) -> Option<u64> {
        let pc = Pc { address: address.wrapping_add(self.file.bias), isa, space: Space::ANY };
        let Ok(instruction) = cache.instruction(pc) else {
            // An opcode that is not known.
            let size = isa.alignment();
            digester.add(self.bytes(address, size)?);
            return Some(size);
        };
        let size = u64::from(instruction.size);
        let opcode = self.bytes(address, size)?;
        let target = instruction.target.filter(|_| direct(&instruction));
        let target = target.map(|target| target.wrapping_sub(self.file.bias));
        let named = target.filter(|target| !(start..end).contains(target)).and_then(|target| {
            let own = self.functions.get(self.functions.at(target).function?)?;
            Some((own.symbol.as_str(), target.wrapping_sub(own.start)))
        });
        match named {
            Some((symbol, offset)) => {
                digester.number(isa.alignment());
                digester.number(size);
                digester.number(without_target(isa, opcode));
                digester.text(symbol);
                digester.number(offset);
            }
            None => {
                digester.text("");
                digester.add(opcode);
            }
        }
        Some(size)
    }

    /// Adds data among the code, and returns their size.
    fn data(&self, digester: &mut Digester, address: u64, end: u64) -> Option<u64> {
        let size = if self.file.bytes.head(5).get(4) == Some(&2) { 8 } else { 4 };
        if address.is_multiple_of(size)
            && end - address >= size
            && self.states.at(address + size - 1).is_none()
        {
            let bytes = self.bytes(address, size)?;
            let word = bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
            let object = self.objects.around(word).filter(|_| word >= LEAST_ADDRESS);
            match object {
                Some((object, offset)) => {
                    digester.text(&object.name);
                    digester.number(offset);
                }
                None => {
                    digester.text("");
                    digester.add(bytes);
                }
            }
            return Some(size);
        }
        digester.add(self.bytes(address, 1)?);
        Some(1)
    }

    fn bytes(&self, address: u64, size: u64) -> Option<&[u8]> {
        let code = self.file.id.code();
        let next = code.partition_point(|(start, _)| *start <= address);
        let (start, bytes) = code.get(next.checked_sub(1)?)?;
        let first = usize::try_from(address.checked_sub(*start)?).ok()?;
        let last = first.checked_add(usize::try_from(size).ok()?)?;
        bytes.get(first..last)
    }
}

/// Whether an instruction branches to its target whatever the state is: its opcode has nothing but
/// the target and what `without_target` returns.
fn direct(instruction: &Instruction) -> bool {
    instruction.kind == Kind::Branch && !instruction.conditional
}

/// What the opcode of a direct branch has beside its target.
fn without_target(isa: Isa, opcode: &[u8]) -> u64 {
    let word = opcode.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    match (isa, opcode.len()) {
        // B, BL: bits 31 to 26.
        (Isa::A64, _) => word & 0xfc00_0000,
        // B, BL, BLX: the condition and bits 27 to 24.
        (Isa::A32, _) => word & 0xff00_0000,
        // B of 16 bits: bits 15 to 11; B.W, BL, BLX: also bits 15, 14 and 12 of the second half.
        (Isa::T32, 2) => word & 0xf800,
        (Isa::T32, _) => word & 0xd000_f800,
        // C.J, C.JAL: bits 15 to 13, and 1 and 0; JAL: the register and the opcode.
        (_, 2) => word & 0xe003,
        _ => word & 0xfff,
    }
}
