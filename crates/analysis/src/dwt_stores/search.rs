//! Handlers by the times at which they may have begun and ended.
//!
//! A tree of bounds: those of a node enclose those of its children, so that a search leaves out
//! what is too early or too late as a whole. Handlers in order of time make it logarithmic.

use super::Bounds;

/// The most ticks by which the clocks of the two traces may differ, as they read one clock in
/// different places, and report the begin of a handler at different steps of its entry.
const MARGIN: u64 = 64;

/// Children of a node.
const WIDTH: usize = 8;

/// The most nodes that a search looks at. Where times are in no order, more would be needed; then
/// several handlers count as found.
pub(super) const MAX_VISITED: usize = 1 << 10;

/// The first and the last time of an event, which are 0 and `u64::MAX` where they are not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extent {
    from: u64,
    to: u64,
}

impl Extent {
    const fn overlaps(self, other: Extent) -> bool {
        self.to.saturating_add(MARGIN) >= other.from && other.to.saturating_add(MARGIN) >= self.from
    }

    fn enclose(&mut self, other: Extent) {
        self.from = self.from.min(other.from);
        self.to = self.to.max(other.to);
    }
}

impl From<Bounds> for Extent {
    fn from(bounds: Bounds) -> Extent {
        Extent { from: bounds.from.unwrap_or(0), to: bounds.to.unwrap_or(u64::MAX) }
    }
}

/// When a handler begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Times {
    begin: Extent,
    end: Extent,
}

impl Times {
    pub(super) fn new(begin: Bounds, end: Bounds) -> Times {
        Times { begin: begin.into(), end: end.into() }
    }

    /// One event, of which the begin and the end are the same.
    pub(super) fn once(at: Bounds) -> Times {
        Times::new(at, Bounds::default())
    }

    /// Whether those of a handler in one trace may be those of a handler in the other one.
    pub(super) const fn may_be(self, other: Times) -> bool {
        self.begin.overlaps(other.begin) && self.end.overlaps(other.end)
    }

    fn enclose(&mut self, other: Times) {
        self.begin.enclose(other.begin);
        self.end.enclose(other.end);
    }
}

/// What a search has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// No handler.
    Nothing,
    /// The only one, by its index.
    Only(usize),
    Several,
}

/// The times of many handlers.
#[derive(Debug)]
pub(super) struct Search {
    /// Those of the handlers, then those of [`WIDTH`] of the level before each, up to one.
    levels: Vec<Vec<Times>>,
}

impl Search {
    pub(super) fn new(handlers: Vec<Times>) -> Search {
        let mut levels = vec![handlers];
        while let Some(last) = levels.last().filter(|last| last.len() > 1) {
            let enclosing = last.chunks(WIDTH).filter_map(|children| {
                let (first, others) = children.split_first()?;
                let mut all = *first;
                others.iter().for_each(|child| all.enclose(*child));
                Some(all)
            });
            let next = enclosing.collect();
            levels.push(next);
        }
        Search { levels }
    }

    /// The handlers that may have these times.
    pub(super) fn find(&self, times: Times) -> Found {
        let (mut found, mut visited) = (Found::Nothing, 0);
        self.visit(self.levels.len().saturating_sub(1), 0, times, &mut found, &mut visited);
        found
    }

    /// Searches from the `first` of a node's children on.
    fn visit(
        &self,
        level: usize,
        first: usize,
        times: Times,
        found: &mut Found,
        visited: &mut usize,
    ) {
        let children = self.levels.get(level).and_then(|own| own.get(first..)).unwrap_or_default();
        for (child, own) in (first..).zip(children.iter().take(WIDTH)) {
            *visited += 1;
            if *visited > MAX_VISITED {
                *found = Found::Several;
            }
            if *found == Found::Several {
                return;
            }
            if !own.may_be(times) {
                continue;
            }
            match level.checked_sub(1) {
                Some(below) => self.visit(below, child * WIDTH, times, found, visited),
                None if *found == Found::Nothing => *found = Found::Only(child),
                None => *found = Found::Several,
            }
        }
    }
}
