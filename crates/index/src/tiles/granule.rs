//! Sums by function, as bytes.

use crate::bytes::{Reader, put, unzigzag, zigzag};

/// The number of tiles of level 0 in a granule.
pub const GRANULE_TILES: u64 = 128;

/// The number of [classes](length_class) of lengths of calls.
pub const LENGTHS: usize = 65;

/// The class of a number of instructions: 0 has none, and class n those from 2^(n - 1) to
/// 2^n - 1.
pub const fn length_class(instructions: u64) -> usize {
    (u64::BITS - instructions.leading_zeros()) as usize
}

/// What one source executed in [`GRANULE_TILES`] tiles, whose first has a number that is a multiple
/// of these.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Granule {
    /// Its offset divided by its length.
    pub number: u64,
    /// The functions, in order of their numbers.
    pub functions: Vec<(u32, FunctionSums)>,
}

/// Sums of one function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FunctionSums {
    /// Frames that begin by a call or an exception.
    pub calls: u64,
    /// Instructions in the function itself.
    pub own: u64,
    /// Instructions of a thread while a frame of the function is open. Each is counted once.
    pub total: u64,
    /// Whole calls that end: from a call or an exception to a return, a tail call, or unwinding,
    /// without lost trace. The following are of these, and 0 without any.
    pub ended: u64,
    /// Instructions of all of them, with what they called.
    pub sum: u64,
    /// Instructions of the shortest and of the longest.
    pub least: u64,
    /// See `least`.
    pub most: u64,
    /// The offset at which the first of the longest ends.
    pub most_at: u64,
}

impl FunctionSums {
    /// A whole call of `instructions` instructions ends at offset `at`.
    pub(crate) fn end(&mut self, instructions: u64, at: u64) {
        if self.ended == 0 || instructions < self.least {
            self.least = instructions;
        }
        if self.ended == 0 || instructions > self.most {
            (self.most, self.most_at) = (instructions, at);
        }
        self.ended += 1;
        self.sum = self.sum.saturating_add(instructions);
    }

    /// Adds the sums of a later part.
    pub fn add(&mut self, later: &FunctionSums) {
        self.calls = self.calls.saturating_add(later.calls);
        self.own = self.own.saturating_add(later.own);
        self.total = self.total.saturating_add(later.total);
        if later.ended == 0 {
            return;
        }
        if self.ended == 0 || later.least < self.least {
            self.least = later.least;
        }
        if self.ended == 0 || later.most > self.most {
            (self.most, self.most_at) = (later.most, later.most_at);
        }
        self.ended = self.ended.saturating_add(later.ended);
        self.sum = self.sum.saturating_add(later.sum);
    }
}

/// How long whole calls of the functions take: the number of calls by function and class of their
/// instructions, in this order.
pub type CallLengths = Vec<(u32, u8, u64)>;

impl Granule {
    /// Appends the granule, which follows the one with number `before` minus 1.
    pub(crate) fn put(&self, before: &mut u64, out: &mut Vec<u8>) {
        put(out, self.number.wrapping_sub(*before));
        *before = self.number.wrapping_add(1);
        put_sums(&self.functions, out);
    }

    /// Reads a granule.
    pub(crate) fn read(before: &mut u64, from: &mut Reader<'_>) -> Option<Granule> {
        let number = before.checked_add(from.number()?)?;
        *before = number.checked_add(1)?;
        Some(Granule { number, functions: read_sums(from)? })
    }
}

/// Its total is not its own instructions.
const CALLS: u64 = 1;
/// Not as many whole calls end as begin.
const OPEN: u64 = 2;
/// The instructions of whole calls are not the total.
const OTHER: u64 = 4;
/// The number of these bits.
const FLAGS: u32 = 3;

/// Appends sums, in order of the functions.
pub(crate) fn put_sums(functions: &[(u32, FunctionSums)], out: &mut Vec<u8>) {
    put(out, functions.len() as u64);
    let (mut next, mut at) = (0u64, 0u64);
    for (number, sums) in functions {
        let number = u64::from(*number);
        let ended = sums.ended > 0;
        let flags = if sums.total != sums.own { CALLS } else { 0 }
            | if sums.ended != sums.calls { OPEN } else { 0 }
            | if ended && sums.sum != sums.total { OTHER } else { 0 };
        put(out, number.wrapping_sub(next) << FLAGS | flags);
        next = number + 1;
        put(out, sums.calls);
        put(out, sums.own);
        if flags & CALLS != 0 {
            put(out, sums.total.wrapping_sub(sums.own));
        }
        if flags & OPEN != 0 {
            put(out, sums.ended);
        }
        if flags & OTHER != 0 {
            put(out, zigzag(sums.sum.wrapping_sub(sums.total)));
        }
        // One call is both the shortest and the longest.
        if sums.ended > 1 {
            put(out, sums.least);
            put(out, sums.most.wrapping_sub(sums.least));
        }
        if ended {
            put(out, zigzag(sums.most_at.wrapping_sub(at)));
            at = sums.most_at;
        }
    }
}

