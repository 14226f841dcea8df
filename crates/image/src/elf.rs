//! ELF files: the memory that they describe, and names in it. (System V gABI, "Object Files")

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use object::read::StringTable;
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, SectionTable, Sym};
use object::{Endianness, elf};

use crate::{Bytes, Region, SpaceMask, Symbol, Symbols};

/// What an ELF file says.
#[derive(Clone, Debug)]
pub struct Elf {
    /// The processor that it is for: `e_machine`.
    pub machine: u16,
    /// ELFCLASS64, not ELFCLASS32.
    pub bits64: bool,
    /// ET_DYN: it may be loaded anywhere.
    pub movable: bool,
    /// Where it starts, with the load bias, as the file spells it: bit 0 may say T32.
    pub entry: u64,
    /// Its build identifier, where it has one.
    pub build_id: Option<Vec<u8>>,
    /// Its LOAD segments, in the order of the file.
    pub segments: Vec<Segment>,
    /// Memory, with the load bias.
    pub regions: Vec<Region>,
    /// Names of code, with the load bias. Of `.symtab`, or of `.dynsym` where the file is stripped.
    pub symbols: Symbols,
}

/// A LOAD segment, without the load bias.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its virtual address.
    pub address: u64,
    /// Where its bytes are in the file.
    pub offset: u64,
    /// How many bytes of the file belong to it.
    pub file_size: u64,
    /// How many bytes of memory it takes. Those that the file does not have are zero at the start.
    pub memory_size: u64,
    /// It may be executed.
    pub executable: bool,
}

/// How to place an ELF file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Load {
    /// Added to each address of the file.
    pub bias: u64,
    /// Who sees the memory.
    pub spaces: SpaceMask,
    /// The bytes that a segment has in memory but not in the file are zeros, not unknown.
    pub zeros: bool,
}

/// Why a file cannot be used as an ELF file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ElfError {
    /// It does not begin as an ELF file does.
    NotElf,
    /// It contradicts itself; the text says where.
    Malformed(String),
    /// It is an object file: its code has no addresses yet.
    Relocatable,
    /// Instructions are big-endian (Arm BE-32).
    BigEndianCode,
    /// It has no LOAD segment.
    NoSegments,
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
            ElfError::NoSegments => f.write_str("no LOAD segment: there is no memory in this file"),
        }
    }
}

impl Error for ElfError {}

impl Elf {
    /// Reads an ELF file of either class and byte order. What a segment asks for beyond the end of
    /// the file is not memory; its region says how much in [`Region::missing`]. Symbols that cannot
    /// be read are left out.
    ///
    /// # Errors
    /// Where there is no memory to be had from it.
    pub fn read(file: &Bytes, name: impl Into<Arc<str>>, load: Load) -> Result<Elf, ElfError> {
        let name = name.into();
        match (**file).get(..5) {
            Some(&[0x7f, b'E', b'L', b'F', 1]) => {
                read::<elf::FileHeader32<Endianness>>(file, &name, load)
            }
            Some(&[0x7f, b'E', b'L', b'F', 2]) => {
                read::<elf::FileHeader64<Endianness>>(file, &name, load)
            }
            _ => Err(ElfError::NotElf),
        }
    }
}

impl Elf {
    /// The address that the symbol `name` has in an ELF file, of whatever kind it is and in whatever section: of code,
    /// of data, or a number. `None` where it is not defined there.
    pub fn address_of(file: &Bytes, name: &str) -> Option<u64> {
        match (**file).get(..5) {
            Some(&[0x7f, b'E', b'L', b'F', 1]) => {
                address_of::<elf::FileHeader32<Endianness>>(file, name)
            }
            Some(&[0x7f, b'E', b'L', b'F', 2]) => {
                address_of::<elf::FileHeader64<Endianness>>(file, name)
            }
            _ => None,
        }
    }
}

