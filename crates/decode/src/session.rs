//! Decodes one buffer for a listener.

use std::collections::BTreeMap;

use tracewright_base::{OffsetMap, Piece};
use tracewright_capture::Capture;
use tracewright_frames::{Event, FRAME, Frame, Numbering, Split};
use tracewright_image::{Cache, CacheOptions, MemorySelectors, Selection};

use crate::checkpoint::Checkpoint;
use crate::listener::{self, Listener, Packets};
use crate::memory::Memory;
use crate::plan::{ForeignPlan, Options, Plan, Planned};
use crate::route::Route;
use crate::source::{Receiver, Source};
use crate::source_memory::SourceMemories;

/// A source's bytes are decoded when this many wait, or when bytes of another source follow.
const BLOCK: usize = 1 << 14;

/// The same for a listener with [`Listener::BY_SOURCE`], where bytes of other sources may follow:
/// few enough for the waiting bytes of all sources to stay in the second-level cache.
const SHARE: usize = 1 << 12;

/// The same for frames without an ID byte ([`Split::plain`]): few enough bytes to stay in the
/// processor's first-level cache while they are unpacked and decoded.
const PLAIN: usize = 1 << 12;

/// [`Session::run`] feeds this many bytes at a time.
const CHUNK: usize = 1 << 16;

/// OpenCSD reads this many bytes of an unframed buffer at a time, which is visible in its listings.
const OPENCSD_READ: usize = 1024;

/// The code that a session has decoded, for each source of a capture.
#[derive(Clone, Debug, Default)]
pub struct Caches(BTreeMap<usize, Cache>);

impl Caches {
    /// The number of cached blocks.
    pub fn blocks(&self) -> usize {
        self.0.values().map(Cache::len).sum()
    }
}

/// The key of the caches of a source. Its other streams have blocks of another kind, and none.
fn key(planned: &Planned) -> Option<usize> {
    (planned.stream == 0).then_some(planned.source)
}

/// Decodes one buffer: its bytes to the bytes of each source, to packets, to elements. The bytes
/// may be fed in any pieces. A clone continues from the same state.
#[derive(Clone, Debug)]
pub struct Session {
    /// All bytes belong to one source.
    raw: bool,
    numbering: Numbering,
    /// For each trace ID, or source number, the index of its source; `u16::MAX` where there is
    /// none.
    slots: Vec<u16>,
    state: Checkpoint,
    programs: SourceMemories,
    /// The number of source 0 for listeners.
    first: usize,
    /// The key of the caches of each source, and the caches of sources that are not among them.
    planned: Vec<Option<usize>>,
    others: Caches,
    /// Unframed bytes: the pieces of the call. The memory is reused.
    pieces: Vec<Piece>,
}

impl Session {
    /// A session for the sources of `plan`, which was made for `capture`.
    ///
    /// # Errors
    /// [`ForeignPlan`] where `capture` does not have a source of the plan.
    pub fn new(
        capture: &Capture,
        plan: &Plan,
        memory: &Memory,
        options: &Options,
    ) -> Result<Session, ForeignPlan> {
        Session::with_caches(capture, plan, memory, options, Caches::default())
    }

