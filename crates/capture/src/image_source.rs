//! A file of program memory that is added to a capture.

use std::path::{Path, PathBuf};

use crate::Bytes;
use crate::access::Access;
use crate::files::Files;
use crate::number::number64;
use crate::open_files::OpenFiles;
use crate::plain::line;
use crate::problem::{OpenError, Problem};
use crate::stamp::Stamp;

/// A file of program memory, and where its bytes are in memory: ELF, Intel HEX, S-records, UF2,
/// what debuggers print, or the bytes from an address on.
#[derive(Clone, Debug)]
pub struct ImageSource {
    files: Files,
    path: PathBuf,
    address: Option<u64>,
    process: Option<u32>,
}

impl ImageSource {
    /// The file at `path` on the disk.
    pub fn file(path: impl Into<PathBuf>) -> ImageSource {
        ImageSource::of(&Files::default(), path)
    }

    /// The file at `path` of `files`.
    pub fn of(files: &Files, path: impl Into<PathBuf>) -> ImageSource {
        ImageSource { files: files.clone(), path: path.into(), address: None, process: None }
    }

    /// A file in memory, with the name that is shown.
    pub fn bytes(name: impl Into<PathBuf>, bytes: impl Into<Bytes>) -> ImageSource {
        let name = name.into();
        ImageSource::of(&Files::named([(name.clone(), bytes.into())]), name)
    }

    /// The same at an address, which bytes without addresses need. To those of an ELF file it is
    /// added; records have addresses, and none is given with them.
    #[must_use]
    pub fn at(self, address: u64) -> ImageSource {
        ImageSource { address: Some(address), ..self }
    }

    /// The same for one process of a capture of perf or simpleperf. Otherwise it is the memory of
    /// all processes, of the kernel, and of other code, such as that of guests.
    #[must_use]
    pub fn in_process(self, process: u32) -> ImageSource {
        ImageSource { process: Some(process), ..self }
    }

    /// Reads `FILE`, `FILE@ADDRESS`, and either with `,pid=PROCESS` behind it, which is how the
    /// command and the C interface name a file on the disk. The name of a file that exists may
    /// contain these characters.
    ///
    /// # Errors
    /// [`OpenError`] where the process is not a number.
    pub fn parse(text: &str) -> Result<ImageSource, OpenError> {
        let split = text.rsplit_once(",pid=").filter(|_| !Path::new(text).exists());
        let (text, process) = match split {
            None => (text, None),
            Some((image, process)) => {
                let number = number64(process).and_then(|number| u32::try_from(number).ok());
                let wrong = || Problem::NotProcess(line(process).into_owned());
                let number = number.ok_or_else(|| OpenError::new(Path::new(image), wrong()))?;
                (image, Some(number))
            }
        };
        let split = text.rsplit_once('@').and_then(|(file, at)| Some((file, number64(at)?)));
        let (path, address) = match split.filter(|_| !Path::new(text).exists()) {
            Some((file, address)) => (file, Some(address)),
            None => (text, None),
        };
        Ok(ImageSource { address, process, ..ImageSource::file(path) })
    }

    /// The path, or the name of a file in memory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The address of its first byte, or what is added to its addresses.
    pub(crate) fn address(&self) -> Option<u64> {
        self.address
    }

    pub(crate) fn process(&self) -> Option<u32> {
        self.process
    }

    /// The bytes of the file, and the states of those that were opened for them.
    ///
    /// # Errors
    /// [`OpenError`] where it cannot be read.
    pub(crate) fn open(&self) -> Result<(Bytes, Vec<Stamp>), OpenError> {
        let mut files = OpenFiles::of(Access::of(self.files.clone()));
        let bytes = files.open(&self.path);
        let bytes = bytes.map_err(|why| OpenError::new(&self.path, Problem::Unreadable(why)))?;
        Ok((bytes, files.stamps))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_name_files_addresses_and_processes() {
        for (text, path, address, process) in [
            ("a.elf", "a.elf", None, None),
            ("a@b.bin@0x8000", "a@b.bin", Some(0x8000), None),
            ("a@b", "a@b", None, None),
            ("a.elf,pid=7", "a.elf", None, Some(7)),
            ("a.bin@16,pid=0x7", "a.bin", Some(16), Some(7)),
        ] {
            let image = ImageSource::parse(text).unwrap();
            assert_eq!(
                (image.path(), image.address(), image.process()),
                (Path::new(path), address, process),
                "{text}"
            );
        }
        assert!(
            ImageSource::parse("a,pid=x").unwrap_err().to_string().contains("is not a process")
        );
    }
}
