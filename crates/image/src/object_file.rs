//! Relocatable ELF files: modules of the Linux kernel. (System V gABI, "Relocation"; AAELF64)

use std::collections::HashMap;
use std::sync::Arc;

use object::read::elf::{FileHeader, SectionHeader, SectionTable, Sym};
use object::{Endianness, SectionIndex, SymbolIndex, elf};

use crate::bytes::Bytes;
use crate::elf::ElfError;
use crate::elf::MAX_NAMES;
use crate::region::Region;
use crate::symbols::{Symbol, Symbols};

/// The code of a relocatable file of AArch64: its section `.text`.
///
/// Its branches to other sections and to other files have targets where the addresses of their
/// symbols are known. Other instructions of this kind are not a part of the code.
#[derive(Clone, Debug)]
pub struct ObjectFile {
    /// The bytes of `.text` with relocations applied.
    text: Bytes,
    /// Branches to symbols that are not in `.text`, in order.
    external: Vec<External>,
    /// The offset of `.text` in memory, where the sections before it have the size in the file.
    least_offset: Option<u64>,
    /// The name and the offset of each symbol of `.text`, also of those without a size.
    labels: Vec<(String, u64)>,
    /// Its build identifier.
    pub build_id: Option<Vec<u8>>,
    /// Symbols of `.text`, by the offset in it.
    pub symbols: Symbols,
}

/// A branch to a symbol that is not in `.text`.
#[derive(Clone, Debug)]
struct External {
    /// The offset in `.text`.
    at: u64,
    /// The name of the symbol; empty for a section.
    symbol: String,
    addend: i64,
    branch: Branch,
}

type Header = elf::FileHeader64<Endianness>;

impl ObjectFile {
    /// Reads a relocatable file.
    ///
    /// # Errors
    /// [`ElfError`] where the file is not one of AArch64, or has no `.text`.
    pub fn read(file: &Bytes) -> Result<ObjectFile, ElfError> {
        let malformed = |error: object::read::Error| ElfError::Malformed(error.to_string());
        let data: &[u8] = file;
        let header = Header::parse(data).map_err(malformed)?;
        let endian = header.endian().map_err(malformed)?;
        if header.e_machine(endian) != elf::EM_AARCH64 || header.is_big_endian() {
            return Err(ElfError::Relocatable);
        }
        let sections = header.sections(endian, data).map_err(malformed)?;
        let (index, section) =
            sections.section_by_name(endian, b".text").ok_or(ElfError::NoSegments)?;
        let mut text = section.data(endian, data).map_err(malformed)?.to_vec();
        let least_offset = least_offset(&sections, endian, index);
        let table = sections.symbols(endian, data, elf::SHT_SYMTAB).map_err(malformed)?;
        let (mut symbols, mut labels) = (Vec::new(), Vec::new());
        // The bytes of all names, and the relocations: parts of a file may be shared.
        let mut names = data.len().saturating_mul(MAX_NAMES);
        let mut left = data.len() / size_of::<elf::Rela64<Endianness>>();
        let named = |symbol: &elf::Sym64<Endianness>, names: &mut usize| -> &str {
            if *names == 0 {
                return "";
            }
            let name = table.symbol_name(endian, symbol);
            // A name without an end has been searched for it up to the end of all names.
            *names = names.saturating_sub(name.map_or(data.len() / 8, <[u8]>::len));
            std::str::from_utf8(name.unwrap_or_default()).unwrap_or_default()
        };
        // The value of each symbol of `.text`, by its number.
        let mut values: HashMap<u32, u64> = HashMap::new();
        for (number, symbol) in table.enumerate() {
            if table.symbol_section(endian, symbol, number).ok().flatten() != Some(index) {
                continue;
            }
            let (start, size) = (symbol.st_value(endian), symbol.st_size(endian));
            values.insert(number.0 as u32, start);
            let name = named(symbol, &mut names);
            if name.is_empty() || name.starts_with('$') {
                continue;
            }
            labels.push((name.to_owned(), start));
            if size > 0 {
                symbols.push(Symbol { name, start, size });
            }
        }
        let symbols = Symbols::new(symbols);
        let mut external: Vec<External> = Vec::new();
        for relocations in sections.iter() {
            if relocations.sh_info(endian) as usize != index.0 {
                continue;
            }
            let Ok(Some((entries, _))) = relocations.rela(endian, data) else { continue };
            let entries = entries.get(..left).unwrap_or(entries);
            left -= entries.len();
            for entry in entries {
                let at = entry.r_offset.get(endian);
                let kind = entry.r_type(endian, false);
                let addend = entry.r_addend.get(endian);
                let Some(branch) = Branch::of(kind) else { continue };
                let value = values.get(&entry.r_sym(endian, false));
                let distance = value
                    .map(|value| value.wrapping_add_signed(addend).wrapping_sub(at).cast_signed());
                let place = usize::try_from(at).ok().and_then(|at| text.get_mut(at..at + 4));
                let Some(place) = place else { continue };
                match distance.and_then(|distance| branch.encode(distance, place)) {
                    Some(opcode) => place.copy_from_slice(&opcode.to_le_bytes()),
                    None => {
                        let number = SymbolIndex(entry.r_sym(endian, false) as usize);
                        let symbol = table.symbol(number).ok();
                        let name = symbol.map_or("", |symbol| named(symbol, &mut names)).to_owned();
                        external.push(External { at, symbol: name, addend, branch });
                    }
                }
            }
        }
        external.sort_by_key(|external| external.at);
        external.dedup_by_key(|external| external.at);
        let build_id = sections
            .section_by_name(endian, b".note.gnu.build-id")
            .and_then(|(_, section)| section.notes(endian, data).ok().flatten())
            .and_then(|mut notes| {
                while let Ok(Some(note)) = notes.next() {
                    if note.n_type(endian) == elf::NT_GNU_BUILD_ID {
                        return Some(note.desc().to_vec());
                    }
                }
                None
            });
        let text = Bytes::from(text);
        Ok(ObjectFile { text, external, least_offset, labels, build_id, symbols })
    }

