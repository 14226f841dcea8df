//! One source of a decode tree.

use std::cell::Cell;
use std::collections::VecDeque;
use std::ops::Range;

use tracewright_base::{
    self as base, BatchBuffer, BlockCache, BlockId, CachedBlocks, Element, Fault, NoMemory,
    OffsetMap, Sink,
};
use tracewright_frames::Source;
use tracewright_image::OpcodeCheck;
use tracewright_opencsd::client::codes::{create, operation, response};
use tracewright_opencsd::client::element::Maker;
use tracewright_opencsd::client::stats::DecodeStats;
use tracewright_opencsd::{Reported, SourceReport};
use tracewright_protocols::registry::{AnyConfig, AnyPacket};
use tracewright_protocols::{Observer, SourceBytes, StreamEvent};

use crate::memory::{ClientCode, Fetched, Memory};
use crate::outlet::{Client, Outlet};
use crate::packets::PacketOutputs;
use crate::stream::SourceStream;

/// A decoder of one source.
#[derive(Debug)]
pub struct Decoder {
    /// The trace ID in elements and messages.
    pub id: u8,
    /// It decodes packets to elements.
    pub full: bool,
    /// Who receives packets.
    pub outputs: PacketOutputs,
    /// What was counted. Clients have pointers to it.
    pub stats: Box<DecodeStats>,
    stream: SourceStream,
    report: SourceReport,
    maker: Maker,
    /// Bytes that are not decoded.
    block: Source,
    /// Nibbles of the first byte of `block` that are decoded.
    half: usize,
    nibbles: Vec<u8>,
    /// The number of its block cache.
    cache: usize,
    /// Empty between calls.
    steps: BatchBuffer,
    fetched: Fetched,
    /// Elements that the client has not taken.
    queue: VecDeque<Reported>,
    /// The first packet of `block` was decoded as far as the client allowed: the number of its
    /// elements that were delivered or wait.
    replay: Option<usize>,
    /// A packet can have elements of several contexts.
    speculative: bool,
    /// The client waited before all whole packets were decoded.
    interrupted: bool,
}

impl Decoder {
    /// A decoder before its first byte. `None` where there is no decoder for `config`.
    pub fn new(id: u8, config: &AnyConfig, flags: u32, memory: &mut Memory) -> Option<Self> {
        let check_opcodes = match flags & create::CHECK_OPCODES {
            0 => OpcodeCheck::Off,
            _ => OpcodeCheck::Undefined,
        };
        let speculative = matches!(config, AnyConfig::Etmv4(_) | AnyConfig::Ete(_));
        let report = SourceReport::new(config);
        Some(Decoder {
            id,
            full: flags & create::ELEMENTS != 0,
            outputs: PacketOutputs::new(config, flags),
            stats: Box::default(),
            stream: SourceStream::new(config)?,
            maker: Maker::new(report.style().timestamp_cycles, report.last()),
            report,
            block: Source::new(id.into()),
            half: 0,
            nibbles: Vec::new(),
            cache: memory.share_cache(config.waypoints(), check_opcodes),
            steps: BatchBuffer::default(),
            fetched: Fetched::new(config.waypoints(), check_opcodes),
            queue: VecDeque::new(),
            replay: None,
            speculative,
            interrupted: false,
        })
    }

