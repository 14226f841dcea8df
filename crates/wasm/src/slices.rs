//! Files of the client, whose bytes are read when they are needed.

use std::io;
use std::sync::OnceLock;

use tracewright::image::OnDemand;

use crate::host;

/// The size in bytes of a block that stays in memory.
const BLOCK: u64 = 1 << 16;

/// A file of the client. Offsets have 64 bits: it may be larger than the memory of the module.
#[derive(Debug)]
pub(crate) struct Slices {
    file: u32,
    size: u64,
    all: OnceLock<Vec<u8>>,
    /// The blocks in memory.
    blocks: OnceLock<Box<[OnceLock<Vec<u8>>]>>,
}

impl Slices {
    /// The file with this number, which has `size` bytes.
    pub(crate) fn new(file: u32, size: u64) -> Slices {
        Slices { file, size, all: OnceLock::new(), blocks: OnceLock::new() }
    }

    /// `len` bytes from `start` on, or those that can be read.
    fn bytes(&self, start: u64, len: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        // Where memory does not suffice, no bytes are known.
        if bytes.try_reserve_exact(len).is_err() {
            return bytes;
        }
        bytes.resize(len, 0);
        let mut read = 0;
        while let Some(rest) = bytes.get_mut(read..).filter(|rest| !rest.is_empty()) {
            match self.read_at(start + read as u64, rest) {
                Ok(some) if some > 0 => read += some,
                _ => break,
            }
        }
        bytes.truncate(read);
        bytes
    }
}

impl OnDemand for Slices {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.size.saturating_sub(offset)).unwrap_or(usize::MAX);
        match into.get_mut(..left).map(|into| into.len()) {
            Some(0) => Ok(0),
            Some(some) => host::read(self.file, offset, into.get_mut(..some).unwrap_or_default()),
            None => host::read(self.file, offset, into),
        }
    }

    fn all(&self) -> &[u8] {
        self.all.get_or_init(|| match usize::try_from(self.size) {
            Ok(size) => self.bytes(0, size),
            Err(_) => Vec::new(),
        })
    }

    fn run(&self, offset: u64) -> &[u8] {
        if let Some(all) = self.all.get() {
            return usize::try_from(offset).ok().and_then(|at| all.get(at..)).unwrap_or_default();
        }
        let count = || (0..self.size.div_ceil(BLOCK)).map(|_| OnceLock::new()).collect();
        let number = usize::try_from(offset / BLOCK).unwrap_or(usize::MAX);
        let Some(block) = self.blocks.get_or_init(count).get(number) else { return &[] };
        let bytes = block.get_or_init(|| {
            let start = offset / BLOCK * BLOCK;
            self.bytes(start, (self.size - start).min(BLOCK) as usize)
        });
        bytes.get((offset % BLOCK) as usize..).unwrap_or_default()
    }
}
