//! The pieces of trace: what each AUX record announces, in the bytes of the AUXTRACE records.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use tracewright_frames::{Event, Framing, Link, Split, Splitter};

use super::attr::SampleId;
use super::compressed;
use super::data::PerfData;
use super::limits::MAX_PIECES;
use super::record::{Aux, AuxTrace, Body};
use crate::linux::Queue;
use crate::{Bytes, Problem};

/// The bytes of one AUX record. The trace unit begins anew in each.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) queue: Queue,
    pub(super) aux: Aux,
    /// The identification of the AUX record.
    pub(super) id: SampleId,
    /// The index of the AUX record among the records.
    pub(super) record: usize,
    /// The bytes, which may be in several AUXTRACE records.
    pub(super) parts: Vec<Bytes>,
}

impl Piece {
    /// The CPU that was traced.
    pub(super) fn cpu(&self) -> Option<u32> {
        match self.queue {
            Queue::Cpu(cpu) => Some(cpu),
            Queue::Thread(_) => self.id.cpu,
        }
    }

    /// The thread that was traced, or that the CPU executed at the AUX record.
    pub(super) fn thread(&self) -> Option<u32> {
        match self.queue {
            Queue::Thread(thread) => Some(thread),
            Queue::Cpu(_) => self.id.task.map(|(_, thread)| thread),
        }
    }

    /// The trace IDs in the formatter frames of the piece.
    pub(super) fn ids(&self) -> BTreeSet<u16> {
        /// Collects the IDs.
        struct Ids(BTreeSet<u16>);

        impl Split for Ids {
            fn piece(&mut self, id: u16, _: u64, _: bool, _: &[u8]) {
                self.0.insert(id);
            }

            fn event(&mut self, _: u64, _: Event) {}
        }

        let mut ids = Ids(BTreeSet::new());
        let mut splitter = Splitter::new(Link::new(Framing::Coresight));
        let (mut at, mut block) = (0, vec![0; BLOCK]);
        for part in &self.parts {
            let mut reader = part.reader();
            // Bytes before an error count.
            while let Ok(len @ 1..) = reader.read(&mut block) {
                splitter.split(at, block.get(..len).unwrap_or_default(), &mut ids);
                at += len as u64;
            }
        }
        splitter.finish(&mut ids);
        ids.0
    }
}

/// The number of bytes that are read at once.
const BLOCK: usize = 1 << 16;

/// The pieces, and what could not be found.
#[derive(Clone, Debug, Default)]
pub(super) struct Pieces {
    pub(super) pieces: Vec<Piece>,
    /// AUX records without their bytes, and the number of bytes that they announce.
    pub(super) absent: (u64, u64),
    /// Bytes of AUXTRACE records that no AUX record announces.
    pub(super) unclaimed: u64,
    /// AUX records without bytes whose flags report a loss.
    pub(super) empty_losses: u64,
    /// There are no AUX records, so that each AUXTRACE record is a piece.
    pub(super) whole: bool,
    pub(super) problems: Vec<String>,
}

/// Bytes of a queue: their offset and the bytes.
type Stored = BTreeMap<u64, Bytes>;

impl Pieces {
    pub(super) fn of(data: &PerfData) -> Pieces {
        let mut pieces = Pieces::default();
        let mut queues: BTreeMap<Queue, Stored> = BTreeMap::new();
        let instances = instances(data);
        let simpleperf = data.features.contains_key(&super::features::META_INFO);
        let traces = data.records.iter().enumerate().filter_map(|(n, record)| match &record.body {
            Body::AuxTrace(trace) => Some((n, *trace)),
            _ => None,
        });
        let traces: Vec<(usize, AuxTrace)> = traces.collect();
        for ((_, trace), bytes) in traces.iter().zip(&data.trace) {
            let bytes = match unpacked(bytes, simpleperf) {
                Ok(bytes) => bytes,
                Err(why) => {
                    pieces.problems.push(format!(
                        "{} bytes of compressed trace are damaged: {why}",
                        bytes.len()
                    ));
                    continue;
                }
            };
            // simpleperf writes thread 0 for the buffers of CPUs.
            let queue = match trace.cpu {
                u32::MAX => Queue::Thread(trace.thread),
                cpu => Queue::Cpu(cpu),
            };
            queues.entry(queue).or_default().insert(trace.offset, bytes);
        }
        let mut claimed: BTreeMap<Queue, u64> = BTreeMap::new();
        let mut any = false;
        for (n, record) in data.records.iter().enumerate() {
            let Body::Aux(aux) = &record.body else { continue };
            any = true;
            if aux.size == 0 {
                let lost = aux.flags & (Aux::TRUNCATED | Aux::PARTIAL | Aux::COLLISION) != 0;
                pieces.empty_losses += u64::from(lost);
                continue;
            }
            let id = identified(record.id, &instances);
            let cpu = id.cpu.map(Queue::Cpu);
            let thread = id.task.map(|(_, thread)| Queue::Thread(thread));
            let found = [cpu, thread].into_iter().flatten().find_map(|queue| {
                let (aux, parts) = select(queues.get(&queue)?, *aux)?;
                Some((queue, aux, parts))
            });
            // Without an identification, one queue is the only possibility.
            let found = found.or_else(|| {
                let mut all = queues.iter();
                let (queue, stored) = all.next().filter(|_| cpu.is_none() && thread.is_none())?;
                let (aux, parts) = select(stored, *aux).filter(|_| all.next().is_none())?;
                Some((*queue, aux, parts))
            });
            match found {
                Some((queue, aux, parts)) => {
                    *claimed.entry(queue).or_default() += aux.size;
                    pieces.pieces.push(Piece { queue, aux, id, record: n, parts });
                }
                None => {
                    pieces.absent.0 += 1;
                    pieces.absent.1 = pieces.absent.1.saturating_add(aux.size);
                }
            }
        }
        if !any {
            pieces.whole = !traces.is_empty();
            for (queue, stored) in &queues {
                for (offset, bytes) in stored {
                    let aux = Aux { offset: *offset, size: bytes.len() as u64, flags: 0 };
                    let (id, parts) = (SampleId::default(), vec![bytes.clone()]);
                    let record = traces.first().map_or(0, |(n, _)| *n);
                    pieces.pieces.push(Piece { queue: *queue, aux, id, record, parts });
                }
            }
            return pieces;
        }
        for (queue, stored) in &queues {
            let all: u64 = stored.values().map(|bytes| bytes.len() as u64).sum();
            // Each AUXTRACE record is padded to a multiple of 8 bytes.
            let padding = 7 * stored.len() as u64;
            let left = all.saturating_sub(claimed.get(queue).copied().unwrap_or(0));
            pieces.unclaimed += if left > padding { left } else { 0 };
        }
        pieces
    }

