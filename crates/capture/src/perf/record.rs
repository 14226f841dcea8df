//! The records of `perf.data`: those of the kernel (numbers below 64) and those of the tool.
//! (perf_event_open(2); tools/perf/Documentation/perf.data-file-format.txt of Linux)

use super::attr::{Attr, SampleId};
use super::fields::{Fields, Reader, Writer};
use crate::linux::TimeConversion;

/// The size in bytes of the header: number, `misc`, size of the record.
pub(super) const HEADER: usize = 8;

/// Bits \[2:0] of `misc`: the mode of the processor.
const CPU_MODE: u16 = 7;
/// The mode of the processor in records of the kernel's own code.
const KERNEL: u16 = 1;
/// The modes of the processor in records of a guest: its kernel, its programs.
const GUEST: [u16; 2] = [4, 5];
/// Bit 13 of `misc`: of COMM, the thread executes another program; of MMAP, the mapping is data.
const MISC_13: u16 = 1 << 13;
/// Bit 14 of `misc` of MMAP2: the record has a build identifier.
const BUILD_ID: u16 = 1 << 14;

/// A record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// `misc` of the header.
    pub misc: u16,
    /// The content.
    pub body: Body,
    /// The identification at the end.
    pub id: SampleId,
}

/// A file is mapped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mmap {
    /// The process; `u32::MAX` for the kernel.
    pub process: u32,
    /// The thread.
    pub thread: u32,
    /// The first address.
    pub address: u64,
    /// The length in bytes.
    pub len: u64,
    /// The offset in the file.
    pub offset: u64,
    /// Device, inode and generation of the file, or its build identifier. (MMAP2)
    pub file: Option<MappedFile>,
    /// The path.
    pub path: String,
}

/// What MMAP2 records beyond MMAP.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MappedFile {
    /// 24 bytes: major and minor number of the device, inode, generation; or length and bytes of
    /// the build identifier.
    pub identity: Vec<u8>,
    /// The protection, as for mmap(2).
    pub protection: u32,
    /// The flags, as for mmap(2).
    pub flags: u32,
}

/// A thread begins or ends. (FORK and EXIT)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Task {
    /// The process.
    pub process: u32,
    /// The process of the parent.
    pub parent_process: u32,
    /// The thread.
    pub thread: u32,
    /// The thread of the parent.
    pub parent_thread: u32,
    /// The time.
    pub time: u64,
}

/// Bytes of the trace buffer of a CPU or thread were recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Aux {
    /// The position in all bytes of that buffer.
    pub offset: u64,
    /// The number of bytes.
    pub size: u64,
    /// See [`Aux::TRUNCATED`] and the other constants.
    pub flags: u64,
}

impl Aux {
    /// Trace was lost, because the buffer was full.
    pub const TRUNCATED: u64 = 1;
    /// The buffer is overwritten: a snapshot.
    pub const OVERWRITE: u64 = 2;
    /// The record has gaps.
    pub const PARTIAL: u64 = 4;
    /// Trace was lost, because the buffer wrapped.
    pub const COLLISION: u64 = 8;
    /// The format of the bytes.
    pub const FORMAT: u64 = 0xff00;
    /// The format without formatter frames.
    pub const RAW: u64 = 0x100;
}

/// The bytes that follow the record are those of the trace buffer of a CPU or thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuxTrace {
    /// The number of bytes: padded to a multiple of 8.
    pub size: u64,
    /// The position of the first in all bytes of that buffer.
    pub offset: u64,
    /// A number of the tool.
    pub reference: u64,
    /// The ordinal of the buffer.
    pub index: u32,
    /// The thread, where `cpu` is `u32::MAX`.
    pub thread: u32,
    /// The CPU; `u32::MAX` for a buffer of a thread.
    pub cpu: u32,
    /// Not used.
    pub reserved: u32,
}

/// The instance of an event with an identifier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IdEntry {
    /// The identifier.
    pub id: u64,
    /// The ordinal of the buffer.
    pub index: u64,
    /// The CPU; `u64::MAX` for all.
    pub cpu: u64,
    /// The thread; `u64::MAX` for all.
    pub thread: u64,
}

