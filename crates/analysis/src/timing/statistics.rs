//! Statistics of intervals.

use tracewright_base::Interval;

use super::values::{OPEN, Values, widened};

/// The most intervals of all statistics together that are stored one by one. Of more, bins are
/// stored.
pub const MAX_EXACT: u64 = 4_000_000;

/// A place in the trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The source; of joined buffers, that of the capture.
    pub source: usize,
    /// The offset in the trace.
    pub at: u64,
    /// Instructions of the source before it.
    pub instructions: u64,
}

/// Sub-bins of each power of two, as a power of two.
const SUB: u32 = 3;
/// Bins of all values.
const BINS: usize = (64 - SUB as usize + 1) << SUB;

/// The bin of a value.
fn bin(value: u64) -> usize {
    if value < 1 << SUB {
        return value as usize;
    }
    let exponent = value.ilog2() - SUB;
    ((exponent as usize + 1) << SUB) + (value >> exponent) as usize - (1 << SUB)
}

/// The least and the greatest value of a bin.
fn bounds(bin: usize) -> (u64, u64) {
    if bin < 1 << SUB {
        return (bin as u64, bin as u64);
    }
    let exponent = (bin >> SUB) - 1;
    let least = (((bin & ((1 << SUB) - 1)) + (1 << SUB)) as u64) << exponent;
    (least, least + ((1u64 << exponent) - 1))
}

/// The intervals, or how many are in each bin.
#[derive(Clone, Debug)]
enum Stored {
    All { least: Values, most: Values },
    Bins { least: Box<[u64; BINS]>, most: Box<[u64; BINS]>, open: u64 },
}

impl Default for Stored {
    fn default() -> Stored {
        Stored::All { least: Values::default(), most: Values::default() }
    }
}

/// A standard deviation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deviation {
    /// The value.
    pub value: f64,
    /// It is that of the middles of intervals, and not exact.
    pub estimate: bool,
}

/// Statistics of durations, each an interval. The k-th smallest value lies between the k-th
/// smallest lower bound and the k-th smallest upper bound, so each statistic is an interval, too.
#[derive(Clone, Debug, Default)]
pub struct Statistics {
    stored: Stored,
    count: u64,
    /// Intervals without an upper bound, of activations in which trace was lost.
    lost: u64,
    least_lost: u64,
    /// Of all lower bounds, and of all upper ones.
    lower: Bound,
    upper: Bound,
    /// The upper and the lower bound of the longest duration, and where it begins.
    longest: (u64, u64),
    most: Place,
    /// The mean and the sum of squares of differences to it, of the middles of the intervals.
    middle: (f64, f64),
    /// How many durations are in the sums: all but those that are stored and are added together.
    summed: u64,
    /// Some interval is not a point.
    wide: bool,
}

/// The extremes and the sum of the lower or the upper bounds.
#[derive(Clone, Copy, Debug)]
struct Bound {
    min: u64,
    max: u64,
    sum: u128,
}

impl Default for Bound {
    fn default() -> Bound {
        Bound { min: u64::MAX, max: 0, sum: 0 }
    }
}

impl Bound {
    fn add(&mut self, value: u64) {
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.sum += u128::from(value);
    }
}

/// An interval with this upper bound; [`OPEN`] is none.
fn bounded(least: u64, most: u64) -> Interval {
    Interval { least, most: Some(most).filter(|most| *most != OPEN) }
}

/// The middle of two bounds.
fn middle(least: u64, most: u64) -> f64 {
    let most = if most == OPEN { least } else { most };
    (least as f64 + most as f64) / 2.0
}

impl Statistics {
    /// Adds a duration.
    pub(super) fn add(&mut self, duration: Interval, place: Place) {
        self.push(duration.least, duration.most.unwrap_or(OPEN), || place);
    }

    /// Adds durations, their bounds as [`narrow`](super::values::narrow) has them. `place` is that
    /// of the one with an index.
    pub(super) fn push_all<I: ExactSizeIterator<Item = (u32, u32)> + Clone>(
        &mut self,
        more: I,
        place: impl Fn(usize) -> Place,
    ) {
        let Stored::All { least: Values::Narrow(least), most: Values::Narrow(most) } =
            &mut self.stored
        else {
            for (index, (least, most)) in more.enumerate() {
                self.push(widened(least), widened(most), || place(index));
            }
            return;
        };
        let is_first = self.count == 0;
        self.count += more.len() as u64;
        least.extend(more.clone().map(|(least, _)| least));
        most.extend(more.clone().map(|(_, most)| most));
        for (index, (least, most)) in more.enumerate() {
            let own = (widened(most), widened(least));
            if own > self.longest || is_first && index == 0 {
                (self.longest, self.most) = (own, place(index));
            }
        }
    }

