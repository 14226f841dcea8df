//! The pieces of trace: what each AUX record announces, in the bytes of the AUXTRACE records.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io::Read;

use tracewright_frames::{Event, Framing, Link, Split, Splitter};

use super::attr::SampleId;
use super::compressed;
use super::data::PerfData;
use super::limits::{Budget, MAX_LAYERS, MAX_PARTS, MAX_PIECES, MAX_REPEATS};
use super::record::{Aux, AuxTrace, Body, IdEntry};
use crate::Bytes;
use crate::linux::Queue;
use crate::problem::Problem;

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

    /// The trace IDs in the formatter frames of the piece. `block` is memory that is used again.
    pub(super) fn ids(&self, block: &mut Vec<u8>) -> BTreeSet<u16> {
        /// Collects the IDs.
        struct Ids(BTreeSet<u16>);

        impl Split for Ids {
            fn piece(&mut self, id: u16, _: u64, _: bool, _: &[u8]) {
                self.0.insert(id);
            }

            fn event(&mut self, _: u64, _: Event) {}
        }

        let mut ids = Ids(BTreeSet::new());
        self.split(&mut ids, block);
        ids.0
    }

    /// Removes the formatter frames of the piece. `block` is memory that is used again.
    pub(super) fn split(&self, to: &mut impl Split, block: &mut Vec<u8>) {
        let mut splitter = Splitter::new(Link::new(Framing::Coresight));
        let mut at = 0;
        block.resize(BLOCK, 0);
        for part in &self.parts {
            let mut reader = part.reader();
            // Bytes before an error count.
            while let Ok(len @ 1..) = reader.read(block) {
                splitter.split(at, block.get(..len).unwrap_or_default(), to);
                at += len as u64;
            }
        }
        splitter.finish(to);
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
    /// AUX records whose bytes others announce, too, and the number of these bytes.
    pub(super) repeated: (u64, u64),
    /// Bytes of AUXTRACE records that no AUX record announces.
    pub(super) unclaimed: u64,
    /// AUX records without bytes whose flags report a loss.
    pub(super) empty_losses: u64,
    /// AUX records of events of other PMUs, and the number of bytes that they announce.
    pub(super) others: (u64, u64),
    /// AUX records whose bytes cannot be distinguished from those of another event.
    pub(super) ambiguous: (u64, u64),
    /// There are no AUX records, so that each AUXTRACE record is a piece.
    pub(super) whole: bool,
    pub(super) problems: Vec<String>,
    /// AUXTRACE records that are damaged and not among the problems, and the number of their bytes.
    pub(super) damaged: (u64, u64),
}

