//! Bytes of a file by offset. A large file is read in windows.

use std::io::Read;

use crate::Bytes;

/// The number of bytes that are read at once: more than the size of any record.
const WINDOW: usize = 1 << 18;

/// The bytes of a file, with the window that was read last.
pub(super) struct Window<'a> {
    file: &'a Bytes,
    at: u64,
    bytes: Vec<u8>,
}

impl<'a> Window<'a> {
    pub(super) fn new(file: &'a Bytes) -> Self {
        Window { file, at: 0, bytes: Vec::new() }
    }

    /// `len` bytes from `at` on. `None` where the file does not have them.
    pub(super) fn get(&mut self, at: u64, len: usize) -> Option<&[u8]> {
        let from = at.checked_sub(self.at).and_then(|from| usize::try_from(from).ok());
        let inside = from.and_then(|from| Some(from..from.checked_add(len)?));
        let inside = inside.filter(|range| range.end <= self.bytes.len());
        if let Some(range) = inside {
            return self.bytes.get(range);
        }
        if at.checked_add(len as u64)? > self.file.size() {
            return None;
        }
        self.bytes.clear();
        self.at = at;
        let part = self.file.part(at, WINDOW.max(len) as u64);
        // Bytes before an error are used.
        let _ = part.reader().read_to_end(&mut self.bytes);
        self.bytes.get(..len)
    }
}
