//! What the index holds of one part of a buffer.

use tracewright_base::Context;

use crate::bytes::{self, Reader, put, put_option, unzigzag, zigzag};
use crate::key::{Key, Kind};
use crate::link::{self, LinkEvents, LinkRecord};
use crate::runs::Lines;

/// A part of a buffer, and what a decoder emits while it receives the bytes of the part.
///
/// The last segment of a buffer has no bytes: it holds what the end of the trace makes certain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// The number of bytes.
    pub len: u64,
    /// The [checksum](crate::Checksum) of the bytes.
    pub checksum: u64,
    /// The least offset of an element, a packet or an event of the link that is emitted in the
    /// segment. It may be less than that of the segment: a decoder withholds elements until they
    /// are certain. `None` where nothing is emitted.
    pub first: Option<u64>,
    /// The state of the trace link at the beginning. `None` where it is not known; it is empty for
    /// a link without a state.
    pub link: Option<Vec<u8>>,
    /// Events of the trace link.
    pub events: LinkEvents,
    /// Where the events are; of synchronisation packets only the first. Only in a full index.
    pub link_records: Vec<LinkRecord>,
    /// Trace IDs that no source has, and the number of their bytes, in order of the IDs.
    pub unknown: Vec<(u16, u64)>,
    /// The restarts that were verified in the segment.
    pub restarts: Vec<Restart>,
    /// The number of segments after it whose executed lines and functions are with its own: they
    /// have none.
    pub following: u64,
    /// The sources that have bytes or elements, or of which the segment has lines or functions, in
    /// order of their numbers.
    pub streams: Vec<Stream>,
}

/// A verified restart of one source: a decoder that begins in its initial state at offset `from`
/// is in the actual state at offset `at`, and from there on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restart {
    /// The number of the source in the plan of the buffer.
    pub source: u16,
    /// Where the decoder begins.
    pub from: u64,
    /// Where its state was found equal to the actual one.
    pub at: u64,
}

/// What one source has in a segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stream {
    /// The number of the source in the plan of the buffer.
    pub source: u16,
    /// The number of its bytes, plus one for each loss or barrier of the link.
    pub activity: u64,
    /// Elements.
    pub elements: u64,
    /// Instructions of ranges.
    pub instructions: u64,
    /// A checksum of the elements. Sums of ranges do not depend on their order.
    pub checksum: u64,
    /// Packets from which a decoder may start. Only in a full index.
    pub syncs: u64,
    /// The timestamps.
    pub times: Option<Times>,
    /// The last context, and the offset of its element.
    pub context: Option<(u64, Context)>,
    /// How often each key occurs, in order of the keys.
    pub keys: Vec<(Key, u64)>,
    /// The executed lines of 64 bytes.
    pub lines: Lines,
    /// Each occurrence of a key except functions. Only in a full index.
    pub records: Vec<Record>,
}

/// Timestamps of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Their number.
    pub count: u64,
    /// The first.
    pub first: u64,
    /// The last.
    pub last: u64,
    /// The least.
    pub min: u64,
    /// The greatest.
    pub max: u64,
}

impl Times {
    /// A single timestamp.
    pub const fn of(time: u64) -> Times {
        Times { count: 1, first: time, last: time, min: time, max: time }
    }

    /// Adds a later timestamp.
    pub fn add(&mut self, time: u64) {
        self.join(&Times::of(time));
    }

    /// Adds later timestamps.
    pub(crate) fn join(&mut self, later: &Times) {
        self.count = self.count.saturating_add(later.count);
        self.last = later.last;
        self.min = self.min.min(later.min);
        self.max = self.max.max(later.max);
    }
}

/// An occurrence of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// The key.
    pub key: Key,
    /// The offset of the element.
    pub at: u64,
    /// The number of elements of the source in the segment before it.
    pub element: u64,
    /// The number of instructions of the source in the segment before it.
    pub instruction: u64,
}

/// The parts of a segment, as they are stored.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stored {
    pub(crate) summary: Vec<u8>,
    pub(crate) keys: Vec<u8>,
    pub(crate) lines: Vec<u8>,
    pub(crate) records: Vec<u8>,
}

