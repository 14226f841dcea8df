//! The outermost function of a thread.

use crate::code::FunctionId;

/// The outermost function of a thread.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outermost {
    /// The function that the thread began with.
    first: Option<FunctionId>,
    /// The frames beneath it, the function, and whether others are as far out.
    found: Option<(i32, FunctionId, bool)>,
}

impl Outermost {
    /// Whether a frame with `depth` frames beneath it may be the outermost one.
    #[inline]
    pub(crate) fn is_as_deep(&self, depth: i32) -> bool {
        self.found.is_none_or(|(least, ..)| depth <= least)
    }

    /// A frame with `depth` frames beneath it.
    pub(crate) fn add(&mut self, depth: i32, function: FunctionId) {
        match &mut self.found {
            Some((least, known, several)) if *least == depth => *several |= *known != function,
            Some((least, ..)) if *least < depth => {}
            found => *found = Some((depth, function, false)),
        }
    }

    /// The thread begins with a function.
    pub(crate) fn enter(&mut self, function: FunctionId) {
        self.first = self.first.or(Some(function));
    }

    /// The function: the one that the thread began with, which tail calls may have replaced. Not
    /// known where there are several, or where it has no symbol.
    pub(crate) fn function(self) -> Option<FunctionId> {
        if let Some(function @ FunctionId::Known(_)) = self.first {
            return Some(function);
        }
        let (_, function, several) = self.found?;
        matches!((function, several), (FunctionId::Known(_), false)).then_some(function)
    }
}
