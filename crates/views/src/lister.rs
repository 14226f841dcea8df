//! The listing of packets and elements, of which text and JSON are forms.

use std::io;

use tracewright_base::{Batch, Custom, Element, MAX_EXPANSION, Range};
use tracewright_decode::listener::{each_part, each_turn};
use tracewright_decode::{Event, Fork, Listener, Packets, Size, SourceBytes, Wants};
use tracewright_frames as frames;
use tracewright_image::Selection;
use tracewright_protocols::Field;
use tracewright_protocols::registry::{AnyConfig, AnyPacket};

use crate::filter::Filter;
use crate::interpretation::{self, Made, Transcript};
use crate::lines::Lines;
use crate::loop_turns::{KIND, LoopTurns};
use crate::packet_fields::PacketFields;
use crate::ports::{Line, Ports};
use crate::range_limit::{Admission, RangeLimit, Spent};
use crate::render_cache::RenderCache;
use crate::sources::Source;

/// How the lines of a listing are written. Each function appends whole lines.
pub trait Form {
    /// Whether packets are listed, their fields, and elements.
    fn lists(&self) -> Lists;

    /// The form of a listing that continues another one.
    #[must_use]
    fn fork(&self) -> Self;

    /// An element that is no range.
    fn element(&mut self, to: LineOrigin<'_>, what: &Element, out: &mut String);

    /// [`Element::Custom`] and its bytes.
    fn custom(&mut self, to: LineOrigin<'_>, custom: Custom, bytes: &[u8], out: &mut String);

    /// Executed instructions. `cache` has the texts of ranges.
    fn range(
        &mut self,
        to: LineOrigin<'_>,
        range: Range,
        cache: &mut RenderCache,
        out: &mut String,
    );

    /// Turns of a loop that are not listed.
    fn turns(&mut self, to: LineOrigin<'_>, turns: LoopTurns<'_>, out: &mut String);

    /// An event of the trace link, of this kind, with its value.
    fn link_event(&mut self, at: u64, kind: &str, value: Option<u8>, out: &mut String);

    /// Further ranges of a packet are not listed.
    fn unlisted(&mut self, to: LineOrigin<'_>, out: &mut String);

    /// Text that software wrote.
    fn text(&mut self, to: LineOrigin<'_>, line: &Line, out: &mut String);

    /// A packet.
    fn packet(&mut self, to: LineOrigin<'_>, packet: &ListedPacket<'_>, out: &mut String);
}

/// What is listed.
#[derive(Clone, Copy, Debug)]
pub struct Lists {
    pub(crate) packets: bool,
    pub(crate) fields: bool,
    pub(crate) elements: bool,
}

/// The source of a line, its number, and the offset.
#[derive(Clone, Copy, Debug)]
pub struct LineOrigin<'a> {
    pub(crate) n: usize,
    pub(crate) source: &'a Source,
    pub(crate) at: u64,
}

/// A packet, and what its line has.
#[derive(Debug)]
pub struct ListedPacket<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) packet: AnyPacket<'a>,
    /// The address that it makes.
    pub(crate) made: Option<Made>,
    /// What it means after the packets before it.
    pub(crate) interpretation: Option<String>,
    pub(crate) fields: Vec<Field>,
}

/// Writes a line for each packet and element, in a form.
#[derive(Debug)]
pub struct Lister<F, W> {
    pub(crate) lines: Lines<W>,
    pub(crate) sources: Vec<Source>,
    pub(crate) form: F,
    /// The incomplete lines of text of each source.
    ports: Vec<Ports>,
    /// What the interpretation of the next cycle depends on, by source.
    transcripts: Vec<Transcript>,
    fields: PacketFields,
    filter: Filter,
    /// The text of ranges, by source.
    ranges: RenderCache,
    limit: RangeLimit,
}

impl<F: Form, W: io::Write> Lister<F, W> {
    pub(crate) fn of(out: W, sources: Vec<Source>, form: F) -> Self {
        Lister {
            lines: Lines::new(out),
            ports: vec![Ports::default(); sources.len()],
            limit: RangeLimit::new(sources.len(), MAX_EXPANSION),
            sources,
            form,
            transcripts: Vec::new(),
            fields: PacketFields::default(),
            filter: Filter::default(),
            ranges: RenderCache::default(),
        }
    }

    /// Shows only what `filter` selects.
    #[must_use]
    pub fn with_filter(self, filter: Filter) -> Self {
        Lister { filter, ..self }
    }

    /// Lists at most the ranges of `limit`.
    #[must_use]
    pub fn with_limit(self, limit: RangeLimit) -> Self {
        Lister { limit, ..self }
    }

