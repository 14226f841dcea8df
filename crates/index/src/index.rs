//! An index that is read from a file.

use std::ops::Range;
use std::sync::Arc;

use tracewright_capture::Bytes;

use crate::batch_summary::BatchSummary;
use crate::bytes::{Reader, part, read};
use crate::error::IndexError;
use crate::format::{Batch, BufferHead, Head, IndexedSource, Section};
use crate::held::{Entry, EntryRef, Recent, Summary};
use crate::key::Key;
use crate::position::Position;
use crate::segment::{Restart, Segment, Stream, each_key, each_line};

/// An index. The totals of all batches are in memory; summaries, keys, lines and records are read
/// when they are needed, and the summaries that were needed last are held.
#[derive(Clone, Debug)]
pub struct Index {
    bytes: Bytes,
    head: Head,
    buffers: Vec<IndexedBuffer>,
    recent: Arc<Recent>,
    damage: Option<IndexError>,
    end: u64,
}

/// The segments of a buffer.
#[derive(Clone, Debug, Default)]
pub struct IndexedBuffer {
    pub(crate) head: BufferHead,
    batches: Vec<BatchSummary>,
    complete: bool,
}

impl Index {
    /// Reads an index. Where a part is damaged or incomplete, the index ends before it, and
    /// [`damage`](Index::damage) is the reason.
    ///
    /// # Errors
    /// [`IndexError`] where the bytes are not an index of this version.
    pub fn read(bytes: Bytes) -> Result<Index, IndexError> {
        let len = Head::length(&bytes.head(16))?;
        let head = part(&bytes, 0..len).ok_or(IndexError::Damaged { at: 16 })?;
        let head = Head::read(&head)?;
        let buffer = |head: &BufferHead| IndexedBuffer { head: head.clone(), ..Default::default() };
        let buffers = head.buffers.iter().map(buffer).collect();
        let recent = Arc::default();
        let mut index = Index { bytes, head, buffers, recent, damage: None, end: len };
        while index.end < index.bytes.len() as u64 {
            match index.batch(index.end) {
                Some(next) => index.end = next,
                None => {
                    index.damage = Some(IndexError::Damaged { at: index.end });
                    break;
                }
            }
        }
        Ok(index)
    }

    /// Adds the batch at `at`, and returns where it ends. `None` where its head or its totals are
    /// damaged, where it is incomplete, or does not follow the segments before it.
    fn batch(&mut self, at: u64) -> Option<u64> {
        // Most totals follow within these bytes.
        let ahead = read(&self.bytes.part(at, AHEAD))?;
        let head = self.head.batch_head();
        let batch = Batch::read(ahead.get(..head)?)?;
        let end = at.checked_add(batch.len())?;
        if end > self.bytes.len() as u64 {
            return None;
        }
        let Range { start, end: last } = batch.section(Section::Totals);
        let longer;
        let totals = match usize::try_from(last).ok().and_then(|n| ahead.get(head..n)) {
            Some(totals) => totals,
            None => {
                longer = part(&self.bytes, at + start..at + last)?;
                &longer
            }
        };
        if !batch.checks(Section::Totals, totals) {
            return None;
        }
        let buffer = self.buffers.get_mut(batch.buffer)?;
        let place = (buffer.len(), buffer.covered());
        let follows = batch.first == place.0 as u64 && batch.begin == place.1;
        if !follows || buffer.complete {
            return None;
        }
        let before = buffer.position(place.0);
        let complete = batch.last;
        let from = (at, &self.bytes, Arc::clone(&self.recent));
        let summary = BatchSummary::new(batch, from, totals, place, before)?;
        buffer.batches.push(summary);
        buffer.complete = complete;
        Some(end)
    }

    /// Why the index ends before the end of its file.
    pub fn damage(&self) -> Option<&IndexError> {
        self.damage.as_ref()
    }

    /// The number of bytes of the file that are used.
    pub fn used(&self) -> u64 {
        self.end
    }

    /// Whether the index has a record of each occurrence.
    pub fn is_full(&self) -> bool {
        self.head.full
    }

    /// Whether the index has a [view](crate::view).
    pub fn has_view(&self) -> bool {
        self.head.view.is_some()
    }

