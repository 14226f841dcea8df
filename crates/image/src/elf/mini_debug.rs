//! MiniDebugInfo: the symbols of a stripped program, as an ELF file that xz has packed in a section
//! of it. (GDB manual, "Debugging information in a special section")

use std::io::Read;

use object::read::elf::{FileHeader, SectionHeader};
use object::{Endianness, elf};

use super::parts::Parts;
use crate::bytes::Bytes;

/// The name of the section.
const NAME: &[u8] = b".gnu_debugdata\0";

/// The most bytes of the names of sections.
const MAX_NAMES: u64 = 1 << 20;

/// The most bytes of the file that is unpacked.
const MAX_UNPACKED: u64 = 1 << 27;

/// The most memory in KiB for the dictionary of xz.
const XZ_MEMORY: u32 = 1 << 16;

/// The file with the symbols that the ELF file `file` has packed. `None`: it has none, or a table
/// of symbols of its own (SHT_SYMTAB), or what is packed cannot be read.
pub fn mini_debug_info(file: &Bytes) -> Option<Bytes> {
    match file.head(5).first_chunk() {
        Some([0x7f, b'E', b'L', b'F', 1]) => unpacked::<elf::FileHeader32<Endianness>>(
            file,
            &Parts::of::<elf::FileHeader32<Endianness>>(file),
        ),
        Some([0x7f, b'E', b'L', b'F', 2]) => unpacked::<elf::FileHeader64<Endianness>>(
            file,
            &Parts::of::<elf::FileHeader64<Endianness>>(file),
        ),
        _ => None,
    }
}

/// As [`mini_debug_info`], with the headers of the file.
pub(super) fn unpacked<H: FileHeader<Endian = Endianness>>(
    file: &Bytes,
    data: &Parts<'_>,
) -> Option<Bytes> {
    let header = H::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.section_headers(endian, data).ok()?;
    if sections.iter().any(|own| own.sh_type(endian) == elf::SHT_SYMTAB) {
        return None;
    }
    let names = sections.get(header.shstrndx(endian, data).ok()? as usize)?;
    let len: u64 = names.sh_size(endian).into();
    let mut text = Vec::new();
    let part = file.part(names.sh_offset(endian).into(), len.min(MAX_NAMES));
    part.reader().read_to_end(&mut text).ok()?;
    let is_own = |own: &&H::SectionHeader| {
        text.get(own.sh_name(endian) as usize..).is_some_and(|name| name.starts_with(NAME))
    };
    let own = sections.iter().find(is_own)?;
    let packed = file.part(own.sh_offset(endian).into(), own.sh_size(endian).into());
    let reader = lzma_rust2::XzReader::new_mem_limit(packed.reader(), true, XZ_MEMORY);
    let mut bytes = Vec::new();
    reader.take(MAX_UNPACKED).read_to_end(&mut bytes).ok()?;
    Some(Bytes::from(bytes))
}
