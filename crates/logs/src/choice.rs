//! Random choices, where a trace unit may do either.

/// The next state of a generator whose state is not 0. (xorshift64, of George Marsaglia)
pub(crate) fn xorshift(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}
