//! Limits of debug information. Units may share a table of abbreviations or a line program, and
//! functions a list of ranges: each reads it, and a small file takes much memory.

use gimli::{
    AbbreviationsCacheStrategy, AttributeValue, Dwarf, Reader, ReaderOffset, Section, Unit,
    UnitType, constants,
};

/// The most bytes of a section that are read for all units together: this many times the section,
/// and [`ANY`].
const SHARED: u64 = 2;
/// What files of any size may read.
const ANY: u64 = 1 << 20;
/// The most bytes of paths of source files, and the most ranges, for each byte of the file.
const FOR_EACH: u64 = 8;
/// The deepest nesting of entries: readers that call themselves for each level need a stack.
const DEEPEST: isize = 1 << 10;

/// Checks the tables of abbreviations and the line programs of `dwarf`, and reads each table of
/// abbreviations once. `size` is the size of the file.
///
/// # Errors
/// What takes more memory than a file of this size may.
pub fn check_tables<R: Reader<Offset = usize>>(
    dwarf: &mut Dwarf<R>,
    size: usize,
) -> Result<(), &'static str> {
    let section = dwarf.debug_abbrev.reader().clone();
    let mut offsets = Vec::new();
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        offsets.push(header.debug_abbrev_offset().0);
    }
    offsets.sort_unstable();
    offsets.dedup();
    let mut left = shared(section.len());
    for offset in offsets {
        let mut table = section.clone();
        if table.skip(offset).is_err() {
            continue;
        }
        let used = abbreviations_len(table, left).ok_or("tables of abbreviations overlap")?;
        left = left.saturating_sub(used);
    }
    dwarf.populate_abbreviations_cache(AbbreviationsCacheStrategy::All);
    let mut left = shared(dwarf.debug_line.reader().len());
    let mut paths = FOR_EACH * size as u64 + ANY;
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        if matches!(header.type_(), UnitType::Type { .. } | UnitType::SplitType { .. }) {
            continue;
        }
        let Ok(unit) = dwarf.unit(header) else { continue };
        let Some(program) = &unit.line_program else { continue };
        left = left
            .checked_sub(program.header().unit_length().into_u64())
            .ok_or("units share line programs")?;
        paths = paths.checked_sub(paths_len(dwarf, &unit)).ok_or("paths of files are too long")?;
    }
    Ok(())
}

/// Checks that the entries of `dwarf` are not nested too deeply, and do not share lists of ranges.
/// `size` is the size of the file.
///
/// # Errors
/// What takes more memory than a file of this size may.
pub fn check_entries<R: Reader<Offset = usize>>(
    dwarf: &Dwarf<R>,
    size: usize,
) -> Result<(), &'static str> {
    let mut ranges = FOR_EACH * size as u64 + ANY;
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        let Ok(unit) = dwarf.unit(header) else { continue };
        let Ok(mut entries) = unit.entries_raw(None) else { continue };
        // What cannot be read ends the unit for every reader.
        'unit: while !entries.is_empty() {
            if entries.next_depth() > DEEPEST {
                return Err("entries are nested too deeply");
            }
            let Ok(abbreviation) = entries.read_abbreviation() else { break };
            let Some(abbreviation) = abbreviation else { continue };
            let has_code = [constants::DW_TAG_subprogram, constants::DW_TAG_inlined_subroutine]
                .contains(&abbreviation.tag());
            if !has_code {
                if entries.skip_attributes(abbreviation.attributes()).is_err() {
                    break;
                }
                continue;
            }
            for specification in abbreviation.attributes() {
                let Ok(attribute) = entries.read_attribute(*specification) else { break 'unit };
                if attribute.name() == constants::DW_AT_ranges {
                    let most = ranges;
                    let count = ranges_len(dwarf, &unit, attribute.value(), most);
                    ranges = most.checked_sub(count).ok_or("functions share lists of ranges")?;
                }
            }
        }
    }
    Ok(())
}

const fn shared(len: usize) -> u64 {
    SHARED * len as u64 + ANY
}

/// The length of the table of abbreviations at the start of `table`, as far as it can be read.
/// `None` where it is more than `most`. (DWARF 5, section 7.5.3)
fn abbreviations_len<R: Reader<Offset = usize>>(mut table: R, most: u64) -> Option<u64> {
    let len = table.len();
    let next = |table: &mut R| -> gimli::Result<bool> {
        if table.read_uleb128()? == 0 {
            return Ok(false);
        }
        table.read_uleb128()?;
        table.read_u8()?;
        loop {
            let (name, form) = (table.read_uleb128()?, table.read_uleb128()?);
            if form == u64::from(constants::DW_FORM_implicit_const.0) {
                table.read_sleb128()?;
            }
            if (name, form) == (0, 0) {
                return Ok(true);
            }
        }
    };
    loop {
        let more = next(&mut table);
        let used = (len - table.len()) as u64;
        if used > most {
            return None;
        }
        if !matches!(more, Ok(true)) {
            return Some(used);
        }
    }
}

/// The bytes of the whole paths of the files of a unit.
fn paths_len<R: Reader<Offset = usize>>(dwarf: &Dwarf<R>, unit: &Unit<R>) -> u64 {
    let Some(program) = &unit.line_program else { return 0 };
    let header = program.header();
    let len = |value| dwarf.attr_string(unit, value).map_or(0, |text| text.len() as u64);
    // The folders of a program are few, and each is the folder of many files.
    let folders: Vec<u64> = header.include_directories().iter().cloned().map(len).collect();
    let folder = unit.comp_dir.as_ref().map_or(0, |folder| folder.len() as u64);
    let files = header.file_names().iter().map(|file| {
        // The numbers of version 5 begin with 0.
        let first = u64::from(header.version() < 5);
        let own = file.directory_index().checked_sub(first).and_then(|n| usize::try_from(n).ok());
        let own = own.and_then(|n| folders.get(n)).copied().unwrap_or(0);
        folder + own + len(file.path_name())
    });
    files.sum()
}

