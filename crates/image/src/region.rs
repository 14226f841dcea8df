//! A contiguous piece of memory.

use std::sync::Arc;

use crate::bytes::Bytes;
use crate::space::SpaceMask;

/// A contiguous piece of memory and the name of its file.
#[derive(Clone, Debug)]
pub struct Region {
    name: Arc<str>,
    start: u64,
    len: u64,
    spaces: SpaceMask,
    content: Content,
    missing: u64,
    module: Option<Module>,
}

/// The file that a region of an address space is mapped from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Module {
    /// Its index in [`AddressSpaces::modules`](crate::AddressSpaces::modules).
    pub index: u32,
    /// What is subtracted from an address in memory for the address in the file.
    pub bias: u64,
}

#[derive(Clone, Debug)]
enum Content {
    Bytes(Bytes),
    Zeros,
}

/// The bytes that [`Region::run`] returns for a region of zeros.
const ZEROS: &[u8] = &[0; 4096];

/// A part of a raw memory dump and its address.
#[derive(Clone, Copy, Debug, Default)]
pub struct Dump {
    /// Address of its first byte.
    pub address: u64,
    /// Offset of that byte in the file.
    pub offset: u64,
    /// Length in bytes; `None` for the rest of the file.
    pub length: Option<u64>,
    /// The address spaces that it belongs to.
    pub spaces: SpaceMask,
}

impl Region {
    /// `bytes` at `address`, in every space. Bytes past the top of the address space are omitted.
    pub fn new(name: impl Into<Arc<str>>, address: u64, bytes: impl Into<Bytes>) -> Region {
        let bytes = bytes.into();
        // At address 0 the sum saturates, so that the length fits in a u64.
        let room = (u64::MAX - address).saturating_add(1);
        let bytes = bytes.part(0, room);
        Region {
            name: name.into(),
            start: address,
            len: bytes.size(),
            spaces: SpaceMask::ANY,
            content: Content::Bytes(bytes),
            missing: 0,
            module: None,
        }
    }

    /// `length` bytes of zeros at `address`, in every space.
    pub fn zeros(name: impl Into<Arc<str>>, address: u64, length: u64) -> Region {
        Region {
            name: name.into(),
            start: address,
            len: length.min((u64::MAX - address).saturating_add(1)),
            spaces: SpaceMask::ANY,
            content: Content::Zeros,
            missing: 0,
            module: None,
        }
    }

    /// A raw dump. The region ends at the end of `file`; [`Region::missing`] is the number of bytes
    /// of `dump` beyond it.
    pub fn dump(name: impl Into<Arc<str>>, file: &Bytes, dump: Dump) -> Region {
        let bytes = file.part(dump.offset, dump.length.unwrap_or(u64::MAX));
        let found = bytes.len() as u64;
        let region = Region::new(name, dump.address, bytes).within(dump.spaces);
        Region { missing: dump.length.map_or(0, |wanted| wanted.saturating_sub(found)), ..region }
    }

    /// The same region in `spaces` only.
    #[must_use]
    pub fn within(self, spaces: SpaceMask) -> Region {
        Region { spaces, ..self }
    }

    /// The same region as a part of `module`.
    #[must_use]
    pub fn of_module(self, module: Module) -> Region {
        Region { module: Some(module), ..self }
    }

    /// The part of the region between two addresses, the last one included. `None` where the region
    /// has no byte there.
    #[must_use]
    pub fn between(&self, first: u64, last: u64) -> Option<Region> {
        let (first, last) = (first.max(self.start), last.min(self.last()?));
        let len = last.checked_sub(first)?.saturating_add(1);
        let content = match &self.content {
            Content::Bytes(bytes) => Content::Bytes(bytes.part(first - self.start, len)),
            Content::Zeros => Content::Zeros,
        };
        Some(Region { start: first, len, content, missing: 0, ..self.clone() })
    }

    /// The file that the region is mapped from.
    pub fn module(&self) -> Option<Module> {
        self.module
    }

    /// The name of its file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Address of the first byte.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Address of the last byte; `None` for a region without bytes.
    pub fn last(&self) -> Option<u64> {
        Some(self.start + self.len.checked_sub(1)?)
    }

    /// The address spaces that it belongs to.
    pub fn spaces(&self) -> SpaceMask {
        self.spaces
    }

    /// The number of bytes that are missing at the end of its file.
    pub fn missing(&self) -> u64 {
        self.missing
    }

    pub(crate) fn with_missing(self, missing: u64) -> Region {
        Region { missing, ..self }
    }

    /// A copy of the bytes of its file; empty for a region of zeros.
    pub fn all(&self) -> Vec<u8> {
        match &self.content {
            Content::Bytes(bytes) => bytes.to_vec(),
            Content::Zeros => Vec::new(),
        }
    }

    /// Bytes from `address` on: at least one, possibly not all. Empty outside of the region.
    pub fn run(&self, address: u64) -> &[u8] {
        let Some(left) =
            address.checked_sub(self.start).and_then(|offset| self.len.checked_sub(offset))
        else {
            return &[];
        };
        let run = match &self.content {
            Content::Bytes(bytes) => bytes.run(address - self.start),
            Content::Zeros => ZEROS,
        };
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        run.get(..left).unwrap_or(run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dump_is_a_part_of_its_file() {
        let file = Bytes::from((0..8).collect::<Vec<u8>>());
        for (offset, length, want, missing) in [
            (0, None, &[0, 1, 2, 3, 4, 5, 6, 7][..], 0),
            (6, None, &[6, 7], 0),
            (2, Some(3), &[2, 3, 4], 0),
            (6, Some(3), &[6, 7], 1),
            (9, Some(3), &[], 3),
            (9, None, &[], 0),
        ] {
            let dump = Dump { address: 0x100, offset, length, ..Dump::default() };
            let region = Region::dump("a.bin", &file, dump);
            assert_eq!(region.run(0x100), want, "{dump:?}");
            assert_eq!(region.missing(), missing, "{dump:?}");
            assert_eq!(
                region.last(),
                (0xff + want.len() as u64 != 0xff).then_some(0xff + want.len() as u64)
            );
        }
    }

    #[test]
    fn a_region_ends_at_the_end_of_the_address_space() {
        let region = Region::new("top", u64::MAX - 1, vec![1, 2, 3, 4]);
        assert_eq!(region.last(), Some(u64::MAX));
        assert_eq!(region.run(u64::MAX), [2]);
        assert_eq!(region.run(0), []);
        assert_eq!(Region::zeros("top", u64::MAX - 1, 9).last(), Some(u64::MAX));
    }

    #[test]
    fn zeros_use_no_memory_and_end() {
        let region = Region::zeros("bss", 0x1000, 1 << 40);
        assert!(region.run(0x1000).iter().all(|&byte| byte == 0));
        assert_eq!(region.run(0x1000 + (1 << 40) - 3), [0, 0, 0]);
        assert_eq!(region.run(0x1000 + (1 << 40)), []);
        assert_eq!(region.run(0xfff), []);
    }
}
