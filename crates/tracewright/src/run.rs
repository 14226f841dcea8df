//! Decodes one buffer, or a part of it, on several threads: [`decode::parallel`](crate::decode) of a
//! session, with windows, an index and counts. `examples/threads.rs` uses it.

use std::io;

use tracewright_capture::Buffer;
use tracewright_decode::input::Input;
use tracewright_decode::{Caches, Fork, Jobs, Listener, Merge, Merging, Session, Tally, parallel};
use tracewright_index::{Index, IndexError, IndexedBuffer, Window, window};
use tracewright_views::instructions::Parts;

/// The part of each buffer that is decoded, and the threads.
#[derive(Clone, Debug)]
pub struct Selection<'a> {
    /// The part.
    pub window: Window,
    /// An index of the trace, with which decoding begins near the part.
    pub index: Option<&'a Index>,
    /// Receives which instructions of each range are in the part, before the range.
    pub parts: Option<&'a Parts>,
    /// The threads. A part is decoded on one.
    pub jobs: Jobs,
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
    let mut both = (listener, Merging(Tally::default()));
    let mut tally = Tally::default();
    let mut take = |(output, counts), at| {
        tally.merge(counts);
        write(output, at, &tally)
    };
    let Selection { window, index, parts, jobs } = selection;
    if window.is_all() {
        let work = parallel::run(&mut session, input, &mut both, jobs, take)?;
        let (caches, refused) = (session.into_caches(), work.refused);
        return Ok(Ran { listener: both.0, tally, caches, refused, damage: None });
    }
    let indexed = index.and_then(|i| i.buffers().iter().find(|own| own.name() == buffer.name));
    let mut begin = |skipped, shown| {
        if let Some(parts) = parts {
            parts.set(skipped, shown);
        }
    };
    let write = &mut |output| take(output, 0);
    let both = window::run(session, buffer, window, indexed, both, &mut begin, write)?;
    let damage = indexed.and_then(IndexedBuffer::damage);
    Ok(Ran { listener: both.0, tally, caches: Caches::default(), refused: None, damage })
}
