//! The ways in which a case is decoded.
#![allow(dead_code, reason = "each test uses what fits it")]

use std::sync::Arc;

use tracewright::base::{
    Element, Inconsistency, MAX_EXPANSION, OffsetMap, Piece, Sink, SyncSearch,
};
use tracewright::decode::Committed;
use tracewright::frames::{Framing, Joiner, Link, Sources, Splitter};
use tracewright::image::{Cache, CacheOptions};
use tracewright::protocols::registry::{AnyConfig, AnyPacket};
use tracewright::protocols::{AnyStream, Observer, SourceBytes, StreamEvent};

use tracewright_testing::{is_long, sample, short_or_long};

use crate::case::Case;
use crate::chunks::{self, FRAMED_ID};

/// What a decoder reported.
#[derive(Clone, Default, PartialEq)]
pub struct Output {
    packets: Vec<Packet>,
    elements: Vec<(u64, Element)>,
    /// Packets and undecodable bytes, in order.
    spans: Vec<Span>,
    /// The number of elements before each packet.
    before: Vec<usize>,
}

#[derive(Clone, PartialEq)]
struct Packet {
    at: u64,
    text: String,
    /// Every field.
    exact: String,
}

#[derive(Clone, PartialEq)]
struct Span {
    bytes: Vec<u8>,
    /// The bytes that the packet emits. `None` for undecodable bytes.
    emitted: Option<Vec<u8>>,
}

impl Output {
    pub fn packets(&self) -> Vec<String> {
        self.packets.iter().map(|p| format!("{} {}", p.at, p.text)).collect()
    }

    pub fn elements(&self) -> Vec<String> {
        rows(&self.elements)
    }

    /// The elements once failed transactions have been taken out.
    pub fn committed(&self) -> Vec<String> {
        let mut sink = Committed::new(Vec::new());
        for &(at, element) in &self.elements {
            sink.element(at, element);
        }
        rows(&sink.sink)
    }

    /// The output without offsets.
    fn meaning(&self) -> (Vec<&str>, Vec<Element>) {
        let packets = self.packets.iter().map(|p| p.exact.as_str()).collect();
        (packets, self.elements.iter().map(|&(_, element)| element).collect())
    }

    fn differs(&self, other: &Output) -> bool {
        self.packets != other.packets || self.elements != other.elements
    }
}

fn rows(elements: &[(u64, Element)]) -> Vec<String> {
    elements.iter().map(|(at, element)| format!("{at} {element}")).collect()
}

/// Records elements, and either records each packet or only counts packets. `RUNS`: see
/// [`Observer::RUNS`].
struct Recorder<'a, const RUNS: bool> {
    output: &'a mut Output,
    /// The trace unit's configuration, with what the packets so far report of it.
    unit: &'a mut AnyConfig,
    /// Packets are only counted: the decoder may take several at once.
    quiet: Option<&'a mut Quiet>,
}

impl<const RUNS: bool> Sink for Recorder<'_, RUNS> {
    fn element(&mut self, at: u64, element: Element) {
        self.output.elements.push((at, element));
    }
}

impl<const RUNS: bool> Observer for Recorder<'_, RUNS> {
    const RUNS: bool = RUNS;

    fn wants_each_packet(&self) -> bool {
        self.quiet.is_none()
    }

    fn event(&mut self, event: StreamEvent<'_>) {
        match (event, &mut self.quiet) {
            (StreamEvent::Packets { bytes, count, .. }, Some(quiet)) => {
                quiet.packets += count;
                quiet.units += bytes.span.len();
            }
            (StreamEvent::Packet { bytes, .. }, Some(quiet)) => {
                quiet.packets += 1;
                quiet.units += bytes.span.len();
            }
            (StreamEvent::Packet { bytes, packet }, None) => self.packet(&bytes, packet),
            (StreamEvent::Undecodable { bytes, .. }, None) => {
                self.output.spans.push(Span { bytes: bytes.get().to_vec(), emitted: None });
            }
            _ => {}
        }
    }
}

