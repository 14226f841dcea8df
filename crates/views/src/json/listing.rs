//! Packets and elements as JSON Lines.

use std::io;

use tracewright_base::{Channel, Custom, Element, Range};
use tracewright_decode::{Plan, Tally};

use super::{Object, element};
use crate::digits::decimal;
use crate::interpretation::Made;
use crate::lister::{Form, LineOrigin, ListedPacket, Lister, Lists};
use crate::loop_turns::LoopTurns;
use crate::ports::Line;
use crate::range_limit;
use crate::range_tails::RangeTails;
use crate::render_cache::RenderCache;
use crate::sources::Source;
use crate::stats::Stats;

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
pub type Listing<W> = Lister<Objects, W>;

/// The form of a listing in JSON.
#[derive(Clone, Debug)]
pub struct Objects {
    shown: Shown,
    buffer: String,
    /// The field `source` of the lines of each source.
    heads: Vec<String>,
    /// Source and offset of the last range, and the beginning of its line.
    head: (usize, u64, String),
    /// The end of the text of ranges without names.
    tails: RangeTails,
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
        let head = super::buffer(plan, &sources, buffer, len);
        let heads = sources.iter().map(|source| {
            let mut text = String::new();
            Object::new(&mut text).text("source", &source.name).end();
            text.trim_matches(['{', '}']).to_owned()
        });
        let form = Objects {
            shown,
            buffer: buffer.to_owned(),
            heads: heads.collect(),
            head: (usize::MAX, 0, String::new()),
            tails: RangeTails::default(),
        };
        let mut listing = Lister::of(out, sources, form);
        listing.lines.text.push_str(&head);
        listing
    }

    /// Writes the summary and the lines that wait.
    ///
    /// # Errors
    /// The first error of the writer.
    pub fn finish(mut self, tally: &Tally, stats: Option<&Stats>) -> io::Result<()> {
        let summary = super::summary(&self.sources, &self.form.buffer, tally, stats);
        self.lines.text.push_str(&summary);
        self.lines.finish()
    }
}

impl Objects {
    /// Begins the object of a line of the kind `kind`.
    fn begin<'a>(&self, kind: &str, to: LineOrigin<'_>, out: &'a mut String) -> Object<'a> {
        out.push_str("{\"type\":\"");
        out.push_str(kind);
        out.push_str("\",");
        out.push_str(self.heads.get(to.n).map_or("", String::as_str));
        out.push_str(",\"offset\":");
        decimal(to.at, out);
        Object::more(out)
    }
}

/// The fields of an element after its offset, and the end of its line.
fn fields(source: &Source, what: &Element, o: Object<'_>) {
    element::fields(source, what, o.text("kind", what.kind())).line();
}

impl Form for Objects {
    fn lists(&self) -> Lists {
        let Shown { packets, fields, elements } = self.shown;
        Lists { packets, fields, elements }
    }

    fn fork(&self) -> Self {
        Objects { tails: RangeTails::default(), ..self.clone() }
    }

    fn element(&mut self, to: LineOrigin<'_>, what: &Element, out: &mut String) {
        fields(to.source, what, self.begin("element", to, out));
    }

    fn custom(&mut self, to: LineOrigin<'_>, custom: Custom, bytes: &[u8], out: &mut String) {
        let what = Element::Custom(custom);
        let o = self.begin("element", to, out).text("kind", what.kind());
        element::fields(to.source, &what, o).bytes("bytes", bytes).line();
    }

    fn range(
        &mut self,
        to: LineOrigin<'_>,
        range: Range,
        cache: &mut RenderCache,
        out: &mut String,
    ) {
        if (self.head.0, self.head.1) != (to.n, to.at) {
            let mut head = std::mem::take(&mut self.head.2);
            head.clear();
            self.begin("element", to, &mut head);
            self.head = (to.n, to.at, head);
        }
        out.push_str(&self.head.2);
        let tails = &mut self.tails;
        cache.put((to.n, range), out, |out| match to.source.describes_addresses() {
            true => fields(to.source, &Element::Range(range), Object::more(out)),
            false => element::plain_range(&range, tails, out),
        });
    }

    fn turns(&mut self, to: LineOrigin<'_>, turns: LoopTurns<'_>, out: &mut String) {
        super::loop_turns(&to.source.name, to.at, turns, out);
        out.push('\n');
    }

    fn link_event(&mut self, at: u64, kind: &str, value: Option<u8>, out: &mut String) {
        let o = Object::new(out).text("type", "event").number("offset", at);
        o.text("kind", kind).maybe_number("value", value.map(u64::from)).line();
    }

    fn unlisted(&mut self, to: LineOrigin<'_>, out: &mut String) {
        self.begin("element", to, out).text("kind", range_limit::KIND).line();
    }

    fn text(&mut self, to: LineOrigin<'_>, line: &Line, out: &mut String) {
        let o = self.begin("text", to, out);
        let o = match line.channel {
            Channel::Port { page, port } => {
                o.number("port", u64::from(page.unwrap_or(0)) * 32 + u64::from(port))
            }
            Channel::Master { master, channel } => o
                .maybe_number("master", master.map(u64::from))
                .maybe_number("channel", channel.map(u64::from)),
        };
        o.text("text", &String::from_utf8_lossy(&line.text)).line();
    }

    fn packet(&mut self, to: LineOrigin<'_>, packet: &ListedPacket<'_>, out: &mut String) {
        let ListedPacket { bytes, packet, made, interpretation, fields } = packet;
        let o = self
            .begin("packet", to, out)
            .text("kind", packet.kind().as_str())
            .value("bytes", |out| {
                out.push('"');
                to.source.packet_bytes(bytes, "", out);
                out.push('"');
            })
            .text("text", &packet.to_string())
            .maybe_text("interpretation", interpretation.as_deref())
            .maybe_hex("address", made.as_ref().and_then(Made::whole));
        let o = match fields.is_empty() {
            true => o,
            false => o.list("fields", fields, |field, out| {
                Object::new(out)
                    .text("name", field.name)
                    .number("at", field.at.into())
                    .number("width", field.width.into())
                    .number("sent", field.sent.into())
                    .hex("value", field.value)
                    .end();
            }),
        };
        o.line();
    }
}
