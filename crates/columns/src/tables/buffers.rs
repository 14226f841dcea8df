//! What is in a capture: buffers, sources, program memory, and what is missing.

use tracewright::capture::{Kind, Queue};
use tracewright::decode::{Tally, memory};
use tracewright::views::explain::plan_framing;

use super::common::{infos, write};
use super::{By, Definition, Division, Input};
use crate::arrays::column;
use crate::output::{Batches, Column};
use crate::query::TableError;
use crate::rows::conversion;

pub(super) const CAPTURES: Definition = Definition {
    name: "captures",
    about: "the capture",
    columns: || infos(capture_columns()),
    by: &[],
    division: Division::Captures,
    read: read_capture,
};

pub(super) const TABLE: Definition = Definition {
    name: "buffers",
    about: "trace buffers of the capture",
    columns: || infos(buffer_columns()),
    by: &[],
    division: Division::Captures,
    read: read_buffers,
};

pub(super) const SOURCES: Definition = Definition {
    name: "sources",
    about: "trace sources that can be decoded",
    columns: || infos(source_columns()),
    by: &[By::Source],
    division: Division::Captures,
    read: read_sources,
};

pub(super) const IMAGES: Definition = Definition {
    name: "images",
    about: "program files and dumps of memory",
    columns: || infos(image_columns()),
    by: &[],
    division: Division::Captures,
    read: read_images,
};

pub(super) const MISSING: Definition = Definition {
    name: "missing",
    about: "sources that cannot be decoded, and what was odd in the files of the capture",
    columns: || infos(missing_columns()),
    by: &[],
    division: Division::Captures,
    read: read_missing,
};

const CAPTURE_KINDS: &[&str] = &["memory", "snapshot", "folder", "raw", "perf"];

struct CaptureRow {
    name: String,
    kind: &'static str,
    description: Option<String>,
    counts: [u32; 2],
    bytes: Option<u64>,
    is_complete: bool,
}

fn read_capture(input: &Input<'_>, batches: &mut Batches<'_>) -> Result<Tally, TableError> {
    let capture = input.trace.capture();
    let row = CaptureRow {
        name: super::capture_name(input.trace),
        kind: match capture.kind {
            Kind::Memory => "memory",
            Kind::Snapshot => "snapshot",
            Kind::Folder => "folder",
            Kind::Raw => "raw",
            Kind::Perf => "perf",
        },
        description: capture.description.clone(),
        counts: [capture.buffers.len() as u32, input.trace.sources().len() as u32],
        bytes: capture.buffers.iter().map(|buffer| buffer.size()).sum(),
        is_complete: input.trace.left_out().is_empty() && capture.notes.is_empty(),
    };
    write(input, capture_columns(), [row], batches);
    Ok(Tally::default())
}

fn capture_columns() -> Vec<Column<CaptureRow>> {
    type Own = CaptureRow;
    vec![
        column!(Text "capture" ! "name of its file or folder", |_, r| r.name.as_str()),
        column!(Kind(CAPTURE_KINDS) "kind" ! "its format", |_, r| Some(r.kind)),
        column!(Text "description" ? "its description", |_, r| r.description.as_deref()),
        column!(U32 "buffers" ! "trace buffers", |_, r| r.counts[0]),
        column!(U32 "sources" ! "sources that can be decoded", |_, r| r.counts[1]),
        column!(U64 "bytes" ? "bytes of all buffers; null of a pipe", |_, r| r.bytes),
        column!(Bool "complete" ! "table `missing` is empty", |_, r| r.is_complete),
    ]
}

struct BufferRow {
    number: u32,
    name: String,
    bytes: Option<u64>,
    framing: Option<&'static str>,
    format: String,
    sink: Option<String>,
    is_complete: Option<bool>,
    cpu: Option<u32>,
    tid: Option<u32>,
}

