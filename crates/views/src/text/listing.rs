//! The text listing: a line for each packet and element.

use std::io;
use tracewright_decode::listener::{each_part, each_turn};

use tracewright_base::{self as base, Batch, Element};
use tracewright_decode::{Event, Fork, Listener, SourceBytes, Wants};
use tracewright_image::Selection;
use tracewright_protocols::Field;
use tracewright_protocols::registry::{AnyConfig, AnyPacket};

use super::colour::Tone;
use super::element::{element, plain_range};
use super::ports::{Line, Ports};
use crate::digits::{ShortText, decimal};
use crate::filter::Filter;
use crate::interpretation::{self, Transcript};
use crate::lines::Lines;
use crate::loop_turns::{KIND, LoopTurns};
use crate::packet_fields::PacketFields;
use crate::range_tails::RangeTails;
use crate::render_cache::RenderCache;
use crate::sources::Source;

/// What is listed, and how.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shown {
    /// Packets.
    pub packets: bool,
    /// The bytes of each packet.
    pub bytes: bool,
    /// The fields of each packet, one line for each field.
    pub fields: bool,
    /// Elements.
    pub elements: bool,
    /// In colour.
    pub colour: bool,
}

/// The width of offsets in a buffer of `len` bytes; where that is unknown, enough for a gigabyte.
pub(crate) fn offset_digits(len: Option<u64>) -> usize {
    len.map_or(9, |len| len.checked_ilog10().unwrap_or(0) as usize + 1)
}

/// Writes a listing with the columns byte offset, source, and packet or element.
#[derive(Debug)]
pub struct Listing<W> {
    lines: Lines<W>,
    shown: Shown,
    sources: Vec<Source>,
    /// The incomplete lines of text of each source.
    ports: Vec<Ports>,
    /// What the interpretation of the next cycle depends on, by source.
    transcripts: Vec<Transcript>,
    fields: PacketFields,
    filter: Filter,
    /// The width of offsets.
    digits: usize,
    /// The column after the offset, by source, also as a short text where it is short.
    names: Vec<(String, Option<ShortText>)>,
    /// The beginning of the last line: offset, and its column where that is short.
    offset: (u64, Option<ShortText>),
    /// The text of ranges, by source.
    ranges: RenderCache,
    /// The end of the text of ranges without names and colours.
    tails: RangeTails,
}

impl<W: io::Write> Listing<W> {
    /// A listing of `sources`. Their buffer has `len` bytes, where that is known.
    pub fn new(out: W, sources: Vec<Source>, len: Option<u64>, shown: Shown) -> Self {
        let digits = offset_digits(len);
        let widths = sources.iter().map(|source| source.name.chars().count());
        let longest = widths.clone().max().unwrap_or(0);
        let names = sources.iter().zip(widths).map(|(source, width)| {
            let mut name = source.name.to_string();
            if shown.colour {
                Tone::Name.paint(0, &mut name);
            }
            let name = format!("  {name}{}", " ".repeat(longest - width + 2));
            let short = ShortText::of(&name);
            (name, short)
        });
        let names = names.collect();
        Listing {
            lines: Lines::new(out),
            fields: PacketFields::default(),
            filter: Filter::default(),
            shown,
            ports: vec![Ports::default(); sources.len()],
            transcripts: Vec::new(),
            sources,
            digits,
            names,
            offset: (u64::MAX, None),
            ranges: RenderCache::default(),
            tails: RangeTails::default(),
        }
    }

    /// Shows only what `filter` selects.
    #[must_use]
    pub fn with_filter(self, filter: Filter) -> Self {
        Listing { filter, ..self }
    }

    /// Writes the lines that wait.
    ///
    /// # Errors
    /// The first error of the writer.
    pub fn finish(self) -> io::Result<()> {
        self.lines.finish()
    }

    /// Begins a line with offset and name.
    #[inline]
    fn begin(&mut self, n: usize, at: u64) {
        if self.offset.0 != at {
            self.offset = (at, self.short_offset(at));
        }
        match self.offset.1 {
            Some(text) => text.put(&mut self.lines.text),
            None => self.long_offset(at),
        }
        match self.names.get(n) {
            Some((_, Some(text))) => text.put(&mut self.lines.text),
            Some((text, None)) => self.lines.text.push_str(text),
            None => self.lines.text.push_str("  "),
        }
    }

