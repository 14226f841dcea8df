//! The executed lines of a segment.

use std::borrow::Cow;

/// Executed lines of 64 bytes: address divided by 64. They are runs of consecutive lines, or a bit
/// for each line where there are many runs.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    /// The first line of each run, and the number of its lines. In order, and not adjacent. Empty
    /// where there are `groups`.
    runs: Vec<(u64, u64)>,
    /// Bit n of a group: its line n.
    groups: Vec<u64>,
    /// The number of the first group of 64 lines.
    first: u64,
}

/// The address after the last one of 32-bit instruction sets.
const END_32: u64 = 1 << 32;

/// Whether `touches` holds for the first and the last address, both included, of `count` executed
/// lines from `line` on. Code of a 32-bit instruction set that wraps around the end of its
/// addresses is in the lines after the end, and may be at the beginning.
pub fn lines_touch((line, count): (u64, u64), touches: impl Fn(u64, u64) -> bool) -> bool {
    // Lines of a damaged index may exceed the addresses.
    let first = line.saturating_mul(64);
    let last = line.saturating_add(count.saturating_sub(1)).saturating_mul(64) | 63;
    let wraps = last >= END_32 && first < 2 * END_32;
    touches(first, last) || wraps && touches(first.max(END_32) - END_32, last - END_32)
}

impl Lines {
    /// Adds the run of `count` lines from `line` on, which is after all others and not adjacent.
    pub(crate) fn push(&mut self, line: u64, count: u64) {
        if !self.groups.is_empty() {
            *self = Lines { runs: self.to_runs().into_owned(), ..Lines::default() };
        }
        self.runs.push((line, count));
    }

    /// The lines of consecutive groups from the group with the number `first` on.
    pub(crate) fn of_groups(first: u64, groups: Vec<u64>) -> Lines {
        let used = groups.iter().filter(|group| **group != 0).count();
        // So they take no more memory than the runs.
        if used * 2 > groups.len() {
            return Lines { groups, first, runs: Vec::new() };
        }
        let mut edges = Edges::default();
        edges.add(first, &groups);
        edges.lines()
    }

    /// The first group and all of them, where they are stored so.
    pub(crate) fn groups(&self) -> Option<(u64, &[u64])> {
        (!self.groups.is_empty()).then_some((self.first, &self.groups))
    }

    /// The first line of each run of consecutive lines, and the number of its lines.
    pub fn to_runs(&self) -> Cow<'_, [(u64, u64)]> {
        if self.groups.is_empty() {
            return Cow::Borrowed(&self.runs);
        }
        let mut edges = Edges::default();
        edges.add(self.first, &self.groups);
        Cow::Owned(edges.lines().runs)
    }

    /// The same with `ranges` of lines: the first and the last of each.
    pub(crate) fn joined(mut self, ranges: impl Iterator<Item = (u64, u64)>) -> Lines {
        self.runs.extend(ranges.map(|(first, last)| (first, last - first + 1)));
        self.runs.sort_unstable();
        self.runs.dedup_by(|next, before| {
            let joins = next.0 <= before.0 + before.1;
            if joins {
                before.1 = before.1.max(next.0 + next.1 - before.0);
            }
            joins
        });
        self
    }

    /// Whether there are no lines.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.groups.iter().all(|group| *group == 0)
    }

    /// The number of bytes of the lines is not less: one for the first line of a run, and another
    /// for its length.
    pub(crate) fn least(&self) -> u64 {
        let mut before = 0;
        let groups = self.groups.iter().map(|group| {
            let first = group & !(group << 1 | before >> 63);
            before = *group;
            u64::from((first | first << 1 & group).count_ones())
        });
        let runs = self.runs.iter().map(|(_, count)| 1 + u64::from(*count > 1));
        groups.sum::<u64>() + runs.sum::<u64>()
    }
}

/// Two are equal where their lines are.
impl PartialEq for Lines {
    fn eq(&self, other: &Self) -> bool {
        self.to_runs() == other.to_runs()
    }
}

