//! Rules on address, data value and context ID comparators. Only comparators that something uses
//! are checked.

use super::Lint;
use crate::etm::event::Resource;
use crate::etm::settings::{AccessKind, DataMatch, Modes, Selection, number};
use crate::etm::version::Version;

impl Lint<'_> {
    /// The single address comparators that are used: alone, and as parts of ranges.
    fn used(&self) -> (u32, u32) {
        let settings = self.settings;
        let mut all = [settings.trace_enable()].to_vec();
        if settings.control().data() {
            all.extend([settings.view_includes(), settings.view_excludes()]);
        }
        let mut single = all.iter().fold(0, |bits, selection| bits | selection.single);
        let mut ranges = all.iter().fold(0, |bits, selection| bits | selection.ranges);
        if self.uses_start_stop() {
            let value = settings.value(number::START_STOP);
            single |= value & 0xffff | value >> 16;
        }
        if settings.control().stall() {
            ranges |= settings.value(number::FIFOFULL_REGION) & 0xff;
        }
        for (_, event) in self.settings.events() {
            for resource in event.resources() {
                match resource {
                    Resource::Address(n) => single |= 1 << (n - 1),
                    Resource::Range(n) => ranges |= 1 << (n - 1),
                    _ => {}
                }
            }
        }
        let comparators = (1u32 << settings.unit.comparators()) - 1;
        (single & comparators, ranges & ((1 << settings.unit.pairs) - 1))
    }

    /// Whether the start/stop block has an effect.
    pub(super) fn uses_start_stop(&self) -> bool {
        self.settings.uses_start_stop()
    }

    pub(super) fn comparators(&mut self) {
        let settings = self.settings;
        let unit = settings.unit;
        for n in unit.comparators() + 1..=16 {
            let at = u16::from(n - 1);
            for number in [number::ADDRESS + at, number::ACCESS_TYPE + at] {
                if settings.get(number).is_some_and(|value| value != 0) {
                    self.find(
                        "comparator-missing",
                        number,
                        format!("the unit has {} address comparators", unit.comparators()),
                        "use a comparator that exists",
                        "IHI 0014, 3.5.2",
                    );
                }
            }
        }
        let (single, ranges) = self.used();
        let all = Selection { single, ranges, memory_map: 0 }.comparators();
        for n in Selection::numbers(all).filter(|n| settings.knows_comparator(*n)) {
            // Only the first comparator of a range has a data value comparison.
            let in_range = ranges >> ((n - 1) / 2) & 1 != 0;
            let alone = single >> (n - 1) & 1 != 0;
            self.comparator(n, in_range, alone);
        }
        for n in Selection::numbers(ranges) {
            self.range(n);
        }
        if let Some(mask) = settings.get(number::CONTEXT_MASK) {
            for n in 0..u16::from(unit.context_comparators) {
                if settings.get(number::CONTEXT + n).is_some_and(|value| value & mask != 0) {
                    self.masked(number::CONTEXT + n, mask, "IHI 0014, 3.5.15");
                }
            }
        }
    }

    fn masked(&mut self, number: u16, mask: u32, section: &'static str) {
        self.find(
            "masked-bits",
            number,
            format!("bits under the mask {mask:#x} are not 0"),
            "clear the bits that are not compared",
            section,
        );
    }

    /// Values of the access type of comparator `n` that the version or the unit does not have.
    fn access_type(&mut self, n: u8) {
        let settings = self.settings;
        let (unit, version) = (settings.unit, settings.unit.version);
        let kind = settings.comparator(n).kind;
        let at = number::ACCESS_TYPE + u16::from(n - 1);
        let section = "IHI 0014, 3.5.10, Table 3-27";
        let mut invalid = Vec::new();
        match kind.kind() {
            AccessKind::Reserved => invalid.push("access type 7 is reserved".to_owned()),
            AccessKind::Passed | AccessKind::Failed if version < Version::V1_2 => {
                invalid.push("conditions are compared from ETMv1.2".into());
            }
            AccessKind::Fetch if !unit.fetches => {
                invalid.push("the unit does not compare fetches (ETMSCR bit 17)".into());
            }
            _ => {}
        }
        match kind.size() {
            None => invalid.push("size 2 is reserved".into()),
            Some(1) if !kind.is_data() && version < Version::V1_3 => {
                invalid.push("Jazelle instructions are compared from ETMv1.3".into());
            }
            _ => {}
        }
        match kind.data() {
            DataMatch::Reserved => invalid.push("data value comparison 2 is reserved".into()),
            DataMatch::NotEqual if version < Version::V1_2 => {
                invalid.push("values are compared for being different from ETMv1.2".into());
            }
            _ => {}
        }
        let never = [false, true].map(|state| kind.modes(state, version)) == [Modes::None; 2];
        if never && version < Version::V3_5 {
            invalid.push("security state 3 is reserved".into());
        }
        for what in invalid {
            self.find("access-type", at, what, "write a value of the table", section);
        }
    }

    fn comparator(&mut self, n: u8, in_range: bool, alone: bool) {
        self.access_type(n);
        let settings = self.settings;
        let (unit, version) = (settings.unit, settings.unit.version);
        let comparator = settings.comparator(n);
        let kind = comparator.kind;
        let at = number::ACCESS_TYPE + u16::from(n - 1);
        if !kind.is_data() && kind.data() != DataMatch::Off {
            self.find(
                "value-of-instruction",
                at,
                "an instruction comparator with a data value comparison is UNPREDICTABLE",
                "clear bits 6:5",
                "IHI 0014, 3.5.10",
            );
        }
        if kind.is_data() && !unit.data_addresses {
            self.find(
                "data-address-missing",
                at,
                "the unit does not compare data addresses (ETMCCER bit 12)",
                "compare data with a watchpoint comparator of the processor",
                "IHI 0014, 2.2.1",
            );
        }
        let size = u32::from(kind.size().unwrap_or(1));
        // The end of a range to the last address is 0xffffffff with any alignment.
        let top = comparator.address == u32::MAX && in_range && n.is_multiple_of(2);
        if kind.is_data() && !comparator.address.is_multiple_of(size) && !top {
            self.find(
                "data-alignment",
                number::ADDRESS + u16::from(n - 1),
                format!("{:#x} is not a multiple of the size, {size} bytes", comparator.address),
                "write an aligned address, or another size",
                "IHI 0014, 2.7.1",
            );
        }
        if let Some(context) = kind.context(version).filter(|c| *c > unit.context_comparators) {
            self.find(
                "comparator-missing",
                at,
                format!("context ID comparator {context} does not exist"),
                format!("the unit has {}", unit.context_comparators),
                "IHI 0014, 3.5.2",
            );
        }
        let compares =
            kind.is_data() && matches!(kind.data(), DataMatch::Equal | DataMatch::NotEqual);
        if !compares {
            return;
        }
        if in_range && !alone && n.is_multiple_of(2) {
            self.find(
                "range-types",
                at,
                "a data value comparison is selected in the second comparator of a range",
                "write bits 6:5 to the first access type only",
                "IHI 0014, 2.7.7 and 3.5.10",
            );
            return;
        }
        match comparator.data {
            None => self.find(
                "comparator-missing",
                at,
                format!("address comparator {n} has no data value comparator"),
                "use an address comparator with an odd number among the first",
                "IHI 0014, 3.5.11",
            ),
            Some((value, mask)) => self.value(n, value, mask, size, in_range && !alone),
        }
    }

    fn value(&mut self, n: u8, value: u32, mask: u32, size: u32, in_range: bool) {
        let version = self.settings.unit.version;
        let at = number::DATA_VALUE + u16::from((n - 1) & !1);
        if value & mask != 0 {
            self.masked(at, mask, "IHI 0014, 3.5.11");
        }
        if size == 4 {
            return;
        }
        let bits = size * 8;
        let low = (1u32 << bits) - 1;
        let (what, remedy) = if version >= Version::V3_3 {
            let copies = u32::MAX / low;
            if (value & low) * copies == value && (mask & low) * copies == mask {
                return;
            }
            ("value and mask are not the same in all bytes or halfwords", "repeat them")
        } else if version >= Version::V2_0 {
            if mask | low == u32::MAX {
                return;
            }
            ("the upper bits of a byte or halfword are compared", "set the upper bits of the mask")
        } else {
            if in_range {
                self.find(
                    "value-width",
                    at,
                    "ETMv1 cannot compare bytes or halfwords in a range",
                    "compare words, or single addresses",
                    "IHI 0014, 2.8.1",
                );
                return;
            }
            // The bits of the data bus on which the processor transfers the address: bits 7:0 for
            // offset 0 if it is little-endian, bits 31:24 if it is big-endian.
            let address = self.settings.comparator(n).address & 3;
            let little = low << (8 * address);
            let big = low << (32 - bits - 8 * address);
            if mask == !little || mask == !big {
                return;
            }
            (
                "the mask does not select the bits of the data bus that this address uses",
                "mask all other bits",
            )
        };
        self.find("value-width", at, what, remedy, "IHI 0014, 2.8, Tables 2-11 to 2-13");
    }

    fn range(&mut self, n: u8) {
        let settings = self.settings;
        let (first, second) = (2 * n - 1, 2 * n);
        if !settings.knows_comparator(first) || !settings.knows_comparator(second) {
            return;
        }
        let (low, high) = (settings.comparator(first), settings.comparator(second));
        let at = number::ACCESS_TYPE + u16::from(second - 1);
        let last = high.address == u32::MAX;
        // Data value comparison is in the first only; the size may differ at the last address.
        let ignored = 0b110_0000 | if last { 0b1_1000 } else { 0 };
        if (low.kind.0 ^ high.kind.0) & 0xffff & !ignored != 0 {
            self.find(
                "range-types",
                at,
                format!(
                    "{:#x} differs from {:#x} of the start of the range",
                    high.kind.0, low.kind.0
                ),
                "write the same access type to both, but bits 6:5 to the first only",
                "IHI 0014, 3.5.10",
            );
        }
        if high.address <= low.address {
            self.find(
                "range-order",
                number::ADDRESS + u16::from(second - 1),
                format!("the end {:#x} is not above the start {:#x}", high.address, low.address),
                "write the address after the last",
                "IHI 0014, 3.5.10",
            );
        }
        if last && high.kind.size() != Some(4) {
            self.find(
                "range-top",
                at,
                "the range ends before 0xffffffff, which does not match",
                "write size 3 to the second access type to include it",
                "IHI 0014, 3.5.10",
            );
        }
    }
}
