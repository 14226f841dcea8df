//! Source lines and inlined functions, from DWARF. (DWARF 5, sections 3.3.8 and 6.2)

use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use gimli::{EndianArcSlice, Reader, RunTimeEndian};
use tracewright_image::debug_sections::DebugSections;
use tracewright_image::{Bytes, debug_limits};

use crate::name::demangled;
use crate::unoptimised;

pub(crate) type Slice = EndianArcSlice<RunTimeEndian>;

/// A line of a source file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
    /// The column, from 1; 0 where the compiler names none.
    pub column: u32,
    /// A statement begins with it.
    pub statement: bool,
}

/// The begin of a statement in a row without code: in front of code of another expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Begin {
    /// The address of that code.
    pub address: u64,
    /// Its line.
    pub location: Location,
    /// The column, from 1; 0 where the compiler names none.
    pub column: u32,
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
    /// By the offset of a unit: the functions that are known not to be optimised.
    unoptimised: RefCell<HashMap<usize, Vec<(u64, u64)>>>,
    files: Vec<String>,
    /// In order of their addresses.
    rows: Vec<Row>,
    /// Lines of which a statement begins somewhere.
    statements: HashSet<Location>,
    /// Where statements begin in rows without code, in order.
    begins: Vec<Begin>,
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines")
            .field("files", &self.files.len())
            .field("rows", &self.rows.len())
            .finish_non_exhaustive()
    }
}

/// The DWARF of an ELF file, and the size on which the limits of what is read of it depend.
pub(crate) fn dwarf(file: &Bytes) -> Option<(gimli::Dwarf<Slice>, usize)> {
    let mut sections = DebugSections::read(file)?;
    let endian = sections.endian();
    let mut load = |id| Some(Slice::new(Arc::from(sections.load(id).ok()?.as_ref()), endian));
    let mut dwarf = gimli::Dwarf::load(|id| load(id).ok_or(())).ok()?;
    debug_limits::check_tables(&mut dwarf, sections.size()).ok()?;
    Some((dwarf, sections.size()))
}

impl Lines {
    /// The lines of an ELF file. `None` where it has no DWARF that can be read: it is damaged, or
    /// beyond the [limits](debug_limits).
    pub fn of_elf(file: &Bytes) -> Option<Lines> {
        let (dwarf, size) = dwarf(file)?;
        Lines::of_dwarf(dwarf, size)
    }

    /// The lines of the DWARF of a file of `size` bytes.
    fn of_dwarf(dwarf: gimli::Dwarf<Slice>, size: usize) -> Option<Lines> {
        let mut table = Table::default();
        let mut units = dwarf.units();
        while let Ok(Some(header)) = units.next() {
            if let Ok(unit) = dwarf.unit(header) {
                table.add(&dwarf, &unit);
            }
        }
        table.finish();
        let Table { files, rows, statements, begins, .. } = table;
        if rows.is_empty() {
            return None;
        }
        Some(Lines {
            dwarf: Arc::new(dwarf),
            size,
            context: OnceCell::new(),
            unoptimised: RefCell::default(),
            files,
            rows,
            statements,
            begins,
        })
    }

    /// The code of all lines, in order of its addresses.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Whether a statement of the line begins somewhere, in its code or directly before code of
    /// another line.
    pub fn has_statement(&self, location: Location) -> bool {
        self.statements.contains(&location)
    }

    /// Where statements begin in rows without code, in order of their addresses.
    pub fn all_begins(&self) -> &[Begin] {
        &self.begins
    }

    /// The statements that begin at `address` in rows without code.
    pub fn begins(&self, address: u64) -> &[Begin] {
        let first = self.begins.partition_point(|begin| begin.address < address);
        let rest = self.begins.get(first..).unwrap_or_default();
        let count = rest.partition_point(|begin| begin.address == address);
        rest.get(..count).unwrap_or_default()
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
        self.row(address).map(|row| row.location)
    }

    /// The row with code at `address`.
    pub fn row(&self, address: u64) -> Option<&Row> {
        let next = self.rows.partition_point(|row| row.start <= address);
        let row = self.rows.get(next.checked_sub(1)?)?;
        (address <= row.last).then_some(row)
    }

