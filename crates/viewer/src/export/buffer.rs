//! The answers about a buffer: what ran when, and the functions.

use std::ops::Range;

use super::{Export, last_number};
use crate::answer::Problem;
use crate::served::ServedBuffer;
use crate::work::DETAIL;

/// Tiles in an answer, as the page asks for them.
const BLOCK: u64 = 512;
/// The most tiles of a level of a source.
const TILES: u64 = 1 << 16;
/// The most tiles of a level with values.
const VALUE_TILES: u64 = 1 << 12;
/// The most functions in an answer, as the page asks for them.
const FUNCTIONS: u64 = 500;
/// The functions whose longest calls are listed, and the most of these. For each of them up to
/// 128 tiles are decoded, so that of a trace of more than [`LONG`] bytes there are fewer.
const LISTED: (usize, u64) = (40, 20);
const LISTED_OF_LONG: (usize, u64) = (10, 5);
const LONG: u64 = 16 << 20;
/// Of a trace of this length the page asks for all calls at once; else for parts of these lengths.
const SMALL: u64 = 1 << 16;
const LEAST: u64 = 1 << 12;
const PART: u64 = 1 << 20;

impl Export<'_, '_> {
    /// Adds what fits into `share` characters. `part` is shown in detail.
    pub(super) fn buffer(
        &mut self,
        n: usize,
        part: Option<Range<u64>>,
        share: usize,
    ) -> Result<(), Problem> {
        let buffer = self.worker.served_buffer(n)?;
        let (number, covered) = (buffer.number, buffer.view.buffer().covered());
        let name = match self.worker.served.buffers.len() {
            1 => String::new(),
            _ => format!("{}: ", buffer.view.buffer().name()),
        };
        let before = self.packed.left();
        // What is used of the share.
        let mut left = share;
        let functions = self.ask("functions", &format!("buffer={number}"))?;
        match self.packed.add(vec![(format!("functions/{number}"), functions)], left / 4) {
            Some(size) => left -= size,
            None => self.lacks.push(format!("{name}the names of functions")),
        }
        let part = match part {
            Some(part) => part.start.min(covered)..part.end.min(covered),
            None => 0..covered,
        };
        self.profiles(buffer, &part, left / 8)?;
        left = share.saturating_sub(before - self.packed.left());
        let sources = buffer.sources.len();
        let (mut pictures, mut details) = (left / 3, left / 3);
        for source in 0..sources {
            let own = pictures / (sources - source);
            pictures = pictures.saturating_sub(self.tiles(buffer, source, own, &name)?);
            let own = details / (sources - source);
            details = details.saturating_sub(self.calls_of(buffer, source, &part, own, &name)?);
        }
        left = share.saturating_sub(before - self.packed.left());
        self.lists(buffer, &part, left, &name)
    }

    /// What ran in each part of the trace, down to the smallest tiles that fit, and values. Returns
    /// the size.
    fn tiles(
        &mut self,
        buffer: &ServedBuffer<'_>,
        source: usize,
        most: usize,
        name: &str,
    ) -> Result<usize, Problem> {
        let (number, covered) = (buffer.number, buffer.view.buffer().covered());
        let shape = buffer.view.shape();
        let (mut used, mut smallest) = (0, None);
        for level in (0..shape.levels).rev() {
            let tiles = covered.div_ceil(shape.tile(level).max(1));
            if tiles > TILES {
                break;
            }
            let mut answers = Vec::new();
            for block in 0..tiles.div_ceil(BLOCK) {
                let first = block * BLOCK;
                let query = format!(
                    "buffer={number}&source={source}&level={level}&first={first}&count={BLOCK}"
                );
                let tiles = self.ask("tiles", &query)?;
                answers.push((format!("tiles/{number}/{source}/{level}/{block}"), tiles));
            }
            if tiles <= VALUE_TILES && has_values(buffer, source) {
                for block in 0..tiles.div_ceil(BLOCK) {
                    let first = block * BLOCK;
                    let query = format!(
                        "buffer={number}&source={source}&level={level}&first={first}&count={BLOCK}"
                    );
                    let values = self.ask("values", &query)?;
                    answers.push((format!("values/{number}/{source}/{level}/{block}"), values));
                }
            }
            let Some(size) = self.packed.add(answers, most - used) else { break };
            used += size;
            smallest = Some(shape.tile(level));
        }
        let of = name_of(buffer, source);
        match smallest {
            Some(bytes) => self.has.push(format!("{name}{of}: what ran in each {bytes} bytes")),
            None => self.lacks.push(format!("{name}{of}: what ran when")),
        }
        Ok(used)
    }