impl Pieces {
    /// The pieces of the events of the PMU with the number `pmu`.
    pub(super) fn of(data: &PerfData, pmu: u32) -> Pieces {
        let mut pieces = Pieces::default();
        let events = EventKinds::new(data, pmu);
        let instances = instances(data);
        let traces = data.records.iter().enumerate().filter_map(|(n, record)| match &record.body {
            Body::AuxTrace(trace) => Some((n, *trace)),
            _ => None,
        });
        let traces: Vec<(usize, AuxTrace)> = traces.collect();
        let mixed = data
            .records
            .iter()
            .any(|record| matches!(record.body, Body::Aux(_)) && events.is_other(&record.id));
        let mut queues = pieces.stored(data, &traces, mixed);
        let ordinals: HashMap<u64, u64> = entries(data).map(|e| (e.id, e.index)).collect();
        let mut any = false;
        for (n, record) in data.records.iter().enumerate() {
            let Body::Aux(aux) = &record.body else { continue };
            any = true;
            if events.is_other(&record.id) {
                pieces.others.0 += 1;
                pieces.others.1 = pieces.others.1.saturating_add(aux.size);
                continue;
            }
            if aux.size == 0 {
                let lost = aux.flags & (Aux::TRUNCATED | Aux::PARTIAL | Aux::COLLISION) != 0;
                pieces.empty_losses += u64::from(lost);
                continue;
            }
            let id = identified(record.id, &instances);
            let cpu = id.cpu.map(Queue::Cpu);
            let thread = id.task.map(|(_, thread)| Queue::Thread(thread));
            let mut candidates = [cpu, thread];
            // Without an identification, one queue is the only possibility.
            if candidates == [None; 2] && queues.len() == 1 {
                candidates = [queues.keys().next().copied(), None];
            }
            let ordinal = id.identifier.or(id.id).and_then(|id| ordinals.get(&id).copied());
            let count = |(records, bytes): &mut (u64, u64)| {
                *records += 1;
                *bytes = bytes.saturating_add(aux.size);
            };
            let mut ambiguous = false;
            let found = candidates.into_iter().flatten().find_map(|queue| {
                let layers = queues.get_mut(&queue)?;
                let Some(layer) = layer_of(layers, *aux, ordinal) else {
                    ambiguous |= layers.iter().any(|stored| stored.select(*aux).is_some());
                    return None;
                };
                let stored = layers.get_mut(layer)?;
                let aux = stored.select(*aux)?;
                Some((queue, aux, stored.claim(aux).then(|| stored.range(aux.offset, aux.size))))
            });
            match found {
                None if ambiguous => count(&mut pieces.ambiguous),
                Some((queue, aux, Some(parts))) => {
                    pieces.pieces.push(Piece { queue, aux, id, record: n, parts });
                }
                Some((_, _, None)) => count(&mut pieces.repeated),
                None => count(&mut pieces.absent),
            }
        }
        if !any {
            if let Some((first, _)) = traces.first() {
                pieces.add_whole(&queues, *first);
            }
            return pieces;
        }
        // Trace of another event has its own layer, which no AUX record here announces.
        let ours = |stored: &&Stored| !mixed || stored.announced > 0;
        for stored in queues.values().flatten().filter(ours) {
            // Each AUXTRACE record is padded to a multiple of 8 bytes.
            let padding = 7 * stored.parts.len() as u64;
            let left = stored.len.saturating_sub(stored.announced);
            pieces.unclaimed += if left > padding { left } else { 0 };
        }
        pieces
    }

    /// The bytes of the AUXTRACE records `traces` of each CPU or thread. Trace of several events
    /// is `mixed`.
    fn stored(
        &mut self,
        data: &PerfData,
        traces: &[(usize, AuxTrace)],
        mixed: bool,
    ) -> BTreeMap<Queue, Vec<Stored>> {
        let simpleperf = data.features.contains_key(&super::features::META_INFO);
        let stored = data.trace.iter().fold(0, |sum, bytes| sum + bytes.len() as u64);
        let mut budget = Budget::of_trace(stored);
        let mut queues: BTreeMap<Queue, Layers> = BTreeMap::new();
        let mut unused = 0u64;
        for ((_, trace), bytes) in traces.iter().zip(&data.trace) {
            let bytes = match unpacked(bytes, simpleperf, &mut budget) {
                Ok(bytes) => bytes,
                Err(why) => {
                    self.damaged(bytes.len(), &why);
                    continue;
                }
            };
            // simpleperf writes thread 0 for the buffers of CPUs.
            let queue = match trace.cpu {
                u32::MAX => Queue::Thread(trace.thread),
                cpu => Queue::Cpu(cpu),
            };
            if !queues.entry(queue).or_default().insert(trace, bytes, mixed) {
                unused += 1;
            }
        }
        if unused > 0 {
            self.problems.push(format!(
                "a CPU or thread has more than {MAX_LAYERS} buffers: {unused} AUXTRACE records are \
                 not used"
            ));
        }
        queues.into_iter().map(|(queue, layers)| (queue, layers.stored())).collect()
    }

    /// Each AUXTRACE record is a piece. The first of them is that with number `record`.
    fn add_whole(&mut self, queues: &BTreeMap<Queue, Vec<Stored>>, record: usize) {
        self.whole = true;
        for (queue, stored) in queues.iter().flat_map(|(q, all)| all.iter().map(move |s| (q, s))) {
            for (offset, bytes, _) in &stored.parts {
                let aux = Aux { offset: *offset, size: bytes.len() as u64, flags: 0 };
                let (id, parts) = (SampleId::default(), vec![bytes.clone()]);
                self.pieces.push(Piece { queue: *queue, aux, id, record, parts });
            }
        }
    }

