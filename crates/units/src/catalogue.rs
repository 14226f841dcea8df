//! The trace units and trace buffers by name.

use crate::buffers::buffer_unit;
use crate::ete::ete_unit;
use crate::etm;
use crate::ptm;
use crate::riscv::component_unit;
use crate::unit::Unit;
use crate::values::Values;

pub use crate::group::Group;

/// The groups: a line for each.
pub const GROUPS: &[Group] =
    &[ete_unit::GROUP, etm::GROUP, ptm::GROUP, buffer_unit::GROUP, component_unit::GROUP];

/// The unit with the name `name`: a unit, a core, or an architecture.
pub fn named(name: &str) -> Option<Box<dyn Unit>> {
    GROUPS.iter().find_map(|group| (group.named)(name))
}

/// The unit whose identification registers have these values.
pub fn identified(values: &Values) -> Option<Box<dyn Unit>> {
    GROUPS.iter().find_map(|group| (group.identified)(values))
}

/// The names of all units.
pub fn names() -> Vec<&'static str> {
    GROUPS.iter().flat_map(|group| (group.names)()).collect()
}
