//! The sections of debug information of a program file, decompressed. (System V gABI, "Compressed
//! sections": zlib and Zstandard)

use std::borrow::Cow;

use gimli::{RunTimeEndian, SectionId};
use object::read::CompressionFormat;
use object::{Architecture, File, Object, ObjectSection};

use crate::bytes::Bytes;

/// The most bytes of a decompressed section for each byte that is compressed, and for a section of
/// any size. The file states the size, which is allocated at once.
const RATIO: u64 = 256;
const MOST: u64 = 1 << 30;

/// The sections of debug information of an ELF file.
#[derive(Debug)]
pub struct DebugSections<'a> {
    file: File<'a>,
    /// The bytes of the file, and those of the sections that were decompressed.
    size: usize,
}

impl<'a> DebugSections<'a> {
    /// Reads the headers of a file. `None`: it is not an object file, or its headers are damaged.
    pub fn read(file: &'a Bytes) -> Option<DebugSections<'a>> {
        let bytes: &[u8] = file;
        Some(DebugSections { file: File::parse(bytes).ok()?, size: bytes.len() })
    }

    /// The order of bytes.
    pub fn endian(&self) -> RunTimeEndian {
        match self.file.is_little_endian() {
            true => RunTimeEndian::Little,
            false => RunTimeEndian::Big,
        }
    }

    /// Whether the file has the section.
    pub fn has(&self, id: SectionId) -> bool {
        self.file.section_by_name(id.name()).is_some()
    }

    /// The contents of a section, decompressed; empty where the file does not have it.
    ///
    /// # Errors
    /// Why they cannot be read.
    pub fn load(&mut self, id: SectionId) -> Result<Cow<'a, [u8]>, &'static str> {
        let Some(section) = self.file.section_by_name(id.name()) else {
            return Ok(Cow::Borrowed(&[]));
        };
        let damaged = |_| "a compressed section is damaged";
        let data = section.compressed_data().map_err(damaged)?;
        if data.format != CompressionFormat::None {
            let most = (data.data.len() as u64).saturating_mul(RATIO).min(MOST);
            if data.uncompressed_size > most {
                return Err("the stated size of a compressed section is too large");
            }
            self.size = self.size.saturating_add(data.uncompressed_size as usize);
        }
        data.decompress().map_err(damaged)
    }

    /// The size of the file, with what [`load`](DebugSections::load) decompressed: limits of what
    /// is read depend on it.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The size of the smallest instruction in bytes.
    pub(crate) fn smallest(&self) -> u64 {
        if self.file.architecture() == Architecture::Aarch64 { 4 } else { 2 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with one section, whose header states `size`: SHF_COMPRESSED, ch_type `kind`.
    fn file(kind: u32, size: u64, packed: &[u8]) -> Bytes {
        let mut section = Vec::new();
        section.extend(kind.to_le_bytes());
        section.extend([0; 4]);
        section.extend(size.to_le_bytes());
        section.extend(1u64.to_le_bytes());
        section.extend(packed);
        let names = b"\0.debug_line\0";
        let mut out = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\xb7\0\x01\0\0\0".to_vec();
        let table = 64 + section.len() + names.len();
        for word in [0, 0, table as u64] {
            out.extend(word.to_le_bytes());
        }
        out.extend([0, 0, 0, 0, 64, 0, 56, 0, 0, 0, 64, 0, 3, 0, 2, 0]);
        out.extend(&section);
        out.extend(names);
        let mut header = |name: u32, kind: u32, flags: u64, at: usize, len: usize| {
            out.extend(name.to_le_bytes());
            out.extend(kind.to_le_bytes());
            for word in [flags, 0, at as u64, len as u64, 0, 1, 0] {
                out.extend(word.to_le_bytes());
            }
        };
        header(0, 0, 0, 0, 0);
        header(1, 1, 0x800, 64, section.len());
        header(0, 3, 0, 64 + section.len(), names.len());
        out.into()
    }

    /// 100 times `abc`, as Python's `zlib.compress` compresses it.
    const ZLIB: [u8; 15] =
        [0x78, 0x9c, 0x4b, 0x4c, 0x4a, 0x4e, 0x1c, 0x45, 0xc4, 0x21, 0x00, 0x88, 0x4d, 0x72, 0xd9];

    #[test]
    fn sections_are_decompressed() {
        let want: Vec<u8> = b"abc".repeat(100);
        let bytes = file(1, 300, &ZLIB);
        let mut sections = DebugSections::read(&bytes).unwrap();
        assert!(sections.has(SectionId::DebugLine) && !sections.has(SectionId::DebugInfo));
        assert_eq!(sections.load(SectionId::DebugLine).unwrap(), want);
        assert_eq!(sections.size(), bytes.len() + 300);
        assert!(sections.load(SectionId::DebugInfo).unwrap().is_empty());
        for (kind, size, packed, why) in [
            (1, 301, &ZLIB[..], "damaged"),
            (1, 300, &ZLIB[..9], "damaged"),
            (2, 300, &ZLIB, "damaged"),
            (9, 300, &ZLIB, "damaged"),
            (1, 1 << 40, &ZLIB, "too large"),
            (1, 15 * RATIO + 1, &ZLIB, "too large"),
        ] {
            let bytes = file(kind, size, packed);
            let mut sections = DebugSections::read(&bytes).unwrap();
            let error = sections.load(SectionId::DebugLine).unwrap_err();
            assert!(error.contains(why), "{kind} {size}: {error}");
        }
    }
}
