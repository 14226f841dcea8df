//! The output of a listing.

use crate::host;

/// Bytes that are collected before they are passed on.
const COLLECTED: usize = 1 << 16;

/// Passes output on, at most a number of lines of entries.
pub(crate) struct Printer {
    collected: Vec<u8>,
    /// The lines of entries that may still be passed on; all for `None`.
    left: Option<u64>,
    wanted: bool,
}

impl Printer {
    /// At most `limit` lines of entries.
    pub(crate) fn new(limit: Option<u64>) -> Printer {
        Printer { collected: Vec::new(), left: limit, wanted: true }
    }

    /// Text beside the entries. Returns whether more is wanted.
    pub(crate) fn put(&mut self, text: &[u8]) -> bool {
        self.collected.extend_from_slice(text);
        if self.collected.len() >= COLLECTED {
            self.flush();
        }
        self.wanted
    }

    /// Whether no entry is wanted.
    pub(crate) fn is_full(&self) -> bool {
        self.left == Some(0)
    }

    /// Lines of entries. Returns whether more are wanted.
    pub(crate) fn lines(&mut self, lines: &[u8]) -> bool {
        let Some(left) = &mut self.left else { return self.put(lines) };
        let mut end = 0;
        for line in lines.split_inclusive(|&byte| byte == b'\n') {
            if *left == 0 {
                break;
            }
            *left -= 1;
            end += line.len();
        }
        let more = *left > 0;
        self.put(lines.get(..end).unwrap_or_default()) && more
    }

    /// Passes on what is collected.
    pub(crate) fn flush(&mut self) {
        if self.wanted && !self.collected.is_empty() {
            self.wanted = host::write(&self.collected);
        }
        self.collected.clear();
    }
}
