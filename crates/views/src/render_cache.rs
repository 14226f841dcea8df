//! A cache of rendered text: programs execute the same code many times.

use tracewright_base::Range;

/// The least and the most slots of a cache: powers of two.
const LEAST_SLOTS: usize = 1 << 10;
const MOST_SLOTS: usize = 1 << 16;
/// The most slots where most texts are never recalled: they and their text fit into the caches of
/// the processor.
const FEW_SLOTS: usize = 1 << 12;
/// The longest text that is cached, in bytes.
const MAX_LEN: usize = 1 << 13;
/// The most bytes of text for each slot. A cache that is full begins again.
const TEXT_PER_SLOT: usize = 1 << 7;
/// The number of stored texts after which the number of slots is chosen again: with many slots, and
/// with few.
const TRIAL: usize = 1 << 18;
const FEW_TRIAL: usize = 1 << 23;

/// The text of recent keys. The cache is direct-mapped: a key replaces the key that has the same
/// slot. Slots are added while keys are, so that a small program takes little memory.
#[derive(Clone, Debug)]
pub struct RenderCache {
    /// Empty until the first text is stored.
    slots: Vec<Slot>,
    /// The texts of all slots, one after another.
    text: String,
    /// Slots of other generations are empty.
    generation: u32,
    /// The number of texts stored in this generation.
    filled: usize,
    /// [`MOST_SLOTS`] or [`FEW_SLOTS`].
    most: usize,
    /// The numbers of texts stored and recalled since `most` was chosen.
    stored: usize,
    recalled: usize,
}

impl Default for RenderCache {
    fn default() -> Self {
        let (slots, text, most) = (Vec::new(), String::new(), MOST_SLOTS);
        RenderCache { slots, text, generation: 1, filled: 0, most, stored: 0, recalled: 0 }
    }
}

/// A key and the position of its text.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    key: [u64; 4],
    start: u32,
    len: u16,
    /// 0 where the slot was never used.
    generation: u32,
}

impl RenderCache {
    /// Appends the text of `key`: the cached text, or the text that `write` writes.
    #[inline]
    pub(crate) fn put(
        &mut self,
        key: impl CacheKey,
        out: &mut String,
        write: impl FnOnce(&mut String),
    ) {
        let words = key.words();
        if !self.recall_words(words, out) {
            let start = out.len();
            write(out);
            self.store_words(words, out.get(start..).unwrap_or_default());
        }
    }

    /// Appends the cached text of `key`. `false` where there is none.
    #[inline(always)]
    pub(crate) fn recall(&mut self, key: impl CacheKey, out: &mut String) -> bool {
        self.recall_words(key.words(), out)
    }

    // In line, the words of the key are in registers.
    #[inline(always)]
    fn recall_words(&mut self, key: [u64; 4], out: &mut String) -> bool {
        let Some(slot) = self.slots.get(slot(key, self.slots.len())) else { return false };
        let [a, b, c, d] = slot.key;
        let other = a ^ key[0] | b ^ key[1] | c ^ key[2] | d ^ key[3];
        if other != 0 || slot.generation != self.generation {
            return false;
        }
        let start = slot.start as usize;
        out.push_str(self.text.get(start..start + usize::from(slot.len)).unwrap_or(""));
        self.recalled += 1;
        true
    }

    /// Stores `text` as the text of `key`.
    pub(crate) fn store(&mut self, key: impl CacheKey, text: &str) {
        self.store_words(key.words(), text);
    }

    fn store_words(&mut self, key: [u64; 4], text: &str) {
        if text.len() > MAX_LEN {
            return;
        }
        self.stored += 1;
        if self.stored > if self.most == MOST_SLOTS { TRIAL } else { FEW_TRIAL } {
            self.choose();
        }
        if self.text.len() + text.len() > self.most * TEXT_PER_SLOT {
            self.clear();
        }
        if self.filled >= self.slots.len() / 2 && self.slots.len() < self.most {
            self.grow();
        }
        let start = self.text.len() as u32;
        self.text.push_str(text);
        self.filled += 1;
        self.insert(Slot { key, start, len: text.len() as u16, generation: self.generation });
    }

    /// Chooses the most slots.
    #[cold]
    fn choose(&mut self) {
        if self.most == FEW_SLOTS {
            self.most = MOST_SLOTS;
        } else if self.recalled < self.stored {
            self.most = FEW_SLOTS;
            self.clear();
            self.slots = vec![Slot::default(); FEW_SLOTS];
            self.text = String::new();
        }
        (self.stored, self.recalled) = (0, 0);
    }

    fn insert(&mut self, of_key: Slot) {
        let index = slot(of_key.key, self.slots.len());
        if let Some(slot) = self.slots.get_mut(index) {
            *slot = of_key;
        }
    }

    /// Four times as many slots.
    fn grow(&mut self) {
        let len = (4 * self.slots.len()).clamp(LEAST_SLOTS, MOST_SLOTS);
        let slots = std::mem::replace(&mut self.slots, vec![Slot::default(); len]);
        for slot in slots {
            if slot.generation == self.generation {
                self.insert(slot);
            }
        }
    }

