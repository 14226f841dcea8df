//! The elements of one source as OpenCSD reports them, without their text.

use std::ops::Range;

use tracewright_base::{Element, Gap, Last, OffsetMap};
use tracewright_protocols::etmv3;
use tracewright_protocols::registry::{AnyConfig, AnyPacket};

use super::element::Style;
use super::held::Held;
use super::packet_text::Behaviour;
use super::source::SourceText;
use super::unsynced::Group;

/// The most I-sync packets whose elements may follow. An element is late by a few packets.
const MOST_SYNCS: usize = 1 << 10;

/// An element as OpenCSD reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reported {
    /// The offset that OpenCSD reports.
    pub at: u64,
    /// The element. OpenCSD has none for some elements: see [`element`](super::element::element).
    pub element: Element,
    /// The cycle count that the element has in addition to its own fields.
    pub cycles: Option<u32>,
    /// The trace ends where an overflow was not followed by a restart ([`Element::End`] only).
    pub after_overflow: bool,
}

/// The elements of one source as OpenCSD's decoder reports them: changes what a decoder emits into
/// what the listing without packets lists.
#[derive(Clone, Debug)]
pub struct SourceReport {
    config: AnyConfig,
    text: SourceText,
    behaviour: Behaviour,
    style: Style,
    /// Ranges are reported as they are decoded, where nothing waits.
    plain_ranges: bool,
    /// The reason of the first loss, which is that of the start.
    lost: Option<Gap>,
    /// Trace was lost in an overflow, and has not restarted.
    overflowed: bool,
    /// The offset of the last packet in the capture, and the offset that OpenCSD reports for it.
    seen: (u64, u64),
    /// Elements that wait for another element or packet: see [`Behaviour::drops_at_end`].
    held: Held,
    /// Elements do not wait, though OpenCSD would drop some of them at the end of the trace.
    immediate: bool,
    /// The end of the last bad packet. OpenCSD reports the loss with the packet after it.
    bad_end: Option<Option<u64>>,
    /// A loss that is reported with the byte that comes next.
    late_loss: Option<Reported>,
    /// Offsets and cycle counts of I-sync packets of ETMv3 whose elements may follow. OpenCSD
    /// reports such a count with the context of the packet.
    counted_syncs: Vec<(u64, u32)>,
    /// Buffer for text that nobody reads.
    line: String,
}

impl SourceReport {
    /// A source before its first byte.
    pub fn new(config: &AnyConfig) -> Self {
        Self::after(config, Gap::Start)
    }

    fn after(config: &AnyConfig, lost: Gap) -> Self {
        let text = SourceText::new(config);
        let behaviour = text.behaviour();
        SourceReport {
            config: config.clone(),
            plain_ranges: !behaviour.elements_need_packets,
            behaviour,
            style: SourceText::style(config),
            text,
            lost: Some(lost),
            overflowed: false,
            seen: (0, 0),
            held: Held::default(),
            immediate: false,
            bad_end: None,
            late_loss: None,
            counted_syncs: Vec::new(),
            line: String::new(),
        }
    }

    /// The decoder is reset: elements that wait are dropped, and the next loss is that of the
    /// reset.
    pub fn reset(&mut self) {
        *self = SourceReport { immediate: self.immediate, ..Self::after(&self.config, Gap::Reset) };
    }

    /// Whether a context is reported where it is decoded, before memory of that context is read. At
    /// the end of a trace OpenCSD does not report a context that nothing follows; such a context
    /// must otherwise wait for another element.
    pub fn set_immediate(&mut self, immediate: bool) {
        self.immediate = immediate;
    }

    /// What the text of elements depends on.
    pub fn style(&self) -> Style {
        self.style
    }

    /// OpenCSD's names of the packet processor and of the decoder in messages.
    pub fn components(&self) -> (&'static str, &'static str) {
        (self.text.packet_processor(), self.text.decoder())
    }

    /// How OpenCSD groups bytes before a synchronisation.
    pub fn group(&self) -> Group {
        self.behaviour.unsynced
    }

    /// Whether one packet stands for all bytes before a synchronisation, where the bytes of packets
    /// are not reported.
    pub fn has_one_unsynced_packet(&self) -> bool {
        self.behaviour.one_unsynced_line
    }

    /// The last instruction of a range as OpenCSD reports it.
    pub fn last(&self) -> fn(Last) -> Last {
        self.text.last()
    }

    /// Whether elements depend on each packet before them: [`packet`](Self::packet) must then be
    /// called for each. Otherwise those that a decoder takes at once may be left out.
    pub fn needs_packets(&self) -> bool {
        self.behaviour.elements_need_packets
    }

