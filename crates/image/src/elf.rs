//! ELF files: their memory and symbols. (System V gABI, "Object Files")

mod mini_debug;
mod parts;
mod sections;

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use object::read::StringTable;
use object::read::elf::{
    FileHeader, NoteIterator, ProgramHeader, SectionHeader, SectionTable, Sym,
};
use object::{Endianness, elf};

use tracewright_base::is_unshown;

pub use self::mini_debug::mini_debug_info;
use self::parts::Parts;
pub(crate) use self::sections::Sections;
use crate::bytes::Bytes;
use crate::region::Region;
use crate::space::SpaceMask;
use crate::symbols::{Symbol, Symbols};

/// The contents of an ELF file.
#[derive(Clone, Debug)]
pub struct Elf {
    /// The processor architecture: `e_machine`.
    pub machine: u16,
    /// ELFCLASS64, not ELFCLASS32.
    pub bits64: bool,
    /// ET_DYN: it may be loaded anywhere.
    pub movable: bool,
    /// The entry point with the load bias. Bit 0 is that of the file: it may select T32.
    pub entry: u64,
    /// Its build identifier.
    pub build_id: Option<Vec<u8>>,
    /// Its LOAD segments, in the order of the file.
    pub segments: Vec<Segment>,
    /// Memory with the load bias.
    pub regions: Vec<Region>,
    /// Symbols of code with the load bias: of `.symtab`, or if the file is stripped, of `.dynsym`
    /// and of MiniDebugInfo.
    pub symbols: Symbols,
}

/// A LOAD segment, without the load bias.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its virtual address.
    pub address: u64,
    /// The offset of its bytes in the file.
    pub offset: u64,
    /// The number of its bytes in the file.
    pub file_size: u64,
    /// The number of its bytes in memory. Bytes that are not in the file are initially zero.
    pub memory_size: u64,
    /// It may be executed.
    pub executable: bool,
}

/// How an ELF file is loaded.
#[derive(Clone, Copy, Debug, Default)]
pub struct Load {
    /// Added to each address of the file.
    pub bias: u64,
    /// The address spaces of its memory.
    pub spaces: SpaceMask,
    /// Bytes that a segment has in memory but not in the file are zeros; otherwise they are
    /// unknown.
    pub zeros: bool,
}

/// Why an ELF file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ElfError {
    /// It does not begin with the magic number of ELF.
    NotElf,
    /// It is inconsistent; the text is the part.
    Malformed(String),
    /// It is a relocatable object file: its code has no addresses.
    Relocatable,
    /// Instructions are big-endian (Arm BE-32).
    BigEndianCode,
    /// It has no LOAD segment.
    NoSegments,
    /// It is a program of another processor than the traced one: its `e_machine`.
    Foreign(u16),
}

impl fmt::Display for ElfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ElfError::NotElf => f.write_str("not an ELF file"),
            ElfError::Malformed(what) => write!(f, "damaged ELF file: {what}"),
            ElfError::Relocatable => f.write_str(
                "a relocatable object file: its code has no addresses; use the linked program",
            ),
            ElfError::BigEndianCode => f.write_str("big-endian Arm instructions are not supported"),
            ElfError::Foreign(machine) => {
                let machine = machine_name(*machine);
                write!(f, "a program of another processor, {machine}: the trace is of Arm")
            }
            ElfError::NoSegments => f.write_str("no LOAD segment: there is no memory in this file"),
        }
    }
}

impl Error for ElfError {}

/// The processor architecture `e_machine` in words. (System V gABI, "ELF Header")
pub fn machine_name(machine: u16) -> String {
    let name = match machine {
        3 => "x86",
        8 => "MIPS",
        20 => "PowerPC",
        21 => "PowerPC, 64-bit",
        22 => "S/390",
        40 => "Arm, 32-bit",
        62 => "x86-64",
        94 => "Xtensa",
        183 => "AArch64",
        243 => "RISC-V",
        258 => "LoongArch",
        other => return format!("machine {other}"),
    };
    name.to_owned()
}

