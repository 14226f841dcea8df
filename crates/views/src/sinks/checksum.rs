//! A checksum of all elements.

use std::fmt;
use std::hash::{Hash, Hasher};

use tracewright_base::{Batch, BlockStep, Custom, Element, Part, Range, Turns};
use tracewright_decode::{Listener, Merge, Wants};

use super::step_table::StepTables;
use crate::fold::{Fold, Mixer, mix, spread};

/// Folds all fields of each element, the bytes of [`Element::Custom`], its source and its offset,
/// in the order of each source. Two checksums are equal where all elements of each source are
/// equal, except for collisions.
///
/// The number does not depend on the number of worker threads, nor on how the elements of different
/// sources are interleaved. It may change with the version of Tracewright.
#[derive(Clone, Debug, Default)]
pub struct Checksum {
    /// The source of `current`.
    source: usize,
    current: Fold,
    /// By source. The one of `source` is empty.
    others: Vec<Fold>,
    /// What is folded of each step, without the offset, where blocks are few.
    words: StepTables<[u64; 2]>,
}

/// Up to this number, blocks are few: the words of all their steps take a megabyte.
const FEW: usize = 1 << 15;

impl Checksum {
    /// The number.
    pub fn value(&self) -> u64 {
        let used = self.folds().filter(|(_, fold)| fold.count > 0);
        used.fold(0, |sum, (_, fold)| sum.wrapping_add(mix(fold.sum, fold.count)))
    }

    /// The number of elements.
    pub fn elements(&self) -> u64 {
        self.folds().map(|(_, fold)| fold.count).sum()
    }

    fn folds(&self) -> impl Iterator<Item = (usize, Fold)> {
        let others = self.others.iter().copied().enumerate();
        others.chain([(self.source, self.current)])
    }

    fn select(&mut self, source: usize) {
        if source == self.source {
            return;
        }
        let len = self.others.len().max(source + 1).max(self.source + 1);
        self.others.resize(len, Fold::default());
        self.others[self.source] = self.current;
        self.current = std::mem::take(&mut self.others[source]);
        self.source = source;
    }
}

/// Two values are equal where their numbers are.
impl PartialEq for Checksum {
    fn eq(&self, other: &Self) -> bool {
        (self.value(), self.elements()) == (other.value(), other.elements())
    }
}

impl Eq for Checksum {}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.value())
    }
}

impl Listener for Checksum {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        self.select(source);
        let value = match &element {
            Element::Range(range) => of_range(range, origin(source, at)),
            // Traces with cycle counts have about as many of these as of ranges.
            &Element::Cycles(cycles) => of_cycles(cycles, origin(source, at)),
            element => of_any(element, origin(source, at)),
        };
        self.current.push(value);
    }

    fn custom(&mut self, source: usize, at: u64, custom: Custom, bytes: &[u8]) {
        self.select(source);
        let mut mixer = Mixer(of_any(&Element::Custom(custom), origin(source, at)));
        mixer.write(bytes);
        self.current.push(mixer.finish());
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        self.select(batch.source);
        for part in batch.parts() {
            match part {
                Part::Steps(steps) => self.steps(batch, steps),
                Part::Element(at, Element::Custom(custom)) => {
                    self.custom(batch.source, at, custom, batch.content(&custom));
                }
                Part::Element(at, element) => self.element(batch.source, at, element),
                Part::Turns(Turns { at, ranges, times, .. }) => {
                    let origin = origin(batch.source, at);
                    let mut turn = Fold::default();
                    ranges.iter().for_each(|range| turn.push(of_range(range, origin)));
                    self.current.join_times(turn, times);
                }
            }
        }
    }

    fn wants(&self) -> Wants {
        Wants::ANY_ORDER
    }
}

impl Checksum {
    /// [`of_range`] of each step: from a table as long as that is in the processor's caches.
    fn steps(&mut self, batch: &Batch<'_>, steps: &[BlockStep]) {
        let (blocks, source) = (batch.blocks, origin(batch.source, 0));
        if blocks.all().len() > FEW {
            return self.current.push_all(steps, |step| {
                // Each step has a block.
                let Some((cached, class)) = blocks.get(step.id()) else { return 0 };
                let counts = u64::from(cached.counts()) << 32;
                let last = u64::from(class.last[usize::from(step.taken())].word()) << 32;
                spread(cached.start(class) ^ counts, source ^ batch.at(step) ^ last)
            });
        }
        let words = self.words.of(batch.source, &blocks, |step| {
            batch.range(step).map_or([0; 2], |range| words_of_range(&range, source))
        });
        self.current.push_all(steps, |step| match words.get(step.index()) {
            Some(&[start, rest]) => spread(start, rest ^ batch.at(step)),
            None => 0,
        });
    }
}

impl Merge for Checksum {
    fn merge(&mut self, later: Self) {
        for (source, fold) in later.folds().filter(|(_, fold)| fold.count > 0) {
            self.select(source);
            self.current.join(fold);
        }
    }
}

/// Source and offset of an element in one number.
#[inline]
const fn origin(source: usize, at: u64) -> u64 {
    (source as u64).rotate_right(8) ^ at
}

/// Folds a range.
#[inline]
fn of_range(range: &Range, origin: u64) -> u64 {
    let [start, rest] = words_of_range(range, origin);
    spread(start, rest)
}

/// Most elements are ranges, so the fields are folded as two words. The counts are combined with
/// the bits of the address that change least. Unknown cycles are zero.
#[inline]
fn words_of_range(range: &Range, origin: u64) -> [u64; 2] {
    let &Range { start, bytes, instructions, cycles, last } = range;
    let counts = (u64::from(bytes) ^ u64::from(instructions) << 9).rotate_left(32);
    let last = u64::from(!cycles.word()) ^ u64::from(last.word()) << 32;
    [start ^ counts, origin ^ last]
}

#[inline]
fn of_cycles(cycles: Option<u32>, origin: u64) -> u64 {
    let mut mixer = Mixer(origin);
    Element::Cycles(cycles).hash(&mut mixer);
    mixer.finish()
}

fn of_any(element: &Element, origin: u64) -> u64 {
    let mut mixer = Mixer(origin);
    element.hash(&mut mixer);
    mixer.finish()
}
