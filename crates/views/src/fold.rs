//! Ordered checksums: two checksums of adjacent parts join to the checksum of the whole.

use std::hash::Hasher;

/// An odd number with irregular bits: the fraction of the golden ratio in 64 bits.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The sum of values times powers of [`STEP`], modulo 2^64. The power depends on the position of
/// the value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fold {
    pub(crate) sum: u64,
    pub(crate) count: u64,
}

impl Fold {
    #[inline]
    pub(crate) fn push(&mut self, value: u64) {
        self.sum = self.sum.wrapping_mul(STEP).wrapping_add(value);
        self.count += 1;
    }

    /// [`push`](Self::push) of each value, in two sums that do not wait for each other.
    #[inline(always)]
    pub(crate) fn push_all<T: Copy>(&mut self, items: &[T], mut value: impl FnMut(T) -> u64) {
        const SQUARE: u64 = STEP.wrapping_mul(STEP);
        let (pairs, rest) = items.as_chunks();
        let (mut even, mut odd) = (0u64, self.sum);
        for &[first, second] in pairs {
            even = even.wrapping_mul(SQUARE).wrapping_add(value(first));
            odd = odd.wrapping_mul(SQUARE).wrapping_add(value(second));
        }
        self.sum = even.wrapping_mul(STEP).wrapping_add(odd);
        self.count += 2 * pairs.len() as u64;
        rest.iter().for_each(|item| self.push(value(*item)));
    }

    /// [`join`](Self::join) of the same values, `times` times.
    pub(crate) fn join_times(&mut self, values: Fold, mut times: u64) {
        // The values 1, 2, 4, ... times.
        let mut doubled = values;
        while times > 0 {
            if times & 1 != 0 {
                self.join(doubled);
            }
            doubled.join(doubled);
            times >>= 1;
        }
    }

    /// Appends the values of `later`.
    pub(crate) fn join(&mut self, later: Fold) {
        self.sum = self.sum.wrapping_mul(power(later.count)).wrapping_add(later.sum);
        self.count = self.count.wrapping_add(later.count);
    }
}

/// [`STEP`] to the power of `n`.
fn power(mut n: u64) -> u64 {
    let (mut all, mut square) = (1u64, STEP);
    while n > 0 {
        if n & 1 != 0 {
            all = all.wrapping_mul(square);
        }
        square = square.wrapping_mul(square);
        n >>= 1;
    }
    all
}

/// Mixes two numbers: both halves of a 128-bit product, XORed.
#[inline]
pub(crate) const fn mix(a: u64, b: u64) -> u64 {
    spread(a ^ 0xa076_1d64_78bd_642f, b)
}

/// [`mix`] for an `a` that is seldom zero.
#[inline]
pub(crate) const fn spread(a: u64, b: u64) -> u64 {
    let product = a as u128 * (b ^ 0xe703_7ed1_a0b4_28db) as u128;
    product as u64 ^ (product >> 64) as u64
}

/// A hasher for derived `Hash` implementations.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mixer(pub(crate) u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte.into());
        }
    }

    #[inline]
    fn write_u8(&mut self, n: u8) {
        self.write_u64(n.into());
    }

    #[inline]
    fn write_u16(&mut self, n: u16) {
        self.write_u64(n.into());
    }

    #[inline]
    fn write_u32(&mut self, n: u32) {
        self.write_u64(n.into());
    }

    #[inline]
    fn write_u64(&mut self, n: u64) {
        self.0 = mix(self.0, n);
    }

    #[inline]
    fn write_usize(&mut self, n: usize) {
        self.write_u64(n as u64);
    }

    #[inline]
    fn write_isize(&mut self, n: isize) {
        self.write_u64(n as u64);
    }
}