impl Eq for Lines {}

/// Runs in order, which are not adjacent.
impl FromIterator<(u64, u64)> for Lines {
    fn from_iter<T: IntoIterator<Item = (u64, u64)>>(runs: T) -> Self {
        Lines { runs: runs.into_iter().collect(), ..Lines::default() }
    }
}

/// The first line of each run of consecutive lines, and the first one after it.
#[derive(Default)]
pub(crate) struct Edges {
    edges: Vec<u64>,
    /// The line after those that were added.
    end: u64,
    /// The line before `end` is in the set.
    inside: bool,
}

impl Edges {
    /// Adds lines of consecutive groups from group `first` on, which are after those that were
    /// added.
    pub(crate) fn add(&mut self, first: u64, groups: &[u64]) {
        let mut base = first * 64;
        if self.inside && self.end != base {
            self.edges.push(self.end);
            self.inside = false;
        }
        for group in groups {
            let mut edges = group ^ (group << 1 | u64::from(self.inside));
            while edges != 0 {
                self.edges.push(base + u64::from(edges.trailing_zeros()));
                edges &= edges - 1;
            }
            self.inside = group >> 63 != 0;
            base += 64;
        }
        self.end = base;
    }

    /// The lines.
    pub(crate) fn lines(mut self) -> Lines {
        if self.inside {
            self.edges.push(self.end);
        }
        let pairs = self.edges.as_chunks().0.iter();
        pairs.map(|[first, end]| (*first, end - first)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_after_the_end_of_32_bit_code_touch_its_beginning() {
        let touches = |lines: (u64, u64), at: u64| {
            lines_touch(lines, |first, last| first <= at && at <= last)
        };
        let end = END_32 / 64;
        for (lines, inside, outside) in [
            ((1, 2), vec![64, 191], vec![63, 192]),
            ((end - 1, 1), vec![END_32 - 64, END_32 - 1], vec![0, END_32]),
            ((end - 1, 2), vec![END_32 - 1, END_32, 0, 63], vec![64, END_32 + 64]),
            ((end, 1), vec![END_32, 0, 63], vec![64, END_32 - 1]),
            ((2 * end, 1), vec![2 * END_32], vec![0, END_32]),
            ((u64::MAX / 64, 1), vec![u64::MAX, u64::MAX - 63], vec![u64::MAX - 64, 0]),
            ((u64::MAX, u64::MAX), vec![u64::MAX], vec![0]),
        ] {
            assert!(inside.iter().all(|at| touches(lines, *at)), "{lines:?}");
            assert!(!outside.iter().any(|at| touches(lines, *at)), "{lines:?}");
        }
    }

    #[test]
    fn groups_are_the_same_as_runs() {
        let groups = [0b1101, 1 << 63, 0b11, u64::MAX, 1, 1 << 63];
        let runs = [(320, 1), (322, 2), (447, 3), (512, 65), (703, 1)];
        for (more, dense) in [(0, true), (8, false)] {
            let groups = [&groups[..], &vec![0; more]].concat();
            let lines = Lines::of_groups(5, groups);
            assert_eq!(lines.groups().is_some(), dense);
            assert_eq!(lines.to_runs()[..], runs);
            assert_eq!(lines, runs.into_iter().collect());
            assert!(!lines.is_empty());
            // A run from the last line of a group on may have that line alone.
            assert_eq!(lines.least(), if dense { 7 } else { 8 });
        }
        let mut lines = Lines::of_groups(5, groups.to_vec());
        lines.push(800, 7);
        assert_eq!(lines.to_runs()[..], [&runs[..], &[(800, 7)]].concat());
        assert_eq!((lines.groups(), lines.least()), (None, 10));
        let none = Lines::of_groups(3, Vec::new());
        assert_eq!((none.is_empty(), none.least()), (true, 0));
        assert_eq!(none, Lines::default());
        assert_ne!(none, lines);
    }
}