    /// The column of the offset, if it is short and has no colour.
    #[inline]
    fn short_offset(&self, at: u64) -> Option<ShortText> {
        let text = ShortText::decimal(at).filter(|_| !self.shown.colour)?;
        let spaces = "        ".get(..self.digits.saturating_sub(text.len()))?;
        Some(ShortText::of(spaces)?.then(text))
    }

    fn long_offset(&mut self, at: u64) {
        let out = &mut self.lines.text;
        let start = out.len();
        let wide = at.checked_ilog10().unwrap_or(0) as usize + 1;
        (wide..self.digits).for_each(|_| out.push(' '));
        decimal(at, out);
        if self.shown.colour {
            Tone::Quiet.paint(start, out);
        }
    }

    fn element_line(&mut self, n: usize, at: u64, what: &Element) {
        self.begin(n, at);
        let Some(source) = self.sources.get(n) else { return };
        let start = self.lines.text.len();
        element(source, what, &mut self.lines.text);
        if self.shown.colour {
            Tone::of(what).paint(start, &mut self.lines.text);
        }
        self.lines.end();
    }

    fn range_line(&mut self, n: usize, at: u64, range: base::Range) {
        self.begin(n, at);
        let Some(source) = self.sources.get(n) else { return };
        let colour = self.shown.colour;
        if !colour && !source.has_symbols() {
            plain_range(&range, &mut self.tails, &mut self.lines.text);
            self.lines.end();
            return self.hidden_range(n, range);
        }
        self.ranges.put((n, range), &mut self.lines.text, |out| {
            let (start, what) = (out.len(), Element::Range(range));
            element(source, &what, out);
            if colour {
                Tone::of(&what).paint(start, out);
            }
            out.push('\n');
        });
        self.lines.relieve();
        if self.sources.get_mut(n).is_some_and(|source| source.follow_range(&range)) {
            self.ranges.clear();
        }
    }

    /// Follows a range that is not shown.
    fn hidden_range(&mut self, n: usize, range: base::Range) {
        if self.sources.get_mut(n).is_some_and(|source| source.follow_range(&range)) {
            self.ranges.clear();
        }
    }

    /// The fields of a packet: first bit, width, name, value.
    fn field_lines(&mut self, n: usize, at: u64, bytes: &[u8], packet: AnyPacket<'_>) {
        use std::fmt::Write;
        let Some(source) = self.sources.get(n) else { return };
        let fields = self.fields.of(n, source, bytes, packet);
        // The values of a packet are aligned.
        let longest = fields.iter().map(|field| field.name.len()).fold(14, usize::max);
        for Field { name, at: first, width, sent, value } in fields {
            self.begin(n, at);
            let _ = write!(self.lines.text, "  {first:>3} +{width:<2} {name:<longest$} {value:#x}");
            if sent < width {
                let _ = write!(self.lines.text, ", {sent} bits sent");
            }
            self.lines.end();
        }
    }

    fn text_line(&mut self, n: usize, line: &Line) {
        self.begin(n, line.at);
        let start = self.lines.text.len();
        let text = format!("text       {} \"{}\"", line.channel, line.text.escape_ascii());
        self.lines.text.push_str(&text);
        if self.shown.colour {
            Tone::Output.paint(start, &mut self.lines.text);
        }
        self.lines.end();
    }
}

/// Lines of text, cycles and addresses, configurations, contexts, and their IDs, by source.
type State =
    ((((Vec<Ports>, Vec<Transcript>), Vec<Option<AnyConfig>>), Vec<Selection>), Vec<Option<u32>>);

/// Later lines depend on incomplete lines of text, on the cycles so far, and on the configurations
/// that packets have changed, and on the contexts.
impl Fork for Listing<Vec<u8>> {
    type State = State;
    type Output = Vec<u8>;

