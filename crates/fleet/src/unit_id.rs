//! The identifier of a unit.

use std::fmt;

use tracewright::analysis::coverage_runs::Digest;

/// The bytes of an identifier.
const BYTES: usize = 16;

/// The identifier of a unit: 128 bits of a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnitId([u8; BYTES]);

impl UnitId {
    /// That of a digest.
    pub(crate) fn of(digest: &Digest) -> UnitId {
        let mut id = UnitId([0; BYTES]);
        id.0.iter_mut().zip(digest.0).for_each(|(to, byte)| *to = byte);
        id
    }

    /// That of a text of 32 digits.
    pub fn parse(text: &str) -> Option<UnitId> {
        // A digest has twice as many digits.
        (text.len() == 2 * BYTES).then(|| Digest::parse(&text.repeat(2)))?.as_ref().map(UnitId::of)
    }
}

impl fmt::Display for UnitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
