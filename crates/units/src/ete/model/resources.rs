//! Resource selectors, single-shot comparators, counters, the sequencer.

use super::comparators::Comparators;
use super::logic::{all, any, not};
use crate::ete::settings::{Event, Settings, is_reserved_pair};

/// The changes of events that are followed within one step of the input.
const STEPS: u32 = 1024;

/// The state of the resources, and their values in the current step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resources {
    /// The counters. `None`: the value is not known.
    pub counters: [Option<u16>; 4],
    /// The states that the sequencer may be in, bit n: state n.
    pub sequencer: u8,
    /// TRCSSCSR.STATUS of the single-shot comparators.
    pub status: [Option<bool>; 8],
    /// External events that are active: bit n of the array is event n.
    pub events: [u64; 4],
    /// PE comparator inputs that are active.
    pub pe_inputs: u8,
    /// The comparators, for the current instruction; none match between instructions.
    pub comparators: Comparators,
    /// The single-shot comparators that fire with the current instruction.
    fired: [Option<bool>; 8],
}

impl Resources {
    /// The resources when the unit is enabled.
    pub fn new(settings: &Settings) -> Resources {
        let mut resources = Resources {
            counters: settings.counters.map(|[_, _, value]| Some(value as u16)),
            sequencer: 1 << (settings.sequencer[4] & 3),
            status: settings.single_shots.map(|[_, status, _]| Some(status >> 31 & 1 != 0)),
            events: [0; 4],
            pe_inputs: 0,
            comparators: Comparators::default(),
            fired: [Some(false); 8],
        };
        resources.rest();
        resources
    }

    /// No instruction executes.
    fn rest(&mut self) {
        self.comparators =
            Comparators { single: [Some(false); 16], range: [Some(false); 8], ..self.comparators };
        self.fired = [Some(false); 8];
    }

    /// An external event.
    fn event(&self, number: u16) -> Option<bool> {
        // Events above 255 have no place in the input.
        let word = self.events.get(usize::from(number / 64))?;
        Some(word >> (number % 64) & 1 != 0)
    }

    /// A resource of a group. (DDI 0601, TRCRSCTLR<n>.GROUP)
    fn resource(&self, settings: &Settings, group: u64, n: usize) -> Option<bool> {
        let of = |list: &[Option<bool>]| list.get(n).copied().flatten();
        match group {
            0 => self.event(*settings.inputs.get(n)?),
            1 => Some(self.pe_inputs >> n & 1 != 0),
            2 if n < 4 => self.counters.get(n).copied().flatten().map(|value| value == 0),
            2 => match self.sequencer >> (n - 4) & 1 {
                0 => Some(false),
                _ => (self.sequencer.count_ones() == 1).then_some(true),
            },
            3 => of(&self.fired),
            4 => of(&self.comparators.single),
            5 => of(&self.comparators.range),
            6 => of(&self.comparators.context),
            7 => of(&self.comparators.vmid),
            _ => None,
        }
    }

    /// Resource selector n: 0 is FALSE, 1 is TRUE. The selected resources are combined with OR.
    pub fn selector(&self, settings: &Settings, n: u8) -> Option<bool> {
        let control = match n {
            0 => return Some(false),
            1 => return Some(true),
            n => *settings.selectors.get(usize::from(n))?,
        };
        let group = control >> 16 & 0xf;
        let width = match group {
            0 => 4,
            4 => 16,
            _ => 8,
        };
        let chosen = (0..width).filter(|n| control >> n & 1 != 0);
        let value = any(chosen.map(|n| self.resource(settings, group, n)));
        if control >> 20 & 1 != 0 { not(value) } else { value }
    }

    /// A resource event. (DDI 0601, `TRCRSCTLR<n>.PAIRINV`: the functions of a pair)
    pub fn active(&self, settings: &Settings, event: Event) -> Option<bool> {
        match event {
            Event::Selector(n) => self.selector(settings, n),
            Event::Pair(0) => Some(false),
            Event::Pair(n) => {
                let control = |n: u8| settings.selectors.get(usize::from(n)).copied();
                let (a, b) = (control(2 * n)?, control(2 * n + 1)?);
                if is_reserved_pair(a, b) {
                    return None;
                }
                let both =
                    all([self.selector(settings, 2 * n), self.selector(settings, 2 * n + 1)]);
                if a >> 21 & 1 != 0 { not(both) } else { both }
            }
        }
    }

    /// An instruction with these comparators executes: single-shot comparators fire, and events
    /// have their values for it. [`follow`](Self::follow) has the effect of the events.
    pub fn observe(&mut self, settings: &Settings, comparators: Comparators) {
        self.comparators = comparators;
        for (n, [control, _, inputs]) in settings.single_shots.iter().enumerate() {
            let single = (0..16).filter(|bit| control >> bit & 1 != 0);
            let ranges = (0..8).filter(|bit| control >> (16 + bit) & 1 != 0);
            let matches = single
                .map(|bit| comparators.single.get(bit).copied().flatten())
                .chain(ranges.map(|bit| comparators.range.get(bit).copied().flatten()));
            let input = (0..8).filter(|bit| inputs >> bit & 1 != 0);
            let input = input.map(|bit| Some(self.pe_inputs >> bit & 1 != 0));
            let matched = any(matches.chain(input));
            let (Some(status), Some(fired)) = (self.status.get_mut(n), self.fired.get_mut(n))
            else {
                continue;
            };
            let again = control >> 24 & 1 != 0;
            *fired = if again { matched } else { all([matched, not(*status)]) };
            *status = any([*status, matched]);
        }
    }