    /// As [`new`](Session::new), with the caches of a session of the same capture and options.
    ///
    /// # Errors
    /// [`ForeignPlan`] where `capture` does not have a source of the plan.
    pub fn with_caches(
        capture: &Capture,
        plan: &Plan,
        memory: &Memory,
        options: &Options,
        mut caches: Caches,
    ) -> Result<Session, ForeignPlan> {
        let cache_options = CacheOptions {
            check_opcodes: options.check_opcodes,
            max_expansion: options.max_expansion,
            ..CacheOptions::default()
        };
        let unpacked = memory.unpacked();
        let mut programs = SourceMemories::default();
        let mut sources = Vec::new();
        for planned in &plan.sources {
            let cache_options = CacheOptions { riscv: planned.config.riscv(), ..cache_options };
            let waypoints = planned.config.waypoints();
            planned.of(capture)?;
            let memory = memory.seen_by(capture, plan.buffer, planned.source);
            let before = key(planned).and_then(|key| caches.0.remove(&key));
            let program = programs.push(memory.cache_from(before, waypoints, cache_options));
            sources.push(Source::new(
                planned.id,
                planned.config.stream(),
                program,
                plan.sources.len(),
                unpacked,
            ));
        }
        let ids = sources.iter().map(|source| usize::from(source.id) + 1).max().unwrap_or(0);
        let mut slots = vec![u16::MAX; ids];
        for (source, n) in sources.iter().zip(0..u16::MAX) {
            slots[usize::from(source.id)] = n;
        }
        Ok(Session {
            planned: plan.sources.iter().map(key).collect(),
            others: caches,
            raw: !plan.framed(),
            numbering: options.numbering,
            slots,
            state: Checkpoint {
                route: plan.route(options.numbering),
                sources,
                current: None,
                fed: 0,
                rest: Vec::new(),
            },
            programs,
            first: 0,
            pieces: Vec::new(),
        })
    }

    /// The same for listeners that number sources on over several buffers: source 0 of the plan is
    /// source `first` there.
    #[must_use]
    pub fn numbered_from(self, first: usize) -> Session {
        Session { first, ..self }
    }

    /// The caches, for the session of another buffer.
    pub fn into_caches(self) -> Caches {
        let (mut caches, planned) = (self.others, self.planned);
        let own = self.programs.into_caches();
        caches.0.extend(own.filter_map(|(n, cache)| Some(((*planned.get(n)?)?, cache))));
        caches
    }

    /// The state.
    pub fn state(&self) -> &Checkpoint {
        &self.state
    }

    /// What selects the program memory of source `n`, and what is selected in the state: where
    /// memory depends on more than the context.
    pub fn selected(&self, n: usize) -> Option<(MemorySelectors, Selection)> {
        let selectors = self.programs.get(n)?.selectors()?;
        Some((selectors, self.state.sources.get(n)?.selection()))
    }

    /// Continues from `checkpoint`, which was taken of this session or of a clone of it.
    pub fn resume(&mut self, checkpoint: Checkpoint) {
        self.state = checkpoint;
    }

    /// Continues from `state`, as [`resume`](Session::resume) does, and puts the state so far in its
    /// place.
    pub fn exchange(&mut self, state: &mut Checkpoint) {
        std::mem::swap(&mut self.state, state);
    }

    /// Decodes only sources for which `wanted` holds from here on, whatever the state. The bytes of
    /// the others are [`UnknownId`](listener::Event::UnknownId), and the states of the others are
    /// undefined: [`Checkpoint::adopt`] replaces them. A buffer without framing has one source,
    /// which is always decoded.
    pub fn only(&mut self, wanted: impl Fn(usize) -> bool) {
        for (source, n) in self.state.sources.iter().zip(0..u16::MAX) {
            if let Some(slot) = self.slots.get_mut(usize::from(source.id)) {
                *slot = if wanted(n.into()) { n } else { u16::MAX };
            }
        }
    }

    /// Replaces the program memory by that of `memory`, for the sources that have one memory in all
    /// contexts: code from here on is that of `memory`.
    pub fn set_memory(&mut self, capture: &Capture, memory: &Memory) {
        for (n, source) in self.planned.iter().enumerate() {
            let source = source.and_then(|source| capture.sources.get(source));
            if let (Some(source), Some(program)) = (source, self.programs.get_mut(n))
                && program.cache.has_one_memory()
            {
                program.cache.set_image(memory.of(capture, source));
            }
        }
    }

    /// Forgets the code that was decoded, and that code is absent.
    pub fn forget_code(&mut self) {
        self.programs.clear();
    }

    /// Reserves memory for the blocks of code of each source that has none yet, where many are
    /// expected: less than 5 MB for 2^16 blocks.
    pub fn reserve_blocks(&mut self, blocks: usize) {
        self.programs.reserve_blocks(blocks);
    }

