//! Timestamps and cycle counts.

use tracewright::base::Element;

use super::common::{Of, infos, place, read};
use super::words::{DELAYS, delay};
use super::{Definition, Division, WINDOW};
use crate::arrays::column;
use crate::output::Column;

pub(super) const TABLE: Definition = Definition {
    name: "timestamps",
    about: "timestamps and cycle counts",
    columns: || infos(columns()),
    by: WINDOW,
    division: Division::Segments,
    read: |input, batches| read(input, columns(), time, batches),
};

const KINDS: &[&str] = &["timestamp", "global-timestamp", "local-timestamp", "cycles"];

fn time(element: &Element) -> Option<Element> {
    KINDS.contains(&element.kind()).then_some(*element)
}

/// The ticks of a timestamp; of a local one, since the trace began.
pub(super) fn value(element: &Element) -> Option<u64> {
    match element {
        Element::Timestamp { value, .. } | Element::GlobalTimestamp { value, .. } => Some(*value),
        Element::LocalTimestamp(time) => Some(time.total),
        _ => None,
    }
}

pub(super) fn cycles(element: &Element) -> Option<u32> {
    match element {
        Element::Timestamp { cycles, .. } | Element::Cycles(cycles) => *cycles,
        _ => None,
    }
}

pub(super) fn delta(element: &Element) -> Option<u64> {
    match element {
        Element::LocalTimestamp(time) => Some(u64::from(time.delta)),
        _ => None,
    }
}

/// What a local timestamp reports to be delayed.
pub(super) fn delayed(element: &Element) -> Option<&'static str> {
    match element {
        Element::LocalTimestamp(time) => delay(time.delay),
        _ => None,
    }
}

fn columns() -> Vec<Column<Of<Element>>> {
    type Own = Of<Element>;
    let mut columns = place();
    columns.extend([
        column!(Kind(KINDS) "kind" ! "kind of the element", |_, r| Some(r.own.kind())),
        column!(U64 "value" ? "ticks; of a local timestamp, their sum", |_, r| value(&r.own)),
        column!(U64 "delta" ? "ticks since the last local timestamp", |_, r| delta(&r.own)),
        column!(U32 "cycles" ? "processor cycles since the last count; null where it was lost",
            |_, r| cycles(&r.own)),
        column!(Bool "clock_changed" ! "the clock of the counter changed", |_, r| matches!(
            r.own, Element::GlobalTimestamp { clock_changed: true, .. })),
        column!(Kind(DELAYS) "delayed" ? "what was delayed", |_, r| delayed(&r.own)),
        column!(Bool "after_overflow" ! "packets were lost before it",
            |_, r| r.own.is_after_overflow()),
    ]);
    columns
}
