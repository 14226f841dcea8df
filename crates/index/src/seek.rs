//! From an index to the state of a session.

use std::io;

use tracewright_capture::Buffer;
use tracewright_decode::{Checkpoint, Route, Session};
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

/// Bytes that are decoded at a time.
const STEP: usize = 1 << 12;

impl IndexedBuffer {
    /// The actual state at the beginning of segment `n`, or of the last segment before it at which
    /// the state can be found. `session` is in its initial state at the beginning of `buffer`; its
    /// state is left undefined.
    ///
    /// Each source is decoded from its last verified restart to the end of its last bytes before
    /// the segment. The elements are ignored.
    ///
    /// # Errors
    /// Where the buffer cannot be read, or summaries of segments are
    /// [damaged](IndexedBuffer::damage).
    pub fn seek(&self, session: &mut Session, buffer: &Buffer, n: usize) -> io::Result<Start> {
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
        // By offset where decoding begins: the sources, and where their decoding ends.
        let mut groups: Vec<(u64, u64, Vec<usize>)> = Vec::new();
        for source in 0..blank.sources() {
            let Some(active) = self.active_before(n, source) else { continue };
            let from = self.restart(n, source).map_or(0, |restart| restart.from);
            let to = self.begin(active + 1).unwrap_or(begin);
            match groups.iter_mut().find(|group| group.0 == from) {
                Some(group) => {
                    group.1 = group.1.max(to);
                    group.2.push(source);
                }
                None => groups.push((from, to, vec![source])),
            }
        }
        let known = self.link(&blank, n).flatten();
        let messages = known.is_none();
        // The state of messages is that of the session that began last.
        groups.sort_by_key(|group| group.0);
        let mut state = match &known {
            Some(link) => {
                place(session, &blank, begin, Some(link.clone()));
                session.state().clone()
            }
            None => blank.clone(),
        };
        if messages && groups.is_empty() {
            groups.push((0, begin, Vec::new()));
        }
        let mut sources: Vec<(usize, Checkpoint)> = Vec::new();
        for (at, to, members) in groups {
            let to = if messages { begin } else { to };
            self.decode(session, &blank, buffer, at, to)?;
            let reached = session.state();
            sources.extend(members.into_iter().map(|source| (source, reached.clone())));
            if messages {
                state = reached.clone();
            }
        }
        for (source, reached) in sources {
            state.adopt(source, &reached);
        }
        start(state)
    }

    /// Decodes the bytes from `at` to `to`, from the initial state.
    fn decode(
        &self,
        session: &mut Session,
        blank: &Checkpoint,
        buffer: &Buffer,
        at: u64,
        to: u64,
    ) -> io::Result<()> {
        let mut space = vec![0; STEP];
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
        let mut reader = from(buffer, at);
        while session.state().at() < to {
            let left = usize::try_from(to - session.state().at()).unwrap_or(usize::MAX);
            let most = left.min(space.len());
            let bytes = fill(&mut *reader, space.get_mut(..most).unwrap_or_default())?;
            if bytes.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            session.feed(bytes, &mut Nothing);
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
        let state = self.segment(n)?.link.as_ref()?;
        Some(Some(Route::Frames(Splitter::restore(initial.link(), state)?)))
    }
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
        let start = self.seek(session, buffer, last)?;
        session.resume(start.state);
        let mut reader = from(buffer, session.state().at());
        let mut space = vec![0; STEP];
        while session.state().at() < self.covered() {
            let left = self.covered() - session.state().at();
            let most = usize::try_from(left).unwrap_or(usize::MAX).min(space.len());
            let bytes = fill(&mut *reader, space.get_mut(..most).unwrap_or_default())?;
            if bytes.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            session.feed(bytes, &mut Nothing);
        }
        Ok(session.state().clone())
    }
}
