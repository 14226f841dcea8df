//! One source of a session: its bytes before they are decoded, and its stream.

use std::ops::Range;

use tracewright_base::{
    self as base, BlockCounts, BlockId, BlockTransfer, CachedBlocks, Element, ExecutionCounts,
    ExecutionList, Fault, FunctionMarks, OffsetMap, Path, RangeSum, Sink,
};
use tracewright_frames as frames;
use tracewright_image::{MemorySelectors, Selection};
use tracewright_protocols::registry::AnyPacket;
use tracewright_protocols::{AnyStream, Observer};

use crate::listener::Listener;
use crate::source_memory::SourceMemory;

/// Stored paths for each block. The blocks of a loop may have many: one for each packet that begins
/// at it. Paths of several branches are more.
const PATHS: usize = 4;
const BRANCH_PATHS: usize = 32;

/// The state of one source of a session.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) id: u16,
    stream: AnyStream,
    /// Bytes that are not decoded yet, among them those that make no whole packet.
    block: frames::Source,
    /// Nibbles of the first byte of `block` that are decoded, where packets are a whole number
    /// of nibbles (STM).
    taken: usize,
    /// Bytes so far.
    pub(crate) bytes_received: u64,
    /// Losses and barriers of the link so far.
    events: u64,
    /// `bytes_received` when the state was the initial one.
    begin: u64,
    /// The program memory of the current context, and of the beginning.
    memory: Selection,
    first: Selection,
}

impl Source {
    /// What selects the program memory.
    pub(crate) fn selection(&self) -> Selection {
        self.memory
    }

    pub(crate) fn new(id: u16, stream: AnyStream, program: &mut SourceMemory) -> Self {
        let (block, memory) = (frames::Source::new(id), program.cache.selection());
        Source {
            id,
            stream,
            block,
            taken: 0,
            bytes_received: 0,
            events: 0,
            begin: 0,
            memory,
            first: memory,
        }
    }

    /// Returns to the initial state, except for the configuration and the counts.
    pub(crate) fn reset(&mut self) {
        self.stream.reset();
        self.block = frames::Source::new(self.id);
        self.taken = 0;
        self.memory = self.first;
        self.begin = self.bytes_received;
    }

    /// A number that is greater after anything that changes the state.
    pub(crate) fn activity(&self) -> u64 {
        self.bytes_received + self.events
    }

    /// Whether both sources emit the same for the same bytes from here on.
    pub(crate) fn agrees(&self, other: &Source) -> bool {
        (self.taken, self.memory) == (other.taken, other.memory)
            && self.block == other.block
            && self.stream.agrees(&other.stream)
    }

    /// Whether each byte from here on, up to a restart, belongs to a packet or is undecodable: see
    /// [`Stream::stays_synced`](tracewright_protocols::Stream::stays_synced).
    #[inline]
    pub(crate) fn stays_synced(&self) -> bool {
        self.stream.stays_synced()
    }

    /// The number of bytes that are not decoded yet.
    pub(crate) fn waiting(&self) -> usize {
        self.block.bytes().len()
    }

    pub(crate) fn push(&mut self, at: u64, fragment: bool, bytes: &[u8]) {
        self.bytes_received += bytes.len() as u64;
        self.block.push(at, fragment, bytes);
    }

    pub(crate) fn push_short(&mut self, at: u64, fragment: bool, word: u128, len: usize) {
        self.bytes_received += len as u64;
        self.block.push_short(at, fragment, word, len);
    }

    pub(crate) fn push_plain(&mut self, at: u64, data: &[[u8; frames::FRAME]]) {
        self.bytes_received += (data.len() * (frames::FRAME - 1)) as u64;
        self.block.push_plain(at, data);
    }

    fn use_paths<L: Listener>(&self, program: &mut SourceMemory) {
        match self.stream {
            AnyStream::Etrace(_) | AnyStream::Ntrace(_) if L::BRANCH_PATHS => {
                program.cache.use_paths(BRANCH_PATHS);
            }
            AnyStream::Etrace(_) | AnyStream::Ntrace(_) => {}
            _ if L::PATHS => program.cache.use_paths(PATHS),
            _ => {}
        }
    }

