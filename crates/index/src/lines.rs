//! Executed lines of 64 bytes.

use std::collections::HashMap;

use crate::near_lines::{NearLines, NearWords, PAGE};
use crate::runs::{Edges, Lines};

/// Long ranges before those that overlap are joined.
const LONG: usize = 1 << 12;
/// Pages that are found without a map, a power of two.
const RECENT: usize = 1 << 8;

/// Groups of 64 lines of a page.
const GROUPS: u64 = PAGE / 64;

/// The number of a place without a page. No address has it.
const NONE: u64 = u64::MAX;

/// 256 KiB of code.
#[derive(Clone, Copy, Debug)]
struct Page {
    /// Its address divided by its length.
    number: u64,
    /// For each group of 64 lines: the lines of which a byte was executed, and the marked lines.
    groups: [[u64; 2]; 64],
}

impl Page {
    fn add_to(&self, edges: &mut Edges) {
        edges.add(self.number * GROUPS, &self.groups.map(|[executed, _]| executed));
    }
}

/// A set of lines: a bit for each in pages of those that were executed.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExecutedLines {
    near: NearLines,
    /// By the low bits of their numbers. Empty before the first line.
    recent: Vec<Page>,
    /// Pages that were displaced.
    others: HashMap<u64, Page>,
    /// Ranges of more lines than a page: the first and the last line.
    long: Vec<(u64, u64)>,
    /// The number of them at which those that overlap are joined.
    limit: usize,
}