/// The content of a record.
#[allow(missing_docs, reason = "the fields are those of the records' descriptions")]
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Body {
    /// MMAP (1) and MMAP2 (10).
    Mmap(Mmap),
    /// LOST (2): event and number of records that were lost.
    Lost { event: u64, count: u64 },
    /// COMM (3): the name of a thread.
    Comm { process: u32, thread: u32, name: String },
    /// EXIT (4).
    Exit(Task),
    /// FORK (7).
    Fork(Task),
    /// AUX (11).
    Aux(Aux),
    /// ITRACE_START (12): a thread is traced from here on.
    TraceStart { process: u32, thread: u32 },
    /// LOST_SAMPLES (13): number of samples that were lost.
    LostSamples(u64),
    /// SWITCH_CPU_WIDE (15): the CPU switches to the thread, or from it.
    Switch { process: u32, thread: u32 },
    /// TEXT_POKE (20): code of the kernel is changed.
    TextPoke { address: u64, old: Vec<u8>, new: Vec<u8> },
    /// AUX_OUTPUT_HW_ID (21): the trace ID of a CPU.
    HardwareId(u64),
    /// HEADER_ATTR (64): an event. (pipes)
    Attr(Box<Attr>),
    /// ID_INDEX (69): the CPU and the thread of each identifier of an event.
    IdIndex(Vec<IdEntry>),
    /// AUXTRACE_INFO (70): type of the trace, and words.
    AuxTraceInfo { kind: u32, words: Vec<u64> },
    /// AUXTRACE (71).
    AuxTrace(AuxTrace),
    /// TIME_CONV (79).
    TimeConversion(TimeConversion),
    /// HEADER_FEATURE (80): a feature section. (pipes)
    Feature { number: u64, bytes: Vec<u8> },
    /// Any other record.
    Other { number: u32, bytes: Vec<u8> },
}

/// The type of an AUXTRACE_INFO with CoreSight trace.
pub const CS_ETM: u32 = 3;

impl Body {
    /// The number of the kind of record.
    pub fn number(&self) -> u32 {
        match self {
            Body::Mmap(Mmap { file: None, .. }) => 1,
            Body::Lost { .. } => 2,
            Body::Comm { .. } => 3,
            Body::Exit(_) => 4,
            Body::Fork(_) => 7,
            Body::Mmap(_) => 10,
            Body::Aux(_) => 11,
            Body::TraceStart { .. } => 12,
            Body::LostSamples(_) => 13,
            Body::Switch { .. } => 15,
            Body::TextPoke { .. } => 20,
            Body::HardwareId(_) => 21,
            Body::Attr(_) => 64,
            Body::IdIndex(_) => 69,
            Body::AuxTraceInfo { .. } => 70,
            Body::AuxTrace(_) => 71,
            Body::TimeConversion(_) => 79,
            Body::Feature { .. } => 80,
            Body::Other { number, .. } => *number,
        }
    }

    /// An empty record of kind `number`, into which fields are read.
    fn of(number: u32) -> Body {
        match number {
            1 => Body::Mmap(Mmap::default()),
            2 => Body::Lost { event: 0, count: 0 },
            3 => Body::Comm { process: 0, thread: 0, name: String::new() },
            4 => Body::Exit(Task::default()),
            7 => Body::Fork(Task::default()),
            10 => Body::Mmap(Mmap { file: Some(MappedFile::default()), ..Mmap::default() }),
            11 => Body::Aux(Aux::default()),
            12 => Body::TraceStart { process: 0, thread: 0 },
            13 => Body::LostSamples(0),
            15 => Body::Switch { process: 0, thread: 0 },
            20 => Body::TextPoke { address: 0, old: Vec::new(), new: Vec::new() },
            21 => Body::HardwareId(0),
            64 => Body::Attr(Box::default()),
            69 => Body::IdIndex(Vec::new()),
            70 => Body::AuxTraceInfo { kind: 0, words: Vec::new() },
            71 => Body::AuxTrace(AuxTrace::default()),
            79 => Body::TimeConversion(TimeConversion::default()),
            80 => Body::Feature { number: 0, bytes: Vec::new() },
            _ => Body::Other { number, bytes: Vec::new() },
        }
    }

