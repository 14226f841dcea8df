//! The listing, line for line as the reference's packet lister prints it.

mod fork;

use std::io;
use std::mem;
use std::ops::Range;

use tracewright_base::{Element, Fault, Gap, Inconsistency, OffsetMap};
use tracewright_decode::{Listener, Plan};
use tracewright_frames::{Event, Frame};
use tracewright_protocols::etmv4::Packet;
use tracewright_protocols::registry::{AnyConfig, AnyPacket};

use super::element::{Style, cycle_count, element};
use super::etmv3::order::{Order, Put};
use super::frames::RawFrames;
use super::source::SourceText;
use super::stm::octets;
use super::text::{decimal, hex, hex_padded};
use super::unsynced::Unsynced;
use crate::render_cache::RenderCache;

/// What is listed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shown {
    /// Packets.
    pub packets: bool,
    /// The bytes of each packet.
    pub bytes: bool,
    /// Elements.
    pub elements: bool,
    /// Frames as they are in the capture.
    pub packed: bool,
    /// What frames hold for each id.
    pub unpacked: bool,
}

/// Writes a listing. Errors of the writer end it: see [`Listing::finish`].
#[derive(Debug)]
pub struct Listing<W> {
    out: W,
    shown: Shown,
    framed: bool,
    frames: RawFrames,
    sources: Vec<Source>,
    line: String,
    /// The beginning of the last line: place, id and words.
    prefix: (u64, u16, String),
    /// The words of ranges.
    ranges: RenderCache<tracewright_base::Range>,
    /// What follows the place in the line of a packet of atoms, by its one byte.
    atoms: Vec<String>,
    /// Whole bytes of a packet of half bytes.
    octets: Vec<u8>,
    /// Where in `line` late elements go.
    order: Order,
    /// A line on its way there.
    late: String,
    error: Option<io::Error>,
}

/// Lines wait for late elements up to so many bytes.
const MOST_WAITING: usize = 1 << 26;

/// One source of the listing.
#[derive(Clone, Debug, PartialEq)]
struct Source {
    id: u16,
    config: AnyConfig,
    text: SourceText,
    style: Style,
    /// The reference says that it is lost when the next packet comes.
    lost: Option<Gap>,
    unsynced: Unsynced,
    /// Its decoder understands what it gets.
    running: bool,
    /// Trace was lost in an overflow, and has not started again.
    overflowed: bool,
    told: Told,
    /// Where the last line is, if its bytes are before a synchronisation.
    unsynced_at: Option<u64>,
    /// Where the last packet is, and where the reference sees it.
    seen: (u64, u64),
}

/// Whether a line of bytes before a synchronisation was listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    No,
    Yes,
    /// No, as far as a worker was told; and its source has not begun to speak where the worker is.
    NotHere,
}

impl Told {
    /// Such a line is to be listed: whether one was before it.
    fn again(&mut self) -> bool {
        let yes = *self == Told::Yes;
        if *self == Told::No {
            *self = Told::Yes;
        }
        yes
    }
}

