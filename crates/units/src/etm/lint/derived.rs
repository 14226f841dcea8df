//! Rules on events, counters, the sequencer and inputs.

use super::Lint;
use crate::etm::event::{Function, Resource};
use crate::etm::settings::number;
use crate::etm::version::Version;

impl Lint<'_> {
    pub(super) fn derived(&mut self) {
        self.events_exist();
        self.sequencer();
        self.counters();
        self.inputs();
    }

    fn events_exist(&mut self) {
        let unit = self.settings.unit;
        for (number, event) in self.settings.events() {
            for resource in event.resources().filter(|resource| !resource.exists(&unit)) {
                let what = match (resource, resource.first()) {
                    (Resource::Reserved(bits), _) => format!("resource {bits:#04x} is reserved"),
                    (_, Some(first)) if first > unit.version => {
                        format!("{resource} exists from {first}")
                    }
                    _ => format!("the unit has no {resource}"),
                };
                self.find(
                    "event-resource",
                    number,
                    what,
                    "use a resource that exists",
                    "IHI 0014, 3.6.1, Table 3-81",
                );
            }
        }
    }

    fn sequencer(&mut self) {
        let settings = self.settings;
        if !settings.unit.sequencer {
            return;
        }
        if settings.get(number::SEQUENCER_STATE).is_some_and(|state| state & 0b11 == 0b11) {
            self.find(
                "reserved-value",
                number::SEQUENCER_STATE,
                "state 3 (0b11) is reserved",
                "write 0, 1 or 2",
                "IHI 0014, 3.5.13",
            );
        }
        let used = self.uses(|resource| matches!(resource, Resource::Sequencer(_)));
        if !used {
            return;
        }
        for number in number::SEQUENCER..number::SEQUENCER + 6 {
            if settings.get(number).is_none() {
                self.find(
                    "sequencer-unwritten",
                    number,
                    "an event uses the sequencer, and this transition is not written: UNPREDICTABLE",
                    "write 0x406f for a transition that never occurs",
                    "IHI 0014, 3.5.13",
                );
            }
        }
        // The two transitions from each state: 12 and 13, 21 and 23, 31 and 32.
        for (first, second) in [(0, 5), (1, 2), (3, 4)] {
            let event = |n| settings.event(number::SEQUENCER + n);
            let (Some(one), Some(other)) = (event(first), event(second)) else { continue };
            let never = |event: crate::etm::event::Event| event.constant() == Some(false);
            if !never(one) && !never(other) && one == other
                || one.constant() == Some(true) && !never(other)
                || other.constant() == Some(true) && !never(one)
            {
                self.find(
                    "sequencer-both",
                    number::SEQUENCER + second,
                    "both transitions from a state can occur together, and the state then stays",
                    "make one event exclude the other: A and not B, and B",
                    "IHI 0014, 2.2.3",
                );
            }
        }
    }

    fn counters(&mut self) {
        let settings = self.settings;
        for n in 0..u16::from(settings.unit.counters) {
            let resource = Resource::Counter(n as u8 + 1);
            if !self.uses(|used| used == resource) {
                continue;
            }
            if settings.get(number::RELOAD_VALUE + n).is_some_and(|value| value & 0xffff == 0) {
                self.find(
                    "counter-zero",
                    number::RELOAD_VALUE + n,
                    "the counter starts at 0, so that it is always at zero",
                    "write the number of cycles or events to count",
                    "IHI 0014, 2.2.3",
                );
            }
            if let Some(event) = settings.event(number::COUNT_ENABLE + n)
                && event.function == Function::Or
                && event.resources().all(|r| matches!(r, Resource::Address(_) | Resource::Range(_)))
            {
                self.find(
                    "counter-or",
                    number::COUNT_ENABLE + n,
                    "the counter counts once where both comparators match in the same cycle",
                    "count with two counters if both must count",
                    "IHI 0014, 2.11",
                );
            }
            if settings.unit.version < Version::V2_0
                && settings.get(number::COUNT_ENABLE + n).is_some_and(|v| v >> 17 & 1 == 0)
            {
                self.find(
                    "counter-free",
                    number::COUNT_ENABLE + n,
                    "bit 17 is clear: the counter counts every cycle, whatever the event",
                    "set bit 17, with event 0x6f to count always",
                    "IHI 0014, 3.5.12",
                );
            }
        }
    }

    fn inputs(&mut self) {
        let settings = self.settings;
        let unit = settings.unit;
        if let Some(value) = settings.get(number::INPUT_SELECTION) {
            for n in 0..unit.selectors {
                let input = value >> (8 * u32::from(n)) & 0xff;
                if input >= u32::from(unit.bus) {
                    self.find(
                        "input-selection",
                        number::INPUT_SELECTION,
                        format!("selector {} selects input {input} of {}", n + 1, unit.bus),
                        "select an input below the width of the bus",
                        "IHI 0014, 3.5.20",
                    );
                }
            }
        }
        let ice = settings.value(number::START_STOP_ICE);
        if ice != 0 && !unit.ice_start_stop {
            self.find(
                "ice-missing",
                number::START_STOP_ICE,
                "EmbeddedICE inputs cannot start or stop tracing in this unit (ETMCCER bit 20)",
                "write 0 or nothing",
                "IHI 0014, 3.5.21",
            );
        }
        let behaviour = settings.value(number::ICE_BEHAVIOUR);
        if behaviour != 0 && !unit.ice_behaviour {
            self.find(
                "ice-missing",
                number::ICE_BEHAVIOUR,
                "the unit does not have the register (ETMCCER bit 21)",
                "do not write it",
                "IHI 0014, 3.5.22",
            );
        }
        let existing = (1u32 << unit.ice_inputs) - 1;
        for (number, value) in [
            (number::START_STOP_ICE, (ice | ice >> 16) & 0xff),
            (number::ICE_BEHAVIOUR, behaviour & 0xff),
        ] {
            if value & !existing != 0 {
                self.find(
                    "ice-missing",
                    number,
                    format!("the unit has {} EmbeddedICE inputs", unit.ice_inputs),
                    "select an input that exists",
                    "IHI 0014, 3.5.19",
                );
            }
        }
    }
}
