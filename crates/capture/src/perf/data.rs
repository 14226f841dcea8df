//! The content of a `perf.data` file, before it is interpreted.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

use tracewright_base::Invalid;

use super::attr::Attr;
use super::compressed::Unpacker;
use super::fields::{Fields, Reader};
use super::limits::{
    Budget, MAX_ATTRS, MAX_FEATURES, MAX_RECORD_MEMORY, MAX_RECORDS, MAX_UNPACKED, RECORD_MEMORY,
};
use super::record::{Body, HEADER, Record};
use super::window::Window;
use crate::Bytes;

/// The first eight bytes in little-endian files; big-endian files have them reversed.
pub(super) const MAGIC: [u8; 8] = *b"PERFILE2";
/// The size in bytes of the header of a file.
pub(super) const FILE_HEADER: u64 = 104;
/// The size in bytes of the header of a pipe.
pub(super) const PIPE_HEADER: u64 = 16;
/// The number of feature bits in the header.
pub(super) const FEATURE_BITS: usize = 256;
/// The feature with records that precede all others. (simpleperf)
pub(super) const INIT_MAP: u32 = 134;

/// The numbers of records that are not stored.
const SAMPLE: u32 = 9;
pub(super) const COMPRESSED: u32 = 81;
pub(super) const COMPRESSED2: u32 = 83;
/// The number of an AUXTRACE record.
const AUXTRACE: u32 = 71;

/// The form of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// A header with offsets of the sections.
    #[default]
    File,
    /// A short header and records only, as written to a pipe.
    Pipe,
}

/// The content of a `perf.data` file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PerfData {
    /// Integers are big-endian.
    pub big: bool,
    /// The form.
    pub form: Form,
    /// The events.
    pub attrs: Vec<Attr>,
    /// The feature sections by number.
    pub features: BTreeMap<u32, Vec<u8>>,
    /// The records, in order, except those that are counted in `skipped`.
    pub records: Vec<Record>,
    /// The bytes after each AUXTRACE record, in order.
    pub trace: Vec<Bytes>,
    /// The number of records by kind that are not needed: samples.
    pub skipped: BTreeMap<u32, u64>,
    /// The samples, where they are read.
    pub samples: Vec<RawSample>,
    /// What is damaged, one sentence for each damage.
    pub problems: Vec<String>,
}

/// A record of kind SAMPLE.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawSample {
    /// The number of records before it.
    pub after: usize,
    /// Its bytes without the header.
    pub bytes: Vec<u8>,
}

impl PerfData {
    /// Reads the file. The bytes of trace are not loaded.
    ///
    /// # Errors
    /// Why nothing of it can be used.
    pub fn read(file: &Bytes) -> Result<PerfData, Invalid> {
        PerfData::read_with(file, &[])
    }

    /// Reads the file `data` of the directory form, and `more`, the files `data.N` with further
    /// records. The bytes of trace are not loaded.
    ///
    /// # Errors
    /// Why nothing of it can be used.
    pub fn read_with(file: &Bytes, more: &[Bytes]) -> Result<PerfData, Invalid> {
        Ok(PerfData::read_all(file, more, false)?)
    }

    /// Reads the file, with its samples.
    ///
    /// # Errors
    /// Why nothing of it can be used.
    pub fn read_samples(file: &Bytes) -> Result<PerfData, Invalid> {
        Ok(PerfData::read_all(file, &[], true)?)
    }

    /// Whether an event of the file has samples with branches. The events of a pipe are among its
    /// records: it may have some.
    pub(super) fn may_have_branches(file: &Bytes) -> bool {
        let mut window = Window::new(file);
        let Some(head) = window.get(0, FILE_HEADER as usize).map(<[u8]>::to_vec) else {
            return true;
        };
        let mut data = PerfData { big: !head.starts_with(&MAGIC), ..PerfData::default() };
        let mut size = 0;
        let _ = Reader::new(head.get(8..).unwrap_or_default(), data.big).u64(&mut size);
        let header = Header::read(&head, data.big).filter(|_| size != PIPE_HEADER);
        let Some(header) = header else { return true };
        let read = data.read_attrs(&header, &mut window, file.size());
        read.is_err() || data.attrs.iter().any(|attr| attr.sample_type & Attr::BRANCH_STACK != 0)
    }

