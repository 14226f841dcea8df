//! Packets: one row each.

use std::mem;

use tracewright::base::{Batch, Element};
use tracewright::decode::listener::each_part;
use tracewright::decode::{Event, Fork, Listener, Merge, Session, Size, Tally, Wants};
use tracewright::protocols::PacketKind;

use super::common::infos;
use super::{Definition, Division, Input, WINDOW};
use crate::arrays::column;
use crate::output::{Batches, Column, Output, choose};
use crate::query::TableError;
use crate::read::{self, Begin, Receive};
use crate::rows::{Numbering, Place, Selection, Shared};

pub(super) const TABLE: Definition = Definition {
    name: "packets",
    about: "packets, and undecodable bytes between them",
    columns: || infos(columns()),
    by: WINDOW,
    division: Division::Buffers,
    read,
};

/// A packet or undecodable bytes, or the number of elements and of instructions that followed, and
/// the last timestamp.
#[derive(Clone, Debug)]
enum What {
    Packet { kind: PacketKind, bytes: Vec<u8>, text: String },
    Undecodable { len: u32, text: String },
    Elements { elements: u64, instructions: u64, time: Option<u64> },
}

#[derive(Clone, Debug, Default)]
struct Waiting {
    packets: Vec<(u32, u64, What)>,
    bytes: usize,
    /// The texts of packets are wanted.
    texts: bool,
}

impl Waiting {
    fn put(&mut self, source: usize, at: u64, what: What) {
        self.bytes += size_of::<(u32, u64, What)>();
        match &what {
            What::Packet { bytes, text, .. } => self.bytes += bytes.len() + text.len(),
            What::Undecodable { text, .. } => self.bytes += text.len(),
            What::Elements { .. } => {}
        }
        self.packets.push((source as u32, at, what));
    }

    fn count(&mut self, source: usize, more: (u64, u64), ticks: Option<u64>) {
        if let Some((last, _, What::Elements { elements, instructions, time })) =
            self.packets.last_mut()
            && *last as usize == source
        {
            *elements = elements.saturating_add(more.0);
            *instructions = instructions.saturating_add(more.1);
            *time = ticks.or(*time);
            return;
        }
        let (elements, instructions) = more;
        self.put(source, 0, What::Elements { elements, instructions, time: ticks });
    }
}

impl Listener for Waiting {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        if let Element::Undecodable { len, fault } = element {
            let text = if self.texts { fault.to_string() } else { String::new() };
            self.put(source, at, What::Undecodable { len, text });
        }
        let instructions = match &element {
            Element::Range(range) => range.instructions.into(),
            _ => 0,
        };
        self.count(source, (1, instructions), element.ticks());
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        each_part(self, batch, |waiting, turns| {
            let ranges = turns.ranges.iter().map(|range| u64::from(range.instructions));
            let elements = turns.times.saturating_mul(turns.ranges.len() as u64);
            let instructions = ranges.sum::<u64>().saturating_mul(turns.times);
            waiting.count(batch.source, (elements, instructions), None);
        });
    }

    fn event(&mut self, event: &Event<'_>) {
        if let Event::Packet { source, bytes, packet } = event {
            let text = if self.texts { packet.to_string() } else { String::new() };
            let (at, bytes) = (bytes.at(), bytes.get().to_vec());
            self.put(*source, at, What::Packet { kind: packet.kind(), bytes, text });
        }
    }

    fn wants(&self) -> Wants {
        Wants::EACH_PACKET
    }
}

impl Fork for Waiting {
    type State = ();
    type Output = Vec<(u32, u64, What)>;

    fn fork(&self) -> Self {
        Waiting { texts: self.texts, ..Waiting::default() }
    }

    fn state(&self) {}

    fn resume(&mut self, (): ()) {
        self.packets.clear();
        self.bytes = 0;
    }

    fn take(&mut self) -> Self::Output {
        self.bytes = 0;
        mem::take(&mut self.packets)
    }

    fn size(&self) -> Size {
        Size::of(self.bytes)
    }
}

/// A packet.
struct Row {
    buffer: u32,
    source: u32,
    offset: u64,
    time: Option<u64>,
    /// `None`: undecodable.
    kind: Option<PacketKind>,
    size: u32,
    bytes: Option<Vec<u8>>,
    text: String,
}

