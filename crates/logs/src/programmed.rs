//! A trace unit in software that is programmed: its filters decide which steps it traces.

use std::fmt;

use tracewright_base::Step;
use tracewright_protocols::registry::AnyProtocol;
use tracewright_units::Unit as _;
use tracewright_units::etm::Etm;
use tracewright_units::etm::settings::number_of;
use tracewright_units::values::Values;
use tracewright_units::verdict::{Filter, Requirement};

use crate::choice::xorshift;

/// The setting whose value seeds the choice of what may be traced or not.
pub const SEED: &str = "filter-seed";

/// Most steps of one instruction that wait for its verdict.
const MOST_PENDING: usize = 1 << 12;

/// Passes the steps of a processor to a trace unit as its filters decide: an instruction and its
/// data accesses wait until the verdicts on them are final.
pub struct Programmed {
    filter: Box<dyn Filter>,
    /// State of the choice of what may be traced; `None` traces all of it.
    seed: Option<u64>,
    /// Only data is traced: instructions are passed on in any case.
    data_only: bool,
    /// The last step that was passed on was traced.
    on: bool,
    /// Tracing is not off in the input.
    permitted: bool,
    /// The instruction that waits, and its traced data accesses.
    pending: Vec<Step>,
}

impl fmt::Debug for Programmed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Programmed { seed, on, pending, .. } = self;
        write!(f, "Programmed {{ seed: {seed:?}, on: {on}, pending: {} }}", pending.len())
    }
}

/// Whether `name` is a register of the filters of `protocol`, or [`SEED`].
pub fn is_filter_register(protocol: AnyProtocol, name: &str) -> bool {
    let etm = matches!(protocol, AnyProtocol::Etmv1 | AnyProtocol::Etmv2 | AnyProtocol::Etmv3);
    etm && (name.eq_ignore_ascii_case(SEED)
        || is_watchpoint(name)
        || number_of(name).is_some_and(|number| number < 0x300))
}

fn is_watchpoint(name: &str) -> bool {
    ["DWT_COMP", "DWT_MASK", "DWT_FUNCTION"]
        .iter()
        .filter_map(|prefix| {
            name.get(..prefix.len()).zip(name.get(prefix.len()..)).zip(Some(prefix))
        })
        .any(|((start, rest), prefix)| {
            start.eq_ignore_ascii_case(prefix) && matches!(rest, "0" | "1" | "2" | "3")
        })
}

/// Whether `number` is a register that selects what is traced.
const fn selects(number: u16) -> bool {
    matches!(number, 0x002 | 0x006..=0x06f | 0x07b..=0x07d | 0x090)
}

impl Programmed {
    /// The filters of a unit with `registers`. `None` where no register selects what is traced, so
    /// that the unit traces everything. Filter registers that are not given select everything.
    pub fn new(
        protocol: AnyProtocol,
        registers: &[(String, u64)],
        seed: Option<u64>,
    ) -> Option<Programmed> {
        if !matches!(protocol, AnyProtocol::Etmv1 | AnyProtocol::Etmv2 | AnyProtocol::Etmv3) {
            return None;
        }
        let given = || registers.iter().filter_map(|(name, _)| number_of(name));
        if !given().any(selects) {
            return None;
        }
        let mut values = Values::default();
        for (name, value) in [
            ("ETMTRIGGER", 0x406f),
            ("ETMTEEVR", 0x6f),
            ("ETMTECR1", 1 << 24),
            ("ETMTECR2", 0),
            ("ETMVDEVR", 0x6f),
            ("ETMVDCR1", 0),
            ("ETMVDCR2", 0),
            ("ETMVDCR3", 1 << 16),
        ] {
            values.set(name, value);
        }
        for (name, value) in registers {
            values.set(name, *value);
        }
        let unit = Etm::identified(&values).or_else(|| {
            Etm::named(match protocol {
                AnyProtocol::Etmv1 => "ETMv1",
                AnyProtocol::Etmv2 => "ETMv2",
                _ => "ETMv3",
            })
        })?;
        let data_only = unit.settings(&values).control().data_only();
        let filter = unit.filter(&values)?;
        // A seed of 0 would stay 0.
        let seed = seed.map(|seed| seed.wrapping_mul(2).wrapping_add(1));
        Some(Programmed { filter, seed, data_only, on: true, permitted: true, pending: Vec::new() })
    }

