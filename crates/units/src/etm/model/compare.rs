//! Address, data value and context ID comparators. (IHI 0014, 2.2.1, 2.7 and 2.8)

use super::{Item, Model, Transfer, Tri};
use crate::etm::settings::{AccessKind, AccessType, Comparator, DataMatch, number};
use crate::etm::version::Version;

/// What happens to a data transfer, for data value comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataOutcome {
    /// A synchronous data abort, or a store-exclusive that fails.
    Failed,
    /// The value is equal to that of the comparator.
    Equal,
    /// The value is different.
    NotEqual,
}

/// The result of a data value comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataResult {
    /// The comparator matches or not, at once.
    Now(bool),
    /// The comparator waits for the value, and then matches or not.
    Waits(bool),
}

/// The result of a data value comparison. (Table 2-5, and Table 2-6 where `out_of_order`)
pub fn data_result(
    mode: DataMatch,
    exact: bool,
    outcome: DataOutcome,
    out_of_order: bool,
    version: Version,
) -> DataResult {
    use DataOutcome::{Equal, Failed, NotEqual};
    let compared = match (mode, outcome) {
        (_, Failed) => !exact,
        (DataMatch::Off, _) => true,
        (DataMatch::Equal, outcome) => outcome == Equal,
        (DataMatch::NotEqual | DataMatch::Reserved, outcome) => outcome == NotEqual,
    };
    match (out_of_order, exact) {
        (false, _) => DataResult::Now(compared),
        // The value is assumed to match.
        (true, false) => DataResult::Now(true),
        (true, true) if mode == DataMatch::Off && version < Version::V3_1 => DataResult::Now(true),
        (true, true) => DataResult::Waits(compared),
    }
}

/// Whether the value of `transfer` is equal to that of `comparator`. A range has comparison sizes
/// that must be those of the transfer. (2.8)
pub fn value_equal(
    comparator: Comparator,
    transfer: &Transfer,
    range: bool,
    version: Version,
) -> Tri {
    let (Some((want, mask)), Some(size)) = (comparator.data, comparator.kind.size()) else {
        return Tri::Maybe;
    };
    let Some(value) = transfer.value else { return Tri::Maybe };
    if version >= Version::V3_3 {
        let fits = if range { transfer.size == size } else { transfer.size >= size };
        if !fits || !transfer.address.is_multiple_of(u32::from(size)) {
            return Tri::No;
        }
        // The bytes at the comparison address; in a range those of the transfer.
        let at = if range { transfer.address } else { comparator.address };
        let part = (0..u32::from(size)).try_fold(0u32, |all, n| {
            let byte = u32::from(transfer.byte(at.wrapping_add(n))?);
            let place = if transfer.big_endian { u32::from(size) - 1 - n } else { n };
            Some(all | byte << (8 * place))
        });
        let Some(part) = part else { return Tri::No };
        let bits = u32::MAX >> (32 - 8 * u32::from(size));
        return Tri::from((part ^ want) & !mask & bits == 0);
    }
    let bits = u32::MAX >> (32 - 8 * u32::from(transfer.size.clamp(1, 4)));
    // ETMv1 compares the data bus, on which the byte at offset n is in bits 8n + 7 to 8n, or from
    // the other end if the processor is big-endian.
    let (value, valid) = match version < Version::V2_0 {
        false => (value & bits, bits),
        true => {
            let offset = 8 * (transfer.address & 3);
            let width = 8 * u32::from(transfer.size.clamp(1, 4));
            let shift = match transfer.big_endian {
                false => offset,
                true => (32u32).saturating_sub(width + offset),
            };
            (value.checked_shl(shift).unwrap_or(0), bits.checked_shl(shift).unwrap_or(0))
        }
    };
    match (value ^ want) & !mask & valid {
        // Bits that are compared and are not part of the transfer have any value.
        0 if !mask & !valid != 0 => Tri::Maybe,
        0 => Tri::Yes,
        _ => Tri::No,
    }
}

