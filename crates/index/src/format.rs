//! The file format: a head, and batches of segments. `docs/index-format.md` describes each byte.

use std::ops::Range;

use crate::bytes::{Reader, put};
use crate::checksum::Checksum;
use crate::error::IndexError;
use crate::segment::{Segment, Stored};
use crate::tiles::builder::ViewSections;
use crate::totals::Totals;

/// The first bytes of a file.
const MAGIC: &[u8; 8] = b"TWXINDEX";
/// The version of the format.
const VERSION: u16 = 6;
/// The version without [tasks](Head::tasks), which is still read, and written where there are none.
const WITHOUT_TASKS: u16 = 5;
/// The version without the sections of the [view](crate::view), which is still read.
const WITHOUT_VIEW: u16 = 3;
/// The first bytes of a batch.
const BATCH: &[u8; 4] = b"TWXB";
/// The length of the head of a batch.
pub(crate) const BATCH_HEAD: usize = head_of(SECTIONS);
/// The same in version 3.
pub(crate) const OLD_BATCH_HEAD: usize = head_of(OLD_SECTIONS);

/// The length of the head of a batch with this number of sections.
const fn head_of(sections: usize) -> usize {
    36 + 12 * sections
}

/// The longest head that is read.
pub(crate) const MOST_HEAD: u64 = 1 << 24;
/// A record of each occurrence.
const FULL: u16 = 1;
/// With the sections of a view.
const VIEW: u16 = 2;
/// The last batch of a buffer.
const LAST: u16 = 1;

/// The head of a file: what the index was made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// With a record of each occurrence.
    pub(crate) full: bool,
    /// With the sections of a view: the binary logarithm of the length of a tile.
    pub(crate) view: Option<u8>,
    /// How tasks are named, where the system of the program is known.
    pub(crate) tasks: Option<u64>,
    /// Written by an earlier version, without these sections.
    pub(crate) old: bool,
    /// The length of a segment.
    pub(crate) segment: u64,
    /// A checksum of the sizes and times of modification of the files; 0 where they change.
    pub(crate) stamps: u64,
    pub(crate) buffers: Vec<BufferHead>,
}

/// What the index was made of, for one buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BufferHead {
    /// The index of the buffer in the capture.
    pub(crate) number: usize,
    pub(crate) name: String,
    /// A checksum of the configuration.
    pub(crate) configuration: u64,
    /// A checksum of the program memory.
    pub(crate) memory: u64,
    pub(crate) sources: Vec<IndexedSource>,
}

/// A source of an index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexedSource {
    /// Its name in the capture.
    pub name: String,
    /// Its trace ID, or its source number where messages have one. Unused without framing.
    pub id: u16,
    /// The title of its protocol.
    pub protocol: String,
}