    /// OpenCSD's name of the component that reports errors.
    pub fn component(&self) -> &'static str {
        let (packets, elements) = self.report.components();
        if self.full { elements } else { packets }
    }

    /// Returns to the initial state. Program memory may have changed.
    pub fn reset(&mut self) {
        self.stream.reset();
        self.report.reset();
        self.maker = Maker::new(self.report.style().timestamp_cycles, self.report.last());
        self.block = Source::new(self.id.into());
        (self.half, self.replay, self.interrupted) = (0, None, false);
        self.queue.clear();
        self.fetched.clear();
        self.outputs.reset();
    }

    /// Takes bytes of the source.
    pub fn push(&mut self, at: u64, fragment: bool, bytes: &[u8]) {
        self.stats.channel_total += bytes.len() as u64;
        self.block.push(at, fragment, bytes);
    }

    /// Takes a [`short`](tracewright_frames::Split::short) piece.
    #[inline]
    pub fn push_short(&mut self, at: u64, fragment: bool, word: u128, len: usize) {
        self.stats.channel_total += len as u64;
        self.block.push_short(at, fragment, word, len);
    }

    /// Takes back the bytes that are not decoded, and returns their number. None are taken back
    /// where the first packet is decoded in part.
    pub fn take_back(&mut self) -> usize {
        let len = self.block.bytes().len();
        if self.replay.is_some() || self.half != 0 {
            return 0;
        }
        self.stats.channel_total -= len as u64;
        self.block.consume(len);
        len
    }

    /// Delivers elements that wait. Returns whether all are delivered.
    pub fn deliver(&mut self, outlet: &Outlet) -> bool {
        let component = self.component();
        while !outlet.is_closed()
            && let Some(reported) = self.queue.pop_front()
        {
            outlet.send(self.id, component, &mut self.maker, &reported);
        }
        self.queue.is_empty()
    }

    /// Decodes the bytes up to the last whole packet, or until the client waits.
    pub fn decode(&mut self, memory: &mut Memory, outlet: &Outlet) {
        self.decode_packets(memory, outlet);
        self.interrupted = outlet.is_closed();
    }

    /// Decodes what was not decoded because the client waited.
    pub fn resume(&mut self, memory: &mut Memory, outlet: &Outlet) {
        if self.interrupted {
            self.decode(memory, outlet);
        }
    }

    fn decode_packets(&mut self, memory: &mut Memory, outlet: &Outlet) {
        let one_packet = self.speculative && self.full && memory.has_callbacks();
        while !outlet.is_closed() {
            let saved = one_packet.then(|| self.stream.clone());
            let blocked = Cell::new(false);
            let (taken, emitted) = self.feed(memory, outlet, one_packet, &blocked, false);
            if blocked.get()
                && let Some(saved) = saved
            {
                (self.stream, self.replay) = (saved, Some(emitted));
                return;
            }
            self.replay = None;
            self.consume(taken);
            if !one_packet || taken == 0 {
                return;
            }
        }
    }

    /// The trace ends.
    pub fn finish(&mut self, memory: &mut Memory, outlet: &Outlet) {
        let blocked = Cell::new(false);
        self.feed(memory, outlet, false, &blocked, true);
        self.block.consume(self.block.bytes().len());
        self.half = 0;
        self.outputs.report(operation::END, 0, outlet);
        self.stream.reset();
    }

    fn consume(&mut self, taken: usize) {
        if !self.stream.has_half_bytes() {
            return self.block.consume(taken);
        }
        self.half += taken;
        self.block.consume(self.half / 2);
        self.half %= 2;
    }

    /// Gives the bytes to the stream, with the memory that there is. Returns how many bytes were
    /// taken and the number of elements.
    fn feed(
        &mut self,
        memory: &mut Memory,
        outlet: &Outlet,
        one_packet: bool,
        blocked: &Cell<bool>,
        end: bool,
    ) -> (usize, usize) {
        let component = self.component();
        self.report.set_immediate(memory.has_callbacks());
        let Decoder { id, full, outputs, stats, stream, report, maker, .. } = self;
        let Decoder { block, half, nibbles, cache, steps, fetched, queue, replay, .. } = self;
        let (mut bytes, mut offsets) = (block.bytes(), block.offsets());
        if stream.has_half_bytes() {
            nibbles.clear();
            nibbles.extend(bytes.iter().flat_map(|byte| [byte & 0xf, byte >> 4]));
            bytes = nibbles.get(*half..).unwrap_or_default();
            offsets = offsets.of_nibbles();
            if *half != 0 {
                offsets = offsets.without_first_nibble();
            }
        }
        let each_packet =
            *full && (memory.has_callbacks() || report.needs_packets()) || outputs.wants_packets();
        let mut receiver = Receiver {
            id: *id,
            full: *full,
            component,
            outlet,
            outputs,
            stats,
            report,
            maker,
            queue,
            blocked,
            each_packet,
            one_packet,
            packets: 0,
            skipped: replay.unwrap_or(0),
            replays: replay.is_some(),
            emitted: 0,
            client_of_ranges: None,
            steps,
        };
        if *full && !bytes.is_empty() && !end {
            receiver.reported(|report, mut out| report.begin(offsets.at(0), &mut out));
        }
        receiver.set_client_of_ranges();
        let taken = if !*full {
            run(stream, bytes, &offsets, &mut NoMemory, &mut receiver, end)
        } else if memory.has_callbacks() {
            let mut code = ClientCode::new(memory, fetched, *id, &outlet.waits, blocked);
            run(stream, bytes, &offsets, &mut code, &mut receiver, end)
        } else {
            match memory.cache(*cache) {
                Some(cache) => run(stream, bytes, &offsets, cache, &mut receiver, end),
                None => 0,
            }
        };
        (taken, receiver.emitted)
    }
}

