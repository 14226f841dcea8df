//! Counts at each stage, from bytes to instructions.

use std::collections::BTreeMap;

use tracewright_base::{Batch, Element, Fault, Gap, Inconsistency, Part, Space};
use tracewright_frames as frames;

use crate::listener::{Event, Listener, Wants};
use crate::merge::Merge;

/// Counts of one source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Bytes in packets.
    pub packet_bytes: u64,
    /// Packets.
    pub packets: u64,
    /// Packets from which a decoder may start.
    pub syncs: u64,
    /// Bytes before a synchronisation.
    pub unsynchronised: u64,
    /// Other undecodable bytes.
    pub undecodable: u64,
    /// The bytes among `undecodable` that begin a packet which the end of the trace truncates.
    pub truncated: u64,
    /// The first byte of `undecodable` that is not in `truncated`: offset and fault.
    pub first_undecodable: Option<(u64, Fault)>,
    /// Elements.
    pub elements: u64,
    /// Ranges of executed instructions.
    pub ranges: u64,
    /// Executed instructions of the ranges.
    pub instructions: u64,
    /// Executed instructions on unknown paths ([`Element::Unknown`]), as far as the trace has their
    /// number.
    pub unknown_instructions: u64,
    /// Number of times that program memory was missing.
    pub no_code: u64,
    /// The first address without program memory.
    pub first_no_code: Option<u64>,
    /// The memory that the first such address is in.
    pub first_no_code_space: Space,
    /// Timestamps that are 0.
    pub zero_timestamps: u64,
    /// Exceptions.
    pub exceptions: u64,
    /// Software writes.
    pub software_writes: u64,
    /// DWT events: packets of the hardware source of an ITM.
    pub dwt_events: u64,
    /// Data accesses.
    pub data_accesses: u64,
    /// The number of losses: of [`Gap`]s other than [`Gap::Start`] and [`Gap::Reset`], and, in
    /// addition, of elements directly after an overflow.
    pub gaps: u64,
    /// Number of times that the format leaves two cases open.
    pub ambiguities: u64,
    /// Inconsistencies, without the ambiguities.
    pub inconsistencies: u64,
    /// The first inconsistency and its offset.
    pub first_inconsistency: Option<(u64, Inconsistency)>,
    /// The inconsistencies that are [`Inconsistency::ExpansionLimit`].
    pub expansion_limits: u64,
    /// The offset of the first of them.
    pub first_expansion_limit: Option<u64>,
}

/// Counts everything that a session emits.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// By source.
    pub sources: Vec<Counts>,
    /// Bytes of each trace ID that no source of the session has.
    pub unknown_ids: BTreeMap<u16, u64>,
    /// Bytes of padding.
    pub padding: u64,
    /// Undecodable bytes of the trace link ([`frames::Event::Bad`]), such as those of incomplete
    /// frames.
    pub bad_frames: u64,
    /// Bytes before the first trace ID.
    pub no_source: u64,
    /// Triggers that the link reports.
    pub triggers: u64,
}

impl Counts {
    /// Bytes of the source.
    pub const fn bytes(&self) -> u64 {
        self.packet_bytes.saturating_add(self.unsynchronised).saturating_add(self.undecodable)
    }

    /// Undecodable bytes, without those of a packet that the end of the trace truncates.
    pub const fn damaged(&self) -> u64 {
        self.undecodable.saturating_sub(self.truncated)
    }

    /// Whether more than a quarter of the bytes come before the synchronisation from which decoding
    /// starts.
    pub const fn is_synchronised_late(&self) -> bool {
        self.packets > 0 && self.unsynchronised.saturating_mul(4) > self.bytes()
    }

    /// Whether there is any instruction, exception, software write or data access.
    pub const fn has_activity(&self) -> bool {
        let writes = self.software_writes | self.dwt_events;
        let instructions = self.instructions | self.unknown_instructions;
        instructions | self.exceptions | writes | self.data_accesses != 0
    }

