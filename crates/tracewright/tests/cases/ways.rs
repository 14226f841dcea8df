//! The ways that a case is taken.
#![allow(dead_code, reason = "each test uses what fits it")]

use std::ops::Range;
use std::sync::Arc;

use tracewright::base::{Element, Fault, OffsetMap, Piece, Sink, SyncSearch};
use tracewright::decode::Committed;
use tracewright::frames::{Framing, Joiner, Link, Sources, Splitter};
use tracewright::image::{Cache, CacheOptions};
use tracewright::protocols::registry::{AnyConfig, AnyPacket};
use tracewright::protocols::{AnyStream, Observer};

use crate::case::Case;
use crate::chunks::{self, FRAMED_ID};

/// What a decoder said.
#[derive(Clone, Default, PartialEq)]
pub struct Said {
    packets: Vec<Packet>,
    elements: Vec<(u64, Element)>,
    /// Packets and bytes that are none, in order.
    spans: Vec<Span>,
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
    /// A packet, written again.
    emitted: Option<Vec<u8>>,
}

impl Said {
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

    /// The same without places.
    fn meaning(&self) -> (Vec<&str>, Vec<Element>) {
        let packets = self.packets.iter().map(|p| p.exact.as_str()).collect();
        (packets, self.elements.iter().map(|&(_, element)| element).collect())
    }

    fn differs(&self, other: &Said) -> bool {
        self.packets != other.packets || self.elements != other.elements
    }
}

fn rows(elements: &[(u64, Element)]) -> Vec<String> {
    elements.iter().map(|(at, element)| format!("{at} {element}")).collect()
}

/// Records elements, and either records each packet or only counts packets.
struct Recorder<'a> {
    said: &'a mut Said,
    /// The trace unit's configuration, with what the packets so far report of it.
    unit: &'a mut AnyConfig,
    /// Packets are only counted: the decoder may take several at once.
    quiet: Option<&'a mut Quiet>,
}

impl Sink for Recorder<'_> {
    fn element(&mut self, at: u64, element: Element) {
        self.said.elements.push((at, element));
    }
}

impl Observer for Recorder<'_> {
    fn wants_each_packet(&self) -> bool {
        self.quiet.is_none()
    }

    fn packets(&mut self, _: &OffsetMap<'_>, span: Range<usize>, count: usize) {
        if let Some(quiet) = &mut self.quiet {
            quiet.packets += count;
            quiet.units += span.len();
        }
    }

    fn packet(
        &mut self,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        bytes: &[u8],
        packet: AnyPacket<'_>,
    ) {
        if self.quiet.is_some() {
            return self.packets(offsets, span, 1);
        }
        let mut emitted = Vec::new();
        packet.emit(self.unit, &mut emitted);
        self.unit.learn(packet);
        let at = offsets.at(span.start);
        self.said.spans.push(Span { bytes: bytes[span].to_vec(), emitted: Some(emitted) });
        let (text, exact) = (packet.to_string(), format!("{packet:?}"));
        self.said.packets.push(Packet { at, text, exact });
    }

    fn undecodable(&mut self, _: &OffsetMap<'_>, span: Range<usize>, bytes: &[u8], _: Fault) {
        if self.quiet.is_some() {
            return;
        }
        self.said.spans.push(Span { bytes: bytes[span].to_vec(), emitted: None });
    }
}

/// Packets, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Quiet {
    packets: usize,
    /// Units in packets.
    units: usize,
}

/// A decoder on its way through a case.
#[derive(Clone)]
struct Run<'a> {
    case: &'a Case,
    image: &'a Arc<tracewright::image::Image>,
    stream: AnyStream,
    /// The trace unit as the packets so far say that it is, where somebody looks at packets.
    unit: AnyConfig,
    said: Said,
    /// Units (bytes or half bytes) taken.
    taken: usize,
    /// Nobody looks at packets, and so many were taken.
    quiet: Option<Quiet>,
}

impl<'a> Run<'a> {
    fn new(case: &'a Case, image: &'a Arc<tracewright::image::Image>, from: usize) -> Self {
        let (stream, unit) = (case.config.stream(), case.config.clone());
        Run { case, image, stream, unit, said: Said::default(), taken: from, quiet: None }
    }

    /// Feeds what was not taken of `units`, up to `end`; to the end of the trace for `None`. The
    /// program is read anew each time: what was cached must not matter.
    fn feed(&mut self, units: &[u8], end: Option<usize>) {
        let riscv = self.case.config.riscv();
        let options = CacheOptions { blocks: 64, riscv, ..CacheOptions::default() };
        let mut code = Cache::new(Arc::clone(self.image), self.case.config.waypoints(), options);
        let nibbles = self.stream.nibbles();
        let at = if nibbles { self.taken / 2 } else { self.taken };
        let pieces = [Piece { start: 0, at: at as u64, fragment: true }];
        let offsets = match (nibbles, self.taken % 2) {
            (false, _) => OffsetMap::new(&pieces),
            (true, 0) => OffsetMap::new(&pieces).of_nibbles(),
            (true, _) => OffsetMap::new(&pieces).of_nibbles().without_first_nibble(),
        };
        let fresh = &units[self.taken..end.unwrap_or(units.len())];
        let (said, unit, quiet) = (&mut self.said, &mut self.unit, self.quiet.as_mut());
        let mut recorder = Recorder { said, unit, quiet };
        if end.is_some() {
            self.taken += self.stream.feed(fresh, &offsets, &mut code, &mut recorder);
        } else {
            self.stream.finish(fresh, &offsets, &mut code, &mut recorder);
        }
    }

