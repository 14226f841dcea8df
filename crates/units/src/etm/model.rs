//! The model of an ETM: which instructions and data accesses it traces. (IHI 0014, chapter 2)
//!
//! A cycle has items in program order: an instruction comes before its data. For each item the
//! model evaluates the comparators, then the start/stop block, then TraceEnable and ViewData. At
//! the end of a cycle it updates counters, sequencer, instrumentation resources, trigger and
//! outputs from what was active in the cycle.
//!
//! | part | here |
//! |---|---|
//! | 2.2.1, 2.7, 2.8 comparators | `compare` |
//! | 2.2.3 counters, sequencer; 2.9 instrumentation; 2.4 trigger; 2.5 outputs | `derived` |
//! | 2.6.4, 2.6.5 TraceEnable, ViewData, start/stop | `filters` |
//! | 2.6.6 FIFOFULL, data suppression | `fifo` |
//! | 2.11 parallel and outstanding instructions | `parallel` |
//! | 7.6 EmbeddedICE inputs | `ice` |
//! | cycles without instructions | `idle` |
//! | steps of an execution log | `log` |

mod compare;
mod derived;
mod fifo;
mod filters;
mod ice;
mod idle;
mod item;
mod log;
mod parallel;
mod tri;

use self::derived::Derived;
use super::event::Resource;
use super::settings::{Settings, number};
use crate::verdict::{Requirement, Verdict};

pub use compare::{DataOutcome, DataResult, data_result, value_equal};
pub use derived::{Instrumentation, fold_instrumentation};
pub use ice::Use;
pub use item::{Inputs, Instruction, Item, Transfer};
pub use log::LogFilter;
pub use tri::Tri;

/// What IHI 0014 leaves to the implementation, and the model's choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choices {
    /// An address range comparator with exact match holds its state before ETMv3.3, as is typical.
    /// (Table 2-9)
    pub exact_range_holds: bool,
    /// Cycles, with that of the change, in which an imprecise change of TraceEnable or ViewData
    /// may not have taken effect.
    pub imprecise_cycles: u32,
    /// An instrumentation resource that is cleared is inactive in the same cycle.
    pub clear_at_once: bool,
    /// FIFOFULL is asserted for any byte in the FIFO, from ETMv2.0. (2.6.6)
    pub level_ignored: bool,
    /// External outputs are inactive while non-invasive debug is disabled. (2.14)
    pub outputs_low: bool,
}

impl Default for Choices {
    fn default() -> Choices {
        Choices {
            exact_range_holds: true,
            imprecise_cycles: 1,
            clear_at_once: true,
            level_ignored: false,
            outputs_low: false,
        }
    }
}

/// What a unit does at the end of a cycle besides tracing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CycleEnd {
    /// The trigger occurs.
    pub trigger: bool,
    /// The processor is asked to enter Debug state.
    pub debug_request: bool,
    /// External outputs: bit n is output n + 1.
    pub outputs: u8,
    /// FIFOFULL is asserted: the processor is asked to stall. `None`: the level of the FIFO is not
    /// known.
    pub fifofull: Option<bool>,
}

/// What the comparators report of one item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Matches {
    /// Single address comparators that match: bit n is comparator n + 1.
    pub single: u16,
    /// Single address comparators of which it is unknown whether they match.
    pub maybe_single: u16,
    /// Address range comparators that match.
    pub ranges: u8,
    /// Address range comparators of which it is unknown.
    pub maybe_ranges: u8,
}

impl Matches {
    fn single(self, n: u8) -> Tri {
        let bit = 1 << (n - 1);
        Tri::of(self.single & bit != 0, self.maybe_single & bit != 0)
    }

    fn range(self, n: u8) -> Tri {
        let bit = 1 << (n - 1);
        Tri::of(self.ranges & bit != 0, self.maybe_ranges & bit != 0)
    }
}

/// An ETM that is programmed and enabled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// The registers.
    pub settings: Settings,
    /// What the implementation chooses.
    pub choices: Choices,
    /// Non-invasive debug is permitted (NIDEN or DBGEN).
    pub enabled: bool,
    /// The OS lock is set.
    pub os_lock: bool,
    /// The last items' matches: held states of range comparators are among them.
    held: Matches,
    /// The start/stop block is on.
    start_stop: Tri,
    /// Counters, sequencer, instrumentation resources, trigger.
    derived: Derived,
    /// What was active in this cycle.
    active: filters::Active,
    /// Precision of the filters.
    trace_enable: filters::Change,
    view_data: filters::Change,
    include: filters::Change,
    context: filters::ContextChange,
    /// The instruction whose data follows, and what is known of it.
    instruction: Option<filters::Traced>,
    /// Inputs in this cycle.
    inputs: Inputs,
    ice: ice::IceInputs,
    /// The data instruction under which the instructions after it execute.
    outstanding: Option<filters::Traced>,
    /// What is active in the whole cycle, where that is known before its end.
    whole: Option<filters::Active>,
    /// The parts of TraceEnable for the last item.
    parts: Option<parallel::Parts>,
    /// External outputs of the last cycle.
    outputs: u8,
    unpredictable: Option<&'static str>,
    /// The start/stop block has an effect.
    uses_start_stop: bool,
}

