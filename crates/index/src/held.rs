//! The summaries of segments that are in memory: those of the batches that were read last.

use std::collections::VecDeque;
use std::ops::{Deref, Range};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::segment::Segment;

/// The summaries that are held. Those of a segment take about 1,300 bytes.
const HELD: usize = 1 << 13;

/// A segment of an index.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) begin: u64,
    pub(crate) segment: Segment,
    /// The number of the segment that has its lines and functions.
    pub(crate) details_of: usize,
    /// Where its keys, lines and records are in their sections.
    pub(crate) details: [Range<usize>; 3],
    /// The number of elements before it.
    pub(crate) elements: u64,
}

/// The segments of a batch.
pub(crate) type Entries = Arc<[Entry]>;

/// The segments of the batches that were needed last, the least recent ones first.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    held: Mutex<VecDeque<Entries>>,
}

impl Recent {
    /// Holds `entries`, and gives up those that were not needed for the longest time.
    fn hold(&self, entries: &Entries) {
        let mut held = locked(&self.held);
        match held.iter().rposition(|own| Arc::ptr_eq(own, entries)) {
            Some(at) if at + 1 == held.len() => return,
            Some(at) => drop(held.remove(at)),
            None => {}
        }
        held.push_back(Arc::clone(entries));
        let mut all = held.iter().map(|own| own.len()).sum::<usize>();
        while all > HELD && held.len() > 1 {
            all -= held.pop_front().map_or(0, |least| least.len());
        }
    }
}

/// The segments of one batch, where they are in memory.
#[derive(Clone, Debug)]
pub(crate) struct Cached {
    recent: Arc<Recent>,
    own: Arc<Own>,
}

#[derive(Debug, Default)]
struct Own {
    entries: Mutex<Option<Weak<[Entry]>>>,
    damaged: AtomicBool,
}

impl Cached {
    pub(crate) fn new(recent: Arc<Recent>) -> Cached {
        Cached { recent, own: Arc::default() }
    }

    /// The segments, by `read` where they are not in memory. `None` of it: they are damaged.
    pub(crate) fn or_read(&self, read: impl FnOnce() -> Option<Vec<Entry>>) -> Entries {
        let mut own = locked(&self.own.entries);
        let entries = own.as_ref().and_then(Weak::upgrade).unwrap_or_else(|| {
            let entries = read();
            self.own.damaged.fetch_or(entries.is_none(), Ordering::Relaxed);
            let entries = Entries::from(entries.unwrap_or_default());
            *own = Some(Arc::downgrade(&entries));
            entries
        });
        self.recent.hold(&entries);
        entries
    }

    /// Whether the segments were found to be damaged.
    pub(crate) fn is_damaged(&self) -> bool {
        self.own.damaged.load(Ordering::Relaxed)
    }
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A segment, which stays in memory as long as this value exists.
#[derive(Debug)]
pub(crate) struct EntryRef {
    entries: Entries,
    at: usize,
}

impl EntryRef {
    /// Segment `at` of a batch.
    pub(crate) fn new(entries: Entries, at: usize) -> Option<EntryRef> {
        (at < entries.len()).then_some(EntryRef { entries, at })
    }
}

impl Deref for EntryRef {
    type Target = Entry;

    fn deref(&self) -> &Entry {
        &self.entries[self.at]
    }
}

/// The summary of a segment, which stays in memory as long as this value exists.
#[derive(Debug)]
pub struct Summary(pub(crate) EntryRef);

impl Deref for Summary {
    type Target = Segment;

    fn deref(&self) -> &Segment {
        &self.0.segment
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(count: usize) -> Vec<Entry> {
        let entry = Entry {
            begin: 0,
            segment: Segment::default(),
            details_of: 0,
            details: [0..0, 0..0, 0..0],
            elements: 0,
        };
        vec![entry; count]
    }

    #[test]
    fn what_was_not_needed_for_long_is_read_again() {
        let recent = Arc::new(Recent::default());
        let batches = [(); 5].map(|()| Cached::new(Arc::clone(&recent)));
        let mut reads = [0; 5];
        let mut need = |n: usize| {
            batches[n].or_read(|| {
                reads[n] += 1;
                Some(entries(HELD / 4))
            });
        };
        // Four of them are held. The first one is needed again, so that the second one goes.
        [0, 1, 2, 3, 0, 4, 0, 1].into_iter().for_each(&mut need);
        assert_eq!(reads, [1, 2, 1, 1, 1]);
        assert_eq!(locked(&recent.held).len(), 4);
    }

    /// What is longer than the bound is held until the next one, and by who uses it.
    #[test]
    fn long_batches() {
        let recent = Arc::new(Recent::default());
        let [one, other] = [(); 2].map(|()| Cached::new(Arc::clone(&recent)));
        let first = one.or_read(|| Some(entries(HELD + 1)));
        assert_eq!(one.or_read(|| None).len(), HELD + 1);
        other.or_read(|| Some(entries(1)));
        assert_eq!(locked(&recent.held).len(), 1);
        assert_eq!(one.or_read(|| None).len(), first.len());
        drop(first);
        other.or_read(|| Some(entries(1)));
        assert!(!one.is_damaged());
    }

    #[test]
    fn damage_is_remembered() {
        let batch = Cached::new(Arc::default());
        assert!(batch.or_read(|| None).is_empty());
        assert!(batch.or_read(|| Some(entries(1))).is_empty() && batch.is_damaged());
    }
}
