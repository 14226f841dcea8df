//! The segments of an index: where and when, without decoding.

use tracewright::decode::Tally;
use tracewright::index::{IndexedBuffer, Segment};

use super::common::{infos, write};
use super::{Definition, Division, Input};
use crate::arrays::column;
use crate::output::{Batches, Column};
use crate::query::TableError;

pub(super) const TABLE: Definition = Definition {
    name: "segments",
    about: "segments of an index, each with what it has of a source",
    columns: || infos(columns()),
    by: &[],
    division: Division::Captures,
    read,
};

/// What a segment has of a source.
struct Part {
    buffer: u32,
    segment: u32,
    begin: u64,
    len: u64,
    source: String,
    /// Elements, instructions, synchronisations.
    counts: [u64; 3],
    /// The first, last, least and greatest timestamp.
    times: Option<[u64; 4]>,
    restart: Option<(u64, u64)>,
}

fn parts(index: &IndexedBuffer, rows: &mut Vec<Part>) {
    let mut begin = 0;
    for (n, segment) in index.summaries().enumerate() {
        let Segment { len, restarts, streams, .. } = &*segment;
        rows.extend(streams.iter().map(|stream| {
            let restart = restarts.iter().find(|own| own.source == stream.source);
            let source = index.sources().get(usize::from(stream.source));
            Part {
                buffer: index.number() as u32,
                segment: n as u32,
                begin,
                len: *len,
                source: source.map_or_else(String::new, |own| own.name.clone()),
                counts: [stream.elements, stream.instructions, stream.syncs],
                times: stream.times.map(|own| [own.first, own.last, own.min, own.max]),
                restart: restart.map(|own| (own.from, own.at)),
            }
        }));
        begin += len;
    }
}

fn read(input: &Input<'_>, batches: &mut Batches<'_>) -> Result<Tally, TableError> {
    let Some(index) = input.index else { return Err(TableError::NoIndex("segments".to_owned())) };
    let mut rows = Vec::new();
    index.buffers().iter().for_each(|own| parts(own, &mut rows));
    write(input, columns(), rows, batches);
    Ok(Tally::default())
}

fn columns() -> Vec<Column<Part>> {
    type Own = Part;
    vec![
        column!(U32 "buffer" ! "number of the buffer", |_, r| r.buffer),
        column!(U32 "segment" ! "number of the segment in its buffer", |_, r| r.segment),
        column!(U64 "begin" ! "offset in the buffer", |_, r| r.begin),
        column!(U64 "len" ! "bytes", |_, r| r.len),
        column!(Name(words) "source" ! "name of the trace source",
            |s, r| Some(s.words.number(&r.source))),
        column!(U64 "elements" ! "elements of the source", |_, r| r.counts[0]),
        column!(U64 "instructions" ! "executed instructions", |_, r| r.counts[1]),
        column!(U64 "syncs" ! "synchronisations", |_, r| r.counts[2]),
        column!(U64 "first_time" ? "first timestamp", |_, r| r.times.map(|own| own[0])),
        column!(U64 "last_time" ? "last timestamp", |_, r| r.times.map(|own| own[1])),
        column!(U64 "least_time" ? "least timestamp", |_, r| r.times.map(|own| own[2])),
        column!(U64 "greatest_time" ? "greatest timestamp", |_, r| r.times.map(|own| own[3])),
        column!(U64 "restart_from" ? "offset from which a decoder may restart",
            |_, r| r.restart.map(|own| own.0)),
        column!(U64 "restart_at" ? "offset from which it has the actual state",
            |_, r| r.restart.map(|own| own.1)),
    ]
}
