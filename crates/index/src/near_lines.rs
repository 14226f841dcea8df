//! Executed lines of code that is near the first executed line.

/// Lines of a page: 256 KiB of code.
pub(crate) const PAGE: u64 = 1 << 12;
/// The most pages: 16 MiB of code, for which 64 KiB are read.
const MOST: u64 = 1 << 6;
/// The number of lines from the first one of a word to that of the next one.
const STEP: u64 = 32;
/// The number of words of a page.
const WORDS: u64 = PAGE / STEP;
/// A block has at most this number of lines.
const LINES: usize = 9;

/// The lines of consecutive pages: those of the first line and of others near it.
#[derive(Clone, Debug, Default)]
pub(crate) struct NearLines {
    /// Bit k of word n is line `STEP` * n + k, so that the lines of a block are in one word. A line
    /// may be in two words.
    words: Vec<u64>,
    /// The marked lines, each in two words.
    marks: Vec<u64>,
    /// The number of the first word.
    first: u64,
}

/// The lines of all pages, except the last word.
pub(crate) struct NearWords<'a> {
    words: &'a mut [u64],
    marks: &'a [u64],
    first: u64,
}

impl NearWords<'_> {
    /// Adds the lines of the range of `bytes` bytes, at least 1, from `start` on, and returns
    /// whether one of them is marked. `None` for ranges at other addresses and long ones.
    #[inline(always)]
    pub(crate) fn add<const MARKS: bool>(&mut self, start: u64, bytes: u32) -> Option<bool> {
        const BITS: [u64; LINES + 1] = {
            let (mut bits, mut count) = ([0; LINES + 1], 1);
            while count <= LINES {
                bits[count] = bits[count - 1] << 1 | 1;
                count += 1;
            }
            bits
        };
        let n = usize::try_from((start / (64 * STEP)).wrapping_sub(self.first)).ok()?;
        let word = self.words.get_mut(n)?;
        let count = (start as u32 % 64).saturating_add(bytes).saturating_add(63) / 64;
        // A load takes less than the shift.
        let bits = *BITS.get(count as usize)? << (start / 64 % STEP);
        *word |= bits;
        Some(MARKS && self.marks.get(n).is_some_and(|marks| marks & bits != 0))
    }
}

impl NearLines {
    #[inline]
    pub(crate) fn words(&mut self) -> NearWords<'_> {
        let len = self.words.len().saturating_sub(1);
        let words = self.words.get_mut(..len).unwrap_or_default();
        NearWords { words, marks: &self.marks, first: self.first }
    }

    /// The number of the first group of 64 lines.
    pub(crate) const fn first(&self) -> u64 {
        self.first / 2
    }

    /// Makes page `number`, and those between it and the near ones, near, if they are few. `marked`
    /// returns the marked lines of each group of 64 lines, by the number of the group.
    pub(crate) fn extend(&mut self, number: u64, marked: impl Fn(u64) -> u64) -> bool {
        if self.words.is_empty() {
            self.first = number * WORDS;
        }
        let (from, to) = (self.first, self.first + self.words.len() as u64);
        let (first, end) = (from.min(number * WORDS), to.max((number + 1) * WORDS));
        if end - first > MOST * WORDS {
            return false;
        }
        let marked = |word: u64| match word % 2 {
            0 => marked(word / 2),
            _ => marked(word / 2) >> STEP | marked(word / 2 + 1) << STEP,
        };
        self.words.splice(0..0, (first..from).map(|_| 0));
        self.words.extend((to..end).map(|_| 0));
        self.marks.splice(0..0, (first..from).map(marked));
        self.marks.extend((to..end).map(marked));
        self.first = first;
        true
    }

    /// Adds lines of the group with this number, and returns whether one of them is marked. `None`
    /// if the group is not near.
    #[inline]
    pub(crate) fn add_to_group(&mut self, group: u64, lines: u64) -> Option<bool> {
        let n = usize::try_from((2 * group).wrapping_sub(self.first)).ok()?;
        let [low, high] = self.words.get_mut(n..)?.first_chunk_mut()?;
        *low |= lines & u64::from(u32::MAX);
        *high |= lines >> STEP;
        Some(self.marks.get(n).is_some_and(|marks| marks & lines != 0))
    }

    /// Takes the lines of all groups.
    pub(crate) fn take(&mut self) -> Vec<u64> {
        let mut more = 0;
        let groups = self.words.as_chunks_mut().0.iter_mut().map(|words| {
            let [low, high] = std::mem::take(words);
            let (second, before) = (high | low >> STEP, more);
            more = high >> STEP;
            u64::from(low as u32) | before | second << STEP
        });
        groups.collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Blocks of all lengths at all positions of a group, in pages that are added in any order.
    #[test]
    fn lines_are_those_of_the_blocks() {
        // Every fifth line is marked.
        let marked = |group: u64| {
            (0..64).filter(|n| (group * 64 + n).is_multiple_of(5)).fold(0, |bits, n| bits | 1 << n)
        };
        let page = |number: u64| number * PAGE * 64;
        let mut near = NearLines::default();
        assert_eq!(near.words().add::<true>(page(100), 4), None);
        for number in [100, 101, 98, 98 + MOST, 98 + MOST - 1] {
            assert_eq!(near.extend(number, marked), number != 98 + MOST, "{number}");
        }
        assert_eq!(near.first(), 98 * PAGE / 64);
        for round in 0..2u64 {
            let (mut want, mut known) = (BTreeSet::new(), [0; 2]);
            for n in 0..60_000u64 {
                let start = page(98) + (n * n * 52 + round * 4) % (page(4) + 3000);
                let bytes = [4, 8, 64, 68, 300, 511][n as usize % 6];
                let (first, last) = (start / 64, (start + bytes - 1) / 64);
                let has = (first..=last).any(|line| line.is_multiple_of(5));
                assert_eq!(near.words().add::<true>(start, bytes as u32), Some(has), "{start:#x}");
                want.extend(first..=last);
                known[usize::from(has)] += 1;
            }
            assert!(known.iter().all(|count| *count > 5000), "{known:?}");
            // The last word, other pages, and long ranges.
            let end = page(98 + MOST);
            for start in [end - 4, end, page(98) - 4, 0, u64::MAX - 3] {
                assert_eq!(near.words().add::<true>(start, 4), None);
            }
            assert_eq!(near.words().add::<true>(page(98), 600), None);
            assert_eq!(near.words().add::<false>(page(98), 400), Some(false));
            want.extend(page(98) / 64..page(98) / 64 + 7);
            assert_eq!(
                near.add_to_group(end / 4096 - 1, 1 << 63 | 1),
                Some(marked(end / 4096 - 1) & (1 << 63 | 1) != 0)
            );
            want.extend([end / 64 - 64, end / 64 - 1]);
            assert_eq!(near.add_to_group(end / 4096, 1), None);
            assert_eq!(near.add_to_group(0, 1), None);
            let lines = (near.first()..).zip(near.take()).flat_map(|(group, bits)| {
                (0..64).filter(move |n| bits >> n & 1 != 0).map(move |n| group * 64 + n)
            });
            assert!(lines.eq(want), "round {round}");
        }
        assert!(near.take().iter().all(|bits| *bits == 0));
    }
}
