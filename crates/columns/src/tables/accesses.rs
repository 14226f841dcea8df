//! Data accesses, events of the DWT, and what is missing or wrong in a trace.

use tracewright::base::{Access, Dwt, DwtEvent, Element};
use tracewright::protocols::PacketKind;

use super::common::{Of, infos, place, read};
use super::words::{DIRECTIONS, SECURITIES, STEPS, direction, read_or_write, security, step};
use super::{Definition, Division, ROWS};
use crate::arrays::column;
use crate::output::Column;

pub(super) const TABLE: Definition = Definition {
    name: "data_accesses",
    about: "traced reads and writes of memory",
    columns: || infos(columns()),
    by: ROWS,
    division: Division::Segments,
    read: |input, batches| read(input, columns(), access, batches),
};

pub(super) const DWT: Definition = Definition {
    name: "dwt_events",
    about: "events of the Data Watchpoint and Trace unit",
    columns: || infos(dwt_columns()),
    by: ROWS,
    division: Division::Segments,
    read: |input, batches| read(input, dwt_columns(), event, batches),
};

pub(super) const GAPS: Definition = Definition {
    name: "gaps",
    about: "where trace was lost, bytes are undecodable, packets contradict, or memory is missing",
    columns: || infos(gap_columns()),
    by: ROWS,
    division: Division::Segments,
    read: |input, batches| read(input, gap_columns(), gap, batches),
};

pub(super) fn access(element: &Element) -> Option<Access> {
    match element {
        Element::DataAccess(access) => Some(*access),
        _ => None,
    }
}

fn columns() -> Vec<Column<Of<Access>>> {
    type Own = Of<Access>;
    let mut columns = place();
    columns.extend([
        column!(Hex "address" ? "address of the data", |_, r| r.own.address()),
        column!(Hex "value" ? "the value", |_, r| r.own.value()),
        column!(U8 "size" ? "bytes", |_, r| (r.own.size > 0).then_some(r.own.size)),
        column!(Kind(DIRECTIONS) "direction" ? "read or write", |_, r| direction(r.own.direction)),
        column!(Hex "pc" ? "address of the instruction", |_, r| r.own.by()),
        column!(Bool "coprocessor" ! "transfer of a coprocessor",
            |_, r| r.own.has(Access::COPROCESSOR)),
        column!(Bool "continued" ! "it continues the access before",
            |_, r| r.own.has(Access::CONTINUED)),
        column!(Bool "late" ! "the value came out of order", |_, r| r.own.has(Access::LATE)),
        column!(Bool "store_failed" ! "an exclusive store that failed",
            |_, r| r.own.has(Access::STORE_FAILED)),
        column!(Bool "value_not_traced" ! "the value was not traced",
            |_, r| r.own.has(Access::VALUE_NOT_TRACED)),
        column!(Bool "suppressed" ! "tracing was suppressed", |_, r| r.own.has(Access::SUPPRESSED)),
        column!(Bool "big_endian" ! "big-endian", |_, r| r.own.has(Access::BIG_ENDIAN)),
        column!(Bool "exception" ! "an access of exception entry",
            |_, r| r.own.has(Access::EXCEPTION)),
        column!(Name(functions) "function" ? "function of the instruction",
            |s, r| r.function)
        .on_request(),
    ]);
    columns
}

pub(super) const MEANINGS: &[&str] = &[
    "counters",
    "pmu-counters",
    "exception",
    "pc-sample",
    "sleep",
    "prohibited",
    "data-pc",
    "data-match",
    "data-address",
    "data-value",
    "reserved",
];

pub(super) fn event(element: &Element) -> Option<DwtEvent> {
    match element {
        Element::DwtEvent(event) => Some(*event),
        _ => None,
    }
}

/// The name of what an event means.
pub(super) fn meaning(event: &DwtEvent) -> Option<&'static str> {
    Some(match event.meaning() {
        Dwt::Counters(_) => "counters",
        Dwt::PmuCounters(_) => "pmu-counters",
        Dwt::Exception { .. } => "exception",
        Dwt::PcSample(_) => "pc-sample",
        Dwt::Sleep => "sleep",
        Dwt::Prohibited => "prohibited",
        Dwt::DataPc { .. } => "data-pc",
        Dwt::DataMatch { .. } => "data-match",
        Dwt::DataAddress { .. } => "data-address",
        Dwt::DataValue { .. } => "data-value",
        Dwt::Reserved { .. } => "reserved",
    })
}

/// The size of what an event reports: of an address of which only the low bytes were traced, of a
/// value, or of a reserved event.
pub(super) fn size(event: &DwtEvent) -> Option<u8> {
    match event.meaning() {
        Dwt::DataPc { size, .. } | Dwt::DataAddress { size, .. } => Some(size),
        Dwt::DataValue { size, .. } | Dwt::Reserved { size, .. } => Some(size),
        _ => None,
    }
}

pub(super) fn comparator(event: &DwtEvent) -> Option<u8> {
    match event.meaning() {
        Dwt::DataPc { comparator, .. }
        | Dwt::DataMatch { comparator }
        | Dwt::DataAddress { comparator, .. }
        | Dwt::DataValue { comparator, .. } => Some(comparator),
        _ => None,
    }
}

/// The counters that wrapped.
pub(super) fn counters(event: &DwtEvent) -> Option<u8> {
    match event.meaning() {
        Dwt::Counters(bits) | Dwt::PmuCounters(bits) => Some(bits),
        _ => None,
    }
}

