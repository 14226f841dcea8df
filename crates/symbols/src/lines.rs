//! Source lines and inlined functions, from DWARF. (DWARF 5, sections 3.3.8 and 6.2)

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use gimli::{EndianArcSlice, Reader, RunTimeEndian};
use object::{Object, ObjectSection};
use tracewright_image::{Bytes, debug_limits};

use crate::demangled;

type Slice = EndianArcSlice<RunTimeEndian>;

/// A line of a source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    /// The number of the file: [`Lines::file`].
    pub file: u32,
    /// The line, from 1; 0 where the compiler names none.
    pub line: u32,
}

/// Code of one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The address of the first byte.
    pub start: u64,
    /// The address of the last byte.
    pub last: u64,
    /// The line.
    pub location: Location,
    /// The beginning of a statement.
    pub is_statement: bool,
}

/// A function at an address: the innermost is inlined into the one that follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The name of the function, demangled.
    pub function: Option<String>,
    /// The file and the line that is executed in it; line 0 where the compiler names none.
    pub location: Option<(String, u32)>,
}

/// The source lines of a program file, at the addresses in the file.
pub struct Lines {
    dwarf: Arc<gimli::Dwarf<Slice>>,
    /// The size of the file.
    size: usize,
    /// Made when functions are looked up first, which few do. `None` where they cannot be: the rows
    /// are known, but no functions.
    context: OnceCell<Option<addr2line::Context<Slice>>>,
    files: Vec<String>,
    /// In order of their addresses.
    rows: Vec<Row>,
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines")
            .field("files", &self.files.len())
            .field("rows", &self.rows.len())
            .finish_non_exhaustive()
    }
}

impl Lines {
    /// The lines of an ELF file. `None` where it has no DWARF that can be read; compressed sections
    /// cannot, and neither can DWARF beyond the [limits](debug_limits).
    pub fn of_elf(file: &Bytes) -> Option<Lines> {
        let data: &[u8] = file;
        let size = data.len();
        let file = object::File::parse(data).ok()?;
        let endian = match file.is_little_endian() {
            true => RunTimeEndian::Little,
            false => RunTimeEndian::Big,
        };
        let section = |id: gimli::SectionId| -> Result<Slice, gimli::Error> {
            let section = file.section_by_name(id.name());
            let data = section.and_then(|section| section.uncompressed_data().ok());
            let data = data.unwrap_or(Cow::Borrowed(&[]));
            Ok(Slice::new(Arc::from(data.as_ref()), endian))
        };
        let mut dwarf = gimli::Dwarf::load(section).ok()?;
        debug_limits::check_tables(&mut dwarf, size).ok()?;
        let mut table = Table::default();
        let mut units = dwarf.units();
        while let Ok(Some(header)) = units.next() {
            if let Ok(unit) = dwarf.unit(header) {
                table.add(&dwarf, &unit);
            }
        }
        if table.rows.is_empty() {
            return None;
        }
        table.rows.sort_by_key(|row| (row.start, row.last));
        let (dwarf, context) = (Arc::new(dwarf), OnceCell::new());
        Some(Lines { dwarf, size, context, files: table.files, rows: table.rows })
    }

    /// The code of all lines, in order of its addresses.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The path of a file.
    pub fn file(&self, number: u32) -> Option<&str> {
        self.files.get(number as usize).map(String::as_str)
    }

    /// The number of files.
    pub fn files(&self) -> usize {
        self.files.len()
    }

    /// The line with code at `address`.
    pub fn at(&self, address: u64) -> Option<Location> {
        let next = self.rows.partition_point(|row| row.start <= address);
        let row = self.rows.get(next.checked_sub(1)?)?;
        (address <= row.last).then_some(row.location)
    }

    /// The functions at `address`, innermost first: the inlined ones, and last the one that has the
    /// code.
    pub fn frames(&self, address: u64) -> Vec<Frame> {
        let mut all = Vec::new();
        let context = self.context.get_or_init(|| {
            debug_limits::check_entries(&self.dwarf, self.size).ok()?;
            addr2line::Context::from_arc_dwarf(Arc::clone(&self.dwarf)).ok()
        });
        let Some(context) = context else { return all };
        let Ok(mut frames) = context.find_frames(address).skip_all_loads() else { return all };
        while let Ok(Some(frame)) = frames.next() {
            let name = frame.function.and_then(|name: addr2line::FunctionName<Slice>| {
                name.raw_name().map(|raw| demangled(&raw)).ok()
            });
            let location =
                frame.location.and_then(|l| Some((without_dots(l.file?), l.line.unwrap_or(0))));
            all.push(Frame { function: name, location });
        }
        all
    }
}

