//! Functions, source lines and inlined calls of a program, from its debug information.
//! (DWARF 5, sections 3.3, 6.2 and 7; DWARF 4)

use std::collections::HashMap;

use gimli::{
    AttributeValue, DebuggingInformationEntry, Dwarf, DwarfSections, EndianSlice, RunTimeEndian,
    SectionId, Unit, UnitOffset,
};
use tracewright_base::Invalid;
use tracewright_base::remedy::BINARY;

use crate::bytes::Bytes;
use crate::debug_limits::check_tables;
use crate::debug_sections::DebugSections;

/// The most rows of line tables, and the most ranges of functions and inlined calls.
const MAX_ROWS: usize = 1 << 25;
const MAX_RANGES: usize = 1 << 23;
/// The most bytes of names for each byte of the file.
const MAX_NAMES: usize = 4;
/// The most references from an entry to the one with its name.
const MAX_REFERENCES: usize = 8;

/// Debug information of a program, at the addresses in its file.
#[derive(Clone, Debug, Default)]
pub struct DebugInfo {
    names: Vec<String>,
    functions: Vec<Function>,
    /// The ranges of functions: first address, end, index of the function. In order.
    ranges: Vec<(u64, u64, u32)>,
    /// Rows of the line tables in order.
    rows: Vec<Row>,
    /// The size of the smallest instruction in bytes.
    pub smallest: u64,
}

/// A function with code.
#[derive(Clone, Debug, Default)]
struct Function {
    name: u32,
    declared: u32,
    ranges: Vec<(u64, u64)>,
    /// Inlined calls, each before those inside of it.
    calls: Vec<Call>,
    /// The ends of the ranges of the calls, in order.
    cuts: Vec<u64>,
}

/// A call that was inlined.
#[derive(Clone, Debug)]
struct Call {
    /// 1 for a call by the function itself.
    depth: u32,
    /// The function that is called, and the line of its declaration.
    name: u32,
    declared: u32,
    /// Line and discriminator of the call.
    line: u32,
    discriminator: u32,
    ranges: Vec<(u64, u64)>,
}

/// Code of one source line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    start: u64,
    end: u64,
    line: u32,
    discriminator: u32,
}

/// A function that executes, inlined or not, and the line that it executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The linkage name, or the name.
    pub function: &'a str,
    /// The line of the declaration of the function; 0 where it is not known.
    pub declared: u32,
    /// The line; 0 for code without one.
    pub line: u32,
    /// The discriminator of blocks in the line.
    pub discriminator: u32,
}

/// What executes at an address, and at all addresses to `end`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located<'a> {
    /// The first address that may differ.
    pub end: u64,
    /// The frames, that of the function that is not inlined first. Empty where it is not known.
    pub frames: Vec<Frame<'a>>,
}

/// A function and its ranges.
#[derive(Clone, Copy, Debug)]
pub struct FunctionCode<'a> {
    /// The linkage name, or the name.
    pub name: &'a str,
    /// First address and end of each range.
    pub ranges: &'a [(u64, u64)],
}

type Slice<'a> = EndianSlice<'a, RunTimeEndian>;

impl DebugInfo {
    /// Reads the debug information of an ELF file.
    ///
    /// # Errors
    /// What the file lacks, or why it cannot be read.
    pub fn read(file: &Bytes) -> Result<DebugInfo, Invalid> {
        let mut sections = DebugSections::read(file).ok_or("it is not an ELF file")?;
        if !sections.has(SectionId::DebugInfo) {
            return Err(Invalid::from(format!(
                "it has no debug information; compile with -g, or give the file that has it with \
                 {BINARY}"
            )));
        }
        let loaded = DwarfSections::load(|id| sections.load(id))
            .map_err(|why| format!("its debug information cannot be read: {why}"))?;
        let endian = sections.endian();
        let damaged = |error: gimli::Error| format!("its debug information is damaged: {error}");
        let mut dwarf = loaded.borrow(|section| EndianSlice::new(section, endian));
        check_tables(&mut dwarf, sections.size())
            .map_err(|what| format!("its debug information is too large: {what}"))?;
        let mut units = Vec::new();
        let mut headers = dwarf.units();
        while let Some(header) = headers.next().map_err(damaged)? {
            units.push(dwarf.unit(header).map_err(damaged)?);
        }
        let mut reader = Reader {
            dwarf: &dwarf,
            units: &units,
            numbers: HashMap::new(),
            left: sections.size().saturating_mul(MAX_NAMES),
            ranges: 0,
            found: DebugInfo::default(),
        };
        for unit in &units {
            reader.rows(unit).map_err(damaged)?;
            reader.functions(unit).map_err(damaged)?;
            if reader.ranges > MAX_RANGES || reader.found.rows.len() > MAX_ROWS {
                return Err("its debug information has too many rows or ranges".into());
            }
        }
        Ok(reader.found.sorted(sections.smallest()))
    }

