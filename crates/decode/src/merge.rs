//! Findings of stretches that were decoded apart.

/// What was found in one stretch of a trace, to be joined with what was found in the stretch after
/// it.
///
/// The default has seen nothing. `a.merge(b)`, where `b` saw what comes right after what `a` saw,
/// is equal to one that saw both. So `merge` is associative, and the default changes nothing on
/// either side.
pub trait Merge: Default {
    /// Takes over what `later` saw.
    fn merge(&mut self, later: Self);
}

/// Both get everything.
impl<A: Merge, B: Merge> Merge for (A, B) {
    fn merge(&mut self, later: Self) {
        self.0.merge(later.0);
        self.1.merge(later.1);
    }
}

/// None has seen nothing.
impl<A: Merge> Merge for Option<A> {
    fn merge(&mut self, later: Self) {
        match (self, later) {
            (Some(own), Some(later)) => own.merge(later),
            (own @ None, later) => *own = later,
            (Some(_), None) => {}
        }
    }
}
