//! Pseudorandom numbers.

/// A pseudorandom number generator. (xorshift64*, Vigna 2016)
#[derive(Clone, Copy, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator from any seed.
    pub fn new(seed: u64) -> Random {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        random.next();
        random
    }

    /// A generator with the given state, which must not be 0.
    pub fn from_state(state: u64) -> Random {
        Random(state.max(1))
    }

    /// A number of 64 bits.
    #[expect(clippy::should_implement_trait, reason = "it never ends")]
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `n`; 0 if `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    /// An index below `len`.
    pub fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// A number from `low` to `high`, inclusive.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.index(high - low + 1)
    }

    /// `true` with probability `of` / 256.
    pub fn chance(&mut self, of: u8) -> bool {
        self.below(256) < u64::from(of)
    }

    /// `true` with probability 1 / `n`; never if `n` is 0.
    pub fn once_in(&mut self, n: u32) -> bool {
        n > 0 && self.below(n.into()) == 0
    }

    /// One of the items.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.index(of.len())]
    }
}
