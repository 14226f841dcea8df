//! TraceEnable, the start/stop block, ViewData and coprocessor register transfers. (IHI 0014, 2.6.4
//! and 2.6.5)

use super::parallel::Parts;
use super::{Instruction, Item, Matches, Model, Transfer, Tri, Use};
use crate::etm::resources::DataTracing;
use crate::etm::settings::{AccessKind, AccessType, Selection, number};
use crate::etm::version::Version;
use crate::verdict::{Requirement, Verdict};

const TRACE_ENABLE: &str = "IHI 0014, 2.6.4";
const VIEW_DATA: &str = "IHI 0014, 2.6.5";

/// What was active in a cycle: a resource is active if it matched for any item. (2.11)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Active {
    pub matches: Matches,
    pub start_stop: Tri,
    pub context: Option<u32>,
    pub vmid: Option<u8>,
    pub non_secure: bool,
    pub level: Option<u8>,
    pub prohibited: bool,
    /// The cycle has items.
    pub items: bool,
}

impl Active {
    pub fn begin(&mut self) {
        self.items = false;
        self.matches.single = 0;
        self.matches.maybe_single = 0;
        self.matches.ranges = 0;
        self.matches.maybe_ranges = 0;
        // The block is active in a cycle if it is on after one of its items: a stop at the first
        // item makes it inactive. (2.11.1)
        self.start_stop = Tri::No;
    }

    pub fn add(&mut self, matches: Matches, start_stop: Tri) {
        self.items = true;
        self.matches.single |= matches.single;
        self.matches.maybe_single |= matches.maybe_single;
        self.matches.ranges |= matches.ranges;
        self.matches.maybe_ranges |= matches.maybe_ranges;
        self.start_stop = self.start_stop.or(start_stop);
    }

    pub fn remove(&mut self, single: u16) {
        self.matches.single &= !single;
        self.matches.maybe_single &= !single;
    }
}

/// A condition that changes imprecisely: in the cycle of the change, and some cycles after it, both
/// values are possible.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Change {
    /// The last value; `None` before the first.
    last: Option<Tri>,
    /// Cycles for which a change may not have taken effect.
    window: u32,
}

impl Change {
    /// The condition with the value `value`.
    fn observe(&mut self, value: Tri, cycles: u32) -> Tri {
        if self.last.is_some_and(|last| last != value) {
            self.window = cycles;
        }
        self.last = Some(value);
        if self.window > 0 { Tri::Maybe } else { value }
    }

    pub fn end_cycle(&mut self) {
        self.window = self.window.saturating_sub(1);
    }
}

/// The context ID before its last change, and the cycles for which the change may not have taken
/// effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ContextChange {
    pub before: Option<u32>,
    pub window: u32,
}

/// The last instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Traced {
    pub verdict: Verdict,
    pub prohibited: bool,
    /// TraceEnable for the instruction and its data so far.
    enabled: Tri,
    /// What the comparators reported of the instruction itself.
    matches: Matches,
    /// The verdict on the first transfer.
    first: Option<Verdict>,
    /// The rest of its data is suppressed.
    pub suppressed: bool,
}

impl Model {
    /// Start and stop signals of the address comparators. (2.6.4, 2.11.1)
    pub(super) fn update_start_stop(&mut self) {
        if !self.uses_start_stop {
            return;
        }
        let Some(value) = self.settings.get(number::START_STOP) else {
            let any = Tri::of(false, self.held.single | self.held.maybe_single != 0);
            return self.switch(any, any);
        };
        let both = value & value >> 16 & 0xffff;
        if both & u32::from(self.held.single) != 0 {
            self.unpredictable.get_or_insert("the same comparator starts and stops tracing");
            self.start_stop = Tri::Maybe;
            return;
        }
        let any = |bits: u32| {
            let bits = bits as u16;
            Tri::of(self.held.single & bits != 0, self.held.maybe_single & bits != 0)
        };
        self.switch(any(value & 0xffff), any(value >> 16));
    }

