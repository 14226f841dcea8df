//! Trace data that are stored on disk until their capture is written.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::buffer::Buffer;
use crate::buffer_file::File;
use crate::open_files::{OpenFiles, reason};
use crate::problem::{OpenError, Problem};
use crate::replacement::create;

/// The bytes of a buffer while they are encoded, in a file next to the folder of their capture. The
/// file bounds memory use. It is created exclusively, under a name that cannot be predicted. It is
/// deleted if the spool is dropped before [`Spool::finish`].
#[derive(Debug)]
pub struct Spool {
    path: PathBuf,
    file: Option<BufWriter<fs::File>>,
}

impl Spool {
    /// A file for buffer `n` of the capture that will be written to `folder`.
    ///
    /// # Errors
    /// [`OpenError`] where the file cannot be created.
    pub fn new(folder: &Path, n: usize) -> Result<Spool, OpenError> {
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        let beside = match folder.file_name() {
            Some(_) => folder,
            // A path such as `..` has no file name.
            None => std::env::temp_dir().join("tracewright"),
        };
        let mut name = beside.file_name().unwrap_or_default().to_owned();
        name.push(format!(".buffer{n}"));
        let target = beside.with_file_name(name);
        let (path, file) = create(&target).map_err(|error| failed(&target, &error))?;
        Ok(Spool { path, file: Some(BufWriter::new(file)) })
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// [`OpenError`] where the file cannot be written.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), OpenError> {
        let done = match &mut self.file {
            Some(file) => file.write_all(bytes),
            None => Ok(()),
        };
        done.map_err(|error| failed(&self.path, &error))
    }

    /// Appends the bytes of `buffer`, and makes the file its only contents.
    ///
    /// # Errors
    /// [`OpenError`] where the file cannot be written or read.
    pub fn finish(mut self, buffer: &mut Buffer) -> Result<(), OpenError> {
        self.append(&buffer.bytes())?;
        let flushed = self.file.take().map_or(Ok(()), |mut file| file.flush());
        flushed.map_err(|error| failed(&self.path, &error))?;
        let (bytes, _) = OpenFiles::default()
            .trace(&self.path)
            .map_err(|why| OpenError::new(&self.path, Problem::NotWritten(why)))?;
        let (name, path) = (buffer.name.clone(), std::mem::take(&mut self.path));
        buffer.files = vec![File { name, path, bytes, pipe: None, spooled: true }];
        Ok(())
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        if !self.path.as_os_str().is_empty() {
            // The file may be deleted already.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn failed(path: &Path, error: &io::Error) -> OpenError {
    OpenError::new(path, Problem::NotWritten(reason(error)))
}

/// Moves the file of a spool to its place in a capture.
pub(crate) fn move_file(from: &Path, to: &Path) -> io::Result<()> {
    // Renaming fails across file systems.
    fs::rename(from, to).or_else(|_| fs::copy(from, to).and_then(|_| fs::remove_file(from)))
}

#[cfg(test)]
#[cfg(feature = "toml")]
mod tests {
    use super::*;
    use crate::buffer::Format;
    use crate::capture::Capture;
    use crate::device::{BufferRef, Source};

    #[test]
    fn a_written_capture_contains_the_spool() {
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
                "snapshot" => crate::snapshot::write(&capture, &folder).unwrap(),
                _ => crate::folder::write(&capture, &folder).unwrap(),
            }
            let read = crate::open(&folder).unwrap();
            assert_eq!(*read.buffers[0].bytes(), [1, 2, 3, 4, 5], "{form}");
        }
        // A spool that is not finished leaves no file, and writes to no file that exists.
        fs::write(root.join("c.buffer0.part"), "c").unwrap();
        let (mut one, two) = (Spool::new(&root.join("c"), 0), Spool::new(&root.join("c"), 0));
        one.as_mut().unwrap().append(&[1; 1 << 16]).unwrap();
        assert_ne!(one.as_ref().unwrap().path, two.as_ref().unwrap().path);
        drop((one, two));
        assert_eq!(fs::read_to_string(root.join("c.buffer0.part")).unwrap(), "c");
        fs::remove_file(root.join("c.buffer0.part")).unwrap();
        // A capture that cannot be written leaves no spool.
        let mut buffer = Buffer::new("ETB_0", Format::SourceData, vec![4, 5]);
        Spool::new(&root.join("a"), 0).unwrap().finish(&mut buffer).unwrap();
        let mut capture = Capture::default();
        capture.buffers.push(buffer);
        assert!(crate::snapshot::write(&capture, &root.join("a")).is_err());
        capture.remove_spooled();
        let mut left: Vec<_> =
            fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["a", "b"]);
        fs::remove_dir_all(&root).unwrap();
    }
}