    /// The name and the offset of each symbol of `.text`, also of those without a size.
    pub fn labels(&self) -> &[(String, u64)] {
        &self.labels
    }

    /// The offset of `.text` from the start of the module in memory, where the loader makes no
    /// section before it larger. The sections with code come first, in their order in the file,
    /// each aligned. 0: there is none before `.text`. `None`: the sizes in the file are not
    /// possible.
    pub fn least_offset(&self) -> Option<u64> {
        self.least_offset
    }

    /// The number of branches to symbols that are not in `.text`.
    pub fn external(&self) -> usize {
        self.external.len()
    }

    /// The size of `.text` in bytes.
    pub fn len(&self) -> u64 {
        self.text.len() as u64
    }

    /// Whether there is no code.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The code, where `.text` is at `address`, and the number of its branches without a target,
    /// whose instructions are left out. `symbol` is the address of a symbol of another section or
    /// file.
    pub fn regions(
        &self,
        name: &Arc<str>,
        address: u64,
        symbol: &dyn Fn(&str) -> Option<u64>,
    ) -> (Vec<Region>, usize) {
        let (mut text, mut unknown) = (None, Vec::new());
        for External { at, symbol: name, addend, branch } in &self.external {
            let target = symbol(name).filter(|_| !name.is_empty());
            let from = address.wrapping_add(*at);
            let distance = target
                .map(|target| target.wrapping_add_signed(*addend).wrapping_sub(from).cast_signed());
            let text: &mut Vec<u8> = text.get_or_insert_with(|| self.text.to_vec());
            let place = usize::try_from(*at).ok().and_then(|at| text.get_mut(at..at + 4));
            let encoded = place.and_then(|place| Some((branch.encode(distance?, place)?, place)));
            match encoded {
                Some((opcode, place)) => place.copy_from_slice(&opcode.to_le_bytes()),
                None => unknown.push(*at),
            }
        }
        let text = text.map_or_else(|| self.text.clone(), Bytes::from);
        let mut regions = Vec::new();
        let mut from = 0;
        for &to in unknown.iter().chain([&self.len()]) {
            let part = text.part(from, to.saturating_sub(from));
            if !part.is_empty() {
                regions.push(Region::new(Arc::clone(name), address.wrapping_add(from), part));
            }
            from = to + 4;
        }
        (regions, unknown.len())
    }
}

