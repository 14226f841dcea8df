//! Collects what the index holds of a segment, while the segment is decoded.

use std::collections::BTreeMap;
use std::sync::Arc;

use tracewright_base::{
    self as base, Batch, BlockId, BlockStep, CachedBlocks, Custom, Element, Part,
};
use tracewright_decode::{Event, Listener, Packets, SourceBytes, StepCounts, Wants};

use crate::entries::Starts;
use crate::executed::{Executed, mix};
use crate::key::{Key, Kind};
use crate::link::{LinkEvents, LinkRecord};
use crate::segment::{Record, Segment, Stream, Times};

/// The addresses of the functions of each source, in order.
pub type Functions = Vec<Arc<[u64]>>;

/// Collects the contents of one segment after another.
#[derive(Clone, Debug)]
pub(crate) struct Collector {
    full: bool,
    first: u64,
    events: LinkEvents,
    link_records: Vec<LinkRecord>,
    unknown: BTreeMap<u16, u64>,
    streams: Vec<Collected>,
}

/// Up to this number of blocks, their counters are in the processor's caches. Of more, most
/// executions in a segment are the first of their block, whose record costs more than the range.
const FEW: usize = 1 << 15;

/// What one source has in the current segment.
#[derive(Clone, Debug, Default)]
struct Collected {
    /// Without what is in `executed`.
    stream: Stream,
    /// A packet was received: the offsets of others are not less.
    begun: bool,
    executed: Executed,
    /// By number: blocks that are not in `executed`.
    counts: StepCounts<Block>,
    keys: BTreeMap<Key, u64>,
}

/// A block that was executed.
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    start: u64,
    bytes: u32,
    instructions: u32,
}

impl Collector {
    /// A collector for sources with these functions. `full`: with a record of each occurrence.
    pub(crate) fn new(functions: Functions, full: bool) -> Self {
        let streams = functions.into_iter().map(|addresses| {
            let executed = Executed::new(Starts::new(addresses));
            Collected { executed, ..Collected::default() }
        });
        let streams = streams.collect();
        Collector {
            full,
            first: u64::MAX,
            events: LinkEvents::default(),
            link_records: Vec::new(),
            unknown: BTreeMap::new(),
            streams,
        }
    }

    /// Takes what was collected. `activity` is the number of bytes of each source in the segment.
    pub(crate) fn take(&mut self, activity: &[u64]) -> Segment {
        let mut segment = Segment {
            first: (self.first != u64::MAX).then_some(self.first),
            events: std::mem::take(&mut self.events),
            link_records: std::mem::take(&mut self.link_records),
            unknown: std::mem::take(&mut self.unknown).into_iter().collect(),
            ..Segment::default()
        };
        self.first = u64::MAX;
        for (n, collected) in self.streams.iter_mut().enumerate() {
            let activity = activity.get(n).copied().unwrap_or(0);
            collected.begun = false;
            let mut stream = collected.settle();
            if activity == 0 && stream == Stream::default() {
                continue;
            }
            stream.activity = activity;
            stream.source = u16::try_from(n).unwrap_or(u16::MAX);
            segment.streams.push(stream);
        }
        segment
    }

    #[cold]
    #[inline(never)]
    fn other(&mut self, source: usize, at: u64, element: Element, content: &[u8]) {
        self.first = self.first.min(at);
        let full = self.full;
        let Some(Collected { stream, keys, executed, .. }) = self.streams.get_mut(source) else {
            return;
        };
        stream.elements += 1;
        stream.checksum = mix(stream.checksum ^ at, fold(&element, content));
        if let Some(time) = element.ticks() {
            match &mut stream.times {
                Some(times) => times.add(time),
                times => *times = Some(Times::of(time)),
            }
        }
        if let Element::Context(context) = element {
            stream.context = Some((at, context));
        }
        Key::each(&element, |key| {
            *keys.entry(key).or_default() += 1;
            if full {
                let (ranges, instruction) = executed.totals();
                let element = stream.elements - 1 + ranges;
                stream.records.push(Record { key, at, element, instruction });
            }
        });
    }