    /// Counts an element other than a range.
    #[inline(never)]
    fn other(&mut self, at: u64, element: Element) {
        if element.is_after_overflow() {
            self.gaps += 1;
        }
        match element {
            Element::Unknown { instructions, .. } => {
                self.unknown_instructions += u64::from(instructions.get().unwrap_or(0));
            }
            Element::NoCode { address, space } => {
                self.no_code += 1;
                if self.first_no_code.is_none() {
                    (self.first_no_code, self.first_no_code_space) = (Some(address), space);
                }
            }
            Element::Timestamp { value: 0, .. } => self.zero_timestamps += 1,
            Element::Exception(_) => self.exceptions += 1,
            Element::SoftwareWrite(_) => self.software_writes += 1,
            Element::DwtEvent(_) => self.dwt_events += 1,
            Element::DataAccess(_) => self.data_accesses += 1,
            Element::Gap(Gap::Start | Gap::Reset) => {}
            Element::Gap(_) => self.gaps += 1,
            Element::Inconsistency(reason) if reason.is_ambiguity() => self.ambiguities += 1,
            Element::Inconsistency(inconsistency) => {
                self.inconsistencies += 1;
                self.first_inconsistency.get_or_insert((at, inconsistency));
                if inconsistency == Inconsistency::ExpansionLimit {
                    self.expansion_limits += 1;
                    self.first_expansion_limit.get_or_insert(at);
                }
            }
            _ => {}
        }
    }
}

impl Tally {
    /// The counts of source `n` of the session.
    pub fn of(&self, n: usize) -> Counts {
        self.sources.get(n).copied().unwrap_or_default()
    }

    /// Undecodable bytes of the link and of the sources, without those of a packet that the end of
    /// the trace truncates.
    pub fn undecodable(&self) -> u64 {
        let sources = self.sources.iter();
        sources.map(Counts::damaged).fold(self.bad_frames, u64::saturating_add)
    }

    #[inline]
    fn source(&mut self, source: usize) -> &mut Counts {
        if source >= self.sources.len() {
            self.grow(source + 1);
        }
        &mut self.sources[source]
    }

    fn unknown_id(&mut self, id: u16, bytes: u64) {
        let sum = self.unknown_ids.entry(id).or_default();
        *sum = sum.saturating_add(bytes);
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, sources: usize) {
        self.sources.resize(sources, Counts::default());
    }

    /// Whether the trace is [`flawed`](Self::flawed) other than by a packet that its end truncates.
    pub fn flawed_before_end(&self) -> bool {
        self.bad_frames > 0
            || self
                .sources
                .iter()
                .any(|c| c.undecodable > c.truncated || c.inconsistencies > 0 || c.no_code > 0)
    }

    /// The number of times that trace was lost: gaps, and sources of whose bytes none are packets.
    pub fn losses(&self) -> u64 {
        let silent = |c: &Counts| u64::from(c.bytes() > 0 && c.packets == 0);
        let counts = self.sources.iter().map(|c| c.gaps.saturating_add(silent(c)));
        counts.fold(0, u64::saturating_add)
    }

    /// Whether any byte was undecodable, any packet inconsistent, or program memory missing.
    pub fn flawed(&self) -> bool {
        self.bad_frames > 0
            || self
                .sources
                .iter()
                .any(|c| c.undecodable > 0 || c.inconsistencies > 0 || c.no_code > 0)
    }
}

impl Merge for Tally {
    fn merge(&mut self, later: Tally) {
        for (n, counts) in later.sources.into_iter().enumerate() {
            self.source(n).merge(counts);
        }
        for (id, bytes) in later.unknown_ids {
            self.unknown_id(id, bytes);
        }
        self.padding = self.padding.saturating_add(later.padding);
        self.bad_frames = self.bad_frames.saturating_add(later.bad_frames);
        self.no_source = self.no_source.saturating_add(later.no_source);
        self.triggers = self.triggers.saturating_add(later.triggers);
    }
}