impl<W: io::Write> Listing<W> {
    /// A listing of `plan`'s sources. `again`: a buffer was listed before this one.
    pub fn new(out: W, plan: &Plan, shown: Shown, again: bool) -> Self {
        let lost = if again { Gap::Reset } else { Gap::Start };
        let sources = plan.sources.iter().map(|planned| {
            let text = SourceText::new(&planned.config);
            Source {
                id: planned.id,
                config: planned.config.clone(),
                unsynced: Unsynced::new(text.unsynced_group()),
                text,
                style: style(&planned.config),
                lost: Some(lost),
                running: false,
                overflowed: false,
                told: Told::No,
                unsynced_at: None,
                seen: (0, 0),
            }
        });
        Listing {
            out,
            shown,
            framed: plan.framed(),
            frames: RawFrames::new(plan.framing, shown.packed, shown.unpacked),
            sources: sources.collect(),
            line: String::with_capacity(1 << 16),
            prefix: (u64::MAX, u16::MAX, String::new()),
            ranges: RenderCache::default(),
            atoms: Vec::new(),
            octets: Vec::new(),
            order: Order::default(),
            late: String::new(),
            error: None,
        }
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// The first error of the writer.
    pub fn finish(mut self) -> io::Result<()> {
        self.write(true);
        match self.error {
            Some(error) => Err(error),
            None => self.out.flush(),
        }
    }

    /// Writes lines when many wait.
    fn write(&mut self, all: bool) {
        if self.line.len() < (1 << 15) && !all {
            return;
        }
        if all || self.line.len() - self.order.sure(self.line.len()) > MOST_WAITING {
            self.order.give_up();
        }
        let sure = self.order.sure(self.line.len());
        if sure < self.line.len() / 2 {
            return;
        }
        self.write_sure(sure);
    }

    /// Writes the first `sure` bytes.
    fn write_sure(&mut self, sure: usize) {
        if self.error.is_none()
            && let Err(error) = self.out.write_all(&self.line.as_bytes()[..sure])
        {
            self.error = Some(error);
        }
        self.line.drain(..sure);
        self.order.written(sure);
    }

    /// Begins a line: place and id.
    #[inline]
    fn prefix(&mut self, at: u64, id: u16) {
        if self.prefix.0 != at || self.prefix.1 != id {
            let (last_at, last_id, words) = &mut self.prefix;
            (*last_at, *last_id) = (at, id);
            words.clear();
            prefix(at, id, words);
        }
        self.line.push_str(&self.prefix.2);
    }

    /// Begins the line of a packet.
    fn packet_line(&mut self, n: usize, at: u64, bytes: &[u8]) {
        self.packet_offset(n, at);
        self.packet_bytes(bytes);
    }

    #[inline]
    fn packet_offset(&mut self, n: usize, at: u64) {
        // A frame that the end cuts may still be open.
        self.frames.finish(&mut self.line);
        let id = if self.framed { self.sources[n].id } else { 0 };
        self.prefix(at, id);
    }

    fn packet_bytes(&mut self, bytes: &[u8]) {
        if self.shown.bytes {
            self.line.push_str(" [");
            for &byte in bytes {
                self.line.push_str("0x");
                hex_padded(byte.into(), 2, &mut self.line);
                self.line.push(' ');
            }
            self.line.push_str("];");
        }
        self.line.push('\t');
    }

    /// Ends the line of a packet: a decoder that was lost says so now.
    fn packet_done(&mut self, n: usize, at: u64) {
        self.sources[n].unsynced_at = None;
        self.line.push('\n');
        if let Some(gap) = self.sources[n].lost.take()
            && self.shown.elements
        {
            self.element_line(n, at, &Element::Gap(gap), None);
        }
        self.write(false);
    }

    /// Lists a packet of atoms of an ETMv4. It has one byte, and its words depend on nothing else.
    fn atoms_line(&mut self, n: usize, at: u64, byte: u8, packet: AnyPacket<'_>) {
        self.sources[n].seen = (at, at);
        self.packet_offset(n, at);
        let (start, offset) = (self.line.len(), usize::from(byte));
        match self.atoms.get(offset).filter(|words| !words.is_empty()) {
            Some(words) => self.line.push_str(words),
            None => {
                self.packet_bytes(&[byte]);
                let source = &mut self.sources[n];
                source.text.packet(&source.config, packet, &mut self.line);
                self.atoms.resize(256, String::new());
                if let Some(words) = self.atoms.get_mut(offset) {
                    words.push_str(self.line.get(start..).unwrap_or_default());
                }
            }
        }
        self.packet_done(n, at);
    }

    /// Elements of `packet` may come late.
    fn order_packet(&mut self, n: usize, at: u64, packet: AnyPacket<'_>) {
        if let AnyPacket::Etmv3(packet) = packet
            && self.shown.elements
        {
            self.order.packet(n, at, packet, self.line.len());
        }
    }

    /// Lists an element of a source whose elements may come late.
    fn late_element(&mut self, n: usize, at: u64, what: &Element) {
        let Put::At(offset, cycles) = self.order.put(n, at, what, self.line.len()) else { return };
        let mut lines = mem::take(&mut self.late);
        mem::swap(&mut lines, &mut self.line);
        self.element_line(n, at, what, cycles);
        mem::swap(&mut lines, &mut self.line);
        self.line.insert_str(offset, &lines);
        self.order.inserted(offset, lines.len());
        lines.clear();
        self.late = lines;
    }

    fn element_line(&mut self, n: usize, at: u64, what: &Element, cycles: Option<u32>) {
        let source = &self.sources[n];
        let (start, style) = (self.line.len(), source.style);
        self.prefix(at, source.id);
        self.line.push(' ');
        if let (Element::Range(range), None) = (what, cycles) {
            // The words of a range do not depend on the style.
            return self.ranges.put(*range, &mut self.line, |line| {
                element(style, what, line);
                line.push('\n');
            });
        }
        if element(style, what, &mut self.line) {
            if let Some(cycles) = cycles {
                self.line.pop();
                cycle_count(cycles, &mut self.line);
                self.line.push(')');
            }
            self.line.push('\n');
        } else {
            self.line.truncate(start);
        }
    }

    /// Lists bytes before a synchronisation.
    fn unsynced(&mut self, n: usize, list: impl FnOnce(&mut Unsynced, &mut dyn FnMut(u64, &[u8]))) {
        let group = self.sources[n].text.unsynced_group();
        let mut unsynced = mem::replace(&mut self.sources[n].unsynced, Unsynced::new(group));
        list(&mut unsynced, &mut |at, bytes| {
            self.bad_line(n, at, bytes, Fault::Unsynchronised);
            self.sources[n].unsynced_at = Some(at);
        });
        self.sources[n].unsynced = unsynced;
    }

    /// The reference's decoder says that it does not know a packet.
    fn bad_packet(&mut self, n: usize, at: u64) {
        let source = &mut self.sources[n];
        source.running = false;
        let component = source.text.component();
        let code = "0x0019 (OCSD_ERR_BAD_DECODE_PKT) [Reserved or unknown packet in decoder.]";
        self.error_text(n, at, component, code, "Unknown packet type.");
    }

    fn bad_line(&mut self, n: usize, at: u64, bytes: &[u8], fault: Fault) {
        // Without bytes, one line is enough to say that a source has some.
        if fault == Fault::Unsynchronised
            && !self.shown.bytes
            && matches!(self.sources[n].text, SourceText::Etmv4(_) | SourceText::Ptm(_))
            && self.sources[n].told.again()
        {
            return;
        }
        if let Some(code) = self.sources[n].text.packet_error(fault) {
            let component = self.sources[n].text.packet_component();
            self.error_text(n, at, component, code, "");
        }
        self.packet_line(n, at, bytes);
        let source = &mut self.sources[n];
        source.text.bad(&source.config, bytes, fault, &mut self.line);
        self.packet_done(n, at);
        if matches!(self.sources[n].text, SourceText::Etmv3(_)) {
            self.order.bad(n, at, self.line.len());
        }
    }

    /// The line of `bytes[span]`, which is no packet.
    fn bad_line_of(
        &mut self,
        n: usize,
        at: u64,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        bytes: &[u8],
        fault: Fault,
    ) {
        let own = bytes.get(span.clone()).unwrap_or_default();
        let SourceText::Stm(_) = &self.sources[n].text else {
            return self.bad_line(n, at, own, fault);
        };
        // As with packets: see `StmText::offset`.
        let listed_at = at.wrapping_add(offsets.is_high_half(span.start).into());
        self.sources[n].seen = (at, listed_at);
        let at = listed_at;
        let mut whole = mem::take(&mut self.octets);
        whole.clear();
        octets(offsets, span, bytes, &mut whole);
        self.packet_line(n, at, &whole);
        self.octets = whole;
        let source = &mut self.sources[n];
        source.text.bad(&source.config, own, fault, &mut self.line);
        self.packet_done(n, at);
    }

    /// The trace ended: the reference takes bytes that were no line yet for a cut packet. Returns
    /// their place.
    fn cut_short(&mut self, n: usize) -> Option<u64> {
        if !self.shown.packets || !matches!(self.sources[n].text, SourceText::Etmv4(_)) {
            return None;
        }
        let (at, bytes, zeros) = self.sources[n].unsynced.left()?;
        self.packet_line(n, at, &bytes);
        self.line.push_str("I_INCOMPLETE_EOT : Incomplete packet at end of trace.");
        self.line.push_str(if zeros { "[I_ASYNC]" } else { "[I_NOT_SYNC]" });
        self.packet_done(n, at);
        Some(at)
    }

    /// The end of the trace of an ETMv4.
    fn end_line(&mut self, n: usize, at: u64) {
        if self.sources[n].overflowed {
            self.prefix(at, self.sources[n].id);
            self.line.push_str(" OCSD_GEN_TRC_ELEM_EO_TRACE( [overflow])\n");
        } else {
            self.element_line(n, at, &Element::End, None);
        }
        self.write(false);
    }

    /// An error of the reference. It does not end the line: the next one is glued to it.
    fn error_text(&mut self, n: usize, at: u64, component: &str, code: &str, message: &str) {
        let source = &self.sources[n];
        let line = &mut self.line;
        line.push_str(component);
        if self.framed {
            line.push('_');
            let id = source.id.to_string();
            line.extend(std::iter::repeat_n('0', 4usize.saturating_sub(id.len())));
            line.push_str(&id);
        }
        line.push_str(" : ");
        line.push_str(code);
        line.push_str("; TrcIdx=");
        decimal(at, line);
        line.push_str("; CS ID=");
        hex_padded(source.id.into(), 2, line);
        line.push_str("; ");
        line.push_str(message);
    }
}

fn prefix(at: u64, id: u16, line: &mut String) {
    line.push_str("Idx:");
    decimal(at, line);
    line.push_str("; ID:");
    hex(id.into(), line);
    line.push(';');
}

fn style(config: &AnyConfig) -> Style {
    match config {
        AnyConfig::Etmv4(c) | AnyConfig::Ete(c) => Style { timestamp_cycles: c.cycle_counting() },
        _ => Style::default(),
    }
}

impl<W: io::Write> Listener for Listing<W> {
    const FRAMES: bool = true;