fn address_of<H: FileHeader<Endian = Endianness>>(data: &[u8], name: &str) -> Option<u64> {
    let header = H::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.section_headers(endian, data).ok()?;
    let sections = SectionTable::<H>::new(sections, StringTable::default());
    [elf::SHT_SYMTAB, elf::SHT_DYNSYM].into_iter().find_map(|table| {
        let table = sections.symbols(endian, data, table).ok()?;
        let mut symbols = table.symbols().iter();
        let symbol = symbols.find(|symbol| {
            let defined = symbol.st_shndx(endian) != elf::SHN_UNDEF;
            defined && table.symbol_name(endian, symbol).is_ok_and(|its| its == name.as_bytes())
        });
        Some(symbol?.st_value(endian).into())
    })
}

fn read<H: FileHeader<Endian = Endianness>>(
    file: &Bytes,
    name: &Arc<str>,
    load: Load,
) -> Result<Elf, ElfError> {
    let malformed = |error: object::read::Error| ElfError::Malformed(error.to_string());
    let data: &[u8] = file;
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
            build_id = read_build_id::<H>(segment, endian, data);
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
        place(file, name, load, segment, &mut regions);
        segments.push(segment);
    }
    if segments.is_empty() {
        return Err(ElfError::NoSegments);
    }
    let symbols = match header.section_headers(endian, data) {
        Ok(sections) => {
            // Nobody asks for the names of sections.
            let sections = SectionTable::new(sections, StringTable::default());
            read_symbols::<H>(&sections, endian, data, load.bias, machine)
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

/// Makes the memory of one segment.
fn place(file: &Bytes, name: &Arc<str>, load: Load, segment: Segment, regions: &mut Vec<Region>) {
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

fn read_build_id<H: FileHeader<Endian = Endianness>>(
    segment: &H::ProgramHeader,
    endian: Endianness,
    data: &[u8],
) -> Option<Vec<u8>> {
    let mut notes = segment.notes(endian, data).ok()??;
    while let Ok(Some(note)) = notes.next() {
        if note.name() == b"GNU" && note.n_type(endian) == elf::NT_GNU_BUILD_ID {
            return Some(note.desc().to_vec());
        }
    }
    None
}

/// Names of symbols may lie over each other in the file. Together they are not longer than so many times the
/// file: of one that is made to fill memory the rest is left out.
const MOST_NAMES: usize = 8;

/// A symbol on its way into the table.
struct Found<'a> {
    name: &'a str,
    start: u64,
    size: u64,
    /// End of the section that it is in.
    limit: u64,
    /// Which of several names for the same code to show: the highest.
    rank: u8,
}

fn read_symbols<H: FileHeader<Endian = Endianness>>(
    sections: &SectionTable<'_, H>,
    endian: Endianness,
    data: &[u8],
    bias: u64,
    machine: elf::Machine,
) -> Symbols {
    let mut found = Vec::new();
    let mut room = data.len().saturating_mul(MOST_NAMES);
    for table in [elf::SHT_SYMTAB, elf::SHT_DYNSYM] {
        let Ok(table) = sections.symbols(endian, data, table) else { continue };
        for (index, symbol) in table.enumerate() {
            let Ok(Some(section)) = table.symbol_section(endian, symbol, index) else { continue };
            let Ok(section) = sections.section(section) else { continue };
            let executable = section.sh_flags(endian).0 & elf::SHF_EXECINSTR.0 != 0;
            let kind = symbol.st_type();
            let code = executable
                && (kind == elf::STT_FUNC || kind == elf::STT_NOTYPE || kind == elf::STT_GNU_IFUNC);
            let name = table.symbol_name(endian, symbol).unwrap_or_default();
            let Some(left) = room.checked_sub(name.len()) else { break };
            room = left;
            let name = std::str::from_utf8(name).unwrap_or_default();
            // `$a`, `$t`, `$d` and `$x` say what the bytes are; they name nothing. And a terminal may obey
            // what a control character says.
            if !code || name.is_empty() || name.starts_with('$') || name.contains(char::is_control)
            {
                continue;
            }
            let mut start: u64 = symbol.st_value(endian).into();
            if machine == elf::EM_ARM && kind != elf::STT_NOTYPE {
                // Bit 0 of the value says T32. (AAELF32, "Symbol Values")
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
    table(found, bias)
}

/// Gives a size to those without one, if no other symbol covers them: up to the next symbol.
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
