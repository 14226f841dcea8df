//! Hashing of numbers.

/// Fibonacci hashing: the factor is the odd number nearest to 2^64 over the golden ratio. The high
/// bits of the product depend on all bits of `value`, and those of adjacent values differ.
#[inline]
pub const fn mix(value: u64) -> u64 {
    value.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
