//! A tile as bytes.

use super::values::{ValueSums, put_values, read_values};
use crate::bytes::{Reader, put, unzigzag, zigzag};

/// What is counted in a tile, in this order: exceptions, gaps, software writes, data accesses,
/// events and triggers of a trace unit, events of a Data Watchpoint and Trace unit, contexts.
pub const COUNTS: usize = 7;
/// See [`COUNTS`].
pub type Counts = [u64; COUNTS];

/// The most rows of a part.
pub const MOST_ROWS: usize = 16;

/// What one source has in a tile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tile {
    /// The number of the tile: its offset divided by its length.
    pub number: u64,
    /// Instructions of the source before the tile.
    pub before: u64,
    /// The first and the last timestamp.
    pub times: Option<(u64, u64)>,
    /// How often other elements occur.
    pub counts: Counts,
    /// Processor cycles between counts that follow each other without lost trace, and the
    /// instructions between these, where the later one is in the tile.
    pub cycles: (u64, u64),
    /// What each thread executed, in order of the threads.
    pub parts: Vec<TilePart>,
    /// The values of the series that have some, by their number in [`Names`](super::Names).
    pub values: Vec<(u32, ValueSums)>,
}

/// What a thread executed in a tile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TilePart {
    /// The number of the thread: see [`Names`](super::Names).
    pub thread: u32,
    /// Instructions.
    pub instructions: u64,
    /// Frames that begin.
    pub begun: u64,
    /// The depth of the frame on top of the stack, at the least. Frames beneath it began before
    /// the tile, and end after it.
    pub least_depth: i32,
    /// From the least depth upwards: what ran at each depth. It ends before the first depth at
    /// which frames executed less than 1/510 of the instructions.
    pub rows: Vec<TileRow>,
}

/// What ran at a depth of the stack, or above it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TileRow {
    /// The function with the most instructions.
    pub function: u32,
    /// Its share of the instructions of the part, of 255.
    pub weight: u8,
    /// The share of all frames at this depth, of 255.
    pub all: u8,
}

impl Tile {
    /// Instructions of all threads.
    pub fn instructions(&self) -> u64 {
        self.parts.iter().fold(0, |sum, part| sum.saturating_add(part.instructions))
    }

    /// Whether nothing happened.
    pub(crate) fn is_empty(&self) -> bool {
        let nothing = self.parts.is_empty() && self.values.is_empty() && self.cycles == (0, 0);
        nothing && self.times.is_none() && self.counts == Counts::default()
    }
}

/// What the next tile of a source is described relative to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Before {
    number: u64,
    instructions: u64,
    time: u64,
}

impl Before {
    /// Appends `tile`.
    pub(crate) fn put(&mut self, tile: &Tile, out: &mut Vec<u8>) {
        let used = tile.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        let mut flags: u8 = used.clone().fold(0, |flags, (n, _)| flags | 1 << n);
        flags |= if tile.times.is_some() { 1 << COUNTS } else { 0 };
        let elsewhere = tile.before != self.instructions;
        let more = [flags != 0, elsewhere, tile.cycles != (0, 0), !tile.values.is_empty()];
        let more = more.iter().rev().fold(0, |bits, more| bits << 1 | u64::from(*more));
        put(out, tile.number.wrapping_sub(self.number) << 4 | more);
        if elsewhere {
            put(out, zigzag(tile.before.wrapping_sub(self.instructions)));
        }
        if flags != 0 {
            out.push(flags);
        }
        used.for_each(|(_, count)| put(out, *count));
        if let Some((first, last)) = tile.times {
            put(out, zigzag(first.wrapping_sub(self.time)));
            put(out, zigzag(last.wrapping_sub(first)));
            self.time = last;
        }
        if tile.cycles != (0, 0) {
            put(out, tile.cycles.0);
            put(out, tile.cycles.1);
        }
        put(out, tile.parts.len() as u64);
        for part in &tile.parts {
            part.put(out);
        }
        if !tile.values.is_empty() {
            put_values(&tile.values, out);
        }
        self.number = tile.number.wrapping_add(1);
        self.instructions = tile.before.wrapping_add(tile.instructions());
    }

