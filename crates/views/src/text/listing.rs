//! The text listing: a line for each packet and element.

use std::fmt::Write;
use std::io;

use tracewright_base::{Custom, Element, Range};

use super::colour::Tone;
use super::element::{element, plain_range};
use crate::digits::{ShortText, decimal};
use crate::lister::{Form, LineOrigin, ListedPacket, Lister, Lists};
use crate::loop_turns::{KIND, LoopTurns};
use crate::ports::Line;
use crate::range_limit;
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
pub type Listing<W> = Lister<Columns, W>;

/// The form of a listing in columns.
#[derive(Clone, Debug)]
pub struct Columns {
    shown: Shown,
    /// The width of offsets.
    digits: usize,
    /// The column after the offset, by source, also as a short text where it is short.
    names: Vec<(String, Option<ShortText>)>,
    /// The beginning of the last line: offset, and its column where that is short.
    offset: (u64, Option<ShortText>),
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
        let (names, offset, tails) = (names.collect(), (u64::MAX, None), RangeTails::default());
        Lister::of(out, sources, Columns { shown, digits, names, offset, tails })
    }

    /// Writes the lines that wait.
    ///
    /// # Errors
    /// The first error of the writer.
    pub fn finish(self) -> io::Result<()> {
        self.lines.finish()
    }
}

impl Columns {
    /// Begins a line with offset and name.
    #[inline]
    fn begin(&mut self, to: LineOrigin<'_>, out: &mut String) {
        if self.offset.0 != to.at {
            self.offset = (to.at, self.short_offset(to.at));
        }
        match self.offset.1 {
            Some(text) => text.put(out),
            None => self.long_offset(to.at, out),
        }
        match self.names.get(to.n) {
            Some((_, Some(text))) => text.put(out),
            Some((text, None)) => out.push_str(text),
            None => out.push_str("  "),
        }
    }

    /// The column of the offset, if it is short and has no colour.
    #[inline]
    fn short_offset(&self, at: u64) -> Option<ShortText> {
        let text = ShortText::decimal(at).filter(|_| !self.shown.colour)?;
        let spaces = "        ".get(..self.digits.saturating_sub(text.len()))?;
        Some(ShortText::of(spaces)?.then(text))
    }

    fn long_offset(&self, at: u64, out: &mut String) {
        let start = out.len();
        let wide = at.checked_ilog10().unwrap_or(0) as usize + 1;
        (wide..self.digits).for_each(|_| out.push(' '));
        decimal(at, out);
        if self.shown.colour {
            Tone::Quiet.paint(start, out);
        }
    }

    /// Ends a line whose text begins at `start`.
    fn end(&self, tone: Tone, start: usize, out: &mut String) {
        if self.shown.colour {
            tone.paint(start, out);
        }
        out.push('\n');
    }

    /// The fields of a packet: first bit, width, name, value.
    fn field_lines(&mut self, to: LineOrigin<'_>, packet: &ListedPacket<'_>, out: &mut String) {
        // The values of a packet are aligned.
        let longest = packet.fields.iter().map(|field| field.name.len()).fold(14, usize::max);
        for field in &packet.fields {
            self.begin(to, out);
            let _ = write!(
                out,
                "  {:>3} +{:<2} {:<longest$} {:#x}",
                field.at, field.width, field.name, field.value
            );
            if field.sent < field.width {
                let _ = write!(out, ", {} bits sent", field.sent);
            }
            out.push('\n');
        }
    }
}

impl Form for Columns {
    fn lists(&self) -> Lists {
        let Shown { packets, fields, elements, .. } = self.shown;
        Lists { packets, fields, elements }
    }

    fn fork(&self) -> Self {
        let Columns { shown, digits, ref names, .. } = *self;
        let (names, offset, tails) = (names.clone(), (u64::MAX, None), RangeTails::default());
        Columns { shown, digits, names, offset, tails }
    }

