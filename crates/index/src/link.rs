//! Events of the trace link in a segment.

use tracewright_frames::Event;

use crate::bytes::{Reader, put, unzigzag, zigzag};

/// Numbers of events of the trace link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkEvents {
    /// Synchronisation packets.
    pub syncs: u64,
    /// Triggers.
    pub triggers: u64,
    /// Flush responses.
    pub flushes: u64,
    /// Undecodable bytes.
    pub bad: u64,
    /// Barriers between separate traces.
    pub barriers: u64,
}

impl LinkEvents {
    /// Counts `event`. Returns its kind, where it is recorded.
    pub(crate) fn count(&mut self, event: &Event) -> Option<LinkKind> {
        match event {
            Event::FullSync | Event::HalfSync => {
                self.syncs += 1;
                // Some links send one after each frame.
                (self.syncs == 1).then_some(LinkKind::Sync)
            }
            Event::Trigger(_) => {
                self.triggers += 1;
                Some(LinkKind::Trigger)
            }
            Event::Flush(_) => {
                self.flushes += 1;
                Some(LinkKind::Flush)
            }
            Event::Bad { len, .. } => {
                self.bad += u64::from(*len);
                Some(LinkKind::Bad)
            }
            Event::Barrier => {
                self.barriers += 1;
                Some(LinkKind::Barrier)
            }
            _ => None,
        }
    }
}

/// A kind of event of the trace link. The numbers are those of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum LinkKind {
    /// A synchronisation packet.
    Sync = 0,
    /// A byte of the trigger ID.
    Trigger = 1,
    /// A byte of the flush ID.
    Flush = 2,
    /// Undecodable bytes.
    Bad = 3,
    /// A barrier between separate traces.
    Barrier = 4,
}

impl LinkKind {
    /// Every kind, in order of the numbers.
    pub const ALL: [LinkKind; 5] =
        [LinkKind::Sync, LinkKind::Trigger, LinkKind::Flush, LinkKind::Bad, LinkKind::Barrier];
}

/// Where an event of the trace link is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkRecord {
    /// The kind.
    pub kind: LinkKind,
    /// The offset in the buffer.
    pub at: u64,
}

/// Appends records.
pub(crate) fn put_records(records: &[LinkRecord], out: &mut Vec<u8>) {
    put(out, records.len() as u64);
    let mut before = 0u64;
    for LinkRecord { kind, at } in records {
        out.push(*kind as u8);
        put(out, zigzag(at.wrapping_sub(before)));
        before = *at;
    }
}

/// Reads records. `None` where the bytes are others.
pub(crate) fn read_records(from: &mut Reader<'_>) -> Option<Vec<LinkRecord>> {
    let (mut records, mut at) = (Vec::new(), 0u64);
    for _ in 0..from.count()? {
        let kind = *LinkKind::ALL.get(usize::from(from.u8()?))?;
        at = at.wrapping_add(unzigzag(from.number()?));
        records.push(LinkRecord { kind, at });
    }
    Some(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_as_they_were_written() {
        let records: Vec<LinkRecord> = LinkKind::ALL
            .into_iter()
            .zip([9, 7, u64::MAX, 0, 1 << 40])
            .map(|(kind, at)| LinkRecord { kind, at })
            .collect();
        let mut out = Vec::new();
        put_records(&records, &mut out);
        let mut from = Reader(&out);
        assert_eq!(read_records(&mut from), Some(records));
        assert!(from.0.is_empty());
        for len in 0..out.len() {
            assert_eq!(read_records(&mut Reader(&out[..len])), None);
        }
        assert_eq!(read_records(&mut Reader(&[1, 5, 0])), None, "an unknown kind");
    }

    #[test]
    fn the_first_synchronisation_and_all_other_events_are_recorded() {
        let mut events = LinkEvents::default();
        let all = [
            (Event::FullSync, Some(LinkKind::Sync)),
            (Event::HalfSync, None),
            (Event::Trigger(3), Some(LinkKind::Trigger)),
            (Event::Trigger(4), Some(LinkKind::Trigger)),
            (Event::Flush(0), Some(LinkKind::Flush)),
            (Event::Barrier, Some(LinkKind::Barrier)),
            (Event::Null { len: 3 }, None),
        ];
        for (event, kind) in all {
            assert_eq!(events.count(&event), kind, "{event:?}");
        }
        let want = LinkEvents { syncs: 2, triggers: 2, flushes: 1, bad: 0, barriers: 1 };
        assert_eq!(events, want);
    }
}
