//! Collects what the index holds of a segment, while the segment is decoded.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use tracewright_base::{
    self as base, CachedBlocks, Element, ExecutionCounts, ExecutionList, Fault, OffsetMap,
};
use tracewright_decode::Listener;
use tracewright_frames::Event;
use tracewright_protocols::registry::AnyPacket;

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

/// What one source has in the current segment.
#[derive(Clone, Debug, Default)]
struct Collected {
    /// Without what is in `executed`.
    stream: Stream,
    /// A packet was received: the offsets of others are not less.
    begun: bool,
    executed: Executed,
    /// Ranges that are not in `executed`.
    counts: ExecutionCounts,
    list: ExecutionList,
    keys: BTreeMap<Key, u64>,
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
    fn other(&mut self, source: usize, at: u64, element: Element) {
        let full = self.full;
        let Some(Collected { stream, keys, executed, .. }) = self.streams.get_mut(source) else {
            return;
        };
        stream.checksum = mix(stream.checksum ^ at, fold(&element));
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
    fn packet_at(&mut self, source: usize, offsets: &OffsetMap<'_>, span: &Range<usize>) {
        if let Some(begun) = self.streams.get_mut(source).map(|collected| &mut collected.begun)
            && !std::mem::replace(begun, true)
        {
            self.first = self.first.min(offsets.at(span.start));
        }
    }

    #[inline(always)]
    fn ranges(&mut self, source: usize, at: u64, range: &base::Range, times: u64) {
        if at < self.first {
            self.first = at;
        }
        let Some(Collected { executed, .. }) = self.streams.get_mut(source) else { return };
        executed.add(range.start, range.bytes, range.instructions, times);
    }
}

impl Collected {
    /// The stream, with the keys and lines of the ranges.
    fn settle(&mut self) -> Stream {
        let (mut stream, mut keys) =
            (std::mem::take(&mut self.stream), std::mem::take(&mut self.keys));
        let own = &mut self.executed;
        self.counts.take(|block| own.add_block(&block));
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

/// A number that depends on all fields of `element`.
fn fold(element: &Element) -> u64 {
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
    to.finish()
}

impl Listener for Collector {
    const BY_SOURCE: bool = true;
    // The offset of a range is not less than that of the first packet.
    const COUNTS: bool = true;
    const EXECUTIONS: bool = true;

    fn take_executions(
        &mut self,
        source: usize,
        blocks: &CachedBlocks<'_>,
        slow: u16,
    ) -> ExecutionCounts {
        let Some(Collected { counts, executed, .. }) = self.streams.get_mut(source) else {
            return ExecutionCounts::default();
        };
        let mut counts = std::mem::take(counts);
        counts.prepare(blocks, slow, |block| executed.add_block(&block));
        counts
    }

    #[inline]
    fn executed(&mut self, source: usize, counts: ExecutionCounts) {
        if let Some(collected) = self.streams.get_mut(source) {
            collected.counts = counts;
        }
    }

    #[inline]
    fn take_list(&mut self, source: usize) -> ExecutionList {
        let list = self.streams.get_mut(source).map(|collected| &mut collected.list);
        let mut list = list.map(std::mem::take).unwrap_or_default();
        list.prepare();
        list
    }

    #[inline(never)]
    fn listed(&mut self, source: usize, mut list: ExecutionList, blocks: &CachedBlocks<'_>) {
        if let Some(collected) = self.streams.get_mut(source) {
            collected.executed.add_blocks(list.blocks(), blocks.classes());
            list.clear();
            collected.list = list;
        }
    }

    #[inline(always)]
    fn element(&mut self, source: usize, at: u64, element: Element) {
        if let Element::Range(range) = element {
            return self.ranges(source, at, &range, 1);
        }
        self.first = self.first.min(at);
        if let Some(collected) = self.streams.get_mut(source) {
            collected.stream.elements += 1;
        }
        self.other(source, at, element);
    }

    #[inline]
    fn repeat(&mut self, source: usize, at: u64, range: base::Range, times: u32) {
        if times > 0 {
            self.ranges(source, at, &range, times.into());
        }
    }

    fn repeat_path(&mut self, source: usize, at: u64, ranges: &[base::Range], times: u64) {
        if times > 0 {
            ranges.iter().for_each(|range| self.ranges(source, at, range, times));
        }
    }

    /// How packets are counted together does not depend on the trace alone.
    fn wants_each_packet(&self) -> bool {
        self.full
    }

    fn packet(
        &mut self,
        source: usize,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        _: &[u8],
        packet: AnyPacket<'_>,
    ) {
        self.packet_at(source, offsets, &span);
        if self.full && packet.is_sync() {
            self.sync(source, offsets.at(span.start));
        }
    }

    #[inline]
    fn packets(
        &mut self,
        source: usize,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        _: usize,
        _: usize,
    ) {
        self.packet_at(source, offsets, &span);
    }

    fn undecodable(
        &mut self,
        source: usize,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        _: &[u8],
        _: Fault,
    ) {
        self.packet_at(source, offsets, &span);
    }

    fn unknown_id(&mut self, id: u16, at: u64, len: usize) {
        self.first = self.first.min(at);
        *self.unknown.entry(id).or_default() += len as u64;
    }

    fn link(&mut self, at: u64, event: Event) {
        self.first = self.first.min(at);
        if let Some(kind) = self.events.count(&event).filter(|_| self.full) {
            self.link_records.push(LinkRecord { kind, at });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracewright_base::{Counted, Exception, Instruction, Isa, Last};

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
        collector.repeat(0, 8, range(0x13c, 8), 5);
        collector.repeat_path(0, 7, &[range(0x1f8, 8), range(0x200, 4)], 2);
        let exception =
            Exception { number: 5, return_address: None, also_target: false, tail_chain: false };
        collector.element(0, 6, Element::Exception(exception));
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
}
