//! ViewInst: whether an instruction is traced. (Arm ARM K10.5.7.3 on; DDI 0601, TRCVICTLR)

use tracewright_base::{Access, Cause, Context, Step};

use super::comparators::{Comparators, Instruction, level_excluded};
use super::hazards::hazard;
use super::logic::any;
use super::resources::Resources;
use super::view_data::judge;
use crate::ete::implementation::Implementation;
use crate::ete::registers::Version;
use crate::ete::settings::{Event, Settings};
use crate::values::Values;
use crate::verdict::{Filter, Outcome, Requirement, Verdict};

/// The number of instructions within which a change of a resource event takes effect.
pub const LATENCY: u32 = 16;

/// A unit that is programmed and observes execution.
#[derive(Clone, Debug)]
pub struct Model {
    settings: Settings,
    version: Version,
    /// Counters, sequencer, single-shot comparators and inputs.
    pub resources: Resources,
    /// ViewInst is started.
    pub started: Option<bool>,
    /// The instruction or exception before this one was traced.
    pub active: Option<bool>,
    context: Context,
    /// The unit traces: it is enabled, and tracing is not prohibited.
    permitted: bool,
    /// The resources if all cycles since the start are in the next [`Step::Cycles`]. `None` after
    /// the first.
    timed: Option<Resources>,
    /// The value of the ViewInst event, and the instructions since it changed.
    event: Option<bool>,
    since: u32,
    /// The events of the current step, bit n: event n.
    occurred: u8,
    /// The unit has data trace.
    data: bool,
    /// What the comparators report of the last instruction.
    last: Comparators,
    /// The rule that the settings break, and the one that was reached.
    hazard: Option<&'static str>,
    unpredictable: Option<&'static str>,
}

const fn verdict(requirement: Requirement, reason: &'static str, section: &'static str) -> Verdict {
    Verdict { requirement, reason, section }
}

const DISABLED: &str = "the unit is disabled or tracing is prohibited";
const INCLUDE: &str = "Arm ARM K10.5.7.5; DDI 0601, TRCVIIECTLR";
const EXCLUDE: &str = "Arm ARM K10.5.7.4; DDI 0601, TRCVIIECTLR";
const LEVEL: &str = "Arm ARM Table K10-3; DDI 0601, TRCVICTLR";
const START: &str = "DDI 0601, TRCVISSCTLR and TRCVICTLR.SSSTATUS";
const EVENT: &str = "DDI 0601, TRCVICTLR.EVENT";

impl Model {
    /// A unit that has just been enabled with `values`.
    pub fn new(unit: &Implementation, values: &Values) -> Model {
        let settings = Settings::new(unit, values);
        Model {
            version: unit.version,
            resources: Resources::new(&settings),
            started: settings.view.map(|view| view >> 9 & 1 != 0),
            active: Some(settings.active && unit.version.is_ete()),
            context: Context::default(),
            permitted: settings.enabled,
            timed: Some(Resources::new(&settings)),
            event: None,
            since: LATENCY,
            occurred: 0,
            data: unit.data() == Some(true) && !unit.version.is_ete(),
            last: Comparators::default(),
            hazard: hazard(unit, &settings),
            unpredictable: None,
            settings,
        }
    }