    /// The counters and the sequencer take one step if the instruction made their events active.
    /// Where `timed` is false, an unknown number of cycles passes, too.
    pub fn follow(&mut self, settings: &Settings, timed: bool) {
        let mut idle = self.clone();
        idle.rest();
        // Events that are active without the instruction count cycles, not instructions.
        let before = self.clone();
        self.counters = before.counters_after(settings, &|event| {
            all([before.active(settings, event), not(idle.active(settings, event))])
        });
        self.sequencer = before.sequencer_after(settings, &|event| {
            all([before.active(settings, event), not(idle.active(settings, event))])
        });
        if !timed {
            self.time(settings);
        }
    }

    /// An unknown number of cycles passes.
    fn time(&mut self, settings: &Settings) {
        let mut idle = self.clone();
        idle.rest();
        // Five steps reach every state of the sequencer and each counter that another one changes.
        for _ in 0..5 {
            let next = idle.counters_after(settings, &|event| idle.active(settings, event));
            for (counter, next) in idle.counters.iter_mut().zip(next) {
                *counter = counter.filter(|_| *counter == next);
            }
            idle.sequencer |= idle.sequencer_after(settings, &|event| idle.active(settings, event));
        }
        (self.counters, self.sequencer) = (idle.counters, idle.sequencer);
    }

    /// `cycles` pass without an instruction.
    pub fn cycles(&mut self, settings: &Settings, cycles: u32) {
        self.rest();
        self.advance(settings, cycles);
    }

    /// Counters and sequencer, for `times` cycles in which the inputs do not change. After
    /// [`STEPS`] changes of an event, a counter that still counts is not known.
    fn advance(&mut self, settings: &Settings, times: u32) {
        let mut left = times;
        for _ in 0..STEPS {
            if left == 0 {
                return;
            }
            let counters = self.counters_after(settings, &|event| self.active(settings, event));
            let sequencer = self.sequencer_after(settings, &|event| self.active(settings, event));
            if counters == self.counters && sequencer == self.sequencer {
                return;
            }
            // Counters that count down change no event before one of them is zero.
            let down = |(old, new): (&Option<u16>, &Option<u16>)| match (old, new) {
                (Some(old), Some(new)) => {
                    old == new || *new > 0 && old.checked_sub(1) == Some(*new)
                }
                (old, new) => old == new,
            };
            let same = sequencer == self.sequencer && self.counters.iter().zip(&counters).all(down);
            let changed = |(old, new): (&Option<u16>, &Option<u16>)| new.filter(|_| old != new);
            let least = self.counters.iter().zip(&counters).filter_map(changed).min();
            let jump = match least.filter(|_| same) {
                Some(least) => u32::from(least - 1).min(left - 1) as u16,
                None => 0,
            };
            for (counter, new) in self.counters.iter_mut().zip(counters) {
                *counter = match (*counter == new, new) {
                    (false, Some(value)) => Some(value - jump),
                    _ => new,
                };
            }
            self.sequencer = sequencer;
            left -= 1 + u32::from(jump);
        }
        let counters = self.counters_after(settings, &|event| self.active(settings, event));
        for (counter, next) in self.counters.iter_mut().zip(counters) {
            *counter = counter.filter(|_| *counter == next);
        }
        for _ in 0..4 {
            self.sequencer |= self.sequencer_after(settings, &|_| None);
        }
    }

    fn counters_after(
        &self,
        settings: &Settings,
        active: &dyn Fn(Event) -> Option<bool>,
    ) -> [Option<u16>; 4] {
        let mut reloads = [Some(false); 4];
        core::array::from_fn(|n| {
            let [reload, control, _] = *settings.counters.get(n)?;
            let value = self.counters.get(n).copied().flatten();
            let event = |low: u32| active(Event::new(control >> low & 0xff));
            let own = all([Some(control >> 16 & 1 != 0), value.map(|value| value == 0)]);
            let chained = match n {
                1 | 3 if control >> 17 & 1 != 0 => reloads.get(n - 1).copied().flatten(),
                _ => Some(false),
            };
            let decrement = any([event(0), chained]);
            // A counter at zero reloads itself when it would decrement.
            let reloaded = any([event(8), all([own, decrement])]);
            if let Some(slot) = reloads.get_mut(n) {
                *slot = reloaded;
            }
            match (reloaded, decrement, value) {
                (Some(true), ..) => Some(reload as u16),
                (Some(false), Some(false), value) => value,
                (Some(false), Some(true), Some(value)) => Some(value.saturating_sub(1)),
                _ => None,
            }
        })
    }

    /// The states after one cycle. Where a state moves both ways, or an event is not known, each
    /// result is possible.
    fn sequencer_after(&self, settings: &Settings, active: &dyn Fn(Event) -> Option<bool>) -> u8 {
        let event = |n: usize, low: u32| {
            let bits = settings.sequencer.get(n).copied().unwrap_or(0) >> low & 0xff;
            active(Event::new(bits))
        };
        let reset = event(3, 0);
        if reset == Some(true) {
            return 1;
        }
        let mut after = if reset.is_none() { 1 } else { 0 };
        for state in (0..4).filter(|state| self.sequencer >> state & 1 != 0) {
            let forward = if state < 3 { event(state, 0) } else { Some(false) };
            let back = if state > 0 { event(state - 1, 8) } else { Some(false) };
            let bit = 1u8 << state;
            after |= match (forward, back) {
                (Some(false), Some(false)) => bit,
                (Some(true), Some(false)) => bit << 1,
                (Some(false), Some(true)) => bit >> 1,
                (forward, back) => {
                    let up = if forward != Some(false) { bit << 1 } else { 0 };
                    let down = if back != Some(false) { bit >> 1 } else { 0 };
                    bit | up | down
                }
            };
        }
        after
    }
}
