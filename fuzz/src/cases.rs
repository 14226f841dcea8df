//! Cases whose bytes are others, and how a fuzzer takes a case: it tries very many.

use tracewright::protocols::registry::AnyConfig;

use crate::budget::within_budget;
use crate::case::Case;
use crate::properties::{LONGEST_COUNT, Take, holds, taken};
use crate::ways::cut_once;

/// The trace unit and the program of one of `cases`, and other bytes than its own: the same as for
/// [`source`](crate::properties::source).
///
/// The first bytes are its number.
pub fn damaged(cases: &[Case], data: &[u8], take: Take) {
    let Some((number, bytes)) = data.split_first_chunk::<2>() else { return };
    let number = usize::from(u16::from_le_bytes(*number)) % cases.len().max(1);
    let Some(case) = cases.get(number) else { return };
    let mut config = case.config.clone();
    if let AnyConfig::Etrace(params) = &mut config {
        params.choices.longest_count = LONGEST_COUNT;
    }
    take(&Case::of(config, case.image.clone(), bytes.to_vec()));
}

/// [`taken_mostly_once`] takes one of this number of cases every way.
const EVERY_WAY: usize = 64;

/// Cases with more instructions in long straight code, multiplied by their bytes, are never taken
/// every way: that decodes a case several times for each of its bytes, with an empty cache each
/// time.
const MAX_WORK: u64 = 1 << 16;

/// Decoded with a bound on the work, and cut once, at a place that the bytes choose: so a fuzzer
/// tries a hundred times as many. Some are taken every way.
pub fn taken_mostly_once(case: &Case) {
    let Some(long) = within_budget(case) else { return };
    let work = long.saturating_mul(case.bytes.len() as u64);
    let add = |sum: usize, byte: &u8| sum.wrapping_mul(31).wrapping_add(usize::from(*byte));
    let sum = case.bytes.iter().fold(0, add);
    match sum % EVERY_WAY {
        0 if work <= MAX_WORK => taken(case),
        _ => holds(case, cut_once(case, sum / EVERY_WAY)),
    }
}