    /// The rule that makes the behaviour CONSTRAINED UNPREDICTABLE, where execution has reached
    /// one.
    pub const fn unpredictable(&self) -> Option<&'static str> {
        self.unpredictable
    }

    /// The verdict on a data access of the last instruction. `None`: the unit has no data trace.
    fn data(&self, access: &Access) -> Option<Verdict> {
        let event = Event::new(self.settings.view_data & 0xff);
        // Unlike that of ViewInst, a change of the event takes effect at an unknown time.
        let event = event.constant();
        self.data.then(|| judge(&self.settings, &self.last, self.active, event, access))
    }

    /// Makes tracing prohibited or permitted. Resources are paused where it is prohibited in an
    /// ETE. (Arm ARM K10.5.9)
    pub fn permit(&mut self, permitted: bool) {
        let permitted = permitted && self.settings.enabled;
        if !permitted && self.permitted {
            self.active = Some(false);
        }
        self.permitted = permitted;
    }

    /// The verdict on the instruction at `address`.
    pub fn instruction(&mut self, address: u64) -> Verdict {
        let ete = self.version.is_ete();
        if !self.permitted && ete {
            return verdict(Requirement::MustNot, DISABLED, "Arm ARM K10.5.9");
        }
        let context = self.context;
        let comparators =
            Comparators::new(&self.settings, &Instruction { address, context: &context });
        self.unpredictable = self.unpredictable.or(self.hazard);
        self.last = comparators;
        let started = self.start(&comparators);
        self.resources.observe(&self.settings, comparators);
        let event = self.view_event();
        self.occurred = self.events();
        self.resources.follow(&self.settings, self.timed.is_none());
        if let Some(timed) = &mut self.timed {
            timed.observe(&self.settings, comparators);
            timed.follow(&self.settings, true);
        }
        let verdict = match self.permitted {
            true => self.judge(&comparators, started, event),
            false => verdict(Requirement::MustNot, DISABLED, "IHI 0064, trace unit state"),
        };
        self.active = match verdict.requirement {
            Requirement::Must => Some(true),
            Requirement::MustNot => Some(false),
            Requirement::May => None,
        };
        verdict
    }

    /// Start and stop points. The instruction of a start point and that of a stop point are traced
    /// (Nordic Semiconductor, ETM registers, TRCVISSCTLR). Where both are at one instruction, the
    /// state is not known.
    fn start(&mut self, comparators: &Comparators) -> Option<bool> {
        let of = |points: u64, inputs: u64| {
            let points = (0..16).filter(|n| points >> n & 1 != 0);
            let points = points.map(|n| comparators.single.get(n).copied().flatten());
            let inputs = (0..8).filter(|n| inputs >> n & 1 != 0);
            let inputs = inputs.map(|n| Some(self.resources.pe_inputs >> n & 1 != 0));
            any(points.chain(inputs))
        };
        let (points, inputs) = (self.settings.start_stop, self.settings.pe_start_stop);
        let (start, stop) = (of(points & 0xffff, inputs & 0xff), of(points >> 16, inputs >> 16));
        let during = match (start, stop) {
            (Some(false), _) => self.started,
            (Some(true), Some(false)) => Some(true),
            (None, Some(false)) if self.started == Some(true) => Some(true),
            _ => None,
        };
        self.started = match (start, stop) {
            (_, Some(false)) => during,
            (Some(false), Some(true)) => Some(false),
            (Some(false), None) if self.started == Some(false) => Some(false),
            _ => None,
        };
        during
    }

    /// The value of the ViewInst event, `None` while it changes.
    fn view_event(&mut self) -> Option<bool> {
        let event = Event::new(self.settings.view? & 0xff);
        if let Some(constant) = event.constant() {
            return Some(constant);
        }
        let value = self.resources.active(&self.settings, event);
        if value != self.event || value.is_none() {
            (self.event, self.since) = (value, 0);
        }
        self.since = self.since.saturating_add(1);
        value.filter(|_| self.since > LATENCY)
    }

    fn judge(&self, c: &Comparators, started: Option<bool>, event: Option<bool>) -> Verdict {
        use Requirement::{May, Must, MustNot};
        let Some(view) = self.settings.view else {
            return verdict(May, "the value of TRCVICTLR is not known", LEVEL);
        };
        let levels = view >> 16 & self.settings.levels;
        let level = level_excluded(levels, &self.context);
        let ranges = |selected: u64| {
            let chosen = (0..8).filter(move |n| selected >> n & 1 != 0);
            any(chosen.map(|n| c.range.get(n).copied().flatten()))
        };
        let control = self.settings.ranges;
        let included = match control & 0xff {
            0 => Some(true),
            selected => ranges(selected),
        };
        let excluded = ranges(control >> 16 & 0xff);
        for (condition, want, reason, section) in [
            (level, false, "the exception level is not traced", LEVEL),
            (excluded, false, "an exclude range has the address", EXCLUDE),
            (included, true, "no include range has the address", INCLUDE),
            (started, true, "start/stop is stopped", START),
            (event, true, "the ViewInst event is not active", EVENT),
        ] {
            if condition == Some(!want) {
                return verdict(MustNot, reason, section);
            }
        }
        for (condition, reason, section) in [
            (level, "the exception level is not known", LEVEL),
            (excluded, "an exclude range depends on what is not known", EXCLUDE),
            (included, "an include range depends on what is not known", INCLUDE),
            (started, "start/stop depends on what is not known", START),
            (event, "the ViewInst event changed or is not known", EVENT),
        ] {
            if condition.is_none() {
                return verdict(May, reason, section);
            }
        }
        let reason = match (control & 0xff, self.settings.start_stop) {
            (0, 0) => "ViewInst is active",
            (0, _) => "start/stop is started",
            _ => "an include range has the address",
        };
        verdict(Must, reason, if control & 0xff == 0 { LEVEL } else { INCLUDE })
    }

    /// The verdict on an exception: it is traced if what was before it was, or if TRCVICTLR forces
    /// it. (DDI 0601, TRCVICTLR.TRCERR and TRCRESET; Arm ARM K10.5.9, TRCRSR.TA)
    pub fn exception(&mut self, cause: Cause) -> Verdict {
        use Requirement::{May, Must, MustNot};
        const SECTION: &str = "DDI 0601, TRCVICTLR; Arm ARM K10.5.9, TRCRSR.TA";
        if !self.permitted {
            return verdict(MustNot, DISABLED, "Arm ARM K10.5.9");
        }
        let view = self.settings.view.unwrap_or(0);
        let forced = match cause {
            Cause::SystemError => view >> 11 & 1 != 0,
            Cause::Reset => view >> 10 & 1 != 0,
            _ => false,
        };
        match (forced, self.active) {
            (true, _) => verdict(Must, "the exception is always traced", SECTION),
            (false, Some(true)) => verdict(Must, "the instruction before it is traced", SECTION),
            (false, Some(false)) => {
                verdict(MustNot, "the instruction before it is not traced", SECTION)
            }
            (false, None) => verdict(May, "the instruction before it may be traced", SECTION),
        }
    }

    /// Events 0 to 3 that are certain to be active, as bits.
    fn events(&self) -> u8 {
        let control = self.settings.events[0];
        let active = |n: u32| {
            let event = Event::new(control >> (8 * n) & 0xff);
            self.resources.active(&self.settings, event) == Some(true)
        };
        (0..4).filter(|n| active(*n)).map(|n| 1u8 << n).sum()
    }

    /// The events of the last step that are elements of the trace. (TRCEVENTCTL1R.INSTEN)
    pub fn traced_events(&self) -> u8 {
        (self.settings.events[1] & 0xf) as u8 & self.occurred
    }
}

