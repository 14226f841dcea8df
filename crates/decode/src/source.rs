//! One source of a session: its bytes before they are decoded, and its stream.

use tracewright_base::{
    BatchBuffer, BlockCache, BlockId, CachedBlocks, Code, Element, OffsetMap, Reserve, Sink, Turns,
};
use tracewright_frames as frames;
use tracewright_image::{Cache, MemorySelectors, Selection};
use tracewright_protocols::{AnyStream, Observer, StreamEvent};

use crate::listener::{Event, Listener, Packets, Wants};
use crate::source_memory::SourceMemory;

/// Stored paths for each block. The blocks of a loop may have many: one for each packet that begins
/// at it.
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
    reserve: Reserve,
}

impl Source {
    /// What selects the program memory.
    pub(crate) fn selection(&self) -> Selection {
        self.memory
    }

    /// `sources`: the number of sources of the session. `unpacked`: how many bytes of trace a byte
    /// of a file stands for.
    pub(crate) fn new(
        id: u16,
        stream: AnyStream,
        program: &mut SourceMemory,
        sources: usize,
        unpacked: u64,
    ) -> Self {
        let reserve = Reserve::new(program.cache.max_expansion(), sources).of_unpacked(unpacked);
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
            reserve,
        }
    }

    /// Returns to the initial state, except for the configuration and the counts.
    pub(crate) fn reset(&mut self) {
        self.stream.reset();
        self.block = frames::Source::new(self.id);
        self.taken = 0;
        self.memory = self.first;
        self.reserve = self.reserve.filled();
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
            && self.reserve.agrees(&other.reserve, self.stream.last())
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

    /// Paths of several branches, up to the next return, are stored for N-Trace.
    fn use_paths(&self, program: &mut SourceMemory) {
        if matches!(self.stream, AnyStream::Ntrace(_)) {
            program.cache.use_paths(BRANCH_PATHS);
        }
    }

    /// Decodes the waiting bytes up to the last whole packet.
    pub(crate) fn feed(
        &mut self,
        program: &mut SourceMemory,
        source: usize,
        to: &mut Receiver<'_>,
    ) {
        if self.stream.nibbles() {
            return self.feed_nibbles(program, source, to);
        }
        // A source has few bytes in each block of a formatter with many sources.
        let one_memory = program.cache.has_one_memory();
        if !one_memory {
            program.cache.select(self.memory);
        }
        self.use_paths(program);
        let (bytes, offsets) = (self.block.bytes(), self.block.offsets());
        let SourceMemory { cache, buffer, .. } = program;
        let taken = observe(source, to, (cache, &mut self.reserve), buffer, |cache, observer| {
            self.stream.feed(bytes, &offsets, cache, observer)
        });
        if !one_memory {
            self.memory = program.cache.selection();
        }
        self.block.consume(taken);
    }

    /// Bytes that may belong to this source are missing at offset `at`.
    pub(crate) fn lost(&mut self, at: u64, source: usize, to: &mut Receiver<'_>) {
        self.events += 1;
        let mut buffer = BatchBuffer::default();
        let mut observer = SourceObserver::new(source, to, &mut buffer, None);
        self.stream.lost(at, &mut observer);
        observer.pass(&CachedBlocks::none());
    }

    /// A barrier of the link at offset `at` ends the trace, and another one follows. The processor
    /// ran on: its time and the images that it selected stay, until the trace reports others.
    pub(crate) fn restart(
        &mut self,
        at: u64,
        program: &mut SourceMemory,
        source: usize,
        to: &mut Receiver<'_>,
    ) {
        self.events += 1;
        // Without bytes the stream is in its initial state.
        if self.begin == self.bytes_received {
            return;
        }
        self.begin = self.bytes_received;
        let SourceMemory { cache, nibbles, buffer } = program;
        cache.select(self.memory);
        let Rest { stream, bytes, offsets, reserve } = self.rest(nibbles);
        observe(source, to, (cache, reserve), buffer, |cache, observer| {
            stream.restart(at, bytes, &offsets, cache, observer);
        });
        self.memory = cache.selection();
        self.block.consume(self.block.bytes().len());
        self.taken = 0;
    }

    /// Whether bytes can be decoded in place, without a copy.
    pub(crate) fn in_place(&self) -> bool {
        !self.stream.nibbles()
    }

    /// Decodes `bytes` in place and returns the number of bytes taken.
    pub(crate) fn feed_raw(
        &mut self,
        bytes: &[u8],
        offsets: &OffsetMap<'_>,
        program: &mut SourceMemory,
        source: usize,
        to: &mut Receiver<'_>,
    ) -> usize {
        program.cache.select(self.memory);
        self.use_paths(program);
        let SourceMemory { cache, buffer, .. } = program;
        let taken = observe(source, to, (cache, &mut self.reserve), buffer, |cache, observer| {
            self.stream.feed(bytes, offsets, cache, observer)
        });
        self.memory = program.cache.selection();
        taken
    }

    fn feed_nibbles(&mut self, program: &mut SourceMemory, source: usize, to: &mut Receiver<'_>) {
        let SourceMemory { cache, nibbles, buffer } = program;
        cache.select(self.memory);
        unpack(self.block.bytes(), nibbles);
        let fresh = nibbles.get(self.taken..).unwrap_or_default();
        let offsets = self.block.offsets().of_nibbles();
        let offsets = if self.taken == 0 { offsets } else { offsets.without_first_nibble() };
        self.taken += observe(source, to, (cache, &mut self.reserve), buffer, |cache, observer| {
            self.stream.feed(fresh, &offsets, cache, observer)
        });
        self.memory = cache.selection();
        self.block.consume(self.taken / 2);
        self.taken %= 2;
    }

    /// What is not decoded yet.
    fn rest<'a>(&'a mut self, nibbles: &'a mut Vec<u8>) -> Rest<'a> {
        let Source { stream, block, taken, reserve, .. } = self;
        let (bytes, offsets) = (block.bytes(), block.offsets());
        if !stream.nibbles() {
            return Rest { stream, bytes, offsets, reserve };
        }
        unpack(bytes, nibbles);
        let offsets = offsets.of_nibbles();
        let offsets = if *taken == 0 { offsets } else { offsets.without_first_nibble() };
        Rest { stream, bytes: nibbles.get(*taken..).unwrap_or_default(), offsets, reserve }
    }

    /// The trace ends.
    pub(crate) fn finish(
        &mut self,
        program: &mut SourceMemory,
        source: usize,
        to: &mut Receiver<'_>,
    ) {
        let SourceMemory { cache, nibbles, buffer } = program;
        cache.select(self.memory);
        let Rest { stream, bytes, offsets, reserve } = self.rest(nibbles);
        observe(source, to, (cache, reserve), buffer, |cache, observer| {
            stream.finish(bytes, &offsets, cache, observer);
        });
        self.memory = cache.selection();
    }

    /// The trace ends. `rest` is what [`feed_raw`](Self::feed_raw) did not take.
    pub(crate) fn finish_raw(
        &mut self,
        rest: &[u8],
        offsets: &OffsetMap<'_>,
        program: &mut SourceMemory,
        source: usize,
        to: &mut Receiver<'_>,
    ) {
        program.cache.select(self.memory);
        let SourceMemory { cache, buffer, .. } = program;
        observe(source, to, (cache, &mut self.reserve), buffer, |cache, observer| {
            self.stream.finish(rest, offsets, cache, observer);
        });
        self.memory = program.cache.selection();
    }
}