    /// Takes the next bytes of the buffer, which need not be in the capture: see [`Plan::new`].
    pub fn feed(&mut self, bytes: &[u8], listener: &mut dyn Listener) {
        let mut to = Receiver::new(listener);
        if self.raw {
            // The numbers of blocks stay valid in a part.
            return bytes.chunks(CHUNK).for_each(|part| self.feed_raw(part, &mut to));
        }
        let Session { state, slots, programs, first, .. } = self;
        let Checkpoint { route, sources, current, fed, .. } = state;
        let at = *fed;
        *fed += bytes.len() as u64;
        let all = route.loses_all();
        let (first, frames) = (*first, to.wants.frames);
        let mut router = Router::new(sources, programs, slots, current, first, all, &mut to);
        if frames {
            route.split(at, bytes, &mut FrameRouter(router));
        } else {
            route.split(at, bytes, &mut router);
            router.flush();
        }
    }

    /// Returns to the initial state at offset `at`. For bytes that do not follow those fed so far.
    pub fn reset(&mut self, at: u64) {
        let state = &mut self.state;
        state.route = state.route.fresh();
        state.current = None;
        state.fed = at;
        state.rest.clear();
        for source in &mut state.sources {
            source.reset();
        }
    }

    /// Returns to the initial state at offset `at`, except for the link, whose state is known.
    pub fn begin(&mut self, at: u64, link: Route) {
        self.reset(at);
        self.state.route = link;
    }

    /// The buffer ends: pending elements are emitted.
    pub fn finish(&mut self, listener: &mut dyn Listener) {
        let mut to = Receiver::new(listener);
        if self.raw {
            return self.finish_raw(&mut to);
        }
        let Session { state, slots, programs, first, .. } = self;
        let Checkpoint { route, sources, current, fed, .. } = state;
        let all = route.loses_all();
        let (first, frames) = (*first, to.wants.frames);
        let mut router = Router::new(sources, programs, slots, current, first, all, &mut to);
        if frames {
            route.finish(*fed, &mut FrameRouter(router));
        } else {
            route.finish(*fed, &mut router);
            router.flush();
        }
        for n in by_id(sources) {
            if let (Some(source), Some(program)) = (sources.get_mut(n), programs.get_mut(n)) {
                source.finish(program, first + n, &mut to);
            }
        }
    }

    /// Decodes `parts` to their end, or until the listener is [full](Listener::full), which it is
    /// asked after each 64 KiB.
    pub fn run<'a>(
        &mut self,
        parts: impl IntoIterator<Item = &'a [u8]>,
        listener: &mut dyn Listener,
    ) {
        for part in parts {
            for chunk in part.chunks(CHUNK) {
                self.feed(chunk, listener);
                if listener.full() {
                    return;
                }
            }
        }
        self.finish(listener);
    }

    /// The bytes of an unframed buffer that were fed and are not decoded yet: they begin a packet,
    /// or synchronisation needs those that follow.
    pub(crate) fn waiting(&self) -> usize {
        self.state.rest.len()
    }

    /// Sets `pieces` for `len` unframed bytes at offset `at`.
    fn raw_pieces(&mut self, at: u64, len: usize) {
        self.pieces.clear();
        self.pieces.push(Piece { start: 0, at, fragment: true });
        if self.numbering == Numbering::Opencsd {
            let read = OPENCSD_READ as u64;
            let first = (at / read + 1) * read;
            let cuts = (first..at + len as u64).step_by(OPENCSD_READ);
            self.pieces.extend(cuts.map(|cut| Piece {
                start: (cut - at) as u32,
                at: cut,
                fragment: true,
            }));
        }
    }

    fn feed_raw(&mut self, bytes: &[u8], to: &mut Receiver<'_>) {
        let waiting = self.state.rest.len();
        let at = self.state.fed - waiting as u64;
        self.state.fed += bytes.len() as u64;
        if waiting > 0 {
            self.state.rest.extend_from_slice(bytes);
        }
        let len = waiting + bytes.len();
        self.raw_pieces(at, len);
        let Session { state: Checkpoint { sources, rest, .. }, programs, pieces, first, .. } = self;
        let (Some(source), Some(program)) = (sources.first_mut(), programs.get_mut(0)) else {
            let unknown = listener::Event::UnknownId { id: 0, at, len: bytes.len() };
            return to.listener.event(&unknown);
        };
        if !source.in_place() {
            // An STM. The source's block holds what makes no whole packet, and `rest` stays empty.
            for (n, piece) in pieces.iter().enumerate() {
                let end = pieces.get(n + 1).map_or(len, |next| next.start as usize);
                source.push(piece.at, true, &bytes[piece.start as usize..end]);
            }
            return source.feed(program, *first, to);
        }
        source.bytes_received += bytes.len() as u64;
        let offsets = OffsetMap::new(pieces);
        let whole = if waiting > 0 { &rest[..] } else { bytes };
        let taken = source.feed_raw(whole, &offsets, program, *first, to);
        if waiting > 0 {
            rest.drain(..taken);
        } else {
            rest.extend_from_slice(&bytes[taken..]);
        }
    }

    fn finish_raw(&mut self, to: &mut Receiver<'_>) {
        let at = self.state.fed - self.state.rest.len() as u64;
        self.raw_pieces(at, self.state.rest.len());
        let Session { state: Checkpoint { sources, rest, .. }, programs, pieces, first, .. } = self;
        let (Some(source), Some(program)) = (sources.first_mut(), programs.get_mut(0)) else {
            return;
        };
        if source.in_place() {
            source.finish_raw(rest, &OffsetMap::new(pieces), program, *first, to);
        } else {
            source.finish(program, *first, to);
        }
    }
}

