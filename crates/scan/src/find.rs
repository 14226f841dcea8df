//! Byte scans for synchronization patterns.

use core::ops::Range;

use memchr::memmem;

/// The offset of the first occurrence of `pattern`, such as a synchronization packet. An empty
/// pattern does not occur.
pub fn find(bytes: &[u8], pattern: &[u8]) -> Option<usize> {
    if pattern.is_empty() { None } else { memmem::find(bytes, pattern) }
}

/// The offsets of the first run of at least `len` zero bytes, up to its end. `len` 0 counts as 1.
///
/// In data without zero bytes, the scan reads one byte in `len`.
pub fn zero_run(bytes: &[u8], len: usize) -> Option<Range<usize>> {
    let len = len.max(1);
    // No run of `len` begins before `start`.
    let mut start = 0;
    loop {
        // A run that begins in the window extends past it: continue after the last non-zero byte.
        let window = bytes.get(start..)?.get(..len)?;
        if let Some(last) = window.iter().rposition(|&byte| byte != 0) {
            start += last + 1;
            continue;
        }
        let end = bytes.get(start + len..)?.iter().position(|&byte| byte != 0);
        return Some(start..end.map_or(bytes.len(), |more| start + len + more));
    }
}
