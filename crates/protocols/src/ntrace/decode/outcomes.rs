//! Outcomes of branches: HIST.

/// Outcomes that the walk has not reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcomes {
    /// The oldest in bit 0; 1 is taken.
    pub(super) map: u64,
    /// How many, at most 63.
    pub(super) len: u32,
}

impl Outcomes {
    /// The outcomes of a history, whose newest is in bit 0 and whose highest bit set is above the
    /// oldest. `None` without such a bit.
    #[inline]
    pub(super) const fn of(hist: u64) -> Option<Outcomes> {
        let Some(len) = hist.checked_ilog2() else { return None };
        if len == 0 {
            return Some(Outcomes { map: 0, len: 0 });
        }
        // Of fewer bits the reversal is faster.
        let map = match hist >> 32 {
            0 => ((hist as u32).reverse_bits() >> (u32::BITS - len)) as u64,
            _ => hist.reverse_bits() >> (u64::BITS - len),
        };
        Some(Outcomes { map, len })
    }

    /// One outcome.
    pub(super) const fn one(taken: bool) -> Outcomes {
        Outcomes { map: taken as u64, len: 1 }
    }

    /// Takes the next outcome.
    #[inline]
    pub(super) const fn take(&mut self) -> Option<bool> {
        if self.len == 0 {
            return None;
        }
        let taken = self.map & 1 != 0;
        (self.map, self.len) = (self.map >> 1, self.len - 1);
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::Outcomes;

    #[test]
    fn the_oldest_comes_first() {
        for (hist, want) in [
            (1, &[][..]),
            (0b10, &[false]),
            (0b11, &[true]),
            (0b110, &[true, false]),
            (0b1_0111, &[false, true, true, true]),
        ] {
            let mut outcomes = Outcomes::of(hist).unwrap();
            for want in want {
                assert_eq!(outcomes.take(), Some(*want), "{hist:b}");
            }
            assert_eq!(outcomes.take(), None, "{hist:b}");
        }
        assert_eq!(Outcomes::of(0), None);
        assert_eq!(Outcomes::of(u64::MAX).unwrap().len, 63);
    }
}