    /// The order of these lines is the order in the file.
    fn fields(&mut self, f: &mut impl Fields) -> Option<()> {
        match self {
            Body::Mmap(mapping) => mapping.fields(f),
            Body::Lost { event, count } => {
                f.u64(event)?;
                f.u64(count)
            }
            Body::Comm { process, thread, name } => {
                f.u32(process)?;
                f.u32(thread)?;
                f.text(name)
            }
            Body::Exit(t) | Body::Fork(t) => {
                f.u32(&mut t.process)?;
                f.u32(&mut t.parent_process)?;
                f.u32(&mut t.thread)?;
                f.u32(&mut t.parent_thread)?;
                f.u64(&mut t.time)
            }
            Body::Aux(a) => {
                f.u64(&mut a.offset)?;
                f.u64(&mut a.size)?;
                f.u64(&mut a.flags)
            }
            Body::TraceStart { process, thread } | Body::Switch { process, thread } => {
                f.u32(process)?;
                f.u32(thread)
            }
            Body::LostSamples(count) => f.u64(count),
            Body::TextPoke { address, old, new } => text_poke(address, old, new, f),
            Body::HardwareId(id) => f.u64(id),
            // `Record::write` writes it.
            Body::Attr(attr) => {
                let mut bytes = Vec::new();
                f.rest(&mut bytes)?;
                **attr = Attr::read(&bytes, f.big())?;
                // The identifiers follow the structure.
                let mut ids = Reader::new(bytes.get(attr.size as usize..)?, f.big());
                let count = ids.left() / 8;
                ids.words(&mut attr.ids, count)
            }
            Body::IdIndex(entries) => id_index(entries, f),
            Body::AuxTraceInfo { kind, words } => {
                let mut reserved = 0;
                f.u32(kind)?;
                f.u32(&mut reserved)?;
                let count = words.len().max(f.left() / 8);
                f.words(words, count)
            }
            Body::AuxTrace(t) => {
                f.u64(&mut t.size)?;
                f.u64(&mut t.offset)?;
                f.u64(&mut t.reference)?;
                f.u32(&mut t.index)?;
                f.u32(&mut t.thread)?;
                f.u32(&mut t.cpu)?;
                f.u32(&mut t.reserved)
            }
            Body::TimeConversion(t) => {
                f.u64(&mut t.shift)?;
                f.u64(&mut t.multiplier)?;
                f.u64(&mut t.zero)
            }
            Body::Feature { number, bytes } => {
                f.u64(number)?;
                f.rest(bytes)
            }
            Body::Other { bytes, .. } => f.rest(bytes),
        }
    }
}

impl Mmap {
    fn fields(&mut self, f: &mut impl Fields) -> Option<()> {
        f.u32(&mut self.process)?;
        f.u32(&mut self.thread)?;
        f.u64(&mut self.address)?;
        f.u64(&mut self.len)?;
        f.u64(&mut self.offset)?;
        if let Some(file) = &mut self.file {
            file.identity.resize(24, 0);
            f.raw(&mut file.identity)?;
            f.u32(&mut file.protection)?;
            f.u32(&mut file.flags)?;
        }
        f.text(&mut self.path)
    }
}

fn text_poke(
    address: &mut u64,
    old: &mut Vec<u8>,
    new: &mut Vec<u8>,
    f: &mut impl Fields,
) -> Option<()> {
    let (mut before, mut after) = (old.len() as u16, new.len() as u16);
    f.u64(address)?;
    f.u16(&mut before)?;
    f.u16(&mut after)?;
    old.resize(before.into(), 0);
    f.raw(old)?;
    new.resize(after.into(), 0);
    f.raw(new)?;
    let used = 12 + usize::from(before) + usize::from(after);
    let mut padding = vec![0; used.next_multiple_of(8) - used];
    f.raw(&mut padding)
}