/// The bytes of a source that are not decoded yet, or their nibbles.
struct Rest<'a> {
    stream: &'a mut AnyStream,
    bytes: &'a [u8],
    offsets: OffsetMap<'a>,
    reserve: &'a mut Reserve,
}

/// The nibbles of `bytes`, one in each byte.
fn unpack(bytes: &[u8], nibbles: &mut Vec<u8>) {
    nibbles.clear();
    nibbles.extend(bytes.iter().flat_map(|b| [b & 0xf, b >> 4]));
}

/// Decodes by `decode`, and passes on what it has written: the numbers of blocks stay valid until
/// then.
fn observe<T>(
    source: usize,
    to: &mut Receiver<'_>,
    (cache, reserve): (&mut Cache, &mut Reserve),
    buffer: &mut BatchBuffer,
    decode: impl FnOnce(&mut Cache, &mut SourceObserver<'_, '_>) -> T,
) -> T {
    cache.hold_numbers(true);
    cache.set_work_reserve(*reserve);
    let selectors = cache.memory_selectors();
    let mut observer = SourceObserver::new(source, to, buffer, selectors);
    let result = decode(cache, &mut observer);
    observer.pass(&cache.blocks());
    cache.hold_numbers(false);
    *reserve = cache.work_reserve();
    result
}

/// A listener, and what it wants beside elements.
pub(crate) struct Receiver<'a> {
    pub(crate) listener: &'a mut dyn Listener,
    pub(crate) wants: Wants,
}

impl<'a> Receiver<'a> {
    pub(crate) fn new(listener: &'a mut dyn Listener) -> Self {
        let wants = listener.wants();
        Receiver { listener, wants }
    }
}

/// Writes the elements of one source to batches, and passes these and its packets to a listener.
struct SourceObserver<'a, 'b> {
    source: usize,
    to: &'a mut Receiver<'b>,
    buffer: &'a mut BatchBuffer,
    /// Receives the elements that may select other program memory, where there are such.
    selectors: Option<MemorySelectors>,
    /// Packets are received between the elements.
    each: bool,
}