    fn read_all(file: &Bytes, more: &[Bytes], samples: bool) -> Result<PerfData, String> {
        let mut window = Window::new(file);
        let short = || "it is shorter than its header".to_owned();
        let magic = window.get(0, 8).ok_or_else(short)?;
        let little = magic == MAGIC;
        let mut data = PerfData { big: !little, ..PerfData::default() };
        if !little && !magic.iter().eq(MAGIC.iter().rev()) {
            return Err("its first bytes are not PERFILE2; files of version 1 (before Linux 3.2) \
                        are not supported"
                .into());
        }
        let big = data.big;
        let mut size = 0;
        let head = window.get(8, 8).ok_or_else(short)?;
        Reader::new(head, big).u64(&mut size).ok_or_else(short)?;
        let end = file.size();
        let mut walk = Walk::new(more.iter().fold(end, |sum, file| sum + file.size()));
        walk.samples = samples;
        if size == PIPE_HEADER {
            data.form = Form::Pipe;
            data.walk(&mut walk, &mut window, PIPE_HEADER..end, file);
        } else {
            let head = window.get(0, FILE_HEADER as usize).ok_or_else(short)?.to_vec();
            let header = Header::read(&head, big).ok_or_else(short)?;
            data.read_attrs(&header, &mut window, end)?;
            data.attrs.iter().for_each(|attr| walk.events.add(attr));
            data.read_features(&header, &mut window);
            if let Some(init) = data.features.get(&INIT_MAP).cloned() {
                walk.inner.extend(init);
                data.walk_inner(&mut walk);
                walk.end_file();
            }
            let (from, len) = header.data;
            let to = from.checked_add(len).filter(|to| *to <= end && len > 0);
            // A recording that was interrupted has no length in its header.
            let to = to.unwrap_or_else(|| {
                data.problems.push(format!(
                    "the header states {len} bytes of records from offset {from:#x} on; they \
                     are read up to the end of the file"
                ));
                end
            });
            data.walk(&mut walk, &mut window, from..to, file);
        }
        data.end(&mut walk);
        for file in more {
            data.walk(&mut walk, &mut Window::new(file), 0..file.size(), file);
            data.end(&mut walk);
        }
        if let Some(further) = walk.damaged.checked_sub(MAX_DAMAGED).filter(|count| *count > 0) {
            data.problems.push(format!("{further} further records are damaged"));
        }
        Ok(data)
    }

    /// Ends the records of a file.
    fn end(&mut self, walk: &mut Walk) {
        let left = walk.inner.len() - walk.done;
        if left > 0 {
            self.problems.push(format!("the compressed records end within one: {left} bytes lost"));
        }
        walk.end_file();
    }

    /// Reads the events. Valid files have each identifier once, so that all of them are shorter
    /// than the file of `len` bytes.
    fn read_attrs(
        &mut self,
        header: &Header,
        window: &mut Window<'_>,
        len: u64,
    ) -> Result<(), String> {
        let mut budget = Budget::new(len);
        let (at, size) = header.attrs;
        let entry = header.attr_size;
        let wrong = || format!("the events at offset {at:#x} have entries of {entry} bytes");
        let len = usize::try_from(entry).ok().filter(|len| (80..=1 << 12).contains(len));
        let len = len.ok_or_else(wrong)?;
        if size / entry > MAX_ATTRS {
            self.problems.push(too_many_events());
        }
        let mut without = 0;
        for n in 0..(size / entry).min(MAX_ATTRS) {
            let bytes = window.get(at.saturating_add(n * entry), len).ok_or_else(wrong)?;
            let mut attr = Attr::read(bytes, self.big).ok_or_else(wrong)?;
            let mut ids = Reader::new(bytes.get(len - 16..).unwrap_or_default(), self.big);
            let (mut from, mut size) = (0, 0);
            let _ = ids.u64(&mut from).and(ids.u64(&mut size));
            let own = budget.take(size);
            without += u64::from(!own);
            let size = usize::try_from(size).ok().filter(|_| own);
            let bytes = size.and_then(|size| window.get(from, size));
            let mut ids = Reader::new(bytes.unwrap_or_default(), self.big);
            let count = ids.left() / 8;
            let _ = ids.words(&mut attr.ids, count);
            self.attrs.push(attr);
        }
        if without > 0 {
            self.problems.push(format!(
                "the identifiers of {without} events are not read: all identifiers have more bytes \
                 than the file"
            ));
        }
        Ok(())
    }