    fn element(&mut self, n: usize, at: u64, what: Element) {
        // Most elements are ranges, and most sources say them as they are.
        if let (Element::Range(_), SourceText::Etmv4(_)) = (&what, &self.sources[n].text)
            && self.shown.elements
        {
            let seen = self.sources[n].seen;
            let at = if at == seen.0 { seen.1 } else { at };
            self.element_line(n, at, &what, None);
            return self.write(false);
        }
        let cut = if what == Element::End { self.cut_short(n) } else { None };
        if !self.shown.elements {
            return;
        }
        let source = &mut self.sources[n];
        match what {
            Element::Gap(gap) if gap != Gap::Data => {
                source.running = false;
                source.overflowed = gap == Gap::Overflow;
            }
            Element::TraceOn(_) => source.overflowed = false,
            Element::End if matches!(source.text, SourceText::Etmv4(_)) => {
                let at = cut.unwrap_or(at);
                return self.end_line(n, at);
            }
            // These decoders see all lines.
            Element::End if matches!(source.text, SourceText::Etmv3(_) | SourceText::Stm(_)) => {
                if let Some(listed_at) = source.unsynced_at {
                    source.seen = (at, listed_at);
                }
            }
            _ => {}
        }
        let Some((what, cycles)) = source.text.element(&source.config, what) else {
            return;
        };
        let at = if at == source.seen.0 { source.seen.1 } else { at };
        match what {
            // With packets listed, these wait for the next packet.
            Element::Gap(Gap::Start | Gap::Reset) if self.shown.packets => return,
            Element::Gap(gap @ Gap::BadPacket)
                if self.shown.packets && source.text.is_reset_by_bad_packets() =>
            {
                self.sources[n].lost = Some(gap);
                self.order.lost(n);
                return self.bad_packet(n, at);
            }
            Element::Inconsistency(Inconsistency::InvalidOpcode) => {
                let code = "0x002c (OCSD_ERR_INVALID_OPCODE) \
                            [Illegal Opode found while decoding program memory.]";
                let component = self.sources[n].text.component();
                let message = "Error processing atom packet.";
                return self.error_text(n, at, component, code, message);
            }
            what if matches!(self.sources[n].text, SourceText::Etmv3(_)) => {
                self.late_element(n, at, &what);
            }
            what => self.element_line(n, at, &what, cycles),
        }
        self.write(false);
    }

