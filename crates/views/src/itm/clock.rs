//! Ticks as seconds.

/// The clock of the times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// Ticks in a second, if it is known.
    pub frequency: Option<u64>,
}

impl Clock {
    /// `ticks` in nanoseconds, rounded down.
    pub fn nanoseconds(&self, ticks: u64) -> Option<u64> {
        let frequency = self.frequency.filter(|&frequency| frequency > 0)?;
        u64::try_from(u128::from(ticks) * 1_000_000_000 / u128::from(frequency)).ok()
    }

    /// `ticks` in seconds, with nine digits after the point.
    pub fn seconds(&self, ticks: u64) -> Option<String> {
        let all = self.nanoseconds(ticks)?;
        Some(format!("{}.{:09}", all / 1_000_000_000, all % 1_000_000_000))
    }

    /// A time as text: seconds, or ticks where the frequency is not known.
    pub fn time(&self, ticks: u64) -> String {
        self.seconds(ticks).unwrap_or_else(|| ticks.to_string())
    }

    /// A duration as text: microseconds, or ticks.
    pub fn duration(&self, ticks: u64) -> String {
        match self.nanoseconds(ticks) {
            Some(all) => format!("{}.{:03} us", all / 1000, all % 1000),
            None => format!("{ticks} ticks"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_converted() {
        let clock = Clock { frequency: Some(24_000_000) };
        assert_eq!(clock.time(36), "0.000001500");
        assert_eq!(clock.duration(36), "1.500 us");
        assert_eq!(clock.time(48_000_001), "2.000000041");
        assert_eq!(Clock::default().time(36), "36");
        assert_eq!(Clock::default().duration(36), "36 ticks");
        assert_eq!(Clock { frequency: Some(0) }.seconds(1), None);
        assert_eq!(Clock { frequency: Some(1) }.seconds(u64::MAX), None);
    }
}