impl Head {
    /// The head as bytes.
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        let version = match (self.old, self.tasks) {
            (true, _) => WITHOUT_VIEW,
            (false, None) => WITHOUT_TASKS,
            (false, Some(_)) => VERSION,
        };
        out.extend(version.to_le_bytes());
        let view = if self.view.is_some() { VIEW } else { 0 };
        out.extend((view | if self.full { FULL } else { 0 }).to_le_bytes());
        let mut rest = Vec::new();
        rest.extend(self.segment.to_le_bytes());
        rest.extend(self.stamps.to_le_bytes());
        if !self.old {
            rest.push(self.view.unwrap_or(0));
            rest.extend(self.tasks.into_iter().flat_map(u64::to_le_bytes));
        }
        put(&mut rest, self.buffers.len() as u64);
        for buffer in &self.buffers {
            put(&mut rest, buffer.number as u64);
            text(&mut rest, &buffer.name);
            rest.extend(buffer.configuration.to_le_bytes());
            rest.extend(buffer.memory.to_le_bytes());
            put(&mut rest, buffer.sources.len() as u64);
            for source in &buffer.sources {
                text(&mut rest, &source.name);
                put(&mut rest, source.id.into());
                text(&mut rest, &source.protocol);
            }
        }
        out.extend((rest.len() as u32).to_le_bytes());
        out.extend(rest);
        out.extend(Checksum::of(&out).to_le_bytes());
        out
    }

    /// The length of the head that begins with `bytes`, at least 16 of them.
    pub(crate) fn length(bytes: &[u8]) -> Result<u64, IndexError> {
        let mut from = Reader(bytes);
        if from.array::<8>().is_none_or(|magic| magic != *MAGIC) {
            return Err(IndexError::NotAnIndex);
        }
        let damaged = IndexError::Damaged { at: 8 };
        let version = from.u16().ok_or(damaged.clone())?;
        if ![VERSION, WITHOUT_TASKS, WITHOUT_VIEW].contains(&version) {
            return Err(IndexError::Version(version));
        }
        let _flags = from.u16();
        let len = from.u32().ok_or(damaged.clone())?;
        let len = 16 + u64::from(len) + 8;
        if len > MOST_HEAD { Err(damaged) } else { Ok(len) }
    }

    /// The head of a file. `bytes` has the length of [`length`](Head::length).
    pub(crate) fn read(bytes: &[u8]) -> Result<Head, IndexError> {
        let damaged = || IndexError::Damaged { at: 8 };
        let (whole, sum) = bytes.split_last_chunk::<8>().ok_or_else(damaged)?;
        if Checksum::of(whole) != u64::from_le_bytes(*sum) {
            return Err(damaged());
        }
        Head::parse(whole).ok_or_else(damaged)
    }

    fn parse(bytes: &[u8]) -> Option<Head> {
        let mut from = Reader(bytes);
        from.bytes(MAGIC.len())?;
        let version = from.u16()?;
        let old = version == WITHOUT_VIEW;
        let flags = from.u16()?;
        let full = flags & FULL != 0;
        from.u32()?;
        let (segment, stamps) = (from.u64()?, from.u64()?);
        let log2 = if old { 0 } else { from.u8()? };
        let view = (!old && flags & VIEW != 0).then_some(log2);
        if log2 > MOST_LOG2 {
            return None;
        }
        let tasks = if version == VERSION { Some(from.u64()?) } else { None };
        let mut buffers = Vec::new();
        for _ in 0..from.count()? {
            let mut buffer = BufferHead {
                number: usize::try_from(from.number()?).ok()?,
                name: read_text(&mut from)?,
                configuration: from.u64()?,
                memory: from.u64()?,
                sources: Vec::new(),
            };
            for _ in 0..from.count()? {
                buffer.sources.push(IndexedSource {
                    name: read_text(&mut from)?,
                    id: u16::try_from(from.number()?).ok()?,
                    protocol: read_text(&mut from)?,
                });
            }
            buffers.push(buffer);
        }
        let whole = from.0.is_empty() && segment > 0;
        whole.then_some(Head { full, view, tasks, old, segment, stamps, buffers })
    }

    /// The length of the head of each batch.
    pub(crate) const fn batch_head(&self) -> usize {
        if self.old { OLD_BATCH_HEAD } else { BATCH_HEAD }
    }
}

/// The greatest logarithm of the length of a tile.
const MOST_LOG2: u8 = 32;

fn text(out: &mut Vec<u8>, text: &str) {
    put(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

fn read_text(from: &mut Reader<'_>) -> Option<String> {
    let len = from.count()?;
    String::from_utf8(from.bytes(len)?.to_vec()).ok()
}

/// The number of sections of a batch.
const SECTIONS: usize = 11;
/// The same in version 3.
const OLD_SECTIONS: usize = 5;

/// The sections of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    Totals,
    Summary,
    Keys,
    Lines,
    Records,
    Names,
    Tiles,
    Frames,
    Sums,
    Functions,
    Stacks,
}

impl Section {
    /// Every section, in the order of the file.
    #[cfg(test)]
    pub(crate) const ALL: [Section; SECTIONS] = [
        Section::Totals,
        Section::Summary,
        Section::Keys,
        Section::Lines,
        Section::Records,
        Section::Names,
        Section::Tiles,
        Section::Frames,
        Section::Sums,
        Section::Functions,
        Section::Stacks,
    ];
}

/// The head of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Batch {
    /// The index of the buffer in the head of the file.
    pub(crate) buffer: usize,
    /// The buffer ends with the batch.
    pub(crate) last: bool,
    pub(crate) count: usize,
    /// The number of the first segment, and its offset in the buffer.
    pub(crate) first: u64,
    pub(crate) begin: u64,
    /// The length of the head.
    head: usize,
    /// The lengths and checksums of the sections.
    lengths: [u32; SECTIONS],
    checksums: [u64; SECTIONS],
}

