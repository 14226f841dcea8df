//! Coverage by source line.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use tracewright_base::Waypoints;
use tracewright_image::{Cache, CacheOptions, Image};
use tracewright_symbols::{Frame, Functions, Lines, Location, Row};

use super::copies::Copies;
use super::program::ProgramCoverage;
use crate::decisions::MeasuredDecision;
use crate::part::Part;
use crate::program_file::ProgramFile;
use crate::totals::Totals;

/// The outcomes of a conditional branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BranchOutcomes {
    /// Its address in the program file.
    pub address: u64,
    /// How often it was taken, and how often not: both 0 if it was not executed. `None` for an
    /// outcome that may have occurred where trace was lost.
    pub counts: [Option<u64>; 2],
}

impl BranchOutcomes {
    /// Whether it was executed in the trace.
    pub fn executed(&self) -> bool {
        self.counts.iter().any(|count| count.is_some_and(|count| count > 0))
    }
}

/// A line of a source file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Executions; `None` if it may have been executed where trace was lost.
    pub count: Option<u64>,
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
    /// The line of its first instruction, and the last line of its code. Where code of another
    /// function is inlined, its line is that of the call.
    pub lines: (u32, u32),
    /// Executions of its first instruction; `None` if it may have been executed where trace was
    /// lost.
    pub count: Option<u64>,
}

/// A source file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceFile {
    /// Lines with code.
    pub lines: BTreeMap<u32, Line>,
    /// Functions, in order of their lines.
    pub functions: Vec<FunctionLine>,
    /// Decisions, in order of their places.
    pub decisions: Vec<MeasuredDecision>,
    /// What is exempted, by the position of the exemption: nothing else is stated of these parts.
    pub exempted: BTreeMap<Part, usize>,
    /// The folders whose files the programs with these lines may name: [`ProgramFile::folder`].
    pub folders: BTreeSet<PathBuf>,
}

impl SourceFile {
    /// The totals of the lines.
    pub fn line_totals(&self) -> Totals {
        let all = Totals::of(self.lines.values().map(|line| line.count));
        all.without(self.exempted(|part| matches!(part, Part::Line(_))))
    }

    /// The totals of the outcomes of branches: two for each branch.
    pub fn branch_totals(&self) -> Totals {
        let branches = self.lines.values().flat_map(|line| &line.branches);
        let all = Totals::of(branches.flat_map(|branch| branch.counts));
        all.without(self.exempted(|part| matches!(part, Part::Branch { .. })))
    }

    /// The totals of the functions.
    pub fn function_totals(&self) -> Totals {
        let all = Totals::of(self.functions.iter().map(|function| function.count));
        all.without(self.exempted(|part| matches!(part, Part::Function(..))))
    }

    /// The totals of a decision of the file: outcomes, values of conditions, independent
    /// conditions.
    pub fn totals_of(&self, own: &MeasuredDecision) -> [Totals; 3] {
        let (place, covered) = (own.decision.region.start, &own.covered);
        let count = |first, last| self.exempted.range(first..=last).count() as u64;
        let outcomes = count(Part::Outcome(place, false), Part::Outcome(place, true));
        let last = Part::Value(place, usize::MAX, true);
        let values = count(Part::Value(place, 0, false), last);
        let last = Part::Independence(place, usize::MAX);
        let shown = count(Part::Independence(place, 0), last);
        [
            covered.outcome_totals().without(outcomes),
            covered.value_totals().without(values),
            covered.independence_totals().without(shown),
        ]
    }

    /// The same of all decisions.
    pub fn decision_totals(&self) -> [Totals; 3] {
        let mut all = [Totals::default(); 3];
        for own in &self.decisions {
            let own = self.totals_of(own);
            all.iter_mut().zip(own).for_each(|(sum, own)| *sum = sum.and(own));
        }
        all
    }

    /// How many of these parts are exempted.
    fn exempted(&self, is: impl Fn(&Part) -> bool) -> u64 {
        self.exempted.keys().filter(|part| is(part)).count() as u64
    }

    /// Sums branches and functions of which several captures have each, and puts the functions in
    /// order.
    pub fn join(&mut self) {
        let add = |sum: &mut Option<u64>, count: Option<u64>| {
            *sum = sum.zip(count).map(|(sum, count)| sum.saturating_add(count));
        };
        for line in self.lines.values_mut() {
            line.branches.sort_by_key(|branch| branch.address);
            line.branches.dedup_by(|next, branch| {
                let same = next.address == branch.address;
                if same {
                    let counts = branch.counts.iter_mut().zip(next.counts);
                    counts.for_each(|(sum, count)| add(sum, count));
                }
                same
            });
        }
        self.functions.sort_by(|a, b| (a.lines, &a.symbol).cmp(&(b.lines, &b.symbol)));
        self.functions.dedup_by(|next, function| {
            let same = (&next.symbol, next.lines) == (&function.symbol, function.lines);
            if same {
                add(&mut function.count, next.count);
            }
            same
        });
    }

