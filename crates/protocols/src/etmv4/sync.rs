//! Where a decoder may start: after an alignment synchronisation.

use tracewright_base::SyncSearch;

/// Zero bytes before the `1000_0000`, at least.
const ZEROS: usize = 11;

/// Finds the first Alignment Sync packet: 11 or more zero bytes and `1000_0000`. A decoder starts at
/// the last 11 of the zeros: those before them may be the end of another packet. At the end of
/// `bytes` up to 11 zeros may be the beginning of one.
pub fn find(bytes: &[u8]) -> SyncSearch {
    let mut at = ZEROS - 1;
    // Of any 11 zeros in a row the last is at a place that this looks at, or one that follows a zero
    // that it found.
    while let Some(&byte) = bytes.get(at) {
        if byte != 0 {
            at += ZEROS;
            continue;
        }
        let before = bytes.iter().take(at).rev().take_while(|&&b| b == 0).count();
        let after = bytes.iter().skip(at).take_while(|&&b| b == 0).count();
        let (start, end) = (at - before, at + after);
        match bytes.get(end) {
            Some(0x80) if end - start >= ZEROS => return SyncSearch::At(end - ZEROS),
            Some(_) => at = end + ZEROS,
            None => break,
        }
    }
    let tail = bytes.iter().rev().take_while(|&&b| b == 0).count();
    SyncSearch::NotIn(bytes.len() - tail.min(ZEROS))
}
