//! Coverage by source line.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use tracewright_base::Waypoints;
use tracewright_image::{Cache, CacheOptions, Image};
use tracewright_symbols::{Frame, Functions, Lines, Location, Row};

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
    /// The line of its first instruction, and the last line of its code. Where code of another
    /// function is inlined, its line is that of the call.
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
        let mut bodies = Bodies::new(&lines, &functions);
        // A line is executable where a statement begins. The code of the line may continue in rows
        // that begin none.
        let counts = |row: &Row| {
            let at = row.location;
            at.line > 0 && (lines.has_statement(at) || branching.contains(&at))
        };
        for row in lines.rows() {
            let Some(function) = functions.at(row.start).function else { continue };
            let frames = lines.frames(row.start);
            bodies.add(function, row, &frames);
            if !counts(row) {
                continue;
            }
            // Where the line is inlined: the calls of all outer functions.
            let mut copy = DefaultHasher::new();
            function.hash(&mut copy);
            for frame in frames.iter().skip(1) {
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
        self.add_functions(&lines, &bodies, sources);
        true
    }

    fn add_functions(
        &self,
        lines: &Lines,
        bodies: &Bodies<'_>,
        sources: &mut BTreeMap<String, SourceFile>,
    ) {
        for (number, function) in (0..).zip(bodies.functions.iter()) {
            let Some((first, last)) = bodies.all.get(&number) else { continue };
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
                lines: (first.line, *last),
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

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::{env, fs, process};

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
            bias: 0,
            module: None,
            dump: None,
            machine: 0,
            segments: Vec::new(),
        };
        let mut sources = BTreeMap::new();
        assert!(ProgramCoverage::default().lines(&file, &mut sources));
        let functions = sources.iter().flat_map(|(path, source)| {
            let name = path.rsplit('/').next().unwrap_or_default();
            source.functions.iter().map(move |own| (name, own.name.as_str(), own.lines))
        });
        let functions: Vec<_> = functions.collect();
        let want = [("program.c", "plain", (5, 6)), ("program.c", "inlined", (8, 10))];
        assert_eq!(functions, want);
    }
}
