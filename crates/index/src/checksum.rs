//! The checksum of the format.

/// An odd number with irregular bits: the golden ratio in 64 bits.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// A checksum of 64 bits that is computed from the front. It is not a cryptographic hash: it shows
/// damage, not forgery.
///
/// The bytes are words of 64 bits, least significant byte first, the last one filled up with zeros.
/// From `h` = 0, each word `w` makes `h = (rotate_left(h, 23) ^ w) * 0x9e3779b97f4a7c15` modulo
/// 2^64. The number of bytes is the last word. Each step is a bijection of `w`, so that a
/// difference in one word always changes the checksum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checksum {
    state: u64,
    len: u64,
}

impl Checksum {
    /// Adds bytes. All calls but the last must add a multiple of eight.
    pub fn add(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.state = step(self.state, u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            let mut word = [0; 8];
            word.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
            self.state = step(self.state, u64::from_le_bytes(word));
        }
        self.len += bytes.len() as u64;
    }

    /// The checksum of all bytes added.
    pub const fn value(&self) -> u64 {
        step(self.state, self.len)
    }

    /// The checksum of `bytes`.
    pub fn of(bytes: &[u8]) -> u64 {
        let mut sum = Checksum::default();
        sum.add(bytes);
        sum.value()
    }
}

/// A checksum of bytes that are not stored: four sums of the words in turn, which a processor
/// computes at the same time, and then the rest.
pub(crate) fn of_memory(bytes: &[u8]) -> u64 {
    let (blocks, rest) = bytes.as_chunks::<32>();
    let mut states = [0u64; 4];
    for block in blocks {
        let (words, _) = block.as_chunks::<8>();
        for (state, word) in states.iter_mut().zip(words) {
            *state = step(*state, u64::from_le_bytes(*word));
        }
    }
    let sum = states.into_iter().fold(Checksum::of(rest), step);
    step(sum, bytes.len() as u64)
}

#[inline]
const fn step(state: u64, word: u64) -> u64 {
    (state.rotate_left(23) ^ word).wrapping_mul(FACTOR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_flipped_bit_changes_the_checksum() {
        let bytes: Vec<u8> = (0..100u8).map(|n| n.wrapping_mul(7)).collect();
        let sum = Checksum::of(&bytes);
        for bit in 0..bytes.len() * 8 {
            let mut other = bytes.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(Checksum::of(&other), sum, "bit {bit}");
        }
        for len in 0..bytes.len() {
            assert_ne!(Checksum::of(&bytes[..len]), sum);
        }
        let mut parts = Checksum::default();
        bytes.chunks(16).for_each(|part| parts.add(part));
        assert_eq!(parts.value(), sum);
        assert_ne!(Checksum::of(&[0]), Checksum::of(&[0, 0]), "zeros at the end");
    }

    #[test]
    fn each_flipped_bit_changes_the_checksum_of_memory() {
        let bytes: Vec<u8> = (0..100u8).map(|n| n.wrapping_mul(7)).collect();
        let sum = of_memory(&bytes);
        for bit in 0..bytes.len() * 8 {
            let mut other = bytes.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(of_memory(&other), sum, "bit {bit}");
        }
        for len in 0..bytes.len() {
            assert_ne!(of_memory(&bytes[..len]), sum);
        }
        // Words in another order.
        let mut other = bytes.clone();
        other.rotate_left(8);
        assert_ne!(of_memory(&other), sum);
    }
}