impl Elf {
    /// Reads an ELF file of either class and byte order. A segment that extends beyond the end of
    /// the file ends there; [`Region::missing`] is the rest. Symbols that cannot be read are
    /// omitted.
    ///
    /// # Errors
    /// [`ElfError`] if the file has no usable memory.
    pub fn read(file: &Bytes, name: impl Into<Arc<str>>, load: Load) -> Result<Elf, ElfError> {
        let name = name.into();
        match file.head(5).first_chunk() {
            Some([0x7f, b'E', b'L', b'F', 1]) => {
                read::<elf::FileHeader32<Endianness>>(file, &name, load)
            }
            Some([0x7f, b'E', b'L', b'F', 2]) => {
                read::<elf::FileHeader64<Endianness>>(file, &name, load)
            }
            _ => Err(ElfError::NotElf),
        }
    }
}

impl Elf {
    /// The value of the symbol `name` in an ELF file, of any kind and in any section: code, data or
    /// an absolute number. `None` if it is not defined.
    pub fn address_of(file: &Bytes, name: &str) -> Option<u64> {
        Elf::object_of(file, name).map(|(address, _)| address)
    }

    /// As [`address_of`](Elf::address_of), with the size of the symbol in bytes; 0 where the file
    /// does not state it.
    pub fn object_of(file: &Bytes, name: &str) -> Option<(u64, u64)> {
        match file.head(5).first_chunk() {
            Some([0x7f, b'E', b'L', b'F', 1]) => {
                object_of::<elf::FileHeader32<Endianness>>(file, name)
            }
            Some([0x7f, b'E', b'L', b'F', 2]) => {
                object_of::<elf::FileHeader64<Endianness>>(file, name)
            }
            _ => None,
        }
    }
}

impl Elf {
    /// Whether an ELF file has no code, but the sections of it without their bytes (SHT_NOBITS): a
    /// separate file with symbols and debug information.
    pub fn is_debug_only(file: &Bytes) -> bool {
        match file.head(5).first_chunk() {
            Some([0x7f, b'E', b'L', b'F', 1]) => {
                is_debug_only::<elf::FileHeader32<Endianness>>(file)
            }
            Some([0x7f, b'E', b'L', b'F', 2]) => {
                is_debug_only::<elf::FileHeader64<Endianness>>(file)
            }
            _ => false,
        }
    }
}

fn is_debug_only<H: FileHeader<Endian = Endianness>>(file: &Bytes) -> bool {
    let data = &Parts::of::<H>(file);
    let sections = H::parse(data).and_then(|header| {
        let endian = header.endian()?;
        Ok((endian, header.section_headers(endian, data)?))
    });
    let Ok((endian, sections)) = sections else { return false };
    let flags = elf::SHF_ALLOC.0 | elf::SHF_EXECINSTR.0;
    let mut code = sections.iter().filter(|section| section.sh_flags(endian).0 & flags == flags);
    let absent = |section: &H::SectionHeader| section.sh_type(endian) == elf::SHT_NOBITS;
    code.next().is_some_and(absent) && code.all(absent)
}

fn object_of<H: FileHeader<Endian = Endianness>>(file: &Bytes, name: &str) -> Option<(u64, u64)> {
    let data = &Parts::of::<H>(file);
    let header = H::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.section_headers(endian, data).ok()?;
    let sections = SectionTable::<H, &Parts<'_>>::new(sections, StringTable::default());
    [elf::SHT_SYMTAB, elf::SHT_DYNSYM].into_iter().find_map(|table| {
        let table = sections.symbols(endian, data, table).ok()?;
        let mut symbols = table.symbols().iter();
        let mut names = file.len().saturating_mul(MAX_NAMES);
        let symbol = symbols.find(|symbol| {
            if names == 0 || symbol.st_shndx(endian) == elf::SHN_UNDEF {
                return false;
            }
            let its = table.symbol_name(endian, symbol);
            // A name without an end has been searched for it up to the end of all names.
            names = names.saturating_sub(its.map_or(file.len() / 8, <[u8]>::len));
            its == Ok(name.as_bytes())
        });
        let symbol = symbol?;
        Some((symbol.st_value(endian).into(), symbol.st_size(endian).into()))
    })
}

