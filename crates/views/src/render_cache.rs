//! Words that were written before: programs run the same code over and over.

use tracewright_base::Range;

/// Texts that are kept, at most: a power of two.
const PLACES: usize = 1 << 12;
/// A longer text is not kept, in bytes.
const LONGEST: usize = 1 << 12;

/// What was written lately for each of some things, so that it need not be written again. A thing takes
/// the place of the one that had it before: memory is bounded.
#[derive(Clone, Debug)]
pub(crate) struct RenderCache<K> {
    /// Empty until something is kept.
    offsets: Vec<(Option<K>, String)>,
}

impl<K> Default for RenderCache<K> {
    fn default() -> Self {
        RenderCache { offsets: Vec::new() }
    }
}

impl<K: Copy + Eq + Thing> RenderCache<K> {
    /// Appends the words for `thing`: those that were kept, or what `write` writes.
    #[inline]
    pub(crate) fn put(&mut self, thing: K, out: &mut String, write: impl FnOnce(&mut String)) {
        if !self.recall(thing, out) {
            let start = out.len();
            write(out);
            self.keep(thing, out.get(start..).unwrap_or_default());
        }
    }

    /// Appends the words for `thing`, if they were kept.
    #[inline]
    pub(crate) fn recall(&self, thing: K, out: &mut String) -> bool {
        match self.offsets.get(offset(thing)) {
            Some((Some(render_cache), words)) if *render_cache == thing => {
                out.push_str(words);
                true
            }
            _ => false,
        }
    }

    /// Keeps the words for `thing`.
    pub(crate) fn keep(&mut self, thing: K, words: &str) {
        if words.len() > LONGEST {
            return;
        }
        if self.offsets.is_empty() {
            self.offsets.resize_with(PLACES, || (None, String::new()));
        }
        if let Some((render_cache, text)) = self.offsets.get_mut(offset(thing)) {
            *render_cache = Some(thing);
            text.clear();
            text.push_str(words);
        }
    }
}

#[inline]
fn offset<K: Thing>(thing: K) -> usize {
    // The top bits of a product depend on all bits of its factors.
    (thing.number().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 50) as usize & (PLACES - 1)
}

/// What words can be kept for.
pub(crate) trait Thing {
    /// A number that different things seldom share.
    fn number(&self) -> u64;
}

impl Thing for Range {
    #[inline]
    fn number(&self) -> u64 {
        let counts = u64::from(self.bytes) ^ u64::from(self.last.word()) << 8;
        self.start ^ counts << 32 ^ u64::from(self.cycles.word()) << 48
    }
}

/// Something of a source, or in a context.
impl<T: Thing> Thing for (usize, T) {
    #[inline]
    fn number(&self) -> u64 {
        self.1.number() ^ (self.0 as u64) << 24
    }
}

impl Thing for u64 {
    #[inline]
    fn number(&self) -> u64 {
        *self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_what_was_written() {
        let mut render_cache = RenderCache::<u64>::default();
        // Many more than there are places, each three times.
        for round in 0..3 {
            for thing in 0..20_000u64 {
                let want = format!("<{thing}>");
                let mut out = String::from("before ");
                render_cache.put(thing, &mut out, |out| out.push_str(&want));
                assert_eq!(out, format!("before {want}"), "round {round}");
            }
        }
    }

    #[test]
    fn what_is_kept_is_not_written_again() {
        let mut render_cache = RenderCache::<(usize, u64)>::default();
        let mut writes = 0;
        for _ in 0..10 {
            for source in 0..2 {
                let mut out = String::new();
                render_cache.put((source, 7), &mut out, |out| {
                    writes += 1;
                    out.push(char::from(b'a' + source as u8));
                });
                assert_eq!(out, ["a", "b"][source]);
            }
        }
        assert_eq!(writes, 2);
        let long = "x".repeat(LONGEST + 1);
        render_cache.keep((0, 9), &long);
        assert!(!render_cache.recall((0, 9), &mut String::new()));
    }
}