/// The offset in memory of the section `text`, the sections with code before it having the size in
/// the file. Those of `.init` are elsewhere in memory. Each of them has at least one byte, as the
/// loader may make it larger.
fn least_offset(
    sections: &SectionTable<'_, Header>,
    endian: Endianness,
    text: SectionIndex,
) -> Option<u64> {
    let code = elf::SHF_ALLOC.0 | elf::SHF_EXECINSTR.0;
    let mut end = 0u64;
    for (index, section) in sections.enumerate() {
        let align = section.sh_addralign(endian).max(1);
        let start = end.checked_next_multiple_of(align)?;
        if index == text {
            return Some(start);
        }
        let name = sections.section_name(endian, section).unwrap_or_default();
        if section.sh_flags(endian).0 & code == code && !name.starts_with(b".init") {
            end = start.checked_add(section.sh_size(endian).max(1))?;
        }
    }
    None
}

/// A branch whose target is relocated: the lowest bit of the field and its width. The field counts
/// instructions of 4 bytes.
#[derive(Clone, Copy, Debug)]
struct Branch {
    lowest: u32,
    width: u32,
}

impl Branch {
    /// The field of a relocation. (AAELF64, "Relocations for control-flow instructions")
    fn of(kind: elf::RelocationType) -> Option<Branch> {
        let (lowest, width) = match kind {
            elf::R_AARCH64_CALL26 | elf::R_AARCH64_JUMP26 => (0, 26),
            elf::R_AARCH64_CONDBR19 => (5, 19),
            elf::R_AARCH64_TSTBR14 => (5, 14),
            _ => return None,
        };
        Some(Branch { lowest, width })
    }

    /// The opcode at `place` with the target at `distance`. `None` where the field is too narrow.
    fn encode(&self, distance: i64, place: &[u8]) -> Option<u32> {
        let opcode = u32::from_le_bytes(*place.first_chunk()?);
        let limit = 1i64 << (self.width - 1);
        let count = distance >> 2;
        if distance & 3 != 0 || !(-limit..limit).contains(&count) {
            return None;
        }
        let mask = ((1u32 << self.width) - 1) << self.lowest;
        Some(opcode & !mask | (count as u32) << self.lowest & mask)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows by the A64 encodings: B is 000101 imm26, BL 100101 imm26, B.cond 01010100 imm19 0 cond,
    /// TBZ b5 0110110 b40 imm14 Rt.
    #[test]
    fn branches_are_relocated() {
        for (kind, opcode, distance, want) in [
            (elf::R_AARCH64_CALL26, 0x9400_0000u32, 8, Some(0x9400_0002)),
            (elf::R_AARCH64_JUMP26, 0x1400_0000, -4, Some(0x17ff_ffff)),
            (elf::R_AARCH64_CONDBR19, 0x5400_0001, 16, Some(0x5400_0081)),
            (elf::R_AARCH64_TSTBR14, 0x3600_0003, -8, Some(0x3607_ffc3)),
            (elf::R_AARCH64_TSTBR14, 0x3600_0003, 1 << 15, None),
            (elf::R_AARCH64_CALL26, 0x9400_0000, 2, None),
        ] {
            let branch = Branch::of(kind).unwrap();
            assert_eq!(branch.encode(distance, &opcode.to_le_bytes()), want, "{opcode:#x}");
        }
    }
}