    fn wants_each_packet(&self) -> bool {
        let late = |source: &Source| matches!(source.text, SourceText::Etmv3(_));
        self.shown.packets || self.sources.iter().any(late)
    }

    fn packet(
        &mut self,
        n: usize,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        bytes: &[u8],
        packet: AnyPacket<'_>,
    ) {
        if !self.shown.packets {
            return self.order_packet(n, offsets.at(span.start), packet);
        }
        if !self.sources[n].unsynced.is_idle() {
            self.unsynced(n, |unsynced, line| unsynced.end(line));
        }
        if self.sources[n].told == Told::NotHere {
            self.sources[n].told = Told::No;
        }
        if let (
            AnyPacket::Etmv4(Packet::Atoms(_)) | AnyPacket::Ete(Packet::Atoms(_)),
            Some(&byte),
        ) = (packet, bytes.get(span.start))
        {
            return self.atoms_line(n, offsets.at(span.start), byte, packet);
        }
        let source = &mut self.sources[n];
        source.running |= matches!(
            packet,
            AnyPacket::Etmv4(Packet::TraceInfo(_)) | AnyPacket::Ete(Packet::TraceInfo(_))
        );
        let at = source.text.offset(packet, offsets, span.start);
        source.seen = (offsets.at(span.start), at);
        let text = &self.sources[n].text;
        let mut whole = mem::take(&mut self.octets);
        whole.clear();
        if text.octets(offsets, span.clone(), bytes, packet, &mut whole) {
            self.packet_line(n, at, &whole);
        } else {
            self.packet_line(n, at, bytes.get(span).unwrap_or_default());
        }
        self.octets = whole;
        let source = &mut self.sources[n];
        source.text.packet(&source.config, packet, &mut self.line);
        self.packet_done(n, at);
        self.order_packet(n, at, packet);
    }