fn id_index(entries: &mut Vec<IdEntry>, f: &mut impl Fields) -> Option<()> {
    let mut count = entries.len() as u64;
    f.u64(&mut count)?;
    let count = usize::try_from(count).ok()?.max(entries.len());
    if entries.is_empty() && count > f.left() / 32 {
        return None;
    }
    entries.resize(count, IdEntry::default());
    for entry in entries {
        f.u64(&mut entry.id)?;
        f.u64(&mut entry.index)?;
        f.u64(&mut entry.cpu)?;
        f.u64(&mut entry.thread)?;
    }
    Some(())
}

impl Record {
    /// A record without identification.
    pub fn new(body: Body) -> Record {
        let misc = match &body {
            Body::Mmap(mmap) if mmap.process == u32::MAX => KERNEL,
            _ => 0,
        };
        Record { misc, body, id: SampleId::default() }
    }

    /// The same record with identification.
    #[must_use]
    pub fn with_id(self, id: SampleId) -> Record {
        Record { id, ..self }
    }

    /// Reads a record of kind `number`: its bytes without the header. Records of the kernel have
    /// the identification of `attr`. `None`: fields are missing.
    pub(super) fn read(
        number: u32,
        misc: u16,
        bytes: &[u8],
        attr: Option<&Attr>,
        big: bool,
    ) -> Option<Record> {
        let mut record = Record { misc, body: Body::of(number), id: SampleId::default() };
        let tail = attr.filter(|_| has_id(number)).map_or(0, SampleId::size);
        let (body, id) = bytes.split_at_checked(bytes.len().checked_sub(tail)?)?;
        record.body.fields(&mut Reader::new(body, big))?;
        if let Some(attr) = attr.filter(|_| tail > 0) {
            record.id.fields(attr.sample_type, &mut Reader::new(id, big))?;
        }
        Some(record)
    }

    /// The bytes of the record with its header.
    pub(super) fn write(&self, attr: Option<&Attr>, big: bool) -> Vec<u8> {
        let number = self.body.number();
        let mut writer = Writer::new(big);
        let (mut kind, mut misc) = (number, self.misc);
        // A writer takes every field.
        let _ = writer.u32(&mut kind);
        let _ = writer.u16(&mut misc);
        let _ = writer.u16(&mut 0);
        let mut body = self.body.clone();
        if let Body::Attr(attr) = &body {
            writer.out.extend(attr.write(big));
            let mut ids = attr.ids.clone();
            let count = ids.len();
            let _ = writer.words(&mut ids, count);
        } else {
            let _ = body.fields(&mut writer);
        }
        if let Some(attr) =
            attr.filter(|attr| has_id(number) && attr.flags & Attr::SAMPLE_ID_ALL != 0)
        {
            let mut id = self.id;
            let _ = id.fields(attr.sample_type, &mut writer);
        }
        let len = u16::try_from(writer.out.len()).unwrap_or(u16::MAX);
        let len = if big { len.to_be_bytes() } else { len.to_le_bytes() };
        if let Some(size) = writer.out.get_mut(6..HEADER) {
            size.copy_from_slice(&len);
        }
        writer.out
    }

    /// A COMM record because the thread executes another program.
    pub fn is_exec(&self) -> bool {
        self.misc & MISC_13 != 0 && matches!(self.body, Body::Comm { .. })
    }

    /// The same record, a COMM, because the thread executes another program.
    #[must_use]
    pub fn exec(self) -> Record {
        Record { misc: self.misc | MISC_13, ..self }
    }

    /// A mapping of data, not of code.
    pub fn is_data(&self) -> bool {
        self.misc & MISC_13 != 0 && matches!(self.body, Body::Mmap(_))
    }

    /// The record is of the kernel's own code.
    pub fn is_kernel(&self) -> bool {
        self.misc & CPU_MODE == KERNEL
    }

    /// The record is of code of a guest.
    pub fn is_guest(&self) -> bool {
        GUEST.contains(&(self.misc & CPU_MODE))
    }

    /// The record is of code of the kernel of a guest.
    pub fn is_guest_kernel(&self) -> bool {
        self.misc & CPU_MODE == GUEST[0]
    }

    /// The build identifier in an MMAP2 record.
    pub fn build_id(&self) -> Option<&[u8]> {
        let Body::Mmap(Mmap { file: Some(file), .. }) = &self.body else { return None };
        let len = usize::from(*file.identity.first()?).min(20);
        let id = file.identity.get(4..4 + len)?;
        (self.misc & BUILD_ID != 0 && len > 0).then_some(id)
    }

