//! Counts of executed ranges.

/// Slots for recent ranges, a power of two. They take 256 KiB.
const SLOTS: usize = 1 << 14;

/// Counts beside the slots before equal ranges are joined.
const MOST: usize = 1 << 16;

/// How often each range was executed: a direct-mapped table, and what was displaced from it.
#[derive(Clone, Debug, Default)]
pub(crate) struct RangeCounts {
    slots: Vec<Slot>,
    displaced: Vec<Counted>,
    /// Where equal ranges among the displaced ones are joined.
    limit: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    start: u64,
    bytes: u32,
    /// 0 in a free slot.
    count: u32,
}

/// A range, and how often it was executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Counted {
    pub(crate) start: u64,
    pub(crate) bytes: u32,
    pub(crate) count: u64,
}

impl RangeCounts {
    /// Counts the range of `bytes` bytes from `start` on `times` times.
    #[inline]
    pub(crate) fn add(&mut self, start: u64, bytes: u32, times: u64) {
        let hash = (start ^ u64::from(bytes) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let n = (hash >> 50) as usize & (SLOTS - 1);
        if let Some(slot) = self.slots.get_mut(n)
            && (slot.start, slot.bytes) == (start, bytes)
            && let Some(sum) = u64::from(slot.count).checked_add(times)
            && let Ok(sum) = u32::try_from(sum)
        {
            slot.count = sum;
            return;
        }
        self.displace(n, start, bytes, times);
    }

    #[cold]
    #[inline(never)]
    fn displace(&mut self, n: usize, start: u64, bytes: u32, times: u64) {
        if self.slots.is_empty() {
            self.slots = vec![Slot::default(); SLOTS];
            self.limit = MOST;
        }
        let Ok(count) = u32::try_from(times) else {
            return self.displaced.push(Counted { start, bytes, count: times });
        };
        if let Some(slot) = self.slots.get_mut(n) {
            let old = std::mem::replace(slot, Slot { start, bytes, count });
            if old.count > 0 {
                let Slot { start, bytes, count } = old;
                self.displaced.push(Counted { start, bytes, count: count.into() });
            }
        }
        if self.displaced.len() >= self.limit {
            self.join();
            self.limit = MOST.max(2 * self.displaced.len());
        }
    }

    /// Joins equal ranges.
    fn join(&mut self) {
        self.displaced.sort_unstable();
        self.displaced.dedup_by(|later, first| {
            let same = (later.start, later.bytes) == (first.start, first.bytes);
            if same {
                first.count = first.count.saturating_add(later.count);
            }
            same
        });
    }

    /// Passes all counts to `each`, a range possibly several times, and forgets them.
    pub(crate) fn drain(&mut self, mut each: impl FnMut(Counted)) {
        for slot in &mut self.slots {
            let Slot { start, bytes, count } = std::mem::take(slot);
            if count > 0 {
                each(Counted { start, bytes, count: count.into() });
            }
        }
        self.displaced.drain(..).for_each(each);
        self.limit = MOST;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn counts_are_those_of_a_map() {
        let (mut counts, mut want) = (RangeCounts::default(), BTreeMap::new());
        for round in 0..2 {
            for n in 0..120_000u64 {
                let start = n * n % 100_003 * 4;
                let (bytes, times) =
                    (4 * (n % 3) as u32, [1, 7, u64::from(u32::MAX) * 3][n as usize % 3]);
                counts.add(start, bytes, times);
                *want.entry((start, bytes)).or_insert(0u64) += times;
            }
            let mut got = BTreeMap::new();
            counts.drain(|c| *got.entry((c.start, c.bytes)).or_insert(0u64) += c.count);
            assert!(got == want, "round {round}");
            want.clear();
        }
        counts.drain(|counted| panic!("{counted:?} was taken before"));
    }
}
