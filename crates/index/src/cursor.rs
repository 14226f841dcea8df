//! Goes through the matches of conditions, in both directions.

use std::ops::Range;

use crate::error::FindError;
use crate::find::Finder;
use crate::found::Found;
use crate::query::{Condition, Which};

/// The most matches in memory.
const PAGE: usize = 1 << 14;

/// A position between two elements, from which the next and the previous match of conditions are
/// found: the next and the previous element, entry of a function, data access.
///
/// Matches around the position are in memory. A segment is decoded where they end.
pub struct Cursor<'a> {
    finder: Finder<'a>,
    conditions: Vec<Condition>,
    /// All matches with numbers in `covered`, in order.
    page: Vec<Found>,
    covered: Range<u64>,
    /// The number of matches of the page before the cursor.
    before: usize,
    most: usize,
}

impl<'a> Cursor<'a> {
    /// A cursor before the element with this number, which visits the elements that match
    /// `conditions`.
    pub fn new(finder: Finder<'a>, conditions: Vec<Condition>, number: u64) -> Cursor<'a> {
        Cursor {
            finder,
            conditions,
            page: Vec::new(),
            covered: number..number,
            before: 0,
            most: PAGE,
        }
    }

    /// Goes to the place before the element with this number.
    pub fn go(&mut self, number: u64) {
        if self.covered.contains(&number) {
            self.before = self.page.partition_point(|found| found.number < number);
        } else {
            self.page.clear();
            (self.covered, self.before) = (number..number, 0);
        }
    }

    /// The next match. The cursor is after it. `None` at the end of the trace.
    ///
    /// # Errors
    /// [`FindError`].
    #[allow(clippy::should_implement_trait, reason = "it fails, and goes both ways")]
    pub fn next(&mut self) -> Result<Option<Found>, FindError> {
        if self.before == self.page.len() && self.covered.end < u64::MAX {
            let from = self.covered.end;
            let domain = from..u64::MAX;
            self.page = self.finder.page(Which::All, &self.conditions, domain, self.most)?;
            let end = match self.page.last() {
                Some(last) if self.page.len() == self.most => last.number.saturating_add(1),
                _ => u64::MAX,
            };
            (self.covered, self.before) = (from..end, 0);
        }
        let found = self.page.get(self.before).copied();
        self.before += usize::from(found.is_some());
        Ok(found)
    }

    /// The match before. The cursor is before it. `None` at the beginning of the trace.
    ///
    /// # Errors
    /// [`FindError`].
    pub fn previous(&mut self) -> Result<Option<Found>, FindError> {
        if self.before == 0 && self.covered.start > 0 {
            let to = self.covered.start;
            self.page = self.finder.page(Which::Last, &self.conditions, 0..to, self.most)?;
            let start = self.page.first().map_or(0, |first| first.number);
            (self.covered, self.before) = (start..to, self.page.len());
        }
        let Some(before) = self.before.checked_sub(1) else { return Ok(None) };
        self.before = before;
        Ok(self.page.get(before).copied())
    }

    /// With at most this many matches in memory.
    #[cfg(test)]
    pub(crate) fn with_page(mut self, most: usize) -> Self {
        self.most = most;
        self
    }
}