impl<'a, 'b> SourceObserver<'a, 'b> {
    fn new(
        source: usize,
        to: &'a mut Receiver<'b>,
        buffer: &'a mut BatchBuffer,
        selectors: Option<MemorySelectors>,
    ) -> Self {
        let each = to.wants.packets == Packets::Each;
        SourceObserver { source, to, buffer, selectors, each }
    }

    /// Passes on what was written. The steps are of `blocks`.
    #[cold]
    #[inline(never)]
    fn pass(&mut self, blocks: &CachedBlocks<'_>) {
        if !self.buffer.is_empty() {
            self.to.listener.batch(&self.buffer.batch(self.source, *blocks));
            self.buffer.clear();
        }
    }

    /// Adds a step, to an empty batch where this one is full.
    #[cold]
    #[inline(never)]
    fn first_step(&mut self, at: u64, id: BlockId, taken: bool, blocks: &CachedBlocks<'_>) {
        if self.buffer.is_full(at) {
            self.pass(blocks);
        }
        self.buffer.step(at, id, taken);
    }

    /// Passes on elements, where there are no steps.
    #[inline]
    fn pass_elements(&mut self) {
        if !self.buffer.has_steps() {
            self.pass(&CachedBlocks::none());
        }
    }

    #[cold]
    #[inline(never)]
    fn select(&self, element: &Element) {
        if let Some(selectors) = &self.selectors {
            selectors.element(element);
        }
    }

    /// Passes on what is beside the elements, after those before it where the order matters.
    fn pass_event(&mut self, event: &Event<'_>) {
        if self.each {
            self.pass_elements();
        }
        self.to.listener.event(event);
    }
}

impl Sink for SourceObserver<'_, '_> {
    #[inline]
    fn element(&mut self, at: u64, element: Element) {
        let selects = matches!(
            element,
            Element::Range(_) | Element::Timestamp { .. } | Element::DataAccess(_)
        );
        if selects && self.selectors.is_some() {
            self.select(&element);
        }
        if self.buffer.is_full(at) {
            self.pass_elements();
        }
        self.buffer.element(at, element);
    }

    // Where there are selectors, the block cache has no cached blocks, and this is not called.
    #[inline]
    fn step(&mut self, at: u64, id: BlockId, taken: bool, blocks: &CachedBlocks<'_>) {
        if !self.buffer.further_step(at, id, taken) {
            self.first_step(at, id, taken, blocks);
        }
    }

    fn custom(&mut self, at: u64, kind: &'static str, bytes: &[u8]) {
        if self.buffer.is_full(at) || self.buffer.has_much_content() {
            self.pass_elements();
        }
        self.buffer.custom(at, kind, bytes);
    }

    // The turns of a loop are not given to `selectors`: where there are any, the fast paths have no
    // cached blocks, and a RISC-V loop has a turn that `element` takes, which selects the same.
    fn turns(&mut self, turns: Turns<'_>) {
        if self.buffer.is_full(turns.at) {
            self.pass_elements();
        }
        self.buffer.turns(turns);
    }

    #[inline]
    fn take_steps(&mut self, at: u64, blocks: &CachedBlocks<'_>) -> BatchBuffer {
        if self.buffer.is_full(at) {
            self.pass(blocks);
        }
        std::mem::take(self.buffer)
    }

    #[inline]
    fn return_steps(&mut self, buffer: BatchBuffer, blocks: &CachedBlocks<'_>) {
        let _ = blocks;
        *self.buffer = buffer;
    }

    #[inline]
    fn prepare(&mut self, blocks: &CachedBlocks<'_>, many: bool) {
        // Elements without steps are passed on at any time.
        if self.buffer.has_steps() && (many || self.each || self.buffer.is_crowded()) {
            self.pass(blocks);
        }
    }
}

impl Observer for SourceObserver<'_, '_> {
    const RUNS: bool = true;

    #[inline]
    fn event(&mut self, event: StreamEvent<'_>) {
        if self.to.wants.packets == Packets::None {
            return;
        }
        let source = self.source;
        self.pass_event(&match event {
            StreamEvent::Packet { bytes, packet } => Event::Packet { source, bytes, packet },
            StreamEvent::Packets { bytes, count, syncs } => {
                Event::Packets { source, bytes, count, syncs }
            }
            StreamEvent::Undecodable { bytes, fault } => {
                Event::Undecodable { source, bytes, fault }
            }
            StreamEvent::AwaitingSync { bytes } => Event::AwaitingSync { source, bytes },
            _ => return,
        });
    }

    #[inline]
    fn wants_each_packet(&self) -> bool {
        self.each
    }
}
