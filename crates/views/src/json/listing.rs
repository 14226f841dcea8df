//! Packets and elements as JSON Lines.

use std::io;
use std::ops::Range;

use tracewright_base::{Element, Places};
use tracewright_decode::{Listener, Plan, Tally};
use tracewright_protocols::registry::AnyPacket;

use super::{Object, element};
use crate::{Lines, Source, Stats};

/// What is listed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shown {
    /// Packets.
    pub packets: bool,
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
    /// The beginnings of lines: what is the same for all packets and all elements of a source.
    heads: Vec<String>,
}

impl<W: io::Write> Listing<W> {
    /// A listing of `sources` of a buffer called `buffer`, which has `len` bytes.
    pub fn new(
        out: W,
        plan: &Plan,
        sources: Vec<Source>,
        buffer: &str,
        len: u64,
        shown: Shown,
    ) -> Self {
        let mut lines = Lines::new(out);
        Object::new(&mut lines.text)
            .text("type", "buffer")
            .text("name", buffer)
            .number("bytes", len)
            .text("framing", plan.framing.name())
            .list("sources", &sources, |source, out| {
                Object::new(out)
                    .text("name", &source.name)
                    .text("protocol", source.protocol())
                    .maybe_number("id", source.id.map(u64::from))
                    .end();
            })
            .end();
        lines.end();
        let heads = sources.iter().map(|source| {
            let mut text = String::new();
            Object::new(&mut text).text("source", &source.name).end();
            text.trim_matches(['{', '}']).to_owned()
        });
        let heads = heads.collect();
        Listing { lines, shown, sources, buffer: buffer.to_owned(), heads }
    }

    /// Writes the summary and what is left.
    ///
    /// # Errors
    /// The first error of the writer.
    pub fn finish(mut self, tally: &Tally, stats: Option<&Stats>) -> io::Result<()> {
        let out = &mut self.lines.text;
        let o = Object::new(out).text("type", "summary").text("buffer", &self.buffer);
        let sources = self.sources.iter().enumerate();
        let o = o.list("sources", sources, |(n, source), out| {
            let c = tally.of(n);
            let o = Object::new(out)
                .text("name", &source.name)
                .number("bytes", c.bytes())
                .number("unsynchronised_bytes", c.unsynced)
                .number("bad_bytes", c.bad)
                .number("packets", c.packets)
                .number("syncs", c.syncs)
                .number("elements", c.elements)
                .number("ranges", c.ranges)
                .number("instructions", c.instructions)
                .number("exceptions", c.exceptions)
                .number("software", c.software)
                .number("accesses", c.accesses)
                .number("no_code", c.no_code)
                .maybe_hex("first_no_code", c.first_no_code)
                .number("gaps", c.gaps)
                .number("doubts", c.doubts);
            match stats {
                Some(stats) => stats.fields(n, o),
                None => o,
            }
            .end();
        });
        let o = o.list("other_ids", &tally.strangers, |&(id, bytes), out| {
            Object::new(out).number("id", id.into()).number("bytes", bytes).end();
        });
        o.number("padding_bytes", tally.padding)
            .number("bad_frame_bytes", tally.bad_frames)
            .number("no_id_bytes", tally.no_source)
            .flag("flawed", tally.flawed())
            .end();
        self.lines.end();
        self.lines.finish()
    }
}

impl<W: io::Write> Listener for Listing<W> {
    fn element(&mut self, n: usize, at: u64, what: Element) {
        let bad = matches!(what, Element::Bad { .. });
        if !self.shown.elements && !bad {
            return;
        }
        let (Some(source), Some(head)) = (self.sources.get(n), self.heads.get(n)) else { return };
        let out = &mut self.lines.text;
        out.push_str("{\"type\":\"element\",");
        out.push_str(head);
        let o = Object::more(out).number("at", at).text("kind", what.kind());
        element::fields(source, &what, o).end();
        self.lines.end();
    }

    fn packet(
        &mut self,
        n: usize,
        places: &Places<'_>,
        span: Range<usize>,
        bytes: &[u8],
        packet: AnyPacket<'_>,
    ) {
        if !self.shown.packets {
            return;
        }
        let (Some(source), Some(head)) = (self.sources.get(n), self.heads.get(n)) else { return };
        let out = &mut self.lines.text;
        out.push_str("{\"type\":\"packet\",");
        out.push_str(head);
        Object::more(out)
            .number("at", places.at(span.start))
            .text("kind", packet.kind().as_str())
            .value("bytes", |out| {
                out.push('"');
                source.packet_bytes(bytes.get(span).unwrap_or_default(), "", out);
                out.push('"');
            })
            .text("text", &packet.to_string())
            .end();
        self.lines.end();
    }

    fn full(&self) -> bool {
        self.lines.broken()
    }
}
