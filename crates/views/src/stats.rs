//! Counts of packets and elements by kind.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::Range;

use tracewright_base::{self as base, Element, OffsetMap};
use tracewright_decode::{Listener, Merge};
use tracewright_protocols::PacketKind;
use tracewright_protocols::registry::AnyPacket;

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

impl Listener for Stats {
    const BY_SOURCE: bool = true;

    fn element(&mut self, source: usize, _at: u64, element: Element) {
        *self.source(source).elements.entry(element.kind()).or_default() += 1;
    }

    fn repeat(&mut self, source: usize, at: u64, range: base::Range, times: u32) {
        self.repeat_path(source, at, &[range], times.into());
    }

    fn repeat_path(&mut self, source: usize, _at: u64, ranges: &[base::Range], times: u64) {
        let Some(range) = ranges.first() else { return };
        let kind = Element::Range(*range).kind();
        let count = self.source(source).elements.entry(kind).or_default();
        *count = count.saturating_add(times.saturating_mul(ranges.len() as u64));
    }

    fn packet(
        &mut self,
        source: usize,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        _: &[u8],
        packet: AnyPacket<'_>,
    ) {
        let (count, total) = self.source(source).packets.entry(packet.kind()).or_default();
        *count += 1;
        *total += offsets.bytes_in(&span) as u64;
    }
}