    /// The long calls of the trace, and each call of a part. Returns the size.
    fn calls_of(
        &mut self,
        buffer: &ServedBuffer<'_>,
        source: usize,
        part: &Range<u64>,
        most: usize,
        name: &str,
    ) -> Result<usize, Problem> {
        let (number, covered) = (buffer.number, buffer.view.buffer().covered());
        let of = name_of(buffer, source);
        let key = format!("buffer={number}&source={source}");
        let (mut used, aligned) = (0, aligned(part, covered));
        let mut least = buffer.view.shape().tile(0).max(1);
        // Fewer of them, until they fit.
        while least <= covered {
            let frames = self.ask("frames", &format!("{key}&from=0&to={covered}&min={least}"))?;
            let shortest = f64_at(&frames, 48);
            let answer = (format!("frames/{number}/{source}"), frames);
            if let Some(size) = self.packed.add(vec![answer], most / 2) {
                used += size;
                self.has.push(format!("{name}{of}: calls of at least {shortest} bytes of trace"));
                break;
            }
            least = least.saturating_mul(4);
        }
        let mut own = aligned.clone();
        while own.end > own.start {
            let length = own.end - own.start;
            if length <= DETAIL {
                let query = format!("{key}&from={}&to={}", own.start, own.end);
                let detail = self.ask("detail", &query)?;
                let answers = vec![(format!("detail/{number}/{source}"), detail)];
                let whole = answers.iter().all(|(_, bytes)| is_whole(bytes));
                if let Some(size) = whole.then(|| self.packed.add(answers, most - used)).flatten() {
                    used += size;
                    let Range { start, end } = own;
                    self.has.push(format!("{name}{of}: each call in the bytes {start}..{end}"));
                    break;
                }
            }
            if length <= LEAST {
                own.end = own.start;
                break;
            }
            // The page asks for parts whose lengths are powers of two.
            own.end = own.start + length.next_power_of_two() / 2;
        }
        if own != aligned {
            let Range { start, end } = aligned;
            let from = if own.is_empty() { start } else { own.end };
            self.lacks.push(format!(
                "{name}{of}: each call in the bytes {from}..{end}; export a shorter part of the \
                 trace to have them"
            ));
        }
        Ok(used)
    }

    /// The functions of the whole trace and of the part, and the longest calls of those with the
    /// most instructions.
    fn profiles(
        &mut self,
        buffer: &ServedBuffer<'_>,
        part: &Range<u64>,
        most: usize,
    ) -> Result<(), Problem> {
        let (number, covered) = (buffer.number, buffer.view.buffer().covered());
        let mut left = most;
        let mut functions = Vec::new();
        let mut ranges = vec![part.clone(), 0..covered];
        ranges.dedup();
        for Range { start, end } in ranges {
            let query = format!("buffer={number}&from={start}&to={end}&limit={FUNCTIONS}");
            let profile = self.ask("profile", &query)?;
            for text in String::from_utf8_lossy(&profile).split("{\"function\":").skip(1) {
                let digits = text.split(|c: char| !c.is_ascii_digit()).next().unwrap_or("");
                functions.extend(digits.parse::<u32>().ok());
            }
            let name = format!("profile/{number}/{start}/{end}");
            match self.packed.add(vec![(name, profile)], left) {
                Some(size) => left -= size,
                None => self.lacks.push(format!("functions of the bytes {start}..{end}")),
            }
        }
        let (most_listed, calls) = if covered > LONG { LISTED_OF_LONG } else { LISTED };
        let mut listed = 0;
        let mut known = std::collections::BTreeSet::new();
        functions.retain(|function| known.insert(*function));
        for function in functions.iter().take(most_listed) {
            let key = format!("buffer={number}&function={function}");
            let longest = self.ask("calls", &format!("{key}&order=longest&limit={calls}"))?;
            let lengths = self.ask("histogram", &key)?;
            let answers = vec![
                (format!("calls/{number}/{function}"), longest),
                (format!("histogram/{number}/{function}"), lengths),
            ];
            let Some(size) = self.packed.add(answers, left) else { break };
            left -= size;
            listed += 1;
        }
        if listed < functions.len() {
            let rest = functions.len() - listed;
            self.lacks.push(format!("the longest calls of {rest} functions"));
        }
        Ok(())
    }
}

fn name_of(buffer: &ServedBuffer<'_>, source: usize) -> String {
    buffer.sources.get(source).map(|own| own.name.clone()).unwrap_or_default()
}

/// `part` with its begin and its end at multiples of what the page asks for to show it.
fn aligned(part: &Range<u64>, covered: u64) -> Range<u64> {
    if covered <= SMALL {
        return 0..covered;
    }
    let length = part.end.saturating_sub(part.start);
    let size = length.next_power_of_two().clamp(LEAST, PART);
    part.start / size * size..part.end.div_ceil(size).saturating_mul(size).min(covered)
}

/// Whether a source has numbers over time.
fn has_values(buffer: &ServedBuffer<'_>, source: usize) -> bool {
    let level = buffer.view.shape().levels.saturating_sub(1);
    let whole = buffer.view.tiles(source, level, 0..u64::MAX).unwrap_or_default();
    whole.iter().any(|tile| !tile.values.is_empty() || tile.cycles.0 > 0)
}

/// Whether arrays of a detail have all calls and elements.
fn is_whole(detail: &[u8]) -> bool {
    let count = |n: usize| detail.get(8 + 4 * n..12 + 4 * n).map(|own| own.iter().all(|b| *b == 0));
    count(1) == Some(true) && count(4) == Some(true)
}

/// A number of the head of arrays.
fn f64_at(arrays: &[u8], at: usize) -> f64 {
    let bytes = arrays.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
    bytes.map_or(0.0, f64::from_le_bytes)
}

/// The offset after a list of which there is more.
pub(super) fn next(json: &[u8]) -> Option<u64> {
    last_number(json, "next")
}
