//! JSON Lines: one object a line. `docs/json.md` is the schema.

pub(crate) mod element;
mod listing;

use tracewright_decode::{Plan, Tally};

use crate::explain::plan_framing;
use crate::loop_turns::{KIND, LoopTurns};
use crate::sources::Source;
use crate::stats::Stats;

pub use crate::json_object as object;
pub use crate::json_object::Object;
pub(crate) use element::compared;
pub use element::{last_name, role_name};
pub use listing::{Listing, Shown};

/// The version of the schema. It rises when a field is renamed, is removed or changes its meaning.
/// New fields, kinds and types of lines do not raise it.
pub const VERSION: u32 = 2;

/// The first line of the output of `verb`.
pub fn head(verb: &str) -> String {
    let mut text = String::new();
    Object::new(&mut text)
        .text("schema", "tracewright")
        .number("version", VERSION.into())
        .text("verb", verb)
        .end();
    text.push('\n');
    text
}

/// The line that precedes the content of the buffer called `name`, of `len` bytes where that is
/// known.
pub fn buffer(plan: &Plan, sources: &[Source], name: &str, len: Option<u64>) -> String {
    let mut text = String::new();
    Object::new(&mut text)
        .text("type", "buffer")
        .text("name", name)
        .maybe_number("bytes", len)
        .text("framing", plan_framing(plan))
        .list("sources", sources, |source, out| {
            Object::new(out)
                .text("name", &source.name)
                .text("protocol", source.protocol())
                .maybe_number("id", source.id.map(u64::from))
                .end();
        })
        .end();
    text.push('\n');
    text
}

/// Appends the object that stands for turns of a loop that are not listed.
pub(crate) fn loop_turns(source: &str, at: u64, what: LoopTurns<'_>, out: &mut String) {
    Object::new(out)
        .text("type", "element")
        .text("source", source)
        .number("offset", at)
        .text("kind", KIND)
        .hex("start", what.start())
        .number("turns", what.turns)
        .number("ranges", what.ranges.len() as u64)
        .number("instructions", what.instructions())
        .end();
}

/// `count`; `None` for 0.
fn more_than_none(count: u64) -> Option<u64> {
    (count > 0).then_some(count)
}

/// The line that follows the content of a buffer: counts.
pub fn summary(sources: &[Source], buffer: &str, tally: &Tally, stats: Option<&Stats>) -> String {
    let mut text = String::new();
    let o = Object::new(&mut text).text("type", "summary").text("buffer", buffer);
    let o = o.list("sources", sources.iter().enumerate(), |(n, source), out| {
        let c = tally.of(n);
        let o = Object::new(out)
            .text("name", &source.name)
            .number("bytes", c.bytes())
            .number("unsynchronised_bytes", c.unsynchronised)
            .number("undecodable_bytes", c.undecodable)
            .number("packets", c.packets)
            .number("syncs", c.syncs)
            .number("elements", c.elements)
            .number("ranges", c.ranges)
            .number("instructions", c.instructions)
            .maybe_number("unknown_instructions", more_than_none(c.unknown_instructions))
            .number("exceptions", c.exceptions)
            .number("software_writes", c.software_writes)
            .number("dwt_events", c.dwt_events)
            .number("data_accesses", c.data_accesses)
            .number("no_code", c.no_code)
            .maybe_hex("first_no_code", c.first_no_code)
            .number("gaps", c.gaps)
            .number("ambiguities", c.ambiguities)
            .number("inconsistencies", c.inconsistencies);
        match stats {
            Some(stats) => stats.fields(n, o),
            None => o,
        }
        .end();
    });
    o.list("unknown_ids", &tally.unknown_ids, |(id, bytes), out| {
        Object::new(out).number("id", u64::from(*id)).number("bytes", *bytes).end();
    })
    .number("padding_bytes", tally.padding)
    .number("undecodable_frame_bytes", tally.bad_frames)
    .number("no_id_bytes", tally.no_source)
    .flag("has_errors", tally.flawed())
    .end();
    text.push('\n');
    text
}