/// The indices of the sources in the order of their IDs.
fn by_id(sources: &[Source]) -> Vec<usize> {
    let mut order: Vec<_> = (0..sources.len()).collect();
    order.sort_by_key(|&n| sources.get(n).map(|source| source.id));
    order
}

/// Appends each piece to its source, and decodes a source when a piece of another one follows.
struct Router<'a, 'b> {
    sources: &'a mut [Source],
    programs: &'a mut SourceMemories,
    slots: &'a [u16],
    current: &'a mut Option<usize>,
    /// The number of source 0 for the listener.
    first: usize,
    /// All sources are notified of undecodable bytes of the link: see [`Route::loses_all`].
    all: bool,
    /// As many waiting bytes of a source are decoded, whatever follows.
    block: usize,
    to: &'a mut Receiver<'b>,
}

impl<'a, 'b> Router<'a, 'b> {
    fn new(
        sources: &'a mut [Source],
        programs: &'a mut SourceMemories,
        slots: &'a [u16],
        current: &'a mut Option<usize>,
        first: usize,
        all: bool,
        to: &'a mut Receiver<'b>,
    ) -> Self {
        let block = if to.wants.any_order { SHARE } else { BLOCK };
        Router { sources, programs, slots, current, first, all, block, to }
    }

    /// Decodes all waiting bytes.
    fn flush(&mut self) {
        let current = self.current.take();
        if self.to.wants.any_order {
            for n in 0..self.sources.len() {
                if self.sources.get(n).is_some_and(|source| source.waiting() > 0) {
                    self.feed(n);
                }
            }
        } else if let Some(n) = current {
            self.feed(n);
        }
    }

    /// A barrier at offset `at` ends the trace of each source, and another one follows.
    #[cold]
    fn restart(&mut self, at: u64) {
        self.flush();
        for n in by_id(self.sources) {
            if let (Some(source), Some(program)) =
                (self.sources.get_mut(n), self.programs.get_mut(n))
            {
                source.restart(at, program, self.first + n, self.to);
            }
        }
    }

    /// Whether the waiting bytes of source `n` are decoded now. How a listener groups bytes
    /// before a synchronisation may depend on the [pieces](listener::Wants::pieces).
    #[inline]
    fn due(&self, n: usize, block: usize) -> bool {
        let source = self.sources.get(n);
        source.is_some_and(|s| s.waiting() >= block || self.to.wants.pieces && !s.stays_synced())
    }

