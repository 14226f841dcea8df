//! Files as bytes.

use std::{fs::File, io, io::Read, ops::Deref, path::Path};

#[cfg(feature = "mmap")]
use memmap2::Mmap;

/// The bytes of a file, in a memory map or in a buffer.
#[derive(Debug)]
pub struct Bytes(Inner);

#[derive(Debug)]
enum Inner {
    #[cfg(feature = "mmap")]
    Map(Mmap),
    Read(Vec<u8>),
}

/// The bytes of the file at `path`, as a memory map if possible. A pipe or a device is read to its
/// end. Without the feature `mmap`, every file is read.
///
/// If a mapped file is truncated, the operating system ends the program at the first access past the
/// new end.
///
/// # Errors
/// An [`io::Error`] if the file cannot be opened or read.
pub fn map(path: impl AsRef<Path>) -> io::Result<Bytes> {
    let mut file = File::open(path)?;
    #[cfg(feature = "mmap")]
    if let Some(map) = memory_map(&file)? {
        return Ok(map);
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(Bytes(Inner::Read(bytes)))
}

/// A memory map of `file`, or `None` if `file` cannot be mapped.
#[cfg(feature = "mmap")]
fn memory_map(file: &File) -> io::Result<Option<Bytes>> {
    let about = file.metadata()?;
    // An empty file has no map. Files that the system generates on reading report length 0.
    if !about.is_file() || about.len() == 0 {
        return Ok(None);
    }
    // SAFETY: the map is read-only and private to `Bytes`, which hands out shared slices only. A
    // concurrent change of the file cannot be excluded; the documentation of `map` states this.
    #[allow(unsafe_code)]
    let map = unsafe { Mmap::map(file) };
    Ok(map.ok().map(|map| Bytes(Inner::Map(map))))
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Bytes(Inner::Read(bytes))
    }
}

impl Default for Bytes {
    fn default() -> Self {
        Bytes::from(Vec::new())
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            #[cfg(feature = "mmap")]
            Inner::Map(map) => map,
            Inner::Read(bytes) => bytes,
        }
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}