impl Batch {
    /// A batch of segments as bytes. `None` where they take 4 GiB or more.
    pub(crate) fn write(
        buffer: usize,
        last: bool,
        first: u64,
        begin: u64,
        segments: &[Segment],
        view: ViewSections,
    ) -> Option<Vec<u8>> {
        let mut stored = Stored::default();
        let mut at = begin;
        for segment in segments {
            segment.put(at, &mut stored);
            at += segment.len;
        }
        let mut totals = Vec::new();
        Totals::of(segments).put(begin, &mut totals);
        let ViewSections { names, tiles, frames, sums, functions, stacks } = view;
        let Stored { summary, keys, lines, records } = stored;
        let view = [names, tiles, frames, sums, functions, stacks];
        let mut sections = [totals, summary, keys, lines, records].into_iter().chain(view);
        let sections: [Vec<u8>; SECTIONS] =
            std::array::from_fn(|_| sections.next().unwrap_or_default());
        let mut lengths = [0; SECTIONS];
        for (length, section) in lengths.iter_mut().zip(&sections) {
            *length = u32::try_from(section.len()).ok()?;
        }
        let checksums = sections.each_ref().map(|section| Checksum::of(section));
        let count = segments.len();
        let head = BATCH_HEAD;
        let batch = Batch { buffer, last, count, first, begin, head, lengths, checksums };
        let mut out = batch.head()?;
        sections.iter().for_each(|section| out.extend_from_slice(section));
        Some(out)
    }

    /// The same with the sections of the view of `other`.
    pub(crate) fn with_view(&self, other: &Batch) -> Batch {
        let first = Section::Names as usize;
        let mut joined = self.clone();
        let both = joined.lengths.iter_mut().zip(&mut joined.checksums);
        let its = other.lengths.iter().zip(&other.checksums);
        for ((length, sum), (its_length, its_sum)) in both.zip(its).skip(first) {
            (*length, *sum) = (*its_length, *its_sum);
        }
        joined
    }

    /// The bytes of the head.
    pub(crate) fn head(&self) -> Option<Vec<u8>> {
        let mut out = BATCH.to_vec();
        out.extend(u16::try_from(self.buffer).ok()?.to_le_bytes());
        out.extend((if self.last { LAST } else { 0 }).to_le_bytes());
        out.extend(u32::try_from(self.count).ok()?.to_le_bytes());
        self.lengths.iter().for_each(|length| out.extend(length.to_le_bytes()));
        out.extend(self.first.to_le_bytes());
        out.extend(self.begin.to_le_bytes());
        self.checksums.iter().for_each(|sum| out.extend(sum.to_le_bytes()));
        out.extend(Checksum::of(&out).to_le_bytes());
        Some(out)
    }

    /// The head of a batch. `None` where the bytes are not that.
    pub(crate) fn read(bytes: &[u8]) -> Option<Batch> {
        let sections = if bytes.len() == OLD_BATCH_HEAD { OLD_SECTIONS } else { SECTIONS };
        let (whole, sum) = bytes.split_last_chunk::<8>()?;
        if Checksum::of(whole) != u64::from_le_bytes(*sum) {
            return None;
        }
        let mut from = Reader(whole);
        if from.array::<4>()? != *BATCH {
            return None;
        }
        let (buffer, flags, count) = (from.u16()?, from.u16()?, from.u32()?);
        let mut lengths = [0; SECTIONS];
        for length in lengths.iter_mut().take(sections) {
            *length = from.u32()?;
        }
        let (first, begin) = (from.u64()?, from.u64()?);
        let mut checksums = [Checksum::of(&[]); SECTIONS];
        for sum in checksums.iter_mut().take(sections) {
            *sum = from.u64()?;
        }
        Some(Batch {
            buffer: buffer.into(),
            last: flags & LAST != 0,
            count: usize::try_from(count).ok()?,
            first,
            begin,
            head: bytes.len(),
            lengths,
            checksums,
        })
    }

    /// Where a section is, counted from the beginning of the batch.
    pub(crate) fn section(&self, section: Section) -> Range<u64> {
        let before = self.lengths.iter().take(section as usize).map(|len| u64::from(*len));
        let start = self.head as u64 + before.sum::<u64>();
        let len = self.lengths.get(section as usize).copied().unwrap_or(0);
        start..start + u64::from(len)
    }