/// Reads sums.
pub(crate) fn read_sums(from: &mut Reader<'_>) -> Option<Vec<(u32, FunctionSums)>> {
    let count = from.count()?;
    let mut functions = Vec::with_capacity(count);
    let (mut next, mut at) = (0u64, 0u64);
    for _ in 0..count {
        let word = from.number()?;
        let number = u32::try_from(next.checked_add(word >> FLAGS)?).ok()?;
        next = u64::from(number) + 1;
        let (calls, own) = (from.number()?, from.number()?);
        let mut sums = FunctionSums { calls, own, total: own, ended: calls, ..Default::default() };
        if word & CALLS != 0 {
            sums.total = own.checked_add(from.number()?)?;
        }
        if word & OPEN != 0 {
            sums.ended = from.number()?;
        }
        if sums.ended > 0 {
            sums.sum = sums.total;
        }
        if word & OTHER != 0 {
            sums.sum = sums.total.wrapping_add(unzigzag(from.number()?));
        }
        if sums.ended > 1 {
            sums.least = from.number()?;
            sums.most = sums.least.checked_add(from.number()?)?;
        } else {
            (sums.least, sums.most) = (sums.sum, sums.sum);
        }
        if sums.ended > 0 {
            at = at.wrapping_add(unzigzag(from.number()?));
            sums.most_at = at;
        }
        functions.push((number, sums));
    }
    Some(functions)
}

/// Appends how long calls take.
pub(crate) fn put_lengths(lengths: &CallLengths, out: &mut Vec<u8>) {
    put(out, lengths.len() as u64);
    let mut before = 0u32;
    for (function, class, count) in lengths {
        put(out, function.wrapping_sub(before).into());
        out.push(*class);
        put(out, *count);
        before = *function;
    }
}

/// Reads how long calls take.
pub(crate) fn read_lengths(from: &mut Reader<'_>) -> Option<CallLengths> {
    let mut function = 0u32;
    let count = from.count()?;
    (0..count)
        .map(|_| {
            function = function.checked_add(u32::try_from(from.number()?).ok()?)?;
            let class = from.u8().filter(|class| usize::from(*class) < LENGTHS)?;
            Some((function, class, from.number()?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn granules_are_read_as_they_were_written() {
        let mut sums = FunctionSums { calls: 3, own: 7, total: 900, ..FunctionSums::default() };
        let none = sums;
        sums.end(400, 17);
        sums.end(1, 19);
        let more = FunctionSums { total: u64::MAX, own: u64::MAX, ..sums };
        let mut once = FunctionSums { calls: 1, own: 3, total: 9, ..FunctionSums::default() };
        once.end(9, 21);
        let granules = [
            Granule {
                number: 4,
                functions: vec![(0, sums), (8, once), (9, none), (u32::MAX, more)],
            },
            Granule { number: 5, functions: Vec::new() },
            Granule { number: 1 << 40, functions: vec![(1, FunctionSums::default())] },
        ];
        let (mut bytes, mut before) = (Vec::new(), 0);
        granules.iter().for_each(|granule| granule.put(&mut before, &mut bytes));
        let lengths = vec![(0, 0, 4), (0, 64, 1), (7, 3, u64::MAX)];
        put_lengths(&lengths, &mut bytes);
        let (mut from, mut before) = (Reader(&bytes), 0);
        let read = granules.each_ref().map(|_| Granule::read(&mut before, &mut from));
        assert_eq!(read, granules.map(Some));
        assert_eq!(read_lengths(&mut from), Some(lengths));
        assert!(from.0.is_empty());
    }

    #[test]
    fn lengths_have_classes() {
        let classes = [0, 1, 2, 3, 4, 7, 8, u64::MAX].map(length_class);
        assert_eq!(classes, [0, 1, 2, 2, 3, 3, 4, 64]);
    }
}
