//! Large files, which are read in blocks as their bytes are needed.
//!
//! The files are not mapped into memory: if a mapped file is truncated, the operating system ends
//! the program at the next access.

use std::fs;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::OnceLock;

use tracewright_image::OnDemand;

/// A large file.
#[derive(Debug)]
pub(crate) struct LargeFile {
    path: PathBuf,
    size: usize,
    /// The open file. Without one, each block opens the path.
    file: Option<fs::File>,
    all: OnceLock<Vec<u8>>,
}

impl LargeFile {
    /// The first `size` bytes of the file at `path`.
    pub(crate) fn new(path: PathBuf, size: usize, file: Option<fs::File>) -> LargeFile {
        LargeFile { path, size, file, all: OnceLock::new() }
    }
}

impl OnDemand for LargeFile {
    fn size(&self) -> usize {
        self.size
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let left = (self.size as u64).saturating_sub(offset);
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
            if bytes.try_reserve_exact(self.size).is_ok() {
                // Bytes that were read before an error remain.
                let _ = Blocks(self, 0).read_to_end(&mut bytes);
            }
            bytes
        })
    }
}

/// A reader of a file from an offset on.
struct Blocks<'a>(&'a LargeFile, u64);

impl Read for Blocks<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read_at(self.1, into)?;
        self.1 += read as u64;
        Ok(read)
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
    use std::io::{Seek, SeekFrom};
    let mut file = file;
    file.seek(SeekFrom::Start(offset))?;
    file.read(into)
}
