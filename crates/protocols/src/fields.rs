//! Constructors of register fields.

use tracewright_base::Field;

/// A field in bits \[high:low], with the names of its values.
pub(crate) const fn field(
    name: &'static str,
    high: u8,
    low: u8,
    about: &'static str,
    values: &'static [(u64, &'static str)],
) -> Field {
    Field { name, high, low, about, values }
}
