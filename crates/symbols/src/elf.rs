//! Functions of the symbol table of an ELF file. (System V gABI, "Symbol Table")

use std::collections::HashMap;

use object::{Object, ObjectSection, ObjectSymbol, SectionFlags, SymbolFlags, elf};
use tracewright_image::{Bytes, mini_debug_info};

use crate::function::{Candidate, Functions};
use crate::stubs;

impl Functions {
    /// The functions of an ELF file, at the addresses in the file: those of `.symtab`, or if it is
    /// stripped, of `.dynsym` and of MiniDebugInfo, and the stubs of the procedure linkage table.
    /// None where the file cannot be read.
    pub fn of_elf(file: &Bytes) -> Functions {
        Functions::new(candidates(file).unwrap_or_default())
    }
}

impl Functions {
    /// The functions of several ELF files, each with the load bias that is added to its addresses.
    /// A file that cannot be read has none. Code of an earlier file hides that of a later one.
    pub fn of_files<'a>(files: impl IntoIterator<Item = (&'a Bytes, u64)>) -> Functions {
        let mut all: Vec<Candidate> = Vec::new();
        let mut earlier: Option<Functions> = None;
        let mut several = false;
        for (file, bias) in files {
            let mut own = candidates(file).unwrap_or_default();
            for candidate in &mut own {
                candidate.start = candidate.start.wrapping_add(bias);
                candidate.limit = candidate.limit.wrapping_add(bias);
            }
            let Some(known) = &mut earlier else {
                earlier = Some(Functions::new(own.clone()));
                all = own;
                continue;
            };
            several = true;
            own.retain(|c| known.at(c.start).function.is_none());
            known.cover(&Functions::new(own.clone()));
            all.append(&mut own);
        }
        match earlier {
            Some(only) if !several => only,
            _ => Functions::new(all),
        }
    }
}

/// The most bytes of names for each byte of the file: symbols may share one, or parts of it. The
/// symbols after that are left out.
const MAX_NAMES: usize = 8;

/// The most symbols whose names have no end. The symbols after that are left out.
const MAX_UNNAMED: usize = 64;

/// The symbols of code and the stubs of `file`.
pub(crate) fn candidates(file: &Bytes) -> Option<Vec<Candidate>> {
    let mini = mini_debug_info(file);
    let data: &[u8] = file;
    let file = object::File::parse(data).ok()?;
    let mut own =
        Names { found: Vec::new(), left: data.len().saturating_mul(MAX_NAMES), unnamed: 0 };
    own.add(&file, true);
    let stubs = stubs::stubs(&file, own.left);
    if let Some(mini) = mini {
        let data: &[u8] = &mini;
        own.left = data.len().saturating_mul(MAX_NAMES);
        // Where it cannot be read, there are those of the program.
        if let Ok(file) = object::File::parse(data) {
            own.add(&file, false);
        }
    }
    own.found.extend(stubs);
    Some(own.found)
}

/// Symbols that were found.
struct Names {
    found: Vec<Candidate>,
    /// The bytes of names that are left.
    left: usize,
    /// Those whose names have no end.
    unnamed: usize,
}

impl Names {
    /// Adds the symbols of code of a file.
    fn add(&mut self, file: &object::File<'_>, dynamic: bool) {
        let arm = file.architecture() == object::Architecture::Arm;
        let limits: HashMap<usize, u64> = file
            .sections()
            .filter(is_code)
            .map(|section| (section.index().0, section.address().saturating_add(section.size())))
            .collect();
        file.symbols().for_each(|symbol| self.symbol(&symbol, arm, &limits));
        if dynamic {
            file.dynamic_symbols().for_each(|symbol| self.symbol(&symbol, arm, &limits));
        }
    }

    /// Adds a symbol, if it is one of code. `limits`: the ends of the sections.
    fn symbol(&mut self, symbol: &object::Symbol<'_, '_>, arm: bool, limits: &HashMap<usize, u64>) {
        if self.left == 0 {
            return;
        }
        let limit = |index: object::SectionIndex| limits.get(&index.0);
        let Some(limit) = symbol.section_index().and_then(limit) else { return };
        let Ok(name) = symbol.name() else {
            // A name without an end has been searched for it up to the end of all names.
            self.unnamed += 1;
            self.left = if self.unnamed > MAX_UNNAMED { 0 } else { self.left };
            return;
        };
        self.left = self.left.saturating_sub(name.len());
        if self.left == 0 {
            return;
        }
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
        self.found.push(Candidate {
            symbol: name.to_owned(),
            start: symbol.address() & !bit,
            size: symbol.size(),
            limit: *limit,
            rank: u8::from(function) << 2
                | if symbol.is_weak() { 1 } else { u8::from(global) << 1 },
            stub: false,
        });
    }
}

/// Whether a section has code.
pub(crate) fn is_code<'a>(section: &impl ObjectSection<'a>) -> bool {
    match section.flags() {
        SectionFlags::Elf { sh_flags, .. } => sh_flags.contains(elf::SHF_EXECINSTR),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program for Arm whose functions, of two bytes each, have the last bytes of `name` as
    /// their names, each one byte less. (System V gABI, "Object Files")
    fn program(functions: u32, name: &str) -> Vec<u8> {
        let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let names = [&[0], name.as_bytes(), &[0]].concat();
        let mut symbols = vec![0; 16];
        for n in 0..functions {
            symbols.extend::<Vec<u8>>(words(&[1 + n, 0x8001 + 2 * n, 2, 1 << 16 | 0x12]));
        }
        // Type, flags, address, contents, link, size of an entry.
        let sections = [
            (0, 0, 0, Vec::new(), 0, 0),
            (1, 6, 0x8000, vec![0; 2 * functions as usize], 0, 0),
            (2, 0, 0, symbols, 3, 16),
            (3, 0, 0, names, 0, 0),
        ];
        let mut at = 52 + 40 * sections.len() as u32;
        let count = sections.len() as u32;
        let mut file: Vec<u8> = [0x7f, b'E', b'L', b'F', 1, 1, 1].to_vec();
        file.resize(16, 0);
        let header = [40 << 16 | 2, 1, 0x8000, 0, 52, 0x0500_0000, 52, 40 << 16, 3 << 16 | count];
        file.extend::<Vec<u8>>(words(&header));
        for (kind, flags, address, contents, link, entry) in &sections {
            let len = contents.len() as u32;
            let header = [0, *kind, *flags, *address, at, len, *link, 0, 4, *entry];
            file.extend::<Vec<u8>>(words(&header));
            at += len;
        }
        sections.iter().for_each(|section| file.extend(&section.3));
        file
    }

    #[test]
    fn symbols_that_share_a_long_name() {
        let few = Functions::of_elf(&Bytes::from(program(3, "abcd")));
        let names: Vec<_> = few.iter().map(|function| function.symbol.as_str()).collect();
        assert_eq!(names, ["abcd", "bcd", "cd"]);
        let file = program(1000, &"n".repeat(100_000));
        let many = candidates(&Bytes::from(file.clone())).expect("symbols");
        let bytes: usize = many.iter().map(|candidate| candidate.symbol.len()).sum();
        assert!(many.len() > 5 && bytes <= MAX_NAMES * file.len(), "{} {bytes}", many.len());
    }
}
