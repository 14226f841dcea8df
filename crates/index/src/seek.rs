//! From an index to the state of a session.

use std::io;

use tracewright_capture::Buffer;
use tracewright_decode::{Checkpoint, Listener, Route, Session};
use tracewright_frames::Splitter;

use crate::build::{fill, from};
use crate::index::IndexedBuffer;
use crate::position::Position;
use crate::probe::{Nothing, place};

/// The actual state of a session at the beginning of a segment.
#[derive(Clone, Debug)]
pub struct Start {
    /// The number of the segment.
    pub segment: usize,
    /// The state. [`Session::resume`] continues from it.
    pub state: Checkpoint,
    /// What was before.
    pub position: Position,
}

/// Sources that begin at the same offset.
struct Run {
    /// Where their decoding begins, and where it may end.
    from: u64,
    to: u64,
    sources: Vec<usize>,
}

/// Bytes that are decoded at a time.
const STEP: usize = 1 << 12;

impl IndexedBuffer {
    /// The actual state at the beginning of segment `n`, or of the last segment before it at which
    /// the state can be found. `session` is in its initial state at the beginning of `buffer`; its
    /// state is left undefined.
    ///
    /// Each source is decoded for `listener` from its last verified restart to the end of its last
    /// bytes before the segment. Sources may follow one another.
    ///
    /// # Errors
    /// Where the buffer cannot be read, or summaries of segments are
    /// [damaged](IndexedBuffer::damage).
    pub fn seek(
        &self,
        session: &mut Session,
        buffer: &Buffer,
        n: usize,
        listener: &mut dyn Listener,
    ) -> io::Result<Start> {
        let blank = session.state().clone();
        let n = (1..=n.min(self.len())).rev().find(|n| self.link(&blank, *n).is_some());
        let Some(n) = n else {
            if let Some(damage) = self.damage() {
                return Err(damage.into());
            }
            let position = self.position(0);
            return Ok(Start { segment: 0, state: blank, position });
        };
        let (begin, position) = (self.begin(n).unwrap_or(0), self.position(n));
        let start = |state| match self.damage() {
            None => Ok(Start { segment: n, state, position }),
            Some(damage) => Err(damage.into()),
        };
        let mut runs: Vec<Run> = Vec::new();
        for source in 0..blank.sources() {
            let Some(active) = self.active_before(n, source) else { continue };
            let from = self.restart(n, source).map_or(0, |restart| restart.from);
            let to = self.begin(active + 1).unwrap_or(begin);
            match runs.iter_mut().find(|run| run.from == from) {
                Some(run) => {
                    run.to = run.to.max(to);
                    run.sources.push(source);
                }
                None => runs.push(Run { from, to, sources: vec![source] }),
            }
        }
        runs.sort_by_key(|run| run.from);
        let state = match self.link(&blank, n).flatten() {
            Some(link) => {
                place(session, &blank, begin, Some(link));
                let mut state = session.state().clone();
                self.decode_frames(session, &blank, buffer, runs, &mut state, listener)?;
                state
            }
            None => self.decode_messages(session, &blank, buffer, runs, begin, listener)?,
        };
        session.only(|_| true);
        start(state)
    }

    /// Reads the summaries that [`seek`](Self::seek) needs to go to segment `n`: if some are damaged,
    /// [`damage`](Self::damage) is there before anything is decoded.
    pub fn prepare(&self, n: usize) {
        for source in 0..self.sources().len() {
            let from = self.restart(n, source).and_then(|restart| self.with_byte(restart.from));
            let active = self.active_before(n, source);
            for segment in [Some(n), from, active].into_iter().flatten() {
                self.segment(segment);
            }
        }
    }

    /// Decodes each source from its restart on, with the link in its actual state, and copies their
    /// states to `state`. Bytes between two runs are decoded once, and only for the sources that
    /// have begun.
    fn decode_frames(
        &self,
        session: &mut Session,
        blank: &Checkpoint,
        buffer: &Buffer,
        runs: Vec<Run>,
        state: &mut Checkpoint,
        listener: &mut dyn Listener,
    ) -> io::Result<()> {
        let mut runs = runs.into_iter().peekable();
        while let Some(Run { from, mut to, mut sources }) = runs.next() {
            self.begin_at(session, blank, buffer, from)?;
            session.only(|n| sources.contains(&n));
            while let Some(run) = runs.next_if(|run| run.from <= to) {
                feed(session, buffer, run.from, listener)?;
                let mut reached = session.state().clone();
                run.sources.iter().for_each(|source| reached.adopt(*source, blank));
                session.resume(reached);
                sources.extend(run.sources);
                session.only(|n| sources.contains(&n));
                to = to.max(run.to);
            }
            feed(session, buffer, to, listener)?;
            sources.iter().for_each(|source| state.adopt(*source, session.state()));
        }
        Ok(())
    }

