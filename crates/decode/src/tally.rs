//! Counts at each stage, from bytes to instructions.

use std::collections::BTreeMap;
use std::ops::Range;

use tracewright_base::{self as base, Element, Fault, Gap, Inconsistency, OffsetMap};
use tracewright_frames::Event;
use tracewright_protocols::registry::AnyPacket;

use crate::{Listener, Merge};

/// What one source said, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Bytes in packets.
    pub packet_bytes: u64,
    /// Packets.
    pub packets: u64,
    /// Packets from which a decoder may start.
    pub syncs: u64,
    /// Bytes before a synchronisation.
    pub unsynced: u64,
    /// Bytes that are no packet, beside those.
    pub bad: u64,
    /// Those of them that begin a packet which the end of the trace cuts short.
    pub cut: u64,
    /// The first of the others, and where.
    pub first_bad: Option<(u64, Fault)>,
    /// Elements.
    pub elements: u64,
    /// Ranges of executed instructions.
    pub ranges: u64,
    /// Executed instructions.
    pub instructions: u64,
    /// Places where program memory was missing.
    pub no_code: u64,
    /// The first of them.
    pub first_no_code: Option<u64>,
    /// Exceptions.
    pub exceptions: u64,
    /// Software writes.
    pub software: u64,
    /// Data accesses.
    pub accesses: u64,
    /// Times that trace was lost in an overflow, was discarded, or had to be dropped.
    pub gaps: u64,
    /// Contradictions.
    pub inconsistencies: u64,
    /// The first of them, and where.
    pub first_inconsistency: Option<(u64, Inconsistency)>,
}

/// Counts everything that a session finds.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// By source.
    pub sources: Vec<Counts>,
    /// Bytes of each id that no source has.
    pub unknown_ids: BTreeMap<u16, u64>,
    /// Bytes of padding.
    pub padding: u64,
    /// Bytes that are no frame.
    pub bad_frames: u64,
    /// Bytes before the first id.
    pub no_source: u64,
    /// Triggers that the link reports.
    pub triggers: u64,
}

impl Counts {
    /// Bytes of the source.
    pub const fn bytes(&self) -> u64 {
        self.packet_bytes + self.unsynced + self.bad
    }

    /// The source said something that a reader of elements is after.
    pub const fn fruitful(&self) -> bool {
        self.instructions + self.exceptions + self.software + self.accesses > 0
    }

    /// Counts an element that is no range.
    #[inline(never)]
    fn other(&mut self, at: u64, element: Element) {
        match element {
            Element::Unknown { instructions, .. } => {
                self.instructions += u64::from(instructions.get().unwrap_or(0));
            }
            Element::NoCode { address, .. } => {
                self.no_code += 1;
                self.first_no_code.get_or_insert(address);
            }
            Element::Exception(_) => self.exceptions += 1,
            Element::SoftwareWrite(_) | Element::DwtEvent(_) => self.software += 1,
            Element::DataAccess(_) => self.accesses += 1,
            Element::Gap(Gap::Start | Gap::Reset) => {}
            Element::Gap(_) => self.gaps += 1,
            Element::Inconsistency(inconsistency) => {
                self.inconsistencies += 1;
                self.first_inconsistency.get_or_insert((at, inconsistency));
            }
            _ => {}
        }
    }
}

impl Tally {
    /// What source `n` of the session said.
    pub fn of(&self, n: usize) -> Counts {
        self.sources.get(n).copied().unwrap_or_default()
    }

    #[inline]
    fn source(&mut self, source: usize) -> &mut Counts {
        if source >= self.sources.len() {
            self.grow(source + 1);
        }
        &mut self.sources[source]
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, sources: usize) {
        self.sources.resize(sources, Counts::default());
    }

    /// Whether it is [`flawed`](Self::flawed), other than that the trace ends inside a packet.
    pub fn troubled(&self) -> bool {
        self.bad_frames > 0
            || self.sources.iter().any(|c| c.bad > c.cut || c.inconsistencies > 0 || c.no_code > 0)
    }

