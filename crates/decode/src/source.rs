//! One source: its bytes on the way to its stream.

use std::cell::RefCell;
use std::ops::Range;

use tracewright_base::{self as base, Element, Fault, Places, Sink};
use tracewright_frames as frames;
use tracewright_image::Cache;
use tracewright_protocols::registry::{AnyPacket, AnyStream, AnyTap};

use crate::Listener;

/// Where one source of a session is.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) id: u8,
    stream: AnyStream,
    /// Bytes that make no whole packet yet.
    block: frames::Source,
    /// Half bytes of the first of them that are taken, where the protocol counts those.
    taken: usize,
    /// Bytes so far.
    pub(crate) heard: u64,
}

/// What decoding a source needs beside its state.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    cache: Cache,
    /// A block in half bytes.
    nibbles: Vec<u8>,
}

impl Program {
    pub(crate) fn new(cache: Cache) -> Self {
        Program { cache, nibbles: Vec::new() }
    }
}

impl Source {
    pub(crate) fn new(id: u8, stream: AnyStream) -> Self {
        Source { id, stream, block: frames::Source::new(id), taken: 0, heard: 0 }
    }

    /// Forgets everything but the configuration.
    pub(crate) fn reset(&mut self) {
        self.stream.reset();
        self.block = frames::Source::new(self.id);
        self.taken = 0;
    }

    /// Whether the two will say the same of the same bytes to come.
    pub(crate) fn agrees(&self, other: &Source) -> bool {
        self.taken == other.taken && self.block == other.block && self.stream.agrees(&other.stream)
    }

    /// Bytes that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.block.bytes().len()
    }

    pub(crate) fn push(&mut self, at: u64, fragment: bool, bytes: &[u8]) {
        self.heard += bytes.len() as u64;
        self.block.push(at, fragment, bytes);
    }

    pub(crate) fn push_short(&mut self, at: u64, fragment: bool, word: u128, len: usize) {
        self.heard += len as u64;
        self.block.push_short(at, fragment, word, len);
    }

    pub(crate) fn push_plain(&mut self, at: u64, data: &[[u8; frames::FRAME]]) {
        self.heard += data.len() as u64;
        self.block.push_plain(at, data);
    }

    /// Decodes what waits, but for an unfinished packet.
    pub(crate) fn feed<L: Listener>(
        &mut self,
        program: &mut Program,
        source: usize,
        listener: &mut L,
    ) {
        if self.stream.nibbles() {
            return self.feed_nibbles(program, source, listener);
        }
        let (bytes, places) = (self.block.bytes(), self.block.places());
        let taken = feed(&mut self.stream, bytes, &places, &mut program.cache, source, listener);
        self.block.consume(taken);
    }

    /// Bytes were lost at place `at` that may have been this source's.
    pub(crate) fn lost<L: Listener>(&mut self, at: u64, source: usize, listener: &mut L) {
        self.stream.lost(at, &mut Elements { source, listener });
    }

    /// Whether bytes can be decoded where they are, without a copy.
    pub(crate) fn in_place(&self) -> bool {
        !self.stream.nibbles()
    }

    /// Decodes `bytes` without a copy and returns how many were taken.
    pub(crate) fn feed_raw<L: Listener>(
        &mut self,
        bytes: &[u8],
        places: &Places<'_>,
        program: &mut Program,
        source: usize,
        listener: &mut L,
    ) -> usize {
        feed(&mut self.stream, bytes, places, &mut program.cache, source, listener)
    }

    fn feed_nibbles<L: Listener>(
        &mut self,
        program: &mut Program,
        source: usize,
        listener: &mut L,
    ) {
        let Program { cache, nibbles } = program;
        self.unpack(nibbles);
        let fresh = nibbles.get(self.taken..).unwrap_or_default();
        let places = self.block.places().of_nibbles();
        let places = if self.taken == 0 { places } else { places.without_first_nibble() };
        self.taken += feed(&mut self.stream, fresh, &places, cache, source, listener);
        self.block.consume(self.taken / 2);
        self.taken %= 2;
    }

    fn unpack(&self, nibbles: &mut Vec<u8>) {
        nibbles.clear();
        nibbles.extend(self.block.bytes().iter().flat_map(|b| [b & 0xf, b >> 4]));
    }

    /// The trace ends.
    pub(crate) fn finish<L: Listener>(
        &mut self,
        program: &mut Program,
        source: usize,
        listener: &mut L,
    ) {
        let Program { cache, nibbles } = program;
        self.unpack(nibbles);
        let (bytes, places) = if self.stream.nibbles() {
            let places = self.block.places().of_nibbles();
            let places = if self.taken == 0 { places } else { places.without_first_nibble() };
            (nibbles.get(self.taken..).unwrap_or_default(), places)
        } else {
            (self.block.bytes(), self.block.places())
        };
        finish(&mut self.stream, bytes, &places, cache, source, listener);
    }

    /// The trace ends; `rest` was never copied.
    pub(crate) fn finish_raw<L: Listener>(
        &mut self,
        rest: &[u8],
        places: &Places<'_>,
        program: &mut Program,
        source: usize,
        listener: &mut L,
    ) {
        finish(&mut self.stream, rest, places, &mut program.cache, source, listener);
    }
}

