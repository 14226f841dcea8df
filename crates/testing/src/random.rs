//! Numbers that repeat for the same seed.

/// A generator of such numbers: xorshift64* (Vigna, 2016). A failed test prints its generator, or
/// the seed.
#[derive(Clone, Copy, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator for any seed, 0 included. Seeds that differ by little give numbers that have
    /// nothing in common.
    pub fn new(seed: u64) -> Random {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        random.next();
        random
    }

    /// A generator with the given state, which must not be 0.
    pub fn from_state(state: u64) -> Random {
        Random(state.max(1))
    }

    /// The next 64 bits.
    #[expect(clippy::should_implement_trait, reason = "an iterator that never ends is no iterator")]
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `n`, and 0 for 0.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    /// An index into `len` items, and 0 for 0.
    pub fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// A number from `low` to `high`, inclusive.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.index(high - low + 1)
    }

    /// True with probability `of` / 256.
    pub fn chance(&mut self, of: u8) -> bool {
        self.below(256) < u64::from(of)
    }

    /// True once in `n` times; never for 0.
    pub fn one_in(&mut self, n: u64) -> bool {
        n > 0 && self.below(n) == 0
    }

    /// One of `items`, which are not empty.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.index(items.len())]
    }

    /// `len` bytes.
    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| (self.next() >> 56) as u8).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers from state 1 as the published generator has them.
    #[test]
    fn published_sequence() {
        let mut random = Random(1);
        assert_eq!(random.next(), 0x47e4_ce4b_896c_dd1d);
        assert_eq!(Random(1).bytes(1), [0x47]);
    }

    #[test]
    fn numbers_are_below_their_limit_and_reach_it() {
        let mut random = Random::new(0);
        for limit in 1..40 {
            let drawn: Vec<u64> = (0..2000).map(|_| random.below(limit)).collect();
            assert_eq!(drawn.iter().max(), Some(&(limit - 1)));
            assert_eq!(drawn.iter().min(), Some(&0));
        }
        assert_eq!(random.below(0), 0);
        assert!(!random.one_in(0) && random.one_in(1));
    }
}