    /// The compiler that made the code at `address`, with its options where it states them. (DWARF
    /// 5, section 3.1.1, `DW_AT_producer`)
    pub fn producer(&self, address: u64) -> Option<String> {
        let unit = self.context()?.find_dwarf_and_unit(address).skip_all_loads()?;
        let mut entries = unit.entries();
        let root = entries.next_dfs().ok()??;
        let value = root.attr_value(gimli::DW_AT_producer)?;
        let text = unit.attr_string(value).ok()?;
        text.to_string_lossy().ok().map(std::borrow::Cow::into_owned)
    }

    /// Whether the compiler states that it did not optimise the function at `address`.
    pub fn is_unoptimised(&self, address: u64) -> bool {
        let unit = self.context().map(|context| context.find_dwarf_and_unit(address));
        let Some(unit) = unit.and_then(|found| found.skip_all_loads()) else { return false };
        let mut known = self.unoptimised.borrow_mut();
        let offset = unit.header.offset().0;
        let own = || unoptimised::functions(unit.dwarf, unit.unit);
        let functions = known.entry(offset).or_insert_with(own);
        let next = functions.partition_point(|(first, _)| *first <= address);
        let own = next.checked_sub(1).and_then(|n| functions.get(n));
        own.is_some_and(|(_, last)| address <= *last)
    }

    fn context(&self) -> Option<&addr2line::Context<Slice>> {
        let context = self.context.get_or_init(|| {
            debug_limits::check_entries(&self.dwarf, self.size).ok()?;
            addr2line::Context::from_arc_dwarf(Arc::clone(&self.dwarf)).ok()
        });
        context.as_ref()
    }

