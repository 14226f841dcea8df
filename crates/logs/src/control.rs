//! What the control registers of a trace unit select, for the units that have a model.

use tracewright_base::Step;
use tracewright_protocols::registry::AnyProtocol;

use crate::programmed::{self, Programmed};
use crate::selection::{self, Selection};

/// The selection of one unit.
#[derive(Debug)]
pub enum Control {
    /// ETMv1 to ETMv3: instructions wait for their data accesses.
    Etm(Programmed),
    /// ETMv4 and ETE.
    Etmv4(Selection),
}

/// The seeds of the choices of what may be traced or not.
#[derive(Clone, Copy, Debug)]
pub struct Seeds {
    /// ETMv1 to ETMv3: `None` traces all of it.
    pub filter: Option<u64>,
    /// ETMv4 and ETE.
    pub unit: u64,
}

/// Whether `name` is a register of the model of `protocol`.
pub fn is_register(protocol: AnyProtocol, name: &str) -> bool {
    programmed::is_filter_register(protocol, name) || selection::is_register(protocol, name)
}

impl Control {
    /// The selection of a unit with `registers`, of which the user gave those for which `given` is
    /// true. `None`: the unit has no model, or the registers select nothing.
    pub fn new(
        protocol: AnyProtocol,
        registers: &[(String, u64)],
        given: &dyn Fn(&str) -> bool,
        seeds: Seeds,
    ) -> Option<Control> {
        match protocol {
            AnyProtocol::Etmv4 | AnyProtocol::Ete => {
                Selection::new(protocol, registers, given, seeds.unit).map(Control::Etmv4)
            }
            _ => Programmed::new(protocol, registers, seeds.filter).map(Control::Etm),
        }
    }

    /// Whether the selection depends on what an instruction is.
    pub fn uses_code(&self) -> bool {
        matches!(self, Control::Etm(programmed) if programmed.uses_code())
    }

    /// The program has `bytes` at `start`.
    pub fn code(&mut self, start: u64, bytes: &[u8]) {
        match self {
            Control::Etm(programmed) => programmed.code(start, bytes),
            Control::Etmv4(_) => {}
        }
    }

    /// Observes `step`, and passes to `out` the steps that the trace unit takes.
    pub fn step(&mut self, step: &Step, out: &mut impl FnMut(&Step)) {
        match self {
            Control::Etm(programmed) => programmed.step(step, out),
            Control::Etmv4(selection) => {
                selection.step(step, out);
            }
        }
    }

    /// Passes on the step that waits.
    pub fn flush(&mut self, out: &mut impl FnMut(&Step)) {
        match self {
            Control::Etm(programmed) => programmed.flush(out),
            Control::Etmv4(_) => {}
        }
    }
}