    fn read_features(&mut self, header: &Header, window: &mut Window<'_>) {
        let mut at = header.data.0.saturating_add(header.data.1);
        let mut left = MAX_FEATURES;
        for number in header.features() {
            let Some(entry) = window.get(at, 16) else {
                self.problems.push("the table of feature sections is incomplete".into());
                return;
            };
            at += 16;
            let (mut from, mut size) = (0, 0);
            let mut entry = Reader::new(entry, self.big);
            let _ = entry.u64(&mut from).and(entry.u64(&mut size));
            let last = from.saturating_add(size.saturating_sub(1));
            let whole = window.get(last, 1).is_some();
            let bytes = usize::try_from(size).ok().filter(|_| size <= left);
            match bytes.and_then(|len| window.get(from, len)) {
                Some(bytes) => {
                    left -= size;
                    self.features.insert(number, bytes.to_vec());
                }
                None if size > left && whole => {
                    self.problems.push(format!(
                        "feature section {number} ({size} bytes at offset {from:#x}) is not read: \
                         all sections have more than {MAX_FEATURES} bytes"
                    ));
                }
                None => self.problems.push(format!(
                    "feature section {number} ({size} bytes at offset {from:#x}) is not in the file"
                )),
            }
        }
    }

    /// Reads the records of `range`.
    fn walk(
        &mut self,
        walk: &mut Walk,
        window: &mut Window<'_>,
        range: std::ops::Range<u64>,
        file: &Bytes,
    ) {
        let (mut at, end) = (range.start, range.end);
        while at < end {
            let left = end - at;
            let head = window.get(at, HEADER).and_then(|head| head_of(head, self.big));
            let Some((number, misc, size)) = head.filter(|(_, _, size)| *size as u64 <= left)
            else {
                self.problems.push(format!(
                    "no record at offset {at:#x}: {left} bytes up to offset {end:#x} are not read"
                ));
                return;
            };
            let Some(bytes) = window.get(at + HEADER as u64, size - HEADER) else { return };
            at += size as u64;
            match number {
                COMPRESSED | COMPRESSED2 => {
                    let bytes = compressed(number, bytes, self.big);
                    self.unpack(walk, bytes, at);
                }
                _ => {
                    let len = self.record(walk, number, misc, bytes, at);
                    if let Some(len) = len {
                        let trace = file.part(at, len.min(end - at));
                        if (trace.len() as u64) < len {
                            self.problems.push(format!(
                                "the file ends within the trace at offset {at:#x}: {} of {len} \
                                 bytes are lost",
                                len - trace.len() as u64
                            ));
                        }
                        at += trace.len() as u64;
                        self.trace.push(trace);
                    }
                }
            }
            if walk.full {
                return;
            }
        }
    }

    /// Reads the records in a compressed record that ends at offset `end`.
    fn unpack(&mut self, walk: &mut Walk, bytes: &[u8], end: u64) {
        if walk.lost {
            return;
        }
        let mut unpacker = std::mem::take(&mut walk.unpacker);
        let mut budget = walk.unpacked;
        let done = unpacker.unpack(bytes, &mut budget, |part| {
            if !walk.full && !walk.lost {
                walk.inner.extend_from_slice(part);
                self.walk_inner(walk);
            }
        });
        walk.unpacked = budget;
        if let Err(why) = done {
            unpacker.restart();
            self.damaged(walk, || {
                format!(
                    "the compressed record that ends at offset {end:#x} is damaged, and all after \
                     it are lost: {why}"
                )
            });
        }
        walk.unpacker = unpacker;
    }

    /// Reads the records that were unpacked, as far as they are whole.
    fn walk_inner(&mut self, walk: &mut Walk) {
        while !walk.full && !walk.lost && walk.inner.len() - walk.done >= walk.needed {
            let inner = std::mem::take(&mut walk.inner);
            let rest = inner.get(walk.done..).unwrap_or_default();
            let taken = self.inner_record(walk, rest);
            walk.inner = inner;
            match taken {
                Ok(len) => (walk.done, walk.needed) = (walk.done + len, HEADER),
                Err(needed) => walk.needed = needed,
            }
        }
        // Each byte is moved at most twice.
        if walk.done > walk.inner.len() / 2 {
            walk.inner.drain(..walk.done);
            walk.done = 0;
        }
    }

