//! Tasks and exceptions of a source without instructions: an ITM with the events of a DWT, or an
//! STM.
//!
//! A store to the variable of the running task, or a software write, names the task; exception
//! packets state when handlers are entered and left. The frames of a thread are that of Thread mode
//! (number 0), which ends where another task continues, and those of the handlers above it.
//! Positions are offsets in the trace in place of numbers of instructions.
//!
//! | file | contents |
//! |---|---|
//! | `packets.rs` | from packets to [`Event`]s |
//! | `apply.rs` | from events to frames |

mod apply;
mod packets;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use packets::Packets;

use crate::local_time::{Packet, Window};
use crate::running::EventTasks;
use crate::stacks::{Stacks, Visitor};
use crate::transfer::Transfer;

/// What a packet states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// A handler was entered.
    Entered(u16),
    /// A handler was left.
    Exited(u16),
    /// The processor continues a handler, or Thread mode for 0.
    Returned(u16),
    /// The running task is named, by a store or by software; its value may be unknown.
    Named { value: Option<u64>, by_software: bool },
}

/// A source of events.
#[derive(Debug, Default)]
pub(super) struct EventSource {
    packets: Packets,
    window: Window<Event>,
    applied: apply::State,
}

impl<V: Visitor> Stacks<V> {
    /// All sources are ITMs or STMs, whose `events` name the running task.
    #[must_use]
    pub fn with_events(mut self, events: Option<&EventTasks>) -> Self {
        self.events = events.map(|events| {
            let own = Arc::new(events.clone());
            let sources = self.sources.iter().map(|_| EventSource::default()).collect();
            Box::new(Events { own, sources })
        });
        self
    }

    /// Takes a transfer of a source of events.
    pub(super) fn event(&mut self, source: usize, transfer: &Transfer) {
        let Some(mut all) = self.events.take() else { return };
        if let Some(own) = all.sources.get_mut(source) {
            let mut found = Vec::new();
            own.packets.take(transfer, &all.own, &mut found);
            for (at, packet) in found {
                self.in_order(source, own, at, packet);
            }
        }
        self.events = Some(all);
    }

    fn in_order(&mut self, source: usize, own: &mut EventSource, at: u64, packet: Packet<Event>) {
        let EventSource { window, applied, packets } = own;
        window.take(at, packet, &mut |step| self.apply(source, applied, packets.traced(), &step));
    }

    /// The trace ends: what waits is passed on.
    pub(super) fn finish_events(&mut self) {
        let Some(mut all) = self.events.take() else { return };
        for (source, own) in all.sources.iter_mut().enumerate() {
            let mut found = Vec::new();
            own.packets.finish(&mut found);
            for (at, packet) in found {
                self.in_order(source, own, at, packet);
            }
            let EventSource { window, applied, packets } = own;
            window.finish(&mut |step| self.apply(source, applied, packets.traced(), &step));
        }
        self.events = Some(all);
    }
}

/// All sources of events.
#[derive(Debug)]
pub(super) struct Events {
    own: Arc<EventTasks>,
    sources: Vec<EventSource>,
}
