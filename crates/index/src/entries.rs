//! Executions of the first instructions of functions.

use std::sync::Arc;

/// The most lines with an entry in the table: 64 MiB of code.
const MOST: u64 = 1 << 20;

/// The addresses of the functions of a source, in order, and where they are found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Starts {
    addresses: Arc<[u64]>,
    /// The line of 64 bytes with the first function.
    first: u64,
    /// By line: the number of functions before it. Empty where functions are far apart.
    before: Arc<[u32]>,
}

impl Starts {
    /// Those of functions at `addresses`, which are in order.
    pub(crate) fn new(addresses: Arc<[u64]>) -> Starts {
        let first = addresses.first().map_or(0, |address| address / 64);
        let last = addresses.last().map_or(0, |address| address / 64);
        let mut before = Vec::new();
        if !addresses.is_empty() && last - first < MOST {
            let mut n = 0;
            for line in first..=last {
                while addresses.get(n).is_some_and(|address| address / 64 < line) {
                    n += 1;
                }
                before.push(n as u32);
            }
        }
        Starts { addresses, first, before: before.into() }
    }

    /// The number of functions.
    pub(crate) fn len(&self) -> usize {
        self.addresses.len()
    }

    /// The address of function `n`.
    pub(crate) fn get(&self, n: usize) -> Option<u64> {
        self.addresses.get(n).copied()
    }

    /// The lines with functions among 64, by the number of the group: bit n is line n.
    pub(crate) fn lines(&self, group: u64) -> u64 {
        let first = group.saturating_mul(64 * 64);
        let mut bits = 0;
        self.between(first, first.saturating_add(64 * 64 - 1), |n| {
            if let Some(address) = self.get(n) {
                bits |= 1 << (address / 64 % 64);
            }
        });
        bits
    }

    /// The number of functions before `address`.
    #[inline]
    fn before(&self, address: u64) -> usize {
        let line = (address / 64).wrapping_sub(self.first);
        let found = usize::try_from(line).ok().and_then(|line| self.before.get(line));
        let mut n = match found {
            Some(&n) => n as usize,
            None if self.before.is_empty() => {
                return self.addresses.partition_point(|own| *own < address);
            }
            None if address / 64 < self.first => 0,
            None => self.addresses.len(),
        };
        while self.addresses.get(n).is_some_and(|own| *own < address) {
            n += 1;
        }
        n
    }

    /// Passes the number of each function that begins between `first` and `last` to `each`.
    #[inline]
    pub(crate) fn between(&self, first: u64, last: u64, mut each: impl FnMut(usize)) {
        if self.addresses.is_empty() {
            return;
        }
        let mut n = self.before(first);
        while self.addresses.get(n).is_some_and(|address| *address <= last) {
            each(n);
            n += 1;
        }
    }
}

/// How often each function was entered.
#[derive(Clone, Debug, Default)]
pub(crate) struct EntryCounts {
    counts: Vec<u64>,
    /// The functions with counts.
    counted: Vec<u32>,
}

impl EntryCounts {
    /// Counts the functions that begin between `first` and `last` `times` times.
    #[inline]
    pub(crate) fn add(&mut self, starts: &Starts, first: u64, last: u64, times: u64) {
        let EntryCounts { counts, counted } = self;
        starts.between(first, last, |n| {
            if counts.is_empty() {
                *counts = vec![0; starts.len()];
            }
            if let Some(count) = counts.get_mut(n) {
                if *count == 0 {
                    counted.push(n as u32);
                }
                *count = count.saturating_add(times);
            }
        });
    }

    /// Takes the counts: the number of each function, in order, and how often it was entered.
    pub(crate) fn take(&mut self) -> Vec<(usize, u64)> {
        self.counted.sort_unstable();
        let counts = &mut self.counts;
        let taken = self.counted.drain(..).map(|n| {
            let n = n as usize;
            (n, counts.get_mut(n).map_or(0, std::mem::take))
        });
        taken.filter(|(_, count)| *count > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_those_between_two_addresses() {
        let near = [0x100, 0x104, 0x13c, 0x140, 0x200, 0x1000, 0x1040];
        let far = [0x100, 0x13f, 0x140, 1 << 40, u64::MAX];
        for addresses in [&near[..], &far[..], &[0], &[]] {
            let starts = Starts::new(addresses.into());
            assert_eq!(starts.before.is_empty(), addresses.len() != near.len() && addresses != [0]);
            for first in (0..0x300).chain(0xff0..0x1060).chain([1 << 40, u64::MAX]) {
                for len in [0, 3, 60, 64, 300] {
                    let last = u64::saturating_add(first, len);
                    let mut found = Vec::new();
                    starts.between(first, last, |n| found.push(starts.get(n).expect("a function")));
                    let want = addresses.iter().copied().filter(|a| (first..=last).contains(a));
                    assert!(found.into_iter().eq(want), "{first:#x} {last:#x}");
                }
            }
        }
    }

    #[test]
    fn lines_of_functions_are_marked() {
        let starts = Starts::new([0x40, 0x7f, 0x100, 0xfff, 0x1000, 0x10_0000_0000].into());
        for (group, bits) in [(0, 0b10010 | 1 << 63), (1, 1), (2, 0), (1 << 24, 1), (1 << 52, 0)] {
            assert_eq!(starts.lines(group), bits, "{group}");
        }
    }

    #[test]
    fn entries_are_counted_until_they_are_taken() {
        let starts = Starts::new([8, 16, 24].into());
        let mut counts = EntryCounts::default();
        counts.add(&starts, 16, 30, 3);
        counts.add(&starts, 0, 8, 1);
        counts.add(&starts, 24, 24, u64::MAX);
        assert_eq!(counts.take(), [(0, 1), (1, 3), (2, u64::MAX)]);
        assert_eq!(counts.take(), []);
        counts.add(&starts, 9, 16, 2);
        assert_eq!(counts.take(), [(1, 2)]);
    }
}
