//! `api/values`: numbers over time. Those of watched data and of software, and instructions per
//! cycle.

use tracewright::index::view::{Passed, Series, Tile};

use super::exact;
use super::tiles::fixed;
use crate::answer::{Answered, Problem};
use crate::arrays::{Arrays, count};
use crate::request::Request;
use crate::served::ServedBuffer;
use crate::work::{DETAIL, Worker};

/// The most tiles, and the most values, of an answer.
const MOST_TILES: usize = 512;
const MOST_VALUES: usize = 20_000;

/// In place of the number of a series: instructions per cycle.
pub(super) const IPC: u32 = u32::MAX;

/// The values of a series in a tile.
struct Row {
    tile: u64,
    series: u32,
    count: u64,
    least: f64,
    mean: f64,
    most: f64,
}

pub(super) fn run(worker: &mut Worker<'_>, request: &Request) -> Answered {
    match request.number("level")? {
        Some(level) => of_tiles(worker, request, level),
        None => exactly(worker, request),
    }
}

/// The least, the mean and the greatest in each tile.
fn of_tiles(worker: &Worker<'_>, request: &Request, level: u64) -> Answered {
    let buffer = worker.served_buffer(worker.buffer(request)?)?;
    let source = worker.source(request, buffer)?.unwrap_or(0);
    let shape = buffer.view.shape();
    let level = u8::try_from(level).ok().filter(|level| *level < shape.levels);
    let level = level.ok_or_else(|| Problem::parameter("level", "one of the buffer"))?;
    let first = request.number("first")?.unwrap_or(0);
    let most = request.limit("count", MOST_TILES, MOST_TILES)?;
    let tiles = buffer.view.tiles(source, level, first..first.saturating_add(most as u64))?;
    let rows: Vec<Row> = tiles.iter().flat_map(rows).collect();
    let counts = [count(rows.len()), 0, 0, 0, 0, 0];
    let numbers = [exact(shape.tile(level)), 0.0, 0.0, 0.0];
    let arrays = Arrays::new(b"TWVT", counts, numbers)
        .f64(rows.iter().map(|row| exact(row.tile)))
        .f64(rows.iter().map(|row| exact(row.count)))
        .f64(rows.iter().map(|row| row.least))
        .f64(rows.iter().map(|row| row.mean))
        .f64(rows.iter().map(|row| row.most))
        .u32(rows.iter().map(|row| row.series));
    Ok(fixed(worker, request, arrays))
}

fn rows(tile: &Tile) -> Vec<Row> {
    let values = tile.values.iter().map(|(series, own)| Row {
        tile: tile.number,
        series: *series,
        count: own.count,
        least: own.least as f64,
        mean: own.mean().unwrap_or(f64::NAN),
        most: own.most as f64,
    });
    let mean = ipc(tile.cycles);
    let ipc = mean.map(|mean| Row {
        tile: tile.number,
        series: IPC,
        count: tile.cycles.0,
        least: f64::NAN,
        mean,
        most: f64::NAN,
    });
    values.chain(ipc).collect()
}

/// Instructions per cycle.
fn ipc((cycles, instructions): (u64, u64)) -> Option<f64> {
    (cycles > 0).then(|| instructions as f64 / cycles as f64)
}

/// Each value of a short part.
fn exactly(worker: &mut Worker<'_>, request: &Request) -> Answered {
    let n = worker.buffer(request)?;
    let buffer = worker.served_buffer(n)?;
    let source = worker.source(request, buffer)?.unwrap_or(0);
    let offsets = worker.offsets(request, buffer)?;
    if offsets.end - offsets.start > DETAIL {
        return Err(Problem::too_large(DETAIL));
    }
    let known = buffer.view.names().series();
    let (mut found, mut left_out) = (Vec::new(), 0usize);
    let mut each = |passed: &Passed| {
        let own = passed.source == source;
        let Some((series, value, _)) = Series::of(&passed.element).filter(|_| own) else { return };
        let is = |own: &(u16, Series)| usize::from(own.0) == source && own.1 == series;
        let Some(number) = known.iter().position(is) else { return };
        match found.len() < MOST_VALUES {
            true => found.push((*passed, count(number), value)),
            false => left_out += 1,
        }
    };
    worker.player(n)?.detail(offsets.clone(), 0, &mut each)?;
    let base = buffer.first_time();
    let time = |time: Option<u64>| match (time, base) {
        (Some(time), Some(base)) => time.wrapping_sub(base) as i64 as f64,
        _ => f64::NAN,
    };
    let counts = [count(found.len()), count(left_out), 0, 0, 0, 0];
    let numbers = [exact(offsets.start), exact(offsets.end), 0.0, 0.0];
    let arrays = Arrays::new(b"TWVX", counts, numbers)
        .f64(found.iter().map(|(own, ..)| exact(own.at)))
        .f64(found.iter().map(|(own, ..)| exact(own.instructions.1)))
        .f64(found.iter().map(|(own, ..)| time(own.time)))
        .f64(found.iter().map(|(own, ..)| exact(own.number)))
        .f64(found.iter().map(|(.., value)| *value as f64))
        .u32(found.iter().map(|(_, series, _)| *series));
    Ok(fixed(worker, request, arrays))
}

/// A series of the whole buffer.
pub(super) struct Listed {
    pub(super) number: u32,
    /// `None`: instructions per cycle.
    pub(super) series: Option<Series>,
    pub(super) count: u64,
    /// All of it is text.
    pub(super) text: bool,
    /// The least and the greatest value, where they are known.
    pub(super) range: Option<(f64, f64)>,
}

/// The series of a source that have values.
pub(super) fn series(
    buffer: &ServedBuffer<'_>,
    source: usize,
) -> Result<Vec<Listed>, tracewright::index::IndexError> {
    let level = buffer.view.shape().levels.saturating_sub(1);
    let whole = buffer.view.tiles(source, level, 0..u64::MAX)?;
    let Some(whole) = whole.first() else { return Ok(Vec::new()) };
    let known = buffer.view.names().series();
    let mut all = Vec::new();
    for (number, own) in &whole.values {
        let Some((_, series)) = known.get(*number as usize) else { continue };
        all.push(Listed {
            number: *number,
            series: Some(*series),
            count: own.count,
            text: own.text == own.count,
            range: Some((own.least as f64, own.most as f64)),
        });
    }
    if whole.cycles.0 > 0 {
        let count = whole.cycles.0;
        all.push(Listed { number: IPC, series: None, count, text: false, range: None });
    }
    Ok(all)
}
