//! Source files, lines and inlined functions of the program, at addresses in memory.

use std::collections::HashMap;
use std::rc::Rc;

use tracewright::Capture;
use tracewright::analysis::coverage::program_files;
use tracewright::symbols::{Frame, Lines, Location};

/// The most addresses whose inlined functions are cached.
const MOST_CACHED: usize = 1 << 14;

/// A line of a source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Line {
    /// The number of the file in [`Program::files`].
    pub(crate) file: usize,
    /// From 1.
    pub(crate) line: u32,
}

/// Code of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) line: Line,
    /// From 1; 0 where the compiler names none.
    pub(crate) column: u32,
    /// The address is the first one of a statement.
    pub(crate) begins: bool,
}

/// Where an address is in the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) row: Option<Row>,
    /// The compiler states that the code is of no line, in a function with lines.
    pub(crate) is_unnamed: bool,
    /// The functions, innermost first: inlined ones, and last the one that has the code.
    pub(crate) functions: Vec<Frame>,
}

impl Place {
    /// The number of inlined functions.
    pub(crate) fn inlined(&self) -> usize {
        self.functions.len().saturating_sub(1)
    }

    /// Whether it is in the inlined functions of `other`, or in some that are inlined there.
    pub(crate) fn is_inside(&self, other: &Place) -> bool {
        // The lines at which inlined functions are called distinguish two calls of one function.
        let outer = |place: &Place| -> Vec<Frame> {
            let mut all: Vec<Frame> = place.functions.iter().rev().cloned().collect();
            if let Some(innermost) = all.last_mut() {
                innermost.location = None;
            }
            all
        };
        let (own, of) = (outer(self), outer(other));
        let count = of.len();
        let same = |n: usize| {
            let names = own.get(n).map(|frame| &frame.function) == of.get(n).map(|f| &f.function);
            let last = n + 1 >= count;
            names && (last || own.get(n) == of.get(n))
        };
        own.len() >= count && (0..count).all(same)
    }
}

/// The lines of a program file, and its load bias.
#[derive(Debug)]
struct File {
    lines: Lines,
    bias: u64,
    /// The number of its first source file.
    first: usize,
}

/// The lines of all programs.
#[derive(Debug, Default)]
pub(crate) struct Program {
    parts: Vec<File>,
    /// The paths of source files, as the compiler has stated them.
    pub(crate) files: Vec<String>,
    /// Whether processes map programs, whose code has no fixed addresses.
    pub(crate) is_mapped: bool,
    cached: HashMap<u64, Rc<Place>>,
}

impl Program {
    pub(crate) fn of(capture: &Capture) -> Program {
        let mut program = Program::default();
        for file in program_files(capture) {
            if file.module.is_some() {
                program.is_mapped = true;
                continue;
            }
            let Some(lines) = Lines::of_elf(&file.bytes) else { continue };
            let first = program.files.len();
            let count = u32::try_from(lines.files()).unwrap_or(u32::MAX);
            let paths = (0..count).map(|n| lines.file(n).unwrap_or_default().to_owned());
            program.files.extend(paths);
            program.parts.push(File { lines, bias: file.bias, first });
        }
        program
    }

    /// Whether no program has lines.
    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Where an address is.
    pub(crate) fn at(&mut self, address: u64) -> Rc<Place> {
        if let Some(known) = self.cached.get(&address) {
            return Rc::clone(known);
        }
        let place = Rc::new(self.look_up(address));
        if self.cached.len() >= MOST_CACHED {
            self.cached.clear();
        }
        self.cached.insert(address, Rc::clone(&place));
        place
    }

    fn look_up(&self, address: u64) -> Place {
        for part in &self.parts {
            let own = address.wrapping_sub(part.bias);
            let Some(row) = part.lines.row(own) else { continue };
            let mut found = Row {
                line: part.line(row.location),
                column: row.column,
                begins: row.statement && row.start == own,
            };
            // GCC states in a row without code that a statement begins, which may be of another
            // line than the code.
            if let Some(begin) = part.lines.begins(own).last()
                && row.start == own
                && !row.statement
            {
                let line = part.line(begin.location);
                found = Row { line, column: begin.column, begins: true };
            }
            let row = Some(found).filter(|row| row.line.line > 0);
            let is_unnamed = row.is_none();
            return Place { row, is_unnamed, functions: part.lines.frames(own) };
        }
        Place::default()
    }

    /// The number of the source file with this path, as the compiler has stated it.
    pub(crate) fn file(&self, path: &str) -> Option<usize> {
        self.files.iter().position(|own| own == path)
    }

    /// The lines of a file with statements, in order.
    pub(crate) fn lines_of(&self, file: usize) -> Vec<u32> {
        let mut all: Vec<u32> = self.rows(file).map(|(_, line)| line).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The addresses at which statements of a file begin, and their lines.
    fn rows(&self, file: usize) -> impl Iterator<Item = (u64, u32)> + '_ {
        self.parts.iter().flat_map(move |part| {
            let rows = part.lines.rows().iter().filter(|row| row.statement);
            let rows = rows.map(|row| (row.start, row.location));
            let begins = part.lines.all_begins().iter();
            let all = rows.chain(begins.map(|begin| (begin.address, begin.location)));
            let own = all.filter(move |(_, location)| part.line(*location).file == file);
            let own = own.filter(|(_, location)| location.line > 0);
            own.map(|(start, location)| (start.wrapping_add(part.bias), location.line))
        })
    }

    /// The first address of a line in each function that has code of it.
    pub(crate) fn addresses(&mut self, line: Line) -> Vec<u64> {
        let of = self.rows(line.file).filter(|(_, own)| *own == line.line);
        let mut all: Vec<u64> = of.map(|(address, _)| address).collect();
        all.sort_unstable();
        all.dedup();
        let mut found: Vec<(u64, Rc<Place>)> = Vec::new();
        for address in all {
            let place = self.at(address);
            let is_known =
                found.iter().any(|(_, known)| known.is_inside(&place) && place.is_inside(known));
            if !is_known {
                found.push((address, place));
            }
        }
        found.into_iter().map(|(address, _)| address).collect()
    }
}

impl File {
    fn line(&self, location: Location) -> Line {
        Line { file: self.first + location.file as usize, line: location.line }
    }
}
