//! The state of a session.

use crate::route::Route;
use crate::source::Source;

/// The state of a [`Session`](crate::Session) at an offset of its buffer: the state of the trace
/// link and of every source. It is a plain value. A session that
/// [`resume`](crate::Session::resume)s from a checkpoint emits the same as the session that the
/// checkpoint was taken of.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    pub(crate) route: Route,
    pub(crate) sources: Vec<Source>,
    /// The source whose block the current call of `Session::feed` fills; `None` between calls.
    pub(crate) current: Option<usize>,
    /// Bytes fed so far.
    pub(crate) fed: u64,
    /// Bytes of a buffer without framing that make no whole packet yet.
    pub(crate) rest: Vec<u8>,
}

impl Checkpoint {
    /// The offset of the next byte of the buffer.
    pub fn at(&self) -> u64 {
        self.fed
    }

    /// The number of sources.
    pub fn sources(&self) -> usize {
        self.sources.len()
    }

    /// A number that is greater after all that changes the state of source `n`: its bytes, and the
    /// events of the link that concern each source.
    pub fn activity(&self, n: usize) -> u64 {
        self.sources.get(n).map_or(0, Source::activity)
    }

    /// The state of the trace link.
    pub fn link(&self) -> &Route {
        &self.route
    }

    /// Whether the trace links are in the same state.
    pub fn same_link(&self, other: &Checkpoint) -> bool {
        self.fed == other.fed && self.current == other.current && self.route == other.route
    }

    /// Whether source `n` emits the same for the same bytes from here on.
    pub fn same_source(&self, n: usize, other: &Checkpoint) -> bool {
        // Without framing there is one source, and `rest` belongs to it.
        (n > 0 || self.rest == other.rest)
            && match (self.sources.get(n), other.sources.get(n)) {
                (Some(one), Some(other)) => one.agrees(other),
                _ => false,
            }
    }

    /// Copies the state of source `n` from `other`.
    pub fn adopt(&mut self, n: usize, other: &Checkpoint) {
        if let (Some(mine), Some(its)) = (self.sources.get_mut(n), other.sources.get(n)) {
            mine.clone_from(its);
        }
        if n == 0 {
            self.rest.clone_from(&other.rest);
        }
    }
}
