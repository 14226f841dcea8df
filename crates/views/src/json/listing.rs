//! Packets and elements as JSON Lines.

use std::io;
use tracewright_decode::listener::{each_part, each_turn};

use tracewright_base::{self as base, Batch, Channel, Element};
use tracewright_decode::{Event, Fork, Listener, Plan, SourceBytes, Tally, Wants};
use tracewright_image::Selection;
use tracewright_protocols::registry::{AnyConfig, AnyPacket};

use super::{Object, element, loop_turns};
use crate::digits::decimal;
use crate::filter::Filter;
use crate::interpretation::{self, Transcript};
use crate::lines::Lines;
use crate::loop_turns::{KIND, LoopTurns};
use crate::packet_fields::PacketFields;
use crate::render_cache::RenderCache;
use crate::sources::Source;
use crate::stats::Stats;
use crate::text::{Line, Ports};

/// What is listed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shown {
    /// Packets.
    pub packets: bool,
    /// The fields of each packet.
    pub fields: bool,
    /// Elements.
    pub elements: bool,
}

/// Writes a line for the buffer, a line for each packet and element, and a summary.
#[derive(Debug)]
pub struct Listing<W> {
    lines: Lines<W>,
    shown: Shown,
    sources: Vec<Source>,
    buffer: String,
    /// The field `source` of the lines of each source.
    heads: Vec<String>,
    /// The incomplete lines of text of each source.
    ports: Vec<Ports>,
    /// The fields of ranges, by source.
    ranges: RenderCache,
    /// What the interpretation of the next cycle depends on, by source.
    transcripts: Vec<Transcript>,
    fields: PacketFields,
    filter: Filter,
}

impl<W: io::Write> Listing<W> {
    /// A listing of `sources` of the buffer called `buffer`, of `len` bytes where that is known.
    pub fn new(
        out: W,
        plan: &Plan,
        sources: Vec<Source>,
        buffer: &str,
        len: Option<u64>,
        shown: Shown,
    ) -> Self {
        let mut lines = Lines::new(out);
        lines.text.push_str(&super::buffer(plan, &sources, buffer, len));
        let heads = sources.iter().map(|source| {
            let mut text = String::new();
            Object::new(&mut text).text("source", &source.name).end();
            text.trim_matches(['{', '}']).to_owned()
        });
        let heads = heads.collect();
        let (buffer, ranges, transcripts) = (buffer.to_owned(), RenderCache::default(), Vec::new());
        let fields = PacketFields::default();
        let ports = vec![Ports::default(); sources.len()];
        let filter = Filter::default();
        Listing { lines, shown, sources, buffer, heads, ports, ranges, transcripts, fields, filter }
    }

    /// Shows only what `filter` selects.
    #[must_use]
    pub fn with_filter(self, filter: Filter) -> Self {
        Listing { filter, ..self }
    }

    /// Writes the summary and the lines that wait.
    ///
    /// # Errors
    /// The first error of the writer.
    pub fn finish(mut self, tally: &Tally, stats: Option<&Stats>) -> io::Result<()> {
        let summary = super::summary(&self.sources, &self.buffer, tally, stats);
        self.lines.text.push_str(&summary);
        self.lines.finish()
    }
}

impl<W: io::Write> Listing<W> {
    fn element_line(&mut self, n: usize, at: u64, what: &Element) {
        let (Some(source), Some(head)) = (self.sources.get(n), self.heads.get(n)) else { return };
        let out = &mut self.lines.text;
        out.push_str("{\"type\":\"element\",");
        out.push_str(head);
        out.push_str(",\"offset\":");
        decimal(at, out);
        let fields = |out: &mut String| {
            let o = Object::more(out).text("kind", what.kind());
            element::fields(source, what, o).end();
            out.push('\n');
        };
        match what {
            Element::Range(range) => self.ranges.put((n, *range), out, fields),
            _ => fields(out),
        }
        self.lines.relieve();
    }

    /// A line of text that software wrote.
    fn text_line(&mut self, n: usize, line: &Line) {
        let Some(head) = self.heads.get(n) else { return };
        let out = &mut self.lines.text;
        out.push_str("{\"type\":\"text\",");
        out.push_str(head);
        let o = Object::more(out).number("offset", line.at);
        let o = match line.channel {
            Channel::Port { page, port } => {
                o.number("port", u64::from(page.unwrap_or(0)) * 32 + u64::from(port))
            }
            Channel::Master { master, channel } => o
                .maybe_number("master", master.map(u64::from))
                .maybe_number("channel", channel.map(u64::from)),
        };
        o.text("text", &String::from_utf8_lossy(&line.text)).end();
        self.lines.end();
    }
}

/// Lines of text, cycles and addresses, configurations, contexts, and their IDs, by source.
type State =
    ((((Vec<Ports>, Vec<Transcript>), Vec<Option<AnyConfig>>), Vec<Selection>), Vec<Option<u32>>);

/// Lines do not depend on one another, except for lines of text, the interpretation of cycles, the
/// fields of packets, and the symbols of a context.
impl Fork for Listing<Vec<u8>> {
    type State = State;
    type Output = Vec<u8>;

    fn fork(&self) -> Self {
        Listing {
            lines: Lines::new(Vec::new()),
            shown: self.shown,
            sources: self.sources.clone(),
            buffer: self.buffer.clone(),
            heads: self.heads.clone(),
            ports: vec![Ports::default(); self.sources.len()],
            ranges: RenderCache::default(),
            transcripts: Vec::new(),
            fields: PacketFields::default(),
            filter: self.filter.clone(),
        }
    }