/// The number of the exception.
pub(super) fn exception(event: &DwtEvent) -> Option<u16> {
    match event.meaning() {
        Dwt::Exception { number, .. } => Some(number),
        _ => None,
    }
}

/// The address of the data, where all of it was traced.
pub(super) fn data_address(event: &DwtEvent) -> Option<u64> {
    match event.meaning() {
        Dwt::DataAddress { size: 4, address, .. } => Some(u64::from(address)),
        _ => None,
    }
}

/// The low bytes of a program counter or an address, where only these were traced.
pub(super) fn low(event: &DwtEvent) -> Option<u64> {
    match event.meaning() {
        Dwt::DataPc { size, pc: low, .. } | Dwt::DataAddress { size, address: low, .. }
            if size < 4 =>
        {
            Some(u64::from(low))
        }
        _ => None,
    }
}

pub(super) fn event_direction(event: &DwtEvent) -> Option<&'static str> {
    match event.meaning() {
        Dwt::DataValue { write, .. } => Some(read_or_write(write)),
        _ => None,
    }
}

fn dwt_columns() -> Vec<Column<Of<DwtEvent>>> {
    type Own = Of<DwtEvent>;
    let mut columns = place();
    columns.extend([
        column!(U8 "discriminator" ! "discriminator of the packet", |_, r| r.own.discriminator),
        column!(Hex32 "value" ? "value of the packet", |_, r| Some(r.own.value)),
        column!(Kind(MEANINGS) "meaning" ! "what the event is", |_, r| meaning(&r.own)),
        column!(U8 "counters" ? "bits of the counters that wrapped", |_, r| counters(&r.own)),
        column!(U16 "exception" ? "number of the exception", |_, r| exception(&r.own)),
        column!(Kind(STEPS) "step" ? "what happened to the exception",
            |_, r| match r.own.meaning() {
            Dwt::Exception { step: own, .. } => Some(step(own)),
            _ => None,
        }),
        column!(Hex "pc" ? "program counter", |_, r| r.own.meaning().pc().map(u64::from)),
        column!(U8 "comparator" ? "comparator that matched", |_, r| comparator(&r.own)),
        column!(Hex "address" ? "address of the data, where all of it was traced",
            |_, r| data_address(&r.own)),
        column!(Hex "low" ? "the traced low bytes of a program counter or address",
            |_, r| low(&r.own)),
        column!(Kind(DIRECTIONS) "direction" ? "read or write", |_, r| event_direction(&r.own)),
        column!(U8 "size" ? "bytes of an address or a value", |_, r| size(&r.own)),
        column!(Bool "after_overflow" ! "packets were lost before it", |_, r| r.own.after_overflow),
        column!(Name(functions) "function" ? "function of the program counter",
            |s, r| r.function)
        .on_request(),
    ]);
    columns
}

const LOSSES: &[&str] =
    &["gap", "trace-on", "no-code", "undecodable", "inconsistency", "ambiguity"];

/// What is missing or wrong. That a trace begins is not.
fn gap(element: &Element) -> Option<Element> {
    LOSSES.contains(&element.kind()).then_some(*element)
}

/// The reason, as in other outputs.
pub(super) fn reason(element: &Element) -> Option<PacketKind> {
    match element {
        Element::Gap(gap) => Some(PacketKind::of(gap)),
        Element::TraceOn(start) => Some(PacketKind::of(start)),
        Element::Undecodable { fault, .. } => Some(PacketKind::of(fault)),
        Element::Inconsistency(inconsistency) => Some(PacketKind::of(inconsistency)),
        _ => None,
    }
}

/// What is wrong, for people.
pub(super) fn text(element: &Element) -> Option<String> {
    match element {
        Element::Undecodable { fault, .. } => Some(fault.to_string()),
        Element::Inconsistency(inconsistency) => Some(inconsistency.to_string()),
        _ => None,
    }
}

/// The address that is missing, or that is not one.
pub(super) fn address(element: &Element) -> Option<u64> {
    match element {
        Element::NoCode { address, .. } => Some(*address),
        Element::Inconsistency(inconsistency) => inconsistency.address(),
        _ => None,
    }
}

/// The number of undecodable bytes.
pub(super) fn len(element: &Element) -> Option<u32> {
    match element {
        Element::Undecodable { len, .. } => Some(*len),
        _ => None,
    }
}

fn gap_columns() -> Vec<Column<Of<Element>>> {
    type Own = Of<Element>;
    let mut columns = place();
    columns.extend([
        column!(Kind(LOSSES) "kind" ! "kind of the element", |_, r| Some(r.own.kind())),
        column!(Name(words) "reason" ? "the reason",
            |s, r| reason(&r.own).map(|kind| s.words.number(kind.as_str()))),
        column!(Hex "address" ? "address that is missing or wrong", |_, r| address(&r.own)),
        column!(U32 "len" ? "undecodable bytes", |_, r| len(&r.own)),
        column!(Text "text" ? "what is wrong, for people", |_, r| text(&r.own)),
        column!(U8 "el" ? "exception level of the memory that is missing", |_, r| match r.own {
            Element::NoCode { space, .. } => space.el(),
            _ => None,
        }),
        column!(Kind(SECURITIES) "security" ? "security state of that memory",
            |_, r| match r.own {
            Element::NoCode { space, .. } => space.security().map(security),
            _ => None,
        }),
    ]);
    columns
}