    /// The length of the batch.
    pub(crate) fn len(&self) -> u64 {
        self.section(Section::Stacks).end
    }

    /// Whether `bytes` are those of a section.
    pub(crate) fn checks(&self, section: Section, bytes: &[u8]) -> bool {
        self.checksums.get(section as usize) == Some(&Checksum::of(bytes))
    }
}

/// Writes the checksums that `bytes` would have as an index, for tests: damage that checksums show
/// is not the only one that a reader must withstand.
#[doc(hidden)]
pub fn write_checksums(bytes: &mut [u8]) {
    let Some(len) = bytes.get(..16).and_then(|head| Head::length(head).ok()) else { return };
    let len = usize::try_from(len).unwrap_or(usize::MAX);
    let Some((head, mut rest)) = bytes.split_at_mut_checked(len) else { return };
    seal(head);
    let old = head.get(8..10) == Some(&WITHOUT_VIEW.to_le_bytes());
    let sections = if old { OLD_SECTIONS } else { SECTIONS };
    while let Some((head, after)) = rest.split_at_mut_checked(head_of(sections)) {
        let mut at = 0usize;
        for section in 0..sections {
            let length = Reader(head.get(12 + 4 * section..).unwrap_or_default()).u32();
            let end = at.saturating_add(length.unwrap_or(0) as usize);
            let Some(bytes) = after.get(at..end) else { return };
            let sum = Checksum::of(bytes).to_le_bytes();
            if let Some(to) =
                head.get_mut(28 + 4 * sections + 8 * section..).and_then(<[u8]>::first_chunk_mut)
            {
                *to = sum;
            }
            at = end;
        }
        seal(head);
        rest = after.get_mut(at..).unwrap_or_default();
    }
}

/// Writes the checksum at the end of a head.
fn seal(head: &mut [u8]) {
    if let Some((whole, sum)) = head.split_last_chunk_mut::<8>() {
        *sum = Checksum::of(whole).to_le_bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_as_it_was_written() {
        let buffer = BufferHead {
            number: 3,
            name: "ETB".into(),
            configuration: 7,
            memory: 8,
            sources: ["ETM_0", "ETM_1"]
                .map(|name| IndexedSource { name: name.into(), id: 0x310, protocol: "ETM".into() })
                .into(),
        };
        let head = Head {
            full: true,
            view: Some(13),
            tasks: Some(7),
            old: false,
            segment: 1 << 18,
            stamps: 5,
            buffers: vec![buffer, BufferHead::default()],
        };
        let bytes = head.write();
        assert_eq!(Head::length(&bytes[..16]), Ok(bytes.len() as u64));
        assert_eq!(Head::read(&bytes).as_ref(), Ok(&head));
        let old = Head { old: true, view: None, tasks: None, ..head };
        assert_eq!(Head::read(&old.write()), Ok(old));
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let read = Head::length(&flipped).and_then(|len| {
                let bytes = flipped.get(..len as usize);
                Head::read(bytes.ok_or(IndexError::Damaged { at: 0 })?)
            });
            assert!(read.is_err(), "bit {bit}");
        }
    }

    #[test]
    fn a_batch_is_read_as_it_was_written() {
        let view = ViewSections { tiles: vec![1, 2], stacks: vec![3], ..ViewSections::default() };
        let segments = [Segment { len: 10, ..Segment::default() }, Segment::default()];
        let bytes = Batch::write(1, true, 4, 1024, &segments, view).expect("a small batch");
        let (head, _) = bytes.split_first_chunk::<BATCH_HEAD>().expect("a head");
        let batch = Batch::read(head).expect("its own head");
        assert_eq!((batch.buffer, batch.last, batch.count), (1, true, 2));
        assert_eq!((batch.first, batch.begin, batch.len()), (4, 1024, bytes.len() as u64));
        for section in Section::ALL {
            let Range { start, end } = batch.section(section);
            assert!(batch.checks(section, &bytes[start as usize..end as usize]));
        }
        for bit in 0..BATCH_HEAD * 8 {
            let mut flipped = *head;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Batch::read(&flipped), None, "bit {bit}");
        }
    }
}