    /// Decodes the waiting bytes up to the last whole packet.
    pub(crate) fn feed<L: Listener>(
        &mut self,
        program: &mut SourceMemory,
        source: usize,
        listener: &mut L,
    ) {
        if self.stream.nibbles() {
            return self.feed_nibbles(program, source, listener);
        }
        // A source has few bytes in each block of a formatter with many sources.
        let one_memory = program.cache.has_one_memory();
        if !one_memory {
            program.cache.select(self.memory);
        }
        self.use_paths::<L>(program);
        let (bytes, offsets) = (self.block.bytes(), self.block.offsets());
        let selectors = program.cache.memory_selectors();
        let observer = &mut SourceObserver::new(source, listener, selectors);
        let taken = self.stream.feed(bytes, &offsets, &mut program.cache, observer);
        if !one_memory {
            self.memory = program.cache.selection();
        }
        self.block.consume(taken);
    }

    /// Bytes that may belong to this source are missing at offset `at`.
    pub(crate) fn lost<L: Listener>(&mut self, at: u64, source: usize, listener: &mut L) {
        self.events += 1;
        let selectors = None;
        self.stream.lost(at, &mut SourceObserver::new(source, listener, selectors));
    }

    /// A barrier of the link at offset `at` ends the trace, and another one follows. The processor
    /// ran on: its time and the images that it selected stay, until the trace reports others.
    pub(crate) fn restart<L: Listener>(
        &mut self,
        at: u64,
        program: &mut SourceMemory,
        source: usize,
        listener: &mut L,
    ) {
        self.events += 1;
        // Without bytes the stream is in its initial state.
        if self.begin == self.bytes_received {
            return;
        }
        self.begin = self.bytes_received;
        let SourceMemory { cache, nibbles } = program;
        cache.select(self.memory);
        let selectors = cache.memory_selectors();
        let Rest { stream, bytes, offsets } = self.rest(nibbles);
        stream.restart(
            at,
            bytes,
            &offsets,
            cache,
            &mut SourceObserver::new(source, listener, selectors),
        );
        self.memory = cache.selection();
        self.block.consume(self.block.bytes().len());
        self.taken = 0;
    }

    /// Whether bytes can be decoded in place, without a copy.
    pub(crate) fn in_place(&self) -> bool {
        !self.stream.nibbles()
    }

    /// Decodes `bytes` in place and returns the number of bytes taken.
    pub(crate) fn feed_raw<L: Listener>(
        &mut self,
        bytes: &[u8],
        offsets: &OffsetMap<'_>,
        program: &mut SourceMemory,
        source: usize,
        listener: &mut L,
    ) -> usize {
        program.cache.select(self.memory);
        self.use_paths::<L>(program);
        let selectors = program.cache.memory_selectors();
        let observer = &mut SourceObserver::new(source, listener, selectors);
        let taken = self.stream.feed(bytes, offsets, &mut program.cache, observer);
        self.memory = program.cache.selection();
        taken
    }

    fn feed_nibbles<L: Listener>(
        &mut self,
        program: &mut SourceMemory,
        source: usize,
        listener: &mut L,
    ) {
        let SourceMemory { cache, nibbles } = program;
        cache.select(self.memory);
        unpack(self.block.bytes(), nibbles);
        let fresh = nibbles.get(self.taken..).unwrap_or_default();
        let offsets = self.block.offsets().of_nibbles();
        let offsets = if self.taken == 0 { offsets } else { offsets.without_first_nibble() };
        let selectors = cache.memory_selectors();
        let observer = &mut SourceObserver::new(source, listener, selectors);
        self.taken += self.stream.feed(fresh, &offsets, cache, observer);
        self.memory = cache.selection();
        self.block.consume(self.taken / 2);
        self.taken %= 2;
    }

