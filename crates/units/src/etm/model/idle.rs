//! Cycles without items: counters and sequencer go on.

use super::derived::Derived;
use super::{CycleEnd, Inputs, Matches, Model, Tri, filters, ice};

/// Most steps in which the model follows the cycles between two instructions. A step is a cycle, or
/// all cycles up to that in which a counter reaches zero.
const MOST_STEPS: u32 = 1 << 16;

/// What a cycle without items depends on, besides inputs that do not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    derived: Derived,
    active: filters::Active,
    held: Matches,
    start_stop: Tri,
    ice: ice::IceInputs,
    trace_enable: filters::Change,
    view_data: filters::Change,
}

impl State {
    /// The number of cycles for which all that changes is that counters count down, as they do in
    /// the cycle from this state to `next`. `None`: something else changes.
    fn steady(&self, next: &State) -> Option<u32> {
        let mut same = *next;
        same.derived.counters = self.derived.counters;
        if same != *self {
            return None;
        }
        let mut least = u32::MAX;
        for (before, after) in self.derived.counters.iter().zip(next.derived.counters) {
            match before.checked_sub(after) {
                Some(0) => {}
                Some(1) => least = least.min(after.into()),
                _ => return None,
            }
        }
        Some(least)
    }
}

impl Model {
    const fn state(&self) -> State {
        State {
            derived: self.derived,
            active: self.active,
            held: self.held,
            start_stop: self.start_stop,
            ice: self.ice,
            trace_enable: self.trace_enable,
            view_data: self.view_data,
        }
    }

    /// Observes cycles without items, with the same `inputs`, and returns what happens in one of
    /// them, with the outputs of the last. Where the states of counters and sequencer do not repeat
    /// within 65,536 steps, they are unknown after them.
    pub fn idle(&mut self, inputs: &Inputs, cycles: u32) -> CycleEnd {
        let (mut all, mut left) = (CycleEnd::default(), cycles);
        // A state, and the cycles left after it, to find a repetition by. (Brent's algorithm)
        let mut saved = (self.state(), left);
        for step in 1..=MOST_STEPS {
            if left == 0 {
                return all;
            }
            let before = self.state();
            self.begin_cycle(inputs);
            let end = self.end_cycle();
            all = CycleEnd {
                trigger: all.trigger | end.trigger,
                debug_request: all.debug_request | end.debug_request,
                ..end
            };
            left -= 1;
            let state = self.state();
            if let Some(steady) = before.steady(&state) {
                let skipped = steady.min(left);
                for (counter, before) in
                    self.derived.counters.iter_mut().zip(before.derived.counters)
                {
                    if *counter != before {
                        *counter -= skipped as u16;
                    }
                }
                left -= skipped;
            }
            if self.state() == saved.0 {
                left %= saved.1 - left;
            }
            if step.is_power_of_two() {
                saved = (self.state(), left);
            }
        }
        self.derived.unknown |= left > 0;
        all
    }
}
