//! The trace units by name.

use crate::Unit;
use crate::values::Values;

/// A group of units of one architecture.
pub struct Group {
    /// Names of units in the group, for messages.
    pub names: fn() -> Vec<&'static str>,
    /// The unit with a name, in any letter case.
    pub named: fn(&str) -> Option<Box<dyn Unit>>,
    /// The unit that has these values in its identification registers. The keys are as read: names
    /// or offsets.
    pub identified: fn(&Values) -> Option<Box<dyn Unit>>,
}

/// The groups: a line for each.
pub const GROUPS: &[Group] = &[crate::ete::ete_unit::GROUP];

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
