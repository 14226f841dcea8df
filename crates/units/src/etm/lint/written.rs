//! Registers that have an effect and were never written: their values are unknown after a reset,
//! but for that of ETMCR. (IHI 0014, 3.4.2)

use super::Lint;
use crate::etm::event::Resource;
use crate::etm::resources::DataTracing;
use crate::etm::settings::{DataMatch, Selection, number};
use crate::etm::version::Version;

impl Lint<'_> {
    pub(super) fn written(&mut self) {
        let settings = self.settings;
        // Without settings of TraceEnable there is no program to check.
        let mut needed = vec![number::TRACE_ENABLE_EVENT, number::TRACE_ENABLE_1];
        let (unit, control) = (settings.unit, settings.control());
        if unit.version >= Version::V1_2 && unit.pairs > 0 {
            needed.push(number::TRACE_ENABLE_2);
        }
        let data = control.data() && unit.data != DataTracing::None;
        if data || control.coprocessor() && control.filter_coprocessor() {
            needed.extend([number::VIEW_DATA_EVENT, number::VIEW_DATA_1, number::VIEW_DATA_3]);
            if unit.memory_map > 0 {
                needed.push(number::VIEW_DATA_2);
            }
        }
        if self.uses_start_stop() {
            if unit.pairs > 0 {
                needed.push(number::START_STOP);
            }
            if unit.ice_start_stop {
                needed.push(number::START_STOP_ICE);
            }
        }
        if control.stall() || control.suppress() {
            needed.push(number::FIFOFULL_LEVEL);
        }
        if control.stall() {
            needed.push(number::FIFOFULL_REGION);
        }
        self.comparators_written(&mut needed, data);
        for (_, event) in self.settings.events() {
            for resource in event.resources().filter(|resource| resource.exists(&unit)) {
                if let Resource::Counter(n @ 1..=4) = resource {
                    let at = u16::from(n - 1);
                    needed.extend([
                        number::RELOAD_VALUE + at,
                        number::COUNT_ENABLE + at,
                        number::RELOAD_EVENT + at,
                    ]);
                }
                if let Resource::Extended(_) = resource {
                    needed.push(number::INPUT_SELECTION);
                }
                if let Resource::Context(n @ 1..=3) = resource {
                    needed.extend([number::CONTEXT + u16::from(n - 1), number::CONTEXT_MASK]);
                }
            }
        }
        if settings.get(number::CONTROL).is_none() {
            self.find(
                "not-written",
                number::CONTROL,
                "its value is not known; after a reset the unit is powered down, the Programming \
                 bit is set, and nothing is traced",
                "write it",
                "IHI 0014, 3.4.2 and table 3-5",
            );
        }
        needed.sort_unstable();
        needed.dedup();
        for number in needed.into_iter().filter(|number| settings.get(*number).is_none()) {
            self.find(
                "not-written",
                number,
                "the program uses this register, its value is not known, and it is unknown after a \
                 reset",
                "write it",
                "IHI 0014, 3.4.2",
            );
        }
        if settings.get(number::TRIGGER).is_none() {
            self.find(
                "trigger-not-written",
                number::TRIGGER,
                "the trigger event is unknown after a reset, and the trigger may occur at any time",
                "write 0x406f for a trigger that never occurs",
                "IHI 0014, 3.4.2",
            );
        }
    }

    fn comparators_written(&self, needed: &mut Vec<u16>, data: bool) {
        let settings = self.settings;
        let mut used = settings.trace_enable().comparators();
        if data {
            used |= settings.view_includes().comparators();
            used |= settings.view_excludes().comparators();
        }
        if self.uses_start_stop() {
            let value = settings.value(number::START_STOP);
            used |= value & 0xffff | value >> 16;
        }
        for (_, event) in self.settings.events() {
            for resource in event.resources() {
                match resource {
                    Resource::Address(n) => used |= 1 << (n - 1),
                    Resource::Range(n) => used |= 0b11 << (2 * (n - 1)),
                    _ => {}
                }
            }
        }
        used &= (1u32 << settings.unit.comparators()) - 1;
        for n in Selection::numbers(used) {
            let at = u16::from(n - 1);
            needed.extend([number::ADDRESS + at, number::ACCESS_TYPE + at]);
            let kind = settings.comparator(n).kind;
            let contexts = settings.unit.context_comparators;
            if let Some(context) = kind.context(settings.unit.version).filter(|n| *n <= contexts) {
                needed.extend([number::CONTEXT + u16::from(context - 1), number::CONTEXT_MASK]);
            }
            let compares = kind.is_data() && kind.data() != DataMatch::Off;
            if compares && settings.comparator(n).data.is_some() {
                needed.extend([number::DATA_VALUE + at, number::DATA_MASK + at]);
            }
        }
    }
}
