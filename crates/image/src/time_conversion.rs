//! Timestamps of a trace as times of the operating system.

/// How ticks of the timestamp counter are converted to nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeConversion {
    /// `time_shift`.
    pub shift: u64,
    /// `time_mult`.
    pub multiplier: u64,
    /// `time_zero`.
    pub zero: u64,
}

impl TimeConversion {
    /// The time in nanoseconds of `ticks` of the counter.
    pub fn nanoseconds(&self, ticks: u64) -> u64 {
        let shift = self.shift.min(63) as u32;
        let (high, low) = (ticks >> shift, ticks & ((1 << shift) - 1));
        self.zero
            .wrapping_add(high.wrapping_mul(self.multiplier))
            .wrapping_add(low.wrapping_mul(self.multiplier) >> shift)
    }

    /// The first and the last of the ticks whose times are from `low` to `high` nanoseconds, both
    /// included, in runs: times wrap at 64 bits. `None` where they are too many to be found.
    pub fn ticks(&self, low: u64, high: u64) -> Option<Vec<(u64, u64)>> {
        /// The most runs.
        const RUNS: u128 = 64;
        let (shift, multiplier) = (self.shift.min(63), u128::from(self.multiplier));
        // As long as no product wraps, the time is this sum, which does not decrease.
        let part = ((1u128 << shift) - 1) * multiplier;
        let time = |ticks: u64| {
            ((u128::from(ticks) * multiplier) >> shift).saturating_add(self.zero.into())
        };
        let wraps = time(u64::MAX) >> 64;
        if part > u64::MAX.into() || wraps >= RUNS {
            return None;
        }
        // The first of the ticks with a time of `least` or later.
        let first = |least: u128| {
            let (mut from, mut to) = (0u128, 1u128 << 64);
            while from < to {
                let middle = (from + to) / 2;
                match u64::try_from(middle).is_ok_and(|ticks| time(ticks) < least) {
                    true => from = middle + 1,
                    false => to = middle,
                }
            }
            from
        };
        let runs = (0..=wraps).filter_map(|n| {
            let begin = first(u128::from(low) + (n << 64));
            let end = first(u128::from(high) + (n << 64) + 1);
            let last = end.checked_sub(1).filter(|last| *last >= begin)?;
            Some((u64::try_from(begin).ok()?, u64::try_from(last).ok()?))
        });
        Some(runs.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_converted_to_nanoseconds() {
        // 25 MHz: 40 ns a tick, as 40 * 2^10 >> 10.
        let time = TimeConversion { shift: 10, multiplier: 40 << 10, zero: 1000 };
        for (ticks, want) in [(0, 1000), (1, 1040), (1025, 1000 + 1025 * 40)] {
            assert_eq!(time.nanoseconds(ticks), want);
        }
    }

    /// All ticks of a clock are compared, where they are few; for others, those at the borders.
    #[test]
    fn ticks_are_those_whose_times_are_between() {
        let has = |runs: &[(u64, u64)], ticks| {
            runs.iter().any(|(first, last)| (*first..=*last).contains(&ticks))
        };
        for (shift, multiplier, zero) in
            [(10, 40 << 10, 1000), (3, 5, 7), (2, 9, 0), (0, 0, 20), (31, 1 << 30, 3)]
        {
            let time = TimeConversion { shift, multiplier, zero };
            for (low, high) in [(0, 0), (0, 30), (20, 20), (29, 1500), (1000, 999), (7, 7)] {
                let runs = time.ticks(low, high).expect("few runs");
                for ticks in (0..2000).chain([u64::MAX, u64::MAX - 1]) {
                    let inside = (low..=high).contains(&time.nanoseconds(ticks));
                    assert_eq!(has(&runs, ticks), inside, "{time:?} {low}..={high} {ticks}");
                }
            }
        }
        // Times wrap three times.
        let time = TimeConversion { shift: 1, multiplier: 6, zero: u64::MAX - 10 };
        let runs = time.ticks(0, 100).expect("few runs");
        assert_eq!(runs.len(), 3);
        for (first, last) in runs {
            let of = |ticks: u64| time.nanoseconds(ticks);
            assert!(of(first) < 3 && of(first.wrapping_sub(1)) > 100 && of(last) > 97);
            assert!(of(last.wrapping_add(1)) > 100);
        }
        assert_eq!(time.ticks(0, u64::MAX).expect("few runs").len(), 4);
        for (shift, multiplier) in [(0, 65), (63, 4)] {
            assert_eq!(TimeConversion { shift, multiplier, zero: 0 }.ticks(1, 2), None);
        }
    }
}
