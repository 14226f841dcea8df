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
}