    fn undecodable(
        &mut self,
        n: usize,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        bytes: &[u8],
        fault: Fault,
    ) {
        if !self.shown.packets {
            return;
        }
        if fault != Fault::Unsynchronised {
            self.unsynced(n, |unsynced, line| unsynced.end(line));
            let at = offsets.at(span.start);
            self.bad_line_of(n, at, offsets, span, bytes, fault);
            // The reference takes the end of the bytes for a bad packet.
            if fault == Fault::Truncated && self.sources[n].running && self.shown.elements {
                self.bad_packet(n, at);
            }
            return;
        }
        for fragment in offsets.fragments(span) {
            let text = &mut self.sources[n].text;
            if let SourceText::Stm(text) = text {
                text.unsynced(offsets, fragment.clone(), bytes);
            }
            let nibbles = matches!(text, SourceText::Stm(_));
            self.unsynced(n, |unsynced, mut line| {
                for k in fragment {
                    let Some(&byte) = bytes.get(k) else { break };
                    let byte = match nibbles {
                        // A byte is listed where its low half is.
                        true if offsets.is_high_half(k) => continue,
                        true => bytes.get(k + 1).map_or(0, |high| high << 4) | byte,
                        false => byte,
                    };
                    unsynced.push(offsets.at(k), byte, &mut line);
                }
                unsynced.fragment_ends(line);
            });
        }
    }

    fn awaiting_sync(&mut self, n: usize, bytes: &[u8]) {
        self.unsynced(n, |unsynced, line| unsynced.held(bytes, line));
    }

    fn frame(&mut self, _frame: &Frame<'_>) {
        self.frames.frame(&mut self.line);
    }

    fn packed(&mut self, at: u64, bytes: &[u8]) {
        self.frames.packed(at, bytes, &mut self.line);
    }

    fn fragment(&mut self, id: Option<u8>, at: u64, bytes: &[u8]) {
        self.frames.fragment(id, at, bytes, &mut self.line);
    }

    fn link(&mut self, _at: u64, _event: Event) {}

    fn full(&self) -> bool {
        self.error.is_some()
    }
}
