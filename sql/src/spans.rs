//! Sets of numbers.

/// Numbers, as ranges that include both ends, in order and apart from each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spans(Vec<(u64, u64)>);

impl Spans {
    /// The numbers from `low` to `high`, both included; none where `low` is greater.
    pub fn new(low: u64, high: u64) -> Spans {
        Spans::of([(low, high)])
    }

    /// The numbers of all `ranges`.
    pub fn of(ranges: impl IntoIterator<Item = (u64, u64)>) -> Spans {
        let mut all: Vec<_> = ranges.into_iter().filter(|(low, high)| low <= high).collect();
        all.sort_unstable();
        let mut joined: Vec<(u64, u64)> = Vec::new();
        for (low, high) in all {
            match joined.last_mut() {
                Some(last) if low <= last.1.saturating_add(1) => last.1 = last.1.max(high),
                _ => joined.push((low, high)),
            }
        }
        Spans(joined)
    }

    /// Whether there are no numbers.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `number` is one of them.
    pub fn contains(&self, number: u64) -> bool {
        self.touches(number, number)
    }

    /// Whether one of them is from `low` to `high`, both included.
    pub fn touches(&self, low: u64, high: u64) -> bool {
        self.0.iter().any(|own| own.0 <= high && low <= own.1)
    }

    /// The numbers of either.
    #[must_use]
    pub fn or(&self, other: &Spans) -> Spans {
        Spans::of(self.iter().chain(other.iter()))
    }

    /// The numbers of both.
    #[must_use]
    pub fn and(&self, other: &Spans) -> Spans {
        let both = self.iter().flat_map(|own| {
            other.iter().map(move |other| (own.0.max(other.0), own.1.min(other.1)))
        });
        Spans::of(both)
    }

    /// The least and the greatest.
    pub fn hull(&self) -> Option<(u64, u64)> {
        Some((self.0.first()?.0, self.0.last()?.1))
    }

    /// The ranges.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sets of small numbers are compared with those of the standard library.
    #[test]
    fn spans_are_sets() {
        let mut seed = 1u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % below
        };
        for _ in 0..1000 {
            let mut set = || -> Vec<(u64, u64)> {
                (0..random(4)).map(|_| (random(16), random(16))).collect()
            };
            let (a, b) = (set(), set());
            let has = |all: &[(u64, u64)], n: u64| all.iter().any(|own| own.0 <= n && n <= own.1);
            let (x, y) = (Spans::of(a.clone()), Spans::of(b.clone()));
            for n in 0..16 {
                assert_eq!(x.contains(n), has(&a, n), "{a:?} {n}");
                assert_eq!(x.or(&y).contains(n), has(&a, n) || has(&b, n), "{a:?} {b:?} {n}");
                assert_eq!(x.and(&y).contains(n), has(&a, n) && has(&b, n), "{a:?} {b:?} {n}");
            }
            let numbers: Vec<u64> = (0..16).filter(|n| has(&a, *n)).collect();
            let ends = numbers.first().copied().zip(numbers.last().copied());
            assert_eq!(x.hull(), ends, "{a:?}");
        }
    }

    #[test]
    fn the_greatest_number_is_in_a_set() {
        let all = Spans::new(0, u64::MAX);
        assert!(all.contains(u64::MAX) && all.or(&all) == all && all.and(&all) == all);
        assert!(Spans::new(1, 0).is_empty());
    }
}