    fn fork(&self) -> Self {
        Listing {
            lines: Lines::new(Vec::new()),
            shown: self.shown,
            ports: vec![Ports::default(); self.sources.len()],
            transcripts: Vec::new(),
            fields: PacketFields::default(),
            filter: self.filter.clone(),
            sources: self.sources.clone(),
            digits: self.digits,
            names: self.names.clone(),
            offset: (u64::MAX, None),
            ranges: RenderCache::default(),
            tails: RangeTails::default(),
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
        use std::fmt::Write;
        if !self.shown.elements || !self.filter.is_all() && !self.filter.turns(n, KIND, ranges) {
            return;
        }
        self.begin(n, at);
        let start = self.lines.text.len();
        let _ = write!(self.lines.text, "{KIND:<10} {}", LoopTurns { ranges, turns });
        if self.shown.colour {
            Tone::Lost.paint(start, &mut self.lines.text);
        }
        self.lines.end();
    }

    fn packet(&mut self, n: usize, bytes: &SourceBytes<'_>, packet: AnyPacket<'_>) {
        if !self.shown.packets {
            return;
        }
        let made = match (interpretation::of(&mut self.transcripts, n), self.sources.get(n)) {
            (Some(transcript), Some(source)) => transcript.address(source, packet),
            _ => None,
        };
        let address = made.and_then(|made| made.whole());
        if !self.filter.is_all() && !self.filter.packet(n, packet.kind().as_str(), address) {
            return;
        }
        self.begin(n, bytes.at());
        let Some(source) = self.sources.get(n) else { return };
        let out = &mut self.lines.text;
        let start = out.len();
        if self.shown.elements {
            out.push_str("packet     ");
        }
        if self.shown.bytes {
            let begin = out.len();
            source.packet_bytes(bytes.get(), " ", out);
            // The text after the bytes of short packets is aligned.
            let len = out.len() - begin;
            out.extend(std::iter::repeat_n(' ', 24usize.saturating_sub(len)));
        }
        let before = out.len();
        packet_text(packet, out);
        if let Some(made) = made {
            let mut address = String::new();
            made.write(&mut address);
            // A whole address is in the text of its packet.
            if !out.get(before..).is_some_and(|text| text.contains(&address)) {
                out.push_str(" = ");
                out.push_str(&address);
            }
        }
        let after = out.len();
        if let Some(transcript) = interpretation::of(&mut self.transcripts, n)
            && transcript.interpret(source, bytes.at(), packet, out)
        {
            // The interpretation of cycles is aligned.
            let pad = 11usize.saturating_sub(after - before);
            out.insert_str(after, &"           "[..pad]);
        }
        if self.shown.colour && self.shown.elements {
            Tone::Quiet.paint(start, out);
        }
        self.lines.end();
        if self.shown.fields {
            self.field_lines(n, bytes.at(), bytes.get(), packet);
        }
    }

    fn skipped_packet(&mut self, n: usize, at: u64, packet: Option<AnyPacket<'_>>) {
        let fields = self.shown.fields.then_some(&mut self.fields);
        interpretation::skip(&mut self.transcripts, fields, &self.sources, n, at, packet);
    }
}

impl<W: io::Write> Listener for Listing<W> {
    #[inline]
    fn element(&mut self, n: usize, at: u64, what: Element) {
        if let Element::Undecodable { .. } = what
            && let Some(transcript) = self.transcripts.get_mut(n)
        {
            *transcript = Transcript::default();
        }
        let shows = self.filter.is_all() || self.filter.element(n, &what);
        if !self.shown.elements {
            // Undecodable bytes are listed among packets, too.
            if let Element::Undecodable { .. } = what
                && shows
            {
                self.element_line(n, at, &what);
            }
            return;
        }
        if let Element::Range(range) = what {
            return if shows {
                self.range_line(n, at, range);
            } else {
                self.hidden_range(n, range);
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

    fn batch(&mut self, batch: &Batch<'_>) {
        let n = batch.source;
        if self.shown.elements && self.filter.is_all() && batch.is_steps() {
            for &step in batch.steps() {
                if let Some(range) = batch.range(step) {
                    self.range_line(n, batch.at(step), range);
                }
            }
            return;
        }
        each_part(self, batch, |listing, turns| match turns.listed {
            true => each_turn(listing, n, turns),
            false => listing.unlisted(n, turns.at, turns.ranges, turns.times),
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

fn packet_text(packet: AnyPacket<'_>, out: &mut String) {
    use std::fmt::Write;
    let _ = write!(out, "{packet}");
}