    /// Takes a packet, before its elements. Elements that waited for it are passed to `out`.
    pub fn packet(
        &mut self,
        offsets: &OffsetMap<'_>,
        span: &Range<usize>,
        packet: AnyPacket<'_>,
        out: &mut impl FnMut(Reported),
    ) {
        self.release(out);
        let at = offsets.at(span.start);
        if self.behaviour.elements_need_packets {
            self.seen = (at, self.text.offset(packet, offsets, span.start));
            self.text.packet(&self.config, packet, &mut self.line);
            self.line.clear();
        }
        if let AnyPacket::Etmv3(etmv3::Packet::Isync(isync)) = packet
            && let Some(count) = isync.cycles
        {
            if self.counted_syncs.len() == MOST_SYNCS {
                self.counted_syncs.clear();
            }
            self.counted_syncs.push((at, count));
        }
    }

    /// Takes a bad packet, before the decoder takes it. `end` is the offset of the byte after it,
    /// where that byte is known.
    pub fn bad_packet(&mut self, end: Option<u64>) {
        self.bad_end = Some(end);
    }

    /// Bytes from offset `at` on are decoded next.
    pub fn begin(&mut self, at: u64, out: &mut impl FnMut(Reported)) {
        if let Some(loss) = self.late_loss.take() {
            out(Reported { at, ..loss });
        }
    }

    /// Takes an element of the decoder, and passes to `out` what OpenCSD reports.
    pub fn element(&mut self, at: u64, what: Element, out: &mut impl FnMut(Reported)) {
        let missing = match self.behaviour.drops_at_end {
            true => self.held.missing_before(at, &what),
            false => None,
        };
        if self.behaviour.drops_at_end && !self.immediate {
            if self.held.waits(at, &what) {
                return;
            }
            self.release(out);
        }
        if let Some(missing) = missing {
            self.report(at, missing, out);
        }
        let what = match what {
            Element::Gap(Gap::Reset) => {
                self.counted_syncs.clear();
                self.overflowed = false;
                self.lost = Some(Gap::Reset);
                return;
            }
            Element::Gap(Gap::Start) => Element::Gap(self.lost.take().unwrap_or(Gap::Start)),
            what => what,
        };
        self.report(at, what, out);
    }

    /// Whether [`element`](Self::element) would report a range as it is but for its
    /// [last instruction](Self::last), and nothing else.
    #[inline]
    pub fn is_plain_range(&self) -> bool {
        let waits = !self.held.is_empty()
            || self.late_loss.is_some()
            || self.bad_end.is_some()
            || self.text.is_waiting();
        self.plain_ranges && !waits
    }

    /// Whether it would report a cycle count at offset `at` as it is, where it would report a range
    /// so.
    #[inline]
    pub fn is_plain_count(&self, at: u64) -> bool {
        self.behaviour.plain_cycles && self.counted_syncs.iter().all(|(sync, _)| *sync != at)
    }

    /// Reports the elements that wait for another element or packet.
    pub fn release(&mut self, out: &mut impl FnMut(Reported)) {
        if self.held.is_empty() {
            return;
        }
        let held = self.held.take();
        for &(at, what) in &held {
            self.report(at, what, out);
        }
        self.held.put_back(held);
    }

    fn report(&mut self, at: u64, mut element: Element, out: &mut impl FnMut(Reported)) {
        match element {
            Element::Gap(gap) if gap != Gap::Data => self.overflowed = gap == Gap::Overflow,
            Element::TraceOn(_) => self.overflowed = false,
            _ => {}
        }
        let Some(mut cycles) = self.text.element(&self.config, &mut element) else { return };
        if let Some(n) = self.counted_syncs.iter().position(|(sync, _)| *sync == at) {
            // Elements come in order: no later one belongs to an earlier packet.
            self.counted_syncs.drain(..n);
            match element {
                Element::Cycles(_) => return,
                Element::Context(_) => {
                    cycles = cycles.or(self.counted_syncs.first().map(|(_, count)| *count));
                }
                Element::Gap(_) | Element::End => self.counted_syncs.clear(),
                _ => {}
            }
        }
        let at = if at == self.seen.0 { self.seen.1 } else { at };
        let after_overflow = self.behaviour.incomplete_end && self.overflowed;
        let reported = Reported { at, element, cycles, after_overflow };
        match (element, self.bad_end.take()) {
            (Element::Gap(Gap::BadPacket), Some(end)) if self.behaviour.reset_by_bad_packets => {
                match end {
                    Some(at) => out(Reported { at, ..reported }),
                    None => self.late_loss = Some(reported),
                }
            }
            _ => {
                self.begin(at, out);
                out(reported);
            }
        }
    }
}
