//! A table of counts.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher};

use tracewright_decode::Merge;

/// Slots for recent keys, a power of two.
const RECENT: usize = 1 << 12;
/// Up to this number of keys there are no recent ones.
const FEW: usize = 1 << 10;
/// The most counts that wait for the table.
const WAITING: usize = 1 << 16;

/// Counts by key. A count saturates at `u64::MAX`.
///
/// With many keys, recent ones are in a direct-mapped cache before the table: most keys of a loop
/// are counted there without a look-up in the table.
#[derive(Clone, Debug)]
pub struct Counts<K> {
    /// Keys and their counts that are not in the table yet; 0 is a free slot.
    recent: Vec<(K, u64)>,
    /// Keys and counts that wait for the table, with repetitions: a part of a trace is counted, and
    /// merged with others, without a table.
    waiting: Vec<(K, u64)>,
    table: HashMap<K, u64, BuildHasherDefault<Mix>>,
    saturated: bool,
}

impl<K> Default for Counts<K> {
    fn default() -> Self {
        Counts {
            recent: Vec::new(),
            waiting: Vec::new(),
            table: HashMap::default(),
            saturated: false,
        }
    }
}

impl<K: Copy + Eq + Hash> Counts<K> {
    /// Adds `count` to the count of `key`.
    #[inline]
    pub fn add(&mut self, key: K, count: u64) {
        if self.recent.is_empty() {
            if self.table.len() + self.waiting.len() < FEW {
                return self.store(key, count);
            }
            self.recent = vec![(key, 0); RECENT];
        }
        let hash = BuildHasherDefault::<Mix>::default().hash_one(key);
        let Some(slot) = self.recent.get_mut((hash >> 32) as usize & (RECENT - 1)) else { return };
        if slot.0 == key
            && let Some(sum) = slot.1.checked_add(count)
        {
            slot.1 = sum;
            return;
        }
        let (old, sum) = std::mem::replace(slot, (key, count));
        self.store(old, sum);
    }

    /// Adds to the counts that wait, or to those in the table.
    fn store(&mut self, key: K, count: u64) {
        if count > 0 {
            self.waiting.push((key, count));
        }
        if self.waiting.len() >= WAITING {
            self.fill_table();
        }
    }

    /// Moves the counts that wait to the table.
    fn fill_table(&mut self) {
        for (key, count) in std::mem::take(&mut self.waiting) {
            let sum = self.table.entry(key).or_default();
            self.saturated |= sum.checked_add(count).is_none();
            *sum = sum.saturating_add(count);
        }
    }

    /// All keys and their counts, in no order.
    pub fn into_counts(mut self) -> impl Iterator<Item = (K, u64)> {
        self.settle();
        self.fill_table();
        self.table.into_iter()
    }

    /// The sum of all counts, each multiplied by the weight of its key.
    pub fn sum(&mut self, weight: impl Fn(&K) -> u64) -> u64 {
        self.settle();
        self.fill_table();
        let all = self.table.iter().map(|(key, count)| weight(key).saturating_mul(*count));
        all.fold(0, u64::saturating_add)
    }

    /// Moves recent counts to the table.
    fn settle(&mut self) {
        for (key, count) in std::mem::take(&mut self.recent) {
            self.store(key, count);
        }
    }

    /// A count was larger than `u64::MAX`.
    pub fn is_saturated(&mut self) -> bool {
        self.settle();
        self.fill_table();
        self.saturated
    }
}

impl<K: Copy + Eq + Hash + 'static> Merge for Counts<K> {
    fn merge(&mut self, mut later: Self) {
        self.settle();
        later.settle();
        self.saturated |= later.saturated;
        if self.table.is_empty() {
            self.table = later.table;
        } else {
            later.table.into_iter().for_each(|(key, count)| self.store(key, count));
        }
        self.waiting.append(&mut later.waiting);
        if self.waiting.len() >= WAITING {
            self.fill_table();
        }
    }
}

/// A hash function for keys that are made of a few numbers: a multiplication for each.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mix(u64);

/// An odd number with a random pattern of bits: the golden ratio.
pub(crate) const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hasher for Mix {
    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word.iter_mut().zip(part).for_each(|(to, from)| *to = *from);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(FACTOR);
    }

    #[inline]
    fn write_u32(&mut self, word: u32) {
        self.write_u64(word.into());
    }

    #[inline]
    fn write_u16(&mut self, word: u16) {
        self.write_u64(word.into());
    }

    #[inline]
    fn write_u8(&mut self, word: u8) {
        self.write_u64(word.into());
    }

    #[inline]
    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn counts_are_those_of_a_map() {
        let (mut counts, mut halves) = (Counts::default(), Counts::default());
        let mut want = BTreeMap::new();
        for n in 0..200_000u64 {
            let key = n * n % 10_007;
            *want.entry(key).or_insert(0) += n;
            if n % 2 == 0 { counts.add(key, n) } else { halves.add(key, n) }
        }
        counts.merge(halves);
        assert!(!counts.is_saturated());
        assert_eq!(counts.into_counts().filter(|(_, n)| *n > 0).collect::<BTreeMap<_, _>>(), {
            want.retain(|_, n| *n > 0);
            want
        });
    }

    #[test]
    fn counts_saturate() {
        let mut counts = Counts::default();
        counts.add(1u64, u64::MAX - 1);
        counts.add(1, 1);
        let mut more = Counts::default();
        more.add(1, 1);
        assert!(!counts.is_saturated());
        counts.merge(more);
        assert!(counts.is_saturated());
        assert_eq!(counts.into_counts().collect::<Vec<_>>(), [(1, u64::MAX)]);
    }
}
