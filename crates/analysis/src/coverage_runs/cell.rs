//! What runs cover of one line, outcome or function.

/// A set of runs, by their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunNumbers {
    /// One bit for each run, the lowest first, without zeros at the end.
    words: Vec<u64>,
}

impl RunNumbers {
    /// Adds a run.
    pub fn insert(&mut self, run: usize) {
        let word = run / 64;
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        if let Some(own) = self.words.get_mut(word) {
            *own |= 1 << (run % 64);
        }
    }

    /// Whether it has the run.
    pub fn contains(&self, run: usize) -> bool {
        self.words.get(run / 64).is_some_and(|word| word >> (run % 64) & 1 != 0)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The runs in order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(n, word)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                let bit = left.trailing_zeros() as usize;
                left &= left.checked_sub(1)?;
                Some(n * 64 + bit)
            })
        })
    }

    /// The same runs with other numbers.
    pub(super) fn renumbered(&self, number: impl Fn(usize) -> usize) -> RunNumbers {
        let mut own = RunNumbers::default();
        self.iter().for_each(|run| own.insert(number(run)));
        own
    }

    /// Adds the runs of another set.
    pub fn add(&mut self, other: &RunNumbers) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        self.words.iter_mut().zip(&other.words).for_each(|(own, its)| *own |= its);
    }
}

/// What runs cover of one line, outcome or function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// Executions in all runs; `None` where it was executed in none, and may have been in one that
    /// lost trace.
    pub count: Option<u64>,
    /// The runs that executed it.
    pub runs: RunNumbers,
}

impl Cell {
    /// That of the only run.
    pub fn of(count: Option<u64>) -> Cell {
        let mut runs = RunNumbers::default();
        if count.is_some_and(|count| count > 0) {
            runs.insert(0);
        }
        Cell { count, runs }
    }

    /// That of runs which do not list it: it was not executed, or that is `unknown`.
    pub fn absent(unknown: bool) -> Cell {
        Cell { count: (!unknown).then_some(0), runs: RunNumbers::default() }
    }

    /// Adds that of other runs.
    pub fn add(&mut self, other: &Cell) {
        self.count = sum(self.count, other.count);
        self.runs.add(&other.runs);
    }
}

/// The sum of two counts. What was not executed in one, and is unknown in the other, is unknown.
pub fn sum(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (one, None) | (None, one) => one.filter(|count| *count > 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum depends neither on the order nor on what is summed first.
    #[test]
    fn sums_are_commutative_and_associative() {
        let all = [None, Some(0), Some(1), Some(7), Some(u64::MAX)];
        for a in all {
            for b in all {
                assert_eq!(sum(a, b), sum(b, a));
                for c in all {
                    assert_eq!(sum(sum(a, b), c), sum(a, sum(b, c)), "{a:?} {b:?} {c:?}");
                }
            }
        }
        assert_eq!([sum(None, Some(0)), sum(None, Some(3))], [None, Some(3)]);
    }

    #[test]
    fn sets_have_what_was_inserted() {
        let mut set = RunNumbers::default();
        let all = [0, 1, 63, 64, 700];
        all.into_iter().rev().for_each(|run| set.insert(run));
        assert_eq!(set.iter().collect::<Vec<_>>(), all);
        assert!(set.contains(64) && !set.contains(65) && !set.contains(70_000));
        let moved = set.renumbered(|run| 700 - run);
        assert_eq!(moved.iter().collect::<Vec<_>>(), [0, 636, 637, 699, 700]);
        assert!(RunNumbers::default().is_empty() && !set.is_empty());
    }
}
