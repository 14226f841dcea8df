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

    /// The duration `ticks` in seconds. `None` below the last digit.
    pub fn duration_seconds(&self, ticks: u64) -> Option<String> {
        self.seconds(ticks).filter(|_| self.nanoseconds(ticks) != Some(0))
    }

    /// A time as text: seconds, or ticks where the frequency is not known.
    pub fn time(&self, ticks: u64) -> String {
        self.seconds(ticks).unwrap_or_else(|| ticks.to_string())
    }

    /// A duration as text: microseconds, or ticks.
    pub fn duration(&self, ticks: u64) -> String {
        let unit = if self.nanoseconds(ticks).is_some() { "us" } else { "ticks" };
        format!("{} {unit}", self.plain_duration(ticks))
    }

    /// A duration in microseconds, or ticks.
    pub fn plain_duration(&self, ticks: u64) -> String {
        match self.nanoseconds(ticks) {
            Some(0) if ticks > 0 => "<0.001".to_owned(),
            Some(all) => format!("{}.{:03}", all / 1000, all % 1000),
            None => ticks.to_string(),
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
        // Below the last digit, a duration is not 0.
        let fast = Clock { frequency: Some(3_000_000_000) };
        assert_eq!((fast.duration(2), fast.duration(3)), ("<0.001 us".into(), "0.001 us".into()));
        assert_eq!(fast.duration_seconds(2), None);
        assert_eq!(fast.duration_seconds(3).as_deref(), Some("0.000000001"));
        assert_eq!(Clock { frequency: Some(0) }.seconds(1), None);
        assert_eq!(Clock { frequency: Some(1) }.seconds(u64::MAX), None);
    }
}
