//! `api/tiles`: what ran in each part of the trace.

use super::exact;
use crate::answer::{Answer, Answered, Problem};
use crate::arrays::{Arrays, count};
use crate::request::Request;
use crate::work::Worker;

/// The most tiles of an answer.
const MOST: usize = 512;

pub(super) fn run(worker: &Worker<'_>, request: &Request) -> Answered {
    let buffer = worker.served_buffer(worker.buffer(request)?)?;
    let source = worker.source(request, buffer)?.unwrap_or(0);
    let level = request.number("level")?.unwrap_or(0);
    let shape = buffer.view.shape();
    let level = u8::try_from(level).ok().filter(|level| *level < shape.levels);
    let level = level.ok_or_else(|| Problem::parameter("level", "one of the buffer"))?;
    let (first, most) =
        (request.number("first")?.unwrap_or(0), request.limit("count", MOST, MOST)?);
    let tiles = buffer.view.tiles(source, level, first..first.saturating_add(most as u64))?;
    let parts = || tiles.iter().flat_map(|tile| &tile.parts);
    let rows = || parts().flat_map(|part| &part.rows);
    let base = buffer.first_time();
    let time = |time: Option<u64>| match (time, base) {
        (Some(time), Some(base)) => time.wrapping_sub(base) as i64 as f64,
        _ => f64::NAN,
    };
    let mut counts = [0; 6];
    for (to, n) in counts.iter_mut().zip([tiles.len(), parts().count(), rows().count()]) {
        *to = count(n);
    }
    counts[3] = level.into();
    let numbers = [exact(first), exact(shape.tile(level)), 0.0, 0.0];
    let share = |share: u8| f32::from(share) / 255.0;
    let mut arrays = Arrays::new(b"TWTL", counts, numbers)
        .f64(tiles.iter().map(|tile| exact(tile.number)))
        .f64(tiles.iter().map(|tile| exact(tile.before)))
        .f64(tiles.iter().map(|tile| exact(tile.instructions())))
        .f64(tiles.iter().map(|tile| time(tile.times.map(|times| times.0))))
        .f64(tiles.iter().map(|tile| time(tile.times.map(|times| times.1))));
    for n in 0..tracewright::index::view::COUNTS {
        arrays = arrays.u32(tiles.iter().map(|tile| {
            let sum = tile.counts.get(n).copied().unwrap_or(0);
            u32::try_from(sum).unwrap_or(u32::MAX)
        }));
    }
    let arrays = arrays
        .u32(starts(tiles.iter().map(|tile| tile.parts.len())))
        .f64(parts().map(|part| exact(part.instructions)))
        .u32(parts().map(|part| part.thread))
        .i32(parts().map(|part| part.least_depth))
        .u32(starts(parts().map(|part| part.rows.len())))
        .u32(parts().map(|part| u32::try_from(part.begun).unwrap_or(u32::MAX)))
        .u32(rows().map(|row| row.function))
        .f32(rows().map(|row| share(row.weight)))
        .f32(rows().map(|row| share(row.all)));
    Ok(fixed(worker, request, arrays))
}

/// The sums of the numbers before each.
fn starts(lengths: impl Iterator<Item = usize>) -> impl Iterator<Item = u32> {
    lengths.scan(0u32, |sum, len| {
        let start = *sum;
        *sum = sum.saturating_add(count(len));
        Some(start)
    })
}

/// Arrays that never change, where the request has the checksum.
pub(super) fn fixed(worker: &Worker<'_>, request: &Request, arrays: Arrays) -> Answer {
    match request.get("c") == Some(worker.served.checksum.as_str()) {
        true => Answer::Fixed(arrays.into_bytes()),
        false => Answer::Arrays(arrays.into_bytes()),
    }
}
