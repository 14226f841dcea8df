//! The executed code.

use std::collections::HashMap;
use std::ops::Range;

use tracewright_base::{self as base, Batch, Element, Part};
use tracewright_decode::{Listener, Merge, Wants};

use super::step_table::StepTables;

/// Bytes of code for each bit: the size of the smallest instruction.
const UNIT: u64 = 2;
/// Bytes of code for each word of bits.
const WORD: u64 = 64 * UNIT;
/// Words in a page.
const WORDS: usize = 64;
/// Words that a page takes in memory: the last one is always 0, so that each word of the page has
/// one after it.
const STRIDE: usize = WORDS + 1;
/// Bytes of code for each page.
const PAGE: u64 = WORDS as u64 * WORD;
/// Slots of the cache of page indices.
const RECENT: usize = 256;

/// A bit for each two bytes of code, set where any source executed an instruction. Memory grows
/// with the executed code, not with the length of the trace.
#[derive(Clone, Debug)]
pub struct Coverage {
    /// The index in `bits` of the first word of each page.
    index: HashMap<u64, usize>,
    /// The words of all pages, [`STRIDE`] of each.
    bits: Vec<u64>,
    /// A direct-mapped cache of `index`.
    recent: Vec<(u64, usize)>,
    /// The steps whose code is covered.
    executed: StepTables<bool>,
}

impl Default for Coverage {
    fn default() -> Self {
        Coverage {
            index: HashMap::new(),
            bits: Vec::new(),
            recent: vec![(u64::MAX, 0); RECENT],
            executed: StepTables::default(),
        }
    }
}

impl Coverage {
    /// Whether the code at `address` was executed.
    pub fn contains(&self, address: u64) -> bool {
        let first = self.index.get(&(address / PAGE));
        let word = first.and_then(|&n| self.bits.get(n + (address % PAGE / WORD) as usize));
        word.is_some_and(|word| word >> (address % WORD / UNIT) & 1 != 0)
    }

    /// Bytes of executed code.
    pub fn bytes(&self) -> u64 {
        self.bits.iter().map(|word| u64::from(word.count_ones())).sum::<u64>() * UNIT
    }

    /// The address ranges of executed code, sorted and as long as possible.
    pub fn ranges(&self) -> Vec<Range<u64>> {
        let mut pages: Vec<(u64, usize)> = self.index.iter().map(|(&page, &n)| (page, n)).collect();
        pages.sort_unstable();
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for (page, n) in pages {
            let words = self.bits.get(n..n + WORDS).into_iter().flatten();
            for (k, word) in words.enumerate() {
                let start = page * PAGE + k as u64 * WORD;
                let set = (0..64).filter(|bit| word >> bit & 1 != 0);
                for unit in set.map(|bit| start + bit * UNIT) {
                    match ranges.last_mut() {
                        Some(last) if last.end == unit => last.end = unit.wrapping_add(UNIT),
                        _ => ranges.push(unit..unit.wrapping_add(UNIT)),
                    }
                }
            }
        }
        ranges
    }

    /// The index in `bits` of the first word of `page`.
    #[inline]
    fn page(&mut self, page: u64) -> usize {
        match self.recent.get(page as usize % RECENT) {
            Some(&(recent, n)) if recent == page => n,
            _ => self.find(page),
        }
    }

    #[cold]
    fn find(&mut self, page: u64) -> usize {
        let n = *self.index.entry(page).or_insert(self.bits.len());
        if n == self.bits.len() {
            self.bits.resize(n + STRIDE, 0);
        }
        if let Some(recent) = self.recent.get_mut(page as usize % RECENT) {
            *recent = (page, n);
        }
        n
    }

    /// Sets the bits `mask` of the word that contains `address`.
    #[inline]
    fn set(&mut self, address: u64, mask: u64) {
        let n = self.page(address / PAGE) + (address % PAGE / WORD) as usize;
        if let Some(word) = self.bits.get_mut(n) {
            *word |= mask;
        }
    }

    /// Adds executed code. Nearly all of a trace executes what was executed before: to read that
    /// costs less than to write it again.
    #[inline(always)]
    fn cover(&mut self, range: &base::Range) {
        if !self.is_known(range.start, range.bytes.into()) {
            self.add(range.start, range.bytes.into());
        }
    }

    /// Whether the code was executed before. `false` also where that is not found at once: in
    /// ranges of more than 64 units, or in two pages.
    #[inline(always)]
    fn is_known(&self, start: u64, bytes: u64) -> bool {
        let Some(&(page, n)) = self.recent.get((start / PAGE) as usize % RECENT) else {
            return false;
        };
        let n = n + (start % PAGE / WORD) as usize;
        let Some(&[word, next]) = self.bits.get(n..).and_then(|words| words.first_chunk()) else {
            return false;
        };
        // The bits from the first unit on. A branch on whether there are two words could not be
        // predicted.
        let bits = ((u128::from(next) << 64 | u128::from(word)) >> (start / UNIT % 64)) as u64;
        let units = (start % UNIT + bytes).div_ceil(UNIT);
        page == start / PAGE && (1..=64).contains(&units) && !bits << (64 - units) == 0
    }

    #[cold]
    #[inline(never)]
    fn add(&mut self, start: u64, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let first = start / UNIT;
        // No range crosses 2^64.
        let last = start.saturating_add(bytes - 1) / UNIT;
        let (low, high) = (u64::MAX << (first % 64), u64::MAX >> (63 - last % 64));
        if first / 64 == last / 64 {
            return self.set(start, low & high);
        }
        self.set(start, low);
        for word in first / 64 + 1..last / 64 {
            self.set(word * WORD, u64::MAX);
        }
        self.set(last * UNIT, high);
    }
}

/// Two values are equal where the executed code is.
impl PartialEq for Coverage {
    fn eq(&self, other: &Self) -> bool {
        self.ranges() == other.ranges()
    }
}

impl Listener for Coverage {
    fn element(&mut self, _: usize, _: u64, element: Element) {
        if let Element::Range(range) = element {
            self.cover(&range);
        }
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        let mut executed = std::mem::take(&mut self.executed);
        let known = executed.of(batch.source, &batch.blocks, |_| false);
        for step in batch.steps() {
            if let Some(known @ false) = known.get_mut(step.index())
                && let Some(range) = batch.range(*step)
            {
                *known = true;
                self.cover(&range);
            }
        }
        self.executed = executed;
        for part in batch.parts() {
            match part {
                Part::Element(_, Element::Range(range)) => self.cover(&range),
                Part::Turns(turns) if turns.times > 0 => {
                    turns.ranges.iter().for_each(|range| self.cover(range));
                }
                _ => {}
            }
        }
    }

    fn wants(&self) -> Wants {
        Wants::ANY_ORDER
    }
}

impl Merge for Coverage {
    fn merge(&mut self, later: Self) {
        for (page, n) in later.index {
            let own = self.page(page);
            let its = later.bits.get(n..n + WORDS).unwrap_or_default();
            if let Some(own) = self.bits.get_mut(own..own + WORDS) {
                own.iter_mut().zip(its).for_each(|(own, its)| *own |= its);
            }
        }
    }
}
