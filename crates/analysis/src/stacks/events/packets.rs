//! From packets of an ITM to events.

use tracewright_base::{Dwt, ExceptionStep};

use super::{Event, Stamp};
use crate::running::{EventTasks, LowAddress};
use crate::transfer::{Kind, Transfer};

/// The most events that wait for the first exception packet. A trace that has none in them has
/// none, as far as its tasks are concerned.
const MAX_WAITING: usize = 1 << 12;

/// The most cycles of a tick. (ITM_TCR.TSPrescale)
const MAX_TICK: u64 = 64;

/// The state of a source.
#[derive(Debug, Default)]
pub(super) struct Packets {
    /// The address that each comparator has reported last.
    low: [Option<LowAddress>; 4],
    /// The cycles before the last loss, and since then.
    base: u64,
    total: u64,
    /// The cycles of a tick, where they are known.
    tick: Option<u64>,
    /// Exceptions are traced; `None` as long as that is not known.
    traced: Option<bool>,
    waiting: Vec<(u64, Event)>,
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
        found: &mut Vec<(u64, Event)>,
    ) {
        let at = transfer.at;
        let event = match transfer.kind {
            Kind::Dwt => self.dwt(transfer.dwt(), tasks),
            Kind::Write => match transfer.ret {
                Some(value) => Event::Named { value: Some(value), by_software: true },
                None => Event::Other,
            },
            Kind::LocalTime => Event::Stamp(self.stamp(transfer)),
            // That of an STM is the time of its write.
            Kind::Timestamp => {
                let (low, high) = (transfer.target, transfer.target);
                Event::Stamp(Stamp { at, low, high, ..Stamp::default() })
            }
            Kind::Lost => {
                self.low = Default::default();
                (self.base, self.total) = (self.base.saturating_add(self.total), 0);
                Event::Lost
            }
            _ => return,
        };
        if matches!(event, Event::Entered(_) | Event::Exited(_) | Event::Returned(_)) {
            self.traced = Some(true);
        }
        self.waiting.push((at, event));
        if self.traced.is_none() && self.waiting.len() > MAX_WAITING {
            self.traced = Some(false);
        }
        if self.traced.is_some() {
            found.append(&mut self.waiting);
        }
    }

    /// The trace ends.
    pub(super) fn finish(&mut self, found: &mut Vec<(u64, Event)>) {
        self.traced.get_or_insert(false);
        found.append(&mut self.waiting);
    }

    fn dwt(&mut self, event: Dwt, tasks: &EventTasks) -> Event {
        match event {
            // Thread mode is no handler.
            Dwt::Exception { number: 0, step: ExceptionStep::Entered | ExceptionStep::Exited } => {
                Event::Other
            }
            Dwt::Exception { number, step } => match step {
                ExceptionStep::Entered => Event::Entered(number),
                ExceptionStep::Exited => Event::Exited(number),
                ExceptionStep::Returned => Event::Returned(number),
            },
            Dwt::DataAddress { comparator, size, address } => {
                if let Some(low) = self.low.get_mut(usize::from(comparator)) {
                    *low = Some(LowAddress { address, size });
                }
                Event::Other
            }
            Dwt::DataValue { comparator, .. } => {
                let low = self.low.get_mut(usize::from(comparator)).and_then(Option::take);
                match tasks.stored(event, low) {
                    Some(value) => Event::Named { value, by_software: false },
                    None => Event::Other,
                }
            }
            _ => Event::Other,
        }
    }

    fn stamp(&mut self, transfer: &Transfer) -> Stamp {
        let (total, ticks) = (transfer.target, u64::from(transfer.cycles));
        if let Some(tick) = total.saturating_sub(self.total).checked_div(ticks) {
            self.tick = Some(tick.clamp(1, MAX_TICK));
        }
        self.total = total;
        let low = self.base.saturating_add(total);
        let high = low.saturating_add(self.tick.unwrap_or(MAX_TICK) - 1);
        let (late_packet, late_stamp) = (transfer.entry, transfer.stub);
        Stamp { at: transfer.at, low, high, late_packet, late_stamp }
    }
}
