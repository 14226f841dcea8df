//! Collects what the index holds of a segment, while the segment is decoded.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use tracewright_base::{self as base, Element, Fault, OffsetMap};
use tracewright_decode::Listener;
use tracewright_frames::Event;
use tracewright_protocols::registry::AnyPacket;

use crate::key::{self, Key, Kind};
use crate::ranges::{Counted, RangeCounts};
use crate::segment::{LinkEvents, Record, Segment, Stream, Times};

/// The addresses of the functions of each source, in order.
pub type Functions = Vec<Arc<[u64]>>;

/// Collects the contents of one segment after another.
#[derive(Clone, Debug)]
pub(crate) struct Collector {
    full: bool,
    functions: Functions,
    first: u64,
    events: LinkEvents,
    unknown: BTreeMap<u16, u64>,
    streams: Vec<Collected>,
}

/// What one source has in the current segment.
#[derive(Clone, Debug, Default)]
struct Collected {
    stream: Stream,
    ranges: RangeCounts,
    keys: BTreeMap<Key, u64>,
}

impl Collector {
    /// A collector for sources with these functions. `full`: with a record of each occurrence.
    pub(crate) fn new(functions: Functions, full: bool) -> Self {
        let streams = functions.iter().map(|_| Collected::default()).collect();
        Collector {
            full,
            functions,
            first: u64::MAX,
            events: LinkEvents::default(),
            unknown: BTreeMap::new(),
            streams,
        }
    }

    /// Takes what was collected. `activity` is the number of bytes of each source in the segment.
    pub(crate) fn take(&mut self, activity: &[u64]) -> Segment {
        let mut segment = Segment {
            first: (self.first != u64::MAX).then_some(self.first),
            events: std::mem::take(&mut self.events),
            unknown: std::mem::take(&mut self.unknown).into_iter().collect(),
            ..Segment::default()
        };
        self.first = u64::MAX;
        for (n, collected) in self.streams.iter_mut().enumerate() {
            let activity = activity.get(n).copied().unwrap_or(0);
            if activity == 0 && collected.stream == Stream::default() {
                continue;
            }
            let functions = self.functions.get(n).map_or(&[][..], |functions| functions);
            let mut stream = collected.settle(functions);
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
        let Some(Collected { stream, keys, .. }) = self.streams.get_mut(source) else { return };
        stream.checksum = mix(stream.checksum ^ at, fold(&element));
        if let Some(time) = key::time(&element) {
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
                let (element, instruction) = (stream.elements - 1, stream.instructions);
                stream.records.push(Record { key, at, element, instruction });
            }
        });
    }

    #[inline]
    fn ranges(&mut self, source: usize, at: u64, range: &base::Range, times: u64) {
        self.first = self.first.min(at);
        let Some(Collected { stream, ranges, .. }) = self.streams.get_mut(source) else { return };
        stream.elements += times;
        stream.instructions += times * u64::from(range.instructions);
        ranges.add(range.start, range.bytes, times);
    }
}

impl Collected {
    /// The stream, with the keys and lines of the ranges. `functions`: addresses, in order.
    fn settle(&mut self, functions: &[u64]) -> Stream {
        let (mut stream, mut keys) =
            (std::mem::take(&mut self.stream), std::mem::take(&mut self.keys));
        let mut runs = Vec::new();
        self.ranges.drain(|Counted { start, bytes, count }| {
            stream.checksum =
                stream.checksum.wrapping_add(mix(start, bytes.into()).wrapping_mul(count));
            let Some(last) = u64::from(bytes).checked_sub(1) else { return };
            // A range does not wrap around the end of memory.
            let last = start.saturating_add(last);
            runs.push((start / 64, last / 64));
            let first = functions.partition_point(|address| *address < start);
            let rest = functions.get(first..).unwrap_or_default();
            for address in rest.iter().take_while(|address| **address <= last) {
                *keys.entry(Key::new(Kind::Function, *address)).or_default() += count;
            }
        });
        runs.sort_unstable();
        for (first, last) in runs {
            match stream.lines.last_mut() {
                Some((line, count)) if *line + *count >= first => {
                    *count = (*count).max(last - *line + 1);
                }
                _ => stream.lines.push((first, last - first + 1)),
            }
        }
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

const fn mix(a: u64, b: u64) -> u64 {
    let product = (a ^ 0x9e37_79b9_7f4a_7c15) as u128 * (b ^ 0xe703_7ed1_a0b4_28db) as u128;
    product as u64 ^ (product >> 64) as u64
}

impl Listener for Collector {
    #[inline]
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

    fn wants_each_packet(&self) -> bool {
        false
    }

    fn packet(
        &mut self,
        source: usize,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        _: &[u8],
        packet: AnyPacket<'_>,
    ) {
        self.first = self.first.min(offsets.at(span.start));
        if let Some(collected) = self.streams.get_mut(source).filter(|_| self.full) {
            collected.stream.syncs += u64::from(packet.is_sync());
        }
    }

    fn packets(&mut self, _: usize, offsets: &OffsetMap<'_>, span: Range<usize>, _: usize) {
        self.first = self.first.min(offsets.at(span.start));
    }

    fn undecodable(
        &mut self,
        _: usize,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        _: &[u8],
        _: Fault,
    ) {
        self.first = self.first.min(offsets.at(span.start));
    }

    fn unknown_id(&mut self, id: u16, at: u64, len: usize) {
        self.first = self.first.min(at);
        *self.unknown.entry(id).or_default() += len as u64;
    }

    fn link(&mut self, at: u64, event: Event) {
        self.first = self.first.min(at);
        match event {
            Event::FullSync | Event::HalfSync => self.events.syncs += 1,
            Event::Trigger(_) => self.events.triggers += 1,
            Event::Flush(_) => self.events.flushes += 1,
            Event::Bad { len, .. } => self.events.bad += u64::from(len),
            Event::Barrier => self.events.barriers += 1,
            _ => {}
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
        assert_eq!(stream.lines, [(4, 2), (7, 2)]);
        let [record] = stream.records[..] else { panic!("one record") };
        assert_eq!((record.at, record.element, record.instruction), (6, 10, 32));
        assert_eq!(collector.take(&[0]), Segment::default());
    }
}
