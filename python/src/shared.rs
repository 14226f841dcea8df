//! What the objects of a trace share.

use std::sync::{Arc, Mutex, PoisonError};

use tracewright::Trace;
use tracewright::index::Index;

/// A trace, and the index that is used.
pub(crate) struct Shared {
    pub(crate) trace: Trace,
    index: Mutex<Option<Arc<Index>>>,
}

impl Shared {
    pub(crate) fn new(trace: Trace) -> Shared {
        Shared { trace, index: Mutex::new(None) }
    }

    /// The index that is used, if any.
    pub(crate) fn index(&self) -> Option<Arc<Index>> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn use_index(&self, index: Arc<Index>) {
        *self.index.lock().unwrap_or_else(PoisonError::into_inner) = Some(index);
    }
}