impl Filter for Model {
    fn step(&mut self, step: &Step) -> Outcome {
        let mut outcome = Outcome::default();
        self.occurred = 0;
        match step {
            Step::Retired(retired) => {
                // The state is as the instruction set reports it.
                self.context.bits64 = retired.instruction.isa == tracewright_base::Isa::A64;
                outcome.verdict = Some(self.instruction(retired.address));
            }
            Step::Exception(taken) => {
                let verdict = self.exception(taken.cause);
                self.active = match verdict.requirement {
                    Requirement::Must => Some(true),
                    Requirement::MustNot => Some(false),
                    Requirement::May => None,
                };
                return outcome;
            }
            Step::Access(access) => outcome.verdict = self.data(access),
            Step::Context(context) => self.context = *context,
            Step::Cycles(cycles) if self.permitted || !self.version.is_ete() => {
                if let Some(timed) = self.timed.take() {
                    self.resources = timed;
                }
                self.resources.cycles(&self.settings, *cycles);
                self.occurred = self.events();
            }
            Step::Signals(signals) => {
                self.resources.events = *signals;
                if let Some(timed) = &mut self.timed {
                    timed.events = *signals;
                }
            }
            Step::Off | Step::Halted => self.permit(false),
            Step::On => self.permit(true),
            _ => return outcome,
        }
        outcome.outputs = self.occurred;
        outcome.trigger = self.occurred & 1 != 0 && self.settings.events[1] >> 11 & 1 != 0;
        outcome
    }
}