impl Segment {
    /// Appends the segment. `begin`: its offset in the buffer.
    pub(crate) fn put(&self, begin: u64, to: &mut Stored) {
        let (keys, lines, records) = (to.keys.len(), to.lines.len(), to.records.len());
        link::put_records(&self.link_records, &mut to.records);
        for stream in &self.streams {
            stream.put_details(to);
        }
        let out = &mut to.summary;
        put(out, self.len);
        out.extend_from_slice(&self.checksum.to_le_bytes());
        put_option(out, self.first.map(|first| begin.wrapping_add(self.len).wrapping_sub(first)));
        match &self.link {
            None => put(out, 0),
            Some(state) => {
                put(out, state.len() as u64 + 1);
                out.extend_from_slice(state);
            }
        }
        let LinkEvents { syncs, triggers, flushes, bad, barriers } = self.events;
        [syncs, triggers, flushes, bad, barriers].into_iter().for_each(|count| put(out, count));
        put(out, self.unknown.len() as u64);
        for (id, count) in &self.unknown {
            put(out, (*id).into());
            put(out, *count);
        }
        put(out, self.restarts.len() as u64);
        let end = begin.wrapping_add(self.len);
        self.restarts.iter().for_each(|restart| restart.put(end, out));
        put(out, self.following);
        put(out, self.streams.len() as u64);
        for stream in &self.streams {
            stream.put_summary(out);
        }
        put(out, (to.keys.len() - keys) as u64);
        put(out, (to.lines.len() - lines) as u64);
        put(out, (to.records.len() - records) as u64);
    }

    /// Reads a summary in place of this segment, which has no details and whose memory is reused.
    /// Returns the lengths of the keys, lines and records. `None` where the bytes are no summary.
    pub(crate) fn read_summary(&mut self, begin: u64, from: &mut Reader<'_>) -> Option<[usize; 3]> {
        self.len = from.number()?;
        let end = begin.checked_add(self.len)?;
        self.checksum = from.u64()?;
        self.first = match from.option()? {
            None => None,
            Some(before) => Some(end.checked_sub(before)?),
        };
        let mut link = self.link.take().unwrap_or_default();
        if let Some(len) = from.count()?.checked_sub(1) {
            link.clear();
            link.extend_from_slice(from.bytes(len)?);
            self.link = Some(link);
        }
        self.events = LinkEvents {
            syncs: from.number()?,
            triggers: from.number()?,
            flushes: from.number()?,
            bad: from.number()?,
            barriers: from.number()?,
        };
        self.unknown.clear();
        for _ in 0..from.count()? {
            self.unknown.push((u16::try_from(from.number()?).ok()?, from.number()?));
        }
        self.restarts.clear();
        for _ in 0..from.count()? {
            self.restarts.push(Restart::read(end, from)?);
        }
        self.following = from.number()?;
        self.streams.clear();
        for _ in 0..from.count()? {
            self.streams.push(Stream::read_summary(from)?);
        }
        let mut length = || usize::try_from(from.number()?).ok();
        Some([length()?, length()?, length()?])
    }
}

impl Restart {
    /// Appends a restart of a segment or batch that ends at offset `end`.
    pub(crate) fn put(&self, end: u64, out: &mut Vec<u8>) {
        put(out, self.source.into());
        put(out, end.wrapping_sub(self.at));
        put(out, self.at.wrapping_sub(self.from));
    }

    /// Reads a restart of a segment or batch that ends at offset `end`.
    pub(crate) fn read(end: u64, from: &mut Reader<'_>) -> Option<Restart> {
        let source = u16::try_from(from.number()?).ok()?;
        let at = end.checked_sub(from.number()?)?;
        Some(Restart { source, at, from: at.checked_sub(from.number()?)? })
    }
}