    /// What is not decoded yet.
    fn rest<'a>(&'a mut self, nibbles: &'a mut Vec<u8>) -> Rest<'a> {
        let Source { stream, block, taken, .. } = self;
        let (bytes, offsets) = (block.bytes(), block.offsets());
        if !stream.nibbles() {
            return Rest { stream, bytes, offsets };
        }
        unpack(bytes, nibbles);
        let offsets = offsets.of_nibbles();
        let offsets = if *taken == 0 { offsets } else { offsets.without_first_nibble() };
        Rest { stream, bytes: nibbles.get(*taken..).unwrap_or_default(), offsets }
    }

    /// The trace ends.
    pub(crate) fn finish<L: Listener>(
        &mut self,
        program: &mut SourceMemory,
        source: usize,
        listener: &mut L,
    ) {
        let SourceMemory { cache, nibbles } = program;
        cache.select(self.memory);
        let selectors = cache.memory_selectors();
        let Rest { stream, bytes, offsets } = self.rest(nibbles);
        stream.finish(
            bytes,
            &offsets,
            cache,
            &mut SourceObserver::new(source, listener, selectors),
        );
        self.memory = cache.selection();
    }

    /// The trace ends. `rest` is what [`feed_raw`](Self::feed_raw) did not take.
    pub(crate) fn finish_raw<L: Listener>(
        &mut self,
        rest: &[u8],
        offsets: &OffsetMap<'_>,
        program: &mut SourceMemory,
        source: usize,
        listener: &mut L,
    ) {
        program.cache.select(self.memory);
        let selectors = program.cache.memory_selectors();
        self.stream.finish(
            rest,
            offsets,
            &mut program.cache,
            &mut SourceObserver::new(source, listener, selectors),
        );
        self.memory = program.cache.selection();
    }
}

/// The bytes of a source that are not decoded yet, or their nibbles.
struct Rest<'a> {
    stream: &'a mut AnyStream,
    bytes: &'a [u8],
    offsets: OffsetMap<'a>,
}

/// The nibbles of `bytes`, one in each byte.
fn unpack(bytes: &[u8], nibbles: &mut Vec<u8>) {
    nibbles.clear();
    nibbles.extend(bytes.iter().flat_map(|b| [b & 0xf, b >> 4]));
}

/// Passes one source's elements and packets to a listener, with the number of the source.
struct SourceObserver<'a, L> {
    source: usize,
    listener: &'a mut L,
    /// Receives the elements that may select other program memory, where there are such.
    selectors: Option<MemorySelectors>,
}

impl<'a, L: Listener> SourceObserver<'a, L> {
    fn new(source: usize, listener: &'a mut L, selectors: Option<MemorySelectors>) -> Self {
        listener.enter_source(source);
        SourceObserver { source, listener, selectors }
    }

    /// Passes on an element that may select other memory. Apart from the common case, because a
    /// reference to the element would store it in memory for each range.
    #[cold]
    #[inline(never)]
    fn select(&mut self, at: u64, element: Element) {
        if let Some(selectors) = &self.selectors {
            selectors.element(&element);
        }
        self.listener.element(self.source, at, element);
    }
}