    /// Adds a duration with these bounds. Those that are stored are in the sums later.
    #[inline]
    pub(super) fn push(&mut self, least: u64, most: u64, place: impl FnOnce() -> Place) {
        if (most, least) > self.longest || self.count == 0 && self.longest == (0, 0) {
            (self.longest, self.most) = ((most, least), place());
        }
        self.count += 1;
        match &mut self.stored {
            Stored::All { least: all, most: ends } => {
                all.push(least);
                ends.push(most);
            }
            Stored::Bins { .. } => self.add_to_bins(least, most),
        }
    }

    #[inline(never)]
    fn add_to_bins(&mut self, value: u64, end: u64) {
        let Stored::Bins { least, most, open } = &mut self.stored else { return };
        bump(least.get_mut(bin(value)));
        match end {
            OPEN => *open += 1,
            end => bump(most.get_mut(bin(end))),
        }
        self.sum_of(|| std::iter::once((value, end)));
    }

    /// Adds to the sums, the extremes, the mean, and the squares of differences to it, those of
    /// some durations.
    /// (Chan, Golub, LeVeque: Updating formulae and a pairwise algorithm for sample variances)
    fn sum_of<I: ExactSizeIterator<Item = (u64, u64)>>(&mut self, more: impl Fn() -> I) {
        let len = more().len();
        if len == 0 {
            return;
        }
        let (mut lower, mut upper) = (self.lower, self.upper);
        for (least, most) in more() {
            self.wide |= least != most;
            lower.add(least);
            upper.add(most);
        }
        (self.lower, self.upper) = (lower, upper);
        self.summed += len as u64;
        let middles = || more().map(|(least, most)| middle(least, most));
        let (some, all) = (len as f64, self.summed as f64);
        let mean = middles().sum::<f64>() / some;
        let squares: f64 = middles().map(|own| (own - mean) * (own - mean)).sum();
        let step = mean - self.middle.0;
        self.middle.0 += step * some / all;
        self.middle.1 += squares + step * step * some * (all - some) / all;
    }

    /// Adds those that are stored to the sums.
    fn sum_stored(&mut self) {
        let Stored::All { least, most } = &mut self.stored else { return };
        let (least, most) = (std::mem::take(least), std::mem::take(most));
        let first = self.summed as usize;
        match (&least, &most) {
            (Values::Narrow(least), Values::Narrow(most)) => {
                let lower = least.get(first..).unwrap_or_default();
                let upper = most.get(first..).unwrap_or_default();
                let both = || lower.iter().zip(upper);
                self.sum_of(|| both().map(|(a, b)| (widened(*a), widened(*b))));
            }
            _ => self.sum_of(|| least.iter(first).zip(most.iter(first))),
        }
        self.stored = Stored::All { least, most };
    }

    /// Counts an activation in which trace was lost: it lasted `least` or more.
    pub(super) fn add_lost(&mut self, least: u64) {
        self.lost += 1;
        self.least_lost = self.least_lost.max(least);
    }

    /// Whether the intervals take more memory than bins.
    pub(super) fn is_larger_than_bins(&self) -> bool {
        matches!(&self.stored, Stored::All { least, .. } if least.len() > BINS)
    }

    /// Stores bins in place of the intervals.
    pub(super) fn compact(&mut self) {
        self.sum_stored();
        let Stored::All { least, most } = &self.stored else { return };
        let (mut lower, mut upper, mut open) = ([0; BINS], [0; BINS], 0);
        least.iter(0).for_each(|value| bump(lower.get_mut(bin(value))));
        for value in most.iter(0) {
            match value {
                OPEN => open += 1,
                value => bump(upper.get_mut(bin(value))),
            }
        }
        self.stored = Stored::Bins { least: Box::new(lower), most: Box::new(upper), open };
    }