/// Lines while they are read.
#[derive(Default)]
struct Table {
    files: Vec<String>,
    numbers: HashMap<String, u32>,
    rows: Vec<Row>,
    /// The offsets of the line programs that were read: units may share one.
    programs: HashSet<usize>,
}

impl Table {
    /// Adds the lines of a unit. What cannot be read is left out.
    fn add(&mut self, dwarf: &gimli::Dwarf<Slice>, unit: &gimli::Unit<Slice>) {
        let Some(program) = unit.line_program.clone() else { return };
        if !self.programs.insert(program.header().offset().0) {
            return;
        }
        // The number of each file of the unit.
        let mut known: HashMap<u64, u32> = HashMap::new();
        let mut rows = program.rows();
        let mut before: Option<(u64, Location, bool)> = None;
        while let Ok(Some((header, row))) = rows.next_row() {
            let address = row.address();
            if let Some((start, location, is_statement)) = before.take()
                && let Some(last) = address.checked_sub(1)
                && start <= last
            {
                self.rows.push(Row { start, last, location, is_statement });
            }
            if row.end_sequence() {
                continue;
            }
            let index = row.file_index();
            let file = match known.get(&index) {
                Some(file) => *file,
                None => {
                    let path = path(dwarf, unit, header, row.file(header));
                    let file = self.number(path.unwrap_or_else(|| "??".to_owned()));
                    known.insert(index, file);
                    file
                }
            };
            let line = row.line().map_or(0, |line| u32::try_from(line.get()).unwrap_or(u32::MAX));
            before = Some((address, Location { file, line }, row.is_stmt()));
        }
    }

    fn number(&mut self, path: String) -> u32 {
        if let Some(number) = self.numbers.get(&path) {
            return *number;
        }
        let number = self.files.len() as u32;
        self.files.push(path.clone());
        self.numbers.insert(path, number);
        number
    }
}

/// The path of a file: its folder of compilation, its folder, its name.
fn path(
    dwarf: &gimli::Dwarf<Slice>,
    unit: &gimli::Unit<Slice>,
    header: &gimli::LineProgramHeader<Slice>,
    file: Option<&gimli::FileEntry<Slice>>,
) -> Option<String> {
    let file = file?;
    let mut path = String::new();
    if let Some(folder) = &unit.comp_dir {
        join(&mut path, &folder.to_string_lossy().ok()?);
    }
    if let Some(folder) = file.directory(header)
        && let Ok(folder) = dwarf.attr_string(unit, folder)
    {
        join(&mut path, &folder.to_string_lossy().ok()?);
    }
    let name = dwarf.attr_string(unit, file.path_name()).ok()?;
    join(&mut path, &name.to_string_lossy().ok()?);
    Some(without_dots(&path))
}

/// A path without components that are the same folder: `.` is the folder of compilation where
/// compilers write no other.
fn without_dots(path: &str) -> String {
    let mut parts: Vec<&str> = path.split('/').collect();
    let last = parts.len() - 1;
    let mut n = 0;
    parts.retain(|part| {
        n += 1;
        *part != "." || n > last
    });
    parts.join("/")
}

/// Appends a part, which may be a whole path.
fn join(path: &mut String, part: &str) {
    let whole = part.starts_with('/') || part.starts_with('\\') || part.get(1..2) == Some(":");
    if whole {
        path.clear();
    } else if !path.is_empty() && !path.ends_with('/') {
        path.push('/');
    }
    path.push_str(part);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_folders_are_left_out() {
        for (path, want) in [
            ("././program.c", "program.c"),
            ("/src/a/./b.c", "/src/a/b.c"),
            ("../a/.b/c..c", "../a/.b/c..c"),
            ("/b.c", "/b.c"),
            ("C:/a/./b.c", "C:/a/b.c"),
            ("", ""),
            (".", "."),
        ] {
            assert_eq!(without_dots(path), want, "{path}");
        }
    }
}