fn read<H: FileHeader<Endian = Endianness>>(
    file: &Bytes,
    name: &Arc<str>,
    load: Load,
) -> Result<Elf, ElfError> {
    let malformed = |error: object::read::Error| ElfError::Malformed(error.to_string());
    let data = &Parts::of::<H>(file);
    let header = H::parse(data).map_err(malformed)?;
    let endian = header.endian().map_err(malformed)?;
    let machine = header.e_machine(endian);
    if header.e_type(endian) == elf::ET_REL {
        return Err(ElfError::Relocatable);
    }
    let be8 = header.e_flags(endian).0 & elf::EF_ARM_BE8.0 != 0;
    if machine == elf::EM_ARM && header.is_big_endian() && !be8 {
        return Err(ElfError::BigEndianCode);
    }

    let (mut segments, mut regions) = (Vec::new(), Vec::new());
    let mut build_id = None;
    for segment in header.program_headers(endian, data).map_err(malformed)? {
        if segment.p_type(endian) == elf::PT_NOTE && build_id.is_none() {
            build_id =
                segment.notes(endian, data).ok().flatten().and_then(|n| find_build_id(n, endian));
        }
        if segment.p_type(endian) != elf::PT_LOAD {
            continue;
        }
        let segment = Segment {
            address: segment.p_vaddr(endian).into(),
            offset: segment.p_offset(endian).into(),
            file_size: segment.p_filesz(endian).into(),
            memory_size: segment.p_memsz(endian).into(),
            executable: segment.p_flags(endian).0 & elf::PF_X.0 != 0,
        };
        load_segment(file, name, load, segment, &mut regions);
        segments.push(segment);
    }
    if segments.is_empty() {
        return Err(ElfError::NoSegments);
    }
    let symbols = match header.section_headers(endian, data) {
        Ok(sections) => {
            // Without a segment, notes are in no memory, but they describe the file.
            let mut notes = sections.iter().filter_map(|s| s.notes(endian, data).ok().flatten());
            build_id = build_id.or_else(|| notes.find_map(|n| find_build_id(n, endian)));
            // The names of sections are not used.
            let sections = SectionTable::new(sections, StringTable::default());
            let names = file.len().saturating_mul(MAX_NAMES);
            let mut found = read_symbols::<H>(&sections, endian, data, names, machine);
            let mini = mini_debug::unpacked::<H>(file, data);
            let parts = mini.as_ref().map(|mini| (mini.len(), Parts::of::<H>(mini)));
            if let Some((len, data)) = &parts {
                found.extend(symbols_of_mini::<H>(data, len.saturating_mul(MAX_NAMES), machine));
            }
            table(found, load.bias)
        }
        Err(_) => Symbols::default(),
    };
    Ok(Elf {
        machine: machine.0,
        bits64: header.is_type_64(),
        movable: header.e_type(endian) == elf::ET_DYN,
        entry: header.e_entry(endian).into().wrapping_add(load.bias),
        build_id,
        segments,
        regions,
        symbols,
    })
}

/// Adds the memory of one segment.
fn load_segment(
    file: &Bytes,
    name: &Arc<str>,
    load: Load,
    segment: Segment,
    regions: &mut Vec<Region>,
) {
    let address = segment.address.wrapping_add(load.bias);
    let bytes = file.part(segment.offset, segment.file_size);
    let missing = segment.file_size.saturating_sub(bytes.len() as u64);
    let region = Region::new(Arc::clone(name), address, bytes).within(load.spaces);
    regions.push(region.with_missing(missing));

    let rest = segment.memory_size.saturating_sub(segment.file_size);
    let after = address.checked_add(segment.file_size);
    if let (true, true, Some(after)) = (load.zeros, rest > 0, after) {
        regions.push(Region::zeros(Arc::clone(name), after, rest).within(load.spaces));
    }
}

fn find_build_id<H: FileHeader<Endian = Endianness>>(
    mut notes: NoteIterator<'_, H>,
    endian: Endianness,
) -> Option<Vec<u8>> {
    while let Ok(Some(note)) = notes.next() {
        if note.name() == b"GNU" && note.n_type(endian) == elf::NT_GNU_BUILD_ID {
            return Some(note.desc().to_vec());
        }
    }
    None
}

/// The maximum length of all names, as a multiple of the file's length. Names may overlap in the
/// file, so a malicious file could have names that fill memory; its remaining symbols are omitted.
pub(crate) const MAX_NAMES: usize = 8;

/// The most symbols whose names have no end. The symbols after that are omitted.
const MAX_UNNAMED: usize = 64;

/// A symbol of the file.
struct Found<'a> {
    name: &'a str,
    start: u64,
    size: u64,
    /// End of its section.
    limit: u64,
    /// The name with the highest rank is used for code with several names.
    rank: u8,
}