    /// Where the system of the program names tasks: a checksum of how it does so, for which the
    /// call stacks of the view were found. `None` without a view, and where no system is known.
    pub fn tasks(&self) -> Option<u64> {
        self.head.tasks
    }

    /// A section of a batch.
    pub(crate) fn section(
        &self,
        summary: &BatchSummary,
        section: Section,
    ) -> Result<Vec<u8>, IndexError> {
        let BatchSummary { batch, at, .. } = summary;
        let place = batch.section(section);
        let bytes = part(&self.bytes, at + place.start..at + place.end);
        let bytes = bytes.filter(|bytes| batch.checks(section, bytes));
        bytes.ok_or(IndexError::Damaged { at: at + place.start })
    }

    pub(crate) fn head(&self) -> &Head {
        &self.head
    }

    /// The segments of the buffer with this index in the capture.
    pub fn buffer(&self, number: usize) -> Option<&IndexedBuffer> {
        self.buffers.iter().find(|buffer| buffer.head.number == number)
    }

    /// All buffers.
    pub fn buffers(&self) -> &[IndexedBuffer] {
        &self.buffers
    }

    /// The bytes of each section of all batches, with its name.
    pub fn sizes(&self) -> [(&'static str, u64); 11] {
        let size = |section| {
            let batches = self.buffers.iter().flat_map(|buffer| &buffer.batches);
            let lengths = batches.map(|summary| {
                let range = summary.batch.section(section);
                range.end - range.start
            });
            lengths.sum()
        };
        [
            ("totals", size(Section::Totals)),
            ("summaries", size(Section::Summary)),
            ("keys", size(Section::Keys)),
            ("lines", size(Section::Lines)),
            ("records", size(Section::Records)),
            ("names", size(Section::Names)),
            ("tiles", size(Section::Tiles)),
            ("frames", size(Section::Frames)),
            ("sums", size(Section::Sums)),
            ("functions", size(Section::Functions)),
            ("stacks", size(Section::Stacks)),
        ]
    }

    /// Passes the keys of the segments `range` of `buffer` to `each`, with the number of the
    /// segment, the number of the source, and the count. Functions may be with those of
    /// [`IndexedBuffer::joined_in`].
    ///
    /// # Errors
    /// [`IndexError::Damaged`].
    pub fn keys(
        &self,
        buffer: &IndexedBuffer,
        range: Range<usize>,
        mut each: impl FnMut(usize, u16, Key, u64),
    ) -> Result<(), IndexError> {
        self.details(buffer, range, Section::Keys, |n, entry, mut from| {
            for stream in &entry.segment.streams {
                each_key(&mut from, |key, count| each(n, stream.source, key, count))?;
            }
            from.0.is_empty().then_some(())
        })
    }

    /// Passes the executed lines of the segments `range` of `buffer` to `each`: the number of the
    /// segment, the address of the first line divided by 64, and the number of lines. Those of a
    /// segment may be with those of [`IndexedBuffer::joined_in`].
    ///
    /// # Errors
    /// [`IndexError::Damaged`].
    pub fn lines(
        &self,
        buffer: &IndexedBuffer,
        range: Range<usize>,
        mut each: impl FnMut(usize, u64, u64),
    ) -> Result<(), IndexError> {
        self.details(buffer, range, Section::Lines, |n, entry, mut from| {
            for _ in &entry.segment.streams {
                each_line(&mut from, |line, count| each(n, line, count))?;
            }
            from.0.is_empty().then_some(())
        })
    }

    /// The segments `range` of `buffer` with their keys, lines and records.
    ///
    /// # Errors
    /// [`IndexError::Damaged`].
    pub fn segments(
        &self,
        buffer: &IndexedBuffer,
        range: Range<usize>,
    ) -> Result<Vec<Segment>, IndexError> {
        let entries = range.clone().filter_map(|n| buffer.entry(n));
        let mut segments: Vec<Segment> = entries.map(|entry| entry.segment.clone()).collect();
        type ReadDetails = fn(&mut Segment, &mut Reader<'_>) -> Option<()>;
        let sections: [(Section, ReadDetails); 3] = [
            (Section::Keys, Segment::read_keys),
            (Section::Lines, Segment::read_lines),
            (Section::Records, Segment::read_records),
        ];
        for (section, read) in sections {
            self.details(buffer, range.clone(), section, |n, _, mut from| {
                read(segments.get_mut(n - range.start)?, &mut from)
            })?;
        }
        Ok(segments)
    }

    /// Passes a section of each segment to `each`.
    fn details(
        &self,
        buffer: &IndexedBuffer,
        range: Range<usize>,
        section: Section,
        mut each: impl FnMut(usize, &Entry, Reader<'_>) -> Option<()>,
    ) -> Result<(), IndexError> {
        let which = section as usize - Section::Keys as usize;
        let from = buffer.batches.partition_point(|own| own.first + own.count <= range.start);
        let batches = buffer.batches.get(from..).unwrap_or_default();
        for summary in batches.iter().take_while(|own| own.first < range.end) {
            let BatchSummary { first, batch, at, .. } = summary;
            let place = batch.section(section);
            let damaged = || IndexError::Damaged { at: at + place.start };
            let bytes = self.section(summary, section)?;
            for (n, entry) in (*first..).zip(&*summary.entries()) {
                if !range.contains(&n) {
                    continue;
                }
                let own = entry.details.get(which).cloned().unwrap_or_default();
                let bytes = bytes.get(own).ok_or_else(damaged)?;
                each(n, entry, Reader(bytes)).ok_or_else(damaged)?;
            }
            if summary.is_damaged() {
                return Err(summary.damage());
            }
        }
        Ok(())
    }
}

impl IndexedBuffer {
    /// The name of the buffer in the capture.
    pub fn name(&self) -> &str {
        &self.head.name
    }

    /// The sources.
    pub fn sources(&self) -> &[IndexedSource] {
        &self.head.sources
    }

    /// The index of the buffer in the capture.
    pub fn number(&self) -> usize {
        self.head.number
    }

    /// Numbers that are others where the configuration or the options of the decoder differ, and
    /// where program memory does.
    pub fn identity(&self) -> [u64; 2] {
        [self.head.configuration, self.head.memory]
    }

    /// The number of segments.
    pub fn len(&self) -> usize {
        self.batches.last().map_or(0, |batch| batch.first + batch.count)
    }

    /// Whether there are no segments.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the index covers the buffer to its end.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Whether there are several segments with bytes of sources, and no restart in any of them.
    pub fn is_without_restarts(&self) -> bool {
        self.len() > 2
            && self.batches.iter().any(|batch| batch.totals.is_active())
            && self.batches.iter().all(|batch| batch.totals.joined.restarts.is_empty())
    }

    /// The damage that was found when summaries of segments were read. What was derived from
    /// segments is not to be used then: those of the damaged batch are missing.
    pub fn damage(&self) -> Option<IndexError> {
        self.batches.iter().find(|batch| batch.is_damaged()).map(BatchSummary::damage)
    }

    pub(crate) fn batches(&self) -> &[BatchSummary] {
        &self.batches
    }

    /// The number of bytes of the buffer that the index covers.
    pub fn covered(&self) -> u64 {
        self.batches.last().map_or(0, |batch| batch.end)
    }

    /// The segment that has the executed lines and functions of segment `n`: itself, or one before
    /// it.
    pub fn joined_in(&self, n: usize) -> usize {
        self.entry(n).map_or(n, |entry| entry.details_of)
    }

    /// The summary of segment `n`.
    pub fn segment(&self, n: usize) -> Option<Summary> {
        self.entry(n).map(Summary)
    }

    /// The summaries of all segments, in order. Reads those that are not in memory.
    pub fn summaries(&self) -> impl DoubleEndedIterator<Item = Summary> {
        self.batches.iter().flat_map(|batch| {
            let entries = batch.entries();
            let all = 0..entries.len();
            all.filter_map(move |n| EntryRef::new(Arc::clone(&entries), n).map(Summary))
        })
    }

    /// What the sources did in runs of segments, which are all segments together. Reads nothing.
    pub fn sums(&self) -> impl Iterator<Item = &Stream> {
        self.batches.iter().flat_map(|batch| &batch.totals.joined.streams)
    }

    /// The least and the greatest timestamp of all sources.
    pub fn times(&self) -> Option<(u64, u64)> {
        let times = self.sums().filter_map(|stream| stream.times);
        times.map(|times| (times.min, times.max)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }

    /// The offset of segment `n`; of the number of segments: the end of the last one.
    pub fn begin(&self, n: usize) -> Option<u64> {
        if n == self.len() {
            return Some(self.covered());
        }
        let batch = self.with_segment(n)?;
        if n == batch.first { Some(batch.begin) } else { Some(batch.entry(n)?.begin) }
    }

    /// The number of the segment with the byte at `offset`.
    pub fn with_byte(&self, offset: u64) -> Option<usize> {
        let n = self.batches.partition_point(|batch| batch.end <= offset);
        let batch = self.batches.get(n)?;
        let ends = |entry: &Entry| entry.begin + entry.segment.len <= offset;
        Some(batch.first + batch.entries().partition_point(ends))
    }

    /// What is known at the beginning of segment `n`.
    pub fn position(&self, n: usize) -> Position {
        let Some(batch) = self.with_segment(n) else {
            let sources = self.head.sources.len();
            let (times, contexts) = (vec![None; sources], vec![None; sources]);
            let first = Position { times, contexts, ..Position::default() };
            return self.batches.last().map_or(first, |batch| batch.after.clone());
        };
        let mut position = batch.before.clone();
        if n > batch.first {
            let entries = batch.entries();
            let before = entries.iter().take(n - batch.first);
            before.for_each(|entry| position.pass(&entry.segment));
        }
        position
    }

    /// The number of elements before segment `n`.
    pub(crate) fn elements_before(&self, n: usize) -> u64 {
        let Some(batch) = self.with_segment(n) else {
            return self.batches.last().map_or(0, |batch| batch.after.elements);
        };
        if n == batch.first {
            return batch.before.elements;
        }
        batch.entry(n).map_or(batch.before.elements, |entry| entry.elements)
    }

    /// The segments for which `touches` holds, in order: it is passed the end of a segment, its
    /// summary, and what is known at its beginning and its end; and the same of the segments of a
    /// batch together, of which none touches where they do not together.
    pub(crate) fn touched(
        &self,
        touches: impl Fn(u64, &Segment, &Position, &Position) -> bool,
    ) -> impl DoubleEndedIterator<Item = usize> {
        self.batches.iter().flat_map(move |batch| batch.touched(&touches))
    }

    /// The last restart of `source` that is verified at or before the beginning of segment `n`.
    pub(crate) fn restart(&self, n: usize, source: usize) -> Option<Restart> {
        let (batch, earlier) = self.up_to(n)?;
        let entries = batch.entries();
        let before = entries.get(..n - batch.first)?.iter().rev();
        let mut restarts = before.flat_map(|entry| entry.segment.restarts.iter().rev());
        let own = restarts.find(|restart| usize::from(restart.source) == source).copied();
        own.or_else(|| earlier.iter().rev().find_map(|batch| batch.totals.restart(source)))
    }

    /// The last segment before segment `n` in which `source` has bytes.
    pub(crate) fn active_before(&self, n: usize, source: usize) -> Option<usize> {
        let (batch, earlier) = self.up_to(n)?;
        let active = |entry: &Entry| {
            let mut streams = entry.segment.streams.iter();
            streams.any(|stream| usize::from(stream.source) == source && stream.activity > 0)
        };
        let own = batch.entries().get(..n - batch.first)?.iter().rposition(active);
        own.map(|own| batch.first + own).or_else(|| {
            earlier.iter().rev().find_map(|batch| {
                let own = usize::try_from(batch.totals.active(source)?).ok()?;
                Some(batch.first + own)
            })
        })
    }

    /// The batch with segment `n`.
    fn with_segment(&self, n: usize) -> Option<&BatchSummary> {
        let after = self.batches.partition_point(|batch| batch.first + batch.count <= n);
        self.batches.get(after)
    }

    /// The batch with segment `n`, or which ends with the segment before it, and those before.
    fn up_to(&self, n: usize) -> Option<(&BatchSummary, &[BatchSummary])> {
        let after = self.batches.partition_point(|batch| batch.first + batch.count < n);
        let (batch, earlier) = self.batches.get(..=after)?.split_last()?;
        (batch.first <= n).then_some((batch, earlier))
    }

    fn entry(&self, n: usize) -> Option<EntryRef> {
        self.with_segment(n)?.entry(n)
    }
}

/// The bytes that are read for the head and the totals of a batch.
const AHEAD: u64 = 512;