    /// A decoder may start at a packet.
    fn sync(&mut self, source: usize, at: u64) {
        let Some(Collected { stream, executed, .. }) = self.streams.get_mut(source) else { return };
        stream.syncs += 1;
        let (ranges, instruction) = executed.totals();
        let (key, element) = (Key::new(Kind::Sync, 0), stream.elements + ranges);
        stream.records.push(Record { key, at, element, instruction });
    }

    /// Packets and undecodable bytes of a source have ascending offsets: only the first counts.
    #[inline]
    fn packet_at(&mut self, source: usize, bytes: &SourceBytes<'_>) {
        if let Some(begun) = self.streams.get_mut(source).map(|collected| &mut collected.begun)
            && !std::mem::replace(begun, true)
        {
            self.first = self.first.min(bytes.at());
        }
    }

    #[inline(always)]
    fn ranges(&mut self, source: usize, at: u64, range: &base::Range, times: u64) {
        self.first = self.first.min(at);
        let Some(Collected { executed, .. }) = self.streams.get_mut(source) else { return };
        executed.add(range.start, range.bytes, range.instructions, times);
    }
}

impl Collected {
    /// These steps, which are of `blocks`, were executed.
    fn count(&mut self, steps: &[BlockStep], blocks: &CachedBlocks<'_>) {
        if blocks.all().len() > FEW {
            return self.executed.add_steps(steps, blocks);
        }
        let Collected { counts, executed, .. } = self;
        counts.prepare(blocks, |b, count| executed.add(b.start, b.bytes, b.instructions, count));
        for step in steps {
            let id = step.id();
            counts.add(id.index(), 1, || Block::of(blocks, id));
        }
    }

    /// The stream, with the keys and lines of the ranges.
    fn settle(&mut self) -> Stream {
        let (mut stream, mut keys) =
            (std::mem::take(&mut self.stream), std::mem::take(&mut self.keys));
        let own = &mut self.executed;
        self.counts.take(|b, count| own.add(b.start, b.bytes, b.instructions, count));
        let executed = self.executed.take();
        stream.checksum = stream.checksum.wrapping_add(executed.checksum);
        stream.elements += executed.ranges;
        stream.instructions += executed.instructions;
        for (address, count) in executed.entries {
            *keys.entry(Key::new(Kind::Function, address)).or_default() += count;
        }
        stream.lines = executed.lines;
        stream.keys = keys.into_iter().collect();
        stream
    }
}

impl Block {
    /// The block `id` of `blocks`.
    fn of(blocks: &CachedBlocks<'_>, id: BlockId) -> Block {
        let range = blocks.get(id).map(|(cached, class)| cached.range(class, false));
        range.map_or(Block::default(), |range| {
            let base::Range { start, bytes, instructions, .. } = range;
            Block { start, bytes, instructions }
        })
    }
}

/// A number that depends on all fields of `element`, and on the bytes of [`Element::Custom`].
fn fold(element: &Element, content: &[u8]) -> u64 {
    use std::hash::{Hash, Hasher};
    struct Fold(u64);
    impl Hasher for Fold {
        fn finish(&self) -> u64 {
            self.0
        }

        fn write(&mut self, bytes: &[u8]) {
            bytes.iter().for_each(|byte| self.0 = mix(self.0, (*byte).into()));
        }
    }
    let mut to = Fold(0);
    element.hash(&mut to);
    to.write(content);
    to.finish()
}

