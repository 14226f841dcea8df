//! Files as bytes.

use std::{fs::File, io, io::Read, ops::Deref, path::Path};

use memmap2::Mmap;

/// The bytes of a file: mapped where that is possible, read where not.
#[derive(Debug)]
pub struct Bytes(Inner);

#[derive(Debug)]
enum Inner {
    Map(Mmap),
    Read(Vec<u8>),
}

/// The bytes of the file at `path`. A pipe or a device is read to its end.
///
/// A file that is cut shorter while it is mapped ends the program at the first access past its new end.
///
/// # Errors
/// Where the file cannot be opened or read.
pub fn map(path: impl AsRef<Path>) -> io::Result<Bytes> {
    let mut file = File::open(path)?;
    let about = file.metadata()?;
    // Nothing can be mapped of an empty file; files that the system makes up as they are read say that
    // they are empty.
    if about.is_file() && about.len() > 0 {
        // SAFETY: the map is read-only and private to `Bytes`, which gives out shared slices only. That
        // no one changes the file meanwhile cannot be made sure of; callers are told above.
        #[allow(unsafe_code)]
        if let Ok(map) = unsafe { Mmap::map(&file) } {
            return Ok(Bytes(Inner::Map(map)));
        }
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(Bytes(Inner::Read(bytes)))
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