    /// The packets so far, counted.
    fn counted(&self) -> Quiet {
        self.quiet.unwrap_or_else(|| {
            let packets = self.said.spans.iter().filter(|span| span.emitted.is_some());
            let units = packets.map(|span| span.bytes.len()).sum();
            Quiet { packets: self.said.packets.len(), units }
        })
    }

    fn whole(mut self, units: &[u8]) -> Said {
        self.feed(units, Some(units.len()));
        self.feed(units, None);
        self.said
    }
}

/// What the parser is given: bytes, or half bytes.
fn units(stream: &AnyStream, bytes: &[u8]) -> Vec<u8> {
    if !stream.nibbles() {
        return bytes.to_vec();
    }
    bytes.iter().flat_map(|byte| [byte & 0xf, byte >> 4]).collect()
}

/// Takes a case every way, and returns what all ways say.
pub fn every_way(case: &Case) -> Result<Said, String> {
    let image = Arc::new(case.image.clone());
    let units = units(&case.config.stream(), &case.bytes);
    let fresh = Run::new(case, &image, 0);
    let whole = fresh.clone().whole(&units);

    accounted_for(&whole, &units)?;
    for cut in 0..=units.len() {
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

    at_each_sync(case, &units, &checkpoints, &whole)?;
    written_again(&fresh, &whole)?;
    through_frames(case, &fresh, &whole)?;
    for (step, chunk) in [(16, 16), (7, 35), (1, 3)] {
        chunks::of_case(case, &case.bytes, Framing::Raw, step, chunk)?;
    }
    Ok(whole)
}

/// Takes a case a few ways, cut at one place, about `cut`. All ways of many cases take long.
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
    written_again(&fresh, &whole)?;
    through_frames(case, &fresh, &whole)
}

/// Conservation: packets and bytes that are none tile the source.
fn accounted_for(whole: &Said, units: &[u8]) -> Result<(), String> {
    let len: usize = whole.spans.iter().map(|span| span.bytes.len()).sum();
    if len != units.len() {
        return Err(format!("{len} of {} bytes are accounted for", units.len()));
    }
    Ok(())
}

/// A decoder that may take many packets at once says the same as `one`, which was fed up to `cut` packet by packet,
/// comes to the same state, and counts as many; and so it does from there to the end.
fn many_at_once(one: &Run<'_>, units: &[u8], cut: usize, whole: &Said) -> Result<(), String> {
    let fresh = Run::new(one.case, one.image, 0);
    let mut many = Run { quiet: Some(Quiet::default()), ..fresh };
    many.feed(units, Some(cut));
    if many.stream != one.stream || many.taken != one.taken {
        return Err(format!("many packets at once come to another state at {cut}"));
    }
    if many.said.elements != one.said.elements || many.counted() != one.counted() {
        return Err(format!("many packets at once say something else up to {cut}"));
    }
    many.feed(units, Some(units.len()));
    many.feed(units, None);
    let packets = whole.packets.len();
    if many.said.elements != whole.elements || many.counted().packets != packets {
        return Err(format!("many packets at once say something else, cut at {cut}"));
    }
    Ok(())
}

/// A decoder that starts at a sync and comes to the state of one that was there all along says the
/// same from then on.
fn at_each_sync(
    case: &Case,
    units: &[u8],
    checkpoints: &[Run<'_>],
    whole: &Said,
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
            // With nothing after it there is nothing to compare but where the last packet was.
            let Some(known) = met.filter(|known| known.taken < units.len()) else { continue };
            let said_before = (known.said.packets.len(), known.said.elements.len());
            late.said = Said::default();
            let rest = late.clone().whole(units);
            if rest.packets[..] != whole.packets[said_before.0..]
                || rest.elements[..] != whole.elements[said_before.1..]
            {
                return Err(format!("equal at {} from sync {start}, not after it", late.taken));
            }
            break;
        }
    }
    Ok(())
}

/// So many bytes may say where packets begin that have no mark: those of eight of the longest.
const LOOKED_AHEAD: usize = tracewright::protocols::etrace::sync::LOOKED_AHEAD;

/// The packets written again are the same packets and mean the same.
fn written_again(fresh: &Run<'_>, whole: &Said) -> Result<(), String> {
    let mut again: Vec<u8> = Vec::new();
    // Zeros that are no packet may belong to a shorter synchronisation after them. And where a protocol
    // has no mark, what comes after bad bytes says where packets begin.
    let (doubtful, mut since_bad) = match fresh.case.config {
        AnyConfig::Etrace(_) => (LOOKED_AHEAD, LOOKED_AHEAD),
        _ => (1, 0),
    };
    for span in &whole.spans {
        let bytes = span.emitted.as_ref().filter(|_| since_bad >= doubtful).unwrap_or(&span.bytes);
        again.extend_from_slice(bytes);
        since_bad = if span.emitted.is_none() { 0 } else { since_bad + span.bytes.len() };
    }
    let again = fresh.clone().whole(&again);
    let (got, want) = (again.meaning(), whole.meaning());
    if got.0 != want.0 {
        return Err(first("packets written again", &want.0, &got.0));
    }
    if got.1 != want.1 {
        return Err(first("elements of packets written again", &want.1, &got.1));
    }
    Ok(())
}

/// Where two lists part.
fn first<T: PartialEq + std::fmt::Debug>(what: &str, want: &[T], got: &[T]) -> String {
    let n = want.iter().zip(got).take_while(|(want, got)| want == got).count();
    format!("{what}, number {n}: {:?}, not {:?}", got.get(n), want.get(n))
}

/// Formatter frames carry the bytes, beside another source's.
fn through_frames(case: &Case, fresh: &Run<'_>, whole: &Said) -> Result<(), String> {
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