    /// The same record, an MMAP2, with a build identifier of at most 20 bytes.
    #[must_use]
    pub fn with_build_id(mut self, id: &[u8]) -> Record {
        if let Body::Mmap(Mmap { file: Some(file), .. }) = &mut self.body {
            let id = id.get(..20).unwrap_or(id);
            file.identity = vec![id.len() as u8, 0, 0, 0];
            file.identity.extend_from_slice(id);
            file.identity.resize(24, 0);
            self.misc |= BUILD_ID;
        }
        self
    }
}

/// Whether a record of this kind ends with an identification. The identification of a sample is not
/// at its end.
fn has_id(number: u32) -> bool {
    number < 64 && number != 9
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One record of each kind, with the size of its body by perf_event_open(2).
    fn all() -> Vec<(Body, usize)> {
        let task = Task { process: 1, parent_process: 2, thread: 3, parent_thread: 4, time: 5 };
        let mmap = Mmap {
            process: 1,
            thread: 2,
            address: 0x1000,
            len: 0x2000,
            offset: 0x3000,
            file: None,
            path: "/bin/true".into(),
        };
        let file = MappedFile { identity: vec![7; 24], protection: 5, flags: 2 };
        vec![
            (Body::Mmap(mmap.clone()), 32 + 16),
            (Body::Mmap(Mmap { file: Some(file), ..mmap }), 64 + 16),
            (Body::Lost { event: 1, count: 2 }, 16),
            (Body::Comm { process: 1, thread: 2, name: "true".into() }, 16),
            (Body::Exit(task), 24),
            (Body::Fork(task), 24),
            (Body::Aux(Aux { offset: 1, size: 2, flags: 3 }), 24),
            (Body::TraceStart { process: 1, thread: 2 }, 8),
            (Body::LostSamples(3), 8),
            (Body::TextPoke { address: 1, old: vec![1; 4], new: vec![2; 8] }, 24),
            (Body::HardwareId(0x10), 8),
            (Body::IdIndex(vec![IdEntry { id: 1, index: 2, cpu: 3, thread: 4 }; 2]), 72),
            (Body::AuxTraceInfo { kind: 3, words: vec![1, 2, 3] }, 32),
            (Body::AuxTrace(AuxTrace { size: 8, cpu: 1, ..AuxTrace::default() }), 40),
            (Body::TimeConversion(TimeConversion { shift: 1, multiplier: 2, zero: 3 }), 24),
            (Body::Feature { number: 3, bytes: vec![1; 8] }, 16),
            (Body::Other { number: 68, bytes: vec![] }, 0),
            (Body::Attr(Box::new(Attr { size: 112, ids: vec![1, 2], ..Attr::default() })), 128),
        ]
    }

    #[test]
    fn every_record_is_read_as_it_was_written() {
        let attr = Attr {
            size: 112,
            sample_type: Attr::TID | Attr::TIME | Attr::ID | Attr::CPU | Attr::IDENTIFIER,
            flags: Attr::SAMPLE_ID_ALL,
            ..Attr::default()
        };
        let id = SampleId {
            task: Some((1, 2)),
            time: Some(3),
            id: Some(4),
            stream: None,
            cpu: Some(5),
            identifier: Some(6),
        };
        for big in [false, true] {
            for (body, size) in all() {
                let kernel = has_id(body.number());
                let record =
                    Record { misc: 0, body, id: if kernel { id } else { Default::default() } };
                let bytes = record.write(Some(&attr), big);
                let tail = if kernel { 40 } else { 0 };
                assert_eq!(bytes.len(), HEADER + size + tail, "{record:?}");
                let number = record.body.number();
                let read = Record::read(number, 0, &bytes[HEADER..], Some(&attr), big);
                assert_eq!(read, Some(record.clone()), "big {big}");
                // No prefix panics.
                for len in 0..bytes.len() - HEADER {
                    let _ = Record::read(number, 0, &bytes[HEADER..HEADER + len], Some(&attr), big);
                }
            }
        }
    }
}
