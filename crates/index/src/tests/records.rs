//! Records of a full index, compared with all elements, packets and events of the link.

use tracewright_base::Element;
use tracewright_decode::{Event, Listener, Wants};
use tracewright_frames::Event as Link;

use super::{Case, captures, making, shared};
use crate::key::{Key, Kind};
use crate::link::LinkKind;

/// What occurred: the key, the offset, and the numbers of elements and instructions of the source
/// before it.
type Occurrence = (Key, u64, u64, u64);

/// All occurrences by source, and all events of the link.
#[derive(Default)]
struct All {
    sources: Vec<Vec<Occurrence>>,
    elements: Vec<u64>,
    instructions: Vec<u64>,
    links: Vec<(LinkKind, u64)>,
}

impl Listener for All {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        let (elements, instructions) = (self.elements[source], self.instructions[source]);
        Key::each(&element, |key| self.sources[source].push((key, at, elements, instructions)));
        self.elements[source] += 1;
        if let Element::Range(range) = element {
            self.instructions[source] += u64::from(range.instructions);
        }
    }

    fn event(&mut self, event: &Event<'_>) {
        match *event {
            Event::Packet { source, ref bytes, packet } if packet.is_sync() => {
                let (elements, instructions) = (self.elements[source], self.instructions[source]);
                let key = Key::new(Kind::Sync, 0);
                self.sources[source].push((key, bytes.at(), elements, instructions));
            }
            Event::Link { at, event } => {
                let kind = match event {
                    Link::FullSync | Link::HalfSync => LinkKind::Sync,
                    Link::Trigger(_) => LinkKind::Trigger,
                    Link::Flush(_) => LinkKind::Flush,
                    Link::Bad { .. } => LinkKind::Bad,
                    Link::Barrier => LinkKind::Barrier,
                    _ => return,
                };
                self.links.push((kind, at));
            }
            _ => {}
        }
    }

    fn wants(&self) -> Wants {
        Wants::EACH_PACKET
    }
}

/// Returns the number of records, and that of synchronisations among them.
fn check(case: &Case) -> (usize, usize) {
    let index = case.index(&making(case, true));
    let (mut records, mut syncs) = (0, 0);
    for plan in &case.plans {
        let mut all = All {
            sources: vec![Vec::new(); plan.sources.len()],
            elements: vec![0; plan.sources.len()],
            instructions: vec![0; plan.sources.len()],
            links: Vec::new(),
        };
        case.decode(plan, &mut all);
        let buffer = index.buffer(plan.buffer).expect("the buffer");
        for (source, planned) in buffer.sources().iter().zip(&plan.sources) {
            assert_eq!((&source.name, source.id), (&planned.name, planned.id));
            assert!(!source.protocol.is_empty());
        }
        let segments = index.segments(buffer, 0..buffer.len()).expect("the details");
        for (source, want) in all.sources.iter().enumerate() {
            let (mut elements, mut instructions) = (0, 0);
            let mut got: Vec<Occurrence> = Vec::new();
            for stream in segments.iter().flat_map(|segment| &segment.streams) {
                if usize::from(stream.source) != source {
                    continue;
                }
                got.extend(stream.records.iter().map(|record| {
                    let (element, own) = (record.element, record.instruction);
                    (record.key, record.at, elements + element, instructions + own)
                }));
                let own = stream.records.iter().filter(|record| record.key.kind == Kind::Sync);
                assert_eq!(own.count() as u64, stream.syncs);
                elements += stream.elements;
                instructions += stream.instructions;
            }
            assert_eq!(got, *want, "{} source {source}", case.name);
            records += got.len();
            syncs += got.iter().filter(|(key, ..)| key.kind == Kind::Sync).count();
        }
        let is_sync = |kind: LinkKind| kind == LinkKind::Sync;
        let links = segments.iter().flat_map(|segment| &segment.link_records);
        let got: Vec<_> = links.map(|record| (record.kind, record.at)).collect();
        let others = |links: &[(LinkKind, u64)]| -> Vec<_> {
            links.iter().copied().filter(|(kind, _)| !is_sync(*kind)).collect()
        };
        assert_eq!(others(&got), others(&all.links), "{}", case.name);
        records += got.len();
        // Of the synchronisations of the link, the first in each segment.
        for segment in &segments {
            let found = segment.link_records.iter().filter(|record| is_sync(record.kind));
            let found: Vec<_> = found.map(|record| (record.kind, record.at)).collect();
            assert_eq!(found.len(), usize::from(segment.events.syncs > 0), "{}", case.name);
            assert!(found.iter().all(|link| all.links.contains(link)), "{}", case.name);
        }
        let counted: u64 = segments.iter().map(|segment| segment.events.syncs).sum();
        let syncs = all.links.iter().filter(|(kind, _)| is_sync(*kind)).count();
        assert_eq!(counted, syncs as u64, "{}", case.name);
    }
    (records, syncs)
}

#[test]
fn records_are_those_of_the_whole_trace() {
    for case in captures() {
        let (records, syncs) = check(&case);
        assert!(records > syncs && syncs > 0, "{}: {records} and {syncs}", case.name);
    }
}

#[test]
fn records_of_a_trace_port_are_those_of_the_whole_trace() {
    for case in shared(&["stm-issue-27", "a55-test-tpiu"]) {
        let (records, _) = check(&case);
        assert!(records > 0, "{}", case.name);
    }
}