    fn element_line(&mut self, n: usize, at: u64, what: &Element) {
        let Some(source) = self.sources.get(n) else { return };
        self.form.element(LineOrigin { n, source, at }, what, &mut self.lines.text);
        self.lines.relieve();
    }

    #[inline]
    fn range_line(&mut self, n: usize, at: u64, range: Range) {
        let Some(source) = self.sources.get(n) else { return };
        if self.limit.omits(n, at) && !source.watches_addresses() {
            return;
        }
        let place = LineOrigin { n, source, at };
        match self.limit.admit(n, at) {
            Admission::Listed => {
                self.form.range(place, range, &mut self.ranges, &mut self.lines.text);
                self.lines.relieve();
            }
            Admission::First => {
                self.form.unlisted(place, &mut self.lines.text);
                self.lines.relieve();
            }
            Admission::Omitted => {}
        }
        self.follow_range(n, range);
    }

    #[inline]
    fn follow_range(&mut self, n: usize, range: Range) {
        if self.sources.get_mut(n).is_some_and(|source| source.follow_range(&range)) {
            self.ranges.clear();
        }
    }

    fn text_line(&mut self, n: usize, line: &Line) {
        let Some(source) = self.sources.get(n) else { return };
        self.form.text(LineOrigin { n, source, at: line.at }, line, &mut self.lines.text);
        self.lines.relieve();
    }

    fn select(&mut self, n: usize, selection: Selection) {
        if let Some(source) = self.sources.get_mut(n) {
            source.select(selection);
        }
        self.ranges.clear();
    }

    fn unlisted(&mut self, n: usize, at: u64, turns: LoopTurns<'_>) {
        let elements = self.form.lists().elements;
        if !elements || !self.filter.is_all() && !self.filter.turns(n, KIND, turns.ranges) {
            return;
        }
        let Some(source) = self.sources.get(n) else { return };
        self.form.turns(LineOrigin { n, source, at }, turns, &mut self.lines.text);
        self.lines.relieve();
    }

    fn packet(&mut self, n: usize, bytes: &SourceBytes<'_>, packet: AnyPacket<'_>) {
        let Lists { packets, fields, .. } = self.form.lists();
        if !packets {
            return;
        }
        let Some(source) = self.sources.get(n) else { return };
        let Some(transcript) = interpretation::of(&mut self.transcripts, n) else { return };
        let made = transcript.address(source, packet);
        let address = made.as_ref().and_then(Made::whole);
        if !self.filter.is_all() && !self.filter.packet(n, packet.kind().as_str(), address) {
            return;
        }
        let (at, bytes) = (bytes.at(), bytes.get());
        let mut text = String::new();
        let interpretation = transcript.interpret(source, at, packet, &mut text).then_some(text);
        let fields = match fields {
            true => self.fields.of(n, source, bytes, packet),
            false => Vec::new(),
        };
        let packet = ListedPacket { bytes, packet, made, interpretation, fields };
        self.form.packet(LineOrigin { n, source, at }, &packet, &mut self.lines.text);
        self.lines.relieve();
    }

    /// Whether events of the trace link are listed: where they are asked for.
    fn lists_link(&self) -> bool {
        let names = ["trigger", "flush", "sync", "barrier"];
        self.form.lists().elements && names.into_iter().any(|name| self.filter.names(name))
    }

    fn link_event(&mut self, at: u64, event: frames::Event) {
        let (name, kind, value) = match event {
            frames::Event::Trigger(value) => ("trigger", "trigger", Some(value)),
            frames::Event::Flush(value) => ("flush", "flush", Some(value)),
            frames::Event::FullSync => ("sync", "full-sync", None),
            frames::Event::HalfSync => ("sync", "half-sync", None),
            frames::Event::Barrier => ("barrier", "barrier", None),
            _ => return,
        };
        if self.filter.names(name) {
            self.form.link_event(at, kind, value, &mut self.lines.text);
            self.lines.relieve();
        }
    }

    fn skipped_packet(&mut self, n: usize, at: u64, packet: Option<AnyPacket<'_>>) {
        let fields = self.form.lists().fields.then_some(&mut self.fields);
        interpretation::skip(&mut self.transcripts, fields, &self.sources, n, at, packet);
    }
}

/// Lines of text, cycles and addresses, configurations, contexts, and their IDs, by source.
type Texts =
    ((((Vec<Ports>, Vec<Transcript>), Vec<Option<AnyConfig>>), Vec<Selection>), Vec<Option<u32>>);
/// The same, and the ranges that were listed.
type State = (Texts, Vec<Spent>);

/// Later lines depend on incomplete lines of text, on the cycles so far, and on the configurations
/// that packets have changed, and on the contexts.
impl<F: Form> Fork for Lister<F, Vec<u8>> {
    type State = State;
    type Output = Vec<u8>;