fn read_buffers(input: &Input<'_>, batches: &mut Batches<'_>) -> Result<Tally, TableError> {
    let capture = input.trace.capture();
    let rows = capture.buffers.iter().enumerate().map(|(n, buffer)| {
        let plan = input.trace.plans().iter().find(|plan| plan.buffer == n);
        let part = capture.linux.as_deref().and_then(|linux| linux.parts.get(n));
        BufferRow {
            number: n as u32,
            name: buffer.name.clone(),
            bytes: buffer.size(),
            framing: plan.map(plan_framing),
            format: buffer.format.to_string(),
            sink: buffer.sink.as_ref().and_then(|sink| sink.device.clone()),
            is_complete: part.map(|part| !part.lost),
            cpu: part.and_then(|part| part.cpu),
            tid: part.and_then(|part| match part.queue {
                Queue::Thread(tid) => Some(tid),
                Queue::Cpu(_) => part.thread,
            }),
        }
    });
    write(input, buffer_columns(), rows, batches);
    Ok(Tally::default())
}

fn buffer_columns() -> Vec<Column<BufferRow>> {
    type Own = BufferRow;
    vec![
        column!(U32 "buffer" ! "number of the buffer", |_, r| r.number),
        column!(Text "name" ! "its name", |_, r| r.name.as_str()),
        column!(U64 "bytes" ? "its size; null of a pipe", |_, r| r.bytes),
        column!(Name(words) "framing" ? "framing of the trace link",
            |s, r| r.framing.map(|text| s.words.number(text))),
        column!(Name(words) "format" ! "format, as the capture spells it",
            |s, r| Some(s.words.number(&r.format))),
        column!(Text "sink" ? "device whose registers order its bytes", |_, r| r.sink.as_deref()),
        column!(Bool "complete" ? "nothing was lost, as far as the recording states it",
            |_, r| r.is_complete),
        column!(U32 "cpu" ? "processor of Linux", |_, r| r.cpu),
        column!(U32 "tid" ? "thread that ran, where it is known", |_, r| r.tid),
    ]
}

struct SourceRow {
    id: u32,
    name: String,
    protocol: &'static str,
    trace_id: Option<u16>,
    core: Option<String>,
    core_type: Option<String>,
    cpu: Option<u32>,
    buffer: u32,
    timestamps: Option<bool>,
    cycles: Option<bool>,
    clock: Option<f64>,
}

fn read_sources(input: &Input<'_>, batches: &mut Batches<'_>) -> Result<Tally, TableError> {
    let (trace, capture) = (input.trace, input.trace.capture());
    let clock = conversion(trace).filter(|own| own.multiplier > 0).map(|own| {
        // A tick takes multiplier / 2^shift nanoseconds.
        1e9 * 2_f64.powi(own.shift.min(63) as i32) / own.multiplier as f64
    });
    let mut rows = Vec::new();
    for (number, plan) in trace.plans().iter().enumerate() {
        for (planned, source) in plan.sources.iter().zip(trace.sources_of(number)) {
            let own = capture.sources.get(planned.source);
            let core = own.and_then(|own| capture.core(own));
            let bit = |names: [(&str, u64); 2]| {
                let set = |(name, mask): &(&str, u64)| Some(own?.register(name)? & mask != 0);
                names.iter().find_map(set)
            };
            let id = rows.len() as u32;
            rows.push(SourceRow {
                id,
                name: source.name.clone(),
                protocol: source.protocol(),
                trace_id: source.id,
                core: core.map(|core| core.name.clone()),
                core_type: core.map(|core| core.device_type.clone()),
                cpu: capture.linux.as_deref().and_then(|l| l.cpus.get(planned.source).copied()),
                buffer: plan.buffer as u32,
                // TRCCONFIGR.TS, ETMCR[28]; TRCCONFIGR.CCI, ETMCR[12].
                timestamps: bit([("TRCCONFIGR", 1 << 11), ("ETMCR", 1 << 28)]),
                cycles: bit([("TRCCONFIGR", 1 << 4), ("ETMCR", 1 << 12)]),
                clock,
            });
        }
    }
    rows.retain(|row| input.query.has_source(&row.name));
    write(input, source_columns(), rows, batches);
    Ok(Tally::default())
}

