//! One buffer, from its bytes to a listener.

use tracewright_base::{Piece, Places};
use tracewright_capture::Capture;
use tracewright_frames::{Event, FRAME, Frame, Framing, Link, Numbering, Split, Splitter};
use tracewright_image::{Cache, CacheOptions};

use crate::source::Source;
use crate::{Listener, Memory, Options, Plan};

/// A source's bytes are decoded when this many wait, or when another source speaks.
const BLOCK: usize = 1 << 14;

/// Bytes without framing are decoded in stretches of this many.
const STRETCH: usize = 1 << 20;

/// The reference reads this much of an unframed buffer at a time; its listing can tell.
const REFERENCE_READ: usize = 1024;

/// Decodes one buffer: link bytes to sources to packets to elements. It may be fed in any pieces. A
/// clone goes on from where the original is: who stops early keeps one to resume from.
#[derive(Clone, Debug)]
pub struct Session {
    splitter: Splitter,
    framing: Framing,
    numbering: Numbering,
    sources: Vec<Source>,
    /// For each trace id, where its source is in `sources`.
    slots: [u8; 256],
    /// The source that spoke last.
    current: Option<usize>,
    /// Bytes fed so far.
    fed: u64,
    /// Unframed bytes that make no whole packet yet.
    rest: Vec<u8>,
    pieces: Vec<Piece>,
}

impl Session {
    /// Prepares the sources of `plan`.
    pub fn new(capture: &Capture, plan: &Plan, memory: &Memory, options: &Options) -> Session {
        let mut slots = [u8::MAX; 256];
        let cache_options =
            CacheOptions { check_opcodes: options.check_opcodes, ..CacheOptions::default() };
        let sources: Vec<_> = plan
            .sources
            .iter()
            .map(|planned| {
                let image = memory.of(capture, &capture.sources[planned.source]);
                let cache = Cache::new(image, planned.config.waypoints(), cache_options);
                Source::new(planned.id, planned.config.stream(), cache)
            })
            .collect();
        for (n, source) in sources.iter().enumerate().take(usize::from(u8::MAX)) {
            slots[usize::from(source.id)] = n as u8;
        }
        let link = Link { numbering: options.numbering, ..Link::new(plan.framing) };
        Session {
            splitter: Splitter::new(link),
            framing: plan.framing,
            numbering: options.numbering,
            sources,
            slots,
            current: None,
            fed: 0,
            rest: Vec::new(),
            pieces: Vec::new(),
        }
    }

    /// Takes the next bytes of the buffer.
    pub fn feed<L: Listener>(&mut self, bytes: &[u8], listener: &mut L) {
        if self.framing == Framing::Raw {
            return self.feed_raw(bytes, listener);
        }
        let at = self.fed;
        self.fed += bytes.len() as u64;
        let Session { splitter, sources, slots, current, .. } = self;
        let mut router = Router { sources, slots, current, listener };
        if L::FRAMES {
            splitter.split(at, bytes, &mut FrameRouter(router));
        } else {
            splitter.split(at, bytes, &mut router);
            router.flush();
        }
    }

    /// What comes next does not follow what was: a new buffer, or the same one from another place `at`.
    pub fn reset(&mut self, at: u64) {
        self.splitter = Splitter::new(self.splitter.link());
        self.current = None;
        self.fed = at;
        self.rest.clear();
        for source in &mut self.sources {
            source.reset();
        }
    }

    /// The buffer ends: what was held back is said.
    pub fn finish<L: Listener>(&mut self, listener: &mut L) {
        if self.framing == Framing::Raw {
            return self.finish_raw(listener);
        }
        let Session { splitter, sources, slots, current, .. } = self;
        let mut router = Router { sources, slots, current, listener };
        if L::FRAMES {
            splitter.finish(&mut FrameRouter(router));
        } else {
            splitter.finish(&mut router);
            router.flush();
        }
        let mut order: Vec<_> = (0..self.sources.len()).collect();
        order.sort_by_key(|&n| self.sources[n].id);
        for n in order {
            self.sources[n].finish(n, listener);
        }
    }

