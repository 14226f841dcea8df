//! Rules on TraceEnable, the start/stop block and ViewData.

use super::Lint;
use crate::etm::resources::DataTracing;
use crate::etm::settings::{AccessKind, Selection, number};

impl Lint<'_> {
    pub(super) fn trace_enable(&mut self) {
        let settings = self.settings;
        let unit = settings.unit;
        let version = unit.version;
        let selection = settings.trace_enable();
        let known = settings.get(number::TRACE_ENABLE_1).is_some();
        let includes_nothing = !settings.trace_excludes() && selection.is_empty();
        if includes_nothing && settings.unknown_trace_enable().is_empty() && unit.selects() {
            self.find(
                "includes-nothing",
                number::TRACE_ENABLE_1,
                "TraceEnable includes nothing: nothing is traced",
                "select comparators, or set bit 24 to trace everything",
                "IHI 0014, 3.5.7",
            );
        }
        for n in Selection::numbers(selection.ranges) {
            let (low, high) = (settings.comparator(2 * n - 1), settings.comparator(2 * n));
            let all = low.address == 0 && high.address == u32::MAX;
            if known && settings.trace_excludes() && all && settings.knows_comparator(2 * n) {
                self.find(
                    "excludes-all",
                    number::TRACE_ENABLE_1,
                    format!("address range {n} is all of memory, and it is excluded"),
                    "clear bit 24 to include it, or select another range",
                    "IHI 0014, 3.5.7",
                );
            }
        }
        for n in Selection::numbers(selection.comparators()) {
            if !settings.knows_comparator(n) {
                continue;
            }
            let kind = settings.comparator(n).kind;
            if settings.trace_excludes() && kind.is_data() {
                self.find(
                    "data-excludes",
                    number::TRACE_ENABLE_1,
                    format!("address comparator {n} compares data and excludes: UNPREDICTABLE"),
                    "use it in the TraceEnable event instead",
                    "IHI 0014, 2.6.4",
                );
            }
            if kind.exact(version) {
                self.find(
                    "exact-imprecise",
                    number::ACCESS_TYPE + u16::from(n - 1),
                    format!("address comparator {n} with exact match makes TraceEnable imprecise"),
                    "clear bit 7",
                    "IHI 0014, 2.6.4",
                );
            }
        }
        for n in Selection::numbers(selection.single) {
            if settings.knows_comparator(n) && !settings.comparator(n).kind.is_data() {
                self.find(
                    "single-instruction",
                    number::TRACE_ENABLE_2,
                    format!(
                        "address comparator {n} switches tracing for one instruction: each time \
                         takes a synchronisation, and tracing may go on"
                    ),
                    "use a range, or the start/stop block",
                    "IHI 0014, 2.6",
                );
            }
        }
        self.start_stop();
    }

    fn start_stop(&mut self) {
        let settings = self.settings;
        let unit = settings.unit;
        let enabled = settings.value(number::TRACE_ENABLE_1) >> 25 & 1 != 0;
        if enabled && !unit.start_stop {
            self.find(
                "start-stop-missing",
                number::TRACE_ENABLE_1,
                "the unit has no start/stop block",
                "clear bit 25",
                "IHI 0014, 3.5.7",
            );
        }
        if !self.uses_start_stop() {
            return;
        }
        let value = settings.value(number::START_STOP);
        let ice = settings.value(number::START_STOP_ICE);
        let (start, stop) = (value & 0xffff, value >> 16);
        let (ice_start, ice_stop) = (ice & 0xff, ice >> 16 & 0xff);
        if start & stop != 0 || ice_start & ice_stop != 0 {
            self.find(
                "start-and-stop",
                number::START_STOP,
                "the same comparator starts and stops: UNPREDICTABLE",
                "use two comparators",
                "IHI 0014, 2.6.4",
            );
        }
        if start | ice_start != 0 && stop | ice_stop == 0 {
            self.find(
                "start-without-stop",
                number::START_STOP,
                "nothing stops what the start/stop block starts",
                "select a comparator in bits 31:16",
                "IHI 0014, 2.6.4",
            );
        }
        for n in Selection::numbers(start | stop) {
            if !settings.knows_comparator(n) {
                continue;
            }
            let kind = settings.comparator(n).kind;
            if kind.kind() == AccessKind::Fetch {
                self.find(
                    "start-stop-fetch",
                    number::ACCESS_TYPE + u16::from(n - 1),
                    format!(
                        "address comparator {n} switches when an instruction is fetched, which \
                             may never be executed"
                    ),
                    "compare execution",
                    "IHI 0014, 2.6.4",
                );
            }
            if kind.exact(unit.version) {
                self.find(
                    "exact-imprecise",
                    number::ACCESS_TYPE + u16::from(n - 1),
                    format!("address comparator {n} with exact match switches imprecisely"),
                    "clear bit 7",
                    "IHI 0014, 2.6.4",
                );
            }
        }
    }

    pub(super) fn view_data(&mut self) {
        let settings = self.settings;
        let unit = settings.unit;
        let registers = [
            number::VIEW_DATA_EVENT,
            number::VIEW_DATA_1,
            number::VIEW_DATA_2,
            number::VIEW_DATA_3,
        ];
        if unit.data == DataTracing::None {
            for number in registers {
                if settings.get(number).is_some_and(|value| value != 0) {
                    self.find(
                        "view-without-data",
                        number,
                        "the unit does not trace data, and has no such register",
                        "do not write it",
                        "IHI 0014, 3.5.9",
                    );
                }
            }
            return;
        }
        if unit.memory_map == 0 && settings.value(number::VIEW_DATA_2) != 0 {
            self.find(
                "view-memory-map",
                number::VIEW_DATA_2,
                "the unit has no memory map decodes, and no such register",
                "write 0 or nothing",
                "IHI 0014, 3.5.2",
            );
        }
        if !settings.control().data() || settings.get(number::VIEW_DATA_3).is_none() {
            return;
        }
        let (include, exclude) = (settings.view_includes(), settings.view_excludes());
        let known = settings.unknown_view_data().is_empty();
        if known && !settings.view_excludes_only() && include.is_empty() {
            self.find(
                "view-includes-nothing",
                number::VIEW_DATA_3,
                "ViewData includes nothing: no data is traced",
                "select comparators, or set bit 16 to trace all data but what is excluded",
                "IHI 0014, 2.6.5",
            );
        }
        let used = include.comparators() | exclude.comparators();
        for n in Selection::numbers(used).filter(|n| settings.knows_comparator(*n)) {
            let kind = settings.comparator(n).kind;
            if !kind.exact(unit.version) {
                continue;
            }
            let at = number::ACCESS_TYPE + u16::from(n - 1);
            match kind.is_data() {
                true => self.find(
                    "exact-imprecise",
                    at,
                    format!("address comparator {n} with exact match makes ViewData imprecise"),
                    "clear bit 7",
                    "IHI 0014, 2.6.5",
                ),
                false => self.find(
                    "exact-instruction",
                    at,
                    format!(
                        "address comparator {n} compares instructions with exact match, which \
                             ViewData must not use"
                    ),
                    "clear bit 7",
                    "IHI 0014, 2.6.5",
                ),
            }
        }
    }
}