    /// Sorts.
    pub(super) fn finish(&mut self) {
        self.sum_stored();
        if let Stored::All { least, most } = &mut self.stored {
            least.sort();
            // Those of points are the same.
            match self.wide {
                true => most.sort(),
                false => most.clone_from(least),
            }
        }
    }

    /// The number of durations, without those in which trace was lost.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The number of activations in which trace was lost. They count in [`max`](Self::max) only.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// The shortest duration.
    pub fn min(&self) -> Option<Interval> {
        (self.count > 0).then(|| bounded(self.lower.min, self.upper.min))
    }

    /// The longest duration. Where trace was lost in one, it has no upper bound.
    pub fn max(&self) -> Option<Interval> {
        let lost = (self.lost > 0).then(|| Interval::at_least(self.least_lost));
        let max = (self.count > 0).then(|| bounded(self.lower.max, self.upper.max));
        match (max, lost) {
            (Some(max), Some(lost)) => Some(max.max(lost)),
            (max, lost) => max.or(lost),
        }
    }

    /// Where the longest duration begins, of those without a loss of trace.
    pub fn longest(&self) -> Option<Place> {
        (self.count > 0).then_some(self.most)
    }

    /// The sum of all durations.
    pub fn sum(&self) -> Interval {
        let small = |sum: u128| u64::try_from(sum).unwrap_or(u64::MAX);
        let most = (self.upper.max != OPEN).then(|| small(self.upper.sum));
        Interval { least: small(self.lower.sum), most }
    }

    /// The mean; rounded, where it is known.
    pub fn mean(&self) -> Option<Interval> {
        let count = u128::from(self.count);
        let (lower, upper) = (self.lower.sum, self.upper.sum);
        let mut least = lower.checked_div(count)?;
        let mut most = (self.upper.max != OPEN).then(|| upper.div_ceil(count));
        if !self.wide {
            least = (lower + count / 2) / count;
            most = Some(least);
        }
        let small = |value: u128| u64::try_from(value).unwrap_or(u64::MAX);
        Some(Interval { least: small(least), most: most.map(small) })
    }

    /// The difference of the longest and the shortest.
    pub fn spread(&self) -> Option<Interval> {
        let max = (self.count > 0).then(|| bounded(self.lower.max, self.upper.max))?;
        Some(max.since(self.min()?))
    }

    /// The standard deviation.
    pub fn deviation(&self) -> Option<Deviation> {
        let value = (self.middle.1.max(0.0) / self.count as f64).sqrt();
        (self.count > 0).then_some(Deviation { value, estimate: self.wide })
    }

    /// The duration that `per_mille` thousandths of all do not exceed (nearest rank).
    pub fn percentile(&self, per_mille: u64) -> Option<Interval> {
        let rank = (u128::from(self.count) * u128::from(per_mille)).div_ceil(1000).max(1) as u64;
        let rank = rank.min(self.count).checked_sub(1)?;
        match &self.stored {
            Stored::All { least, most } => {
                let at = rank as usize;
                let (least, most) = (least.get(at)?, most.get(at)?);
                Some(bounded(least, most))
            }
            Stored::Bins { least, most, .. } => {
                let least = nth_bin(&least[..], rank).map_or(0, |bin| bounds(bin).0);
                let most = nth_bin(&most[..], rank).map(|bin| bounds(bin).1.min(self.upper.max));
                Some(Interval { least: least.max(self.lower.min), most })
            }
        }
    }

    /// How many durations are in each bin: the least and the greatest value of the bin, and the
    /// numbers of lower and of upper bounds in it. Bins without any are left out.
    pub fn histogram(&self) -> Vec<(u64, u64, u64, u64)> {
        let mut copy = self.clone();
        copy.compact();
        let Stored::Bins { least, most, .. } = &copy.stored else { return Vec::new() };
        let bins = least.iter().zip(most.iter()).enumerate();
        let full = bins.filter(|(_, (lower, upper))| **lower + **upper > 0);
        full.map(|(n, (lower, upper))| (bounds(n).0, bounds(n).1, *lower, *upper)).collect()
    }
}

fn bump(count: Option<&mut u64>) {
    if let Some(count) = count {
        *count += 1;
    }
}

