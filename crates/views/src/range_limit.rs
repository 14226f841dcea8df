//! The most ranges that a listing has. A capture that was made by an attacker stands for more lines
//! than anyone reads.

use tracewright_base::MAX_EXPANSION;

/// The kind of the line that stands for ranges that are not listed, in every format.
pub const KIND: &str = "unlisted";

/// The text of the line.
pub const TEXT: &str = "further ranges of this packet are not listed, as the limit was reached";

/// What a range may be: listed, not listed, or the first one of its packet that is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It is listed.
    Listed,
    /// It is not listed, and a line reports that.
    First,
    /// It is not listed.
    Omitted,
}

/// Bounds the ranges of a listing: a number for the whole trace, and one for each byte of it. It
/// depends on offsets and ranges alone, so that chunks of the trace give the same lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeLimit {
    sources: Vec<Spent>,
    /// What a range of one of the sources costs.
    cost: u64,
    /// What is available for each byte.
    each: u64,
    /// What is available at once.
    depth: u64,
    /// Where the last range was.
    now: u64,
}

/// What a source has listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Where all of it is available again: an offset times `each`.
    full_at: u64,
    /// The packet whose further ranges are not listed.
    reported: Option<u64>,
}

/// The part of [`MAX_EXPANSION`] that is available for each byte.
const EACH: u64 = 1 << 16;

/// What is available at once, as a multiple of [`MAX_EXPANSION`].
const DEPTH: u64 = 1 << 1;

impl RangeLimit {
    /// The limit of a listing of `sources` sources, where a byte stands for at most
    /// `max_expansion` instructions. Less than the default makes no difference.
    pub fn new(sources: usize, max_expansion: u32) -> RangeLimit {
        let most = u64::from(max_expansion.max(MAX_EXPANSION));
        RangeLimit::of(sources, most * DEPTH, most / EACH)
    }

    /// The limit of a listing of `sources` sources: `depth` ranges at once, and `each` for each
    /// byte.
    pub fn of(sources: usize, depth: u64, each: u64) -> RangeLimit {
        let (cost, sources) = (sources.max(1) as u64, vec![Spent::default(); sources]);
        RangeLimit { sources, cost, each, depth, now: 0 }
    }

    /// Takes a range of source `n` at offset `at`.
    #[inline]
    pub fn admit(&mut self, n: usize, at: u64) -> Admission {
        let Some(spent) = self.sources.get_mut(n) else { return Admission::Listed };
        let now = at.saturating_mul(self.each);
        self.now = now;
        let full_at = spent.full_at.max(now).saturating_add(self.cost);
        if full_at - now <= self.depth {
            spent.full_at = full_at;
            return Admission::Listed;
        }
        match spent.reported.replace(at) == Some(at) {
            true => Admission::Omitted,
            false => Admission::First,
        }
    }

    /// Whether a line has reported that no further range of source `n` at offset `at` is listed.
    #[inline]
    pub fn omits(&self, n: usize, at: u64) -> bool {
        self.sources.get(n).is_some_and(|spent| spent.reported == Some(at))
    }

    /// The same limit of a listing that has no range.
    #[must_use]
    pub fn fork(&self) -> RangeLimit {
        RangeLimit { sources: vec![Spent::default(); self.sources.len()], now: 0, ..*self }
    }

    /// What later ranges depend on.
    pub fn state(&self) -> Vec<Spent> {
        let is_full = |spent: &Spent| spent.full_at <= self.now;
        self.sources.iter().map(|s| if is_full(s) { Spent::default() } else { *s }).collect()
    }

    /// Goes on as one with this state.
    pub fn resume(&mut self, state: Vec<Spent>) {
        self.sources = state;
    }
}

#[cfg(test)]
mod tests {
    use super::Admission::{First, Listed, Omitted};
    use super::*;

    /// Two ranges for each instruction that a byte may stand for, and 16 for each byte.
    #[test]
    fn ranges_are_limited() {
        let mut limit = RangeLimit::new(1, 0);
        let most = u64::from(MAX_EXPANSION) * 2;
        assert!((0..most).all(|_| limit.admit(0, 7) == Listed));
        assert!(!limit.omits(0, 7));
        assert_eq!([limit.admit(0, 7), limit.admit(0, 7)], [First, Omitted]);
        assert!(limit.omits(0, 7) && !limit.omits(0, 8));
        assert!((0..16).all(|_| limit.admit(0, 8) == Listed));
        assert_eq!([limit.admit(0, 8), limit.admit(0, 8)], [First, Omitted]);
        assert!((0..160).all(|_| limit.admit(0, 18) == Listed));
        assert_eq!(limit.admit(0, 18), First);
        // A source has its part.
        let mut limit = RangeLimit::new(2, 0);
        assert!((0..most / 2).all(|_| limit.admit(0, 7) == Listed));
        assert_eq!([limit.admit(0, 7), limit.admit(1, 7)], [First, Listed]);
        // A greater limit of the decoder lists more.
        let mut limit = RangeLimit::new(1, MAX_EXPANSION * 2);
        assert!((0..most * 2).all(|_| limit.admit(0, 7) == Listed));
        assert_eq!(limit.admit(0, 7), First);
    }

    /// As long as no byte has more than 16 ranges, the state is that of a listing that begins
    /// later.
    #[test]
    fn usual_ranges_leave_no_state() {
        let (mut whole, mut later) = (RangeLimit::new(2, 0), RangeLimit::new(2, 0));
        for at in 0..100_u64 {
            for _ in 0..at % 15 {
                whole.admit((at % 7 == 0).into(), at);
                if at > 50 {
                    later.admit((at % 7 == 0).into(), at);
                }
            }
        }
        assert_eq!(whole.state(), later.state());
        let mut resumed = RangeLimit::new(2, 0);
        resumed.resume(whole.state());
        assert_eq!(resumed.admit(0, 101), Listed);
    }
}