    /// Start and stop signals of the EmbeddedICE inputs.
    pub(super) fn ice_start_stop(&mut self, inputs: u8) {
        if !self.settings.unit.ice_start_stop || !self.uses_start_stop {
            return;
        }
        let of = |low: u32| match self.settings.get(number::START_STOP_ICE) {
            Some(value) => Tri::from((value >> low) as u8 & inputs != 0),
            None => Tri::of(false, inputs != 0),
        };
        let (start, stop) = (of(0), of(16));
        self.switch(start, stop);
    }

    /// A start wins over a stop of the same item.
    fn switch(&mut self, start: Tri, stop: Tri) {
        self.start_stop = match (start, stop) {
            (Tri::Yes, _) => Tri::Yes,
            (Tri::No, Tri::Yes) => Tri::No,
            (Tri::No, Tri::No) => self.start_stop,
            (Tri::Maybe, Tri::Yes) => Tri::Maybe,
            (Tri::Maybe, _) => self.start_stop.or(Tri::Maybe),
            (Tri::No, Tri::Maybe) => self.start_stop.and(Tri::Maybe),
        };
    }

    /// TraceEnable for the current item, with the reason where it is not active. Instruction
    /// comparators have reported `by`.
    fn trace_enable(&mut self, by: Matches) -> (Tri, &'static str) {
        let event = self.trace_enable_event();
        let settings = &self.settings;
        let start_stop = match settings.get(number::TRACE_ENABLE_1) {
            None if settings.unit.start_stop => self.start_stop.or(Tri::Maybe),
            _ if settings.start_stop_controls() => self.start_stop,
            _ => Tri::Yes,
        };
        let selected = self.selected(by);
        let all = self.note(Parts { event, start_stop, selected });
        let reason = match all {
            Tri::Yes => "TraceEnable is active",
            _ if event == Tri::No => "the TraceEnable event is inactive",
            _ if start_stop == Tri::No => "the start/stop block is off",
            _ if selected == Tri::No && self.settings.trace_excludes() => "an excluded address",
            _ if selected == Tri::No => "not an included address",
            _ if self.settings.get(number::TRACE_ENABLE_EVENT).is_none() => {
                "the TraceEnable event is not known"
            }
            _ if self.settings.get(number::TRACE_ENABLE_1).is_none() => {
                "the value of ETMTECR1 is not known"
            }
            _ if event == Tri::Maybe => "the TraceEnable event changes, which is imprecise",
            _ if start_stop == Tri::Maybe => "the start/stop block may be on or off",
            _ => "a comparator of TraceEnable is imprecise, or its registers are not known",
        };
        (all, reason)
    }

    /// What the instruction comparators of TraceEnable report for the data of the last instruction:
    /// a specific instruction that is excluded stays excluded to the next one, from ETMv3.3.
    /// (2.6.4) Before, a single address comparator matches for one cycle. (Table 2-7)
    fn matches_for_data(&self) -> Matches {
        let mut matches = self.instruction.as_ref().map_or(self.held, |last| last.matches);
        if self.settings.unit.version < Version::V3_3 {
            matches.single &= self.active.matches.single;
            matches.maybe_single &= self.active.matches.maybe_single;
        }
        matches
    }

    /// What an address comparator reports of the current item if it compares data, and of its
    /// instruction in `by` if it compares instructions.
    fn reported(&self, n: u8, range: bool, by: Matches) -> Tri {
        let of = |matches: Matches| if range { matches.range(n) } else { matches.single(n) };
        let first = u16::from(if range { 2 * n - 1 } else { n }) - 1;
        match self.settings.get(number::ACCESS_TYPE + first).map(AccessType) {
            Some(kind) if kind.is_data() => of(self.held),
            Some(_) => of(by),
            None => of(self.held).or(of(by)),
        }
    }

