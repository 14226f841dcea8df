//! Fields of registers, in a line each.

use tracewright_base::Field;

/// What a bit says that is on or off.
pub(crate) const YES: &[(u64, &str)] = &[(0, "no"), (1, "yes")];

/// A field, bits \[high:low], and what its values mean.
pub(crate) const fn field(
    name: &'static str,
    high: u8,
    low: u8,
    about: &'static str,
    values: &'static [(u64, &'static str)],
) -> Field {
    Field { name, high, low, about, values }
}