fn run<K: BlockCache>(
    stream: &mut SourceStream,
    bytes: &[u8],
    offsets: &OffsetMap<'_>,
    code: &mut K,
    receiver: &mut Receiver<'_>,
    end: bool,
) -> usize {
    if end {
        stream.finish(bytes, offsets, code, receiver);
        return bytes.len();
    }
    stream.feed(bytes, offsets, code, receiver)
}

/// Receives the packets and elements of a source.
struct Receiver<'a> {
    id: u8,
    full: bool,
    component: &'static str,
    outlet: &'a Outlet,
    outputs: &'a mut PacketOutputs,
    stats: &'a mut DecodeStats,
    report: &'a mut SourceReport,
    maker: &'a mut Maker,
    queue: &'a mut VecDeque<Reported>,
    blocked: &'a Cell<bool>,
    each_packet: bool,
    one_packet: bool,
    /// Packets so far.
    packets: usize,
    /// The first elements and the first packet were received before.
    skipped: usize,
    replays: bool,
    /// Elements so far; not counted are those of `client_of_ranges`, which needs no replay.
    emitted: usize,
    /// The function that receives each range, and most cycle counts, as they are decoded. `None`
    /// where they are delivered in another way: they wait, or OpenCSD reports them otherwise.
    client_of_ranges: Option<Client>,
    /// Where a decoder writes its steps.
    steps: &'a mut BatchBuffer,
}

impl Receiver<'_> {
    /// Passes on what `report` makes, or stores it until the client asks for it.
    fn reported(&mut self, report: impl FnOnce(&mut SourceReport, &mut dyn FnMut(Reported))) {
        let Receiver { id, component, outlet, report: own, maker, queue, .. } = self;
        report(own, &mut |reported| {
            if outlet.waits.get() || !queue.is_empty() {
                queue.push_back(reported);
            } else if !outlet.is_fatal() {
                outlet.send(*id, component, maker, &reported);
            }
        });
    }
}

impl Receiver<'_> {
    /// Finds out how ranges are delivered until the next packet or element of another kind.
    fn set_client_of_ranges(&mut self) {
        let in_order = self.full && !self.one_packet && self.skipped == 0;
        let plain = in_order && self.queue.is_empty() && self.report.is_plain_range();
        self.client_of_ranges = if plain { self.outlet.open_client() } else { None };
    }

    /// Takes an element that is not a range for `client_of_ranges`.
    #[inline(never)]
    fn any_element(&mut self, at: u64, element: Element) {
        if self.blocked.get() {
            return;
        }
        self.emitted += 1;
        if self.emitted > self.skipped && self.full {
            self.reported(|report, mut out| report.element(at, element, &mut out));
        }
        self.set_client_of_ranges();
    }

    /// Takes a response that is not [`response::CONT`].
    #[cold]
    #[inline(never)]
    fn respond(&mut self, answer: u32) {
        self.outlet.respond(answer);
        self.set_client_of_ranges();
    }
}

impl Receiver<'_> {
    #[inline(always)]
    fn range(&mut self, at: u64, range: base::Range) {
        let Some(client) = self.client_of_ranges else {
            return self.any_element(at, Element::Range(range));
        };
        let answer = client.receive(at, self.id, self.maker.range(&range));
        if answer != response::CONT {
            self.respond(answer);
        }
    }
}

