//! Counters, sequencer, instrumentation resources, trigger and external outputs. (IHI 0014, 2.2.3,
//! 2.4, 2.5 and 2.9)

use super::CycleEnd;
use crate::etm::event::{Event, Resource};
use crate::etm::settings::{Settings, number};
use crate::etm::version::Version;

/// What a DBG hint does to an instrumentation resource. (2.9)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instrumentation {
    /// Active from this cycle on.
    Set,
    /// Inactive.
    Clear,
    /// Active in this cycle.
    Pulse,
}

impl Instrumentation {
    /// The operation and the number of the resource, from 1, for the option of a DBG hint. `None`
    /// for 12 to 15.
    pub const fn of(option: u8) -> Option<(Instrumentation, u8)> {
        let operation = match option >> 2 {
            0 => Instrumentation::Set,
            1 => Instrumentation::Clear,
            2 => Instrumentation::Pulse,
            _ => return None,
        };
        Some((operation, (option & 0b11) + 1))
    }

    /// The option of a DBG instruction: A32 `cccc_0011_0010_0000_1111_0000_1111_oooo`, T32
    /// `1111_0011_1010_1111_1000_0000_1111_oooo`. `None` for other instructions.
    pub const fn option(opcode: u32, t32: bool) -> Option<u8> {
        let is = match t32 {
            false => opcode & 0x0fff_fff0 == 0x0320_f0f0 && opcode >> 28 != 0xf,
            true => opcode & 0xffff_fff0 == 0xf3af_80f0,
        };
        if is { Some((opcode & 0xf) as u8) } else { None }
    }
}

/// The state of an instrumentation resource in a cycle and after it, for operations of one cycle in
/// order. (Table 2-16) A resource that is cleared in the cycle has its state for the rest of it,
/// unless `clear_at_once` and the clear is the only operation.
pub fn fold_instrumentation(
    before: bool,
    operations: &[Instrumentation],
    clear_at_once: bool,
) -> (bool, bool) {
    let any = operations.iter().any(|operation| *operation != Instrumentation::Clear);
    let after = operations.last().map_or(before, |last| *last == Instrumentation::Set);
    let alone = clear_at_once && operations.len() == 1 && !any;
    ((before && !alone) || any, after)
}

/// State that changes at the end of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Derived {
    pub counters: [u16; 4],
    /// The state of the sequencer: 1 to 3.
    pub sequencer: u8,
    /// Instrumentation resources in this cycle: bit n is resource n + 1.
    pub instrumentation_now: u8,
    /// Instrumentation resources after this cycle.
    instrumentation: u8,
    /// Instrumentation resources that a set or a pulse has activated in this cycle.
    activated: u8,
    /// The trigger has occurred, and does not occur again.
    triggered: bool,
    /// Counters and sequencer are not known.
    pub unknown: bool,
}

impl Derived {
    pub fn new(settings: &Settings) -> Derived {
        let later = settings.unit.version >= Version::V3_1;
        let mut counters = [0; 4];
        for (n, counter) in (0..).zip(&mut counters) {
            let written = settings.get(number::COUNT + n).filter(|_| later);
            *counter = written.unwrap_or(settings.value(number::RELOAD_VALUE + n)) as u16;
        }
        let state = settings.get(number::SEQUENCER_STATE).filter(|_| later).unwrap_or(0);
        let triggered = later && settings.value(number::STATUS) >> 3 & 1 != 0;
        Derived {
            counters,
            sequencer: (state & 0b11) as u8 + 1,
            instrumentation_now: 0,
            instrumentation: 0,
            activated: 0,
            triggered,
            unknown: false,
        }
    }

    /// A cycle begins.
    pub fn begin_cycle(&mut self) {
        self.activated = 0;
    }

    /// A DBG hint in this cycle.
    pub fn hint(&mut self, option: u8, resources: u8, clear_at_once: bool) {
        let Some((operation, n)) = Instrumentation::of(option).filter(|(_, n)| *n <= resources)
        else {
            return;
        };
        let bit = 1 << (n - 1);
        let before = self.instrumentation & bit != 0;
        let (now, after) = fold_instrumentation(before, &[operation], clear_at_once);
        // A resource that one operation of the cycle activates is active for the whole cycle.
        if operation != Instrumentation::Clear {
            self.activated |= bit;
        }
        match now || self.activated & bit != 0 {
            true => self.instrumentation_now |= bit,
            false => self.instrumentation_now &= !bit,
        }
        match after {
            true => self.instrumentation |= bit,
            false => self.instrumentation &= !bit,
        }
    }

    /// The state after a cycle in which `active` gives the resources that the event of a register
    /// sees; what happens; and the rule
    /// that makes the behaviour UNPREDICTABLE.
    pub fn step(
        self,
        settings: &Settings,
        active: &dyn Fn(u16, Resource) -> bool,
    ) -> (Derived, CycleEnd, Option<&'static str>) {
        let unit = &settings.unit;
        let mut next = self;
        let event = |number: u16| {
            settings.event(number).map(|event| event.value(|resource| active(number, resource)))
        };
        for n in 0..u16::from(unit.counters) {
            let Some(counter) = next.counters.get_mut(usize::from(n)) else { continue };
            let enable = settings.value(number::COUNT_ENABLE + n);
            // Bit 17 of ETMv1, and a counter with a reduced function: it always counts.
            let free = unit.version < Version::V2_0 && enable >> 17 & 1 == 0
                || n == 0 && unit.reduced_counter;
            let enabled = free || event(number::COUNT_ENABLE + n) == Some(true);
            if event(number::RELOAD_EVENT + n) == Some(true) {
                *counter = settings.value(number::RELOAD_VALUE + n) as u16;
            } else if enabled {
                *counter = counter.saturating_sub(1);
            }
        }
        let mut rule = None;
        if unit.sequencer {
            // The transitions from each state, and the states that they lead to.
            let (first, second) = match self.sequencer {
                1 => ((0, 2), (5, 3)),
                2 => ((1, 1), (2, 3)),
                _ => ((3, 1), (4, 2)),
            };
            let moves = |n: u16| event(number::SEQUENCER + n);
            match (moves(first.0), moves(second.0)) {
                (Some(true), Some(false)) => next.sequencer = first.1,
                (Some(false), Some(true)) => next.sequencer = second.1,
                (Some(_), Some(_)) => {}
                _ if uses_sequencer(settings) => {
                    rule = Some("a transition of the sequencer is not programmed");
                }
                _ => {}
            }
        }
        next.instrumentation_now = next.instrumentation;
        let fires = event(number::TRIGGER) == Some(true) && !self.triggered;
        next.triggered |= fires;
        let outputs = (0..u16::from(unit.outputs))
            .filter(|n| event(number::OUTPUT_EVENT + n) == Some(true))
            .fold(0, |all, n| all | 1 << n);
        let debug_request = fires && settings.control().debug_request();
        (next, CycleEnd { trigger: fires, debug_request, outputs, fifofull: None }, rule)
    }
}

/// Whether an event that has an effect uses the sequencer.
fn uses_sequencer(settings: &Settings) -> bool {
    let all = [number::TRIGGER, number::TRACE_ENABLE_EVENT, number::VIEW_DATA_EVENT].into_iter();
    let all = all.chain((0..u16::from(settings.unit.outputs)).map(|n| number::OUTPUT_EVENT + n));
    all.filter_map(|number| settings.event(number))
        .flat_map(Event::resources)
        .any(|resource| matches!(resource, Resource::Sequencer(_)))
}