impl Model {
    /// The unit with `settings`, when the Programming bit is cleared: counters have their reload
    /// values, the sequencer is in state 1, the start/stop block is off. (3.4.4) Settings of the
    /// registers that hold this state replace it, from ETMv3.1.
    pub fn new(settings: Settings) -> Model {
        let derived = Derived::new(&settings);
        let uses_start_stop = settings.uses_start_stop();
        let later = settings.unit.version >= super::version::Version::V3_1;
        let on = later && settings.value(number::STATUS) >> 2 & 1 != 0;
        Model {
            derived,
            settings,
            choices: Choices::default(),
            enabled: true,
            os_lock: false,
            held: Matches::default(),
            start_stop: Tri::from(on),
            active: filters::Active::default(),
            trace_enable: filters::Change::default(),
            view_data: filters::Change::default(),
            include: filters::Change::default(),
            context: filters::ContextChange::default(),
            instruction: None,
            inputs: Inputs::default(),
            ice: ice::IceInputs::default(),
            outstanding: None,
            whole: None,
            parts: None,
            outputs: 0,
            unpredictable: None,
            uses_start_stop,
        }
    }

    /// The rule that makes the behaviour UNPREDICTABLE, where the program has reached one.
    pub const fn unpredictable(&self) -> Option<&'static str> {
        self.unpredictable
    }

    /// What the comparators report of the last item, with held states.
    pub const fn matches(&self) -> Matches {
        self.held
    }

    /// The value of counter `n`, from 1.
    pub fn counter(&self, n: u8) -> u16 {
        self.derived.counters.get(usize::from(n.saturating_sub(1))).copied().unwrap_or(0)
    }

    /// The state of the sequencer: 1 to 3.
    pub const fn sequencer(&self) -> u8 {
        self.derived.sequencer
    }

    /// Whether the start/stop block is on.
    pub const fn start_stop(&self) -> Tri {
        self.start_stop
    }

    /// Begins a cycle with `inputs`.
    pub fn begin_cycle(&mut self, inputs: &Inputs) {
        self.inputs = *inputs;
        self.ice.sample(inputs);
        self.derived.begin_cycle();
        self.active.begin();
        if !self.stopped() {
            self.ice_start_stop(self.ice.seen(&self.settings, Use::StartStop));
        }
    }

    /// Observes one item, and returns the verdict on it.
    pub fn item(&mut self, item: &Item) -> Verdict {
        if let Some(verdict) = self.off(item) {
            if matches!(item, Item::Instruction(_)) {
                self.instruction = None;
            }
            return verdict;
        }
        self.compare(item);
        self.update_start_stop();
        self.active.add(self.held, self.start_stop);
        match item {
            Item::Instruction(instruction) => self.instruction(instruction),
            Item::Data(transfer) => self.data(transfer),
            Item::Coprocessor => self.coprocessor(),
            Item::Returned(_) => Verdict {
                requirement: Requirement::May,
                reason: "the value of a data access that was traced before",
                section: "IHI 0014, 7.4.3",
            },
        }
    }

    /// The verdict on the last instruction, which its data may have changed.
    pub fn last_instruction(&self) -> Option<Verdict> {
        self.instruction.as_ref().map(|instruction| instruction.verdict)
    }

    /// An exception cancels the last instruction: comparators with exact match do not match.
    pub fn cancel(&mut self) {
        let exact = (1..=self.settings.unit.comparators()).filter(|n| self.exact_instruction(*n));
        let exact = exact.fold(0u16, |all, n| all | 1 << (n - 1));
        self.active.remove(exact);
    }

    /// Ends the cycle.
    pub fn end_cycle(&mut self) -> CycleEnd {
        if self.stopped() {
            // Outputs are held where non-invasive debug alone is disabled. (2.14)
            let held = !self.off_by_registers() && !self.choices.outputs_low;
            let outputs = if held { self.outputs } else { 0 };
            return CycleEnd { outputs, ..CycleEnd::default() };
        }
        if !self.active.items {
            // Range comparators hold their state. (Tables 2-8 and 2-9)
            self.active.add(self.held, self.start_stop);
        }
        let _ = (self.trace_enable_event(), self.view_data_event());
        let active = self.active;
        let mut end = {
            let state = self.derived;
            let is_active = |register, resource| {
                self.resource(&state, &active, Use::of(register), resource) == Tri::Yes
            };
            state.step(&self.settings, &is_active)
        };
        end.1.fifofull = self.fifofull();
        self.outputs = end.1.outputs;
        self.derived = end.0;
        if let Some(rule) = end.2 {
            self.unpredictable.get_or_insert(rule);
        }
        self.trace_enable.end_cycle();
        self.view_data.end_cycle();
        self.include.end_cycle();
        self.context.window = self.context.window.saturating_sub(1);
        self.fire();
        end.1
    }

    /// Whether nothing runs: 3.4.4, 3.8.2, 2.14.
    fn stopped(&self) -> bool {
        self.off_by_registers() || !self.enabled
    }

    fn off_by_registers(&self) -> bool {
        let control = self.settings.control();
        control.programming() || control.power_down() || self.os_lock
    }

    /// The verdict on an item while the unit is off or tracing is prohibited.
    fn off(&self, item: &Item) -> Option<Verdict> {
        let control = self.settings.control();
        let prohibited = match item {
            Item::Instruction(instruction) => instruction.prohibited,
            _ => self.instruction.as_ref().is_some_and(|instruction| instruction.prohibited),
        };
        let (reason, section) = match () {
            () if control.power_down() => ("the unit is powered down", "IHI 0014, 3.5.1"),
            () if control.programming() => ("the Programming bit is set", "IHI 0014, 3.4.4"),
            () if self.os_lock => ("the OS lock is set", "IHI 0014, 3.8.2"),
            () if !self.enabled => ("non-invasive debug is disabled", "IHI 0014, 2.14"),
            () if prohibited && !matches!(item, Item::Instruction(_)) => {
                ("tracing is prohibited", "IHI 0014, 2.6.2")
            }
            () => return None,
        };
        Some(Verdict { requirement: Requirement::MustNot, reason, section })
    }

    /// The state of `resource` in this cycle so far, as `usage` sees it.
    fn resource(
        &self,
        derived: &Derived,
        active: &filters::Active,
        usage: Use,
        resource: Resource,
    ) -> Tri {
        let inputs = &self.inputs;
        let bit = |bits: u32, n: u8| Tri::from(bits >> (n - 1) & 1 != 0);
        let prohibited = active.prohibited;
        match resource {
            Resource::Address(n) => active.matches.single(n),
            Resource::Range(n) => active.matches.range(n),
            Resource::Instrumentation(n) => bit(derived.instrumentation_now.into(), n),
            Resource::Ice(n) => bit(self.ice.seen(&self.settings, usage).into(), n),
            Resource::MemoryMap(n) => bit(u32::from(inputs.memory_map | inputs.memory_map_data), n),
            Resource::Counter(_) | Resource::Sequencer(_) if derived.unknown => Tri::Maybe,
            Resource::Counter(n) if !self.settings.knows_counter(n) => Tri::Maybe,
            Resource::Counter(n) => {
                let index = usize::from(n - 1);
                Tri::from(derived.counters.get(index).is_some_and(|value| *value == 0))
            }
            Resource::Sequencer(n) => Tri::from(derived.sequencer == n),
            Resource::Context(_) if prohibited => Tri::No,
            Resource::Context(n) => self.context_matches(n, active.context),
            Resource::Vmid => self.vmid_matches(active.vmid),
            Resource::StartStop => active.start_stop,
            Resource::Input(n) => bit(inputs.external.into(), n),
            Resource::Extended(n) => {
                let at = 8 * u32::from(n - 1);
                let Some(selection) = self.settings.get(number::INPUT_SELECTION) else {
                    return Tri::Maybe;
                };
                let selected = selection >> at & 0xff;
                let word = inputs.bus.get(selected as usize / 64).copied().unwrap_or(0);
                Tri::from(word >> (selected % 64) & 1 != 0)
            }
            Resource::NonSecure => Tri::from(active.non_secure && !prohibited),
            Resource::Prohibited => Tri::from(prohibited),
            Resource::True => Tri::Yes,
            Resource::Reserved(_) => Tri::Maybe,
        }
    }

    /// Whether the virtual machine ID comparator matches `vmid`. `None` is unknown.
    fn vmid_matches(&self, vmid: Option<u8>) -> Tri {
        match (vmid, self.settings.get(number::VMID)) {
            (Some(vmid), Some(value)) => Tri::from(vmid == value as u8),
            _ => Tri::Maybe,
        }
    }

    /// Whether context ID comparator `n` matches `context`. `None` is unknown.
    fn context_matches(&self, n: u8, context: Option<u32>) -> Tri {
        let Some(context) = context else { return Tri::Maybe };
        let value = self.settings.get(number::CONTEXT + u16::from(n - 1));
        match (value, self.settings.get(number::CONTEXT_MASK)) {
            (Some(value), _) if value == context => Tri::Yes,
            (Some(value), Some(mask)) => Tri::from((context ^ value) & !mask == 0),
            _ => Tri::Maybe,
        }
    }
}
