//! Durations that are not in the statistics yet. Consecutive activations are those of different
//! rows, whose memory is not cached: durations of the same row are added to it together.

use tracewright_base::Interval;
use tracewright_scan::prefetch;

use super::Measure;
use super::rows::Timed;
use super::statistics::Place;
use super::values::{OPEN, narrow};

/// The most durations that wait: 16 MiB.
const MAX_WAITING: usize = 1 << 20;

/// The measures of a row.
const MEASURES: usize = Measure::ALL.len();

/// A duration.
#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    /// The number of the row, and the measure.
    key: u32,
    /// The number of the place.
    place: u32,
    /// Its bounds, as [`narrow`] has them.
    least: u32,
    most: u32,
}

/// Durations in the order in which they were found.
#[derive(Debug, Default)]
pub(super) struct Log {
    all: Vec<Waiting>,
    /// Where the activations begin.
    places: Vec<Place>,
    /// Memory to sort them by row.
    ends: Vec<u32>,
    sorted: Vec<Waiting>,
}

impl Log {
    /// The durations that follow are those of an activation that begins here.
    #[inline]
    pub(super) fn begin(&mut self, place: Place) {
        self.places.push(place);
    }

    /// Adds a duration of a row. It is in the statistics after [`settle`](Self::settle).
    #[inline]
    pub(super) fn add(
        &mut self,
        rows: &mut [Timed],
        row: usize,
        measure: Measure,
        duration: Interval,
    ) {
        let (least, most) = (duration.least, duration.most.unwrap_or(OPEN));
        let (Some(least), Some(most)) = (narrow(least), narrow(most)) else {
            return self.add_wide(rows, row, measure, duration);
        };
        let key = (row * MEASURES + measure as usize) as u32;
        let place = self.places.len().saturating_sub(1) as u32;
        self.all.push(Waiting { key, place, least, most });
    }

    /// Adds a duration whose bounds need more than 4 bytes, and all before it.
    #[cold]
    fn add_wide(&mut self, rows: &mut [Timed], row: usize, measure: Measure, duration: Interval) {
        let place = self.places.last().copied().unwrap_or_default();
        self.settle(rows);
        self.places.push(place);
        if let Some(row) = rows.get_mut(row) {
            row.measures[measure as usize].add(duration, place);
        }
    }

    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.all.len() >= MAX_WAITING || self.places.len() >= MAX_WAITING
    }

    /// Adds all of them to the statistics of their rows, those of each in order.
    #[inline(never)]
    pub(super) fn settle(&mut self, rows: &mut [Timed]) {
        let Log { all, places, ends, sorted } = self;
        ends.clear();
        ends.resize(rows.len() * MEASURES, 0);
        for own in &*all {
            if let Some(count) = ends.get_mut(own.key as usize) {
                *count += 1;
            }
        }
        let mut before = 0;
        for end in &mut *ends {
            before += std::mem::replace(end, before);
        }
        sorted.resize(all.len(), Waiting::default());
        for own in &*all {
            if let Some(end) = ends.get_mut(own.key as usize)
                && let Some(slot) = sorted.get_mut(*end as usize)
            {
                *slot = *own;
                *end += 1;
            }
        }
        let mut begin = 0;
        for (index, ends) in ends.chunks_exact(MEASURES).enumerate() {
            if let Some(ahead) = rows.get(index + 2) {
                (0..MEASURES).for_each(|measure| prefetch(&ahead.measures[..], measure));
            }
            let Some(row) = rows.get_mut(index) else { return };
            if ends.last() == Some(&(begin as u32)) {
                continue;
            }
            for (statistics, end) in row.measures.iter_mut().zip(ends) {
                let own = sorted.get(begin..*end as usize).unwrap_or_default();
                begin = *end as usize;
                if own.is_empty() {
                    continue;
                }
                let place = |index: usize| {
                    let at = own.get(index).map_or(0, |own| own.place as usize);
                    places.get(at).copied().unwrap_or_default()
                };
                statistics.push_all(own.iter().map(|own| (own.least, own.most)), place);
            }
        }
        all.clear();
        places.clear();
    }
}

#[cfg(test)]
mod tests {
    use tracewright_testing::Random;

    use super::super::rows::Subject;
    use super::super::statistics::Statistics;
    use super::*;

    /// What waits is added as each duration by itself, whatever is longer than 4 bytes, and
    /// whenever it is settled.
    #[test]
    fn rows_have_their_durations_in_order() {
        for seed in 0..20 {
            let mut random = Random::new(seed);
            let (mut log, most) = (Log::default(), random.pick(&[9, 1 << 20, 1 << 33]));
            let mut rows: Vec<Timed> = (0..7).map(|n| Timed::new(Subject::Run(n))).collect();
            let mut want = vec![Statistics::default(); rows.len() * MEASURES];
            for at in 0..2000 {
                let place = Place { at, ..Place::default() };
                log.begin(place);
                for _ in 0..random.below(4) {
                    let row = random.below(7) as usize;
                    let measure = random.pick(&Measure::ALL);
                    let least = random.below(most);
                    let duration = match random.one_in(9) {
                        true => Interval::at_least(least),
                        false => Interval::new(least, least + random.below(3)),
                    };
                    log.add(&mut rows, row, measure, duration);
                    want[row * MEASURES + measure as usize].add(duration, place);
                }
                if random.one_in(300) {
                    log.settle(&mut rows);
                }
            }
            log.settle(&mut rows);
            for (own, want) in rows.iter_mut().flat_map(|row| row.measures.iter_mut()).zip(want) {
                let mut want = want;
                own.finish();
                want.finish();
                assert!(want.count() > 0 && own.count() == want.count());
                assert_eq!(
                    (own.min(), own.max(), own.mean()),
                    (want.min(), want.max(), want.mean())
                );
                assert_eq!((own.longest(), own.sum()), (want.longest(), want.sum()));
                assert_eq!(own.deviation(), want.deviation());
                assert!((0..=1000).all(|n| own.percentile(n) == want.percentile(n)), "seed {seed}");
            }
        }
    }
}
