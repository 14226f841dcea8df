//! Counts of packets and elements by kind.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write;

use tracewright_base::{Batch, Element, Part};
use tracewright_decode::{Event, Listener, Merge, Packets, Wants};
use tracewright_protocols::PacketKind;

use crate::json_object::Object;
use crate::sources::Source;

/// Counts by kind, for each source.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    sources: Vec<Kinds>,
}

#[derive(Clone, Debug, Default)]
struct Kinds {
    /// The count of each kind, and the number of its bytes.
    packets: BTreeMap<PacketKind, (u64, u64)>,
    elements: BTreeMap<&'static str, u64>,
}

impl Stats {
    fn source(&mut self, n: usize) -> &mut Kinds {
        if n >= self.sources.len() {
            self.sources.resize(n + 1, Kinds::default());
        }
        &mut self.sources[n]
    }

    /// A table for each source, the most frequent kind first.
    pub fn table(&self, sources: &[Source]) -> String {
        let mut out = String::new();
        for (kinds, source) in self.sources.iter().zip(sources) {
            let _ = writeln!(out, "{}: packets", source.name);
            let mut packets: Vec<_> = kinds.packets.iter().collect();
            packets.sort_by_key(|(_, (count, _))| Reverse(*count));
            for (kind, (count, bytes)) in packets {
                let _ = writeln!(out, "  {kind:<24} {count:>12} {bytes:>14} bytes");
            }
            let _ = writeln!(out, "{}: elements", source.name);
            let mut elements: Vec<_> = kinds.elements.iter().collect();
            elements.sort_by_key(|(_, count)| Reverse(**count));
            for (kind, count) in elements {
                let _ = writeln!(out, "  {kind:<24} {count:>12}");
            }
        }
        out
    }

    /// Adds the counts of source `n`.
    pub(crate) fn fields<'a>(&self, n: usize, o: Object<'a>) -> Object<'a> {
        let Some(kinds) = self.sources.get(n) else { return o };
        o.value("packet_kinds", |out| {
            let o = Object::new(out);
            let packets = kinds.packets.iter();
            packets.fold(o, |o, (kind, (count, _))| o.number(kind.as_str(), *count)).end();
        })
        .value("element_kinds", |out| {
            let elements = kinds.elements.iter();
            elements.fold(Object::new(out), |o, (kind, count)| o.number(kind, *count)).end();
        })
    }
}

impl Merge for Stats {
    fn merge(&mut self, later: Stats) {
        for (n, kinds) in later.sources.into_iter().enumerate() {
            let own = self.source(n);
            for (kind, (count, bytes)) in kinds.packets {
                let (total, all) = own.packets.entry(kind).or_default();
                *total += count;
                *all += bytes;
            }
            for (kind, count) in kinds.elements {
                *own.elements.entry(kind).or_default() += count;
            }
        }
    }
}

impl Stats {
    /// Counts `times` elements of a kind.
    fn add(&mut self, source: usize, element: &Element, times: u64) {
        let count = self.source(source).elements.entry(element.kind()).or_default();
        *count = count.saturating_add(times);
    }
}

impl Listener for Stats {
    fn element(&mut self, source: usize, _at: u64, element: Element) {
        self.add(source, &element, 1);
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        let ranges = batch.steps().len() as u64;
        if let Some(&step) = batch.steps().first()
            && let Some(range) = batch.range(step)
        {
            self.add(batch.source, &Element::Range(range), ranges);
        }
        for part in batch.parts() {
            match part {
                Part::Steps(_) => {}
                Part::Element(_, element) => self.add(batch.source, &element, 1),
                Part::Turns(turns) => {
                    if let Some(range) = turns.ranges.first() {
                        let ranges = turns.times.saturating_mul(turns.ranges.len() as u64);
                        self.add(batch.source, &Element::Range(*range), ranges);
                    }
                }
            }
        }
    }

    fn event(&mut self, event: &Event<'_>) {
        if let Event::Packet { source, bytes, packet } = event {
            let (count, total) = self.source(*source).packets.entry(packet.kind()).or_default();
            *count += 1;
            *total += bytes.count() as u64;
        }
    }

    fn wants(&self) -> Wants {
        Wants::COUNTS.with_packets(Packets::Each)
    }
}