/// The symbols of code of a file of MiniDebugInfo. None where it cannot be read.
fn symbols_of_mini<'a, H: FileHeader<Endian = Endianness>>(
    data: &'a Parts<'_>,
    names: usize,
    machine: elf::Machine,
) -> Vec<Found<'a>> {
    let sections = H::parse(data).and_then(|header| {
        let endian = header.endian()?;
        Ok((endian, header.section_headers(endian, data)?))
    });
    let Ok((endian, sections)) = sections else { return Vec::new() };
    let sections = SectionTable::new(sections, StringTable::default());
    read_symbols::<H>(&sections, endian, data, names, machine)
}

/// The symbols of code. `budget`: the length of all names.
fn read_symbols<'a, H: FileHeader<Endian = Endianness>>(
    sections: &SectionTable<'a, H, &'a Parts<'_>>,
    endian: Endianness,
    data: &'a Parts<'_>,
    mut budget: usize,
    machine: elf::Machine,
) -> Vec<Found<'a>> {
    let (mut found, mut unnamed) = (Vec::new(), 0);
    for table in [elf::SHT_SYMTAB, elf::SHT_DYNSYM] {
        let Ok(table) = sections.symbols(endian, data, table) else { continue };
        for (index, symbol) in table.enumerate() {
            let Ok(Some(section)) = table.symbol_section(endian, symbol, index) else { continue };
            let Ok(section) = sections.section(section) else { continue };
            let executable = section.sh_flags(endian).0 & elf::SHF_EXECINSTR.0 != 0;
            let kind = symbol.st_type();
            let code = executable
                && (kind == elf::STT_FUNC || kind == elf::STT_NOTYPE || kind == elf::STT_GNU_IFUNC);
            let Ok(name) = table.symbol_name(endian, symbol) else {
                // A name without an end has been searched for it up to the end of all names.
                unnamed += 1;
                match unnamed > MAX_UNNAMED {
                    true => break,
                    false => continue,
                }
            };
            let Some(left) = budget.checked_sub(name.len()) else { break };
            budget = left;
            let name = std::str::from_utf8(name).unwrap_or_default();
            // The mapping symbols `$a`, `$t`, `$d` and `$x` are not names. Control characters could
            // control a terminal.
            if !code || name.is_empty() || name.starts_with('$') || name.contains(is_unshown) {
                continue;
            }
            let mut start: u64 = symbol.st_value(endian).into();
            if machine == elf::EM_ARM && kind != elf::STT_NOTYPE {
                // Bit 0 of the value selects T32. (AAELF32, "Symbol Values")
                start &= !1;
            }
            let address: u64 = section.sh_addr(endian).into();
            let limit = address.wrapping_add(section.sh_size(endian).into());
            let size = symbol.st_size(endian).into();
            let bind = symbol.st_bind();
            let rank = u8::from(kind != elf::STT_NOTYPE) << 2
                | if bind == elf::STB_GLOBAL { 2 } else { u8::from(bind == elf::STB_WEAK) };
            found.push(Found { name, start, size, limit, rank });
        }
        if !found.is_empty() {
            break;
        }
    }
    found
}

/// Makes the table. A symbol without a size that no other symbol covers ends at the next symbol.
fn table(mut found: Vec<Found<'_>>, bias: u64) -> Symbols {
    found.sort_by_key(|symbol| (symbol.start, symbol.rank));
    // The first address after all symbols so far.
    let mut covered = 0u64;
    let mut rest = found.as_mut_slice();
    while let Some(first) = rest.first() {
        let start = first.start;
        let same = rest.partition_point(|symbol| symbol.start == start);
        let (here, after) = rest.split_at_mut(same);
        let next = after.first().map_or(u64::MAX, |symbol| symbol.start);
        if covered <= start && here.iter().all(|symbol| symbol.size == 0) {
            for symbol in here.iter_mut() {
                symbol.size = next.min(symbol.limit).saturating_sub(start);
            }
        }
        for symbol in here {
            covered = covered.max(start.saturating_add(symbol.size));
        }
        rest = after;
    }
    Symbols::new(found.iter().map(|symbol| Symbol {
        name: symbol.name,
        start: symbol.start.wrapping_add(bias),
        size: symbol.size,
    }))
}
