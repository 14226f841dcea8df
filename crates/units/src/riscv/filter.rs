//! Which instructions an encoder traces by its triggers: those of the processor (mcontrol,
//! mcontrol6; Debug Specification 1.0, "Trigger Module") and the external inputs. Filters are not
//! evaluated. (0.026, Table 4.1; E-Trace, "Using trigger outputs from the Debug Module")

use tracewright_base::{Access, Context, Direction, Step};

use crate::values::Values;
use crate::verdict::{Filter, Outcome, Requirement, Verdict};

const SECTION: &str = "E-Trace 0.026, Table 4.1";

/// The triggers of a processor that have registers here.
pub(super) const TRIGGERS: u16 = 8;

/// What a trigger does. (Table 4.1)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    /// 2: trace on.
    On,
    /// 3: trace off.
    Off,
    /// 4: trace single in 0.026, notification from 1.0 on.
    Notify,
}

impl Action {
    const fn of(code: u64) -> Option<Action> {
        Some(match code & 0xf {
            2 => Action::On,
            3 => Action::Off,
            4 => Action::Notify,
            _ => return None,
        })
    }
}

/// What a trigger is compared with.
#[derive(Clone, Copy, Debug)]
enum Event {
    Execute(u64),
    Access(Access),
}

/// A trigger of the processor: tdata1 and tdata2.
#[derive(Clone, Copy, Debug)]
struct Trigger {
    control: u64,
    compare: Option<u64>,
}

impl Trigger {
    const fn bit(self, bit: u32) -> bool {
        self.control >> bit & 1 != 0
    }

    /// The type: bits \[63:60], or \[31:28] where XLEN is 32.
    const fn is(self, kind: u64) -> bool {
        self.control >> 60 == kind || self.control >> 28 == kind
    }

    /// Whether the trigger matches; `None` where that is not known.
    fn matches(self, event: Event, context: &Context) -> Option<bool> {
        let (address, selected) = match event {
            Event::Execute(address) => (Some(address), self.bit(2)),
            Event::Access(access) => (
                access.address(),
                match access.direction {
                    Direction::Read => self.bit(0),
                    Direction::Write => self.bit(1),
                    Direction::Unknown => self.bit(0) || self.bit(1),
                },
            ),
        };
        if !selected || !(self.is(2) || self.is(6)) {
            return Some(false);
        }
        // u [3], s [4], m [6].
        let level = match context.el {
            Some(0) => Some(self.bit(3)),
            Some(1) => Some(self.bit(4)),
            Some(_) => Some(self.bit(6)),
            None if self.bit(3) && self.bit(4) && self.bit(6) => Some(true),
            None => None,
        };
        if level == Some(false) {
            return level;
        }
        // `select`: values and opcodes are not compared.
        if self.bit(if self.is(2) { 19 } else { 21 }) {
            return None;
        }
        let (address, compare) = (address?, self.compare?);
        let equal = match self.control >> 7 & 0x7 {
            0 => address == compare,
            1 => {
                // NAPOT: the ones at the end and the zero above them are not compared.
                let ignored = compare ^ compare.wrapping_add(1);
                (address ^ compare) & !ignored == 0
            }
            2 => address >= compare,
            3 => address < compare,
            _ => return None,
        };
        // 8 and 9 are the opposites of 0 and 1.
        let matched = match self.control >> 7 & 0xf {
            code if code < 8 => equal,
            8 | 9 => !equal,
            _ => return None,
        };
        if matched { level } else { Some(false) }
    }
}

/// An encoder that observes execution.
#[derive(Clone, Debug)]
pub(super) struct EncoderFilter {
    /// trTeControl.
    control: Option<u64>,
    /// trTeInstFilters has filters.
    filters: bool,
    /// trTeTrigExtInControl.
    inputs: u64,
    triggers: Vec<Trigger>,
    context: Context,
    signals: u64,
    /// Triggers have left tracing on.
    on: Option<bool>,
    /// A data access of the last instruction has fired a trigger that switches.
    switched: bool,
}