impl<const RUNS: bool> Recorder<'_, RUNS> {
    fn packet(&mut self, bytes: &SourceBytes<'_>, packet: AnyPacket<'_>) {
        let mut emitted = Vec::new();
        packet.emit(self.unit, &mut emitted);
        self.unit.learn(packet);
        self.output.spans.push(Span { bytes: bytes.get().to_vec(), emitted: Some(emitted) });
        let (at, text, exact) = (bytes.at(), packet.to_string(), format!("{packet:?}"));
        self.output.packets.push(Packet { at, text, exact });
        self.output.before.push(self.output.elements.len());
    }
}

/// Packets, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Quiet {
    packets: usize,
    /// Units in packets.
    units: usize,
}

/// A decoder that was fed part of a case.
#[derive(Clone)]
struct Run<'a> {
    case: &'a Case,
    image: &'a Arc<tracewright::image::Image>,
    stream: AnyStream,
    /// The configuration of the trace unit as the packets so far report it, where packets are
    /// observed.
    unit: AnyConfig,
    output: Output,
    /// Units (bytes or nibbles) taken.
    taken: usize,
    /// The number of packets so far, if packets are not observed.
    quiet: Option<Quiet>,
    /// The decoder may take several packets at once, which are observed.
    runs: bool,
}

impl<'a> Run<'a> {
    fn new(case: &'a Case, image: &'a Arc<tracewright::image::Image>, from: usize) -> Self {
        let (stream, unit) = (case.config.stream(), case.config.clone());
        let output = Output::default();
        Run { case, image, stream, unit, output, taken: from, quiet: None, runs: false }
    }

    /// Feeds the rest of `units` up to `end`, or up to the end of the trace for `None`. Each call
    /// has an empty cache of the program, because cached blocks must not change the output.
    fn feed(&mut self, units: &[u8], end: Option<usize>) {
        self.feed_with(&mut self.cache(64), units, end);
    }

    /// A cache of at most `blocks` blocks.
    fn cache(&self, blocks: usize) -> Cache {
        let riscv = self.case.config.riscv();
        let max_expansion = self.case.max_expansion;
        let options = CacheOptions { blocks, riscv, max_expansion, ..CacheOptions::default() };
        Cache::new(Arc::clone(self.image), self.case.config.waypoints(), options)
    }

    /// As [`feed`](Self::feed), with a cache.
    fn feed_with(&mut self, code: &mut Cache, units: &[u8], end: Option<usize>) {
        let nibbles = self.stream.nibbles();
        let at = if nibbles { self.taken / 2 } else { self.taken };
        let pieces = [Piece { start: 0, at: at as u64, fragment: true }];
        let offsets = match (nibbles, self.taken % 2) {
            (false, _) => OffsetMap::new(&pieces),
            (true, 0) => OffsetMap::new(&pieces).of_nibbles(),
            (true, _) => OffsetMap::new(&pieces).of_nibbles().without_first_nibble(),
        };
        let fresh = &units[self.taken..end.unwrap_or(units.len())];
        let (output, unit, quiet) = (&mut self.output, &mut self.unit, self.quiet.as_mut());
        let mut recorder = Recorder::<false> { output, unit, quiet };
        if end.is_none() {
            self.stream.finish(fresh, &offsets, code, &mut recorder);
        } else if self.runs {
            let Recorder { output, unit, quiet } = recorder;
            let mut recorder = Recorder::<true> { output, unit, quiet };
            self.taken += self.stream.feed(fresh, &offsets, code, &mut recorder);
        } else {
            self.taken += self.stream.feed(fresh, &offsets, code, &mut recorder);
        }
    }

