//! ViewData of an ETMv4: which data accesses are traced. (IHI 0064, TRCVDCTLR, TRCVDSACCTLR,
//! TRCVDARCCTLR, TRCACATRn, TRCDVCVRn)
//!
//! An access can be larger than what a comparator compares, or begin before it. Where only a part
//! of an access has the address, the result is not known here.

use tracewright_base::{Access, Direction};

use super::comparators::Comparators;
use super::logic::{all, any, not};
use crate::ete::settings::Settings;
use crate::verdict::{Requirement, Verdict};

const SECTION: &str = "IHI 0064, TRCVDCTLR";

/// TYPE of TRCACATR: 0 instructions, 1 loads, 2 stores, 3 both.
fn compares(attributes: u64, access: &Access) -> Option<bool> {
    let kind = attributes & 3;
    match access.direction {
        Direction::Read => Some(kind & 1 != 0),
        Direction::Write => Some(kind & 2 != 0),
        Direction::Unknown if kind == 3 => Some(true),
        Direction::Unknown => None,
    }
}

/// The data value comparison of a comparator: DATAMATCH, bits \[17:16], and DATASIZE, bits
/// \[19:18].
fn value(settings: &Settings, attributes: u64, n: usize, access: &Access) -> Option<bool> {
    let (matching, size) = (attributes >> 16 & 3, 1u32 << (attributes >> 18 & 3));
    if matching == 0 {
        return Some(true);
    }
    let [want, mask] = settings.data_values.get(n).copied()?;
    // Which part of a larger access is compared is not public.
    if u32::from(access.size) != size || matching == 2 {
        return None;
    }
    let bits = u64::MAX >> (64 - 8 * size);
    let equal = (access.value()? ^ want) & !mask & bits == 0;
    Some(equal == (matching == 1))
}

/// Whether an access from `first` on has an address from `low` to `high`.
fn within(access: &Access, low: u64, high: u64) -> Option<bool> {
    let first = access.address()?;
    let last = first.saturating_add(u64::from(access.size.max(1)) - 1);
    match (low <= first && first <= high, first <= high && low <= last) {
        (true, _) => Some(true),
        (_, true) => None,
        _ => Some(false),
    }
}

/// Single address comparator `n` for an access of an instruction for which comparators have the
/// results `by`.
fn single(settings: &Settings, by: &Comparators, n: usize, access: &Access) -> Option<bool> {
    let [address, attributes] = settings.addresses.get(n).copied()?;
    if settings.unknown_addresses >> n & 1 != 0 {
        return None;
    }
    if attributes & 3 == 0 {
        return by.single.get(n).copied().flatten();
    }
    // Data value comparator n/2 belongs to the comparators of pair n/2, if DATARANGE is 0.
    let ranged = attributes >> 20 & 1 != 0;
    let value = if ranged { Some(true) } else { value(settings, attributes, n / 2, access) };
    all([compares(attributes, access), within(access, address, address), value])
}

/// Address range comparator `n`.
fn range(settings: &Settings, by: &Comparators, n: usize, access: &Access) -> Option<bool> {
    let [low, attributes] = settings.addresses.get(2 * n).copied()?;
    let [high, other] = settings.addresses.get(2 * n + 1).copied()?;
    if settings.unknown_addresses >> (2 * n) & 0b11 != 0 {
        return None;
    }
    if attributes & 3 == 0 {
        return by.range.get(n).copied().flatten();
    }
    if attributes != other || low > high {
        return None;
    }
    let ranged = attributes >> 20 & 1 != 0;
    let value = if ranged { value(settings, attributes, n, access) } else { Some(true) };
    all([compares(attributes, access), within(access, low, high), value])
}

/// The verdict on a data access. `traced` is whether its instruction is, `event` the ViewData
/// event, and `by` what the comparators report of the instruction.
pub(super) fn judge(
    settings: &Settings,
    by: &Comparators,
    traced: Option<bool>,
    event: Option<bool>,
    access: &Access,
) -> Verdict {
    use Requirement::{May, Must, MustNot};
    let verdict = |requirement, reason| Verdict { requirement, reason, section: SECTION };
    // TRCCONFIGR: DA, bit [16], DV, bit [17]; INSTP0, bits [2:1]: loads, stores.
    let (parts, elements) = (settings.config >> 16 & 3, settings.config >> 1 & 3);
    if parts == 0 || elements == 0 {
        return verdict(MustNot, "data is not traced: TRCCONFIGR.DA and DV, or INSTP0");
    }
    let element = match access.direction {
        Direction::Read => Some(elements & 1 != 0),
        Direction::Write => Some(elements & 2 != 0),
        Direction::Unknown => (elements == 3).then_some(true),
    };
    let select = |singles: u64, ranges: u64| {
        let singles = (0..16).filter(move |n| singles >> n & 1 != 0);
        let ranges = (0..8).filter(move |n| ranges >> n & 1 != 0);
        any(singles
            .map(|n| single(settings, by, n, access))
            .chain(ranges.map(|n| range(settings, by, n, access))))
    };
    let (singles, ranges) = (settings.view_singles, settings.view_ranges);
    let (include, exclude) = ((singles & 0xffff, ranges & 0xff), (singles >> 16, ranges >> 16));
    let included = match include {
        (0, 0) => Some(true),
        (singles, ranges) => select(singles, ranges),
    };
    let excluded = select(exclude.0, exclude.1 & 0xff);
    for (condition, want, reason) in [
        (traced, true, "its instruction is not traced"),
        (element, true, "TRCCONFIGR.INSTP0 does not have its instruction"),
        (excluded, false, "ViewData excludes it"),
        (included, true, "ViewData does not include it"),
        (event, true, "the ViewData event is not active"),
    ] {
        if condition == Some(!want) {
            return verdict(MustNot, reason);
        }
    }
    // PCREL and SPREL omit accesses by their base register, which an access does not have.
    let omitted = settings.view_data >> 8 & 0b111 != 0;
    let known = all([traced, element, not(excluded), included, event]).is_some();
    match (known, omitted) {
        (true, false) => verdict(Must, "ViewData is active"),
        (true, true) => {
            verdict(May, "accesses by the stack pointer or program counter are omitted")
        }
        (false, _) => verdict(May, "ViewData depends on what is not known"),
    }
}