impl EncoderFilter {
    pub(super) fn new(values: &Values) -> EncoderFilter {
        let control = values.get("trTeControl");
        let triggers = (0..TRIGGERS).filter_map(|n| {
            let control = values.get(&format!("tdata1_{n}"))?;
            Some(Trigger { control, compare: values.get(&format!("tdata2_{n}")) })
        });
        EncoderFilter {
            control,
            filters: values.get("trTeInstFilters").unwrap_or(0) != 0,
            inputs: values.get("trTeTrigExtInControl").unwrap_or(0),
            triggers: triggers.collect(),
            context: Context::default(),
            signals: 0,
            on: control.map(|control| control >> 2 & 1 != 0),
            switched: false,
        }
    }

    /// trTeInstTrigEnable.
    fn triggers_enabled(&self) -> Option<bool> {
        self.control.map(|control| control >> 11 & 1 != 0)
    }

    /// A trigger fires, or may (`None`). Returns whether tracing changes, or may change.
    fn fire(&mut self, action: Action, fires: Option<bool>) -> bool {
        let target = match action {
            Action::On => true,
            Action::Off => false,
            Action::Notify => return false,
        };
        let before = self.on;
        self.on = match fires {
            Some(false) => return false,
            Some(true) => Some(target),
            None => before.filter(|on| *on == target),
        };
        self.on != before
    }

    /// The triggers of the processor, of which those in a chain fire together. Returns whether
    /// tracing changes, and whether one notifies.
    fn observe(&mut self, event: Event) -> (bool, bool) {
        let enabled = self.triggers_enabled();
        if enabled == Some(false) {
            return (false, false);
        }
        let (mut changes, mut notifies) = (false, false);
        let mut chain = enabled;
        for n in 0..self.triggers.len() {
            let Some(trigger) = self.triggers.get(n).copied() else { break };
            let matched = trigger.matches(event, &self.context);
            chain = match (chain, matched) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), matched) => matched,
                (None, _) => None,
            };
            if trigger.bit(11) {
                continue;
            }
            let fires = std::mem::replace(&mut chain, enabled);
            let Some(action) = Action::of(trigger.control >> 12) else { continue };
            changes |= self.fire(action, fires);
            notifies |= action == Action::Notify && fires == Some(true);
        }
        (changes, notifies)
    }

    /// The verdict on an instruction, before which tracing was `on`.
    fn judge(&self, on: Option<bool>, changes: bool) -> Verdict {
        use Requirement::{May, Must, MustNot};
        let of = |requirement, reason| Verdict { requirement, reason, section: SECTION };
        let Some(control) = self.control else {
            return of(May, "the value of trTeControl is not known");
        };
        if control >> 1 & 1 == 0 {
            return of(MustNot, "the encoder is disabled");
        }
        if control >> 4 & 0b111 == 0 {
            return of(MustNot, "instruction trace is off");
        }
        match on {
            _ if changes => of(May, "a trigger fires at the instruction"),
            None => of(May, "it is not known whether a trigger has fired"),
            Some(false) => of(MustNot, "triggers have left tracing off"),
            Some(true) if self.filters => of(May, "filters of the encoder select"),
            Some(true) => of(Must, "triggers have left tracing on"),
        }
    }

    /// External inputs that become active fire triggers: signal n is input n.
    fn inputs(&mut self, signals: u64) {
        let rising = signals & !self.signals;
        self.signals = signals;
        for n in (0..8).filter(|n| rising >> n & 1 != 0) {
            let fires = self.triggers_enabled();
            if let Some(action) = Action::of(self.inputs >> (4 * n)) {
                self.fire(action, fires);
            }
        }
    }
}

impl Filter for EncoderFilter {
    fn step(&mut self, step: &Step) -> Outcome {
        let mut outcome = Outcome::default();
        match step {
            Step::Retired(retired) => {
                let before = self.on;
                let (changes, notifies) = self.observe(Event::Execute(retired.address));
                self.switched = false;
                outcome.trigger = notifies;
                outcome.verdict = Some(self.judge(before, changes));
            }
            Step::Access(access) => {
                let (changes, notifies) = self.observe(Event::Access(*access));
                self.switched |= changes;
                outcome.trigger = notifies;
            }
            Step::Context(context) => self.context = *context,
            Step::Signals(signals) => self.inputs(signals[0]),
            // Triggers 3 and 2 of the log.
            Step::Off => self.on = Some(false),
            Step::On => self.on = Some(true),
            _ => {}
        }
        outcome
    }

    fn revised(&self) -> Option<Verdict> {
        self.switched.then(|| self.judge(self.on, true))
    }
}

