//! The segments of one batch of an index.

use std::ops::Range;
use std::sync::Arc;

use tracewright_capture::Bytes;

use crate::bytes::{Reader, part};
use crate::error::IndexError;
use crate::format::{Batch, Section};
use crate::held::{Cached, Entries, Entry, EntryRef, Recent};
use crate::position::Position;
use crate::segment::Segment;
use crate::totals::Totals;

/// What is known of the segments of a batch together. The segments are read when one of them is
/// needed: a large trace has many, and a question concerns few.
#[derive(Clone, Debug)]
pub(crate) struct BatchSummary {
    /// The number of the first segment.
    pub(crate) first: usize,
    /// The number of segments.
    pub(crate) count: usize,
    /// The offset of the first segment, and the end of the last one.
    pub(crate) begin: u64,
    pub(crate) end: u64,
    /// What is known at the beginning, and at the end.
    pub(crate) before: Position,
    pub(crate) after: Position,
    pub(crate) totals: Totals,
    /// The batch in the file, its offset and its bytes.
    pub(crate) batch: Batch,
    pub(crate) at: u64,
    bytes: Bytes,
    entries: Cached,
}

/// A summary that is being read.
struct Parse<'a> {
    from: Reader<'a>,
    begin: u64,
    number: usize,
    /// The bytes of keys, lines and records so far.
    taken: [usize; 3],
    group: usize,
    following: u64,
}

impl<'a> Parse<'a> {
    fn new(bytes: &'a [u8], first: usize, begin: u64) -> Parse<'a> {
        let from = Reader(bytes);
        Parse { from, begin, number: first, taken: [0; 3], group: 0, following: 0 }
    }

    /// Reads the next segment to `segment`, and returns where its keys, lines and records are.
    fn next(&mut self, segment: &mut Segment) -> Option<[Range<usize>; 3]> {
        let lengths = segment.read_summary(self.begin, &mut self.from)?;
        if self.following == 0 {
            (self.group, self.following) = (self.number, segment.following);
        } else if segment.following == 0 {
            self.following -= 1;
        } else {
            return None;
        }
        let mut details = [0..0, 0..0, 0..0];
        for ((range, taken), length) in details.iter_mut().zip(&mut self.taken).zip(lengths) {
            let end = taken.checked_add(length)?;
            *range = *taken..end;
            *taken = end;
        }
        self.begin = self.begin.checked_add(segment.len)?;
        self.number += 1;
        Some(details)
    }
}

impl BatchSummary {
    /// The batch at offset `at` of the file `bytes`, which begins with segment `first` at offset
    /// `begin` of the buffer. `before`: what is known there. `None` where `totals` are not its
    /// totals, or it is longer than its bytes.
    pub(crate) fn new(
        batch: Batch,
        (at, bytes, recent): (u64, &Bytes, Arc<Recent>),
        totals: &[u8],
        (first, begin): (usize, u64),
        before: Position,
    ) -> Option<BatchSummary> {
        let count = batch.count;
        let Range { start, end } = batch.section(Section::Summary);
        // Each segment has a summary.
        if count as u64 > end - start {
            return None;
        }
        first.checked_add(count)?;
        let totals = Totals::read(begin, before.times.len(), count, totals)?;
        let mut after = before.clone();
        after.pass(&totals.joined);
        Some(BatchSummary {
            first,
            count,
            begin,
            end: begin.checked_add(totals.joined.len)?,
            before,
            after,
            totals,
            bytes: bytes.part(at, batch.len()),
            batch,
            at,
            entries: Cached::new(recent),
        })
    }

    /// The segments. None where their summaries are damaged: then
    /// [`is_damaged`](BatchSummary::is_damaged) holds.
    pub(crate) fn entries(&self) -> Entries {
        self.entries.or_read(|| self.read())
    }

    /// Whether summaries were found to be damaged when they were read.
    pub(crate) fn is_damaged(&self) -> bool {
        self.entries.is_damaged()
    }

    /// Where it is damaged.
    pub(crate) fn damage(&self) -> IndexError {
        IndexError::Damaged { at: self.at + self.batch.section(Section::Summary).start }
    }

    /// Reads the summaries. `None` where they are damaged, or not those of the totals.
    fn read(&self) -> Option<Vec<Entry>> {
        let bytes = part(&self.bytes, self.batch.section(Section::Summary))?;
        if !self.batch.checks(Section::Summary, &bytes) {
            return None;
        }
        let mut parse = Parse::new(&bytes, self.first, self.begin);
        let mut elements = self.before.elements;
        let mut entries = Vec::with_capacity(self.count);
        for _ in 0..self.count {
            let (begin, mut segment) = (parse.begin, Segment::default());
            let details = parse.next(&mut segment)?;
            let own = segment.elements();
            entries.push(Entry { begin, segment, details_of: parse.group, details, elements });
            elements = elements.saturating_add(own);
        }
        let lengths = [Section::Keys, Section::Lines, Section::Records].map(|section| {
            let Range { start, end } = self.batch.section(section);
            end - start
        });
        let whole = parse.from.0.is_empty()
            && parse.following == 0
            && parse.taken.map(|taken| taken as u64) == lengths
            && Totals::of(entries.iter().map(|entry| &entry.segment)) == self.totals;
        whole.then_some(entries)
    }

    /// Segment `n` of the buffer, if it is in the batch.
    pub(crate) fn entry(&self, n: usize) -> Option<EntryRef> {
        EntryRef::new(self.entries(), n.checked_sub(self.first)?)
    }

    /// The numbers of the segments for which `touches` holds, in order. See
    /// `IndexedBuffer::touched`.
    pub(crate) fn touched(
        &self,
        touches: impl Fn(u64, &Segment, &Position, &Position) -> bool,
    ) -> Vec<usize> {
        let mut touched = Vec::new();
        if !touches(self.end, &self.totals.joined, &self.before, &self.after) {
            return touched;
        }
        let (mut before, mut after) = (self.before.clone(), self.before.clone());
        for (n, Entry { begin, segment, .. }) in (self.first..).zip(&*self.entries()) {
            after.pass(segment);
            if touches(begin.saturating_add(segment.len), segment, &before, &after) {
                touched.push(n);
            }
            before.pass(segment);
        }
        touched
    }
}

impl Segment {
    /// The number of elements.
    pub(crate) fn elements(&self) -> u64 {
        self.streams.iter().fold(0, |sum, stream| sum.saturating_add(stream.elements))
    }
}
