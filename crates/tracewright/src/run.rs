//! Decodes one buffer, or a part of it, on several threads: [`decode::parallel`](crate::decode) of a
//! session, with windows, an index and counts. `examples/threads.rs` uses it.

use std::io;

use tracewright_capture::Buffer;
use tracewright_decode::input::Input;
use tracewright_decode::{
    Caches, ErrorLimit, Fork, Jobs, Listener, Merge, Merging, Session, Tally, parallel,
};
use tracewright_index::{Index, IndexError, IndexedBuffer, Inside, Running, Window, window};
use tracewright_views::instructions::Parts;

/// The part of each buffer that is decoded, and the threads.
#[derive(Clone, Debug)]
pub struct Selection<'a> {
    /// The part.
    pub window: Window,
    /// Of the part, only what is executed while these tasks run.
    pub running: Option<&'a Running>,
    /// An index of the trace, with which decoding begins near the part.
    pub index: Option<&'a Index>,
    /// Receives which instructions of each range are in the part, before the range.
    pub parts: Option<&'a Parts>,
    /// The threads. A part is decoded on one.
    pub jobs: Jobs,
    /// Decoding ends after this many errors: see [`ErrorLimit`].
    pub stop_after: Option<u64>,
}

/// A buffer that was decoded.
#[derive(Debug)]
#[non_exhaustive]
pub struct Ran<L> {
    /// The listener in its final state.
    pub listener: L,
    /// The counts.
    pub tally: Tally,
    /// The caches of the session; of a part, none.
    pub caches: Caches,
    /// The number of threads, where the system started fewer than were asked for.
    pub refused: Option<usize>,
    /// The offset of the error after which decoding ended, where there was a limit.
    pub stopped: Option<u64>,
    /// The damage of the index for which it was not used.
    pub damage: Option<IndexError>,
}

/// Decodes the part of `input`, the bytes of `buffer`, that `selection` selects. `write` receives
/// the output of `listener` in order, with the number of bytes that were read, 0 where only a part
/// is decoded, and the counts so far. It returns whether more is wanted.
///
/// # Errors
/// Where the buffer cannot be read.
pub fn run<L: Listener + Fork + Send>(
    mut session: Session,
    buffer: &Buffer,
    input: &mut dyn Input,
    selection: &Selection<'_>,
    listener: L,
    mut write: impl FnMut(L::Output, u64, &Tally) -> bool,
) -> io::Result<Ran<L>> {
    let both = (listener, Merging(Tally::default()));
    let mut all = ErrorLimit::new(selection.stop_after, both);
    let mut tally = Tally::default();
    let mut take = |(output, counts), at| {
        tally.merge(counts);
        write(output, at, &tally)
    };
    let Selection { window, running, index, parts, jobs, .. } = selection;
    if window.is_all() && running.is_none() {
        let work = parallel::run(&mut session, input, &mut all, jobs, take)?;
        let (caches, refused, stopped) = (session.into_caches(), work.refused, all.ended());
        let listener = all.listener.0;
        return Ok(Ran { listener, tally, caches, refused, stopped, damage: None });
    }
    let indexed = index.and_then(|i| i.buffers().iter().find(|own| own.name() == buffer.name));
    let mut begin = |skipped, shown| {
        if let Some(parts) = parts {
            parts.set(skipped, shown);
        }
    };
    let write = &mut |output| take(output, 0);
    let inside = Inside { window, running: *running };
    let all = window::run(session, buffer, inside, indexed, all, &mut begin, write)?;
    let damage = indexed.and_then(IndexedBuffer::damage);
    let (stopped, listener) = (all.ended(), all.listener.0);
    Ok(Ran { listener, tally, caches: Caches::default(), refused: None, stopped, damage })
}