/// The bin of the value at `rank` in order.
fn nth_bin(bins: &[u64], rank: u64) -> Option<usize> {
    let mut before = 0u64;
    bins.iter().position(|count| {
        before += count;
        before > rank
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_have_their_values() {
        let mut last = 0;
        for value in (0..4000).chain((0..64).flat_map(|n| [1 << n, (1 << n) + (1 << n) / 3])) {
            let (least, most) = bounds(bin(value));
            assert!(least <= value && value <= most, "{value}: {least} to {most}");
            last = last.max(bin(value));
        }
        assert_eq!((bin(u64::MAX), bounds(bin(u64::MAX)).1), (BINS - 1, u64::MAX));
        assert!(last < BINS);
    }

    fn of(all: &[Interval]) -> Statistics {
        let mut statistics = Statistics::default();
        for (n, duration) in all.iter().enumerate() {
            statistics.add(*duration, Place { at: n as u64, ..Place::default() });
        }
        statistics.finish();
        statistics
    }

    #[test]
    fn bounds_of_each_statistic() {
        let all = [Interval::new(10, 30), Interval::new(20, 22), Interval::new(5, 40)];
        let statistics = of(&all);
        assert_eq!(statistics.min(), Some(Interval::new(5, 22)));
        assert_eq!(statistics.max(), Some(Interval::new(20, 40)));
        assert_eq!(statistics.percentile(500), Some(Interval::new(10, 30)));
        assert_eq!(statistics.percentile(990), Some(Interval::new(20, 40)));
        assert_eq!(statistics.mean(), Some(Interval::new(11, 31)));
        assert_eq!(statistics.spread(), Some(Interval::new(0, 35)));
        assert_eq!(statistics.longest().map(|place| place.at), Some(2));
        assert!(statistics.deviation().unwrap().estimate);
    }

    #[test]
    fn a_loss_leaves_the_longest_open() {
        let mut statistics = of(&[Interval::point(7)]);
        statistics.add_lost(5);
        assert_eq!(statistics.max(), Some(Interval::at_least(7)));
        assert_eq!((statistics.min(), statistics.count()), (Some(Interval::point(7)), 1));
        statistics.add_lost(9);
        assert_eq!((statistics.max(), statistics.lost()), (Some(Interval::at_least(9)), 2));
        assert_eq!(Statistics::default().max(), None);
    }

    #[test]
    fn bins_contain_what_is_exact() {
        let mut seed = 1u64;
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            seed >> 40
        };
        let all: Vec<Interval> = (0..1000)
            .map(|_| {
                let least = random();
                Interval::new(least, least + random() % 1000)
            })
            .collect();
        let exact = of(&all);
        let mut bins = exact.clone();
        bins.compact();
        for per_mille in [1, 10, 500, 950, 990, 1000] {
            let (exact, wide) = (exact.percentile(per_mille), bins.percentile(per_mille));
            let (exact, wide) = (exact.unwrap(), wide.unwrap());
            assert!(wide.least <= exact.least && exact.most <= wide.most, "{exact} {wide}");
            assert!(wide.most.unwrap() - wide.least <= exact.most.unwrap() * 5 / 4);
            assert!(wide.least >= bins.lower.min && wide.most.unwrap() <= bins.upper.max);
        }
        assert_eq!((exact.mean(), exact.min()), (bins.mean(), bins.min()));
        let counts = bins.histogram();
        assert_eq!(counts.iter().map(|bin| bin.2).sum::<u64>(), 1000);
        assert_eq!(counts, exact.histogram());
    }

    /// The deviation of more durations than are added together.
    #[test]
    fn deviations_of_parts() {
        let values: Vec<u64> = (0..1000u64).map(|n| 1_000_000_000 + n * n % 997).collect();
        let statistics = of(&values.iter().copied().map(Interval::point).collect::<Vec<_>>());
        let mean = values.iter().sum::<u64>() as f64 / 1000.0;
        let squares = values.iter().map(|own| (*own as f64 - mean).powi(2)).sum::<f64>();
        let found = statistics.deviation().unwrap();
        assert!((found.value - (squares / 1000.0).sqrt()).abs() < 1e-6 && !found.estimate);
    }

    #[test]
    fn deviation_of_points() {
        let statistics = of(&[2, 4, 4, 4, 5, 5, 7, 9].map(Interval::point));
        assert_eq!(statistics.deviation(), Some(Deviation { value: 2.0, estimate: false }));
    }
}
