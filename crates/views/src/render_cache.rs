//! A cache of rendered text: programs execute the same code many times.

use tracewright_base::Range;

/// Slots of a cache: a power of two.
const SLOTS: usize = 1 << 12;
/// The longest text that is cached, in bytes.
const MAX_LEN: usize = 1 << 12;

/// The text of recent keys. The cache is direct-mapped: a key replaces the key that has the same
/// slot, so memory is bounded.
#[derive(Clone, Debug)]
pub(crate) struct RenderCache<K> {
    /// Empty until the first text is stored.
    slots: Vec<(Option<K>, String)>,
}

impl<K> Default for RenderCache<K> {
    fn default() -> Self {
        RenderCache { slots: Vec::new() }
    }
}

impl<K: Copy + Eq + CacheKey> RenderCache<K> {
    /// Appends the text of `key`: the cached text, or the text that `write` writes.
    #[inline]
    pub(crate) fn put(&mut self, key: K, out: &mut String, write: impl FnOnce(&mut String)) {
        if !self.recall(key, out) {
            let start = out.len();
            write(out);
            self.store(key, out.get(start..).unwrap_or_default());
        }
    }

    /// Appends the cached text of `key`. `false` where there is none.
    #[inline]
    pub(crate) fn recall(&self, key: K, out: &mut String) -> bool {
        match self.slots.get(slot(key)) {
            Some((Some(cached), text)) if *cached == key => {
                out.push_str(text);
                true
            }
            _ => false,
        }
    }

    /// Stores `text` as the text of `key`.
    pub(crate) fn store(&mut self, key: K, text: &str) {
        if text.len() > MAX_LEN {
            return;
        }
        if self.slots.is_empty() {
            self.slots.resize_with(SLOTS, || (None, String::new()));
        }
        if let Some((cached, slot)) = self.slots.get_mut(slot(key)) {
            *cached = Some(key);
            slot.clear();
            slot.push_str(text);
        }
    }
}

#[inline]
fn slot<K: CacheKey>(key: K) -> usize {
    // The top bits of a product depend on all bits of its factors.
    (key.hash().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 50) as usize & (SLOTS - 1)
}

/// The key of a cached text.
pub(crate) trait CacheKey {
    /// A number that different keys seldom share.
    fn hash(&self) -> u64;
}

impl CacheKey for Range {
    #[inline]
    fn hash(&self) -> u64 {
        let counts = u64::from(self.bytes) ^ u64::from(self.last.word()) << 8;
        self.start ^ counts << 32 ^ u64::from(self.cycles.word()) << 48
    }
}

/// A key of one source, or in one context.
impl<T: CacheKey> CacheKey for (usize, T) {
    #[inline]
    fn hash(&self) -> u64 {
        self.1.hash() ^ (self.0 as u64) << 24
    }
}

impl CacheKey for u64 {
    #[inline]
    fn hash(&self) -> u64 {
        *self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_text_is_the_written_text() {
        let mut cache = RenderCache::<u64>::default();
        // Many more keys than slots, each three times.
        for round in 0..3 {
            for key in 0..20_000u64 {
                let want = format!("<{key}>");
                let mut out = String::from("before ");
                cache.put(key, &mut out, |out| out.push_str(&want));
                assert_eq!(out, format!("before {want}"), "round {round}");
            }
        }
    }

    #[test]
    fn cached_text_is_not_written_again() {
        let mut cache = RenderCache::<(usize, u64)>::default();
        let mut writes = 0;
        for _ in 0..10 {
            for source in 0..2 {
                let mut out = String::new();
                cache.put((source, 7), &mut out, |out| {
                    writes += 1;
                    out.push(char::from(b'a' + source as u8));
                });
                assert_eq!(out, ["a", "b"][source]);
            }
        }
        assert_eq!(writes, 2);
        let long = "x".repeat(MAX_LEN + 1);
        cache.store((0, 9), &long);
        assert!(!cache.recall((0, 9), &mut String::new()));
    }
}