    /// Drops all texts.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.filled = 0;
        self.generation = self.generation.wrapping_add(1);
        if self.generation == 0 {
            // Slots of the generation with that number may exist.
            self.slots.fill(Slot::default());
            self.generation = 1;
        }
    }
}

/// The index of the slot of `key` among `slots`, a power of two.
#[inline]
fn slot(key: [u64; 4], slots: usize) -> usize {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let [a, b, c, d] = key;
    let mixed = a ^ b.rotate_left(20) ^ c.rotate_left(41).wrapping_mul(FACTOR) ^ d.rotate_left(50);
    // Both halves of the product together depend on all bits of its factors.
    let product = u128::from(mixed) * u128::from(FACTOR);
    (product >> 64 ^ product) as usize & slots.wrapping_sub(1)
}

/// The key of a cached text.
pub(crate) trait CacheKey: Copy {
    /// Numbers that no two keys share.
    fn words(self) -> [u64; 4];
}

impl CacheKey for Range {
    #[inline]
    fn words(self) -> [u64; 4] {
        let counts = u64::from(self.bytes) | u64::from(self.instructions) << 32;
        [self.start, counts, u64::from(self.cycles.word()) | u64::from(self.last.word()) << 32, 0]
    }
}

/// A key of one source, or in one context. There are fewer than 2^16 of either.
impl<T: CacheKey> CacheKey for (usize, T) {
    #[inline]
    fn words(self) -> [u64; 4] {
        let [a, b, c, outer] = self.1.words();
        [a, b, c, outer << 16 | self.0 as u64]
    }
}

impl CacheKey for [u64; 2] {
    #[inline]
    fn words(self) -> [u64; 4] {
        [self[0], self[1], 0, 0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl CacheKey for u64 {
        fn words(self) -> [u64; 4] {
            [self, 0, 0, 0]
        }
    }

    #[test]
    fn cached_text_is_the_written_text() {
        let mut cache = RenderCache::default();
        // Many more keys than slots, each three times.
        for round in 0..3 {
            for key in 0..2 * MOST_SLOTS as u64 {
                let want = format!("<{key}>");
                let mut out = String::from("before ");
                cache.put(key, &mut out, |out| out.push_str(&want));
                assert_eq!(out, format!("before {want}"), "round {round}");
            }
        }
    }

    #[test]
    fn cached_text_is_not_written_again() {
        let mut cache = RenderCache::default();
        let mut writes = 0;
        for _ in 0..10 {
            for source in 0..2 {
                let mut out = String::new();
                cache.put((source, 7u64), &mut out, |out| {
                    writes += 1;
                    out.push(char::from(b'a' + source as u8));
                });
                assert_eq!(out, ["a", "b"][source]);
            }
        }
        assert_eq!(writes, 2);
        let long = "x".repeat(MAX_LEN + 1);
        cache.store((0, 9u64), &long);
        assert!(!cache.recall((0, 9u64), &mut String::new()));
    }

    #[test]
    fn memory_is_bounded_and_a_cleared_cache_is_empty() {
        let (mut cache, text) = (RenderCache::default(), "x".repeat(MAX_LEN));
        for key in 0..3 * (MOST_SLOTS * TEXT_PER_SLOT / MAX_LEN) as u64 {
            cache.store(key, &text);
            assert!(cache.recall(key, &mut String::new()));
            assert!(cache.text.len() <= MOST_SLOTS * TEXT_PER_SLOT);
            assert!(cache.slots.len() <= MOST_SLOTS);
        }
        cache.generation = u32::MAX;
        cache.store(1u64, "one");
        cache.clear();
        assert!(!cache.recall(1u64, &mut String::new()));
        cache.store(2u64, "two");
        cache.clear();
        assert!(!cache.recall(2u64, &mut String::new()));
    }

    /// Ranges that differ only in their last instruction have slots of their own.
    #[test]
    fn keys_that_differ_in_one_bit_seldom_share_a_slot() {
        let key = [0x8000_1400, 4 | 2 << 32, 0x0102_0304_ffff_ffff, 0];
        let same = (0..256).filter(|bit| {
            let mut other = key;
            other[bit / 64] ^= 1 << (bit % 64);
            slot(key, LEAST_SLOTS) == slot(other, LEAST_SLOTS)
        });
        assert!(same.count() <= 2);
        // The bit of `Last` that states whether the branch was taken.
        assert_ne!(
            slot(key, LEAST_SLOTS),
            slot([key[0], key[1], key[2] ^ 1 << 61, 0], LEAST_SLOTS)
        );
    }

    #[test]
    fn texts_that_are_not_recalled_take_few_slots() {
        let mut cache = RenderCache::default();
        (0..TRIAL as u64).for_each(|key| cache.store(key, "x"));
        assert_eq!(cache.slots.len(), MOST_SLOTS);
        cache.store(0u64, "y");
        assert_eq!(cache.slots.len(), FEW_SLOTS);
        let mut out = String::new();
        assert!(cache.recall(0u64, &mut out) && !cache.recall(1u64, &mut out));
        assert_eq!(out, "y");
        // Texts that are recalled.
        let mut cache = RenderCache::default();
        for key in 0..2 * TRIAL as u64 {
            cache.put(key % 20_000, &mut String::new(), |out| out.push('x'));
        }
        assert_eq!(cache.slots.len(), MOST_SLOTS);
    }
}