    fn sorted(mut self, smallest: u64) -> DebugInfo {
        self.rows.sort_by_key(|row| (row.start, row.end));
        for (n, function) in self.functions.iter_mut().enumerate() {
            let ranges = function.ranges.iter().map(|(start, end)| (*start, *end, n as u32));
            self.ranges.extend(ranges);
            let calls = function.calls.iter().flat_map(|call| &call.ranges);
            function.cuts = calls.flat_map(|(start, end)| [*start, *end]).collect();
            function.cuts.sort_unstable();
            function.cuts.dedup();
        }
        self.ranges.sort_unstable();
        self.smallest = smallest;
        self
    }

    fn name(&self, name: u32) -> &str {
        self.names.get(name as usize).map_or("", String::as_str)
    }

    /// The function whose code is at `address`.
    fn at(&self, address: u64) -> Option<(&Function, u64)> {
        let n = self.ranges.partition_point(|(start, ..)| *start <= address);
        let (_, end, function) = self.ranges.get(n.checked_sub(1)?)?;
        let function = self.functions.get(*function as usize)?;
        (address < *end).then_some((function, *end))
    }

    /// The function whose code is at `address`.
    pub fn function(&self, address: u64) -> Option<FunctionCode<'_>> {
        let (function, _) = self.at(address)?;
        Some(FunctionCode { name: self.name(function.name), ranges: &function.ranges })
    }

    /// What executes at `address`.
    pub fn locate(&self, address: u64) -> Located<'_> {
        let Some((function, end)) = self.at(address) else {
            let n = self.ranges.partition_point(|(start, ..)| *start <= address);
            let end = self.ranges.get(n).map_or(u64::MAX, |(start, ..)| *start);
            return Located { end, frames: Vec::new() };
        };
        let n = self.rows.partition_point(|row| row.start <= address);
        let row = n.checked_sub(1).and_then(|n| self.rows.get(n)).filter(|row| address < row.end);
        let next = self.rows.get(n).map_or(u64::MAX, |row| row.start);
        let end = end.min(row.map_or(u64::MAX, |row| row.end)).min(next);
        let cut = function.cuts.partition_point(|cut| *cut <= address);
        let end = end.min(function.cuts.get(cut).copied().unwrap_or(u64::MAX));
        let mut frames = vec![Frame {
            function: self.name(function.name),
            declared: function.declared,
            line: 0,
            discriminator: 0,
        }];
        for call in &function.calls {
            let inside = frames.len() as u32;
            if call.depth < inside {
                break;
            }
            let here = call.ranges.iter().any(|(start, end)| (*start..*end).contains(&address));
            if call.depth == inside && here {
                if let Some(caller) = frames.last_mut() {
                    (caller.line, caller.discriminator) = (call.line, call.discriminator);
                }
                let (function, declared) = (self.name(call.name), call.declared);
                frames.push(Frame { function, declared, line: 0, discriminator: 0 });
            }
        }
        if let (Some(last), Some(row)) = (frames.last_mut(), row) {
            (last.line, last.discriminator) = (row.line, row.discriminator);
        }
        Located { end, frames }
    }
}

/// What surrounds an entry.
#[derive(Clone, Copy)]
enum Scope {
    /// A function with code: its index.
    Function(usize),
    /// An inlined call: the index of its function, and its depth.
    Call(usize, u32),
    /// A function without code.
    Nothing,
}