    /// Notes on the trace that is in no piece.
    pub(super) fn report(&mut self, note: &mut dyn FnMut(Problem)) {
        let mut note = |text| note(Problem::PerfData(text));
        self.problems.drain(..).for_each(&mut note);
        let (records, bytes) = self.absent;
        if records > 0 {
            note(format!(
                "{records} AUX records announce {bytes} bytes of trace that are not in the file"
            ));
        }
        if self.unclaimed > 0 {
            note(format!(
                "{} bytes of trace belong to no AUX record and are not decoded",
                self.unclaimed
            ));
        }
        if self.empty_losses > 0 {
            note(format!(
                "{} AUX records report that trace was lost and none was stored",
                self.empty_losses
            ));
        }
        if self.whole {
            note(
                "there are no AUX records: each AUXTRACE record is decoded as a whole, as \
                 formatter frames or, for an ETE, without frames"
                    .into(),
            );
        }
    }

    /// Drops the pieces beyond [`MAX_PIECES`], with a note.
    pub(super) fn truncate(&mut self, note: &mut dyn FnMut(Problem)) {
        if self.pieces.len() <= MAX_PIECES {
            return;
        }
        let rest = self.pieces.split_off(MAX_PIECES);
        let bytes = rest.iter().fold(0, |sum: u64, piece| sum.saturating_add(piece.aux.size));
        note(Problem::PerfData(format!(
            "there are more than {MAX_PIECES} AUX records: the last {}, with {bytes} bytes, are not \
             decoded",
            rest.len()
        )));
    }
}

/// CPU and thread of each identifier, from the ID_INDEX records.
fn instances(data: &PerfData) -> BTreeMap<u64, (Option<u32>, Option<u32>)> {
    let entries = data.records.iter().filter_map(|record| match &record.body {
        Body::IdIndex(entries) => Some(entries),
        _ => None,
    });
    let known = |number: u64| u32::try_from(number).ok().filter(|number| *number != u32::MAX);
    entries.flatten().map(|e| (e.id, (known(e.cpu), known(e.thread)))).collect()
}

/// The identification of a record with the CPU and the thread of its event, where the record has
/// none.
fn identified(id: SampleId, instances: &BTreeMap<u64, (Option<u32>, Option<u32>)>) -> SampleId {
    let its = id.identifier.or(id.id).and_then(|id| instances.get(&id));
    let Some((cpu, thread)) = its.copied() else { return id };
    let task = thread.map(|thread| (thread, thread));
    SampleId { cpu: id.cpu.or(cpu), task: id.task.or(task), ..id }
}

/// The bytes of an AUXTRACE record. simpleperf may compress each on its own.
fn unpacked(bytes: &Bytes, simpleperf: bool) -> Result<Bytes, String> {
    if simpleperf && bytes.head(4).starts_with(&compressed::MAGIC) {
        // The padding to a multiple of 8 bytes is no frame.
        let packed: &[u8] = bytes;
        let zeros = packed.iter().rev().take(7).take_while(|byte| **byte == 0).count();
        let mut last = Err(String::new());
        for zeros in 0..=zeros {
            let packed = packed.get(..packed.len() - zeros).unwrap_or_default();
            last = compressed::unpack(packed).map(Bytes::from);
            if last.is_ok() {
                break;
            }
        }
        return last;
    }
    Ok(bytes.clone())
}

/// The bytes that `aux` announces, and the record with its actual offset and size.
fn select(stored: &Stored, aux: Aux) -> Option<(Aux, Vec<Bytes>)> {
    if aux.flags & Aux::OVERWRITE != 0 {
        // The offset is that of the end, and the size may exceed that of the copy.
        let (_, last) = stored.range(..=aux.offset).next_back()?;
        let size = aux.size.min(last.len() as u64);
        let aux = Aux { offset: aux.offset.checked_sub(size)?, size, flags: aux.flags };
        return Some((aux, range(stored, aux.offset, size)?));
    }
    Some((aux, range(stored, aux.offset, aux.size)?))
}

/// The bytes from `offset` on, `size` of them, where all are stored.
fn range(stored: &Stored, offset: u64, size: u64) -> Option<Vec<Bytes>> {
    let (mut at, mut left) = (offset, size);
    let mut parts = Vec::new();
    while left > 0 {
        let (start, bytes) = stored.range(..=at).next_back()?;
        let part = bytes.part(at - start, left);
        let len = part.len() as u64;
        if len == 0 {
            return None;
        }
        parts.push(part);
        at = at.checked_add(len)?;
        left -= len;
    }
    Some(parts)
}
