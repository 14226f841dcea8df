//! Return addresses: where a return goes that no packet tells of. ("Implicit return mode")

use alloc::collections::VecDeque;

use crate::etrace::config::Params;

/// As many calls as are kept. A call counter may count more; then returns deeper than this are lost.
const ROOM: usize = 512;

/// Return addresses of the calls that were traced, the oldest given up where there is no room.
///
/// A unit with a stack keeps 2 to the power of `return_stack_size`; where it counts, too, calls that
/// return to the same place share one. A unit with only a counter counts up to its limit. Room is made
/// once, with the first call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::etrace) struct Returns {
    entries: VecDeque<Entry>,
    /// How many calls they stand for.
    calls: u16,
}

/// A return address, and how many calls more return there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    address: u64,
    more: u16,
}

impl Returns {
    /// How many calls were not returned from. (`irdepth`, whose width fits as many as a stack with
    /// counters holds)
    #[inline]
    pub(in crate::etrace) const fn depth(&self) -> u16 {
        self.calls
    }

    /// A call that returns to `address`.
    pub(in crate::etrace) fn push(&mut self, address: u64, params: &Params) {
        let (stack, counter) = (params.widths.return_stack_size, params.widths.call_counter_size);
        let limit = match (stack, counter) {
            (0, 0) => return,
            // It stops counting at its greatest value.
            (0, counter) => (1usize << counter) - 1,
            (stack, _) => 1 << stack,
        };
        let most = limit.min(ROOM);
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

    /// Where the last call returns to.
    pub(in crate::etrace) fn top(&self) -> Option<u64> {
        self.entries.back().map(|last| last.address)
    }

    /// The last call returns.
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

    /// Forgets all calls.
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
