//! The parts of an ELF file that describe it: headers, symbols and notes. The other bytes of a
//! large file are not read to find its memory.

use std::io::Read;
use std::ops::Range;

use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, SectionTable};
use object::read::{ReadRef, Result, StringTable};
use object::{Endianness, SectionIndex, elf};

use crate::bytes::Bytes;

/// The greatest size of a file header.
const HEADER: u64 = 64;

/// The bytes of all notes that are read.
const MAX_NOTES: u64 = 1 << 20;

/// Parts of a file, in memory. They are read as if the file had these parts only.
#[derive(Debug)]
pub(super) struct Parts<'a> {
    file: &'a Bytes,
    /// Each part and its offset.
    parts: Vec<(u64, Bytes)>,
    /// The bytes that may still be read: twice those of the file, because the parts of a valid file
    /// hardly overlap.
    left: u64,
}

impl<'a> Parts<'a> {
    /// The headers, the symbols with their names, and the notes of `file`. Parts that a header
    /// claims, and that the file does not have, are absent.
    pub(super) fn of<H: FileHeader<Endian = Endianness>>(file: &'a Bytes) -> Parts<'a> {
        let mut parts = Parts { file, parts: Vec::new(), left: 2 * file.len() as u64 };
        parts.add(0, HEADER);
        // What cannot be read is reported where it is used.
        let _ = parts.headers::<H>();
        let _ = parts.notes::<H>();
        let _ = parts.symbols::<H>();
        parts
    }

    /// Adds the tables of segments and sections. Section 0 may contain their lengths.
    fn headers<H: FileHeader<Endian = Endianness>>(&mut self) -> Result<()> {
        let header = H::parse(&*self)?;
        let endian = header.endian()?;
        let (segments, sections) = (header.e_phoff(endian).into(), header.e_shoff(endian).into());
        let segment = size_of::<H::ProgramHeader>() as u64;
        let section = size_of::<H::SectionHeader>() as u64;
        if sections > 0 {
            self.add(sections, section);
        }
        let header = H::parse(&*self)?;
        let counts = (header.phnum(endian, &*self), header.shnum(endian, &*self));
        if let (Ok(count), _) = counts {
            self.add(segments, segment.saturating_mul(count.into()));
        }
        if let (_, Ok(count)) = counts {
            self.add(sections, section.saturating_mul(count.into()));
        }
        Ok(())
    }

    /// Adds the notes of segments and sections: one of them may be the build identifier.
    fn notes<H: FileHeader<Endian = Endianness>>(&mut self) -> Result<()> {
        let header = H::parse(&*self)?;
        let endian = header.endian()?;
        let notes = header.program_headers(endian, &*self)?.iter();
        let notes = notes.filter(|segment| segment.p_type(endian) == elf::PT_NOTE);
        let mut notes: Vec<(u64, u64)> = notes
            .map(|segment| (segment.p_offset(endian).into(), segment.p_filesz(endian).into()))
            .collect();
        let sections = header.section_headers(endian, &*self).unwrap_or_default().iter();
        let sections = sections.filter(|section| section.sh_type(endian) == elf::SHT_NOTE);
        notes.extend(
            sections
                .map(|section| (section.sh_offset(endian).into(), section.sh_size(endian).into())),
        );
        let mut left = MAX_NOTES;
        for (offset, len) in notes {
            if let Some(rest) = left.checked_sub(len) {
                left = rest;
                self.add(offset, len);
            }
        }
        Ok(())
    }

    /// Adds the first table of symbols of each type, its names, and its section indices.
    fn symbols<H: FileHeader<Endian = Endianness>>(&mut self) -> Result<()> {
        let header = H::parse(&*self)?;
        let endian = header.endian()?;
        let sections = header.section_headers(endian, &*self)?;
        let table = SectionTable::<H, &Parts<'_>>::new(sections, StringTable::default());
        let place = |section: &H::SectionHeader| {
            (section.sh_offset(endian).into(), section.sh_size(endian).into())
        };
        let mut places: Vec<(u64, u64)> = Vec::new();
        for kind in [elf::SHT_SYMTAB, elf::SHT_DYNSYM] {
            let found = sections.iter().enumerate().find(|(_, s)| s.sh_type(endian) == kind);
            let Some((index, symbols)) = found else { continue };
            places.push(place(symbols));
            let names = SectionIndex(symbols.sh_link(endian) as usize);
            places.extend(table.section(names).map(place));
            let indices = sections.iter().find(|section| {
                section.sh_type(endian) == elf::SHT_SYMTAB_SHNDX
                    && section.sh_link(endian) as usize == index
            });
            places.extend(indices.map(place));
        }
        for (offset, len) in places {
            self.add(offset, len);
        }
        Ok(())
    }

    /// Reads a part, as far as the file has it.
    fn add(&mut self, offset: u64, len: u64) {
        let part = self.file.part(offset, len);
        let len = part.len() as u64;
        if self.find(offset, len).is_some() {
            return;
        }
        let part = if part.is_in_memory() {
            part
        } else {
            let Some(left) = self.left.checked_sub(len) else { return };
            let mut bytes = Vec::new();
            if part.reader().read_to_end(&mut bytes).is_err() {
                return;
            }
            self.left = left;
            Bytes::from(bytes)
        };
        self.parts.push((offset, part));
    }

    /// `len` bytes at `offset`, where one part has all of them.
    fn find(&self, offset: u64, len: u64) -> Option<&[u8]> {
        self.parts.iter().find_map(|(start, part)| {
            let from = usize::try_from(offset.checked_sub(*start)?).ok()?;
            part.get(from..)?.get(..usize::try_from(len).ok()?)
        })
    }
}

/// Bytes that are in no part cannot be read.
impl<'a> ReadRef<'a> for &'a Parts<'_> {
    fn len(self) -> std::result::Result<u64, ()> {
        Ok(self.file.len() as u64)
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> std::result::Result<&'a [u8], ()> {
        self.find(offset, size).ok_or(())
    }

    fn read_bytes_at_until(
        self,
        range: Range<u64>,
        delimiter: u8,
    ) -> std::result::Result<&'a [u8], ()> {
        let part = self.parts.iter().find_map(|(start, part)| {
            let from = usize::try_from(range.start.checked_sub(*start)?).ok()?;
            let len = usize::try_from(range.end.checked_sub(range.start)?).ok()?;
            let rest = part.get(from..).filter(|rest| !rest.is_empty())?;
            Some(rest.get(..len).unwrap_or(rest))
        });
        let part = part.ok_or(())?;
        let end = part.iter().position(|&byte| byte == delimiter).ok_or(())?;
        part.get(..end).ok_or(())
    }
}