impl ExecutedLines {
    /// The lines that are found without a look-up.
    #[inline]
    pub(crate) fn near(&mut self) -> NearWords<'_> {
        self.near.words()
    }

    /// Adds the lines from `first` to `last`, which are at most 64 and in one aligned group of 64
    /// lines, and returns whether one of them is marked. `None` where the page is not known, or
    /// the lines are others: [`add`](Self::add) adds them.
    #[inline(always)]
    pub(crate) fn add_known(&mut self, first: u64, last: u64) -> Option<bool> {
        if (first ^ last) >= 64 {
            return None;
        }
        // All bits from the first line to the last.
        let bits = (u64::MAX >> (63 - (last - first) % 64)) << (first % 64);
        if let Some(marked) = self.near.add_to_group(first / 64, bits) {
            return Some(marked);
        }
        let number = first / PAGE;
        let page = self.recent.get_mut(number as usize & (RECENT - 1))?;
        if page.number != number {
            return None;
        }
        let [executed, marked] = page.groups.get_mut((first / 64 % 64) as usize)?;
        *executed |= bits;
        Some(*marked & bits != 0)
    }

    /// Adds the lines from `first` to `last`. `marked` returns the marked lines of each group of 64
    /// lines, by the number of the group; it is asked when a page is made.
    pub(crate) fn add(&mut self, first: u64, last: u64, marked: impl Fn(u64) -> u64) {
        if last - first >= PAGE {
            return self.add_long(first, last);
        }
        let mut from = first;
        loop {
            let to = last.min(from | 63);
            if self.add_known(from, to).is_none() {
                self.add_in_page(from, to, &marked);
            }
            if to == last {
                return;
            }
            from = to + 1;
        }
    }

    /// Adds lines of one group to a page that may not be there.
    fn add_in_page(&mut self, first: u64, last: u64, marked: impl Fn(u64) -> u64) {
        let number = first / PAGE;
        if self.near.extend(number, &marked) {
            self.add_known(first, last);
            return;
        }
        if self.recent.is_empty() {
            self.recent = vec![Page { number: NONE, groups: [[0; 2]; 64] }; RECENT];
        }
        let page = self.others.remove(&number).unwrap_or_else(|| {
            let mut groups = [[0; 2]; 64];
            for (group, [_, marks]) in (number * 64..).zip(&mut groups) {
                *marks = marked(group);
            }
            Page { number, groups }
        });
        if let Some(recent) = self.recent.get_mut(number as usize & (RECENT - 1)) {
            let old = std::mem::replace(recent, page);
            if old.number != NONE {
                self.others.insert(old.number, old);
            }
        }
        self.add_known(first, last);
    }

    fn add_long(&mut self, first: u64, last: u64) {
        self.long.push((first, last));
        // The same loop may be executed often.
        if self.long.len() >= self.limit.max(LONG) {
            self.long.sort_unstable();
            self.long.dedup_by(|next, before| {
                let joins = next.0 <= before.1.saturating_add(1);
                if joins {
                    before.1 = before.1.max(next.1);
                }
                joins
            });
            self.limit = 2 * self.long.len();
        }
    }

    /// Adds all of `lines`, without marks.
    pub(crate) fn add_all(&mut self, lines: &Lines) {
        let none = |_| 0;
        if let Some((first, groups)) = lines.groups()
            && self.near.extend(first / GROUPS, none)
            && self.near.extend((first + groups.len() as u64 - 1) / GROUPS, none)
        {
            for (n, group) in (first..).zip(groups) {
                self.near.add_to_group(n, *group);
            }
            return;
        }
        for (first, count) in lines.to_runs().iter() {
            let last = first + (count - 1);
            if self.add_known(*first, last).is_none() {
                self.add(*first, last, none);
            }
        }
    }

    /// Takes the lines.
    pub(crate) fn take(&mut self) -> Lines {
        let recent = self.recent.iter().filter(|page| page.number != NONE);
        let mut pages: Vec<&Page> = recent.chain(self.others.values()).collect();
        self.limit = 0;
        let near = self.near.take();
        let first = self.near.first();
        let lines = if pages.is_empty() && self.long.is_empty() {
            Lines::of_groups(first, near)
        } else {
            pages.sort_unstable_by_key(|page| page.number);
            let (before, after) =
                pages.split_at(pages.partition_point(|page| page.number * GROUPS < first));
            let mut edges = Edges::default();
            before.iter().for_each(|page| page.add_to(&mut edges));
            edges.add(first, &near);
            after.iter().for_each(|page| page.add_to(&mut edges));
            edges.lines().joined(self.long.drain(..))
        };
        // Other parts of the trace may execute other pages; the marks of these stay.
        self.others.clear();
        let known = self.recent.iter_mut().filter(|page| page.number != NONE);
        let groups = known.flat_map(|page| &mut page.groups);
        groups.for_each(|[executed, _]| *executed = 0);
        lines
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn lines_are_those_of_a_set() {
        let mut lines = ExecutedLines::default();
        // Every seventh line is marked.
        let marked = |group: u64| {
            (0..64).filter(|n| (group * 64 + n).is_multiple_of(7)).fold(0, |bits, n| bits | 1 << n)
        };
        for round in 0..3u64 {
            let (mut want, mut known) = (BTreeSet::new(), 0);
            let mut add = |first: u64, last: u64| {
                match lines.add_known(first, last) {
                    Some(is_marked) => {
                        known += 1;
                        assert_eq!(is_marked, (first..=last).any(|line| line % 7 == 0));
                    }
                    None => lines.add(first, last, marked),
                }
                want.extend(first..=last);
            };
            for n in 0..20_000u64 {
                let base = [0, 0x4000, 1 << 40, u64::MAX / 64 - 5000][n as usize % 4];
                let first = base + (n * n + round) % 4999;
                add(first, first + [0, 0, 1, 63][(n / 4) as usize % 4].min(u64::MAX / 64 - first));
            }
            for n in 0..10 {
                let first = [10_000, 10_100, 4000, 1 << 30, (1 << 30) + 64][n as usize % 5];
                add(first, first + [300, PAGE + n % 9][n as usize % 2]);
            }
            // The same long range often, with others between.
            for n in 0..LONG as u64 {
                lines.add(4000, 4000 + PAGE + n % 2 * 9, marked);
            }
            want.extend(4000..=4000 + PAGE + 9);
            assert!(known > 5000, "{known}");
            let runs = lines.take();
            let mut got = Vec::new();
            let mut end = None;
            for &(first, count) in runs.to_runs().iter() {
                assert!(count > 0 && end.is_none_or(|end| first > end), "{first} after {end:?}");
                got.extend(first..first + count);
                end = Some(first + count);
            }
            assert!(got.into_iter().eq(want), "round {round}");
        }
        assert!(lines.take().is_empty());
    }
}
