//! The sections of an ELF file by type. (System V gABI, "Sections")

use object::read::elf::{FileHeader, SectionHeader};
use object::{Endianness, elf};

/// A section.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Section<'a> {
    /// `sh_type`.
    pub(crate) kind: u32,
    pub(crate) data: &'a [u8],
}

/// The sections of a file.
#[derive(Clone, Debug)]
pub(crate) struct Sections<'a> {
    /// Integers are big-endian.
    pub(crate) big: bool,
    /// Addresses have 8 bytes.
    pub(crate) bits64: bool,
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
        kind: section.sh_type(endian).0,
        data: section.data(endian, file).unwrap_or_default(),
    });
    Some(Sections { big: header.is_big_endian(), bits64: header.is_type_64(), all: all.collect() })
}
