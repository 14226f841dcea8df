//! From packets of an ITM to events.

use tracewright_base::{Dwt, ExceptionStep};

use super::Event;
use crate::local_time::{LocalClock, Packet, Stamp};
use crate::running::{EventTasks, LowAddress};
use crate::transfer::{Kind, Transfer};

/// The most events that wait for the first exception packet. A trace that has none in them has
/// none, as far as its tasks are concerned.
const MAX_WAITING: usize = 1 << 12;

/// The state of a source.
#[derive(Debug, Default)]
pub(super) struct Packets {
    /// The address that each comparator has reported last.
    low: [Option<LowAddress>; 4],
    clock: LocalClock,
    /// Exceptions are traced; `None` as long as that is not known.
    traced: Option<bool>,
    waiting: Vec<(u64, Packet<Event>)>,
}

impl Packets {
    /// Whether exceptions are traced. It is known once an event was found.
    pub(super) fn traced(&self) -> bool {
        self.traced == Some(true)
    }

    /// The next packet.
    pub(super) fn take(
        &mut self,
        transfer: &Transfer,
        tasks: &EventTasks,
        found: &mut Vec<(u64, Packet<Event>)>,
    ) {
        let at = transfer.at;
        let packet = match transfer.kind {
            Kind::Dwt => self.dwt(transfer.dwt(), tasks).map_or(Packet::Other, Packet::Event),
            Kind::Write => match transfer.ret {
                Some(value) => {
                    Packet::Event(Event::Named { value: Some(value), by_software: true })
                }
                None => Packet::Other,
            },
            Kind::LocalTime => {
                let (ticks, late) = (transfer.cycles, (transfer.entry, transfer.stub));
                Packet::Stamp(self.clock.stamp(at, (transfer.target, ticks), late))
            }
            // That of an STM is the time of its write.
            Kind::Timestamp => Packet::Stamp(Stamp::own(at, transfer.target)),
            Kind::Lost => {
                self.low = Default::default();
                self.clock.lost();
                Packet::Lost
            }
            _ => return,
        };
        if let Packet::Event(Event::Entered(_) | Event::Exited(_) | Event::Returned(_)) = packet {
            self.traced = Some(true);
        }
        self.waiting.push((at, packet));
        if self.traced.is_none() && self.waiting.len() > MAX_WAITING {
            self.traced = Some(false);
        }
        if self.traced.is_some() {
            found.append(&mut self.waiting);
        }
    }

    /// The trace ends.
    pub(super) fn finish(&mut self, found: &mut Vec<(u64, Packet<Event>)>) {
        self.traced.get_or_insert(false);
        found.append(&mut self.waiting);
    }

    fn dwt(&mut self, event: Dwt, tasks: &EventTasks) -> Option<Event> {
        match event {
            // Thread mode is no handler.
            Dwt::Exception { number: 0, step: ExceptionStep::Entered | ExceptionStep::Exited } => {
                None
            }
            Dwt::Exception { number, step } => Some(match step {
                ExceptionStep::Entered => Event::Entered(number),
                ExceptionStep::Exited => Event::Exited(number),
                ExceptionStep::Returned => Event::Returned(number),
            }),
            Dwt::DataAddress { comparator, size, address } => {
                if let Some(low) = self.low.get_mut(usize::from(comparator)) {
                    *low = Some(LowAddress { address, size });
                }
                None
            }
            Dwt::DataValue { comparator, .. } => {
                let low = self.low.get_mut(usize::from(comparator)).and_then(Option::take);
                let value = tasks.stored(event, low)?;
                Some(Event::Named { value, by_software: false })
            }
            _ => None,
        }
    }
}