    /// What was not executed in the trace becomes unknown: it may have been executed where trace
    /// was lost.
    pub fn lose(&mut self) {
        let unknown = |count: &mut Option<u64>| *count = count.filter(|count| *count > 0);
        for line in self.lines.values_mut() {
            unknown(&mut line.count);
            line.branches.iter_mut().flat_map(|branch| &mut branch.counts).for_each(unknown);
        }
        self.functions.iter_mut().for_each(|function| unknown(&mut function.count));
    }
}

/// The lines of functions without those of what is inlined.
struct Bodies<'a> {
    functions: &'a Functions,
    /// The numbers of the files.
    files: HashMap<&'a str, u32>,
    /// By the number of the function: its first line, and its last one in the same file.
    all: HashMap<u32, (Location, u32)>,
}

impl<'a> Bodies<'a> {
    fn new(lines: &'a Lines, functions: &'a Functions) -> Self {
        let numbers = 0..lines.files() as u32;
        let files = numbers.filter_map(|n| Some((lines.file(n)?, n))).collect();
        Bodies { functions, files, all: HashMap::new() }
    }

    /// Adds the code of a row of function `number`, whose `frames` are these. Rows come in order.
    fn add(&mut self, number: u32, row: &Row, frames: &[Frame]) {
        let Some(function) = self.functions.get(number) else { return };
        // Parts that the compiler has moved away are left out.
        if !(function.start..function.end).contains(&row.start) {
            return;
        }
        let mut own = row.location;
        if let [_, .., outer] = frames
            && let Some((path, line)) = &outer.location
            && let Some(file) = self.files.get(path.as_str())
        {
            own = Location { file: *file, line: *line };
        }
        if own.line > 0 {
            let (first, last) = self.all.entry(number).or_insert((own, own.line));
            if first.file == own.file {
                *last = (*last).max(own.line);
            }
        }
    }
}

/// Sums what several program files and captures have of each source file. With `losses`, what was
/// not executed is unknown.
pub fn finish(sources: &mut BTreeMap<String, SourceFile>, losses: u64) {
    for source in sources.values_mut() {
        source.join();
        if losses > 0 {
            source.lose();
        }
    }
}

/// What the lines of a program file are found by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinesOfFile {
    /// It has no line numbers that can be read.
    None,
    /// It has line numbers, and no symbols of functions: the functions are not listed.
    WithoutFunctions,
    /// It has both.
    Complete,
}

impl ProgramCoverage {
    /// Adds the lines of a program file to `sources`, the source files by their paths.
    pub fn lines(
        &self,
        file: &ProgramFile,
        sources: &mut BTreeMap<String, SourceFile>,
    ) -> LinesOfFile {
        let Some(lines) = Lines::of_elf(file.debug_info()) else { return LinesOfFile::None };
        let functions = Functions::of_elf(file.debug_info());
        let mut bodies = Bodies::new(&lines, &functions);
        let copies = Copies::new(&lines, &functions, self, |function, row, frames| {
            bodies.add(function, row, frames);
        });
        let branches = self.branch_lines(file, &lines, &copies);
        let branching: HashSet<Location> = branches.iter().map(|(location, _)| *location).collect();
        // A line is executable where a statement begins. The code of the line may continue in rows
        // that begin none.
        let counts =
            |at: Location| at.line > 0 && (lines.has_statement(at) || branching.contains(&at));
        let mut add = |at: Location, count: u64, branch: Option<BranchOutcomes>| {
            let source = source(sources, lines.file(at.file).unwrap_or_default(), file);
            let line = source.lines.entry(at.line).or_default();
            line.count = Some(line.count.unwrap_or(0).saturating_add(count));
            line.branches.extend(branch);
        };
        for (at, count) in copies.executions(self, counts) {
            add(at, count, None);
        }
        branches.into_iter().for_each(|(at, branch)| add(at, 0, Some(branch)));
        self.add_functions(file, &lines, &bodies, sources);
        match functions.is_empty() {
            true => LinesOfFile::WithoutFunctions,
            false => LinesOfFile::Complete,
        }
    }