    /// Reads the record at the beginning of `rest`, which were unpacked. Returns the number of its
    /// bytes.
    ///
    /// # Errors
    /// The number of bytes that are needed where `rest` has fewer.
    fn inner_record(&mut self, walk: &mut Walk, rest: &[u8]) -> Result<usize, usize> {
        let head = rest.get(..HEADER).ok_or(HEADER)?;
        let Some((number, misc, size)) = head_of(head, self.big) else {
            self.damaged(walk, || "the compressed records have one without a size".into());
            walk.lost = true;
            return Ok(0);
        };
        let bytes = rest.get(HEADER..size).ok_or(size)?;
        let mut len = 0;
        if number == AUXTRACE
            && let Some(Record { body: Body::AuxTrace(trace), .. }) =
                Record::read(number, misc, bytes, None, self.big)
        {
            len = usize::try_from(trace.size).unwrap_or(usize::MAX);
            let whole = size.saturating_add(len);
            // A record that was incomplete is counted already.
            if walk.needed != whole && !walk.trace.take(trace.size) {
                let limit = walk.trace.limit();
                self.damaged(walk, || {
                    format!(
                        "the compressed records from one with {len} bytes of trace on are not \
                         read: compressed trace has more than {limit} bytes"
                    )
                });
                walk.lost = true;
                return Ok(0);
            }
            if whole > rest.len() {
                return Err(whole);
            }
        }
        let trace = rest.get(size..size + len).unwrap_or_default();
        if self.record(walk, number, misc, bytes, 0).is_some() {
            self.trace.push(Bytes::from(trace.to_vec()));
        }
        Ok(size + len)
    }

    /// Counts a damaged record. The first ones are described.
    fn damaged(&mut self, walk: &mut Walk, text: impl FnOnce() -> String) {
        walk.damaged += 1;
        if walk.damaged <= MAX_DAMAGED {
            self.problems.push(text());
        }
    }

    /// Takes one record. Returns the number of bytes that follow an AUXTRACE record.
    fn record(
        &mut self,
        walk: &mut Walk,
        number: u32,
        misc: u16,
        bytes: &[u8],
        end: u64,
    ) -> Option<u64> {
        if number == SAMPLE {
            let stored = walk.samples && walk.memory.take((RECORD + bytes.len()) as u64);
            match stored {
                true => self
                    .samples
                    .push(RawSample { after: self.records.len(), bytes: bytes.to_vec() }),
                false => *self.skipped.entry(number).or_default() += 1,
            }
            return None;
        }
        walk.count += 1;
        if walk.count > MAX_RECORDS || !walk.memory.take((RECORD + bytes.len()) as u64) {
            self.problems.push(format!(
                "the records from offset {end:#x} on are not read: there are more than \
                 {MAX_RECORDS}, or they need more than {} bytes of memory",
                walk.memory.limit()
            ));
            walk.full = true;
            return None;
        }
        let attr = walk.events.of(&self.attrs, last_word(bytes, self.big));
        let Some(record) = Record::read(number, misc, bytes, attr, self.big) else {
            self.damaged(walk, || {
                let at = end.saturating_sub((bytes.len() + HEADER) as u64);
                format!("the record of kind {number} at offset {at:#x} is shorter than its fields")
            });
            return None;
        };
        let follows = match &record.body {
            Body::AuxTrace(trace) => Some(trace.size),
            Body::Attr(attr) => {
                match (self.attrs.len() as u64).cmp(&MAX_ATTRS) {
                    Ordering::Less => {
                        walk.events.add(attr);
                        self.attrs.push((**attr).clone());
                    }
                    Ordering::Equal if !walk.too_many_events => {
                        walk.too_many_events = true;
                        self.problems.push(too_many_events());
                    }
                    _ => {}
                }
                None
            }
            Body::Feature { number, bytes } => {
                if let Ok(number @ 0..256) = u32::try_from(*number) {
                    self.features.insert(number, bytes.clone());
                }
                None
            }
            _ => None,
        };
        self.records.push(record);
        follows
    }
}

fn too_many_events() -> String {
    format!("there are more than {MAX_ATTRS} events, and the further ones are not used")
}

/// The number of damaged records with a note.
const MAX_DAMAGED: usize = 8;
/// The memory in bytes of a record beside its own bytes.
const RECORD: usize = size_of::<Record>() + 64;

/// The events by the identifiers of their instances.
#[derive(Default)]
pub(super) struct Events {
    /// The index of the first event with an identifier.
    by_id: HashMap<u64, usize>,
    count: usize,
}

impl Events {
    /// The events `attrs`.
    pub(super) fn new(attrs: &[Attr]) -> Events {
        let mut events = Events::default();
        attrs.iter().for_each(|attr| events.add(attr));
        events
    }

    /// Adds the next event.
    fn add(&mut self, attr: &Attr) {
        for id in &attr.ids {
            self.by_id.entry(*id).or_insert(self.count);
        }
        self.count += 1;
    }

    /// The one of `attrs` with the identifier `id`; the first one where records have no
    /// identifier, or none of the events has it.
    pub(super) fn of<'a>(&self, attrs: &'a [Attr], id: Option<u64>) -> Option<&'a Attr> {
        let [first, rest @ ..] = attrs else { return None };
        if rest.is_empty() || first.sample_type & Attr::IDENTIFIER == 0 {
            return Some(first);
        }
        let own = id.and_then(|id| attrs.get(*self.by_id.get(&id)?));
        own.or(Some(first))
    }
}