    /// The include or exclude condition of TraceEnable, where instruction comparators have reported
    /// `by`.
    fn selected(&mut self, by: Matches) -> Tri {
        let settings = &self.settings;
        let version = settings.unit.version;
        let selection = settings.trace_enable();
        let excludes = settings.trace_excludes();
        if settings.get(number::TRACE_ENABLE_1).is_none() && settings.unit.selects() {
            return Tri::Maybe;
        }
        let all_known = !settings.unknown_trace_enable().contains(&number::TRACE_ENABLE_2);
        if selection.is_empty() && all_known {
            // A unit without comparators has no logic to include.
            return Tri::from(excludes || !settings.unit.selects());
        }
        let (mut precise, mut imprecise) = (Tri::of(false, !all_known), Tri::No);
        let mut unpredictable = false;
        for n in Selection::numbers(selection.single)
            .chain(Selection::numbers(selection.ranges).map(|n| 0x80 | n))
        {
            let range = n & 0x80 != 0;
            let n = n & 0x7f;
            let kind = settings.comparator(if range { 2 * n - 1 } else { n }).kind;
            let matched = self.reported(n, range, by);
            if excludes && kind.is_data() {
                unpredictable = true;
            }
            let late = kind.exact(version)
                || kind.kind() == AccessKind::Fetch
                || kind.is_data() && version < Version::V1_2;
            // Where the context ID changes, from ETMv3.0.
            let changing = kind.context(version).is_some_and(|n| {
                version >= Version::V3_0
                    && self.context.window > 0
                    && self.context_matches(n, self.context.before)
                        != self.context_matches(n, self.active.context)
            });
            let matched = if changing { Tri::Maybe } else { matched };
            match late {
                true => imprecise = imprecise.or(matched),
                false => precise = precise.or(matched),
            }
        }
        if selection.memory_map != 0 {
            let map = self.inputs.memory_map | self.inputs.memory_map_data;
            imprecise = imprecise.or(Tri::from(selection.memory_map as u16 & map != 0));
        }
        if unpredictable {
            self.unpredictable.get_or_insert("a data address comparator excludes instructions");
            return Tri::Maybe;
        }
        let mut change = self.include;
        let imprecise = change.observe(imprecise, self.choices.imprecise_cycles);
        self.include = change;
        let any = precise.or(imprecise);
        if excludes { any.not() } else { any }
    }

    /// The TraceEnable event, which changes imprecisely.
    pub(super) fn trace_enable_event(&mut self) -> Tri {
        let (event, precise) = self.event(number::TRACE_ENABLE_EVENT);
        let cycles = self.choices.imprecise_cycles;
        if precise { event } else { self.trace_enable.observe(event, cycles) }
    }

    /// The ViewData event, which changes imprecisely.
    pub(super) fn view_data_event(&mut self) -> Tri {
        let (event, precise) = self.event(number::VIEW_DATA_EVENT);
        let cycles = self.choices.imprecise_cycles;
        if precise { event } else { self.view_data.observe(event, cycles) }
    }

    /// The value of an event for the items of this cycle so far, and whether it is constant.
    fn event(&self, number: u16) -> (Tri, bool) {
        let Some(event) = self.settings.event(number) else { return (Tri::Maybe, true) };
        if let Some(value) = event.constant() {
            return (Tri::from(value), true);
        }
        let active = self.whole.as_ref().unwrap_or(&self.active);
        let state = |resource| self.resource(&self.derived, active, Use::of(number), resource);
        let a = state(event.a);
        let b = if event.function.uses_b() { state(event.b) } else { Tri::No };
        let mut values = [false; 2];
        for a in possible(a) {
            for b in possible(b) {
                if let Some(seen) = values.get_mut(usize::from(event.function.of(*a, *b))) {
                    *seen = true;
                }
            }
        }
        (Tri::of(values == [false, true], values == [true, true]), false)
    }

    pub(super) fn instruction(&mut self, instruction: &Instruction) -> Verdict {
        let (enabled, reason) = self.trace_enable(self.held);
        let verdict = match () {
            () if instruction.prohibited => Verdict {
                requirement: Requirement::MustNot,
                reason: "tracing is prohibited",
                section: "IHI 0014, 2.6.2",
            },
            () if self.settings.control().data_only() => Verdict {
                requirement: Requirement::MustNot,
                reason: "only data is traced",
                section: "IHI 0014, 3.5.1",
            },
            () => Verdict { requirement: requirement(enabled), reason, section: TRACE_ENABLE },
        };
        // The data instruction before it is the one that transfers are left of.
        self.outstanding = match (instruction.under, self.outstanding) {
            (true, None) => self.instruction,
            (true, outstanding) => outstanding,
            (false, _) => None,
        };
        let verdict = if instruction.prohibited { verdict } else { self.under(verdict) };
        self.instruction = Some(Traced {
            verdict,
            prohibited: instruction.prohibited,
            enabled,
            matches: self.held,
            first: None,
            suppressed: false,
        });
        verdict
    }

