//! What the objects of a trace share.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tracewright::Trace;
use tracewright::decode::{Counts, Tally};
use tracewright::index::Index;

/// A trace, and the index that is used.
pub(crate) struct Shared {
    pub(crate) trace: Trace,
    index: Mutex<Option<Arc<Index>>>,
    /// Bytes of sources that were decoded.
    decoded: AtomicU64,
}

impl Shared {
    pub(crate) fn new(trace: Trace) -> Shared {
        Shared { trace, index: Mutex::new(None), decoded: AtomicU64::new(0) }
    }

    /// The index that is used, if any.
    pub(crate) fn index(&self) -> Option<Arc<Index>> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn use_index(&self, index: Arc<Index>) {
        *self.index.lock().unwrap_or_else(PoisonError::into_inner) = Some(index);
    }

    /// Bytes of sources that were decoded for tables and elements.
    pub(crate) fn decoded(&self) -> u64 {
        self.decoded.load(Ordering::Relaxed)
    }

    /// Adds what was decoded.
    pub(crate) fn add(&self, tally: &Tally) {
        let bytes = tally.sources.iter().map(Counts::bytes).sum();
        self.decoded.fetch_add(bytes, Ordering::Relaxed);
    }
}