    /// The packets so far, counted.
    fn counted(&self) -> Quiet {
        self.quiet.unwrap_or_else(|| {
            let packets = self.output.spans.iter().filter(|span| span.emitted.is_some());
            let units = packets.map(|span| span.bytes.len()).sum();
            Quiet { packets: self.output.packets.len(), units }
        })
    }

    fn whole(mut self, units: &[u8]) -> Output {
        self.feed(units, Some(units.len()));
        self.feed(units, None);
        self.output
    }
}

/// The units of the parser: bytes, or nibbles.
fn units(stream: &AnyStream, bytes: &[u8]) -> Vec<u8> {
    if !stream.nibbles() {
        return bytes.to_vec();
    }
    bytes.iter().flat_map(|byte| [byte & 0xf, byte >> 4]).collect()
}

/// Decodes a case in every way, and returns the output, which is the same for all of them.
pub fn every_way(case: &Case) -> Result<Output, String> {
    let image = Arc::new(case.image.clone());
    let units = units(&case.config.stream(), &case.bytes);
    let fresh = Run::new(case, &image, 0);
    let whole = fresh.clone().whole(&units);

    accounted_for(&whole, &units)?;
    // The cases of the limit of expansion have long code, which each cut decodes again.
    let step = if case.max_expansion == MAX_EXPANSION || is_long() { 1 } else { 8 };
    for cut in (0..=units.len()).step_by(step) {
        let mut run = fresh.clone();
        run.feed(&units, Some(cut));
        many_at_once(&run, &units, cut, &whole)?;
        if run.whole(&units).differs(&whole) {
            return Err(format!("not the same when cut at {cut}"));
        }
    }

    // Byte by byte, with a checkpoint after each packet; each checkpoint goes on to the end.
    let mut checkpoints = vec![fresh.clone()];
    let mut run = fresh.clone();
    for end in 0..=units.len() {
        let before = run.taken;
        run.feed(&units, Some(end));
        if run.taken > before {
            checkpoints.push(run.clone());
        }
    }
    for checkpoint in &checkpoints {
        if checkpoint.clone().whole(&units).differs(&whole) {
            return Err(format!("not the same when resumed at {}", checkpoint.taken));
        }
    }

    for blocks in [2, 64] {
        share_a_cache(&fresh, &units, blocks, &whole)?;
    }
    at_each_sync(case, &units, &checkpoints, &whole)?;
    if aligned(&whole, &units) {
        written_again(&fresh, &whole)?;
    }
    through_frames(case, &fresh, &whole)?;
    // A short run takes one of these for each case.
    let sizes = [(16, 16), (7, 35), (1, 3)];
    let first = short_or_long(case.bytes.len() % sizes.len(), 0);
    for (step, chunk) in sample(sizes.len(), sizes.into_iter().skip(first)) {
        chunks::of_case(case, &case.bytes, Framing::Raw, step, chunk)?;
    }
    Ok(whole)
}

/// Decodes a case in a few ways, cut once at about `cut`. Decoding many cases in every way takes
/// long.
pub fn cut_once(case: &Case, cut: usize) -> Result<(), String> {
    let image = Arc::new(case.image.clone());
    let units = units(&case.config.stream(), &case.bytes);
    let fresh = Run::new(case, &image, 0);
    let whole = fresh.clone().whole(&units);
    accounted_for(&whole, &units)?;
    let cut = cut % (units.len() + 1);
    let mut run = fresh.clone();
    run.feed(&units, Some(cut));
    many_at_once(&run, &units, cut, &whole)?;
    if run.whole(&units).differs(&whole) {
        return Err(format!("not the same when cut at {cut}"));
    }
    if aligned(&whole, &units) {
        written_again(&fresh, &whole)?;
    }
    through_frames(case, &fresh, &whole)
}

/// Whether all packets begin at a byte of the source. Packets that begin inside a byte cannot be
/// written between undecodable bytes, which are whole.
fn aligned(whole: &Output, units: &[u8]) -> bool {
    whole.spans.iter().flat_map(|span| &span.bytes).eq(units)
}

