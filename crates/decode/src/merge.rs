//! Results of chunks that were decoded separately.

/// The results of one chunk of a trace, to be merged with those of the chunk after it.
///
/// The default is the result of an empty chunk. `a.merge(b)`, where the chunk of `b` follows that
/// of `a`, equals the results of both chunks decoded as one. So `merge` is associative, and the
/// default is its neutral element.
pub trait Merge: Default + 'static {
    /// Adds the results of the chunk that follows.
    fn merge(&mut self, later: Self);
}

/// Merges both.
impl<A: Merge, B: Merge> Merge for (A, B) {
    fn merge(&mut self, later: Self) {
        self.0.merge(later.0);
        self.1.merge(later.1);
    }
}

/// `None` is the result of an empty chunk.
impl<A: Merge> Merge for Option<A> {
    fn merge(&mut self, later: Self) {
        match (self, later) {
            (Some(own), Some(later)) => own.merge(later),
            (own @ None, later) => *own = later,
            (Some(_), None) => {}
        }
    }
}
