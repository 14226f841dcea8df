//! What a sink stores for each step of a source.

use std::sync::Weak;

use tracewright_base::{BlockStep, CachedBlocks, Numbering};
use tracewright_scan::prefetch;

/// Steps ahead of the one that is taken whose values are prefetched, in large tables.
pub(super) const AHEAD: usize = 16;

/// A table with more bytes is not in the second-level cache.
const LARGE: usize = 1 << 18;

/// Whether values are to be prefetched.
pub(super) fn is_large<T>(values: &[T]) -> bool {
    size_of_val(values) > LARGE
}

/// `steps`, each with its value among `values`, which [`StepTables::of`] returned. Where the table
/// is large, those of the next steps are prefetched.
#[inline]
pub fn with_values<'a, T>(
    steps: &'a [BlockStep],
    values: &'a [T],
) -> impl Iterator<Item = (BlockStep, Option<&'a T>)> {
    let large = is_large(values);
    steps.iter().enumerate().map(move |(n, &step)| {
        if large && let Some(ahead) = steps.get(n + AHEAD) {
            prefetch(values, ahead.index());
        }
        (step, values.get(step.index()))
    })
}

/// A value for each step of a source, by [`BlockStep::index`], as long as blocks have the same
/// numbers.
#[derive(Clone, Debug)]
struct StepTable<T> {
    numbering: Weak<()>,
    values: Vec<T>,
}

/// Values of the steps of each source, by [`BlockStep::index`]: what a listener needs of an
/// executed block is made once, as long as blocks have the same numbers. They determine no result:
/// two tables are always equal.
#[derive(Clone, Debug)]
pub struct StepTables<T>(Vec<StepTable<T>>);

impl<T> Default for StepTables<T> {
    fn default() -> Self {
        StepTables(Vec::new())
    }
}

impl<T> PartialEq for StepTables<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<T> Eq for StepTables<T> {}

impl<T> StepTables<T> {
    /// Whether the values of `source` are those of `blocks`, or there are none.
    #[inline]
    pub(super) fn are_of(&self, source: usize, blocks: &CachedBlocks<'_>) -> bool {
        let of_blocks = |table: &StepTable<T>| {
            blocks.numbering().is_some_and(|numbering| numbering.is(&table.numbering))
        };
        self.0.get(source).is_none_or(|table| table.values.is_empty() || of_blocks(table))
    }

    /// A value of `source`.
    pub(super) fn get_mut(&mut self, source: usize, step: usize) -> Option<&mut T> {
        self.0.get_mut(source)?.values.get_mut(step)
    }

    /// A value of `source`.
    pub(super) fn get(&self, source: usize, step: usize) -> Option<&T> {
        self.0.get(source)?.values.get(step)
    }

    /// The values of `source`, one for each step of `blocks`. `make` makes those that are missing.
    #[inline]
    pub fn of(
        &mut self,
        source: usize,
        blocks: &CachedBlocks<'_>,
        make: impl FnMut(BlockStep) -> T,
    ) -> &mut [T] {
        while source >= self.0.len() {
            self.0.push(StepTable { numbering: Weak::new(), values: Vec::new() });
        }
        let Some(table) = self.0.get_mut(source) else { return &mut [] };
        if !blocks.numbering().is_some_and(|numbering| numbering.is(&table.numbering)) {
            table.values.clear();
            table.numbering = blocks.numbering().map(Numbering::downgrade).unwrap_or_default();
        }
        let (known, len) = (table.values.len(), 2 * blocks.all().len());
        if known < len {
            let steps = (known..len).map(|index| BlockStep::from_word(index as u32, 0));
            table.values.extend(steps.map(make));
        }
        &mut table.values
    }
}