struct Buffer<'x, 'a, 'b> {
    selection: &'x Selection,
    output: &'x mut Output<'a, 'b, Row>,
    shared: &'x mut Shared,
    numbering: Numbering,
    wants_more: bool,
}

/// The kind, the size, the bytes and the text of a packet.
type Parts = (Option<PacketKind>, u32, Option<Vec<u8>>, String);

impl Buffer<'_, '_, '_> {
    fn put(&mut self, n: usize, offset: u64, (kind, size, bytes, text): Parts) {
        let place = self.numbering.place(self.shared, n, offset, &Element::Trigger);
        if self.selection.has_place(&place, 0) {
            let Place { buffer, source, time, .. } = place;
            let row = Row { buffer, source, offset, time, kind, size, bytes, text };
            self.wants_more = self.output.push(self.shared, row);
        }
    }
}

impl Receive<Vec<(u32, u64, What)>> for Buffer<'_, '_, '_> {
    fn begin(&mut self, begin: Begin, session: &Session) {
        self.numbering.begin(self.shared, &begin, session);
    }

    fn output(&mut self, output: Vec<(u32, u64, What)>) -> bool {
        for (n, at, what) in output {
            if !self.wants_more {
                break;
            }
            let n = n as usize;
            match what {
                What::Elements { elements, instructions, time } => {
                    let numbering = &mut self.numbering;
                    numbering.elements = numbering.elements.saturating_add(elements);
                    numbering.instructions = numbering.instructions.saturating_add(instructions);
                    if let (Some(time), Some(state)) = (time, numbering.states.get_mut(n)) {
                        state.time = Some(time);
                    }
                }
                What::Packet { kind, bytes, text } => {
                    let size = bytes.len() as u32;
                    self.put(n, at, (Some(kind), size, Some(bytes), text));
                }
                What::Undecodable { len, text } => self.put(n, at, (None, len, None, text)),
            }
            let numbering = &self.numbering;
            self.wants_more &= !self.selection.is_over(numbering.elements, numbering.instructions);
        }
        self.wants_more
    }
}

fn read(input: &Input<'_>, batches: &mut Batches<'_>) -> Result<Tally, TableError> {
    let Input { trace, query, index, .. } = *input;
    let selection = Selection::new(query, trace)?;
    let mut output = Output::new(choose(columns(), input.columns), batches);
    let mut shared = Shared::new(trace);
    let (mut tally, mut first) = (Tally::default(), 0);
    for plan in trace.plans() {
        if query.has_buffer(plan.buffer) && !output.full() {
            let listener = Waiting { texts: input.wants(&["text"]), ..Waiting::default() };
            let mut buffer = Buffer {
                selection: &selection,
                output: &mut output,
                shared: &mut shared,
                numbering: Numbering::new(plan, first),
                wants_more: true,
            };
            tally.merge(read::buffer(trace, plan, (query, index), listener, &mut buffer)?);
            output.flush(&mut shared);
        }
        first += plan.sources.len();
    }
    Ok(tally)
}

fn columns() -> Vec<Column<Row>> {
    type Own = Row;
    vec![
        column!(U32 "buffer" ! "number of the buffer", |_, r| r.buffer),
        column!(Name(source_names) "source" ! "name of the trace source",
            |s, r| s.source_key(r.source)),
        column!(U64 "offset" ! "offset in the buffer", |_, r| r.offset),
        column!(U64 "time" ? "last timestamp of the source before it, in ticks", |_, r| r.time),
        column!(Name(words) "kind" ! "name of the packet in its protocol",
        |s, r| Some({
            let kind = r.kind.as_ref().map_or("undecodable", PacketKind::as_str);
            s.words.number(kind)
        })),
        column!(U32 "size" ! "bytes, without those of the link; of an STM, half bytes",
            |_, r| r.size),
        column!(Bytes "bytes" ? "the bytes; of an STM, a half byte each; null where they are undecodable",
            |_, r| r.bytes.as_ref()),
        column!(Text "text" ? "the packet, for people", |_, r| Some(&r.text)).on_request(),
    ]
}