    /// Observes the second halfword of a Thumb instruction that the unit traces as two. What the
    /// comparators report of either halfword applies to the data of the instruction. (4.5.4)
    pub(super) fn second_half(&mut self, instruction: &Instruction) -> Verdict {
        let first = self.instruction;
        let verdict = self.item(&Item::Instruction(*instruction));
        let Some((first, second)) = first.zip(self.instruction.as_mut()) else { return verdict };
        second.verdict = first.verdict.stronger(second.verdict);
        second.enabled = first.enabled.or(second.enabled);
        second.matches.single |= first.matches.single;
        second.matches.maybe_single |= first.matches.maybe_single;
        second.matches.ranges |= first.matches.ranges;
        second.matches.maybe_ranges |= first.matches.maybe_ranges;
        second.verdict
    }

    /// TraceEnable for a transfer. It stays active to the end of an instruction. The instruction of
    /// a transfer that makes it active is traced.
    fn enabled_for_data(&mut self) -> (Tri, &'static str) {
        let (enabled, reason) = self.trace_enable(self.matches_for_data());
        let data_only = self.settings.control().data_only();
        let Some(instruction) = &mut self.instruction else {
            return (Tri::Maybe, "no instruction");
        };
        if data_only {
            return (enabled, reason);
        }
        let all = instruction.enabled.or(enabled);
        if all != instruction.enabled {
            instruction.enabled = all;
            instruction.verdict = Verdict {
                requirement: requirement(all),
                reason: match all {
                    Tri::Yes => "TraceEnable is active for its data",
                    _ => "TraceEnable may be active for its data",
                },
                section: TRACE_ENABLE,
            };
        }
        let reason = if all == Tri::No { "its instruction is not traced" } else { reason };
        (all, reason)
    }

    pub(super) fn data(&mut self, transfer: &Transfer) -> Verdict {
        if let Some(outstanding) = self.outstanding.filter(|_| transfer.earlier) {
            return self.earlier_data(outstanding);
        }
        let verdict = self.data_verdict();
        // ETMv1: the first transfer of an instruction decides for all of them. (2.6.4)
        match &mut self.instruction {
            Some(instruction) if self.settings.unit.version < Version::V2_0 => {
                *instruction.first.get_or_insert(verdict)
            }
            _ => verdict,
        }
    }

    /// A transfer of an instruction before the last one: instruction comparators of ViewData
    /// compare the instruction that it belongs to. One that matches an instruction executed under
    /// it may select the transfer, too. (2.11.2)
    fn earlier_data(&mut self, outstanding: Traced) -> Verdict {
        let last = self.instruction.replace(outstanding);
        let verdict = self.data_verdict();
        self.outstanding = self.instruction;
        self.instruction = last;
        if verdict.requirement != Requirement::MustNot || verdict.section != VIEW_DATA {
            return verdict;
        }
        let change = self.view_data;
        let (by_last, _) = self.view_data();
        self.view_data = change;
        match by_last {
            Tri::No => verdict,
            _ => Verdict {
                requirement: Requirement::May,
                reason: "ViewData matches an instruction executed under its instruction",
                section: "IHI 0014, 2.11.2",
            },
        }
    }

    fn data_verdict(&mut self) -> Verdict {
        let (enabled, reason) = self.enabled_for_data();
        let control = self.settings.control();
        let unit = self.settings.unit;
        let verdict = |requirement, reason, section| Verdict { requirement, reason, section };
        if !control.data() || unit.data == DataTracing::None {
            return verdict(Requirement::MustNot, "data is not traced", "IHI 0014, 3.5.1");
        }
        let (view, view_reason) = self.view_data();
        match enabled.and(view) {
            Tri::No if enabled == Tri::No => verdict(Requirement::MustNot, reason, TRACE_ENABLE),
            Tri::No => verdict(Requirement::MustNot, view_reason, VIEW_DATA),
            Tri::Maybe if enabled == Tri::Maybe => verdict(Requirement::May, reason, TRACE_ENABLE),
            Tri::Maybe => verdict(Requirement::May, view_reason, VIEW_DATA),
            Tri::Yes => self.suppressed().unwrap_or(Verdict {
                requirement: Requirement::Must,
                reason: "ViewData is active",
                section: VIEW_DATA,
            }),
        }
    }