/// The number of ranges of an entry, up to `most` and one more.
fn ranges_len<R: Reader<Offset = usize>>(
    dwarf: &Dwarf<R>,
    unit: &Unit<R>,
    value: AttributeValue<R>,
    most: u64,
) -> u64 {
    let Ok(Some(mut ranges)) = dwarf.attr_ranges(unit, value) else { return 0 };
    let mut count = 0;
    while count <= most && matches!(ranges.next(), Ok(Some(_))) {
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use gimli::{EndianSlice, LittleEndian, SectionId};

    use super::*;

    /// Sections of a program, version 4, with addresses of 4 bytes.
    #[derive(Clone, Default)]
    struct Program {
        abbreviations: Vec<u8>,
        info: Vec<u8>,
        lines: Vec<u8>,
        ranges: Vec<u8>,
    }

    impl Program {
        /// The abbreviations of a unit with a line program and a folder, of a function with a list
        /// of ranges, and of an inlined call.
        fn new() -> Program {
            let abbreviations = [
                &[1, 0x11, 1, 0x10, 0x17, 0x1b, 0x08, 0, 0][..],
                &[2, 0x2e, 0, 0x55, 0x17, 0, 0],
                &[3, 0x1d, 1, 0, 0],
                &[0],
            ];
            Program { abbreviations: abbreviations.concat(), ..Program::default() }
        }

        fn unit(&mut self, abbreviations: u32, line_program: u32, folder: &str, entries: &[u8]) {
            let mut unit = vec![4, 0];
            unit.extend(abbreviations.to_le_bytes());
            unit.extend([4, 1]);
            unit.extend(line_program.to_le_bytes());
            unit.extend(folder.as_bytes());
            unit.push(0);
            unit.extend(entries);
            unit.push(0);
            self.info.extend((unit.len() as u32).to_le_bytes());
            self.info.extend(unit);
        }

        /// Adds a line program without lines, version 2, and returns its offset.
        fn line_program(&mut self, files: usize) -> u32 {
            let mut header = vec![1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0];
            header.extend(b"f\0\0\0\0".repeat(files));
            header.push(0);
            let at = self.lines.len() as u32;
            self.lines.extend((header.len() as u32 + 6).to_le_bytes());
            self.lines.extend([2, 0]);
            self.lines.extend((header.len() as u32).to_le_bytes());
            self.lines.extend(header);
            at
        }

        fn check(&self) -> Result<(), &'static str> {
            let section = |id| match id {
                SectionId::DebugAbbrev => &self.abbreviations[..],
                SectionId::DebugInfo => &self.info,
                SectionId::DebugLine => &self.lines,
                SectionId::DebugRanges => &self.ranges,
                _ => &[],
            };
            let load = |id| Ok::<_, gimli::Error>(EndianSlice::new(section(id), LittleEndian));
            let mut dwarf = Dwarf::load(load).expect("sections");
            let size = self.abbreviations.len() + self.info.len() + self.lines.len();
            let size = size + self.ranges.len();
            check_tables(&mut dwarf, size)?;
            check_entries(&dwarf, size)
        }
    }

    #[test]
    fn units_share_a_little() {
        let mut program = Program::new();
        let at = program.line_program(100);
        (0..20).for_each(|_| program.unit(0, at, "/src", &[]));
        assert_eq!(program.check(), Ok(()));
    }

    #[test]
    fn line_programs_of_many_units() {
        let mut program = Program::new();
        let at = program.line_program(1000);
        (0..300).for_each(|_| program.unit(0, at, "", &[]));
        assert_eq!(program.check(), Err("units share line programs"));
    }

    #[test]
    fn folders_of_many_files() {
        let mut program = Program::new();
        for _ in 0..2 {
            let at = program.line_program(1000);
            program.unit(0, at, &"f".repeat(1000), &[]);
        }
        assert_eq!(program.check(), Err("paths of files are too long"));
    }

    #[test]
    fn abbreviations_of_many_units() {
        let mut program = Program::new();
        let own = program.abbreviations.len() as u32;
        program.abbreviations.extend([4, 0x34, 0, 0, 0].repeat(60_000));
        let at = program.line_program(1);
        (0..4).for_each(|n| program.unit(own + 5 * n, at, "", &[]));
        assert_eq!(program.check(), Ok(()));
        (4..8).for_each(|n| program.unit(own + 5 * n, at, "", &[]));
        assert_eq!(program.check(), Err("tables of abbreviations overlap"));
    }

    #[test]
    fn nested_entries() {
        for (depth, want) in [(1000, Ok(())), (1100, Err("entries are nested too deeply"))] {
            let mut program = Program::new();
            let at = program.line_program(1);
            program.unit(0, at, "", &[vec![3; depth], vec![0; depth]].concat());
            assert_eq!(program.check(), want, "{depth} levels");
        }
    }

    #[test]
    fn ranges_of_many_functions() {
        for (functions, want) in [(10, Ok(())), (200, Err("functions share lists of ranges"))] {
            let mut program = Program::new();
            let at = program.line_program(1);
            program.unit(0, at, "", &[2, 0, 0, 0, 0].repeat(functions));
            let range = |n: u32| [n.to_le_bytes(), (n + 1).to_le_bytes()].concat();
            program.ranges = (1..20_000).flat_map(range).chain([0; 8]).collect();
            assert_eq!(program.check(), want, "{functions} functions");
        }
    }
}