/// The last eight bytes of a record: its identifier.
fn last_word(bytes: &[u8], big: bool) -> Option<u64> {
    let mut id = 0;
    let tail = bytes.len().checked_sub(8).and_then(|at| bytes.get(at..))?;
    Reader::new(tail, big).u64(&mut id)?;
    Some(id)
}

/// The state of the walk through the records of all files.
struct Walk {
    count: usize,
    damaged: usize,
    too_many_events: bool,
    /// Samples are read.
    samples: bool,
    /// No further record is read.
    full: bool,
    /// No further compressed record of the file is read.
    lost: bool,
    events: Events,
    /// The memory that records may take.
    memory: Budget,
    /// The bytes that compressed records may unpack to, and those of trace among them.
    unpacked: Budget,
    trace: Budget,
    unpacker: Unpacker,
    /// Unpacked bytes, of which the first `done` were read.
    inner: Vec<u8>,
    done: usize,
    /// The bytes that the next record has, as far as they are known.
    needed: usize,
}

impl Walk {
    /// `len` is the number of bytes of all files.
    fn new(len: u64) -> Walk {
        Walk {
            count: 0,
            damaged: 0,
            too_many_events: false,
            samples: false,
            full: false,
            lost: false,
            events: Events::default(),
            memory: Budget::new(len.saturating_mul(RECORD_MEMORY) + MAX_RECORD_MEMORY),
            unpacked: Budget::new(MAX_UNPACKED),
            trace: Budget::of_trace(len),
            unpacker: Unpacker::default(),
            inner: Vec::new(),
            done: 0,
            needed: HEADER,
        }
    }

    /// Forgets the compressed records of a file.
    fn end_file(&mut self) {
        self.unpacker.restart();
        self.inner.clear();
        (self.done, self.needed, self.lost) = (0, HEADER, false);
    }
}

/// The compressed bytes of a record.
fn compressed(number: u32, bytes: &[u8], big: bool) -> &[u8] {
    if number == COMPRESSED {
        return bytes;
    }
    let mut size = 0;
    let mut reader = Reader::new(bytes, big);
    let _ = reader.u64(&mut size);
    let rest = bytes.get(8..).unwrap_or_default();
    usize::try_from(size).ok().and_then(|size| rest.get(..size)).unwrap_or(rest)
}

/// Number, `misc` and size of the record with the header `head`. `None`: the size is less than that
/// of the header.
fn head_of(head: &[u8], big: bool) -> Option<(u32, u16, usize)> {
    let (mut number, mut misc, mut size) = (0, 0, 0);
    let mut head = Reader::new(head, big);
    head.u32(&mut number)?;
    head.u16(&mut misc)?;
    head.u16(&mut size)?;
    Some((number, misc, usize::from(size))).filter(|(_, _, size)| *size >= HEADER)
}

/// The header of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    /// The size in bytes of each event: the structure and the section of its identifiers.
    pub(super) attr_size: u64,
    /// Offset and size of the events.
    pub(super) attrs: (u64, u64),
    /// Offset and size of the records.
    pub(super) data: (u64, u64),
    /// The bits of the feature sections.
    pub(super) bits: Vec<u64>,
}

impl Header {
    fn read(bytes: &[u8], big: bool) -> Option<Header> {
        let mut header = Header::default();
        header.fields(&mut Reader::new(bytes, big))?;
        Some(header)
    }

    /// The order of these lines is the order in the file.
    pub(super) fn fields(&mut self, f: &mut impl Fields) -> Option<()> {
        let (mut magic, mut size) = (u64::from_le_bytes(MAGIC), FILE_HEADER);
        f.u64(&mut magic)?;
        f.u64(&mut size)?;
        f.u64(&mut self.attr_size)?;
        f.u64(&mut self.attrs.0)?;
        f.u64(&mut self.attrs.1)?;
        f.u64(&mut self.data.0)?;
        f.u64(&mut self.data.1)?;
        // The types of events, a section that is not used.
        f.u64(&mut 0)?;
        f.u64(&mut 0)?;
        f.words(&mut self.bits, FEATURE_BITS / 64)
    }

    /// The numbers of the feature sections.
    fn features(&self) -> impl Iterator<Item = u32> {
        (0..FEATURE_BITS as u32).filter(|n| {
            self.bits.get(*n as usize / 64).is_some_and(|word| word >> (n % 64) & 1 != 0)
        })
    }
}
