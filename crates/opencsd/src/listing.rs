//! The listing, line for line as OpenCSD's `trc_pkt_lister` prints it.

mod byte_texts;
mod fork;
mod selection;
mod source;

use std::io;
use std::mem;
use std::ops::Range;

use tracewright_base::{self as base, Batch, Element, Fault, Gap, Inconsistency, OffsetMap};
use tracewright_decode::listener::{each_part, each_turn};
use tracewright_decode::{Event, Listener, Packets, Plan, Wants};
use tracewright_frames::{self as frames, Framing};
use tracewright_protocols::registry::{AnyConfig, AnyPacket};

use self::byte_texts::ByteTexts;
pub use self::selection::Selection;
use self::source::{Source, UnsyncedLine};
use super::element::{cycle_count, element, range_line};
use super::frames::RawFrames;
use super::order::{Order, Put};
use super::session::listed_id;
use super::source::{is_constant, order};
use super::stm::octets;
use super::unsynced::Unsynced;
use tracewright_views::digits::{ShortText, decimal, hex, hex_padded};
use tracewright_views::loop_turns::{KIND, LoopTurns};
use tracewright_views::range_tails::RangeTails;

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
    /// The data that frames hold for each trace ID.
    pub unpacked: bool,
}

/// Writes a listing. An error of the writer ends the listing: see [`Listing::finish`].
#[derive(Debug)]
pub struct Listing<W> {
    out: W,
    shown: Shown,
    /// Errors of the packet processor are listed: no decoder takes the packets.
    packet_errors: bool,
    framed: bool,
    frames: RawFrames,
    sources: Vec<Source>,
    line: String,
    /// The beginning of the last line: offset, and its text where that is short.
    offset: (u64, Option<ShortText>),
    /// The end of the text of ranges.
    tails: RangeTails,
    /// What follows offset and trace ID in the line of a packet with constant text, by source and
    /// byte of the packet.
    constant: ByteTexts,
    /// The bytes of a packet, where they are not those in the trace.
    octets: Vec<u8>,
    /// Where in `line` late elements are inserted.
    order: Order,
    /// Buffer for the line of a late element.
    late: String,
    error: Option<io::Error>,
    /// Lines of this length are written.
    limit: usize,
    /// Which lines are written; all for `None`.
    selection: Option<Box<Selection>>,
    /// What begins a line: `Idx:`, after the mark where there is a selection.
    before: ShortText,
}

/// What begins a line.
const BEFORE: ShortText = ShortText::new(b"Idx:");

/// Lines of this many bytes are written.
const WRITTEN: usize = 1 << 15;

/// The most bytes of lines that wait for late elements.
const MAX_WAITING: usize = 1 << 26;

impl Listing<Vec<u8>> {
    /// A listing of the packets of one source, with its trace ID in each line, without errors.
    /// `bytes`: with the bytes of each packet.
    pub fn of_packets(id: u8, config: &AnyConfig, bytes: bool) -> Self {
        let shown = Shown { packets: true, bytes, ..Shown::default() };
        let source = Source::new(id.into(), config, None, UnsyncedLine::No);
        Listing {
            out: Vec::new(),
            shown,
            packet_errors: false,
            framed: true,
            frames: RawFrames::new(Framing::Coresight, false, false),
            sources: vec![source],
            line: String::new(),
            offset: (u64::MAX, None),
            tails: RangeTails::default(),
            constant: ByteTexts::default(),
            octets: Vec::new(),
            order: Order::default(),
            late: String::new(),
            error: None,
            limit: WRITTEN,
            selection: None,
            before: BEFORE,
        }
    }

    /// The lines since the last call.
    pub fn take_lines(&mut self) -> String {
        if self.out.is_empty() {
            return mem::take(&mut self.line);
        }
        self.out.append(&mut mem::take(&mut self.line).into_bytes());
        String::from_utf8(mem::take(&mut self.out)).unwrap_or_default()
    }
}