    /// Reads a tile.
    pub(crate) fn read(&mut self, from: &mut Reader<'_>) -> Option<Tile> {
        let word = from.number()?;
        let number = self.number.checked_add(word >> 4)?;
        let mut tile = Tile { number, before: self.instructions, ..Tile::default() };
        if word & 2 != 0 {
            tile.before = self.instructions.wrapping_add(unzigzag(from.number()?));
        }
        let flags = if word & 1 != 0 { from.u8()? } else { 0 };
        for (n, count) in tile.counts.iter_mut().enumerate() {
            if flags >> n & 1 != 0 {
                *count = from.number()?;
            }
        }
        if flags >> COUNTS & 1 != 0 {
            let first = self.time.wrapping_add(unzigzag(from.number()?));
            let last = first.wrapping_add(unzigzag(from.number()?));
            (tile.times, self.time) = (Some((first, last)), last);
        }
        if word & 4 != 0 {
            tile.cycles = (from.number()?, from.number()?);
        }
        for _ in 0..from.count()? {
            tile.parts.push(TilePart::read(from)?);
        }
        if word & 8 != 0 {
            tile.values = read_values(from)?;
        }
        self.number = number.checked_add(1)?;
        self.instructions = tile.before.wrapping_add(tile.instructions());
        Some(tile)
    }
}

impl TilePart {
    fn put(&self, out: &mut Vec<u8>) {
        put(out, self.thread.into());
        put(out, self.instructions);
        put(out, self.begun);
        put(out, zigzag(i64::from(self.least_depth) as u64));
        put(out, self.rows.len() as u64);
        for row in &self.rows {
            // Most rows have one function, and many take all of the time.
            let (one, whole) = (row.weight == row.all, row.all == u8::MAX);
            put(out, u64::from(row.function) << 2 | u64::from(!whole) << 1 | u64::from(!one));
            if !whole {
                out.push(row.all);
            }
            if !one {
                out.push(row.weight);
            }
        }
    }

    fn read(from: &mut Reader<'_>) -> Option<TilePart> {
        let mut part = TilePart {
            thread: u32::try_from(from.number()?).ok()?,
            instructions: from.number()?,
            begun: from.number()?,
            least_depth: i32::try_from(unzigzag(from.number()?) as i64).ok()?,
            rows: Vec::new(),
        };
        for _ in 0..from.count()? {
            let word = from.number()?;
            let function = u32::try_from(word >> 2).ok()?;
            let all = if word & 2 == 0 { u8::MAX } else { from.u8()? };
            let weight = if word & 1 == 0 { all } else { from.u8()? };
            part.rows.push(TileRow { function, weight, all });
        }
        (part.rows.len() <= MOST_ROWS).then_some(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_are_read_as_they_were_written() {
        let row = |function, weight, all| TileRow { function, weight, all };
        let part = |thread, least_depth| TilePart {
            thread,
            instructions: 1 << 40,
            begun: 7,
            least_depth,
            rows: vec![row(3, 255, 255), row(4, 7, 255), row(u32::MAX, 3, 200), row(5, 9, 9)],
        };
        let tiles = [
            Tile { number: 5, before: 9, times: Some((10, 4)), ..Tile::default() },
            Tile {
                number: 7,
                before: 3,
                counts: [0, 1, 2, 0, u64::MAX, 3, 4],
                cycles: (9, 0),
                parts: vec![part(0, -3), part(9, i32::MAX)],
                values: vec![(3, ValueSums { count: 1, least: 4, most: 4, sum: 4, text: 0 })],
                ..Tile::default()
            },
            Tile { number: 1 << 50, times: Some((u64::MAX, 0)), ..Tile::default() },
        ];
        let (mut bytes, mut before) = (Vec::new(), Before::default());
        tiles.iter().for_each(|tile| before.put(tile, &mut bytes));
        let (mut from, mut before) = (Reader(&bytes), Before::default());
        let read = tiles.each_ref().map(|_| before.read(&mut from));
        assert_eq!(read, tiles.map(Some));
        assert!(from.0.is_empty());
        for len in 0..bytes.len() {
            let (mut from, mut before) = (Reader(&bytes[..len]), Before::default());
            assert!((0..3).any(|_| before.read(&mut from).is_none()), "{len}");
        }
    }
}
