//! Detected Triggers, Trigger Events, flushes of the trace unit, and the Manual Stop.
//! (Arm ARM, D6.5.3 and RWMPMV)

use super::choices::{MisalignedCounter, TriggerCount};
use super::limit::TriggerMode;
use super::order::Flush;
use super::pointer::Class;
use super::record::Event;
use super::status::{Cause, Status};
use super::unit::{Mode, Trbe};

impl Trbe {
    /// The trace unit signals a Detected Trigger. (RKSQJW, RDHLQG)
    pub fn trigger(&mut self) {
        if !self.is_enabled() {
            return;
        }
        let level = self.other();
        let first = !self.status(level).triggered();
        self.status_mut(level).0 |= Status::TRG;
        self.touch();
        if !first {
            return;
        }
        if self.counter == 0 {
            self.trigger_event();
        } else if self.choices.trigger_count == TriggerCount::Blocks {
            // RQFGNQ: the block that is being collected counts as a whole.
            let collected = self.pointers().current & (self.features.alignment() - 1);
            let over = u32::try_from(collected).unwrap_or(0).min(self.counter);
            self.counter -= over;
            if over > 0 && self.counter == 0 {
                self.trigger_event();
            }
        }
    }

    /// A byte was written. (RBQTGW)
    pub(super) fn count_byte(&mut self) {
        if self.counter > 0 && self.status(self.other()).triggered() {
            self.counter -= 1;
            if self.counter == 0 {
                self.trigger_event();
            }
        }
    }

    /// A Trigger Event. (RRXRRWP, RLMQHK, RMWWHM)
    fn trigger_event(&mut self) {
        if self.written_counter_class() == Some(Class::Misaligned)
            && self.choices.misaligned_counter == MisalignedCounter::NotGenerated
        {
            return;
        }
        self.signals.triggers += 1;
        if !self.is_running() {
            return;
        }
        match self.limit.trigger() {
            Some(TriggerMode::Stop) | None => self.flush = Some(Flush::Stop),
            Some(TriggerMode::Irq) => self.flush = Some(Flush::Irq),
            Some(TriggerMode::Ignore) => {}
        }
    }

    /// Whether the unit waits for the trace unit to flush: the trace unit offers what it holds,
    /// then calls [`flushed`](Trbe::flushed).
    pub fn wants_flush(&self) -> bool {
        self.flush.is_some()
    }

    /// The trace unit has flushed.
    pub fn flushed(&mut self) {
        match self.flush.take() {
            Some(Flush::Stop) => self.record(Event::Other, Some(Cause::Triggered)),
            Some(Flush::Irq) => self.record(Event::Other, None),
            Some(Flush::Manual) => self.record(Event::Other, Some(Cause::ManualStop)),
            None => {}
        }
    }

    /// An external debugger writes 1 to TRBCR.ManStop: in External mode, the trace unit is flushed
    /// and collection stops. (RWMPMV)
    pub fn manual_stop(&mut self) {
        if self.is_enabled() && self.mode() == Mode::External {
            self.flush = Some(Flush::Manual);
        }
    }
}