impl Model {
    /// Evaluates all comparators for `item`, and stores what they report with held states.
    pub(super) fn compare(&mut self, item: &Item) {
        let unit = self.settings.unit;
        if let Item::Instruction(instruction) = item {
            if self.instruction.is_some() && self.active.context != instruction.context {
                self.context.before = self.active.context;
                self.context.window = self.choices.imprecise_cycles;
            }
            self.active.context = instruction.context;
            self.active.vmid = instruction.vmid;
            self.active.non_secure = instruction.non_secure;
            self.active.level = instruction.level;
            self.active.prohibited = instruction.prohibited;
            if let Some(hint) = instruction.hint
                && instruction.passed
                && !instruction.cancelled
                && !instruction.prohibited
                && (instruction.level != Some(0)
                    || !self.settings.control().privileged_instrumentation())
            {
                let choice = self.choices.clear_at_once;
                self.derived.hint(hint, unit.instrumentation, choice);
            }
        }
        let (mut single, mut maybe) = (0u16, 0u16);
        for n in 1..=unit.comparators() {
            match self.single(n, item) {
                Tri::Yes => single |= 1 << (n - 1),
                Tri::Maybe => maybe |= 1 << (n - 1),
                Tri::No => {}
            }
        }
        for n in 1..=unit.pairs {
            let bit = 1u8 << (n - 1);
            let Some(matched) = self.range(n, item) else { continue };
            self.held.ranges &= !bit;
            self.held.maybe_ranges &= !bit;
            match matched {
                Tri::Yes => self.held.ranges |= bit,
                Tri::Maybe => self.held.maybe_ranges |= bit,
                Tri::No => {}
            }
        }
        self.held.single = single;
        self.held.maybe_single = maybe;
    }

    /// Single address comparators fire: they match for one cycle. Range comparators with exact
    /// match do so from ETMv3.3. (Tables 2-7 to 2-9)
    pub(super) fn fire(&mut self) {
        self.held.single = 0;
        self.held.maybe_single = 0;
        let version = self.settings.unit.version;
        for n in 1..=self.settings.unit.pairs {
            let exact = self.settings.comparator(2 * n - 1).kind.exact(version);
            if exact && (version >= Version::V3_3 || !self.choices.exact_range_holds) {
                self.held.ranges &= !(1 << (n - 1));
                self.held.maybe_ranges &= !(1 << (n - 1));
            }
        }
    }

    /// Whether comparator `n` compares executed instructions with exact match. ETMv1 always does so
    /// for events. (Table 2-4, 2.7.5)
    pub(super) fn exact_instruction(&self, n: u8) -> bool {
        let version = self.settings.unit.version;
        let kind = self.settings.comparator(n).kind;
        let executed =
            matches!(kind.kind(), AccessKind::Execute | AccessKind::Passed | AccessKind::Failed);
        executed && (version < Version::V2_0 || kind.exact(version))
    }

    /// Address comparator `n`, with its data value comparator where the registers of the latter are
    /// known.
    fn comparator(&self, n: u8) -> Comparator {
        let comparator = self.settings.comparator(n);
        let known = self.knows(number::DATA_VALUE, n) && self.knows(number::DATA_MASK, n);
        Comparator { data: comparator.data.filter(|_| known), ..comparator }
    }

    /// Whether the value of the register of address comparator `n` is known, of those from `first`.
    fn knows(&self, first: u16, n: u8) -> bool {
        self.settings.get(first + u16::from(n) - 1).is_some()
    }