/// Packets and undecodable bytes cover the source, and do not overlap.
fn accounted_for(whole: &Output, units: &[u8]) -> Result<(), String> {
    let len: usize = whole.spans.iter().map(|span| span.bytes.len()).sum();
    if len != units.len() {
        return Err(format!("{len} of {} bytes are accounted for", units.len()));
    }
    Ok(())
}

/// A decoder that may take many packets at once has the same output, state and counts as `one`,
/// which was fed packet by packet up to `cut`, and the same output from there to the end.
fn many_at_once(one: &Run<'_>, units: &[u8], cut: usize, whole: &Output) -> Result<(), String> {
    let fresh = Run::new(one.case, one.image, 0);
    let mut many = Run { quiet: Some(Quiet::default()), ..fresh };
    many.feed(units, Some(cut));
    if many.stream != one.stream || many.taken != one.taken {
        return Err(format!("many packets at once come to another state at {cut}"));
    }
    if many.output.elements != one.output.elements || many.counted() != one.counted() {
        return Err(format!("many packets at once decode to something else up to {cut}"));
    }
    many.feed(units, Some(units.len()));
    many.feed(units, None);
    let packets = whole.packets.len();
    if many.output.elements != whole.elements || many.counted().packets != packets {
        return Err(format!("many packets at once decode to something else, cut at {cut}"));
    }
    let mut runs = Run { runs: true, ..Run::new(one.case, one.image, 0) };
    runs.feed(units, Some(cut));
    if runs.stream != one.stream || runs.output != one.output {
        return Err(format!("runs of packets decode to something else up to {cut}"));
    }
    let runs = runs.whole(units);
    if runs.differs(whole) || cut == 0 && runs.before != whole.before {
        return Err(format!("runs of packets decode to something else, cut at {cut}"));
    }
    Ok(())
}

/// Two decoders of a case, the second one later, that alternate byte by byte and share a cache of
/// at most `blocks` blocks, which is cleared where there are more.
fn share_a_cache(
    fresh: &Run<'_>,
    units: &[u8],
    blocks: usize,
    whole: &Output,
) -> Result<(), String> {
    let (mut cache, mut one, mut two) = (fresh.cache(blocks), fresh.clone(), fresh.clone());
    let (len, late) = (units.len(), units.len() / 3);
    for end in 0..=len + late {
        if end <= len {
            one.feed_with(&mut cache, units, Some(end));
        }
        if end >= late {
            two.feed_with(&mut cache, units, Some(end - late));
        }
    }
    for mut run in [one, two] {
        run.feed_with(&mut cache, units, None);
        if run.output.differs(whole) {
            return Err(format!("not the same with a shared cache of {blocks} blocks"));
        }
    }
    Ok(())
}

