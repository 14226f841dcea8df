//! Reference implementations of the scans, without optimization.

use alloc::string::String;
use core::ops::Range;

/// The same as [`find`](crate::find()).
pub fn find(bytes: &[u8], pattern: &[u8]) -> Option<usize> {
    if pattern.is_empty() {
        return None;
    }
    (0..bytes.len()).find(|&at| bytes[at..].starts_with(pattern))
}

/// The same as [`zero_run`](crate::zero_run).
pub fn zero_run(bytes: &[u8], len: usize) -> Option<Range<usize>> {
    let zeros = |at: usize| bytes[at..].iter().take_while(|&&byte| byte == 0).count();
    (0..bytes.len()).map(|at| at..at + zeros(at)).find(|run| run.len() >= len.max(1))
}

/// Appends the first `len` bytes of `text`: the same as [`append_ascii`](crate::append_ascii), and
/// as [`AsciiTexts::append`](crate::AsciiTexts::append).
pub fn append(text: &str, len: usize, out: &mut String) {
    out.extend(text.chars().take(len));
}
