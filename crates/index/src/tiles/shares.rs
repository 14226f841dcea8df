//! Which functions ran at each depth, and how much.

use std::hash::Hasher;

use super::tile::{MOST_ROWS, TilePart, TileRow};

/// The frames of a thread that have rows, from the outermost on.
pub(crate) const TRACKED: usize = 256;

/// What a thread executed in a tile of any level.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shares {
    pub(crate) instructions: u64,
    pub(crate) begun: u64,
    pub(crate) least: Option<i32>,
    rows: Rows,
}

/// Instructions by depth and function, in a table with linear probing. A tile has few of them.
#[derive(Clone, Debug, Default)]
struct Rows {
    /// Keys and instructions. Empty, or a power of two of which at most half is in use.
    slots: Vec<(u64, u64)>,
    used: usize,
}

/// No depth and function: no frame has this function.
const FREE: u64 = u64::MAX;

/// The least number of slots.
const SLOTS: usize = 16;

impl Rows {
    #[inline]
    fn add(&mut self, key: u64, instructions: u64) {
        if 2 * (self.used + 1) > self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len().wrapping_sub(1);
        let mut at = (key.wrapping_mul(FACTOR) >> 32) as usize & mask;
        while let Some(slot) = self.slots.get_mut(at) {
            if slot.0 == key {
                slot.1 = slot.1.saturating_add(instructions);
                return;
            }
            if slot.0 == FREE {
                *slot = (key, instructions);
                self.used += 1;
                return;
            }
            at = (at + 1) & mask;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let len = (2 * self.slots.len()).max(SLOTS);
        let slots = std::mem::replace(&mut self.slots, vec![(FREE, 0); len]);
        self.used = 0;
        for (key, instructions) in slots.into_iter().filter(|slot| slot.0 != FREE) {
            self.add(key, instructions);
        }
    }

    fn iter(&self) -> impl Iterator<Item = &(u64, u64)> {
        let used = if self.used > 0 { self.slots.as_slice() } else { &[] };
        used.iter().filter(|slot| slot.0 != FREE)
    }

    fn clear(&mut self) {
        // A table that was large once is not searched each time.
        if self.slots.len() > 16 * SLOTS.max(self.used) {
            self.slots = Vec::new();
        } else if self.used > 0 {
            self.slots.fill((FREE, 0));
        }
        self.used = 0;
    }
}

/// Spreads a number over its bits.
#[derive(Default)]
pub(crate) struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64((*byte).into()));
    }

    fn write_u64(&mut self, value: u64) {
        let product = (self.0 ^ value).wrapping_mul(FACTOR);
        self.0 = product ^ product >> 32;
    }
}

/// 2^64 divided by the golden ratio.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// A depth and a function in one number.
const fn key(depth: i32, function: u32) -> u64 {
    (depth as u32 as u64) << 32 | function as u64
}

impl Shares {
    /// A frame of `function` at this depth was open while `instructions` were executed.
    #[inline]
    pub(crate) fn add(&mut self, depth: i32, function: u32, instructions: u64) {
        self.rows.add(key(depth, function), instructions);
    }

    /// The frame on top of the stack has this depth.
    #[inline]
    pub(crate) fn top(&mut self, depth: i32) {
        self.least = Some(self.least.map_or(depth, |least| least.min(depth)));
    }

    /// Adds a later part.
    pub(crate) fn join(&mut self, later: &Shares) {
        self.instructions = self.instructions.saturating_add(later.instructions);
        self.begun += later.begun;
        if let Some(depth) = later.least {
            self.top(depth);
        }
        for (key, instructions) in later.rows.iter() {
            self.rows.add(*key, *instructions);
        }
    }

    /// Whether nothing was executed.
    pub(crate) fn is_empty(&self) -> bool {
        self.instructions == 0 && self.begun == 0
    }

    /// Empties it. Its memory is used again.
    pub(crate) fn clear(&mut self) {
        (self.instructions, self.begun, self.least) = (0, 0, None);
        self.rows.clear();
    }

    /// The part of a tile.
    pub(crate) fn part(&self, thread: u32) -> TilePart {
        let least_depth = self.least.unwrap_or(0);
        let mut best = [(0u64, u32::MAX, 0u64); MOST_ROWS];
        for (key, instructions) in self.rows.iter() {
            let (depth, function) = ((key >> 32) as u32 as i32, *key as u32);
            let row = i64::from(depth) - i64::from(least_depth);
            let Some(row) = usize::try_from(row).ok().and_then(|row| best.get_mut(row)) else {
                continue;
            };
            row.2 = row.2.saturating_add(*instructions);
            if (*instructions, u32::MAX - function) > (row.0, u32::MAX - row.1) {
                (row.0, row.1) = (*instructions, function);
            }
        }
        let rows = best.into_iter().map(|(most, function, all)| TileRow {
            function,
            weight: share(most, self.instructions),
            all: share(all, self.instructions),
        });
        TilePart {
            thread,
            instructions: self.instructions,
            begun: self.begun,
            least_depth,
            rows: rows.take_while(|row| row.all > 0).collect(),
        }
    }
}

/// A share of 255, rounded.
pub(crate) fn share(part: u64, whole: u64) -> u8 {
    let (part, whole) = (u128::from(part.min(whole)), u128::from(whole.max(1)));
    ((part * 510 + whole) / (2 * whole)) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Also where the table grows, and where it is used again.
    #[test]
    fn rows_are_sums() {
        let mut rows = Rows::default();
        let mut random = tracewright_testing::Random::new(5);
        for round in 0..200 {
            let mut want = std::collections::BTreeMap::<u64, u64>::new();
            for _ in 0..random.below(if round % 20 == 0 { 3000 } else { 40 }) {
                let key = key(random.below(6) as i32 - 2, random.below(900) as u32);
                let instructions = random.below(9);
                rows.add(key, instructions);
                *want.entry(key).or_default() += instructions;
            }
            let mut found: Vec<(u64, u64)> = rows.iter().copied().collect();
            found.sort_unstable();
            assert!(found.into_iter().eq(want), "round {round}");
            rows.clear();
            assert_eq!(rows.iter().count(), 0);
        }
    }

    #[test]
    fn a_row_has_the_function_with_the_most_instructions() {
        let mut shares = Shares { instructions: 1000, ..Shares::default() };
        shares.top(5);
        shares.top(3);
        for (depth, function, instructions) in [
            (2, 9, 1000),
            (3, 1, 1000),
            (4, 2, 300),
            (4, 5, 300),
            (4, 3, 299),
            (5, 7, 1),
            (7, 1, 900),
        ] {
            shares.add(depth, function, instructions);
        }
        let part = shares.part(4);
        assert_eq!((part.thread, part.least_depth, part.instructions), (4, 3, 1000));
        let row = |function, weight, all| TileRow { function, weight, all };
        assert_eq!(part.rows, [row(1, 255, 255), row(2, 77, 229)]);
        assert_eq!([share(0, 0), share(1, 1), share(1, 511), share(1, 509)], [0, 255, 0, 1]);
    }
}
