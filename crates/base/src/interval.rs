//! A quantity of which only bounds are known.

use core::fmt;

/// A quantity between two bounds, both included, such as a time between two timestamps.
///
/// ```
/// use tracewright_base::Interval;
///
/// let (begin, end) = (Interval::new(100, 120), Interval::new(180, 200));
/// assert_eq!(end.since(begin), Interval::new(60, 100));
/// assert_eq!(Interval::point(5) + Interval::at_least(7), Interval::at_least(12));
/// assert_eq!(Interval::new(60, 100).to_string(), "60..100");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Interval {
    /// The lower bound.
    pub least: u64,
    /// The upper bound; `None` if there is none.
    pub most: Option<u64>,
}

impl Interval {
    /// From `least` to `most`.
    pub const fn new(least: u64, most: u64) -> Interval {
        Interval { least, most: Some(most) }
    }

    /// One value.
    pub const fn point(value: u64) -> Interval {
        Interval::new(value, value)
    }

    /// `least` or more.
    pub const fn at_least(least: u64) -> Interval {
        Interval { least, most: None }
    }

    /// Whether it is one value.
    pub fn is_point(self) -> bool {
        self.most == Some(self.least)
    }

    /// Whether `value` is in it.
    pub fn contains(self, value: u64) -> bool {
        self.least <= value && self.most.is_none_or(|most| value <= most)
    }

    /// The distance from a value in `earlier` to a later one in this interval.
    #[must_use]
    pub fn since(self, earlier: Interval) -> Interval {
        Interval {
            least: earlier.most.map_or(0, |most| self.least.saturating_sub(most)),
            most: self.most.map(|most| most.saturating_sub(earlier.least)),
        }
    }

    /// The lesser of a value in each.
    #[must_use]
    pub fn min(self, other: Interval) -> Interval {
        let most = match (self.most, other.most) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        Interval { least: self.least.min(other.least), most }
    }

    /// The greater of a value in each.
    #[must_use]
    pub fn max(self, other: Interval) -> Interval {
        let most = self.most.zip(other.most).map(|(a, b)| a.max(b));
        Interval { least: self.least.max(other.least), most }
    }
}

impl core::ops::Add for Interval {
    type Output = Interval;

    fn add(self, other: Interval) -> Interval {
        let most = self.most.zip(other.most).map(|(a, b)| a.saturating_add(b));
        Interval { least: self.least.saturating_add(other.least), most }
    }
}

/// `12` for a point, `12..13`, or `12..` without an upper bound.
impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.most {
            Some(most) if most == self.least => write!(f, "{most}"),
            Some(most) => write!(f, "{}..{most}", self.least),
            None => write!(f, "{}..", self.least),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn bounds_of_distances() {
        let (a, b) = (Interval::new(10, 20), Interval::new(15, 40));
        // They overlap: the distance may be 0.
        assert_eq!(b.since(a), Interval::new(0, 30));
        assert_eq!(Interval::point(50).since(Interval::at_least(10)), Interval::new(0, 40));
        assert_eq!(Interval::at_least(50).since(a), Interval::at_least(30));
    }

    #[test]
    fn bounds_of_extremes() {
        let (a, b, open) = (Interval::new(10, 30), Interval::new(20, 25), Interval::at_least(5));
        assert_eq!(a.min(b), Interval::new(10, 25));
        assert_eq!(a.max(b), Interval::new(20, 30));
        assert_eq!((a.min(open), a.max(open)), (Interval::new(5, 30), Interval::at_least(10)));
        assert_eq!(a + open, Interval::at_least(15));
    }

    #[test]
    fn text() {
        let all = [Interval::point(3), Interval::new(3, 4), Interval::at_least(3)];
        assert_eq!(all.map(|own| own.to_string()), ["3", "3..4", "3.."]);
        assert!(Interval::new(3, 4).contains(4) && !Interval::new(3, 4).contains(5));
        assert!(Interval::at_least(3).contains(u64::MAX) && !Interval::at_least(3).contains(2));
    }
}
