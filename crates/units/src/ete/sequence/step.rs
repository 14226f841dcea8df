//! Steps of routines.

use crate::ete::registers::{Named, by_name};
use crate::program::{Action, Barrier, Place, ProgramStep};

/// The register `name`, with its offset if it belongs to the trace unit.
pub(super) fn place(name: &str) -> Place {
    Place { name: name.to_owned(), offset: by_name(name).and_then(Named::offset) }
}

pub(super) fn write(name: &str, value: u64, why: &str) -> ProgramStep {
    ProgramStep::new(Action::Write { register: place(name), value }, why)
}

pub(super) fn read(name: &str, why: &str) -> ProgramStep {
    ProgramStep::new(Action::Read { register: place(name) }, why)
}

pub(super) fn poll(name: &str, mask: u64, value: u64, why: &str) -> ProgramStep {
    ProgramStep::new(Action::Poll { register: place(name), mask, value }, why)
}

pub(super) fn barrier(barrier: Barrier, why: &str) -> ProgramStep {
    ProgramStep::new(Action::Barrier(barrier), why)
}