impl Receiver<'_> {
    /// Takes a cycle count. A unit that traces cycles has as many of them as ranges.
    #[inline]
    fn count(&mut self, at: u64, count: Option<u32>) {
        let Some(client) = self.client_of_ranges.filter(|_| self.report.is_plain_count(at)) else {
            return self.any_element(at, Element::Cycles(count));
        };
        let answer = client.receive(at, self.id, self.maker.count(count));
        if answer != response::CONT {
            self.respond(answer);
        }
    }
}

impl Sink for Receiver<'_> {
    // In line, a range or a cycle count is not written to memory first.
    #[inline(always)]
    fn element(&mut self, at: u64, element: Element) {
        match element {
            Element::Range(range) => self.range(at, range),
            Element::Cycles(count) => self.count(at, count),
            element => self.any_element(at, element),
        }
    }

    // In line, fields of the range go from the block cache to the client's element without a copy.
    #[inline(always)]
    fn step(&mut self, at: u64, id: BlockId, taken: bool, blocks: &CachedBlocks<'_>) {
        if let Some((cached, class)) = blocks.get(id) {
            self.range(at, cached.range(class, taken));
        }
    }

    #[inline]
    fn take_steps(&mut self, _: u64, _: &CachedBlocks<'_>) -> BatchBuffer {
        std::mem::take(self.steps)
    }

    #[inline]
    fn return_steps(&mut self, mut buffer: BatchBuffer, blocks: &CachedBlocks<'_>) {
        let batch = buffer.batch(0, *blocks);
        for &step in batch.steps() {
            self.step(batch.at(step), step.id(), step.taken(), blocks);
        }
        buffer.clear();
        *self.steps = buffer;
    }
}

impl Receiver<'_> {
    fn packet(
        &mut self,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        bytes: &[u8],
        packet: AnyPacket<'_>,
    ) {
        self.packets += 1;
        if self.replays && self.packets == 1 {
            return;
        }
        if self.full {
            self.reported(|report, mut out| report.packet(offsets, &span, packet, &mut out));
        }
        self.outputs.packet(offsets, span, bytes, packet, self.outlet);
        self.set_client_of_ranges();
    }

    fn undecodable(
        &mut self,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        bytes: &[u8],
        fault: Fault,
    ) {
        match fault {
            Fault::Unsynchronised => {
                self.stats.channel_unsynced += offsets.bytes_in(&span) as u64;
            }
            Fault::Reserved(_) | Fault::ReservedForConfig(_) => self.stats.bad_headers += 1,
            _ => self.stats.bad_sequences += 1,
        }
        if !self.full
            && let Some(error) = self.outputs.error(fault)
        {
            let half = u64::from(offsets.is_high_half(span.start));
            let at = offsets.at(span.start).wrapping_add(half);
            self.outlet.log(self.id, self.component, at, error, "");
        }
        if fault != Fault::Unsynchronised {
            let end = (span.end < bytes.len()).then(|| offsets.at(span.end));
            self.report.bad_packet(end);
        }
        self.outputs.undecodable(offsets, span, bytes, fault, self.outlet);
        self.set_client_of_ranges();
    }
}

impl Observer for Receiver<'_> {
    fn event(&mut self, event: StreamEvent<'_>) {
        match event {
            StreamEvent::Packet { bytes: SourceBytes { bytes, span, offsets }, packet } => {
                self.packet(offsets, span, bytes, packet);
            }
            StreamEvent::Undecodable { bytes: SourceBytes { bytes, span, offsets }, fault } => {
                self.undecodable(offsets, span, bytes, fault);
            }
            StreamEvent::AwaitingSync { bytes } => {
                self.outputs.awaiting_sync(bytes, self.outlet);
                self.set_client_of_ranges();
            }
            _ => {}
        }
    }

    fn wants_each_packet(&self) -> bool {
        self.each_packet
    }

    fn pauses(&self) -> bool {
        self.outlet.is_closed() || self.one_packet && self.packets > 0
    }
}
