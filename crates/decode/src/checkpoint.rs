//! Where a session is.

use crate::Route;
use crate::source::Source;

/// Where a [`Session`](crate::Session) is in its buffer: the state of the link and of every source.
/// A plain value: a session that [`resume`](crate::Session::resume)s from it goes on exactly as the
/// one that it was taken from.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    pub(crate) route: Route,
    pub(crate) sources: Vec<Source>,
    /// The source that spoke last.
    pub(crate) current: Option<usize>,
    /// Bytes fed so far.
    pub(crate) fed: u64,
    /// Unframed bytes that make no whole packet yet.
    pub(crate) rest: Vec<u8>,
}

impl Checkpoint {
    /// The place of the next byte of the buffer.
    pub fn at(&self) -> u64 {
        self.fed
    }

    /// How many sources there are.
    pub fn sources(&self) -> usize {
        self.sources.len()
    }

    /// Bytes that source `n` has had so far.
    pub fn received(&self, n: usize) -> u64 {
        self.sources.get(n).map_or(0, |source| source.received)
    }

    /// Whether the links go on in the same way.
    pub fn same_link(&self, other: &Checkpoint) -> bool {
        self.fed == other.fed && self.current == other.current && self.route == other.route
    }

    /// Whether source `n` will say the same of the same bytes to come.
    pub fn same_source(&self, n: usize, other: &Checkpoint) -> bool {
        // Without framing there is one source, and what waits is its own.
        (n > 0 || self.rest == other.rest)
            && match (self.sources.get(n), other.sources.get(n)) {
                (Some(one), Some(other)) => one.agrees(other),
                _ => false,
            }
    }

    /// Takes source `n` as it is in `other`.
    pub fn adopt(&mut self, n: usize, other: &Checkpoint) {
        if let (Some(mine), Some(its)) = (self.sources.get_mut(n), other.sources.get(n)) {
            mine.clone_from(its);
        }
        if n == 0 {
            self.rest.clone_from(&other.rest);
        }
    }
}