struct Reader<'a, 'd> {
    dwarf: &'d Dwarf<Slice<'a>>,
    units: &'d [Unit<Slice<'a>>],
    /// The numbers of the names.
    numbers: HashMap<&'a [u8], u32>,
    /// The bytes that names may still have.
    left: usize,
    ranges: usize,
    found: DebugInfo,
}

impl<'a> Reader<'a, '_> {
    /// The line table of a unit.
    fn rows(&mut self, unit: &Unit<Slice<'a>>) -> gimli::Result<()> {
        let Some(program) = unit.line_program.clone() else { return Ok(()) };
        let mut rows = program.rows();
        let mut last: Option<(u64, u32, u32)> = None;
        // The first row of the sequence, and whether the sequence begins at address 0.
        let (mut first, mut at_zero) = (self.found.rows.len(), None);
        while let Some((_, row)) = rows.next_row()? {
            let start = row.address();
            at_zero = at_zero.or(Some(start == 0));
            if let Some((from, line, discriminator)) = last.take()
                && from < start
            {
                self.found.rows.push(Row { start: from, end: start, line, discriminator });
            }
            if self.found.rows.len() > MAX_ROWS {
                return Ok(());
            }
            if row.end_sequence() {
                // The linker moves code that it removed to address 0.
                if at_zero.take() == Some(true) {
                    self.found.rows.truncate(first);
                }
                first = self.found.rows.len();
            } else {
                let line = row.line().map_or(0, |line| line.get() as u32);
                last = Some((start, line, row.discriminator() as u32));
            }
        }
        Ok(())
    }

    /// The functions of a unit and their inlined calls.
    fn functions(&mut self, unit: &Unit<Slice<'a>>) -> gimli::Result<()> {
        let mut entries = unit.entries();
        let mut scopes: Vec<(isize, Scope)> = Vec::new();
        while let Some(entry) = entries.next_dfs()? {
            let depth = entry.depth();
            while scopes.last().is_some_and(|(outer, _)| *outer >= depth) {
                scopes.pop();
            }
            let scope = match (entry.tag(), scopes.last()) {
                (gimli::DW_TAG_subprogram, _) => match self.ranges(unit, entry)? {
                    ranges if ranges.is_empty() => Scope::Nothing,
                    ranges => {
                        let (name, declared) = self.name(unit, entry);
                        let function = Function { name, declared, ranges, ..Function::default() };
                        self.found.functions.push(function);
                        Scope::Function(self.found.functions.len() - 1)
                    }
                },
                (gimli::DW_TAG_inlined_subroutine, Some((_, outer))) => {
                    let (function, depth) = match *outer {
                        Scope::Function(function) => (function, 1),
                        Scope::Call(function, depth) => (function, depth + 1),
                        Scope::Nothing => continue,
                    };
                    let ranges = self.ranges(unit, entry)?;
                    let (name, declared) = self.name(unit, entry);
                    let number = |attribute| {
                        let value = entry.attr(attribute).and_then(|found| found.udata_value());
                        value.unwrap_or(0) as u32
                    };
                    let line = number(gimli::DW_AT_call_line);
                    let discriminator = number(gimli::DW_AT_GNU_discriminator);
                    let call = Call { depth, name, declared, line, discriminator, ranges };
                    if let Some(function) = self.found.functions.get_mut(function) {
                        function.calls.push(call);
                    }
                    Scope::Call(function, depth)
                }
                _ => continue,
            };
            scopes.push((depth, scope));
            if self.ranges > MAX_RANGES {
                return Ok(());
            }
        }
        Ok(())
    }

    fn ranges(
        &mut self,
        unit: &Unit<Slice<'a>>,
        entry: &DebuggingInformationEntry<Slice<'a>>,
    ) -> gimli::Result<Vec<(u64, u64)>> {
        let (mut ranges, mut found) = (self.dwarf.die_ranges(unit, entry)?, Vec::new());
        while let Some(range) = ranges.next()? {
            self.ranges += 1;
            // The linker writes 0 for code that it removed.
            if range.begin < range.end && range.begin != 0 {
                found.push((range.begin, range.end));
            }
            if self.ranges > MAX_RANGES {
                break;
            }
        }
        Ok(found)
    }

    /// The name of a function, or of the function that an inlined call calls, and the line of its
    /// declaration. They may be in an entry that this one refers to.
    fn name(
        &mut self,
        unit: &Unit<Slice<'a>>,
        entry: &DebuggingInformationEntry<Slice<'a>>,
    ) -> (u32, u32) {
        let (mut linkage, mut name, mut declared) = (None, None, None);
        let (mut unit, mut entry) = (unit, entry.clone());
        for _ in 0..MAX_REFERENCES {
            let text = |attribute| {
                let value = entry.attr_value(attribute)?;
                self.dwarf.attr_string(unit, value).ok().map(|text| text.slice())
            };
            linkage = linkage
                .or_else(|| text(gimli::DW_AT_linkage_name))
                .or_else(|| text(gimli::DW_AT_MIPS_linkage_name));
            name = name.or_else(|| text(gimli::DW_AT_name));
            declared = declared.or_else(|| {
                let line = entry.attr(gimli::DW_AT_decl_line)?.udata_value()?;
                Some(line as u32)
            });
            let next = entry
                .attr_value(gimli::DW_AT_abstract_origin)
                .or_else(|| entry.attr_value(gimli::DW_AT_specification));
            let Some((its, offset)) = next.and_then(|next| self.referred(unit, next)) else {
                break;
            };
            let Ok(next) = its.entry(offset) else { break };
            (unit, entry) = (its, next);
        }
        let number = linkage.or(name).map_or(0, |name| self.number(name));
        (number, declared.unwrap_or(0))
    }

    /// The unit and the offset in it that a reference names.
    fn referred<'u>(
        &'u self,
        unit: &'u Unit<Slice<'a>>,
        reference: AttributeValue<Slice<'a>>,
    ) -> Option<(&'u Unit<Slice<'a>>, UnitOffset)> {
        match reference {
            AttributeValue::UnitRef(offset) => Some((unit, offset)),
            AttributeValue::DebugInfoRef(offset) => {
                let n = self.units.partition_point(|unit| {
                    unit.header.debug_info_offset().is_some_and(|start| start.0 <= offset.0)
                });
                let unit = self.units.get(n.checked_sub(1)?)?;
                Some((unit, offset.to_unit_offset(&unit.header)?))
            }
            _ => None,
        }
    }

    /// The number of a name. Number 0 is no name.
    fn number(&mut self, name: &'a [u8]) -> u32 {
        if self.found.names.is_empty() {
            self.found.names.push(String::new());
        }
        let Some(left) = self.left.checked_sub(name.len()) else { return 0 };
        self.left = left;
        *self.numbers.entry(name).or_insert_with(|| {
            self.found.names.push(String::from_utf8_lossy(name).into_owned());
            self.found.names.len() as u32 - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: &str, declared: u32, line: u32, discriminator: u32) -> Frame<'_> {
        Frame { function, declared, line, discriminator }
    }

    /// A function of 0x100 bytes with a part elsewhere; `b` is inlined into it, and `c` into `b`.
    #[test]
    fn the_frames_of_an_address_are_those_of_its_inlined_calls() {
        let call = |depth, name, line, discriminator, ranges: &[(u64, u64)]| Call {
            depth,
            name,
            declared: 10 * name,
            line,
            discriminator,
            ranges: ranges.to_vec(),
        };
        let row = |start, end, line, discriminator| Row { start, end, line, discriminator };
        let info = DebugInfo {
            names: ["", "a", "b", "c"].map(str::to_owned).to_vec(),
            functions: vec![Function {
                name: 1,
                declared: 10,
                ranges: vec![(0x1000, 0x1100), (0x3000, 0x3010)],
                calls: vec![
                    call(1, 2, 12, 2, &[(0x1010, 0x1020), (0x1030, 0x1040)]),
                    call(2, 3, 22, 0, &[(0x1018, 0x1020)]),
                    call(1, 3, 13, 0, &[(0x1040, 0x1050)]),
                ],
                cuts: Vec::new(),
            }],
            rows: vec![
                row(0x1000, 0x1014, 11, 0),
                row(0x1014, 0x1044, 21, 4),
                row(0x1044, 0x1060, 31, 0),
            ],
            ..DebugInfo::default()
        };
        let info = info.sorted(4);
        let (a, b) = (frame("a", 10, 12, 2), frame("b", 20, 22, 0));
        for (address, end, frames) in [
            (0xfff, 0x1000, vec![]),
            (0x1000, 0x1010, vec![frame("a", 10, 11, 0)]),
            (0x1010, 0x1014, vec![a, frame("b", 20, 11, 0)]),
            (0x1014, 0x1018, vec![a, frame("b", 20, 21, 4)]),
            (0x1018, 0x1020, vec![a, b, frame("c", 30, 21, 4)]),
            (0x1020, 0x1030, vec![frame("a", 10, 21, 4)]),
            (0x1030, 0x1040, vec![a, frame("b", 20, 21, 4)]),
            (0x1044, 0x1050, vec![frame("a", 10, 13, 0), frame("c", 30, 31, 0)]),
            // Without a row.
            (0x1060, 0x1100, vec![frame("a", 10, 0, 0)]),
            (0x1100, 0x3000, vec![]),
            (0x3000, 0x3010, vec![frame("a", 10, 0, 0)]),
            (0x3010, u64::MAX, vec![]),
        ] {
            assert_eq!(info.locate(address), Located { end, frames }, "{address:#x}");
        }
        let function = info.function(0x3004).unwrap();
        assert_eq!((function.name, function.ranges.len()), ("a", 2));
        assert!(info.function(0x3010).is_none());
    }

    /// The rows of a line table: addresses and lines of sequences of rows, the last of which ends
    /// its sequence.
    fn rows(sequences: &[&[(u8, u32)]]) -> Vec<(u64, u64, u32)> {
        let mut program = Vec::new();
        for rows in sequences {
            let mut line = 1;
            for (n, &(address, own)) in rows.iter().enumerate() {
                // DW_LNE_set_address, DW_LNS_advance_line.
                program.extend([0, 9, 2, address, 0, 0, 0, 0, 0, 0, 0]);
                program.extend([3, own.wrapping_sub(line) as u8 & 0x7f]);
                line = own;
                // DW_LNE_end_sequence, DW_LNS_copy.
                program.extend(if n + 1 == rows.len() { &[0, 1, 1][..] } else { &[1] });
            }
        }
        let counted = |body: &[u8]| [&(body.len() as u32).to_le_bytes(), body].concat();
        // Instructions of a byte, lines from -5 on, 14 to an address; the lengths of the opcodes.
        let mut tables = vec![1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0];
        tables.extend(*b"a.c\0\0\0\0\0");
        let lines = counted(&[&[4, 0], &counted(&tables)[..], &program].concat());
        // A DW_TAG_compile_unit with DW_AT_stmt_list.
        let info = counted(&[4, 0, 0, 0, 0, 0, 8, 1, 0, 0, 0, 0]);
        let load = |id: gimli::SectionId| {
            let data = match id {
                gimli::SectionId::DebugInfo => &info[..],
                gimli::SectionId::DebugAbbrev => &[1, 0x11, 0, 0x10, 0x17, 0, 0, 0],
                gimli::SectionId::DebugLine => &lines,
                _ => &[],
            };
            Ok::<_, gimli::Error>(EndianSlice::new(data, RunTimeEndian::Little))
        };
        let dwarf = Dwarf::load(load).unwrap();
        let unit = dwarf.unit(dwarf.units().next().unwrap().unwrap()).unwrap();
        let (units, found) = (&[][..], DebugInfo::default());
        let numbers = HashMap::new();
        let mut reader = Reader { dwarf: &dwarf, units, numbers, left: 0, ranges: 0, found };
        reader.rows(&unit).unwrap();
        reader.found.rows.iter().map(|row| (row.start, row.end, row.line)).collect()
    }

    #[test]
    fn rows_of_removed_code_are_left_out() {
        let removed = [(0, 3), (0x14, 4), (0x40, 4)];
        let code = [(0x10, 12), (0x18, 13), (0x30, 13)];
        let of_code = [(0x10, 0x18, 12), (0x18, 0x30, 13)];
        assert_eq!(rows(&[&removed, &code, &removed]), of_code);
        assert_eq!(rows(&[&code]), of_code);
        assert_eq!(rows(&[&removed]), []);
    }

    #[test]
    fn a_file_without_debug_information_is_an_error() {
        assert!(DebugInfo::read(&Bytes::from(vec![0; 64])).is_err());
    }
}