    /// Decodes the waiting bytes of source `n`.
    fn feed(&mut self, n: usize) {
        if let (Some(source), Some(program)) = (self.sources.get_mut(n), self.programs.get_mut(n)) {
            source.feed(program, self.first + n, self.to);
        }
    }
}

impl Router<'_, '_> {
    /// Makes the source of `id` the current one and returns its index. Decodes the waiting bytes of
    /// another one first, where the order matters. Where there is no source, reports the bytes to
    /// the listener and returns `None`.
    #[inline]
    fn select(&mut self, id: u16, at: u64, len: usize) -> Option<usize> {
        let n = self.slots.get(usize::from(id)).map_or(usize::MAX, |n| usize::from(*n));
        if n >= self.sources.len() {
            self.to.listener.event(&listener::Event::UnknownId { id, at, len });
            return None;
        }
        if !self.to.wants.any_order && *self.current != Some(n) {
            self.flush();
            *self.current = Some(n);
        }
        Some(n)
    }
}

impl Split for Router<'_, '_> {
    fn piece(&mut self, id: u16, at: u64, fragment: bool, bytes: &[u8]) {
        let Some(n) = self.select(id, at, bytes.len()) else { return };
        let source = &mut self.sources[n];
        source.push(at, fragment, bytes);
        if self.due(n, self.block) {
            self.feed(n);
        }
    }

    #[inline]
    fn short(&mut self, id: u16, at: u64, fragment: bool, word: u128, len: usize) {
        let Some(n) = self.select(id, at, len) else { return };
        let source = &mut self.sources[n];
        source.push_short(at, fragment, word, len);
        if self.due(n, self.block) {
            self.feed(n);
        }
    }

    fn plain(&mut self, id: u8, at: u64, _: &[[u8; FRAME]], data: &[[u8; FRAME]]) {
        let Some(n) = self.select(id.into(), at, data.len() * (FRAME - 1)) else { return };
        let pieces = self.to.wants.pieces && !self.sources[n].stays_synced();
        let frames = if pieces { 1 } else { PLAIN / FRAME };
        for (k, data) in data.chunks(frames).enumerate() {
            self.sources[n].push_plain(at.wrapping_add((k * frames * FRAME) as u64), data);
            if self.due(n, PLAIN) {
                self.feed(n);
            }
        }
    }

    fn event(&mut self, at: u64, event: Event) {
        if event == Event::Barrier {
            self.restart(at);
        }
        if self.to.wants.packets != Packets::None {
            self.to.listener.event(&listener::Event::Link { at, event });
        }
        if self.all && matches!(event, Event::Bad { .. }) {
            self.flush();
            for n in by_id(self.sources) {
                if let Some(source) = self.sources.get_mut(n) {
                    source.lost(at, self.first + n, self.to);
                }
            }
        }
    }
}

/// A router for a listener that wants frames, too: each piece is decoded at once. The default
/// methods of [`Split`] pass short pieces and frames without an ID byte to `piece`.
struct FrameRouter<'a, 'b>(Router<'a, 'b>);

impl Split for FrameRouter<'_, '_> {
    const FRAGMENTS: bool = true;

    fn piece(&mut self, id: u16, at: u64, fragment: bool, bytes: &[u8]) {
        self.0.piece(id, at, fragment, bytes);
        self.0.flush();
    }

    fn event(&mut self, at: u64, event: Event) {
        self.0.event(at, event);
    }

    fn frame(&mut self, frame: &Frame<'_>) {
        self.0.to.listener.event(&listener::Event::Frame(frame));
    }

    fn packed(&mut self, at: u64, bytes: &[u8]) {
        self.0.to.listener.event(&listener::Event::Packed { at, bytes });
    }

    fn fragment(&mut self, id: Option<u8>, at: u64, bytes: &[u8]) {
        self.0.to.listener.event(&listener::Event::Fragment { id, at, bytes });
    }
}
