//! Groups of units of one architecture.

use crate::unit::Unit;
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
