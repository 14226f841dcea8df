//! A tile as bytes.

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
    /// What each thread executed, in order of the threads.
    pub parts: Vec<TilePart>,
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
        self.parts.is_empty() && self.times.is_none() && self.counts == Counts::default()
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
        put(out, tile.number.wrapping_sub(self.number));
        put(out, zigzag(tile.before.wrapping_sub(self.instructions)));
        let used = tile.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        let mut flags: u8 = used.clone().fold(0, |flags, (n, _)| flags | 1 << n);
        flags |= if tile.times.is_some() { 1 << COUNTS } else { 0 };
        out.push(flags);
        used.for_each(|(_, count)| put(out, *count));
        if let Some((first, last)) = tile.times {
            put(out, zigzag(first.wrapping_sub(self.time)));
            put(out, zigzag(last.wrapping_sub(first)));
            self.time = last;
        }
        put(out, tile.parts.len() as u64);
        for part in &tile.parts {
            part.put(out);
        }
        self.number = tile.number.wrapping_add(1);
        self.instructions = tile.before.wrapping_add(tile.instructions());
    }

    /// Reads a tile.
    pub(crate) fn read(&mut self, from: &mut Reader<'_>) -> Option<Tile> {
        let number = self.number.checked_add(from.number()?)?;
        let before = self.instructions.wrapping_add(unzigzag(from.number()?));
        let mut tile = Tile { number, before, ..Tile::default() };
        let flags = from.u8()?;
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
        for _ in 0..from.count()? {
            tile.parts.push(TilePart::read(from)?);
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
            // Most rows have one function.
            let one = row.weight == row.all;
            put(out, u64::from(row.function) << 1 | u64::from(!one));
            out.push(row.all);
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
            let function = u32::try_from(word >> 1).ok()?;
            let all = from.u8()?;
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
            rows: vec![row(3, 255, 255), row(u32::MAX, 3, 200)],
        };
        let tiles = [
            Tile { number: 5, before: 9, times: Some((10, 4)), ..Tile::default() },
            Tile {
                number: 7,
                before: 3,
                counts: [0, 1, 2, 0, u64::MAX, 3, 4],
                parts: vec![part(0, -3), part(9, i32::MAX)],
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