    /// ViewData for the current transfer, with the reason where it is not active. Data comparators
    /// compare the transfer, instruction comparators the instruction that caused it.
    fn view_data(&mut self) -> (Tri, &'static str) {
        let event = self.view_data_event();
        let by = self.instruction.as_ref().map_or(Matches::default(), |i| i.matches);
        let mut forbidden = false;
        let settings = &self.settings;
        let all_known = settings.unknown_view_data().is_empty();
        let mut any = |selection: Selection| {
            let version = self.settings.unit.version;
            let map = self.inputs.memory_map | self.inputs.memory_map_data;
            let mut all = Tri::of(selection.memory_map as u16 & map != 0, !all_known);
            for n in Selection::numbers(selection.single) {
                let kind = self.settings.comparator(n).kind;
                forbidden |= !kind.is_data() && kind.exact(version);
                all = all.or(late(self.reported(n, false, by), kind.exact(version)));
            }
            for n in Selection::numbers(selection.ranges) {
                let kind = self.settings.comparator(2 * n - 1).kind;
                forbidden |= !kind.is_data() && kind.exact(version);
                all = all.or(late(self.reported(n, true, by), kind.exact(version)));
            }
            all
        };
        let excluded = any(self.settings.view_excludes());
        let included = match self.settings.get(number::VIEW_DATA_3) {
            Some(_) if self.settings.view_excludes_only() => Tri::Yes,
            Some(_) => any(self.settings.view_includes()),
            None => Tri::Maybe,
        };
        if forbidden {
            self.unpredictable
                .get_or_insert("ViewData uses an instruction comparator with exact match");
        }
        let all = event.and(included).and(excluded.not());
        let reason = match all {
            Tri::Yes => "ViewData is active",
            _ if event == Tri::No => "the ViewData event is inactive",
            _ if excluded == Tri::Yes => "ViewData excludes it",
            _ if included == Tri::No => "ViewData does not include it",
            _ if self.settings.get(number::VIEW_DATA_EVENT).is_none() => {
                "the ViewData event is not known"
            }
            _ if !all_known => "a register of ViewData is not known",
            _ if event == Tri::Maybe => "the ViewData event changes, which is imprecise",
            _ => "a comparator of ViewData is imprecise, or the address or value is unknown",
        };
        (all, reason)
    }

    /// A coprocessor register transfer. (2.6.5, Table 2-1)
    pub(super) fn coprocessor(&mut self) -> Verdict {
        let (enabled, reason) = self.enabled_for_data();
        let control = self.settings.control();
        let verdict = |requirement, reason| Verdict { requirement, reason, section: VIEW_DATA };
        let view = match (control.coprocessor(), control.filter_coprocessor()) {
            (false, false) => Tri::No,
            (false, true) => {
                self.unpredictable.get_or_insert("FilterCPRT without MonitorCPRT");
                Tri::Maybe
            }
            (true, false) => Tri::Yes,
            (true, true) => self.view_data().0,
        };
        match enabled.and(view) {
            Tri::Yes => verdict(Requirement::Must, "coprocessor register transfers are traced"),
            Tri::No if enabled == Tri::No => verdict(Requirement::MustNot, reason),
            Tri::No => {
                verdict(Requirement::MustNot, "coprocessor register transfers are not traced")
            }
            Tri::Maybe => verdict(Requirement::May, "tracing of this transfer is imprecise"),
        }
    }
}

/// A match that exact match makes late.
fn late(matched: Tri, exact: bool) -> Tri {
    if exact && matched == Tri::Yes { Tri::Maybe } else { matched }
}

fn requirement(enabled: Tri) -> Requirement {
    match enabled {
        Tri::Yes => Requirement::Must,
        Tri::No => Requirement::MustNot,
        Tri::Maybe => Requirement::May,
    }
}

const fn possible(value: Tri) -> &'static [bool] {
    match value {
        Tri::No => &[false],
        Tri::Maybe => &[false, true],
        Tri::Yes => &[true],
    }
}