    /// The functions at `address`, innermost first: the inlined ones, and last the one that has the
    /// code.
    pub fn frames(&self, address: u64) -> Vec<Frame> {
        let mut all = Vec::new();
        let Some(context) = self.context() else { return all };
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
    statements: HashSet<Location>,
    begins: Vec<Begin>,
    /// The rows of each sequence that begins at address 0.
    at_zero: Vec<Vec<Row>>,
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
        let mut before: Option<Row> = None;
        let mut first = self.rows.len();
        while let Ok(Some((header, row))) = rows.next_row() {
            let address = row.address();
            if let Some(row) = before.take() {
                self.row(row, address);
            }
            if row.end_sequence() {
                if self.rows.get(first).is_some_and(|row| row.start == 0) {
                    self.at_zero.push(self.rows.split_off(first));
                }
                first = self.rows.len();
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
            let location = Location { file, line };
            let column = match row.column() {
                gimli::ColumnType::LeftEdge => 0,
                gimli::ColumnType::Column(column) => u32::try_from(column.get()).unwrap_or(0),
            };
            if row.is_stmt() {
                self.statements.insert(location);
            }
            before = Some(Row {
                start: address,
                last: address,
                location,
                column,
                statement: row.is_stmt(),
            });
        }
    }

    /// Adds a row, behind whose code is `end`.
    fn row(&mut self, row: Row, end: u64) {
        let Row { start: address, location, column, statement, .. } = row;
        match end.checked_sub(1) {
            Some(last) if row.start <= last => self.rows.push(Row { last, ..row }),
            _ if statement => self.begins.push(Begin { address, location, column }),
            _ => {}
        }
    }

    /// Puts the rows in order. Linkers move sections that they discard to address 0, where the code
    /// of a program may begin: of what begins there, only one sequence that does not reach into the
    /// code of another one is known to be of the program.
    fn finish(&mut self) {
        let next = self.rows.iter().map(|row| row.start).min();
        let mut at_zero = std::mem::take(&mut self.at_zero);
        at_zero
            .retain(|rows| rows.last().is_some_and(|row| next.is_none_or(|next| row.last < next)));
        if let [rows] = &mut at_zero[..] {
            self.rows.append(rows);
        }
        self.rows.sort_by_key(|row| (row.start, row.last));
        // Those of an address stay in the order of the compiler.
        self.begins.sort_by_key(|begin| begin.address);
        self.begins.dedup();
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

    /// A row of a line program: address, line, whether a statement begins; `None` ends a sequence.
    type Written = (u8, u8, Option<bool>);

    /// The lines of a unit with these rows, of the file `a.c`.
    fn lines(rows: &[Written]) -> Option<Lines> {
        let mut program = Vec::new();
        let mut statement = true;
        let mut begins = true;
        let mut line = 1u8;
        for &(address, own, is_statement) in rows {
            if begins {
                line = 1;
                statement = true;
            }
            // DW_LNE_set_address, DW_LNS_advance_line.
            program.extend([0, 9, 2, address, 0, 0, 0, 0, 0, 0, 0]);
            program.extend([3, own.wrapping_sub(line) & 0x7f]);
            line = own;
            begins = is_statement.is_none();
            match is_statement {
                // DW_LNE_end_sequence.
                None => program.extend([0, 1, 1]),
                Some(is) => {
                    // DW_LNS_negate_stmt, DW_LNS_copy.
                    if is != statement {
                        program.push(6);
                        statement = is;
                    }
                    program.push(1);
                }
            }
        }
        let counted = |body: Vec<u8>| -> Vec<u8> {
            let mut all = (body.len() as u32).to_le_bytes().to_vec();
            all.extend(body);
            all
        };
        let mut tables = vec![1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0];
        tables.extend(*b"a.c\0\0\0\0\0");
        let mut line_table = vec![4, 0];
        line_table.extend(counted(tables));
        line_table.extend(program);
        // A DW_TAG_compile_unit with DW_AT_stmt_list.
        let info = counted(vec![4, 0, 0, 0, 0, 0, 8, 1, 0, 0, 0, 0]);
        let abbreviations = vec![1, 0x11, 0, 0x10, 0x17, 0, 0, 0];
        let section = |id: gimli::SectionId| -> Result<Slice, gimli::Error> {
            let data = match id {
                gimli::SectionId::DebugInfo => info.clone(),
                gimli::SectionId::DebugAbbrev => abbreviations.clone(),
                gimli::SectionId::DebugLine => counted(line_table.clone()),
                _ => Vec::new(),
            };
            Ok(Slice::new(Arc::from(data), RunTimeEndian::Little))
        };
        Lines::of_dwarf(gimli::Dwarf::load(section).expect("sections"), 1 << 16)
    }

    /// Address, size and line of each row.
    fn rows(lines: &Lines) -> Vec<(u64, u64, u32)> {
        let row = |row: &Row| (row.start, row.last - row.start + 1, row.location.line);
        lines.rows().iter().map(row).collect()
    }

    /// GCC writes where a statement begins in a row without code, if the instruction that follows
    /// is of another expression.
    #[test]
    fn statements_begin_in_rows_without_code() {
        let (yes, no) = (Some(true), Some(false));
        let lines = lines(&[
            (0x10, 12, yes),
            (0x10, 13, yes),
            (0x10, 12, no),
            (0x14, 13, no),
            (0x18, 14, no),
            (0x1c, 14, None),
        ]);
        let lines = lines.expect("rows");
        assert_eq!(rows(&lines), [(0x10, 4, 12), (0x14, 4, 13), (0x18, 4, 14)]);
        let statements = lines.rows().iter().map(|row| lines.has_statement(row.location));
        assert_eq!(statements.collect::<Vec<_>>(), [true, true, false]);
        let begins = |address| -> Vec<u32> {
            lines.begins(address).iter().map(|begin| begin.location.line).collect()
        };
        assert_eq!([begins(0x10), begins(0x14)], [vec![12, 13], vec![]]);
        assert!(lines.rows().iter().all(|row| !row.statement));
    }

    #[test]
    fn discarded_sections_at_zero_are_left_out() {
        let yes = Some(true);
        let discarded = [(0, 1, yes), (0x20, 2, yes), (0x40, 2, None)];
        let vectors = [(0, 7, yes), (8, 7, None)];
        let code = [(0x10, 12, yes), (0x18, 13, yes), (0x30, 13, None)];
        let of_code = [(0x10, 8, 12), (0x18, 24, 13)];
        let found = |parts: &[&[Written]]| lines(&parts.concat()).map(|lines| rows(&lines));
        assert_eq!(found(&[&discarded, &code, &discarded]), Some(of_code.to_vec()));
        let with_vectors = [&[(0, 8, 7)][..], &of_code].concat();
        assert_eq!(found(&[&discarded, &vectors, &code]), Some(with_vectors));
        assert_eq!(found(&[&vectors, &code, &vectors]), Some(of_code.to_vec()), "ambiguous");
        assert_eq!(found(&[&discarded]), Some(vec![(0, 0x20, 1), (0x20, 0x20, 2)]));
    }

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