    fn add_functions(
        &self,
        program: &ProgramFile,
        lines: &Lines,
        bodies: &Bodies<'_>,
        sources: &mut BTreeMap<String, SourceFile>,
    ) {
        for (number, function) in (0..).zip(bodies.functions.iter()) {
            let Some((first, last)) = bodies.all.get(&number) else { continue };
            let count = self.executions.get(&function.start).copied().unwrap_or_else(|| {
                // It was entered before the trace.
                let inside = self.executions.range(function.start..function.end).next();
                u64::from(inside.is_some())
            });
            let file = lines.file(first.file).unwrap_or_default();
            source(sources, file, program).functions.push(FunctionLine {
                name: function.name.clone(),
                symbol: function.symbol.clone(),
                lines: (first.line, *last),
                count: Some(count),
            });
        }
        sources.values_mut().for_each(|source| {
            source.functions.sort_by(|a, b| (a.lines, &a.symbol).cmp(&(b.lines, &b.symbol)));
        });
    }

    /// The conditional branches that belong to a line, in order of their addresses.
    fn branch_lines(
        &self,
        file: &ProgramFile,
        lines: &Lines,
        copies: &Copies,
    ) -> Vec<(Location, BranchOutcomes)> {
        let mut branches: BTreeMap<u64, [u64; 2]> = BTreeMap::new();
        // Branches that were not executed are known where the file has one instruction set.
        if let Some(isa) = file.isa()
            && let Ok(image) = Image::from_elf(&file.bytes, &file.path, file.bias)
        {
            let options = CacheOptions::default();
            let mut cache = Cache::new(Arc::new(image), Waypoints::default(), options);
            let found = ProgramCoverage::branches_of(&mut cache, file, isa, copies.code());
            branches.extend(found.into_iter().map(|address| (address, [0; 2])));
        }
        branches.extend(&self.branches);
        let of_line = |(address, counts): (u64, [u64; 2])| {
            let at = lines.at(address).filter(|at| at.line > 0)?;
            Some((at, BranchOutcomes { address, counts: counts.map(Some) }))
        };
        branches.into_iter().filter_map(of_line).collect()
    }
}

fn source<'a>(
    sources: &'a mut BTreeMap<String, SourceFile>,
    path: &str,
    program: &ProgramFile,
) -> &'a mut SourceFile {
    if !sources.contains_key(path) {
        sources.insert(path.to_owned(), SourceFile::default());
    }
    let source = sources.entry(path.to_owned()).or_default();
    if let Some(folder) = program.folder.as_ref().filter(|folder| !source.folders.contains(*folder))
    {
        source.folders.insert(folder.clone());
    }
    source
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::{env, fs, process};

    use tracewright_image::ProgramId;
    use tracewright_testing::tool_since;

    use super::*;

    /// A function that is inlined into one of another file.
    const HEADER: &str = "extern volatile int sink;\n\n\n\n\n\n\n\n
static inline __attribute__((always_inline)) void store(int x) {
  sink = x;
}
";
    const SOURCE: &str = "#include \"header.h\"
volatile int sink;
static inline void last(int x);
void plain(int x) {
  sink = x;
}
void inlined(int x) {
  store(x);
  last(x);
}
static inline __attribute__((always_inline)) void last(int x) {
  sink = x + 1;
}
";

    /// The first instruction of `inlined` is that of a line of another file.
    #[test]
    fn functions_are_in_their_own_files() {
        let Some(gcc) = tool_since(&[("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu")], (12, 2))
        else {
            return;
        };
        let path = env::temp_dir().join(format!("tracewright-lines-{}", process::id()));
        fs::create_dir_all(&path).expect("a folder");
        for (name, text) in [("header.h", HEADER), ("program.c", SOURCE)] {
            fs::write(path.join(name), text).expect("a source");
        }
        let options = "-O1 -g -static -nostdlib -Wl,-e,plain program.c -o program";
        let made = Command::new(gcc).args(options.split(' ')).current_dir(&path).status();
        assert!(made.expect("it runs").success());
        let bytes = fs::read(path.join("program")).expect("a program");
        fs::remove_dir_all(&path).expect("a folder");
        let file = ProgramFile {
            path: "program".into(),
            bytes: bytes.into(),
            debug: None,
            bias: 0,
            module: None,
            dump: None,
            machine: 0,
            segments: Vec::new(),
            id: ProgramId::default(),
            folder: None,
        };
        let mut sources = BTreeMap::new();
        assert_eq!(ProgramCoverage::default().lines(&file, &mut sources), LinesOfFile::Complete);
        let functions = sources.iter().flat_map(|(path, source)| {
            let name = path.rsplit('/').next().unwrap_or_default();
            source.functions.iter().map(move |own| (name, own.name.as_str(), own.lines))
        });
        let functions: Vec<_> = functions.collect();
        let want = [("program.c", "plain", (5, 6)), ("program.c", "inlined", (8, 10))];
        assert_eq!(functions, want);
    }
}
