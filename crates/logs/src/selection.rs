//! The programming of a trace unit between the processor and the encoder: steps that the unit does
//! not trace are marked, and its events and triggers are added.

use tracewright_base::Step;
use tracewright_protocols::registry::AnyProtocol;
use tracewright_units::Unit;
use tracewright_units::ete::ete_unit::TraceUnit;
use tracewright_units::ete::implementation::Implementation;
use tracewright_units::ete::registers;
use tracewright_units::values::Values;
use tracewright_units::verdict::{Filter, Requirement, Verdict};

use crate::choice::xorshift;

/// A unit that is programmed, and the state of tracing.
pub struct Selection {
    filter: Box<dyn Filter>,
    /// The steps before are traced.
    on: bool,
    /// The input has tracing on.
    permitted: bool,
    /// The state of the random choice where a step may be traced.
    random: u64,
}

impl core::fmt::Debug for Selection {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Selection").field("on", &self.on).finish_non_exhaustive()
    }
}

/// Whether `name` is a register of the units of `protocol`.
pub fn is_register(protocol: AnyProtocol, name: &str) -> bool {
    matches!(protocol, AnyProtocol::Etmv4 | AnyProtocol::Ete) && registers::by_name(name).is_some()
}

/// Whether a program writes the register `name`.
fn is_programmed(name: &str) -> bool {
    registers::by_name(name).is_some_and(|named| named.row.saved)
}

impl Selection {
    /// The selection of a unit with these registers, or `None` where they select nothing. `seed`
    /// begins the random choices where the architecture leaves open what is traced.
    pub fn new(
        protocol: AnyProtocol,
        registers: &[(String, u64)],
        given: &dyn Fn(&str) -> bool,
        seed: u64,
    ) -> Option<Selection> {
        let mut values: Values =
            registers.iter().map(|(name, value)| (name.to_ascii_uppercase(), *value)).collect();
        let selects = values.iter().any(|(name, _)| {
            // The encoder has these itself.
            let own = ["TRCCONFIGR", "TRCTRACEIDR", "TRCSYNCPR", "TRCCCCTLR", "TRCBBCTLR"];
            is_register(protocol, name)
                && is_programmed(name)
                && given(name)
                && !own.contains(&name)
        });
        if !selects {
            return None;
        }
        if values.get("TRCVICTLR").is_none() {
            // Everything is traced: start/stop is started, and the event is TRUE.
            values.set("TRCVICTLR", 0x201);
        }
        let implementation = Implementation::identified(&values).or_else(|| {
            let name = if protocol == AnyProtocol::Ete { "ETE" } else { "ETMv4" };
            Implementation::named(name)
        })?;
        let filter = TraceUnit { implementation }.filter(&values)?;
        Some(Selection { filter, on: true, permitted: true, random: seed | 1 })
    }

    /// A random choice.
    fn choose(&mut self) -> bool {
        xorshift(&mut self.random) >> 33 & 1 != 0
    }

    fn set(&mut self, on: bool, emit: &mut dyn FnMut(&Step)) {
        if on != self.on {
            emit(if on { &Step::On } else { &Step::Off });
            self.on = on;
        }
    }

    /// Takes one step, and passes it on with what the unit makes of it. Returns the verdict on an
    /// instruction or a data access, and whether it is traced.
    pub fn step(&mut self, step: &Step, emit: &mut dyn FnMut(&Step)) -> Option<(Verdict, bool)> {
        match step {
            Step::Off | Step::On => {
                self.permitted = *step == Step::On;
                self.filter.step(step);
                if !self.permitted {
                    self.set(false, emit);
                }
                return None;
            }
            _ => {}
        }
        let outcome = self.filter.step(step);
        let judged = outcome.verdict.map(|verdict| {
            let wanted = match verdict.requirement {
                Requirement::Must => true,
                Requirement::MustNot => false,
                Requirement::May => self.choose(),
            };
            (verdict, wanted && self.permitted)
        });
        match (step, judged) {
            (Step::Retired(_), Some((_, wanted))) => {
                self.set(wanted, emit);
                emit(step);
            }
            // A data access that is not traced is left out.
            (Step::Access(_), Some((_, false))) => {}
            // Timestamps are traced even where instructions are not.
            (Step::Timestamp(_), _) if self.permitted => {
                let before = self.on;
                self.set(true, emit);
                emit(step);
                self.set(before, emit);
            }
            _ => emit(step),
        }
        if outcome.outputs & 0xf != 0 && self.permitted {
            // Events are traced even where instructions are not.
            let before = self.on;
            self.set(true, emit);
            emit(&Step::Events(outcome.outputs & 0xf));
            self.set(before, emit);
        }
        if outcome.trigger {
            emit(&Step::Trigger);
        }
        judged
    }
}
