//! Decodes one buffer, or a part of it, on several threads.

use std::io;

use tracewright_capture::Buffer;
use tracewright_decode::{Caches, Fork, Jobs, Listener, Merge, Merging, Session, Tally};
use tracewright_decode::{input, parallel};
use tracewright_index::{Index, Window, window};

/// The part of each buffer that is decoded, and the threads.
#[derive(Clone, Debug)]
pub struct Selection<'a> {
    /// The part.
    pub window: Window,
    /// An index of the trace, with which decoding begins near the part.
    pub index: Option<&'a Index>,
    /// The threads. A part is decoded on one.
    pub jobs: Jobs,
}

/// Decodes the part of `buffer`, which has the number `number` in its capture, that `selection`
/// selects. `write` receives the output of `listener` in order, and returns whether more is wanted.
/// Returns the listener, the counts, and the caches of the session.
///
/// # Errors
/// Where the buffer cannot be read.
pub fn run<L: Listener + Fork + Send>(
    mut session: Session,
    (number, buffer): (usize, &Buffer),
    selection: &Selection<'_>,
    listener: L,
    mut write: impl FnMut(L::Output) -> bool,
) -> io::Result<(L, Tally, Caches)> {
    let mut both = (listener, Merging(Tally::default()));
    let mut tally = Tally::default();
    let mut take = |(output, counts)| {
        tally.merge(counts);
        write(output)
    };
    let Selection { window, index, jobs } = selection;
    if window.is_all() {
        let input = &mut *input::of(buffer);
        parallel::run(&mut session, input, &mut both, jobs, |output, _| take(output))?;
        return Ok((both.0, tally, session.into_caches()));
    }
    let index = index.and_then(|index| index.buffer(number));
    let both = window::run(session, buffer, window, index, both, &mut |_, _| (), &mut take)?;
    Ok((both.0, tally, Caches::default()))
}
