//! An index that is read from a file.

use std::io::Read;
use std::ops::Range;

use tracewright_base::Context;
use tracewright_capture::Bytes;

use crate::bytes::Reader;
use crate::error::IndexError;
use crate::format::{BATCH_HEAD, Batch, BufferHead, Head, IndexedSource, Section};
use crate::key::Key;
use crate::segment::{Restart, Segment, each_key, each_line};

/// An index. Summaries of all segments are in memory; keys, lines and records are read when they
/// are needed.
#[derive(Clone, Debug)]
pub struct Index {
    bytes: Bytes,
    head: Head,
    buffers: Vec<IndexedBuffer>,
    batches: Vec<(u64, Batch)>,
    damage: Option<IndexError>,
    end: u64,
}

/// The segments of a buffer.
#[derive(Clone, Debug, Default)]
pub struct IndexedBuffer {
    pub(crate) head: BufferHead,
    segments: Vec<Entry>,
    complete: bool,
}

/// A segment of an index.
#[derive(Clone, Debug)]
struct Entry {
    begin: u64,
    segment: Segment,
    batch: usize,
    /// The number of the segment that has its lines and functions.
    details_of: usize,
    /// Where its keys, lines and records are in their sections.
    details: [Range<usize>; 3],
}

/// What is known at the beginning of a segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// The number of elements before it.
    pub elements: u64,
    /// The number of instructions before it, of all sources.
    pub instructions: u64,
    /// By source: the last timestamp.
    pub times: Vec<Option<u64>>,
    /// By source: the last context, and the offset of its element.
    pub contexts: Vec<Option<(u64, Context)>>,
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
        let mut index = Index { bytes, head, buffers, batches: Vec::new(), damage: None, end: len };
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

    /// Adds the batch at `at`, and returns where it ends. `None` where it is damaged, incomplete,
    /// or does not follow the segments before it.
    fn batch(&mut self, at: u64) -> Option<u64> {
        let head = part(&self.bytes, at..at + BATCH_HEAD as u64)?;
        let batch = Batch::read(head.first_chunk()?)?;
        let end = at.checked_add(batch.len())?;
        if end > self.bytes.len() as u64 {
            return None;
        }
        let summary = batch.section(Section::Summary);
        let summary = part(&self.bytes, at + summary.start..at + summary.end)?;
        if !batch.checks(Section::Summary, &summary) {
            return None;
        }
        let number = self.batches.len();
        let buffer = self.buffers.get(batch.buffer)?;
        let before = buffer.segments.last().map_or(0, |entry| entry.begin + entry.segment.len);
        let follows = batch.first == buffer.segments.len() as u64 && batch.begin == before;
        if !follows || buffer.complete {
            return None;
        }
        let (sources, before_it) = (buffer.head.sources.len(), buffer.segments.len());
        let mut from = Reader(&summary);
        let (mut begin, mut taken) = (batch.begin, [0usize; 3]);
        let (mut group, mut following) = (0, 0);
        let mut entries = Vec::new();
        for n in 0..batch.count {
            let (segment, lengths) = Segment::read(begin, &mut from)?;
            if following == 0 {
                (group, following) = (before_it + n, segment.following);
            } else if segment.following == 0 {
                following -= 1;
            } else {
                return None;
            }
            if segment.streams.iter().any(|stream| usize::from(stream.source) >= sources) {
                return None;
            }
            let mut details = [0..0, 0..0, 0..0];
            for ((range, taken), length) in details.iter_mut().zip(&mut taken).zip(lengths) {
                let end = taken.checked_add(length)?;
                *range = *taken..end;
                *taken = end;
            }
            let len = segment.len;
            entries.push(Entry { begin, segment, batch: number, details_of: group, details });
            begin = begin.checked_add(len)?;
        }
        let sections = [Section::Keys, Section::Lines, Section::Records];
        let fits = |(section, taken): (Section, usize)| {
            let range = batch.section(section);
            range.end - range.start == taken as u64
        };
        if !from.0.is_empty() || following > 0 || !sections.into_iter().zip(taken).all(fits) {
            return None;
        }
        let last = batch.last;
        let buffer = self.buffers.get_mut(batch.buffer)?;
        buffer.segments.extend(entries);
        buffer.complete = last;
        self.batches.push((at, batch));
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
    pub fn sizes(&self) -> [(&'static str, u64); 4] {
        let size = |section| {
            let lengths = self.batches.iter().map(|(_, batch)| {
                let range = batch.section(section);
                range.end - range.start
            });
            lengths.sum()
        };
        [
            ("summaries", size(Section::Summary)),
            ("keys", size(Section::Keys)),
            ("lines", size(Section::Lines)),
            ("records", size(Section::Records)),
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

    /// Passes the executed lines of all segments of `buffer` to `each`: the number of the segment,
    /// the address of the first line divided by 64, and the number of lines. Those of a segment may
    /// be with those of [`IndexedBuffer::joined_in`].
    ///
    /// # Errors
    /// [`IndexError::Damaged`].
    pub fn lines(
        &self,
        buffer: &IndexedBuffer,
        mut each: impl FnMut(usize, u64, u64),
    ) -> Result<(), IndexError> {
        self.details(buffer, 0..buffer.len(), Section::Lines, |n, entry, mut from| {
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
        let entries = buffer.segments.get(range.clone()).unwrap_or_default();
        let mut segments: Vec<Segment> = entries.iter().map(|e| e.segment.clone()).collect();
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
        let mut current: Option<(usize, Vec<u8>)> = None;
        let start = range.start;
        let entries = buffer.segments.get(range).unwrap_or_default();
        for (n, entry) in entries.iter().enumerate() {
            let Some((at, batch)) = self.batches.get(entry.batch) else { continue };
            let damaged = || IndexError::Damaged { at: at + batch.section(section).start };
            if current.as_ref().is_none_or(|(number, _)| *number != entry.batch) {
                let range = batch.section(section);
                let bytes = part(&self.bytes, at + range.start..at + range.end);
                let bytes = bytes.filter(|bytes| batch.checks(section, bytes));
                current = Some((entry.batch, bytes.ok_or_else(damaged)?));
            }
            let Some((_, bytes)) = &current else { continue };
            let which = section as usize - 1;
            let range = entry.details.get(which).cloned().unwrap_or_default();
            let bytes = bytes.get(range).ok_or_else(damaged)?;
            each(start + n, entry, Reader(bytes)).ok_or_else(damaged)?;
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

    /// The number of segments.
    pub fn len(&self) -> usize {
        self.segments.len()
    }

    /// Whether there are no segments.
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Whether the index covers the buffer to its end.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Whether there are several segments with bytes of sources, and no restart in any of them.
    pub fn is_without_restarts(&self) -> bool {
        self.segments.len() > 2
            && self.summaries().any(|segment| !segment.streams.is_empty())
            && self.summaries().all(|segment| segment.restarts.is_empty())
    }

    /// The number of bytes of the buffer that the index covers.
    pub fn covered(&self) -> u64 {
        self.segments.last().map_or(0, |entry| entry.begin + entry.segment.len)
    }

    /// The segment that has the executed lines and functions of segment `n`: itself, or one before
    /// it.
    pub fn joined_in(&self, n: usize) -> usize {
        self.segments.get(n).map_or(n, |entry| entry.details_of)
    }

    /// The summary of segment `n`.
    pub fn segment(&self, n: usize) -> Option<&Segment> {
        self.segments.get(n).map(|entry| &entry.segment)
    }

    /// The summaries of all segments, in order.
    pub fn summaries(&self) -> impl DoubleEndedIterator<Item = &Segment> + ExactSizeIterator {
        self.segments.iter().map(|entry| &entry.segment)
    }

    /// The offset of segment `n`; of the number of segments: the end of the last one.
    pub fn begin(&self, n: usize) -> Option<u64> {
        match self.segments.get(n) {
            Some(entry) => Some(entry.begin),
            None if n == self.segments.len() => Some(self.covered()),
            None => None,
        }
    }

    /// The number of the segment with the byte at `offset`.
    pub fn with_byte(&self, offset: u64) -> Option<usize> {
        let n = self.segments.partition_point(|entry| entry.begin + entry.segment.len <= offset);
        (n < self.segments.len()).then_some(n)
    }

    /// What is known at the beginning of segment `n`.
    pub fn position(&self, n: usize) -> Position {
        let sources = self.head.sources.len();
        let mut position = Position {
            times: vec![None; sources],
            contexts: vec![None; sources],
            ..Position::default()
        };
        for entry in self.segments.get(..n).unwrap_or(&self.segments) {
            position.pass(&entry.segment);
        }
        position
    }

    /// The last restart of `source` that is verified at or before the beginning of segment `n`.
    pub(crate) fn restart(&self, n: usize, source: usize) -> Option<Restart> {
        let begin = self.begin(n)?;
        let before = self.segments.get(..n)?.iter().rev();
        let mut restarts = before.flat_map(|entry| entry.segment.restarts.iter().rev());
        restarts.find(|r| usize::from(r.source) == source && r.at <= begin).copied()
    }

    /// The last segment before segment `n` in which `source` has bytes.
    pub(crate) fn active_before(&self, n: usize, source: usize) -> Option<usize> {
        let active = |entry: &Entry| {
            let mut streams = entry.segment.streams.iter();
            streams.any(|stream| usize::from(stream.source) == source && stream.activity > 0)
        };
        self.segments.get(..n)?.iter().rposition(active)
    }
}

impl Position {
    /// Goes to the end of `segment`.
    pub fn pass(&mut self, segment: &Segment) {
        for stream in &segment.streams {
            self.elements = self.elements.saturating_add(stream.elements);
            self.instructions = self.instructions.saturating_add(stream.instructions);
            let n = usize::from(stream.source);
            if let (Some(time), Some(times)) = (self.times.get_mut(n), &stream.times) {
                *time = Some(times.last);
            }
            if let (Some(context), Some(last)) = (self.contexts.get_mut(n), stream.context) {
                *context = Some(last);
            }
        }
    }
}

/// A part of the bytes. `None` where they end before it.
fn part(bytes: &Bytes, range: Range<u64>) -> Option<Vec<u8>> {
    let len = range.end.checked_sub(range.start)?;
    let part = bytes.part(range.start, len);
    if part.len() as u64 != len {
        return None;
    }
    let mut read = Vec::with_capacity(part.len());
    part.reader().read_to_end(&mut read).ok()?;
    (read.len() as u64 == len).then_some(read)
}
