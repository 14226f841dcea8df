//! Coverage by source line.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use tracewright_base::Waypoints;
use tracewright_image::{Cache, CacheOptions, Image};
use tracewright_symbols::{Functions, Lines, Location, Row};

use super::program::{ProgramCoverage, ProgramFile};

/// The outcomes of a conditional branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BranchOutcomes {
    /// Its address in the program file.
    pub address: u64,
    /// How often it was taken, and how often not; `None` if it was not executed.
    pub counts: Option<[u64; 2]>,
}

/// A line of a source file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Executions.
    pub count: u64,
    /// Its conditional branches in order of their addresses.
    pub branches: Vec<BranchOutcomes>,
}

/// A function of a source file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionLine {
    /// Its name, demangled.
    pub name: String,
    /// Its name in the symbol table.
    pub symbol: String,
    /// The line of its first instruction, and the last line of its code.
    pub lines: (u32, u32),
    /// Executions of its first instruction.
    pub count: u64,
}

/// A source file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceFile {
    /// Lines with code.
    pub lines: BTreeMap<u32, Line>,
    /// Functions, in order of their lines.
    pub functions: Vec<FunctionLine>,
}

impl SourceFile {
    /// Lines that were executed, and lines with code.
    pub fn line_totals(&self) -> (u64, u64) {
        let executed = self.lines.values().filter(|line| line.count > 0).count();
        (executed as u64, self.lines.len() as u64)
    }

    /// Outcomes of branches that occurred, and all of them: two for each branch.
    pub fn branch_totals(&self) -> (u64, u64) {
        let branches = || self.lines.values().flat_map(|line| &line.branches);
        let occurred = branches().filter_map(|branch| branch.counts).flatten();
        (occurred.filter(|count| *count > 0).count() as u64, 2 * branches().count() as u64)
    }

    /// Functions that were executed, and all of them.
    pub fn function_totals(&self) -> (u64, u64) {
        let executed = self.functions.iter().filter(|function| function.count > 0).count();
        (executed as u64, self.functions.len() as u64)
    }
}

impl ProgramCoverage {
    /// Adds the lines of a program file to `sources`, the source files by their paths. Returns
    /// whether the file has line numbers.
    ///
    /// A line has the sum of the executions of its copies: of inlined functions, and of functions
    /// that are compiled several times. Of one copy, the part that was executed most often counts.
    pub fn lines(&self, file: &ProgramFile, sources: &mut BTreeMap<String, SourceFile>) -> bool {
        let Some(lines) = Lines::of_elf(&file.bytes) else { return false };
        let functions = Functions::of_elf(&file.bytes);
        let branches = self.branch_lines(file, &lines, &functions);
        let branching: HashSet<Location> = branches.iter().map(|(location, _)| *location).collect();
        let mut copies: HashMap<(u32, u32, u64), u64> = HashMap::new();
        // A line is executable where a statement begins. The code of the line may continue in rows
        // that begin none.
        let counts = |row: &&Row| {
            let at = row.location;
            at.line > 0 && (lines.has_statement(at) || branching.contains(&at))
        };
        for row in lines.rows().iter().filter(counts) {
            let Some(function) = functions.at(row.start).function else { continue };
            // Where the line is inlined: the calls of all outer functions.
            let mut copy = DefaultHasher::new();
            function.hash(&mut copy);
            for frame in lines.frames(row.start).into_iter().skip(1) {
                frame.location.hash(&mut copy);
            }
            let executed = self.executions.range(row.start..=row.last);
            let count = executed.map(|(_, count)| *count).max().unwrap_or(0);
            let key = (row.location.file, row.location.line, copy.finish());
            let most = copies.entry(key).or_default();
            *most = (*most).max(count);
        }
        for ((number, line, _), count) in copies {
            let path = lines.file(number).unwrap_or_default();
            let sum = &mut source(sources, path).lines.entry(line).or_default().count;
            *sum = sum.saturating_add(count);
        }
        for (at, branch) in branches {
            let path = lines.file(at.file).unwrap_or_default();
            source(sources, path).lines.entry(at.line).or_default().branches.push(branch);
        }
        self.add_functions(&lines, &functions, sources);
        true
    }

    fn add_functions(
        &self,
        lines: &Lines,
        functions: &Functions,
        sources: &mut BTreeMap<String, SourceFile>,
    ) {
        for function in functions.iter() {
            let Some(first) = lines.at(function.start).filter(|l| l.line > 0) else { continue };
            let rows = lines.rows();
            let from = rows.partition_point(|row| row.start < function.start);
            let own = rows.iter().skip(from).take_while(|row| row.start < function.end);
            let own = own.filter(|row| row.location.file == first.file);
            let last = own.map(|row| row.location.line).max().unwrap_or(0).max(first.line);
            let count = self.executions.get(&function.start).copied().or_else(|| {
                // It was entered before the trace.
                let inside = self.executions.range(function.start..function.end);
                inside.map(|(_, count)| *count).max().map(|most| most.min(1))
            });
            let file = lines.file(first.file).unwrap_or_default();
            let all = &mut source(sources, file).functions;
            all.push(FunctionLine {
                name: function.name.clone(),
                symbol: function.symbol.clone(),
                lines: (first.line, last),
                count: count.unwrap_or(0),
            });
            all.sort_by(|a, b| (a.lines, &a.symbol).cmp(&(b.lines, &b.symbol)));
        }
    }

    /// The conditional branches that belong to a line, in order of their addresses.
    fn branch_lines(
        &self,
        file: &ProgramFile,
        lines: &Lines,
        functions: &Functions,
    ) -> Vec<(Location, BranchOutcomes)> {
        let mut branches: BTreeMap<u64, Option<[u64; 2]>> = BTreeMap::new();
        // Branches that were not executed are known where the file has one instruction set.
        if let Some(isa) = file.isa()
            && let Ok(image) = Image::from_elf(&file.bytes, &file.path, file.bias)
        {
            let options = CacheOptions::default();
            let mut cache = Cache::new(Arc::new(image), Waypoints::default(), options);
            for function in functions.iter().filter(|f| lines.at(f.start).is_some()) {
                let code = (function.start, function.end);
                let found = ProgramCoverage::branches_of(&mut cache, file, isa, code);
                branches.extend(found.into_iter().map(|address| (address, None)));
            }
        }
        branches.extend(self.branches.iter().map(|(address, counts)| (*address, Some(*counts))));
        let of_line = |(address, counts)| {
            let at = lines.at(address).filter(|at| at.line > 0)?;
            Some((at, BranchOutcomes { address, counts }))
        };
        branches.into_iter().filter_map(of_line).collect()
    }
}

fn source<'a>(sources: &'a mut BTreeMap<String, SourceFile>, path: &str) -> &'a mut SourceFile {
    if !sources.contains_key(path) {
        sources.insert(path.to_owned(), SourceFile::default());
    }
    sources.entry(path.to_owned()).or_default()
}