    fn state(&self) -> Self::State {
        let lines = (self.ports.clone(), self.transcripts.clone());
        let selections = Source::selections(&self.sources);
        (((lines, self.fields.learned.clone()), selections), self.filter.contexts())
    }

    fn resume(&mut self, ((((ports, transcripts), learned), contexts), ids): Self::State) {
        self.filter.resume(ids);
        if Source::selections(&self.sources) != contexts {
            Source::resume(&mut self.sources, &contexts);
            self.ranges.clear();
        }
        (self.ports, self.transcripts, self.fields.learned) = (ports, transcripts, learned);
        self.lines.clear();
    }

    fn take(&mut self) -> Vec<u8> {
        self.lines.take()
    }

    #[inline]
    fn weight(&self) -> usize {
        self.lines.waiting()
    }
}

impl<W: io::Write> Listing<W> {
    fn select(&mut self, n: usize, selection: Selection) {
        if let Some(source) = self.sources.get_mut(n) {
            source.select(selection);
        }
        self.ranges.clear();
    }

    fn unlisted(&mut self, n: usize, at: u64, ranges: &[base::Range], turns: u64) {
        if !self.shown.elements || !self.filter.is_all() && !self.filter.turns(n, KIND, ranges) {
            return;
        }
        let Some(source) = self.sources.get(n) else { return };
        loop_turns(&source.name, at, LoopTurns { ranges, turns }, &mut self.lines.text);
        self.lines.end();
    }

    fn packet(&mut self, n: usize, bytes: &SourceBytes<'_>, packet: AnyPacket<'_>) {
        if !self.shown.packets {
            return;
        }
        let (Some(source), Some(head)) = (self.sources.get(n), self.heads.get(n)) else { return };
        let mut text = String::new();
        let Some(transcript) = interpretation::of(&mut self.transcripts, n) else { return };
        let made = transcript.address(source, packet);
        let address = made.and_then(|made| made.whole());
        if !self.filter.is_all() && !self.filter.packet(n, packet.kind().as_str(), address) {
            return;
        }
        let interpretation =
            transcript.interpret(source, bytes.at(), packet, &mut text).then_some(text);
        let packet_bytes = bytes.get();
        let fields = if self.shown.fields {
            self.fields.of(n, source, packet_bytes, packet)
        } else {
            Vec::new()
        };
        let out = &mut self.lines.text;
        out.push_str("{\"type\":\"packet\",");
        out.push_str(head);
        let o = Object::more(out)
            .number("offset", bytes.at())
            .text("kind", packet.kind().as_str())
            .value("bytes", |out| {
                out.push('"');
                source.packet_bytes(packet_bytes, "", out);
                out.push('"');
            })
            .text("text", &packet.to_string())
            .maybe_text("interpretation", interpretation.as_deref())
            .maybe_hex("address", address);
        let o = match fields.is_empty() {
            true => o,
            false => o.list("fields", &fields, |field, out| {
                Object::new(out)
                    .text("name", field.name)
                    .number("at", field.at.into())
                    .number("width", field.width.into())
                    .number("sent", field.sent.into())
                    .hex("value", field.value)
                    .end();
            }),
        };
        o.end();
        self.lines.end();
    }

    fn skipped_packet(&mut self, n: usize, at: u64, packet: Option<AnyPacket<'_>>) {
        let fields = self.shown.fields.then_some(&mut self.fields);
        interpretation::skip(&mut self.transcripts, fields, &self.sources, n, at, packet);
    }
}

impl<W: io::Write> Listener for Listing<W> {
    fn element(&mut self, n: usize, at: u64, what: Element) {
        let bad = matches!(what, Element::Undecodable { .. });
        if bad && let Some(transcript) = self.transcripts.get_mut(n) {
            *transcript = Transcript::default();
        }
        let shows = self.filter.is_all() || self.filter.element(n, &what);
        if !(self.shown.elements || bad && shows) {
            return;
        }
        let selects = matches!(
            what,
            Element::Context(_) | Element::Timestamp { .. } | Element::DataAccess(_)
        );
        if selects && self.sources.get_mut(n).is_some_and(|source| source.follow(&what)) {
            self.ranges.clear();
        }
        let mut done = Vec::new();
        if self.shown.elements
            && let Some(ports) = self.ports.get_mut(n)
        {
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
        if let Element::Range(range) = &what
            && self.sources.get_mut(n).is_some_and(|source| source.follow_range(range))
        {
            self.ranges.clear();
        }
        done.iter().filter(last).for_each(|line| self.text_line(n, line));
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        each_part(self, batch, |listing, turns| match turns.listed {
            true => each_turn(listing, batch.source, turns),
            false => listing.unlisted(batch.source, turns.at, turns.ranges, turns.times),
        });
    }

    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Packet { source, bytes, packet } => self.packet(*source, bytes, *packet),
            Event::Skipped { source, at, packet } => self.skipped_packet(*source, *at, *packet),
            Event::Select { source, selection } => self.select(*source, *selection),
            _ => {}
        }
    }

    fn wants(&self) -> Wants {
        match self.shown.packets {
            true => Wants::EACH_PACKET,
            false => Wants::ELEMENTS,
        }
    }

    fn full(&self) -> bool {
        self.lines.broken()
    }
}