impl<W: io::Write> Listing<W> {
    /// A listing of the sources of `plan`. `again` states that another buffer was listed before.
    pub fn new(out: W, plan: &Plan, shown: Shown, again: bool) -> Self {
        let lost = if again { Gap::Reset } else { Gap::Start };
        let sources = plan
            .sources
            .iter()
            .map(|planned| Source::new(planned.id, &planned.config, Some(lost), UnsyncedLine::No));
        Listing {
            out,
            shown,
            packet_errors: !shown.elements,
            framed: plan.framed(),
            frames: RawFrames::new(plan.framing, shown.packed, shown.unpacked),
            sources: sources.collect(),
            line: String::with_capacity(1 << 16),
            offset: (u64::MAX, None),
            tails: RangeTails::default(),
            constant: ByteTexts::default(),
            octets: Vec::new(),
            order: Order::default(),
            late: String::new(),
            error: None,
            limit: WRITTEN,
            selection: None,
            before: BEFORE,
        }
    }

    /// Writes the lines that wait.
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

    /// Writes lines when there are many, or `all` of them.
    #[inline]
    fn write(&mut self, all: bool) {
        if self.line.len() >= self.limit || all {
            self.write_lines(all);
        }
    }

    #[cold]
    #[inline(never)]
    fn write_lines(&mut self, all: bool) {
        if all || self.line.len() - self.order.sure(self.line.len()) > MAX_WAITING {
            self.order.give_up();
        }
        let sure = self.order.sure(self.line.len());
        if sure < self.line.len() / 2 {
            return;
        }
        self.write_sure(sure);
    }

    /// Writes the first `sure` bytes of the lines.
    fn write_sure(&mut self, sure: usize) {
        let selected = self.selected_lines(sure);
        let lines = selected.as_deref().unwrap_or(&self.line[..sure]);
        if self.error.is_none()
            && let Err(error) = self.out.write_all(lines.as_bytes())
        {
            self.error = Some(error);
        }
        self.line.drain(..sure);
        self.order.written(sure);
    }

    /// Begins a line: offset and trace ID.
    #[inline]
    fn prefix(&mut self, at: u64, id: u16) {
        const ID: ShortText = ShortText::new(b"; ID:");
        const AFTER: ShortText = ShortText::new(b";");
        if self.offset.0 != at {
            self.offset = (at, ShortText::decimal(at).map(|at| self.before.then(at)));
        }
        match self.offset.1 {
            Some(text) => text.put(&mut self.line),
            None => {
                self.before.put(&mut self.line);
                decimal(at, &mut self.line);
            }
        }
        ID.then(ShortText::hex(id)).then(AFTER).put(&mut self.line);
    }

    /// Begins the line of a packet.
    fn packet_line(&mut self, n: usize, at: u64, bytes: &[u8]) {
        self.packet_offset(n, at);
        self.packet_bytes(bytes);
    }

