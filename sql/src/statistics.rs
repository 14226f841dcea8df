//! What is known of the rows of a scan before anything is decoded: from the totals of indexes.

use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, ScalarValue, Statistics};

use crate::captures::Opened;
use crate::scan::Scan;
use crate::units::Unit;

/// Protocols that do not count the turns of loops.
const LISTED: [&str; 6] = ["ETE", "ETM3", "ETM4", "ITM", "PTM", "STM"];

/// What is known of the rows of `scan`, whose units are these.
pub fn of(scan: &Scan, units: &[Vec<Unit>]) -> Statistics {
    let mut statistics = Statistics::new_unknown(&scan.schema);
    let all = units.iter().flatten().map(|unit| unit.elements);
    let Some(elements) = all.sum::<Option<u64>>().and_then(|all| usize::try_from(all).ok()) else {
        return statistics;
    };
    // Each row is an element, but of other tables not the other way round.
    let exact = scan.table.name() == "elements"
        && scan.filter.is_none()
        && scan.limit.is_none()
        && scan.captures.iter().all(lists_all_elements);
    statistics.num_rows = match exact {
        true => Precision::Exact(elements),
        false => Precision::Inexact(elements),
    };
    if exact
        && let Ok(n) = scan.schema.index_of("time")
        && let Some(time) = statistics.column_statistics.get_mut(n)
    {
        *time = times(scan);
    }
    statistics
}

/// Whether the table of elements has a row for each: listings have only the first turns of loops
/// that other protocols count.
fn lists_all_elements(opened: &Opened) -> bool {
    opened.trace.sources().iter().all(|source| LISTED.contains(&source.protocol()))
}

/// The least and the greatest timestamp: each is an element, whose time it is.
fn times(scan: &Scan) -> ColumnStatistics {
    let buffers = scan.captures.iter().filter_map(|own| own.index.as_ref());
    let times = buffers.flat_map(|index| index.buffers()).filter_map(|own| own.times());
    let mut statistics = ColumnStatistics::new_unknown();
    if let Some((least, greatest)) = times.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) {
        statistics.min_value = Precision::Exact(ScalarValue::UInt64(Some(least)));
        statistics.max_value = Precision::Exact(ScalarValue::UInt64(Some(greatest)));
    }
    statistics
}