/// A decoder that starts at a synchronisation and reaches the state of a decoder of the whole trace
/// has the same output from there on.
fn at_each_sync(
    case: &Case,
    units: &[u8],
    checkpoints: &[Run<'_>],
    whole: &Output,
) -> Result<(), String> {
    for start in 1..units.len() {
        if case.config.sync(&units[start..]) != SyncSearch::At(0) {
            continue;
        }
        let mut late = Run::new(case, checkpoints[0].image, start);
        for end in start + 1..=units.len() {
            late.feed(units, Some(end));
            let met = checkpoints
                .iter()
                .find(|known| known.taken == late.taken && known.stream == late.stream);
            // At the end of the trace there is nothing left to compare.
            let Some(known) = met.filter(|known| known.taken < units.len()) else { continue };
            let before = (known.output.packets.len(), known.output.elements.len());
            late.output = Output::default();
            let rest = late.clone().whole(units);
            if rest.packets[..] != whole.packets[before.0..]
                || rest.elements[..] != whole.elements[before.1..]
            {
                return Err(format!("equal at {} from sync {start}, not after it", late.taken));
            }
            break;
        }
    }
    Ok(())
}

/// The bytes from which a decoder infers where packets without a mark begin: eight packets of the
/// longest form.
const LOOKED_AHEAD: usize = tracewright::protocols::etrace::sync::LOOKED_AHEAD;

/// The packets written again are the same packets and mean the same.
fn written_again(fresh: &Run<'_>, whole: &Output) -> Result<(), String> {
    let mut again: Vec<u8> = Vec::new();
    // Undecodable zeros may belong to a shorter synchronisation after them. If a protocol has no
    // mark, the bytes behind undecodable ones decide where packets begin.
    let (uncertain, mut since_bad) = match fresh.case.config {
        AnyConfig::Etrace(_) => (LOOKED_AHEAD, LOOKED_AHEAD),
        _ => (1, 0),
    };
    for (n, span) in whole.spans.iter().enumerate() {
        // A synchronisation after undecodable bytes may begin in the packet before them.
        let before_bad = whole.spans.get(n + 1).is_some_and(|next| next.emitted.is_none());
        let emitted = span.emitted.as_ref().filter(|_| since_bad >= uncertain && !before_bad);
        let bytes = emitted.unwrap_or(&span.bytes);
        again.extend_from_slice(bytes);
        since_bad = if span.emitted.is_none() { 0 } else { since_bad + span.bytes.len() };
    }
    let again = fresh.clone().whole(&again);
    let (got, want) = (again.meaning(), whole.meaning());
    if got.0 != want.0 {
        return Err(first("packets written again", &want.0, &got.0));
    }
    // The limit of expansion of an E-Trace packet depends on its length, and another form of the
    // same packet may have another length.
    let limit = Element::Inconsistency(Inconsistency::ExpansionLimit);
    let reached = |elements: &[Element]| elements.iter().position(|element| *element == limit);
    let end = [reached(&got.1), reached(&want.1)].into_iter().flatten().min();
    let end = end.filter(|_| matches!(fresh.case.config, AnyConfig::Etrace(_)));
    let before = |elements: &[Element]| elements[..end.unwrap_or(elements.len())].to_vec();
    let (got, want) = (before(&got.1), before(&want.1));
    if got != want {
        return Err(first("elements of packets written again", &want, &got));
    }
    Ok(())
}

/// The first difference of two lists.
fn first<T: PartialEq + std::fmt::Debug>(what: &str, want: &[T], got: &[T]) -> String {
    let n = want.iter().zip(got).take_while(|(want, got)| want == got).count();
    format!("{what}, number {n}: {:?}, not {:?}", got.get(n), want.get(n))
}

/// The bytes in formatter frames, beside those of another source.
fn through_frames(case: &Case, fresh: &Run<'_>, whole: &Output) -> Result<(), String> {
    let mut frames = Vec::new();
    let mut joiner = Joiner::new(Framing::Coresight);
    for (n, bytes) in case.bytes.chunks(7).enumerate() {
        let other = [0x55; 5];
        let pushed = joiner
            .push(FRAMED_ID, bytes, &mut frames)
            .and_then(|()| joiner.push(0x20, &other[..n % 5], &mut frames));
        pushed.map_err(|error| error.to_string())?;
    }
    joiner.finish(&mut frames);
    let mut sources = Sources::default();
    let mut splitter = Splitter::new(Link::new(Framing::Coresight));
    splitter.split(0, &frames, &mut sources);
    splitter.finish(&mut sources);
    let bytes = sources.get(FRAMED_ID.into()).map(|source| source.bytes()).unwrap_or_default();
    if bytes != case.bytes {
        return Err("frames changed the bytes".into());
    }
    let framed = fresh.clone().whole(&units(&fresh.stream, bytes));
    if framed.meaning() != whole.meaning() {
        return Err("not the same through frames".into());
    }
    Ok(())
}
