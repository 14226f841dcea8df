//! Memory that the program does not write: sections of an ELF file. (System V gABI, "Sections")

use object::{Object, ObjectSection, ObjectSegment, SectionFlags, SegmentFlags, elf};
use tracewright_image::Bytes;

/// A part of memory whose bytes are those of a file.
#[derive(Clone, Debug)]
struct Part {
    start: u64,
    bytes: Bytes,
}

/// The memory that no instruction writes, as the program files state it.
#[derive(Clone, Debug, Default)]
pub struct ConstantMemory {
    /// In order of their addresses.
    parts: Vec<Part>,
}

impl ConstantMemory {
    /// The constant memory of several ELF files, each with the load bias that is added to its
    /// addresses: sections with code or data that are not writable, or the segments of a file
    /// without sections. A file that cannot be read has none.
    pub fn of_files<'a>(files: impl IntoIterator<Item = (&'a Bytes, u64)>) -> ConstantMemory {
        let mut parts = Vec::new();
        for (bytes, bias) in files {
            let data: &[u8] = bytes;
            let Ok(file) = object::File::parse(data) else { continue };
            let mut add = |address: u64, range: Option<(u64, u64)>| {
                if let Some((offset, size)) = range.filter(|(_, size)| *size > 0) {
                    let start = address.wrapping_add(bias);
                    parts.push(Part { start, bytes: bytes.part(offset, size) });
                }
            };
            let (allocated, writable) = (elf::SHF_ALLOC.0, elf::SHF_WRITE.0);
            if file.sections().next().is_some() {
                for section in file.sections() {
                    if let SectionFlags::Elf { sh_flags, .. } = section.flags()
                        && sh_flags.0 & (allocated | writable) == allocated
                    {
                        add(section.address(), section.file_range());
                    }
                }
            } else {
                for segment in file.segments() {
                    if let SegmentFlags::Elf { p_flags, .. } = segment.flags()
                        && p_flags.0 & elf::PF_W.0 == 0
                    {
                        add(segment.address(), Some(segment.file_range()));
                    }
                }
            }
        }
        parts.sort_by_key(|part: &Part| part.start);
        ConstantMemory { parts }
    }

    /// Reads the memory from `address` on, and returns how many bytes are known.
    pub fn read(&self, address: u64, out: &mut [u8]) -> usize {
        let mut done = 0;
        while let Some(rest) = out.get_mut(done..).filter(|rest| !rest.is_empty()) {
            let at = address.wrapping_add(done as u64);
            let next = self.parts.partition_point(|part| part.start <= at);
            let Some(part) = next.checked_sub(1).and_then(|n| self.parts.get(n)) else { break };
            let known = part.bytes.run(at - part.start);
            let len = known.len().min(rest.len());
            if len == 0 {
                break;
            }
            for (to, from) in rest.iter_mut().zip(known) {
                *to = *from;
            }
            done += len;
        }
        done
    }

    /// Whether any part touches the addresses from `start` to `last`.
    pub fn touches(&self, start: u64, last: u64) -> bool {
        self.parts
            .iter()
            .any(|part| part.start <= last && start.saturating_sub(part.start) < part.bytes.size())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_together() {
        let part = |start, bytes: &[u8]| Part { start, bytes: Bytes::from(bytes.to_vec()) };
        let memory = ConstantMemory { parts: vec![part(4, &[1, 2]), part(6, &[3]), part(9, &[4])] };
        let mut out = [0xee; 8];
        assert_eq!(memory.read(5, &mut out), 2);
        assert_eq!(out[..3], [2, 3, 0xee]);
        assert_eq!((memory.read(7, &mut out), memory.read(0, &mut out)), (0, 0));
        assert_eq!(memory.read(9, &mut out), 1);
        assert!(memory.touches(0, 4) && memory.touches(5, 5) && !memory.touches(7, 8));
    }
}