impl<L: Listener> Sink for SourceObserver<'_, L> {
    const PATHS: bool = L::PATHS;
    const BRANCH_PATHS: bool = L::BRANCH_PATHS;
    const SUMS: bool = L::SUMS && L::FUNCTIONS;
    const COUNTS: bool = L::COUNTS;
    const EXECUTIONS: bool = L::EXECUTIONS;

    #[inline]
    fn take_executions(&mut self, blocks: &CachedBlocks<'_>, slow: u16) -> ExecutionCounts {
        self.listener.take_executions(self.source, blocks, slow)
    }

    #[inline]
    fn executed(&mut self, counts: ExecutionCounts) {
        self.listener.executed(self.source, counts);
    }

    #[inline]
    fn take_list(&mut self) -> ExecutionList {
        self.listener.take_list(self.source)
    }

    #[inline]
    fn listed(&mut self, list: ExecutionList, blocks: &CachedBlocks<'_>) {
        self.listener.listed(self.source, list, blocks);
    }

    #[inline]
    fn take_counts(&mut self, blocks: &CachedBlocks<'_>) -> BlockCounts {
        self.listener.take_counts(self.source, blocks)
    }

    #[inline]
    fn counted(&mut self, counts: BlockCounts, at: u64, last: Option<base::Range>) {
        self.listener.counted(self.source, counts, at, last);
    }

    #[inline(always)]
    fn sums_within(&self) -> (u64, u64) {
        self.listener.sums_within(self.source)
    }

    #[inline(always)]
    fn sum(&mut self, at: u64, sum: &RangeSum) {
        self.listener.sum(self.source, at, sum);
    }

    #[inline(always)]
    fn transfers(&mut self, at: u64, transfers: &[BlockTransfer], blocks: &CachedBlocks<'_>) {
        self.listener.transfers(self.source, at, transfers, blocks);
    }

    #[inline]
    fn take_marks(&mut self, blocks: &CachedBlocks<'_>) -> FunctionMarks {
        self.listener.take_marks(self.source, blocks)
    }

    #[inline]
    fn return_marks(&mut self, marks: FunctionMarks) {
        self.listener.return_marks(self.source, marks);
    }

    // Called for each range: a call that is not inlined costs as much as most listeners do.
    #[inline(always)]
    fn element(&mut self, at: u64, element: Element) {
        // The kind is constant where the call is put in line.
        let selects = matches!(
            element,
            Element::Range(_) | Element::Timestamp { .. } | Element::DataAccess(_)
        );
        if selects && self.selectors.is_some() {
            return self.select(at, element);
        }
        self.listener.element(self.source, at, element);
    }

    // Where there are selectors, the block cache has no cached blocks, and this is not called.
    #[inline(always)]
    fn cached_range(&mut self, at: u64, range: base::Range) {
        self.listener.cached_range(self.source, at, range);
    }

    // As `cached_range`.
    #[inline(always)]
    fn cached_block(&mut self, at: u64, id: BlockId, range: base::Range) {
        self.listener.cached_block(self.source, at, id, range);
    }

    // As `cached_range`.
    #[inline(always)]
    fn path(&mut self, at: u64, path: &Path, blocks: &CachedBlocks<'_>) {
        self.listener.path(self.source, at, path, blocks);
    }

    // The turns of a loop are not given to `selectors`: where there are any, the fast paths have no
    // cached blocks, and a RISC-V loop has a turn that `element` takes, which selects the same.
    #[inline(always)]
    fn repeat(&mut self, at: u64, range: base::Range, times: u32) {
        self.listener.repeat(self.source, at, range, times);
    }

    #[inline(always)]
    fn repeat_block(&mut self, at: u64, id: BlockId, range: base::Range, times: u32) {
        self.listener.repeat_block(self.source, at, id, range, times);
    }

    fn repeat_path(&mut self, at: u64, ranges: &[base::Range], times: u64) {
        self.listener.repeat_path(self.source, at, ranges, times);
    }

    fn repeat_unlisted(&mut self, at: u64, ranges: &[base::Range], times: u64) {
        self.listener.repeat_unlisted(self.source, at, ranges, times);
    }

    #[inline]
    fn full(&self) -> bool {
        self.listener.full()
    }
}

impl<L: Listener> Observer for SourceObserver<'_, L> {
    const RUNS: bool = L::PACKETS;

    #[inline]
    fn packet(
        &mut self,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        bytes: &[u8],
        packet: AnyPacket<'_>,
    ) {
        if L::PACKETS {
            self.listener.packet(self.source, offsets, span, bytes, packet);
        }
    }

    #[inline]
    fn wants_each_packet(&self) -> bool {
        L::PACKETS && self.listener.wants_each_packet()
    }

    #[inline]
    fn packets(&mut self, offsets: &OffsetMap<'_>, span: Range<usize>, count: usize, syncs: usize) {
        if L::PACKETS {
            self.listener.packets(self.source, offsets, span, count, syncs);
        }
    }

    #[inline]
    fn undecodable(
        &mut self,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        bytes: &[u8],
        fault: Fault,
    ) {
        if L::PACKETS {
            self.listener.undecodable(self.source, offsets, span, bytes, fault);
        }
    }

    #[inline]
    fn awaiting_sync(&mut self, bytes: &[u8]) {
        if L::PACKETS {
            self.listener.awaiting_sync(self.source, bytes);
        }
    }
}