impl Merge for Counts {
    fn merge(&mut self, later: Counts) {
        // All fields are listed, so that the compiler reports a missing one.
        let Counts {
            packet_bytes,
            packets,
            syncs,
            unsynchronised,
            undecodable,
            truncated,
            first_undecodable,
            elements,
            ranges,
            instructions,
            unknown_instructions,
            no_code,
            first_no_code,
            first_no_code_space,
            zero_timestamps,
            exceptions,
            software_writes,
            dwt_events,
            data_accesses,
            gaps,
            ambiguities,
            inconsistencies,
            first_inconsistency,
            expansion_limits,
            first_expansion_limit,
        } = later;
        self.packet_bytes = self.packet_bytes.saturating_add(packet_bytes);
        self.packets = self.packets.saturating_add(packets);
        self.syncs = self.syncs.saturating_add(syncs);
        self.unsynchronised = self.unsynchronised.saturating_add(unsynchronised);
        self.undecodable = self.undecodable.saturating_add(undecodable);
        self.truncated = self.truncated.saturating_add(truncated);
        self.first_undecodable = self.first_undecodable.or(first_undecodable);
        self.elements = self.elements.saturating_add(elements);
        self.ranges = self.ranges.saturating_add(ranges);
        self.instructions = self.instructions.saturating_add(instructions);
        self.unknown_instructions = self.unknown_instructions.saturating_add(unknown_instructions);
        self.no_code = self.no_code.saturating_add(no_code);
        if self.first_no_code.is_none() {
            (self.first_no_code, self.first_no_code_space) = (first_no_code, first_no_code_space);
        }
        self.zero_timestamps = self.zero_timestamps.saturating_add(zero_timestamps);
        self.exceptions = self.exceptions.saturating_add(exceptions);
        self.software_writes = self.software_writes.saturating_add(software_writes);
        self.dwt_events = self.dwt_events.saturating_add(dwt_events);
        self.data_accesses = self.data_accesses.saturating_add(data_accesses);
        self.gaps = self.gaps.saturating_add(gaps);
        self.ambiguities = self.ambiguities.saturating_add(ambiguities);
        self.inconsistencies = self.inconsistencies.saturating_add(inconsistencies);
        self.first_inconsistency = self.first_inconsistency.or(first_inconsistency);
        self.expansion_limits = self.expansion_limits.saturating_add(expansion_limits);
        self.first_expansion_limit = self.first_expansion_limit.or(first_expansion_limit);
    }
}

impl Counts {
    /// Counts `times` executions of `ranges` ranges with `instructions` in sum.
    fn ranges(&mut self, ranges: u64, instructions: u64, times: u64) {
        self.elements += times * ranges;
        self.ranges += times * ranges;
        self.instructions += times * instructions;
    }
}

impl Listener for Tally {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        let c = self.source(source);
        match element {
            Element::Range(range) => c.ranges(1, range.instructions.into(), 1),
            other => {
                c.elements += 1;
                c.other(at, other);
            }
        }
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        let c = self.source(batch.source);
        let steps = batch.steps();
        c.ranges(steps.len() as u64, batch.instructions(steps), 1);
        for part in batch.parts() {
            match part {
                Part::Steps(_) => {}
                Part::Element(_, Element::Range(range)) => {
                    c.ranges(1, range.instructions.into(), 1);
                }
                Part::Element(at, element) => {
                    c.elements += 1;
                    c.other(at, element);
                }
                Part::Turns(turns) => {
                    let instructions = turns.ranges.iter().map(|r| u64::from(r.instructions));
                    c.ranges(turns.ranges.len() as u64, instructions.sum(), turns.times);
                }
            }
        }
    }

    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Packet { source, bytes, packet } => {
                let c = self.source(*source);
                c.packets += 1;
                c.syncs += u64::from(packet.is_sync());
                c.packet_bytes += bytes.count() as u64;
            }
            Event::Packets { source, bytes, count, syncs } => {
                let c = self.source(*source);
                c.packets += *count as u64;
                c.syncs += *syncs as u64;
                c.packet_bytes += bytes.count() as u64;
            }
            Event::Undecodable { source, bytes, fault } => {
                let (c, len) = (self.source(*source), bytes.count() as u64);
                match fault {
                    Fault::Unsynchronised => c.unsynchronised += len,
                    Fault::Truncated => {
                        c.undecodable += len;
                        c.truncated += len;
                    }
                    _ => {
                        c.undecodable += len;
                        c.first_undecodable.get_or_insert_with(|| (bytes.at(), *fault));
                    }
                }
            }
            Event::UnknownId { id, len, .. } => self.unknown_id(*id, *len as u64),
            Event::Link { event, .. } => match event {
                frames::Event::Null { len } => self.padding += u64::from(*len),
                frames::Event::Bad { len, .. } => self.bad_frames += u64::from(*len),
                frames::Event::NoSource { len } => self.no_source += u64::from(*len),
                frames::Event::Trigger(_) => self.triggers += 1,
                _ => {}
            },
            _ => {}
        }
    }

    fn wants(&self) -> Wants {
        Wants::COUNTS
    }
}

