//! Trace on its way into a capture.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::files::{read, reason};
use crate::{Buffer, File, OpenError, Wrong};

/// The bytes of a buffer while they are made: in a file beside the capture that will have them, so that memory
/// need not hold them. What is not finished is deleted.
#[derive(Debug)]
pub struct Spool {
    path: PathBuf,
    file: Option<BufWriter<fs::File>>,
}

impl Spool {
    /// A file for buffer `n` of the capture that will be written to `folder`.
    ///
    /// # Errors
    /// [`OpenError`] where it cannot be made.
    pub fn new(folder: &Path, n: usize) -> Result<Spool, OpenError> {
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        let beside = match folder.file_name() {
            Some(_) => folder,
            // `..`, which is not empty.
            None => std::env::temp_dir().join("tracewright"),
        };
        let name = beside.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let path = beside.with_file_name(format!("{name}.buffer{n}.part"));
        let file = fs::File::create(&path).map_err(|error| failed(&path, &error))?;
        Ok(Spool { path, file: Some(BufWriter::new(file)) })
    }

    /// Adds what comes next.
    ///
    /// # Errors
    /// [`OpenError`] where it cannot be written.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), OpenError> {
        let done = match &mut self.file {
            Some(file) => file.write_all(bytes),
            None => Ok(()),
        };
        done.map_err(|error| failed(&self.path, &error))
    }

    /// Gives the file to `buffer`, behind whose bytes there is nothing more.
    ///
    /// # Errors
    /// [`OpenError`] where it cannot be written, or read again.
    pub fn finish(mut self, buffer: &mut Buffer) -> Result<(), OpenError> {
        self.append(&buffer.bytes())?;
        let flushed = self.file.take().map_or(Ok(()), |mut file| file.flush());
        let bytes = flushed.and_then(|()| read(&self.path));
        let bytes = bytes.map_err(|error| failed(&self.path, &error))?;
        let (name, path) = (buffer.name.clone(), std::mem::take(&mut self.path));
        buffer.files = vec![File { name, path, bytes, pipe: None, spooled: true }];
        Ok(())
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        if !self.path.as_os_str().is_empty() {
            // It may be gone already.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn failed(path: &Path, error: &io::Error) -> OpenError {
    OpenError::new(path, Wrong::NotWritten(reason(error)))
}

/// Puts a spooled file where a capture has it.
pub(crate) fn take_along(from: &Path, to: &Path) -> io::Result<()> {
    // A second time, or on another disk.
    fs::rename(from, to).or_else(|_| fs::copy(from, to).and_then(|_| fs::remove_file(from)))
}

#[cfg(feature = "toml")]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BufferRef, Capture, Format, Source};

    #[test]
    fn a_capture_takes_it_along() {
        let root = std::env::temp_dir().join(format!("tracewright-spool-{}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        for (form, name) in [("snapshot", "a"), ("folder", "b")] {
            let folder = root.join(name);
            let mut spool = Spool::new(&folder, 0).unwrap();
            spool.append(&[1, 2, 3]).unwrap();
            let mut buffer = Buffer::new("ETB_0", Format::SourceData, vec![4, 5]);
            spool.finish(&mut buffer).unwrap();
            let links = vec![BufferRef { buffer: 0, stream: None }];
            let source = Source {
                name: "source".into(),
                device_type: "ETE".into(),
                buffers: links,
                ..Source::default()
            };
            let mut capture = Capture::default();
            capture.buffers.push(buffer);
            capture.sources.push(source);
            match form {
                "snapshot" => crate::write(&capture, &folder).unwrap(),
                _ => crate::folder::write(&capture, &folder).unwrap(),
            }
            let read = crate::open(&folder).unwrap();
            assert_eq!(*read.buffers[0].bytes(), [1, 2, 3, 4, 5], "{form}");
        }
        // What is not finished is not left.
        drop(Spool::new(&root.join("c"), 0).unwrap());
        let mut left: Vec<_> =
            fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["a", "b"]);
        fs::remove_dir_all(&root).unwrap();
    }
}
