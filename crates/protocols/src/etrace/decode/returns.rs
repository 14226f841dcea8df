//! The return stack: the targets of implied returns. ("Implicit return mode")

use alloc::collections::VecDeque;

use crate::etrace::config::Params;

/// The most entries of the stack. A call counter may count further: deeper returns are not
/// followed.
const MAX_ENTRIES: usize = 512;

/// The return addresses of traced calls. A full stack drops its oldest entry.
///
/// A unit with a stack has 2 to the power of `return_stack_size` entries. If it has a counter as
/// well, consecutive calls with the same return address share an entry. A unit with only a counter
/// counts up to its limit. The memory is allocated once, with the first call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::etrace) struct Returns {
    entries: VecDeque<Entry>,
    /// The number of calls that the entries stand for.
    calls: u16,
}

/// A return address, and the number of further calls that return to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    address: u64,
    more: u16,
}

impl Returns {
    /// The number of calls without a return. (`irdepth`, which is wide enough for all calls of a
    /// stack with counters)
    #[inline]
    pub(in crate::etrace) const fn depth(&self) -> u16 {
        self.calls
    }

    /// Whether the next call may drop the oldest entry, or not be counted.
    pub(in crate::etrace) fn is_full(&self, params: &Params) -> bool {
        let (stack, counter) = (params.widths.return_stack_size, params.widths.call_counter_size);
        let limit = match (stack, counter) {
            (0, 0) => return false,
            (0, counter) => (1usize << counter) - 1,
            (stack, _) => 1 << stack,
        };
        self.entries.len() >= limit.min(MAX_ENTRIES)
    }

    /// A call that returns to `address`.
    pub(in crate::etrace) fn push(&mut self, address: u64, params: &Params) {
        let (stack, counter) = (params.widths.return_stack_size, params.widths.call_counter_size);
        let limit = match (stack, counter) {
            (0, 0) => return,
            // The counter saturates.
            (0, counter) => (1usize << counter) - 1,
            (stack, _) => 1 << stack,
        };
        let most = limit.min(MAX_ENTRIES);
        if stack > 0
            && counter > 0
            && let Some(last) = self.entries.back_mut()
            && last.address == address
            && u32::from(last.more) < (1 << counter) - 1
        {
            last.more += 1;
            self.calls += 1;
            return;
        }
        if self.entries.capacity() < most {
            self.entries.reserve_exact(most - self.entries.len());
        }
        if self.entries.len() >= most
            && let Some(oldest) = self.entries.pop_front()
        {
            self.calls = self.calls.saturating_sub(oldest.more + 1);
        }
        self.entries.push_back(Entry { address, more: 0 });
        self.calls += 1;
    }

    /// The return address of the last call.
    pub(in crate::etrace) fn top(&self) -> Option<u64> {
        self.entries.back().map(|last| last.address)
    }

    /// Pops the return address of the last call.
    pub(in crate::etrace) fn pop(&mut self) -> Option<u64> {
        let last = self.entries.back_mut()?;
        let address = last.address;
        match last.more {
            0 => {
                self.entries.pop_back();
            }
            _ => last.more -= 1,
        }
        self.calls = self.calls.saturating_sub(1);
        Some(address)
    }

    /// Drops all calls.
    pub(in crate::etrace) fn clear(&mut self) {
        self.entries.clear();
        self.calls = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(stack: u8, counter: u8) -> Params {
        let mut params = Params::default();
        params.widths.return_stack_size = stack;
        params.widths.call_counter_size = counter;
        params
    }

    #[test]
    fn the_oldest_goes_first() {
        let mut returns = Returns::default();
        for n in 0..6 {
            returns.push(n, &params(2, 0));
        }
        let popped: [_; 5] = core::array::from_fn(|_| returns.pop());
        assert_eq!(popped, [Some(5), Some(4), Some(3), Some(2), None]);
    }

    #[test]
    fn a_counter_stops_at_its_limit() {
        let mut returns = Returns::default();
        for n in 0..9 {
            returns.push(n, &params(0, 2));
        }
        assert_eq!(returns.depth(), 3);
        assert_eq!(returns.pop(), Some(8));
    }

    #[test]
    fn recursion_shares_an_entry() {
        let mut returns = Returns::default();
        for address in [7, 9, 9, 9, 9, 9] {
            returns.push(address, &params(1, 2));
        }
        // 9 four times in one entry, and once more.
        assert_eq!((returns.entries.len(), returns.depth()), (2, 5));
        let popped: [_; 6] = core::array::from_fn(|_| returns.pop());
        assert_eq!(popped, [Some(9), Some(9), Some(9), Some(9), Some(9), None]);
    }
}
