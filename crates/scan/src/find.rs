//! Scans for what a decoder may start at.

use core::ops::Range;

use memchr::memmem;

/// The first place of `pattern`, such as a synchronisation packet. An empty one is nowhere.
pub fn find(bytes: &[u8], pattern: &[u8]) -> Option<usize> {
    if pattern.is_empty() { None } else { memmem::find(bytes, pattern) }
}

/// The first run of at least `len` zero bytes, all of it. `len` 0 counts as 1.
///
/// Where the bytes are not zero, one in `len` is looked at.
pub fn zero_run(bytes: &[u8], len: usize) -> Option<Range<usize>> {
    let len = len.max(1);
    // No run of `len` begins before `start`.
    let mut start = 0;
    loop {
        // A run must end at the last of these or after it: back to the byte that breaks it.
        let window = bytes.get(start..)?.get(..len)?;
        if let Some(last) = window.iter().rposition(|&byte| byte != 0) {
            start += last + 1;
            continue;
        }
        let end = bytes.get(start + len..)?.iter().position(|&byte| byte != 0);
        return Some(start..end.map_or(bytes.len(), |more| start + len + more));
    }
}
