//! The reserve of a source: what packets may cost beyond a fixed amount for each byte.

/// The default of [`Code::max_expansion`](crate::Code::max_expansion).
pub const MAX_EXPANSION: u32 = 1 << 20;

/// Bounds the work for all packets of a source together, where
/// [`Code::max_expansion`](crate::Code::max_expansion) bounds that of one packet. The unit is an
/// instruction; look-ups of blocks count as some more.
///
/// The cost of a packet is free up to a fixed amount for each of its bytes. What it costs beyond is
/// taken from the reserve, which fills by the same amount for each byte of the buffer. It depends
/// on offsets and packets alone, so that it is the same however the bytes are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reserve {
    /// The offset at which the reserve is full.
    full_at: u64,
    /// What it fills by for each byte of the buffer.
    rate: u64,
    /// What it has when it is full, in bytes of the buffer that fill it.
    depth: u64,
    /// What a byte of a packet may cost without the reserve.
    free: u64,
}

/// The part of [`Code::max_expansion`](crate::Code::max_expansion) that is free for each byte.
const FREE: u64 = 1 << 8;

/// A full reserve, as a multiple of [`Code::max_expansion`](crate::Code::max_expansion).
const FULL: u64 = 1 << 8;

impl Reserve {
    /// A full reserve. `max_expansion`: see
    /// [`Code::max_expansion`](crate::Code::max_expansion); less than its default makes no
    /// difference. `sources`: how many sources of the buffer have an equal part of it.
    pub fn new(max_expansion: u32, sources: usize) -> Reserve {
        let (most, sources) = (u64::from(max_expansion.max(MAX_EXPANSION)), sources.max(1) as u64);
        let free = most / FREE;
        let rate = (free / sources).max(1);
        Reserve { full_at: 0, rate, depth: most * FULL / sources / rate, free }
    }

    /// The same for a buffer of which a byte in a file stands for `unpacked` bytes: the free amount
    /// of a byte and what the reserve fills by are parts of those of a stored byte.
    #[must_use]
    pub fn of_unpacked(self, unpacked: u64) -> Reserve {
        let unpacked = unpacked.max(1);
        let (full, rate) = (self.rate.saturating_mul(self.depth), (self.rate / unpacked).max(1));
        Reserve { rate, depth: full / rate, free: self.free / unpacked, ..self }
    }

    /// What a byte of a packet may cost without the reserve.
    #[inline]
    pub const fn free(&self) -> u64 {
        self.free
    }

    /// What is left at offset `at`.
    #[inline]
    pub const fn left(&self, at: u64) -> u64 {
        self.depth.saturating_sub(self.full_at.saturating_sub(at)).saturating_mul(self.rate)
    }

    /// What a packet at offset `at` may cost, of which `free` does not count, and which alone may
    /// cost `most`.
    #[inline]
    pub fn allow(&self, at: u64, free: u64, most: u64) -> u64 {
        free.saturating_add(self.left(at)).min(most)
    }

    /// Takes `cost` at offset `at`.
    #[inline]
    pub fn spend(&mut self, at: u64, cost: u64) {
        if cost > 0 {
            self.full_at = self.full_at.max(at).saturating_add(cost.div_ceil(self.rate));
        }
    }

    /// Takes `cost` at offset `at`, if that is left.
    #[inline]
    pub fn take(&mut self, at: u64, cost: u64) -> bool {
        let left = cost <= self.left(at);
        if left {
            self.spend(at, cost);
        }
        left
    }

    /// The reserve when it is full.
    #[must_use]
    pub const fn filled(self) -> Reserve {
        Reserve { full_at: 0, ..self }
    }

    /// Whether both have the same left at offset `at` and later.
    #[inline]
    pub fn agrees(&self, other: &Reserve, at: u64) -> bool {
        self.full_at.max(at) == other.full_at.max(at)
    }
}

impl Default for Reserve {
    fn default() -> Reserve {
        Reserve::new(MAX_EXPANSION, 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A full reserve is 256 times the expansion of a byte, and fills by a 256th of it for a byte.
    #[test]
    fn a_reserve_fills_with_offsets() {
        let mut reserve = Reserve::new(MAX_EXPANSION, 1);
        assert_eq!((reserve.free(), reserve.left(7)), (4096, 1 << 28));
        assert!(reserve.take(1000, 1 << 28));
        assert_eq!((reserve.left(1000), reserve.take(1000, 1)), (0, false));
        assert_eq!(reserve.left(1001), 4096);
        assert!(reserve.take(1001, 1) && !reserve.take(1001, 1));
        assert_eq!(reserve.left(1000 + (1 << 17)), 1 << 28);
        // A packet is taken whole; what it costs beyond the rest delays the filling.
        reserve.spend(1 << 30, 2 << 28);
        assert_eq!((reserve.left((1 << 30) + (1 << 16)), reserve.left(1 << 31)), (0, 1 << 28));
    }

    #[test]
    fn sources_share_a_reserve() {
        for sources in [2, 8, 100, 5000] {
            let reserve = Reserve::new(1 << 24, sources);
            assert_eq!(reserve.free(), 1 << 16, "{sources}");
            let all = reserve.left(0) * sources as u64;
            assert!(all <= 1 << 32 && all > 1 << 31, "{sources}: {all}");
        }
        // Each has some.
        assert!(Reserve::new(1, usize::MAX).rate > 0);
    }

    #[test]
    fn unpacked_bytes_have_a_part_each() {
        let reserve = Reserve::new(MAX_EXPANSION, 1).of_unpacked(16);
        assert_eq!((reserve.free(), reserve.left(0)), (256, 1 << 28));
        let mut spent = reserve;
        spent.spend(0, 1 << 28);
        assert_eq!((spent.left(0), spent.left(1)), (0, 256));
        assert_eq!(reserve.of_unpacked(0), reserve);
        let least = reserve.of_unpacked(u64::MAX);
        assert_eq!((least.free(), least.rate, least.left(0)), (0, 1, 1 << 28));
    }

    #[test]
    fn reserves_agree_when_they_are_full() {
        let (mut one, other) = (Reserve::default(), Reserve::default());
        one.spend(10, 5 * 4096);
        assert!(!one.agrees(&other, 14) && one.agrees(&other, 15));
    }
}