impl Stream {
    pub(crate) fn put_summary(&self, out: &mut Vec<u8>) {
        put(out, self.source.into());
        put(out, self.activity);
        put(out, self.elements);
        put(out, self.instructions);
        out.extend_from_slice(&self.checksum.to_le_bytes());
        put(out, self.syncs);
        put(out, self.times.map_or(0, |times| times.count));
        if let Some(Times { first, last, min, max, .. }) = self.times {
            put(out, min);
            [first, last, max].into_iter().for_each(|time| put(out, time.wrapping_sub(min)));
        }
        match &self.context {
            None => put(out, 0),
            Some((at, context)) => {
                put_option(out, Some(*at));
                bytes::put_context(out, context);
            }
        }
    }

    pub(crate) fn read_summary(from: &mut Reader<'_>) -> Option<Stream> {
        let mut stream = Stream {
            source: u16::try_from(from.number()?).ok()?,
            activity: from.number()?,
            elements: from.number()?,
            instructions: from.number()?,
            checksum: from.u64()?,
            syncs: from.number()?,
            ..Stream::default()
        };
        let count = from.number()?;
        if count > 0 {
            let min = from.number()?;
            let mut next = || min.checked_add(from.number()?);
            let (first, last, max) = (next()?, next()?, next()?);
            stream.times = Some(Times { count, first, last, min, max });
        }
        if let Some(at) = from.option()? {
            stream.context = Some((at, bytes::context(from)?));
        }
        Some(stream)
    }

    pub(crate) fn put_details(&self, to: &mut Stored) {
        put_keys(&self.keys, &mut to.keys);
        let runs = self.lines.to_runs();
        put(&mut to.lines, runs.len() as u64);
        let mut before = 0u64;
        for (line, count) in runs.iter() {
            // Single lines, and short gaps, take one byte.
            let gap = line.wrapping_sub(before);
            if *count == 1 {
                put(&mut to.lines, gap << 1);
            } else {
                put(&mut to.lines, gap << 1 | 1);
                put(&mut to.lines, count - 2);
            }
            before = line.wrapping_add(*count);
        }
        put(&mut to.records, self.records.len() as u64);
        let (mut element, mut instruction, mut at) = (0u64, 0u64, 0u64);
        for record in &self.records {
            to.records.push(record.key.kind as u8);
            put(&mut to.records, record.key.value);
            put(&mut to.records, zigzag(record.at.wrapping_sub(at)));
            put(&mut to.records, record.element.wrapping_sub(element));
            put(&mut to.records, record.instruction.wrapping_sub(instruction));
            (at, element, instruction) = (record.at, record.element, record.instruction);
        }
    }
}

impl Segment {
    /// Reads the lines of each stream.
    pub(crate) fn read_lines(&mut self, from: &mut Reader<'_>) -> Option<()> {
        for stream in &mut self.streams {
            each_line(from, |line, count| stream.lines.push(line, count))?;
        }
        from.0.is_empty().then_some(())
    }

    /// Reads the keys of each stream.
    pub(crate) fn read_keys(&mut self, from: &mut Reader<'_>) -> Option<()> {
        for stream in &mut self.streams {
            each_key(from, |key, count| stream.keys.push((key, count)))?;
        }
        from.0.is_empty().then_some(())
    }

    /// Reads the records of the link and of each stream.
    pub(crate) fn read_records(&mut self, from: &mut Reader<'_>) -> Option<()> {
        self.link_records = link::read_records(from)?;
        for stream in &mut self.streams {
            let (mut element, mut instruction, mut at) = (0u64, 0u64, 0u64);
            for _ in 0..from.count()? {
                let kind = *Kind::ALL.get(usize::from(from.u8()?))?;
                let key = Key::new(kind, from.number()?);
                at = at.wrapping_add(unzigzag(from.number()?));
                element = element.checked_add(from.number()?)?;
                instruction = instruction.checked_add(from.number()?)?;
                stream.records.push(Record { key, at, element, instruction });
            }
        }
        from.0.is_empty().then_some(())
    }
}

/// Keys by kind: the number of values, and each value as the difference from the one before, with
/// its count.
fn put_keys(keys: &[(Key, u64)], out: &mut Vec<u8>) {
    for kind in Kind::ALL {
        let of_kind = || keys.iter().filter(|(key, _)| key.kind == kind);
        put(out, of_kind().count() as u64);
        let mut before = 0u64;
        for (key, count) in of_kind() {
            put(out, key.value.wrapping_sub(before));
            put(out, *count);
            before = key.value;
        }
    }
}

