//! The elements of one source as OpenCSD reports them, without their text.

use std::ops::Range;

use tracewright_base::{Element, Gap, OffsetMap};
use tracewright_protocols::registry::{AnyConfig, AnyPacket};

use super::element::Style;
use super::held::Held;
use super::order::{Order, Put};
use super::packet_text::Behaviour;
use super::source::{SourceText, order};
use super::unsynced::Group;

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
    order: Order,
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
        let etmv4 = matches!(config, AnyConfig::Etmv4(_) | AnyConfig::Ete(_));
        SourceReport {
            config: config.clone(),
            plain_ranges: etmv4 && !behaviour.late_elements && !behaviour.elements_need_packets,
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
            order: Order::default(),
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

    /// Whether elements depend on the packets before them: [`packet`](Self::packet) must then be
    /// called for each.
    pub fn needs_packets(&self) -> bool {
        self.behaviour.late_elements || self.behaviour.elements_need_packets
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
        if self.behaviour.late_elements {
            order(packet, &mut self.order, 0, at, 0);
            if self.order.is_long() {
                self.order.give_up();
            }
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
                self.order.lost(0);
                self.overflowed = false;
                self.lost = Some(Gap::Reset);
                return;
            }
            Element::Gap(Gap::Start) => Element::Gap(self.lost.take().unwrap_or(Gap::Start)),
            what => what,
        };
        self.report(at, what, out);
    }

    /// Whether [`element`](Self::element) would report a range as it is, and nothing else.
    #[inline]
    pub fn is_plain_range(&self) -> bool {
        let waits = !self.held.is_empty() || self.late_loss.is_some() || self.bad_end.is_some();
        self.plain_ranges && !waits
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

    fn report(&mut self, at: u64, what: Element, out: &mut impl FnMut(Reported)) {
        match what {
            Element::Gap(gap) if gap != Gap::Data => self.overflowed = gap == Gap::Overflow,
            Element::TraceOn(_) => self.overflowed = false,
            _ => {}
        }
        let Some((element, mut cycles)) = self.text.element(&self.config, what) else { return };
        if self.behaviour.late_elements {
            match self.order.put(0, at, &element, 0) {
                Put::At(_, count) => cycles = cycles.or(count),
                Put::Nowhere => return,
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
