//! Large files, which are read in blocks as their bytes are needed. Of program memory, each block
//! that is needed stays in memory.
//!
//! The files are not mapped into memory: if a mapped file is truncated, the operating system ends
//! the program at the next access.

use std::fs;
use std::io::{self, Read, Seek};
use std::path::PathBuf;
use std::sync::OnceLock;

use tracewright_image::OnDemand;

/// The size in bytes of a block that stays in memory.
const BLOCK: usize = 1 << 16;

/// A large file.
#[derive(Debug)]
pub(crate) struct LargeFile {
    path: PathBuf,
    size: u64,
    /// The open file. Without one, each block opens the path.
    file: Option<fs::File>,
    all: OnceLock<Vec<u8>>,
    /// The blocks in memory.
    blocks: OnceLock<Box<[OnceLock<Vec<u8>>]>>,
}

impl LargeFile {
    /// The first `size` bytes of the file at `path`.
    pub(crate) fn new(path: PathBuf, size: u64, file: Option<fs::File>) -> LargeFile {
        LargeFile { path, size, file, all: OnceLock::new(), blocks: OnceLock::new() }
    }

    /// Appends the whole file. It is read from its beginning, because [`read_at`] would need
    /// cleared memory.
    fn read_all(&self, bytes: &mut Vec<u8>) -> io::Result<usize> {
        let opened;
        let mut file = match &self.file {
            Some(file) => file,
            None => {
                opened = fs::File::open(&self.path)?;
                &opened
            }
        };
        file.rewind()?;
        file.take(self.size).read_to_end(bytes)
    }

    /// Bytes from `start` on: `len` of them, or those that can be read.
    fn read_block(&self, start: u64, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        let mut read = 0;
        while let Some(rest) = bytes.get_mut(read..).filter(|rest| !rest.is_empty()) {
            match self.read_at(start + read as u64, rest) {
                Ok(0) => break,
                Ok(some) => read += some,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        bytes.truncate(read);
        bytes
    }
}

impl OnDemand for LargeFile {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let left = self.size.saturating_sub(offset);
        let room = usize::try_from(left).unwrap_or(usize::MAX).min(into.len());
        let Some(into) = into.get_mut(..room) else { return Ok(0) };
        match &self.file {
            Some(file) => read_at(file, offset, into),
            None => read_at(&fs::File::open(&self.path)?, offset, into),
        }
    }

    fn all(&self) -> &[u8] {
        self.all.get_or_init(|| {
            let mut bytes = Vec::new();
            // Where memory does not suffice, no bytes are known.
            let size = usize::try_from(self.size).unwrap_or(usize::MAX);
            if bytes.try_reserve_exact(size).is_ok() {
                // Bytes that were read before an error remain.
                let _ = self.read_all(&mut bytes);
            }
            bytes
        })
    }

    fn run(&self, offset: u64) -> &[u8] {
        const SIZE: u64 = BLOCK as u64;
        if let Some(all) = self.all.get() {
            return usize::try_from(offset).ok().and_then(|at| all.get(at..)).unwrap_or_default();
        }
        let blocks = self
            .blocks
            .get_or_init(|| (0..self.size.div_ceil(SIZE)).map(|_| OnceLock::new()).collect());
        let number = usize::try_from(offset / SIZE).unwrap_or(usize::MAX);
        let Some(block) = blocks.get(number) else { return &[] };
        let bytes = block.get_or_init(|| {
            let start = offset / SIZE * SIZE;
            self.read_block(start, (self.size - start).min(SIZE) as usize)
        });
        bytes.get((offset % SIZE) as usize..).unwrap_or_default()
    }
}

#[cfg(unix)]
fn read_at(file: &fs::File, offset: u64, into: &mut [u8]) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, into, offset)
}

#[cfg(windows)]
fn read_at(file: &fs::File, offset: u64, into: &mut [u8]) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, into, offset)
}

#[cfg(not(any(unix, windows)))]
fn read_at(file: &fs::File, offset: u64, into: &mut [u8]) -> io::Result<usize> {
    use std::io::SeekFrom;
    let mut file = file;
    file.seek(SeekFrom::Start(offset))?;
    file.read(into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_read_where_it_is_needed() {
        let path = std::env::temp_dir().join(format!("tracewright-large-{}", std::process::id()));
        let want: Vec<u8> = (0..3 * BLOCK + 5).map(|n| (n / 7) as u8).collect();
        fs::write(&path, &want).unwrap();
        let file = LargeFile::new(path.clone(), want.len() as u64, None);
        for at in [BLOCK + 1, 2 * BLOCK - 1, 3 * BLOCK, 3 * BLOCK + 4] {
            let end = (at / BLOCK * BLOCK + BLOCK).min(want.len());
            assert_eq!(file.run(at as u64), &want[at..end], "{at}");
        }
        for at in [want.len() as u64, u64::MAX] {
            assert_eq!(file.run(at), [0; 0]);
        }
        let held = file.blocks.get().unwrap().iter().map(|block| block.get().is_some());
        assert_eq!(held.collect::<Vec<_>>(), [false, true, false, true]);
        assert!(file.all.get().is_none());
        assert_eq!(file.all(), want);
        assert_eq!(file.run(1), &want[1..]);
        fs::remove_file(&path).unwrap();
        assert_eq!(LargeFile::new(path, 9, None).run(0), [0; 0]);
    }
}