    /// Whether any byte was bad, any packet doubtful or any memory missing.
    pub fn flawed(&self) -> bool {
        self.bad_frames > 0
            || self.sources.iter().any(|c| c.bad > 0 || c.inconsistencies > 0 || c.no_code > 0)
    }
}

impl Merge for Tally {
    fn merge(&mut self, later: Tally) {
        for (n, counts) in later.sources.into_iter().enumerate() {
            self.source(n).merge(counts);
        }
        for (id, bytes) in later.unknown_ids {
            self.unknown_id(id, 0, bytes as usize);
        }
        self.padding += later.padding;
        self.bad_frames += later.bad_frames;
        self.no_source += later.no_source;
        self.triggers += later.triggers;
    }
}

impl Merge for Counts {
    fn merge(&mut self, later: Counts) {
        // All fields by name, so that none is forgotten.
        let Counts {
            packet_bytes,
            packets,
            syncs,
            unsynced,
            bad,
            cut,
            first_bad,
            elements,
            ranges,
            instructions,
            no_code,
            first_no_code,
            exceptions,
            software,
            accesses,
            gaps,
            inconsistencies,
            first_inconsistency,
        } = later;
        self.packet_bytes += packet_bytes;
        self.packets += packets;
        self.syncs += syncs;
        self.unsynced += unsynced;
        self.bad += bad;
        self.cut += cut;
        self.first_bad = self.first_bad.or(first_bad);
        self.elements += elements;
        self.ranges += ranges;
        self.instructions += instructions;
        self.no_code += no_code;
        self.first_no_code = self.first_no_code.or(first_no_code);
        self.exceptions += exceptions;
        self.software += software;
        self.accesses += accesses;
        self.gaps += gaps;
        self.inconsistencies += inconsistencies;
        self.first_inconsistency = self.first_inconsistency.or(first_inconsistency);
    }
}

impl Listener for Tally {
    #[inline]
    fn element(&mut self, source: usize, at: u64, element: Element) {
        let c = self.source(source);
        c.elements += 1;
        match element {
            Element::Range(range) => {
                c.ranges += 1;
                c.instructions += u64::from(range.instructions);
            }
            // Nearly all are ranges.
            other => c.other(at, other),
        }
    }

    #[inline]
    fn repeat(&mut self, source: usize, _: u64, range: base::Range, times: u32) {
        let c = self.source(source);
        c.elements += u64::from(times);
        c.ranges += u64::from(times);
        c.instructions += u64::from(times) * u64::from(range.instructions);
    }

    fn wants_each_packet(&self) -> bool {
        false
    }

    fn packets(
        &mut self,
        source: usize,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        count: usize,
    ) {
        let c = self.source(source);
        c.packets += count as u64;
        c.packet_bytes += offsets.bytes_in(&span) as u64;
    }

    fn packet(
        &mut self,
        source: usize,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        _: &[u8],
        packet: AnyPacket<'_>,
    ) {
        let c = self.source(source);
        c.packets += 1;
        c.syncs += u64::from(packet.is_sync());
        c.packet_bytes += offsets.bytes_in(&span) as u64;
    }

    fn undecodable(
        &mut self,
        source: usize,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        _: &[u8],
        fault: Fault,
    ) {
        let (c, len) = (self.source(source), offsets.bytes_in(&span) as u64);
        match fault {
            Fault::Unsynchronised => c.unsynced += len,
            Fault::Truncated => {
                c.bad += len;
                c.cut += len;
            }
            _ => {
                c.bad += len;
                c.first_bad.get_or_insert_with(|| (offsets.at(span.start), fault));
            }
        }
    }

    fn unknown_id(&mut self, id: u16, _at: u64, len: usize) {
        *self.unknown_ids.entry(id).or_default() += len as u64;
    }

    fn link(&mut self, _at: u64, event: Event) {
        match event {
            Event::Null { len } => self.padding += u64::from(len),
            Event::Bad { len, .. } => self.bad_frames += u64::from(len),
            Event::NoSource { len } => self.no_source += u64::from(len),
            Event::Trigger(_) => self.triggers += 1,
            _ => {}
        }
    }
}
