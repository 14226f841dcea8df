//! What the demultiplexers of messages with source numbers share.

use alloc::vec::Vec;

/// Bytes of an incomplete message.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Rest(Vec<u8>);

impl Rest {
    /// Passes the waiting bytes and `bytes` behind them to `messages`, with the offset of the first
    /// one. Those after the number that it returns wait. `at`: the offset of `bytes`.
    pub(crate) fn take(
        &mut self,
        at: u64,
        bytes: &[u8],
        messages: impl FnOnce(u64, &[u8]) -> usize,
    ) {
        let Rest(rest) = self;
        if rest.is_empty() {
            let taken = messages(at, bytes);
            rest.extend_from_slice(bytes.get(taken..).unwrap_or_default());
            return;
        }
        let at = at.wrapping_sub(rest.len() as u64);
        rest.extend_from_slice(bytes);
        let taken = messages(at, rest).min(rest.len());
        rest.drain(..taken);
    }
}

/// Counts a message of source `number` in `numbers`, which are in ascending order, each with the
/// number of its messages.
pub(crate) fn count(numbers: &mut Vec<(u16, usize)>, number: u16) {
    match numbers.binary_search_by_key(&number, |(known, _)| *known) {
        Ok(n) => numbers.get_mut(n).into_iter().for_each(|(_, count)| *count += 1),
        Err(n) => numbers.insert(n, (number, 1)),
    }
}