    /// Whether the filters depend on what an instruction is.
    pub fn uses_code(&self) -> bool {
        self.filter.uses_code()
    }

    /// The program has `bytes` at `start`.
    pub fn code(&mut self, start: u64, bytes: &[u8]) {
        self.filter.code(start, bytes);
    }

    /// Observes `step`, and passes to `out` the steps that the trace unit takes.
    pub fn step(&mut self, step: &Step, out: &mut impl FnMut(&Step)) {
        match step {
            Step::Access(access) => {
                let outcome = self.filter.step(step);
                let traced = outcome.verdict.is_none_or(|verdict| self.chosen(verdict.requirement));
                if !traced || self.pending.len() >= MOST_PENDING {
                    return;
                }
                if self.pending.is_empty() {
                    // Stacking of an exception, which has no instruction.
                    out(&Step::Access(*access));
                } else {
                    self.pending.push(*step);
                }
            }
            Step::Retired(_) => {
                self.flush(out);
                let outcome = self.filter.step(step);
                if outcome.trigger {
                    out(&Step::Trigger);
                }
                self.pending.push(*step);
            }
            _ => {
                self.flush(out);
                let outcome = self.filter.step(step);
                if outcome.trigger {
                    out(&Step::Trigger);
                }
                if matches!(step, Step::Off | Step::On) {
                    self.permitted = *step == Step::On;
                    self.on = self.permitted;
                }
                out(step);
            }
        }
    }

    /// Passes on the instruction that waits.
    pub fn flush(&mut self, out: &mut impl FnMut(&Step)) {
        if self.pending.is_empty() {
            return;
        }
        let verdict = self.filter.revised();
        let traced = self.permitted
            && (self.data_only || verdict.is_none_or(|verdict| self.chosen(verdict.requirement)));
        if traced != self.on {
            out(if traced { &Step::On } else { &Step::Off });
            self.on = traced;
        }
        let pending = std::mem::take(&mut self.pending);
        // Data of an instruction that is not traced is not.
        let count = if traced { pending.len() } else { 1 };
        pending.iter().take(count).for_each(&mut *out);
        self.pending = pending;
        self.pending.clear();
    }

    /// Whether something with this requirement is traced.
    fn chosen(&mut self, requirement: Requirement) -> bool {
        match (requirement, &mut self.seed) {
            (Requirement::Must, _) | (Requirement::May, None) => true,
            (Requirement::MustNot, _) => false,
            (Requirement::May, Some(seed)) => xorshift(seed) >> 32 & 1 != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use tracewright_base::{Instruction, Retired};

    use super::*;

    /// The instructions that are passed on while tracing is on.
    fn traced(registers: &[(&str, u64)], steps: &[Step]) -> Vec<u64> {
        let registers: Vec<_> =
            registers.iter().map(|(n, value)| ((*n).to_owned(), *value)).collect();
        let mut programmed = Programmed::new(AnyProtocol::Etmv3, &registers, None).unwrap();
        let (mut on, mut all) = (true, Vec::new());
        let mut out = |step: &Step| match step {
            Step::Off => on = false,
            Step::On => on = true,
            Step::Retired(retired) if on => all.push(retired.address),
            _ => {}
        };
        steps.iter().for_each(|step| programmed.step(step, &mut out));
        programmed.flush(&mut out);
        all
    }

    #[test]
    fn off_and_on_in_the_input() {
        let at = |address| {
            let instruction = Instruction { size: 4, ..Instruction::default() };
            Step::Retired(Retired { address, taken: true, instruction, ..Retired::default() })
        };
        let steps = [at(0x10), Step::Off, at(0x20), Step::On, at(0x30), at(0x40)];
        let exclude =
            [("ETMTECR1", 0x100_0000), ("ETMTECR2", 1), ("ETMACVR1", 0x30), ("ETMACTR1", 0x19)];
        assert_eq!(traced(&exclude, &steps), [0x10, 0x40]);
        // With data alone instructions are passed on, but not where tracing is off.
        let data_only = [exclude.as_slice(), &[("ETMCR", 1 << 20)]].concat();
        assert_eq!(traced(&data_only, &steps), [0x10, 0x30, 0x40]);
    }
}