/// Feeds a stream, with what the listener wants to hear.
fn feed<L: Listener>(
    stream: &mut AnyStream,
    bytes: &[u8],
    places: &Places<'_>,
    cache: &mut Cache,
    source: usize,
    listener: &mut L,
) -> usize {
    if !L::PACKETS {
        return stream.feed(bytes, places, cache, &mut Elements { source, listener }, &mut ());
    }
    let listener = RefCell::new(listener);
    let (mut elements, mut packets) =
        (Shared { source, listener: &listener }, Shared { source, listener: &listener });
    stream.feed(bytes, places, cache, &mut elements, &mut packets)
}

/// Ends a stream, with what the listener wants to hear.
fn finish<L: Listener>(
    stream: &mut AnyStream,
    rest: &[u8],
    places: &Places<'_>,
    cache: &mut Cache,
    source: usize,
    listener: &mut L,
) {
    if !L::PACKETS {
        return stream.finish(rest, places, cache, &mut Elements { source, listener }, &mut ());
    }
    let listener = RefCell::new(listener);
    let (mut elements, mut packets) =
        (Shared { source, listener: &listener }, Shared { source, listener: &listener });
    stream.finish(rest, places, cache, &mut elements, &mut packets);
}

/// The elements of one source, to a listener that wants nothing else.
struct Elements<'a, L> {
    source: usize,
    listener: &'a mut L,
}

impl<L: Listener> Sink for Elements<'_, L> {
    #[inline]
    fn element(&mut self, at: u64, element: Element) {
        self.listener.element(self.source, at, element);
    }

    #[inline]
    fn turns(&mut self, at: u64, range: base::Range, times: u32) {
        self.listener.turns(self.source, at, range, times);
    }

    #[inline]
    fn full(&self) -> bool {
        self.listener.full()
    }
}

/// One source, to a listener that hears packets and elements by turns.
struct Shared<'a, 'l, L> {
    source: usize,
    listener: &'a RefCell<&'l mut L>,
}

impl<L: Listener> Sink for Shared<'_, '_, L> {
    #[inline]
    fn element(&mut self, at: u64, element: Element) {
        self.listener.borrow_mut().element(self.source, at, element);
    }

    #[inline]
    fn turns(&mut self, at: u64, range: base::Range, times: u32) {
        self.listener.borrow_mut().turns(self.source, at, range, times);
    }

    fn full(&self) -> bool {
        self.listener.borrow().full()
    }
}

impl<L: Listener> AnyTap for Shared<'_, '_, L> {
    fn packet(
        &mut self,
        places: &Places<'_>,
        span: Range<usize>,
        bytes: &[u8],
        packet: AnyPacket<'_>,
    ) {
        self.listener.borrow_mut().packet(self.source, places, span, bytes, packet);
    }

    fn bad(&mut self, places: &Places<'_>, span: Range<usize>, bytes: &[u8], fault: Fault) {
        self.listener.borrow_mut().bad(self.source, places, span, bytes, fault);
    }

    fn held(&mut self, bytes: &[u8]) {
        self.listener.borrow_mut().held(self.source, bytes);
    }

    fn each(&self) -> bool {
        self.listener.borrow().each_packet()
    }

    fn packets(&mut self, places: &Places<'_>, span: Range<usize>, count: usize) {
        self.listener.borrow_mut().packets(self.source, places, span, count);
    }
}
