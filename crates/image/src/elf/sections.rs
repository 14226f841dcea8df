//! The sections of an ELF file by name. (System V gABI, "Sections")

use object::read::elf::{FileHeader, SectionHeader};
use object::{Endianness, elf};

/// A section.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Section<'a> {
    pub(crate) name: &'a [u8],
    /// `sh_type`.
    pub(crate) kind: u32,
    /// The section has SHF_COMPRESSED.
    pub(crate) compressed: bool,
    pub(crate) data: &'a [u8],
}

/// The sections of a file.
#[derive(Clone, Debug)]
pub(crate) struct Sections<'a> {
    /// Integers are big-endian.
    pub(crate) big: bool,
    /// Addresses have 8 bytes.
    pub(crate) bits64: bool,
    /// `e_machine`.
    pub(crate) machine: u16,
    all: Vec<Section<'a>>,
}

impl<'a> Sections<'a> {
    /// Reads the sections of `file`. `None`: it is not an ELF file, or its headers are damaged.
    pub(crate) fn read(file: &'a [u8]) -> Option<Sections<'a>> {
        match file {
            [0x7f, b'E', b'L', b'F', 1, ..] => read::<elf::FileHeader32<Endianness>>(file),
            [0x7f, b'E', b'L', b'F', 2, ..] => read::<elf::FileHeader64<Endianness>>(file),
            _ => None,
        }
    }

    /// The first section with this name.
    pub(crate) fn named(&self, name: &str) -> Option<Section<'a>> {
        self.all.iter().find(|section| section.name == name.as_bytes()).copied()
    }

    /// All sections of a type.
    pub(crate) fn of_kind(&self, kind: u32) -> impl Iterator<Item = Section<'a>> {
        self.all.iter().filter(move |section| section.kind == kind).copied()
    }
}

fn read<'a, H: FileHeader<Endian = Endianness>>(file: &'a [u8]) -> Option<Sections<'a>> {
    let header = H::parse(file).ok()?;
    let endian = header.endian().ok()?;
    let table = header.sections(endian, file).ok()?;
    let all = table.iter().map(|section| Section {
        name: table.section_name(endian, section).unwrap_or_default(),
        kind: section.sh_type(endian).0,
        compressed: section.sh_flags(endian).0 & elf::SHF_COMPRESSED.0 != 0,
        data: section.data(endian, file).unwrap_or_default(),
    });
    Some(Sections {
        big: header.is_big_endian(),
        bits64: header.is_type_64(),
        machine: header.e_machine(endian).0,
        all: all.collect(),
    })
}
