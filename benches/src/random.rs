//! Numbers without a pattern, the same each time.

/// A generator of 64-bit numbers. (xorshift64*, Vigna 2016)
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The same seed gives the same numbers; 0 is as good as 1.
    pub fn new(seed: u64) -> Self {
        Random(seed.max(1))
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `limit`, which is not 0.
    pub fn below(&mut self, limit: usize) -> usize {
        ((self.number() >> 32) * limit as u64 >> 32) as usize
    }

    /// A number from `low` to `high`.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// True `of` times in 256.
    pub fn chance(&mut self, of: u8) -> bool {
        self.below(256) < usize::from(of)
    }
}