    /// Whether the address of single address comparator `n`, its access type and all that qualifies
    /// it match `item`.
    fn single(&self, n: u8, item: &Item) -> Tri {
        let comparator = self.comparator(n);
        let version = self.settings.unit.version;
        let kind = comparator.kind;
        let known = self.knows(number::ACCESS_TYPE, n);
        // An address against that of the comparator.
        let compared = |matches| match self.knows(number::ADDRESS, n) {
            true => Tri::from(matches),
            false => Tri::Maybe,
        };
        match item {
            Item::Instruction(instruction) => {
                if instruction.prohibited {
                    return Tri::No;
                }
                let address = compared(instruction.address == comparator.address);
                if !known {
                    return address.and(Tri::Maybe);
                }
                if kind.is_data() {
                    return Tri::No;
                }
                let executed = match kind.kind() {
                    AccessKind::Fetch | AccessKind::Execute => Tri::Yes,
                    AccessKind::Passed => Tri::from(instruction.passed),
                    AccessKind::Failed => Tri::from(!instruction.passed),
                    _ => Tri::Maybe,
                };
                let exact = kind.exact(version) && kind.kind() != AccessKind::Fetch;
                let cancelled = Tri::from(exact && instruction.cancelled);
                executed.and(address).and(cancelled.not()).and(self.qualified(comparator))
            }
            Item::Data(_) | Item::Returned(_) if !known => Tri::Maybe,
            Item::Data(transfer) | Item::Returned(transfer) => {
                let mut address = self.access(comparator, transfer);
                if version >= Version::V3_1 {
                    // Any byte of the transfer in the byte, halfword or word.
                    let size = u64::from(kind.size().unwrap_or(1));
                    let from = u64::from(comparator.address);
                    let (first, end) = extent(transfer);
                    address = address.and(compared(first < from + size && from < end));
                } else {
                    // The low bits are masked.
                    let mask = u32::from(kind.size().unwrap_or(1)) - 1;
                    let same = transfer.address & !mask == comparator.address;
                    address = address.and(compared(same));
                }
                let returned = matches!(item, Item::Returned(_));
                let value = self.value(comparator, transfer, returned, false);
                address.and(value).and(self.qualified(comparator))
            }
            Item::Coprocessor => Tri::No,
        }
    }

    /// Whether the access type matches a transfer.
    fn access(&self, comparator: Comparator, transfer: &Transfer) -> Tri {
        let store = transfer.store.map_or(Tri::Maybe, Tri::from);
        match comparator.kind.kind() {
            AccessKind::LoadStore => Tri::Yes,
            AccessKind::Load => store.not(),
            AccessKind::Store => store,
            AccessKind::Reserved => Tri::Maybe,
            _ => Tri::No,
        }
    }

    /// Whether a comparator waits for the value of an out-of-order transfer. (Table 2-6)
    fn waits(&self, kind: AccessType) -> bool {
        let version = self.settings.unit.version;
        let outcome = DataOutcome::Equal;
        let result = data_result(kind.data(), kind.exact(version), outcome, true, version);
        matches!(result, DataResult::Waits(_))
    }

    /// The data value comparison of a transfer, or of one whose value has `returned`.
    fn value(
        &self,
        comparator: Comparator,
        transfer: &Transfer,
        returned: bool,
        range: bool,
    ) -> Tri {
        let version = self.settings.unit.version;
        let mode = comparator.kind.data();
        let exact = comparator.kind.exact(version);
        let late = returned || transfer.out_of_order;
        let result = |outcome| match data_result(mode, exact, outcome, late, version) {
            DataResult::Now(matches) => Tri::from(matches && !returned),
            DataResult::Waits(matches) => Tri::from(matches && returned),
        };
        if transfer.failed {
            return result(DataOutcome::Failed);
        }
        let (equal, other) = (result(DataOutcome::Equal), result(DataOutcome::NotEqual));
        match value_equal(comparator, transfer, range, version) {
            _ if equal == other => equal,
            // A size that no comparison accepts is neither equal nor different.
            Tri::No if version >= Version::V3_3 && !comparable(comparator, transfer, range) => {
                Tri::No
            }
            Tri::Yes => equal,
            Tri::No => other,
            Tri::Maybe => Tri::Maybe,
        }
    }