/// Passes the keys of one stream to `each`. `None` where the bytes are not those of keys.
pub(crate) fn each_key(from: &mut Reader<'_>, mut each: impl FnMut(Key, u64)) -> Option<()> {
    for kind in Kind::ALL {
        let mut value = 0u64;
        for _ in 0..from.count()? {
            value = value.checked_add(from.number()?)?;
            each(Key::new(kind, value), from.number()?);
        }
    }
    Some(())
}

/// Passes the lines of one stream to `each`: the first of a run, and the number of lines in it.
/// `None` where the bytes are not those of lines.
pub(crate) fn each_line(from: &mut Reader<'_>, mut each: impl FnMut(u64, u64)) -> Option<()> {
    let mut before = 0u64;
    for _ in 0..from.count()? {
        let gap = from.number()?;
        let count = if gap & 1 == 0 { 1 } else { from.number()?.checked_add(2)? };
        let line = before.checked_add(gap >> 1)?;
        before = line.checked_add(count)?;
        each(line, count);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::LinkKind;
    use tracewright_base::Isa;

    fn sample() -> Segment {
        let context =
            Context { context_id: Some(7), isa: Isa::A64, bits64: true, ..Context::default() };
        let record = |value, at, element, instruction| Record {
            key: Key::new(Kind::Exception, value),
            at,
            element,
            instruction,
        };
        let stream = Stream {
            source: 2,
            activity: 300,
            elements: 9,
            instructions: 1000,
            checksum: 0x1234_5678_9abc_def0,
            syncs: 1,
            times: Some(Times { count: 3, first: 90, last: 80, min: 70, max: 95 }),
            context: Some((4100, context)),
            keys: vec![
                (Key::new(Kind::Function, 0x8000), 3),
                (Key::new(Kind::Function, 0x8040), 1),
                (Key::new(Kind::Access, u64::MAX), 2),
            ],
            lines: [(0x200, 1), (0x210, 5), (u64::MAX >> 6, 1)].into_iter().collect(),
            records: vec![record(3, 4200, 0, 10), record(15, 4100, 5, 10)],
        };
        Segment {
            len: 512,
            checksum: 99,
            first: Some(4000),
            link: Some(vec![1, 0x10, 0, 0, 0]),
            events: LinkEvents { syncs: 1, triggers: 2, flushes: 3, bad: 4, barriers: 5 },
            unknown: vec![(0x30, 44)],
            restarts: vec![Restart { source: 2, from: 3000, at: 4200 }],
            following: 3,
            link_records: vec![
                LinkRecord { kind: LinkKind::Trigger, at: 4000 },
                LinkRecord { kind: LinkKind::Sync, at: 3999 },
            ],
            streams: vec![stream, Stream { source: 5, ..Stream::default() }],
        }
    }

    #[test]
    fn a_segment_is_read_as_it_was_written() {
        for segment in [sample(), Segment::default()] {
            let mut stored = Stored::default();
            segment.put(4096, &mut stored);
            let mut from = Reader(&stored.summary);
            let mut read = Segment { link: Some(vec![9; 20]), unknown: vec![(1, 2)], ..sample() };
            read.streams.clear();
            let lengths = read.read_summary(4096, &mut from).expect("a segment");
            read.link_records.clear();
            assert!(from.0.is_empty());
            assert_eq!(lengths, [stored.keys.len(), stored.lines.len(), stored.records.len()]);
            read.read_keys(&mut Reader(&stored.keys)).expect("keys");
            read.read_lines(&mut Reader(&stored.lines)).expect("lines");
            read.read_records(&mut Reader(&stored.records)).expect("records");
            assert_eq!(read, segment);
            for len in 0..stored.summary.len() {
                let from = &mut Reader(&stored.summary[..len]);
                assert!(Segment::default().read_summary(4096, from).is_none());
            }
        }
    }
}