#[cfg(test)]
mod tests {
    use tracewright_base::{Instruction, Isa, Retired};

    use super::*;
    use crate::catalogue;

    /// Executes at these addresses; `true`: must be traced, `None`: may.
    fn traced(values: &[(&str, u64)], steps: &[(u64, Option<bool>)]) {
        let values: Values = values.iter().copied().collect();
        let mut filter = catalogue::named("trTe").unwrap().filter(&values).unwrap();
        let instruction = Instruction { isa: Isa::Rv32, size: 4, ..Instruction::default() };
        for (address, want) in steps {
            let next = address + 4;
            let retired = Retired { address: *address, next, instruction, ..Retired::default() };
            let context = Context { el: Some(3), ..Context::default() };
            filter.step(&Step::Context(context));
            let verdict = filter.step(&Step::Retired(retired)).verdict.unwrap();
            let found = match verdict.requirement {
                Requirement::Must => Some(true),
                Requirement::MustNot => Some(false),
                Requirement::May => None,
            };
            assert_eq!(found, *want, "{address:#x} {values:?}: {}", verdict.reason);
        }
    }

    /// mcontrol of type 2 in machine mode with an action, for execution.
    const fn execute(action: u64) -> u64 {
        2 << 28 | action << 12 | 1 << 6 | 1 << 2
    }

    #[test]
    fn triggers_2_and_3() {
        const CONTROL: u64 = 1 << 11 | 6 << 4 | 0b011;
        let both = [
            ("trTeControl", CONTROL),
            ("tdata1_0", execute(2)),
            ("tdata2_0", 0x1004),
            ("tdata1_1", execute(3)),
            ("tdata2_1", 0x100c),
        ];
        let steps = [
            (0x1000, Some(false)),
            (0x1004, None),
            (0x1008, Some(true)),
            (0x100c, None),
            (0x1010, Some(false)),
        ];
        traced(&both, &steps);
        // Disabled triggers; a disabled encoder; an encoder without its control.
        let with = |control: u64| {
            both.map(|(name, v)| (name, if name == "trTeControl" { control } else { v }))
        };
        traced(&with(6 << 4 | 0b111), &[(0x1000, Some(true)), (0x100c, Some(true))]);
        traced(&with(CONTROL & !2), &[(0x1004, Some(false)), (0x1008, Some(false))]);
        traced(&both[1..], &[(0x1004, None), (0x1008, None)]);
        // In a chain both match: an address from 0x1004 on and below 0x1008.
        traced(
            &[
                ("trTeControl", CONTROL),
                ("tdata1_0", execute(0) | 1 << 11 | 2 << 7),
                ("tdata2_0", 0x1004),
                ("tdata1_1", execute(2) | 3 << 7),
                ("tdata2_1", 0x1008),
            ],
            &[(0x1000, Some(false)), (0x1008, Some(false)), (0x1004, None), (0x1000, Some(true))],
        );
        // A naturally aligned range of 16 bytes; another privilege level; filters.
        let napot =
            [("trTeControl", CONTROL), ("tdata1_0", execute(2) | 1 << 7), ("tdata2_0", 0x1007)];
        traced(&napot, &[(0x1010, Some(false)), (0x100c, None), (0x1010, Some(true))]);
        let user = [
            ("trTeControl", CONTROL),
            ("tdata1_0", execute(2) & !(1 << 6) | 1 << 3),
            ("tdata2_0", 0x1000),
        ];
        traced(&user, &[(0x1000, Some(false)), (0x1004, Some(false))]);
        traced(&[("trTeControl", CONTROL | 4), ("trTeInstFilters", 1)], &[(0x1000, None)]);
    }

    #[test]
    fn external_inputs() {
        let values = [("trTeControl", 1 << 11 | 6 << 4 | 0b011), ("trTeTrigExtInControl", 0x32)];
        let values: Values = values.into_iter().collect();
        let mut filter = EncoderFilter::new(&values);
        for (signals, want) in [(0, false), (1, true), (0, true), (2, false), (3, true), (3, true)]
        {
            filter.step(&Step::Signals([signals, 0, 0, 0]));
            assert_eq!(filter.on, Some(want), "{signals}");
        }
        filter.step(&Step::Off);
        assert_eq!(filter.on, Some(false));
    }
}
