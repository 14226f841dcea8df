//! Coverage of the object code: what was executed of each function, whatever its source is.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tracewright_base::{Code as _, Instruction, Kind, Pc, Role, Space, Waypoints};
use tracewright_image::{Cache, CacheOptions, Image};
use tracewright_symbols::{CodeStates, Functions, Lines};

use super::program::ProgramCoverage;
use crate::program_file::ProgramFile;
use crate::totals::Totals;

/// A call in the object code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSite {
    /// The address of its instruction.
    pub address: u64,
    /// Its line, in the source file with the path.
    pub line: Option<(String, u32)>,
    /// The function that a direct call names.
    pub target: Option<String>,
    /// It is indirect.
    pub indirect: bool,
    /// Calls; `None` if it may have been executed where trace was lost.
    pub count: Option<u64>,
    /// Of an indirect call: the functions that it called, and how often. What it called in other
    /// files, and before an interrupt or a loss, is left out.
    pub callees: Vec<(String, u64)>,
}

/// How a function ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitKind {
    /// A return.
    Return,
    /// A return from an exception.
    ExceptionReturn,
    /// A direct branch to the first instruction of another function.
    TailCall,
}

/// An instruction that ends a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExitSite {
    /// Its address.
    pub address: u64,
    /// Its line, in the source file with the path.
    pub line: Option<(String, u32)>,
    /// How.
    pub kind: ExitKind,
    /// How often; `None` if it may have been executed where trace was lost.
    pub count: Option<u64>,
}

/// What was executed of a function's code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectFunction {
    /// Its name, demangled.
    pub name: String,
    /// Its name in the symbol table.
    pub symbol: String,
    /// The address of its first instruction.
    pub start: u64,
    /// Executions of its first instruction; `None` if it may have been executed where trace was
    /// lost.
    pub entered: Option<u64>,
    /// Its instructions.
    pub instructions: Totals,
    /// The outcomes of its conditional branches: two for each.
    pub branches: Totals,
    /// Its instructions that belong to no source line.
    pub without_line: Totals,
    /// Its calls, in order of their addresses.
    pub calls: Vec<CallSite>,
    /// Its ends, in order of their addresses.
    pub exits: Vec<ExitSite>,
}

/// The coverage of the object code of a program file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectCoverage {
    /// The functions with code whose instruction set is known, in order of their addresses.
    pub functions: Vec<ObjectFunction>,
    /// Functions whose instruction set is not known: AArch32 code without mapping symbols.
    pub unknown: Vec<String>,
    /// Instructions that were executed outside of these functions.
    pub outside: u64,
}

impl ProgramCoverage {
    /// Adds what another capture of the same program file executed.
    pub fn merge(&mut self, other: &ProgramCoverage) {
        for (address, count) in &other.executions {
            let sum = self.executions.entry(*address).or_default();
            *sum = sum.saturating_add(*count);
        }
        for (address, counts) in &other.branches {
            let sums = self.branches.entry(*address).or_default();
            sums.iter_mut().zip(counts).for_each(|(sum, own)| *sum = sum.saturating_add(*own));
        }
        for (start, (bytes, isa)) in &other.ranges {
            let own = self.ranges.entry(*start).or_insert((*bytes, *isa));
            own.0 = own.0.max(*bytes);
        }
        self.flow.merge(&other.flow);
    }

    /// The coverage of the object code of a program file. With `losses`, what was not executed is
    /// unknown.
    pub fn object(&self, file: &ProgramFile, losses: bool) -> ObjectCoverage {
        let mut all = ObjectCoverage::default();
        let Ok(image) = Image::from_elf(&file.bytes, &file.path, file.bias) else { return all };
        let debug = file.debug_info();
        let functions = Functions::of_elf(debug);
        let mut reader = Reader {
            covered: self,
            file,
            states: CodeStates::of_elf(debug),
            lines: Lines::of_elf(debug),
            cache: Cache::new(Arc::new(image), Waypoints::default(), CacheOptions::default()),
            callees: self.flow.targets(),
            functions: &functions,
            losses,
            // Segments of a hostile file may share their bytes.
            left: (file.bytes.len() as u64).saturating_mul(2),
        };
        let mut parts: BTreeMap<u32, Vec<(u64, u64)>> = BTreeMap::new();
        let code = file.code();
        let mut next = Some(0);
        while let Some(address) = next {
            let found = functions.at(address);
            if let Some(number) = found.function {
                let own = parts.entry(number).or_default();
                // A symbol may name more than the file has.
                let first = code.partition_point(|(_, last)| *last < found.start);
                let inside = code.get(first..).unwrap_or_default().iter();
                let inside = inside.take_while(|(start, _)| *start <= found.last);
                own.extend(
                    inside
                        .map(|(start, last)| ((*start).max(found.start), (*last).min(found.last))),
                );
            }
            next = found.last.checked_add(1);
        }
        let mut inside = 0u64;
        for (number, parts) in parts {
            let Some(function) = functions.get(number) else { continue };
            let mut own = ObjectFunction {
                name: function.name.clone(),
                symbol: function.symbol.clone(),
                start: function.start,
                entered: reader.known(self.executions.get(&function.start).copied()),
                instructions: Totals::default(),
                branches: Totals::default(),
                without_line: Totals::default(),
                calls: Vec::new(),
                exits: Vec::new(),
            };
            parts.iter().for_each(|part| reader.part(&mut own, number, *part));
            match own.instructions.all {
                0 => all.unknown.push(own.name),
                _ => {
                    inside += own.instructions.executed;
                    all.functions.push(own);
                }
            }
        }
        all.functions.sort_by_key(|own| own.start);
        all.outside = (self.executions.len() as u64).saturating_sub(inside);
        all
    }
}