    #[inline]
    fn packet_offset(&mut self, n: usize, at: u64) {
        // The frame line before is still open where the trace ends inside the frame.
        self.frames.finish(&mut self.line);
        let id = listed_id(self.framed, self.sources[n].id);
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

    /// Ends the line of a packet. A loss that waited for a packet is reported after it.
    #[inline]
    fn packet_done(&mut self, n: usize, at: u64) {
        self.line.push('\n');
        self.line_done(n, at);
    }

    #[inline]
    fn line_done(&mut self, n: usize, at: u64) {
        self.sources[n].unsynced_at = None;
        if self.sources[n].lost.is_some() {
            self.report_loss(n, at);
        }
        self.write(false);
    }

    #[cold]
    fn report_loss(&mut self, n: usize, at: u64) {
        if let Some(gap) = self.sources[n].lost.take()
            && self.shown.elements
        {
            self.select_element(n, at, &Element::Gap(gap));
            self.element_line(n, at, &Element::Gap(gap), None);
        }
    }

    /// Lists a packet of one byte whose text depends on that byte alone.
    #[inline]
    fn constant_line(&mut self, n: usize, at: u64, byte: u8, packet: AnyPacket<'_>) {
        self.sources[n].seen = (at, at);
        self.select_packet(n, at, packet);
        self.packet_offset(n, at);
        if !self.constant.put(n, byte, &mut self.line) {
            self.new_constant(n, byte, packet);
        }
        self.line_done(n, at);
    }

    #[cold]
    fn new_constant(&mut self, n: usize, byte: u8, packet: AnyPacket<'_>) {
        let start = self.line.len();
        self.packet_bytes(&[byte]);
        let source = &mut self.sources[n];
        source.text.packet(&source.config, packet, &mut self.line);
        self.line.push('\n');
        self.constant.store(n, byte, self.line.get(start..).unwrap_or_default());
    }

    /// Records where late elements of `packet` belong.
    fn order_packet(&mut self, n: usize, at: u64, packet: AnyPacket<'_>) {
        if self.shown.elements {
            order(packet, &mut self.order, n, at, self.line.len());
            if self.order.is_long() {
                self.order.give_up();
            }
        }
    }

    /// Takes a packet that is not listed, for the lines of the elements after it.
    fn unlisted_packet(
        &mut self,
        n: usize,
        offsets: &OffsetMap<'_>,
        start: usize,
        packet: AnyPacket<'_>,
    ) {
        let (source, len) = (&mut self.sources[n], self.line.len());
        source.seen = (offsets.at(start), source.text.offset(packet, offsets, start));
        source.text.packet(&source.config, packet, &mut self.line);
        self.line.truncate(len);
    }

    /// Inserts the line of an element of a source with late elements.
    fn late_element(&mut self, n: usize, at: u64, what: &Element) {
        let end = self.line.len();
        let Put::At(offset, cycles) = self.order.put(n, at, what, end) else { return };
        if offset == end {
            self.element_line(n, at, what, cycles);
            return self.order.inserted(end, self.line.len() - end);
        }
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
        if let Element::Range(range) = what {
            // The text of a range does not depend on the style.
            return range_line(range, cycles, &mut self.tails, &mut self.line);
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

    /// Lists a range as it is decoded.
    fn plain_range(&mut self, n: usize, at: u64, range: base::Range) {
        let (at, id) = (self.sources[n].listed_at(at), self.sources[n].id);
        self.select_element(n, at, &Element::Range(range));
        self.prefix(at, id);
        self.line.push(' ');
        range_line(&range, None, &mut self.tails, &mut self.line);
        self.write(false);
    }

    /// Lists bytes before a synchronisation.
    fn unsynced(&mut self, n: usize, list: impl FnOnce(&mut Unsynced, &mut dyn FnMut(u64, &[u8]))) {
        let group = self.sources[n].behaviour.unsynced;
        let mut unsynced = mem::replace(&mut self.sources[n].unsynced, Unsynced::new(group));
        list(&mut unsynced, &mut |at, bytes| {
            self.bad_line(n, at, bytes, Fault::Unsynchronised);
            self.sources[n].unsynced_at = Some(at);
        });
        self.sources[n].unsynced = unsynced;
    }

    /// Lists the error of OpenCSD's decoder for a bad packet.
    fn bad_packet(&mut self, n: usize, at: u64) {
        let source = &mut self.sources[n];
        let fault = source.fault.unwrap_or(Fault::Unsynchronised);
        let message = source.text.decoder_error(fault);
        source.running = false;
        let component = source.text.decoder();
        let code = "0x0019 (OCSD_ERR_BAD_DECODE_PKT) [Reserved or unknown packet in decoder.]";
        self.error_text(n, at, component, code, message);
    }

    fn bad_line(&mut self, n: usize, at: u64, bytes: &[u8], fault: Fault) {
        if fault == Fault::Unsynchronised
            && !self.shown.bytes
            && self.sources[n].behaviour.one_unsynced_line
            && self.sources[n].unsynced_line.again()
        {
            return;
        }
        self.select_undecodable(n, at);
        if self.packet_errors
            && let Some(code) = self.sources[n].text.packet_error(fault)
        {
            let component = self.sources[n].text.packet_processor();
            self.error_text(n, at, component, code, "");
        }
        self.packet_line(n, at, bytes);
        let source = &mut self.sources[n];
        source.text.bad(&source.config, bytes, fault, &mut self.line);
        self.packet_done(n, at);
        if self.sources[n].behaviour.late_elements {
            self.order.bad(n, at, self.line.len());
        }
    }

    /// Lists `bytes[span]`, which are undecodable.
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
        if !self.sources[n].has_half_bytes() {
            return self.bad_line(n, at, own, fault);
        }
        // The offset is that of a packet in the same nibbles: see `PacketText::offset` of STM.
        let listed_at = at.wrapping_add(offsets.is_high_half(span.start).into());
        self.sources[n].seen = (at, listed_at);
        let at = listed_at;
        let mut whole = mem::take(&mut self.octets);
        whole.clear();
        octets(offsets, span, bytes, &mut whole);
        self.select_undecodable(n, at);
        self.packet_line(n, at, &whole);
        self.octets = whole;
        let source = &mut self.sources[n];
        source.text.bad(&source.config, own, fault, &mut self.line);
        self.packet_done(n, at);
    }

    /// Lists the bytes before a synchronisation that are in no line at the end of the trace:
    /// OpenCSD reports an incomplete packet. Returns their offset.
    fn cut_short(&mut self, n: usize) -> Option<u64> {
        if !self.shown.packets || !self.sources[n].behaviour.incomplete_end {
            return None;
        }
        let (at, bytes, zeros) = self.sources[n].unsynced.left()?;
        self.select_undecodable(n, at);
        self.packet_line(n, at, &bytes);
        self.line.push_str("I_INCOMPLETE_EOT : Incomplete packet at end of trace.");
        self.line.push_str(if zeros { "[I_ASYNC]" } else { "[I_NOT_SYNC]" });
        self.packet_done(n, at);
        Some(at)
    }

    /// Lists the end of the trace, and an overflow before it.
    fn end_line(&mut self, n: usize, at: u64) {
        if self.sources[n].overflowed {
            self.prefix(at, self.sources[n].id);
            self.line.push_str(" OCSD_GEN_TRC_ELEM_EO_TRACE( [overflow])\n");
        } else {
            self.element_line(n, at, &Element::End, None);
        }
    }

    /// Lists that the data of a source have ended.
    fn data_end(&mut self, n: usize) {
        if self.shown.packets {
            self.frames.finish(&mut self.line);
            self.mark();
            self.frames.end(&mut self.line);
            self.line.push_str("ID:");
            hex(listed_id(self.framed, self.sources[n].id).into(), &mut self.line);
            self.line.push_str("\tEND OF TRACE DATA\n");
        }
        self.write(false);
    }

    /// Lists the elements that wait for another element or packet.
    fn release(&mut self, n: usize) {
        if self.sources[n].held.is_empty() {
            return;
        }
        let held = self.sources[n].held.take();
        for &(at, what) in &held {
            self.other_element(n, at, what);
        }
        self.sources[n].held.put_back(held);
    }

    /// Lists an element that is not listed as it is decoded.
    fn other_element(&mut self, n: usize, at: u64, what: Element) {
        let cut = if what == Element::End { self.cut_short(n) } else { None };
        let source = &mut self.sources[n];
        if what == Element::End
            && source.behaviour.end_at_last_line
            && let Some(listed_at) = source.unsynced_at
        {
            source.seen = (at, listed_at);
        }
        let listed_at = cut.unwrap_or(source.listed_at(at));
        self.select_element(n, listed_at, &what);
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
            Element::End if source.behaviour.incomplete_end => {
                let at = cut.unwrap_or(at);
                return self.end_line(n, at);
            }
            _ => {}
        }
        let mut what = what;
        let Some(cycles) = source.text.element(&source.config, &mut what) else { return };
        let at = source.listed_at(at);
        match what {
            // With packets listed, OpenCSD reports these with the next packet.
            Element::Gap(Gap::Start | Gap::Reset) if self.shown.packets => return,
            Element::Gap(gap @ Gap::BadPacket)
                if self.shown.packets && source.behaviour.reset_by_bad_packets =>
            {
                self.sources[n].lost = Some(gap);
                self.order.lost(n);
                return self.bad_packet(n, at);
            }
            Element::Inconsistency(Inconsistency::InvalidOpcode) => {
                let code = "0x002c (OCSD_ERR_INVALID_OPCODE) \
                            [Illegal Opode found while decoding program memory.]";
                let component = self.sources[n].text.decoder();
                let message = "Error processing atom packet.";
                return self.error_text(n, at, component, code, message);
            }
            what if self.sources[n].behaviour.late_elements => self.late_element(n, at, &what),
            what => self.element_line(n, at, &what, cycles),
        }
        self.write(false);
    }

    /// Appends an error message of OpenCSD. No line end follows: OpenCSD prints the next line
    /// directly after the message.
    fn error_text(&mut self, n: usize, at: u64, component: &str, code: &str, message: &str) {
        self.mark();
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

impl<W: io::Write> Listing<W> {
    fn unlisted(&mut self, n: usize, at: u64, ranges: &[base::Range], turns: u64) {
        use std::fmt::Write;
        if self.shown.elements {
            let at = self.sources[n].listed_at(at);
            self.select_turns(n, at, ranges);
            self.prefix(at, self.sources[n].id);
            let _ = writeln!(self.line, " {KIND} {}", LoopTurns { ranges, turns });
            self.write(false);
        }
    }

    fn packet(
        &mut self,
        n: usize,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        bytes: &[u8],
        packet: AnyPacket<'_>,
    ) {
        self.release(n);
        if !self.shown.packets {
            if self.sources[n].behaviour.elements_need_packets {
                self.unlisted_packet(n, offsets, span.start, packet);
            }
            return self.order_packet(n, offsets.at(span.start), packet);
        }
        if !self.sources[n].unsynced.is_idle() {
            self.unsynced(n, |unsynced, line| unsynced.end(line));
        }
        if self.sources[n].unsynced_line == UnsyncedLine::NotHere {
            self.sources[n].unsynced_line = UnsyncedLine::No;
        }
        if is_constant(packet)
            && let Some(&byte) = bytes.get(span.start)
        {
            let at = offsets.at(span.start);
            self.constant_line(n, at, byte, packet);
            if self.sources[n].behaviour.late_elements {
                self.order_packet(n, at, packet);
            }
            return;
        }
        let source = &mut self.sources[n];
        source.running |= source.behaviour.incomplete_end && packet.is_sync();
        let at = source.text.offset(packet, offsets, span.start);
        source.seen = (offsets.at(span.start), at);
        self.select_packet(n, at, packet);
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
            self.sources[n].fault = Some(fault);
            self.unsynced(n, |unsynced, line| unsynced.end(line));
            let at = offsets.at(span.start);
            self.bad_line_of(n, at, offsets, span, bytes, fault);
            // OpenCSD reports a packet that the end of the trace cuts as a bad packet.
            if fault == Fault::Truncated && self.sources[n].running && self.shown.elements {
                self.bad_packet(n, at);
            }
            return;
        }
        for fragment in offsets.fragments(span) {
            let source = &mut self.sources[n];
            source.text.unsynced(offsets, fragment.clone(), bytes);
            let half_bytes = source.has_half_bytes();
            self.unsynced(n, |unsynced, mut line| {
                for k in fragment {
                    let Some(&byte) = bytes.get(k) else { break };
                    let byte = match half_bytes {
                        // A byte is listed at the offset of its low half.
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

    fn packed(&mut self, at: u64, bytes: &[u8]) {
        if !self.frames.is_open() {
            self.select_frame(at, bytes.len());
        }
        self.frames.packed(at, bytes, &mut self.line);
    }

    fn fragment(&mut self, id: Option<u8>, at: u64, bytes: &[u8]) {
        self.select_frame(at, bytes.len());
        self.frames.fragment(id, at, bytes, &mut self.line);
    }

    fn link(&mut self, at: u64, event: frames::Event) {
        if matches!(event, frames::Event::Footer(_)) {
            self.frames.finish(&mut self.line);
            self.select_frame(at, 1);
            self.frames.event(at, event, &mut self.line);
        }
    }
}

impl<W: io::Write> Listener for Listing<W> {
    fn element(&mut self, n: usize, at: u64, what: Element) {
        if self.sources[n].behaviour.drops_at_end {
            let missing = self.sources[n].held.missing_before(at, &what);
            if self.sources[n].held.waits(at, &what) {
                return;
            }
            self.release(n);
            if let Some(missing) = missing {
                self.other_element(n, at, missing);
            }
        }
        // Most elements are ranges, and most sources list them as they are decoded.
        if let Element::Range(range) = what
            && self.sources[n].behaviour.plain_ranges
            && self.shown.elements
        {
            return self.plain_range(n, at, range);
        }
        let what = match what {
            // OpenCSD reports a reset with what follows it.
            Element::Gap(Gap::Reset) => {
                self.order.lost(n);
                let source = &mut self.sources[n];
                (source.running, source.overflowed) = (false, false);
                source.lost = Some(Gap::Reset);
                return;
            }
            Element::Gap(Gap::Start) if !self.shown.packets => {
                Element::Gap(self.sources[n].lost.take().unwrap_or(Gap::Start))
            }
            Element::Undecodable { .. } => {
                self.sources[n].fault = None;
                what
            }
            what => what,
        };
        self.other_element(n, at, what);
        if what == Element::End {
            self.data_end(n);
        }
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        each_part(self, batch, |listing, turns| match turns.listed {
            true => each_turn(listing, batch.source, turns),
            false => listing.unlisted(batch.source, turns.at, turns.ranges, turns.times),
        });
    }

    fn event(&mut self, event: &Event<'_>) {
        match *event {
            Event::Packet { source, ref bytes, packet } => {
                self.packet(source, bytes.offsets, bytes.span.clone(), bytes.bytes, packet);
            }
            Event::Undecodable { source, ref bytes, fault } => {
                self.undecodable(source, bytes.offsets, bytes.span.clone(), bytes.bytes, fault);
            }
            Event::AwaitingSync { source, bytes } => self.awaiting_sync(source, bytes),
            Event::Frame(_) => self.frames.frame(&mut self.line),
            Event::Packed { at, bytes } => self.packed(at, bytes),
            Event::Fragment { id, at, bytes } => self.fragment(id, at, bytes),
            Event::Link { at, event } => self.link(at, event),
            _ => {}
        }
    }

    fn wants(&self) -> Wants {
        let needed = |source: &Source| {
            source.behaviour.late_elements || source.behaviour.elements_need_packets
        };
        let packets = match self.shown.packets || self.sources.iter().any(needed) {
            true => Packets::Each,
            false => Packets::Counted,
        };
        let frames = self.shown.packed || self.shown.unpacked;
        Wants::ELEMENTS.with_packets(packets).with_frames(frames).with_pieces()
    }

    fn full(&self) -> bool {
        self.error.is_some()
    }
}
