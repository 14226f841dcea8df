//! The segments of one batch of an index.

use std::ops::Range;
use std::sync::OnceLock;

use crate::bytes::Reader;
use crate::position::Position;
use crate::segment::{Restart, Segment, Stream};

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

/// What is known of the segments of a batch together. The segments are read when one of them is
/// needed: a large trace has many, and a question concerns few.
#[derive(Clone, Debug)]
pub(crate) struct BatchSummary {
    /// The number of the first segment.
    pub(crate) first: usize,
    /// The number of segments.
    pub(crate) count: usize,
    /// The number of the batch in the file.
    pub(crate) batch: usize,
    /// The offset of the first segment, and the end of the last one.
    pub(crate) begin: u64,
    pub(crate) end: u64,
    /// What is known at the beginning, and at the end.
    pub(crate) before: Position,
    pub(crate) after: Position,
    /// The least [`Segment::first`]; the sum of the streams, of which each has its last context and
    /// all times.
    pub(crate) joined: Segment,
    /// By source: the last restart, and the last segment with bytes of the source.
    pub(crate) restarts: Vec<Option<Restart>>,
    pub(crate) active: Vec<Option<usize>>,
    /// The section of the file.
    bytes: Vec<u8>,
    entries: OnceLock<Vec<Entry>>,
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
    /// Reads the summaries `bytes` of `count` segments, and returns the lengths of their keys,
    /// lines and records together. `before`: what is known at the first, which has this number and
    /// begins at this offset. `None` where the bytes are not such summaries.
    pub(crate) fn read(
        bytes: Vec<u8>,
        batch: usize,
        count: usize,
        (first, begin): (usize, u64),
        before: Position,
    ) -> Option<(BatchSummary, [usize; 3])> {
        let sources = before.times.len();
        let mut parse = Parse::new(&bytes, first, begin);
        let (mut restarts, mut active) = (vec![None; sources], vec![None; sources]);
        let (mut after, mut joined) = (before.clone(), Segment::default());
        let mut streams: Vec<Stream> = vec![Stream::default(); sources];
        let mut segment = Segment::default();
        for number in first..first.checked_add(count)? {
            parse.next(&mut segment)?;
            joined.first = joined.first.into_iter().chain(segment.first).min();
            for stream in &segment.streams {
                let source = usize::from(stream.source);
                streams.get_mut(source)?.join(stream);
                if stream.activity > 0 {
                    *active.get_mut(source)? = Some(number);
                }
            }
            for restart in &segment.restarts {
                if let Some(last) = restarts.get_mut(usize::from(restart.source)) {
                    *last = Some(*restart);
                }
            }
            after.pass(&segment);
        }
        if !parse.from.0.is_empty() || parse.following > 0 {
            return None;
        }
        let (end, taken) = (parse.begin, parse.taken);
        joined.len = end - begin;
        joined.streams = streams;
        let entries = OnceLock::new();
        let summary = BatchSummary {
            first,
            count,
            batch,
            begin,
            end,
            before,
            after,
            joined,
            restarts,
            active,
            bytes,
            entries,
        };
        Some((summary, taken))
    }

    /// The segments.
    pub(crate) fn entries(&self) -> &[Entry] {
        self.entries.get_or_init(|| {
            let mut parse = Parse::new(&self.bytes, self.first, self.begin);
            let mut elements = self.before.elements;
            let mut entries = Vec::with_capacity(self.count);
            for _ in 0..self.count {
                let (begin, mut segment) = (parse.begin, Segment::default());
                // The bytes were read before.
                let Some(details) = parse.next(&mut segment) else { break };
                let own = segment.elements();
                entries.push(Entry { begin, segment, details_of: parse.group, details, elements });
                elements = elements.saturating_add(own);
            }
            entries
        })
    }

    /// Segment `n` of the buffer, if it is in the batch.
    pub(crate) fn entry(&self, n: usize) -> Option<&Entry> {
        self.entries().get(n.checked_sub(self.first)?)
    }
}

impl Segment {
    /// The number of elements.
    pub(crate) fn elements(&self) -> u64 {
        self.streams.iter().fold(0, |sum, stream| sum.saturating_add(stream.elements))
    }
}

impl Stream {
    /// Adds what a later segment has of the source.
    fn join(&mut self, later: &Stream) {
        self.activity = self.activity.saturating_add(later.activity);
        self.elements = self.elements.saturating_add(later.elements);
        self.instructions = self.instructions.saturating_add(later.instructions);
        self.times = match (self.times, &later.times) {
            (Some(mut times), Some(later)) => {
                times.join(later);
                Some(times)
            }
            (times, later) => times.or(*later),
        };
        self.context = later.context.or(self.context);
    }
}