    /// Whether the context ID, the security state and the mode match those of the last instruction.
    fn qualified(&self, comparator: Comparator) -> Tri {
        let version = self.settings.unit.version;
        let context = match comparator.kind.context(version) {
            Some(n) => self.context_matches(n, self.active.context),
            None => Tri::Yes,
        };
        let kind = comparator.kind;
        let modes = kind.modes(self.active.non_secure, version);
        let hyp = kind.hyp(version).filter(|_| self.active.non_secure);
        let at = |level| match (level, hyp) {
            (2, Some(matches)) => matches,
            _ => modes.has(level > 0),
        };
        let mode = match self.active.level {
            Some(level) => Tri::from(at(level)),
            None => Tri::of([0, 1, 2].into_iter().all(at), [0, 1, 2].into_iter().any(at)),
        };
        let machine = match kind.vmid(version) {
            true => self.vmid_matches(self.active.vmid),
            false => Tri::Yes,
        };
        context.and(mode).and(machine)
    }

    /// Whether address range comparator `n` matches `item`. `None` where it retains its state: an
    /// instruction range holds it until the next instruction, a data range until the next data.
    fn range(&mut self, n: u8, item: &Item) -> Option<Tri> {
        let (low, high) = (self.comparator(2 * n - 1), self.comparator(2 * n));
        let known = self.knows(number::ACCESS_TYPE, 2 * n - 1);
        let from = u64::from(low.address);
        let top = high.address == u32::MAX && high.kind.size() == Some(4);
        let end = if top { 1 << 32 } else { u64::from(high.address) };
        let version = self.settings.unit.version;
        // Whether something with these first and last addresses is inside. The access types of the
        // two comparators must be identical. (2.7.7)
        let inside = |first: u64, last: u64| {
            let at_least = match self.knows(number::ADDRESS, 2 * n - 1) {
                true => Tri::from(from <= last),
                false => Tri::Maybe,
            };
            let below = match self.knows(number::ADDRESS, 2 * n) {
                true => Tri::from(first < end),
                false => Tri::Maybe,
            };
            let types = Tri::of(self.knows(number::ACCESS_TYPE, 2 * n), true);
            at_least.and(below).and(types)
        };
        match item {
            Item::Instruction(instruction) => {
                if known && low.kind.is_data() {
                    return None;
                }
                if instruction.prohibited {
                    return known.then_some(Tri::No);
                }
                let executed = match low.kind.kind() {
                    AccessKind::Passed => Tri::from(instruction.passed),
                    AccessKind::Failed => Tri::from(!instruction.passed),
                    AccessKind::Reserved => Tri::Maybe,
                    _ => Tri::Yes,
                };
                let address = u64::from(instruction.address);
                let cancelled = instruction.cancelled && low.kind.exact(version);
                let inside = inside(address, address).and(Tri::from(!cancelled));
                if !known {
                    return Some(inside.and(Tri::Maybe));
                }
                Some(executed.and(inside).and(self.qualified(low)))
            }
            Item::Data(transfer) | Item::Returned(transfer) => {
                if !known {
                    return Some(Tri::Maybe);
                }
                let returned = matches!(item, Item::Returned(_));
                if !low.kind.is_data() || returned && !self.waits(low.kind) {
                    return None;
                }
                let (first, end) = extent(transfer);
                let last = if version >= Version::V3_1 { end - 1 } else { first };
                let inside = inside(first, last);
                let value = self.value(low, transfer, returned, true);
                let access = self.access(low, transfer);
                Some(access.and(inside).and(value).and(self.qualified(low)))
            }
            // A coprocessor register transfer has no address. (2.7.9)
            Item::Coprocessor => (known && low.kind.is_data()).then_some(Tri::No),
        }
    }
}

/// Whether the size and the alignment of `transfer` permit a comparison from ETMv3.3. (2.8.3)
fn comparable(comparator: Comparator, transfer: &Transfer, range: bool) -> bool {
    let size = comparator.kind.size().unwrap_or(4);
    let fits = if range { transfer.size == size } else { transfer.size >= size };
    fits && transfer.address.is_multiple_of(u32::from(size))
}

/// The first address of a transfer, and the address after its last byte.
fn extent(transfer: &Transfer) -> (u64, u64) {
    let first = u64::from(transfer.address);
    (first, first + u64::from(transfer.size.max(1)))
}