    /// Decodes each source from its restart to offset `end`, with the link in its initial state
    /// there. The state of the link is that of the session that began last.
    fn decode_messages(
        &self,
        session: &mut Session,
        blank: &Checkpoint,
        buffer: &Buffer,
        mut runs: Vec<Run>,
        end: u64,
        listener: &mut dyn Listener,
    ) -> io::Result<Checkpoint> {
        if runs.is_empty() {
            runs.push(Run { from: 0, to: end, sources: Vec::new() });
        }
        let mut state = blank.clone();
        let mut reached: Vec<(usize, Checkpoint)> = Vec::new();
        for Run { from, sources, .. } in runs {
            self.begin_at(session, blank, buffer, from)?;
            session.only(|n| sources.contains(&n));
            feed(session, buffer, end, listener)?;
            state = session.state().clone();
            reached.extend(sources.into_iter().map(|source| (source, state.clone())));
        }
        for (source, reached) in reached {
            state.adopt(source, &reached);
        }
        Ok(state)
    }

    /// Puts `session` into its initial state at offset `at`, with the link in its actual state.
    fn begin_at(
        &self,
        session: &mut Session,
        blank: &Checkpoint,
        buffer: &Buffer,
        at: u64,
    ) -> io::Result<()> {
        let link = match self.with_byte(at) {
            Some(n) if at > 0 => {
                let mut link = self.link(blank, n).flatten();
                let begin = self.begin(n).unwrap_or(at);
                if let Some(link) = &mut link {
                    follow(link, buffer, begin, at)?;
                }
                link
            }
            _ => None,
        };
        if at == 0 {
            session.resume(blank.clone());
        } else {
            place(session, blank, at, link);
        }
        Ok(())
    }

    /// The state of the link at the beginning of segment `n`: `Some(None)` for a link whose state
    /// is found from the bytes. `None` where the index does not have it.
    fn link(&self, blank: &Checkpoint, n: usize) -> Option<Option<Route>> {
        let Route::Frames(initial) = blank.link() else { return Some(None) };
        if n == 0 {
            return Some(Some(blank.link().clone()));
        }
        // The state after the last segment is not known.
        let segment = self.segment(n)?;
        let state = segment.link.as_ref()?;
        Some(Some(Route::Frames(Splitter::restore(initial.link(), state)?)))
    }
}

/// Decodes the bytes up to offset `to`.
fn feed(
    session: &mut Session,
    buffer: &Buffer,
    to: u64,
    listener: &mut dyn Listener,
) -> io::Result<()> {
    let mut at = session.state().at();
    let mut space = vec![0; STEP];
    let mut reader = from(buffer, at);
    while at < to {
        let most = usize::try_from(to - at).unwrap_or(usize::MAX).min(space.len());
        let bytes = fill(&mut *reader, space.get_mut(..most).unwrap_or_default())?;
        if bytes.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        session.feed(bytes, listener);
        at = session.state().at();
    }
    Ok(())
}

/// Follows the link from offset `at` to offset `to`.
fn follow(link: &mut Route, buffer: &Buffer, at: u64, to: u64) -> io::Result<()> {
    let (mut reader, mut at) = (from(buffer, at), at);
    let mut space = vec![0; 1 << 16];
    while at < to {
        let most = usize::try_from(to - at).unwrap_or(usize::MAX).min(space.len());
        let bytes = fill(&mut *reader, space.get_mut(..most).unwrap_or_default())?;
        if bytes.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        link.skip(at, bytes);
        at += bytes.len() as u64;
    }
    Ok(())
}

impl IndexedBuffer {
    /// The actual state at the end of the last segment.
    pub(crate) fn end(&self, session: &mut Session, buffer: &Buffer) -> io::Result<Checkpoint> {
        let last = self.len().saturating_sub(1);
        let start = self.seek(session, buffer, last, &mut Nothing)?;
        session.resume(start.state);
        feed(session, buffer, self.covered(), &mut Nothing)?;
        Ok(session.state().clone())
    }
}