    /// Decodes all of `parts`.
    pub fn run<'a, L: Listener>(
        &mut self,
        parts: impl IntoIterator<Item = &'a [u8]>,
        listener: &mut L,
    ) {
        for part in parts {
            for stretch in part.chunks(STRETCH) {
                self.feed(stretch, listener);
                if listener.full() {
                    return;
                }
            }
        }
        self.finish(listener);
    }

    /// Where unframed bytes from place `at` on were.
    fn raw_pieces(&mut self, at: u64, len: usize) {
        self.pieces.clear();
        self.pieces.push(Piece { start: 0, at, fragment: true });
        if self.numbering == Numbering::Reference {
            let read = REFERENCE_READ as u64;
            let first = (at / read + 1) * read;
            let cuts = (first..at + len as u64).step_by(REFERENCE_READ);
            self.pieces.extend(cuts.map(|cut| Piece {
                start: (cut - at) as u32,
                at: cut,
                fragment: true,
            }));
        }
    }

    fn feed_raw<L: Listener>(&mut self, bytes: &[u8], listener: &mut L) {
        let at = self.fed - self.rest.len() as u64;
        self.fed += bytes.len() as u64;
        if self.sources.is_empty() {
            return listener.stranger(0, at, bytes.len());
        }
        let joined = !self.rest.is_empty();
        if joined {
            self.rest.extend_from_slice(bytes);
        }
        let len = if joined { self.rest.len() } else { bytes.len() };
        self.raw_pieces(at, len);
        let source = &mut self.sources[0];
        if !source.in_place() {
            let bytes = if joined { &self.rest } else { bytes };
            for (n, piece) in self.pieces.iter().enumerate() {
                let end = self.pieces.get(n + 1).map_or(len, |next| next.start as usize);
                source.push(piece.at, true, &bytes[piece.start as usize..end]);
            }
            source.feed(0, listener);
            self.rest.clear();
            return;
        }
        let places = Places::new(&self.pieces);
        let whole = if joined { &self.rest } else { bytes };
        let taken = source.feed_raw(whole, &places, 0, listener);
        if joined {
            self.rest.drain(..taken);
        } else {
            self.rest.extend_from_slice(&bytes[taken..]);
        }
    }

    fn finish_raw<L: Listener>(&mut self, listener: &mut L) {
        let at = self.fed - self.rest.len() as u64;
        self.raw_pieces(at, self.rest.len());
        let Some(source) = self.sources.first_mut() else { return };
        if source.in_place() {
            source.finish_raw(&self.rest, &Places::new(&self.pieces), 0, listener);
        } else {
            source.finish(0, listener);
        }
    }
}

/// Gives each piece to its source, and lets a source speak when the next one begins.
struct Router<'a, L> {
    sources: &'a mut [Source],
    slots: &'a [u8; 256],
    current: &'a mut Option<usize>,
    listener: &'a mut L,
}

impl<L: Listener> Router<'_, L> {
    fn flush(&mut self) {
        if let Some(n) = self.current.take()
            && let Some(source) = self.sources.get_mut(n)
        {
            source.feed(n, self.listener);
        }
    }
}

impl<L: Listener> Router<'_, L> {
    /// Makes the source of `id` the one that speaks. `None`, and the listener knows, where there is
    /// none.
    fn source(&mut self, id: u8, at: u64, len: usize) -> Option<usize> {
        let n = usize::from(self.slots[usize::from(id)]);
        if n >= self.sources.len() {
            self.listener.stranger(id, at, len);
            return None;
        }
        if *self.current != Some(n) {
            self.flush();
            *self.current = Some(n);
        }
        Some(n)
    }
}

impl<L: Listener> Split for Router<'_, L> {
    fn piece(&mut self, id: u8, at: u64, fragment: bool, bytes: &[u8]) {
        let Some(n) = self.source(id, at, bytes.len()) else { return };
        let source = &mut self.sources[n];
        source.push(at, fragment, bytes);
        if source.waiting() >= BLOCK {
            source.feed(n, self.listener);
        }
    }

    fn plain(&mut self, id: u8, at: u64, _: &[[u8; FRAME]], data: &[[u8; FRAME]]) {
        let Some(n) = self.source(id, at, data.len() * (FRAME - 1)) else { return };
        for (k, data) in data.chunks(BLOCK / FRAME).enumerate() {
            let source = &mut self.sources[n];
            source.push_plain(at.wrapping_add((k * BLOCK) as u64), data);
            source.feed(n, self.listener);
        }
    }

    fn event(&mut self, at: u64, event: Event) {
        if L::PACKETS {
            self.listener.link(at, event);
        }
    }
}

/// The same for a listener that wants the frames, too: each piece is decoded at once.
struct FrameRouter<'a, L>(Router<'a, L>);

impl<L: Listener> Split for FrameRouter<'_, L> {
    fn piece(&mut self, id: u8, at: u64, fragment: bool, bytes: &[u8]) {
        self.0.piece(id, at, fragment, bytes);
        self.0.flush();
    }

    fn event(&mut self, at: u64, event: Event) {
        self.0.event(at, event);
    }

    fn frame(&mut self, frame: &Frame<'_>) {
        self.0.listener.frame(frame);
    }

    fn packed(&mut self, at: u64, bytes: &[u8]) {
        self.0.listener.packed(at, bytes);
    }

    fn fragment(&mut self, id: Option<u8>, at: u64, bytes: &[u8]) {
        self.0.listener.fragment(id, at, bytes);
    }
}