    /// Counts `len` bytes of compressed trace that are damaged. The first ones are described.
    fn damaged(&mut self, len: usize, why: &str) {
        /// The number of problems that are described.
        const MAX_DAMAGED: usize = 8;
        if self.problems.len() < MAX_DAMAGED {
            self.problems.push(format!("{len} bytes of compressed trace are damaged: {why}"));
        } else {
            self.damaged.0 += 1;
            self.damaged.1 += len as u64;
        }
    }

    /// Notes on the trace that is in no piece.
    pub(super) fn report(&mut self, note: &mut dyn FnMut(Problem)) {
        let mut missing = |text| note(Problem::PerfMissing(text));
        self.problems.drain(..).for_each(&mut missing);
        let (records, bytes) = self.damaged;
        if records > 0 {
            missing(format!(
                "{records} further AUXTRACE records with {bytes} bytes of compressed trace are \
                 damaged"
            ));
        }
        let (records, bytes) = self.absent;
        if records > 0 {
            missing(format!(
                "{records} AUX records announce {bytes} bytes of trace that are not in the file"
            ));
        }
        if self.unclaimed > 0 {
            missing(format!(
                "{} bytes of trace belong to no AUX record and are not decoded",
                self.unclaimed
            ));
        }
        if self.empty_losses > 0 {
            missing(format!(
                "{} AUX records report that trace was lost and none was stored",
                self.empty_losses
            ));
        }
        let mut note = |text| note(Problem::PerfData(text));
        let (records, bytes) = self.repeated;
        if records > 0 {
            note(format!(
                "{records} AUX records announce {bytes} bytes of trace that other AUX records \
                 announce, too, and are not decoded"
            ));
        }
        let (records, bytes) = self.others;
        if records > 0 {
            note(format!(
                "{records} AUX records, of {bytes} bytes, are of events of other PMUs and are not \
                 decoded"
            ));
        }
        let (records, bytes) = self.ambiguous;
        if records > 0 {
            note(format!(
                "{records} AUX records announce {bytes} bytes of trace that cannot be distinguished \
                 from those of an event of another PMU, and are not decoded"
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

    /// Drops the pieces beyond [`MAX_PIECES`] and [`MAX_PARTS`], with a note.
    pub(super) fn truncate(&mut self, note: &mut dyn FnMut(Problem)) {
        let mut parts = 0;
        let within = self.pieces.iter().take(MAX_PIECES).take_while(|piece| {
            parts += piece.parts.len();
            parts <= MAX_PARTS
        });
        let within = within.count();
        if within == self.pieces.len() {
            return;
        }
        let rest = self.pieces.split_off(within);
        let bytes = rest.iter().fold(0, |sum: u64, piece| sum.saturating_add(piece.aux.size));
        note(Problem::PerfMissing(format!(
            "there are more than {MAX_PIECES} AUX records, or their trace is in more than \
             {MAX_PARTS} parts: the last {}, with {bytes} bytes, are not decoded",
            rest.len()
        )));
    }
}

/// Which events are of another PMU than the trace.
struct EventKinds {
    /// The identifiers of the instances of such events.
    others: HashSet<u64>,
}

impl EventKinds {
    /// The events of `data`; none is another one where the file has no event of the PMU `pmu`.
    fn new(data: &PerfData, pmu: u32) -> EventKinds {
        let known = data.attrs.iter().any(|attr| attr.kind == pmu);
        let others = data.attrs.iter().filter(|attr| known && attr.kind != pmu);
        EventKinds { others: others.flat_map(|attr| attr.ids.iter().copied()).collect() }
    }

    /// Whether the event with this identification is of another PMU.
    fn is_other(&self, id: &SampleId) -> bool {
        id.identifier.or(id.id).is_some_and(|id| self.others.contains(&id))
    }
}

/// The AUXTRACE records of one queue. Each event has its own buffer, whose offsets begin at 0.
#[derive(Default)]
struct Layers(Vec<(u32, BTreeMap<u64, Bytes>)>);

impl Layers {
    /// Adds a record. `mixed`: the file has AUX records of several PMUs, and the buffers of their
    /// events are distinguished by their ordinals, or by what is at the same offset.
    /// Returns `false` where there are too many buffers, and the record is not used.
    fn insert(&mut self, trace: &AuxTrace, bytes: Bytes, mixed: bool) -> bool {
        let is_own = |(index, parts): &&mut (u32, BTreeMap<u64, Bytes>)| {
            !mixed || *index == trace.index && !parts.contains_key(&trace.offset)
        };
        if let Some((_, parts)) = self.0.iter_mut().find(is_own) {
            parts.insert(trace.offset, bytes);
        } else if self.0.len() < MAX_LAYERS {
            self.0.push((trace.index, BTreeMap::from([(trace.offset, bytes)])));
        } else {
            return false;
        }
        true
    }

    fn stored(self) -> Vec<Stored> {
        self.0.into_iter().map(|(index, parts)| Stored::new(index, parts)).collect()
    }
}

/// The only layer with the bytes of `aux`, an event with this ordinal of its buffer: where several
/// have them, that with the ordinal, or the only one whose record begins and ends as `aux` does.
/// (Linux 6.1.192, tools/perf/util/synthetic-events.c:1878, `__perf_event__synthesize_id_index`:
/// `e->idx` is the ordinal of the mapped buffer, as `idx` of an AUXTRACE record is in
/// auxtrace.c:1907, `__auxtrace_mmap__read`)
fn layer_of(layers: &[Stored], aux: Aux, ordinal: Option<u64>) -> Option<usize> {
    let only = |mut found: Vec<usize>| if found.len() == 1 { found.pop() } else { None };
    let having = |is: &dyn Fn(&Stored) -> bool| {
        let all = layers.iter().enumerate();
        all.filter(|(_, stored)| stored.select(aux).is_some() && is(stored))
            .map(|(n, _)| n)
            .collect::<Vec<_>>()
    };
    only(having(&|_| true))
        .or_else(|| only(having(&|stored| ordinal == Some(stored.index.into()))))
        .or_else(|| only(having(&|stored| stored.is_exactly(aux))))
}

/// The entries of the ID_INDEX records.
fn entries(data: &PerfData) -> impl Iterator<Item = &IdEntry> {
    let entries = data.records.iter().filter_map(|record| match &record.body {
        Body::IdIndex(entries) => Some(entries),
        _ => None,
    });
    entries.flatten()
}

/// CPU and thread of each identifier, from the ID_INDEX records.
fn instances(data: &PerfData) -> BTreeMap<u64, (Option<u32>, Option<u32>)> {
    let known = |number: u64| u32::try_from(number).ok().filter(|number| *number != u32::MAX);
    entries(data).map(|e| (e.id, (known(e.cpu), known(e.thread)))).collect()
}

/// The identification of a record with the CPU and the thread of its event, where the record has
/// none.
fn identified(id: SampleId, instances: &BTreeMap<u64, (Option<u32>, Option<u32>)>) -> SampleId {
    let its = id.identifier.or(id.id).and_then(|id| instances.get(&id));
    let Some((cpu, thread)) = its.copied() else { return id };
    let task = thread.map(|thread| (thread, thread));
    SampleId { cpu: id.cpu.or(cpu), task: id.task.or(task), ..id }
}

/// The bytes of an AUXTRACE record. simpleperf may compress each on its own, to which `budget`
/// applies.
fn unpacked(bytes: &Bytes, simpleperf: bool, budget: &mut Budget) -> Result<Bytes, String> {
    if simpleperf && bytes.head(4).starts_with(&compressed::MAGIC) {
        let mut packed = Vec::new();
        bytes.reader().read_to_end(&mut packed).map_err(|error| error.to_string())?;
        return compressed::unpack(&packed, budget).map(Bytes::from);
    }
    Ok(bytes.clone())
}

/// The trace of one queue, and what of it AUX records announced.
#[derive(Clone, Debug)]
struct Stored {
    /// The ordinal of the buffer.
    index: u32,
    /// The bytes of each AUXTRACE record, in the order of their offsets: the offset, the bytes, and
    /// the offset up to which bytes follow without a gap.
    parts: Vec<(u64, Bytes, u64)>,
    /// The number of bytes.
    len: u64,
    /// The number of bytes that were announced.
    announced: u64,
    /// The ends of the announced ranges, by their starts.
    ranges: BTreeMap<u64, u64>,
    /// The bytes that snapshots may announce: they may overlap.
    snapshots: Budget,
}

impl Stored {
    fn new(index: u32, parts: BTreeMap<u64, Bytes>) -> Stored {
        let mut parts: Vec<_> = parts
            .into_iter()
            .map(|(offset, bytes)| {
                let end = offset.saturating_add(bytes.len() as u64);
                (offset, bytes, end)
            })
            .collect();
        let len = parts.iter().fold(0, |sum, (_, bytes, _)| sum + bytes.len() as u64);
        for n in (0..parts.len()).rev() {
            let Some(&(_, _, end)) = parts.get(n) else { continue };
            let next = parts.partition_point(|(start, ..)| *start <= end).saturating_sub(1);
            let further = parts.get(next).filter(|_| next > n).map(|(_, _, reach)| *reach);
            if let (Some(part), Some(further)) = (parts.get_mut(n), further) {
                part.2 = end.max(further);
            }
        }
        let snapshots = Budget::new(len.saturating_mul(MAX_REPEATS));
        Stored { index, parts, len, announced: 0, ranges: BTreeMap::new(), snapshots }
    }

    /// The part that begins at `offset` or before it.
    fn part(&self, offset: u64) -> Option<&(u64, Bytes, u64)> {
        let after = self.parts.partition_point(|(start, ..)| *start <= offset);
        self.parts.get(after.checked_sub(1)?)
    }

    /// `aux` with its actual offset and size, where all of its bytes are stored.
    fn select(&self, mut aux: Aux) -> Option<Aux> {
        let (_, last, _) = self.part(aux.offset)?;
        if aux.flags & Aux::OVERWRITE != 0 {
            // The offset is that of the end, and the size may exceed that of the copy.
            aux.size = aux.size.min(last.len() as u64);
            aux.offset = aux.offset.checked_sub(aux.size)?;
            return self.holds(aux).then_some(aux);
        }
        self.holds(aux).then_some(aux)
    }

    /// Whether the bytes of `aux` are those of one record, but for its padding.
    fn is_exactly(&self, aux: Aux) -> bool {
        self.part(aux.offset).is_some_and(|(offset, bytes, _)| {
            *offset == aux.offset && bytes.len() as u64 == aux.size.next_multiple_of(8)
        })
    }

    /// Whether all bytes of `aux` are stored.
    fn holds(&self, aux: Aux) -> bool {
        let reach = self.part(aux.offset).map_or(0, |(_, _, reach)| *reach);
        aux.offset.checked_add(aux.size).is_some_and(|end| end <= reach)
    }

    /// Notes that `aux` announces its bytes. Returns `false` where they must not be decoded again.
    fn claim(&mut self, aux: Aux) -> bool {
        let end = aux.offset.saturating_add(aux.size);
        let allowed = if aux.flags & Aux::OVERWRITE != 0 {
            self.snapshots.take(aux.size)
        } else {
            let before = self.ranges.range(..end).next_back();
            before.is_none_or(|(_, before)| *before <= aux.offset)
        };
        if allowed {
            self.announced = self.announced.saturating_add(aux.size);
            if aux.flags & Aux::OVERWRITE == 0 {
                self.ranges.insert(aux.offset, end);
            }
        }
        allowed
    }

    /// The bytes from `offset` on, `size` of them or those up to a gap.
    fn range(&self, offset: u64, size: u64) -> Vec<Bytes> {
        let (mut at, mut left) = (offset, size);
        let mut parts = Vec::new();
        while let Some((start, bytes, _)) = self.part(at).filter(|_| left > 0) {
            let part = bytes.part(at - start, left);
            let len = part.len() as u64;
            if len == 0 {
                break;
            }
            parts.push(part);
            at = at.saturating_add(len);
            left -= len;
        }
        parts
    }
}