#[cfg(test)]
mod tests {
    use tracewright_base::{
        Channel, Counted, DwtEvent, Fault, Gap, Instruction, Last, OffsetMap, Range, Software,
        Space,
    };

    use super::*;
    use crate::listener::SourceBytes;

    /// The instructions of a Q element are not those of ranges, and show activity.
    #[test]
    fn instructions_on_unknown_paths() {
        let mut tally = Tally::default();
        for instructions in [Counted::of(4), Counted::UNKNOWN, Counted::of(3)] {
            tally.element(0, 0, Element::Unknown { start: 0x100, next: 0x200, instructions });
        }
        let counts = tally.of(0);
        assert_eq!((counts.instructions, counts.unknown_instructions), (0, 7));
        assert!(counts.has_activity());
        tally.merge(tally.clone());
        assert_eq!(tally.of(0).unknown_instructions, 14);
    }

    /// The totals of two parts of the elements add up to those of all of them, by source.
    #[test]
    fn totals_of_parts_add_up() {
        let last = Last::new(&Instruction::default(), true);
        let range = |instructions| {
            let (bytes, cycles) = (4 * instructions, Counted::UNKNOWN);
            Element::Range(Range { start: 0x100, bytes, instructions, cycles, last })
        };
        let unknown = Element::Unknown { start: 0x100, next: 0x200, instructions: Counted::of(4) };
        let elements = [
            (0, range(3)),
            (1, range(5)),
            (0, range(7)),
            (0, unknown),
            (0, Element::Gap(Gap::Overflow)),
            (1, Element::Undecodable { len: 3, fault: Fault::Truncated }),
            (0, Element::NoCode { address: 0x300, space: Space::ANY }),
            (0, Element::Timestamp { value: 0, cycles: None }),
            (0, unknown),
            (1, Element::Gap(Gap::Overflow)),
            (1, Element::NoCode { address: 0x400, space: Space::ANY }),
            (0, Element::NoCode { address: 0x500, space: Space::ANY }),
            (0, range(9)),
        ];
        let offsets = OffsetMap::new(&[]);
        let link = |event| Event::Link { at: 0, event };
        let of = |from: usize, to: usize| {
            let mut tally = Tally::default();
            for (at, &(source, element)) in elements.iter().enumerate().take(to).skip(from) {
                tally.element(source, at as u64, element);
                let bytes = SourceBytes { bytes: &[1, 2], span: 0..2, offsets: &offsets };
                tally.event(&Event::Packets { source, bytes, count: at + 1, syncs: 1 });
                tally.event(&Event::UnknownId { at: 0, id: at as u16 % 3, len: 2 });
                tally.event(&link(frames::Event::Null { len: 3 }));
                tally.event(&link(frames::Event::NoSource { len: 4 }));
            }
            tally
        };
        let whole = of(0, elements.len());
        assert_eq!((whole.of(0).ranges, whole.of(0).instructions, whole.of(0).gaps), (3, 19, 1));
        for cut in 0..=elements.len() {
            let mut parts = of(0, cut);
            parts.merge(of(cut, elements.len()));
            assert_eq!([parts.of(0), parts.of(1)], [whole.of(0), whole.of(1)], "cut at {cut}");
            assert_eq!(parts.unknown_ids, whole.unknown_ids, "cut at {cut}");
            let of_link = |own: &Tally| (own.padding, own.no_source);
            assert_eq!((of_link(&parts), of_link(&whole)), ((39, 52), (39, 52)), "cut at {cut}");
        }
    }

    /// Software writes and events of the DWT have their own counts, and each element that comes
    /// after an overflow counts as a gap.
    #[test]
    fn elements_of_an_itm() {
        let write = Software::new(Channel::Port { page: Some(0), port: 1 }, 8, 0x41);
        let event = DwtEvent { discriminator: 2, size: 4, value: 0x8000, after_overflow: false };
        let lost = DwtEvent { after_overflow: true, ..event };
        let mut counts = Counts::default();
        for element in [
            Element::SoftwareWrite(write),
            Element::SoftwareWrite(write.with(Software::AFTER_OVERFLOW)),
            Element::DwtEvent(event),
            Element::DwtEvent(event),
            Element::DwtEvent(lost),
        ] {
            counts.other(0, element);
        }
        assert_eq!((counts.software_writes, counts.dwt_events, counts.gaps), (2, 3, 2));
    }
}