fn source_columns() -> Vec<Column<SourceRow>> {
    type Own = SourceRow;
    vec![
        column!(U32 "source_id" ! "number of the source", |_, r| r.id),
        column!(Name(source_names) "source" ! "name of the source",
            |s, r| Some(s.source_names.number(&r.name))),
        column!(Name(words) "protocol" ! "trace protocol", |s, r| Some(s.words.number(r.protocol))),
        column!(U16 "trace_id" ? "trace ID, or number in messages", |_, r| r.trace_id),
        column!(Text "core" ? "name of its core", |_, r| r.core.as_deref()),
        column!(Text "core_type" ? "type of its core", |_, r| r.core_type.as_deref()),
        column!(U32 "cpu" ? "processor of Linux", |_, r| r.cpu),
        column!(U32 "buffer" ! "number of the buffer that it writes to", |_, r| r.buffer),
        column!(Bool "has_timestamps" ? "its registers enable timestamps", |_, r| r.timestamps),
        column!(Bool "has_cycles" ? "its registers enable cycle counts", |_, r| r.cycles),
        column!(F64 "clock_hz" ? "timestamp ticks a second, where they are known", |_, r| r.clock),
    ]
}

struct ImageRow {
    image: u32,
    path: String,
    build_id: Option<Vec<u8>>,
    segment: Option<(u64, u64, u64)>,
    found: bool,
}

fn read_images(input: &Input<'_>, batches: &mut Batches<'_>) -> Result<Tally, TableError> {
    let mut rows = Vec::new();
    for (n, file) in memory::modules(input.trace.capture()).into_iter().enumerate() {
        let found = file.found.is_some() || file.content.is_some();
        let row = |segment| ImageRow {
            image: n as u32,
            path: file.path.clone(),
            build_id: file.build_id.clone(),
            segment,
            found,
        };
        let of = |own: &tracewright::image::Segment| {
            let size = own.file_size.max(own.memory_size);
            row(Some((own.address, own.address.saturating_add(size), own.offset)))
        };
        match file.segments.is_empty() {
            true => rows.push(row(None)),
            false => rows.extend(file.segments.iter().map(of)),
        }
    }
    write(input, image_columns(), rows, batches);
    Ok(Tally::default())
}

fn image_columns() -> Vec<Column<ImageRow>> {
    type Own = ImageRow;
    vec![
        column!(U32 "image" ! "number of the file", |_, r| r.image),
        column!(Text "path" ! "its path, as the capture records it", |_, r| r.path.as_str()),
        column!(Bytes "build_id" ? "its build identifier", |_, r| r.build_id.as_deref()),
        column!(Hex "start" ? "first address of a loaded part, in the file",
            |_, r| r.segment.map(|own| own.0)),
        column!(Hex "end" ? "after its last address", |_, r| r.segment.map(|own| own.1)),
        column!(U64 "file_offset" ? "offset of the part in the file",
            |_, r| r.segment.map(|own| own.2)),
        column!(Bool "found" ! "the file was read", |_, r| r.found),
    ]
}

const MISSING_KINDS: &[&str] = &["source", "note"];

struct MissingRow {
    kind: &'static str,
    source: Option<String>,
    text: String,
}

fn read_missing(input: &Input<'_>, batches: &mut Batches<'_>) -> Result<Tally, TableError> {
    let left_out = input.trace.left_out().into_iter().map(|skipped| MissingRow {
        kind: "source",
        source: Some(skipped.name),
        text: skipped.message,
    });
    let notes = input.trace.capture().notes.iter();
    let notes = notes.map(|note| MissingRow { kind: "note", source: None, text: note.to_string() });
    let rows: Vec<MissingRow> = left_out.chain(notes).collect();
    write(input, missing_columns(), rows, batches);
    Ok(Tally::default())
}

fn missing_columns() -> Vec<Column<MissingRow>> {
    type Own = MissingRow;
    vec![
        column!(Kind(MISSING_KINDS) "kind" ! "a source that is left out, or a note",
            |_, r| Some(r.kind)),
        column!(Text "source" ? "name of the source", |_, r| r.source.as_deref()),
        column!(Text "text" ! "what is missing, and what to do", |_, r| r.text.as_str()),
    ]
}