    fn fork(&self) -> Self {
        let listing = Lister::of(Vec::new(), self.sources.clone(), self.form.fork());
        let limit = self.limit.fork();
        Lister { limit, ..listing.with_filter(self.filter.clone()) }
    }

    fn state(&self) -> Self::State {
        let lines = (self.ports.clone(), self.transcripts.clone());
        let selections = Source::selections(&self.sources);
        let texts = (((lines, self.fields.learned.clone()), selections), self.filter.contexts());
        (texts, self.limit.state())
    }

    fn resume(&mut self, (texts, ranges): Self::State) {
        let ((((ports, transcripts), learned), contexts), ids) = texts;
        self.filter.resume(ids);
        if Source::selections(&self.sources) != contexts {
            Source::resume(&mut self.sources, &contexts);
            self.ranges.clear();
        }
        (self.ports, self.transcripts, self.fields.learned) = (ports, transcripts, learned);
        self.limit.resume(ranges);
        self.lines.clear();
    }

    fn take(&mut self) -> Vec<u8> {
        self.lines.take()
    }

    #[inline]
    fn size(&self) -> Size {
        Size::of(self.lines.waiting())
    }
}

impl<F: Form, W: io::Write> Listener for Lister<F, W> {
    #[inline]
    fn element(&mut self, n: usize, at: u64, what: Element) {
        let bad = matches!(what, Element::Undecodable { .. });
        if bad && let Some(transcript) = self.transcripts.get_mut(n) {
            *transcript = Transcript::default();
        }
        let shows = self.filter.is_all() || self.filter.element(n, &what);
        if !self.form.lists().elements {
            // Undecodable bytes are listed among packets, too.
            if bad && shows {
                self.element_line(n, at, &what);
            }
            return;
        }
        if let Element::Range(range) = what {
            return match shows {
                true => self.range_line(n, at, range),
                false => self.follow_range(n, range),
            };
        }
        let selects = matches!(
            what,
            Element::Context(_) | Element::Timestamp { .. } | Element::DataAccess(_)
        );
        if selects && self.sources.get_mut(n).is_some_and(|source| source.follow(&what)) {
            self.ranges.clear();
        }
        let mut done = Vec::new();
        if let Some(ports) = self.ports.get_mut(n) {
            ports.element(at, &what, |line| done.push(line));
        }
        if !self.filter.is_all() && !self.filter.text(n) {
            done.clear();
        }
        // A line of text follows the write that has its last character.
        let last = |line: &&Line| line.at == at && matches!(what, Element::SoftwareWrite(_));
        done.iter().filter(|line| !last(line)).for_each(|line| self.text_line(n, line));
        if shows {
            self.element_line(n, at, &what);
        }
        done.iter().filter(last).for_each(|line| self.text_line(n, line));
    }

    fn custom(&mut self, n: usize, at: u64, custom: Custom, bytes: &[u8]) {
        let shows = self.filter.is_all() || self.filter.element(n, &Element::Custom(custom));
        if !shows || !self.form.lists().elements {
            return;
        }
        let Some(source) = self.sources.get(n) else { return };
        let place = LineOrigin { n, source, at };
        self.form.custom(place, custom, bytes, &mut self.lines.text);
        self.lines.relieve();
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        let n = batch.source;
        if self.form.lists().elements && self.filter.is_all() && batch.is_steps() {
            let watches = self.sources.get(n).is_some_and(Source::watches_addresses);
            for &step in batch.steps() {
                let at = batch.at(step);
                // The range is not made.
                if self.limit.omits(n, at) && !watches {
                    continue;
                }
                if let Some(range) = batch.range(step) {
                    self.range_line(n, at, range);
                }
            }
            return;
        }
        each_part(self, batch, |listing, turns| match turns.listed {
            true => each_turn(listing, n, turns),
            false => {
                let of_loop = LoopTurns { ranges: turns.ranges, turns: turns.times };
                listing.unlisted(n, turns.at, of_loop);
            }
        });
    }

    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Packet { source, bytes, packet } => self.packet(*source, bytes, *packet),
            Event::Skipped { source, at, packet } => self.skipped_packet(*source, *at, *packet),
            Event::Select { source, selection } => self.select(*source, *selection),
            Event::Link { at, event } if self.lists_link() => self.link_event(*at, *event),
            _ => {}
        }
    }

    fn wants(&self) -> Wants {
        match self.form.lists().packets {
            true => Wants::EACH_PACKET,
            false if self.lists_link() => Wants::ELEMENTS.with_packets(Packets::Counted),
            false => Wants::ELEMENTS,
        }
    }

    fn full(&self) -> bool {
        self.lines.broken()
    }
}