    fn element(&mut self, to: LineOrigin<'_>, what: &Element, out: &mut String) {
        self.begin(to, out);
        let start = out.len();
        element(to.source, what, out);
        self.end(Tone::of(what), start, out);
    }

    fn custom(&mut self, to: LineOrigin<'_>, custom: Custom, bytes: &[u8], out: &mut String) {
        self.begin(to, out);
        let (start, what) = (out.len(), Element::Custom(custom));
        element(to.source, &what, out);
        // A line has room for this many; JSON has all.
        for byte in bytes.iter().take(16) {
            let _ = write!(out, " {byte:02x}");
        }
        out.push_str(if bytes.len() > 16 { " .." } else { "" });
        self.end(Tone::of(&what), start, out);
    }

    #[inline]
    fn range(
        &mut self,
        to: LineOrigin<'_>,
        range: Range,
        cache: &mut RenderCache,
        out: &mut String,
    ) {
        self.begin(to, out);
        if !self.shown.colour && !to.source.describes_addresses() {
            plain_range(&range, &mut self.tails, out);
            return out.push('\n');
        }
        cache.put((to.n, range), out, |out| {
            let (start, what) = (out.len(), Element::Range(range));
            element(to.source, &what, out);
            self.end(Tone::of(&what), start, out);
        });
    }

    fn link_event(&mut self, at: u64, kind: &str, value: Option<u8>, out: &mut String) {
        self.long_offset(at, out);
        let start = out.len();
        let _ = write!(out, "  link  {kind:<10} of the trace link");
        if let Some(value) = value {
            let _ = write!(out, ", value {value:#04x}");
        }
        self.end(Tone::Event, start, out);
    }

    fn turns(&mut self, to: LineOrigin<'_>, turns: LoopTurns<'_>, out: &mut String) {
        self.begin(to, out);
        let start = out.len();
        let _ = write!(out, "{KIND:<10} {turns}");
        self.end(Tone::Lost, start, out);
    }

    fn unlisted(&mut self, to: LineOrigin<'_>, out: &mut String) {
        self.begin(to, out);
        let start = out.len();
        let _ = write!(out, "{:<10} {}", range_limit::KIND, range_limit::TEXT);
        self.end(Tone::Lost, start, out);
    }

    fn text(&mut self, to: LineOrigin<'_>, line: &Line, out: &mut String) {
        self.begin(to, out);
        let start = out.len();
        let _ = write!(out, "text       {} \"{}\"", line.channel, line.text.escape_ascii());
        self.end(Tone::Output, start, out);
    }

    fn packet(&mut self, to: LineOrigin<'_>, packet: &ListedPacket<'_>, out: &mut String) {
        self.begin(to, out);
        let start = out.len();
        if self.shown.elements {
            out.push_str("packet     ");
        }
        if self.shown.bytes {
            let begin = out.len();
            to.source.packet_bytes(packet.bytes, " ", out);
            // The text after the bytes of short packets is aligned.
            let len = out.len() - begin;
            out.extend(std::iter::repeat_n(' ', 24usize.saturating_sub(len)));
        }
        let before = out.len();
        let _ = write!(out, "{}", packet.packet);
        if let Some(made) = packet.made {
            let mut address = String::new();
            made.write(&mut address);
            // A whole address is in the text of its packet.
            if !out.get(before..).is_some_and(|text| text.contains(&address)) {
                out.push_str(" = ");
                out.push_str(&address);
            }
        }
        if let Some(interpretation) = &packet.interpretation {
            // The interpretation of cycles is aligned.
            let pad = 11usize.saturating_sub(out.len() - before);
            out.extend(std::iter::repeat_n(' ', pad));
            out.push_str(interpretation);
        }
        if self.shown.colour && self.shown.elements {
            Tone::Quiet.paint(start, out);
        }
        out.push('\n');
        if self.shown.fields {
            self.field_lines(to, packet, out);
        }
    }
}