struct Reader<'a> {
    covered: &'a ProgramCoverage,
    file: &'a ProgramFile,
    states: CodeStates,
    lines: Option<Lines>,
    cache: Cache,
    /// By the address of a branch: where it went, and how often.
    callees: HashMap<u64, Vec<(u64, u64)>>,
    functions: &'a Functions,
    losses: bool,
    /// The bytes that are still read.
    left: u64,
}

impl Reader<'_> {
    /// A count, which is unknown if it is 0 and trace was lost.
    fn known(&self, count: Option<u64>) -> Option<u64> {
        Some(count.unwrap_or(0)).filter(|count| *count > 0 || !self.losses)
    }

    /// Adds the instructions of a part of a function's code, from its first to its last address.
    fn part(&mut self, own: &mut ObjectFunction, number: u32, (first, last): (u64, u64)) {
        let mut address = first;
        while address <= last && self.left > 0 {
            let size = match self.states.at(address) {
                None => 1,
                Some(isa) => {
                    let memory = address.wrapping_add(self.file.bias);
                    let pc = Pc { address: memory, isa, space: Space::ANY };
                    let instruction = self.cache.instruction(pc).ok();
                    let own_size = instruction.map(|own| u64::from(own.size));
                    if let Some(instruction) = instruction {
                        self.add(own, number, address, &instruction);
                    }
                    own_size.unwrap_or(isa.alignment()).max(1)
                }
            };
            self.left = self.left.saturating_sub(size);
            match address.checked_add(size) {
                Some(next) => address = next,
                None => return,
            }
        }
    }

    fn add(&self, own: &mut ObjectFunction, number: u32, address: u64, instruction: &Instruction) {
        let executed = self.covered.executions.get(&address).copied();
        let count = self.known(executed);
        let sum = |totals: &mut Totals, counts: &[Option<u64>]| {
            *totals = totals.and(Totals::of(counts.iter().copied()));
        };
        sum(&mut own.instructions, &[count]);
        let line = self.line(address);
        // A program without line numbers is not code without source.
        if line.is_none() && self.lines.is_some() {
            sum(&mut own.without_line, &[count]);
        }
        if !matches!(instruction.kind, Kind::Branch | Kind::Indirect) {
            return;
        }
        let outcomes = self.covered.branches.get(&address).copied().unwrap_or_default();
        if instruction.conditional {
            let [taken, not] = outcomes.map(|count| self.known(Some(count)));
            sum(&mut own.branches, &[taken, not]);
        }
        let taken = match instruction.conditional {
            true => self.known(Some(outcomes[0])),
            false => count,
        };
        let target = instruction.target.map(|target| target.wrapping_sub(self.file.bias));
        let kind = match instruction.role {
            Role::Call | Role::Link | Role::Swap => {
                own.calls.push(self.call(address, (line, target, taken)));
                return;
            }
            Role::Return | Role::ImpliedReturn => ExitKind::Return,
            Role::ExceptionReturn => ExitKind::ExceptionReturn,
            _ => {
                let other = target.and_then(|to| Some((to, self.functions.at(to).function?)));
                let other = other.filter(|(_, to)| *to != number);
                let other = other.and_then(|(to, n)| Some((to, self.functions.get(n)?)));
                match other {
                    Some((to, function)) if function.start == to => ExitKind::TailCall,
                    _ => return,
                }
            }
        };
        own.exits.push(ExitSite { address, line, kind, count: taken });
    }

    fn call(
        &self,
        address: u64,
        (line, target, count): (Option<(String, u32)>, Option<u64>, Option<u64>),
    ) -> CallSite {
        let name = |to: u64| {
            let function = self.functions.get(self.functions.at(to).function?)?;
            Some(function.name.clone())
        };
        let mut callees: BTreeMap<String, u64> = BTreeMap::new();
        let indirect = target.is_none();
        let found = self.callees.get(&address).filter(|_| indirect);
        for (to, count) in found.into_iter().flatten() {
            if let Some(name) = name(*to) {
                *callees.entry(name).or_default() += count;
            }
        }
        CallSite {
            address,
            line,
            target: target.and_then(name),
            indirect,
            count,
            callees: callees.into_iter().collect(),
        }
    }

    fn line(&self, address: u64) -> Option<(String, u32)> {
        let lines = self.lines.as_ref()?;
        let at = lines.at(address).filter(|at| at.line > 0)?;
        Some((lines.file(at.file)?.to_owned(), at.line))
    }
}
