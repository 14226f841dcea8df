//! Sums by function, while they are made.

use super::granule::{CallLengths, FunctionSums, LENGTHS, length_class};

/// Sums of one source, by number of the function.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sums {
    functions: Vec<FunctionSums>,
    /// The functions that are not zero.
    touched: Vec<u32>,
    /// How long calls take, since they were taken last.
    lengths: Vec<Option<Box<[u64; LENGTHS]>>>,
}

impl Sums {
    /// The sums of a function.
    #[inline]
    pub(crate) fn of(&mut self, function: u32) -> Option<&mut FunctionSums> {
        let n = function as usize;
        if self.functions.len() <= n {
            self.functions.resize(n + 1, FunctionSums::default());
        }
        let own = self.functions.get_mut(n)?;
        if own.calls | own.own | own.total | own.ended == 0 {
            self.touched.push(function);
        }
        Some(own)
    }

    /// A frame ends: its instructions that are not in the sums, own ones and all. `whole`: it is a
    /// whole call of this number of instructions, which ends at this offset.
    #[inline]
    pub(crate) fn end(&mut self, function: u32, own: u64, total: u64, whole: Option<(u64, u64)>) {
        let Some(sums) = self.of(function) else { return };
        sums.own = sums.own.saturating_add(own);
        sums.total = sums.total.saturating_add(total);
        let Some((instructions, at)) = whole else { return };
        sums.end(instructions, at);
        let n = function as usize;
        if self.lengths.len() <= n {
            self.lengths.resize(n + 1, None);
        }
        if let Some(own) = self.lengths.get_mut(n)
            && let Some(count) = own
                .get_or_insert_with(|| Box::new([0; LENGTHS]))
                .get_mut(length_class(instructions))
        {
            *count += 1;
        }
    }

    /// Takes the sums, in order of the functions.
    pub(crate) fn take(&mut self) -> Vec<(u32, FunctionSums)> {
        let mut touched = std::mem::take(&mut self.touched);
        touched.sort_unstable();
        touched.dedup();
        let mut take = |function: u32| {
            let own = self.functions.get_mut(function as usize).map(std::mem::take);
            (function, own.unwrap_or_default())
        };
        let all = touched.into_iter().map(&mut take);
        all.filter(|(_, sums)| *sums != FunctionSums::default()).collect()
    }

    /// The number of entries of [`take_lengths`](Self::take_lengths).
    pub(crate) fn length_entries(&self) -> u64 {
        let counts = self.lengths.iter().flatten().flat_map(|own| own.iter());
        counts.filter(|count| **count > 0).count() as u64
    }

    /// Takes how long calls take.
    pub(crate) fn take_lengths(&mut self) -> CallLengths {
        let mut all = CallLengths::new();
        for (function, own) in (0..).zip(&mut self.lengths) {
            for (class, count) in (0..).zip(own.iter_mut().flat_map(|own| own.iter_mut())) {
                if *count > 0 {
                    all.push((function, class, std::mem::take(count)));
                }
            }
        }
        all
    }
}
