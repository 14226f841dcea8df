//! Functions of the symbol table of an ELF file. (System V gABI, "Symbol Table")

use object::{Object, ObjectSection, ObjectSymbol, SectionFlags, SymbolFlags, elf};
use tracewright_image::Bytes;

use crate::stubs;
use crate::{Candidate, Functions};

impl Functions {
    /// The functions of an ELF file, at the addresses in the file: those of `.symtab`, or of
    /// `.dynsym` if it is stripped, and the stubs of the procedure linkage table. None where the
    /// file cannot be read.
    pub fn of_elf(file: &Bytes) -> Functions {
        Functions::new(candidates(file).unwrap_or_default())
    }
}

impl Functions {
    /// The functions of several ELF files, each with the load bias that is added to its addresses.
    /// A file that cannot be read has none. Code of an earlier file hides that of a later one.
    pub fn of_files<'a>(files: impl IntoIterator<Item = (&'a Bytes, u64)>) -> Functions {
        let mut all: Vec<Candidate> = Vec::new();
        let mut earlier: Vec<Functions> = Vec::new();
        for (file, bias) in files {
            let mut own = candidates(file).unwrap_or_default();
            for candidate in &mut own {
                candidate.start = candidate.start.wrapping_add(bias);
                candidate.limit = candidate.limit.wrapping_add(bias);
            }
            own.retain(|c| earlier.iter().all(|known| known.at(c.start).function.is_none()));
            earlier.push(Functions::new(own.clone()));
            all.append(&mut own);
        }
        match earlier.pop() {
            Some(only) if earlier.is_empty() => only,
            _ => Functions::new(all),
        }
    }
}

/// The symbols of code and the stubs of `file`.
pub(crate) fn candidates(file: &Bytes) -> Option<Vec<Candidate>> {
    let data: &[u8] = file;
    let file = object::File::parse(data).ok()?;
    let arm = file.architecture() == object::Architecture::Arm;
    let mut found = Vec::new();
    let limits: Vec<(usize, u64)> = file
        .sections()
        .filter(is_code)
        .map(|section| (section.index().0, section.address().saturating_add(section.size())))
        .collect();
    let mut add = |symbol: object::Symbol<'_, '_>| {
        let Ok(name) = symbol.name() else { return };
        let limit = |index: object::SectionIndex| limits.iter().find(|(n, _)| *n == index.0);
        let Some((_, limit)) = symbol.section_index().and_then(limit) else { return };
        let SymbolFlags::Elf { st_info, .. } = symbol.flags() else { return };
        let kind = st_info.st_type();
        let function = kind == elf::STT_FUNC || kind == elf::STT_GNU_IFUNC;
        let global = symbol.is_global();
        // A local symbol without a type is a label, or marks data among code ($x, $d).
        if name.is_empty()
            || name.starts_with('$')
            || !function && (kind != elf::STT_NOTYPE || !global)
        {
            return;
        }
        let bit = u64::from(arm && function);
        found.push(Candidate {
            symbol: name.to_owned(),
            start: symbol.address() & !bit,
            size: symbol.size(),
            limit: *limit,
            rank: u8::from(function) << 2
                | if symbol.is_weak() { 1 } else { u8::from(global) << 1 },
            stub: false,
        });
    };
    file.symbols().for_each(&mut add);
    file.dynamic_symbols().for_each(&mut add);
    found.extend(stubs::stubs(&file));
    Some(found)
}

/// Whether a section has code.
pub(crate) fn is_code<'a>(section: &impl ObjectSection<'a>) -> bool {
    match section.flags() {
        SectionFlags::Elf { sh_flags, .. } => sh_flags.contains(elf::SHF_EXECINSTR),
        _ => false,
    }
}