impl Listener for Collector {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        if let Element::Range(range) = element {
            return self.ranges(source, at, &range, 1);
        }
        self.other(source, at, element, &[]);
    }

    fn custom(&mut self, source: usize, at: u64, custom: Custom, bytes: &[u8]) {
        self.other(source, at, Element::Custom(custom), bytes);
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        let Batch { source, blocks, start, .. } = *batch;
        // The offsets of steps are not less than `start`, which may be that of none of them.
        if start < self.first {
            let steps = batch.steps().iter();
            let first = steps.map(|step| batch.at(*step)).min();
            self.first = self.first.min(first.unwrap_or(u64::MAX));
        }
        let full = self.full;
        if !full && let Some(collected) = self.streams.get_mut(source) {
            collected.count(batch.steps(), &blocks);
        }
        for part in batch.parts() {
            match part {
                Part::Steps(_) if !full => {}
                // Records have the number of ranges before them.
                Part::Steps(steps) => {
                    if let Some(collected) = self.streams.get_mut(source) {
                        collected.executed.add_steps(steps, &blocks);
                    }
                }
                // Only some fields of a range are copied.
                Part::Element(at, Element::Range(range)) => self.ranges(source, at, &range, 1),
                Part::Element(at, Element::Custom(custom)) => {
                    self.custom(source, at, custom, batch.content(&custom));
                }
                Part::Element(at, element) => self.element(source, at, element),
                Part::Turns(turns) if turns.times > 0 => {
                    for range in turns.ranges {
                        self.ranges(source, turns.at, range, turns.times);
                    }
                }
                Part::Turns(_) => {}
            }
        }
    }

    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Packet { source, bytes, packet } => {
                self.packet_at(*source, bytes);
                if self.full && packet.is_sync() {
                    self.sync(*source, bytes.at());
                }
            }
            Event::Packets { source, bytes, .. } | Event::Undecodable { source, bytes, .. } => {
                self.packet_at(*source, bytes);
            }
            Event::UnknownId { id, at, len } => {
                self.first = self.first.min(*at);
                *self.unknown.entry(*id).or_default() += *len as u64;
            }
            Event::Link { at, event } => {
                self.first = self.first.min(*at);
                if let Some(kind) = self.events.count(event).filter(|_| self.full) {
                    self.link_records.push(LinkRecord { kind, at: *at });
                }
            }
            _ => {}
        }
    }

    /// Records of synchronisations are between those of elements.
    fn wants(&self) -> Wants {
        let mut wants = Wants::COUNTS;
        if self.full {
            wants.packets = Packets::Each;
        }
        wants
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracewright_base::{
        BLOCK_CLASSES, BatchBuffer, BlockClass, CachedBlock, CodeSpace, Counted, Exception,
        Instruction, Isa, Last, Numbering, Turns,
    };
    use tracewright_decode::listener::each_element;

    const EXCEPTION: Element = Element::Exception(Exception {
        number: 5,
        return_address: None,
        also_target: false,
        tail_chain: false,
    });

    fn range(start: u64, bytes: u32) -> base::Range {
        let nop = Instruction { isa: Isa::A64, size: 4, ..Instruction::default() };
        let last = Last::new(&nop, true);
        base::Range { start, bytes, instructions: bytes / 4, cycles: Counted::UNKNOWN, last }
    }

    #[test]
    fn lines_and_functions_are_those_of_the_ranges() {
        let functions: Functions = vec![Arc::from([0x100, 0x13c, 0x140, 0x200, 0x1000])];
        let mut collector = Collector::new(functions, true);
        collector.element(0, 9, Element::Range(range(0x100, 0x40)));
        let (mut buffer, listed) = (BatchBuffer::default(), true);
        buffer.turns(Turns { at: 8, ranges: &[range(0x13c, 8)], times: 5, listed });
        buffer.turns(Turns { at: 1, ranges: &[range(0x13c, 8)], times: 0, listed });
        let ranges = &[range(0x1f8, 8), range(0x200, 4)];
        buffer.turns(Turns { at: 7, ranges, times: 2, listed: false });
        buffer.element(6, EXCEPTION);
        collector.batch(&buffer.batch(0, CachedBlocks::none()));
        let segment = collector.take(&[30]);
        assert_eq!(segment.first, Some(6));
        let [stream] = &segment.streams[..] else { panic!("one stream") };
        assert_eq!((stream.elements, stream.instructions), (11, 16 + 10 + 4 + 2));
        // 0x13c is in both ranges; 0x200 begins where a range ends.
        let keys: Vec<_> = stream.keys.iter().map(|(key, n)| (key.kind, key.value, *n)).collect();
        let function = Kind::Function;
        assert_eq!(
            keys,
            [
                (function, 0x100, 1),
                (function, 0x13c, 6),
                (function, 0x140, 5),
                (function, 0x200, 2),
                (Kind::Exception, 5, 1),
            ]
        );
        assert_eq!(stream.lines.to_runs()[..], [(4, 2), (7, 2)]);
        let [record] = stream.records[..] else { panic!("one record") };
        assert_eq!((record.at, record.element, record.instruction), (6, 10, 32));
        assert_eq!(collector.take(&[0]), Segment::default());
    }

    /// Own content is an element, and its bytes belong to the checksum.
    #[test]
    fn own_content_is_in_the_checksum() {
        let segment = |bytes: &[u8]| {
            let mut collector = Collector::new(vec![Arc::from([])], true);
            let mut buffer = BatchBuffer::default();
            buffer.custom(3, "note", bytes);
            collector.batch(&buffer.batch(0, CachedBlocks::none()));
            collector.take(&[9])
        };
        let one = segment(b"ab");
        let stream = |segment: &Segment| segment.streams[0].clone();
        assert_eq!((one.first, stream(&one).elements), (Some(3), 1));
        assert_eq!(one, segment(b"ab"));
        let other = segment(b"ac");
        assert_ne!(stream(&one).checksum, stream(&other).checksum);
        let same = Stream { checksum: stream(&one).checksum, ..stream(&other) };
        assert_eq!(same, stream(&one));
    }

    /// Blocks of 4, 8 and 12 bytes, each with a line, and their classes.
    fn cached(count: u64) -> (Vec<CachedBlock>, Vec<BlockClass>) {
        let mut classes = vec![BlockClass::NONE; BLOCK_CLASSES];
        let blocks = (0..count).map(|n| {
            let (start, instructions) = (0x100 + 0x40 * n, 1 + (n % 3) as u32);
            let bytes = 4 * instructions;
            let block = base::Block { start, bytes, instructions, ..Default::default() };
            classes[0] = BlockClass::of(&block, CodeSpace(3));
            CachedBlock::new(&block, 0).expect("a short block")
        });
        (blocks.collect(), classes)
    }

    /// The segments are those of single elements: with records of all occurrences and without, for
    /// few blocks and for many, which get other numbers.
    #[test]
    fn steps_are_collected_as_their_ranges() {
        for (full, count) in [(false, 3), (false, FEW + 1), (true, 3)] {
            let (cached, classes) = cached(count as u64);
            let successors = vec![[BlockId::NONE; 2]; count];
            let classes = classes.first_chunk().expect("all classes");
            let blocks = CachedBlocks::new(&cached, &successors, classes);
            let mut batches = Collector::new(vec![Arc::from([0x100, 0x140, 0x180])], full);
            let mut elements = batches.clone();
            let numberings = [Numbering::default(), Numbering::default()];
            for (round, numbering) in [0, 0, 1, 0].into_iter().enumerate() {
                let mut buffer = BatchBuffer::default();
                // No step has the offset from which theirs are counted.
                let start = buffer.begin(3);
                let places = buffer.places().expect("room");
                places[0] = BlockStep::new(BlockId::new(0), true, 9 - start);
                buffer.set_len(1);
                for (at, n) in [(8, 1), (8, 1), (12, round % 3)] {
                    buffer.step(at, BlockId::new(n), n == 0);
                    if round % 2 == 1 {
                        buffer.element(at, EXCEPTION);
                    }
                }
                let batch = buffer.batch(0, blocks.with_numbering(&numberings[numbering]));
                batches.batch(&batch);
                each_element(&mut elements, &batch);
                if round > 0 {
                    let segment = batches.take(&[1]);
                    assert_eq!(segment, elements.take(&[1]), "{full} {count} {round}");
                    assert_eq!(segment.first, Some(8));
                    let [stream] = &segment.streams[..] else { panic!("one stream") };
                    assert_eq!(stream.records.len(), if full && round != 2 { 3 } else { 0 });
                }
            }
        }
    }

    #[test]
    fn packets_of_a_full_index_are_received_between_elements() {
        let wants = |full| Collector::new(Vec::new(), full).wants();
        assert_eq!(wants(false), Wants::COUNTS);
        assert_eq!((wants(true).packets, wants(true).any_order), (Packets::Each, true));
    }
}
