//! All elements, with the fields of all kinds.

use tracewright::base::{Element, Software};

use super::accesses::{address, len, reason, text};
use super::common::{Of, infos, place, read};
use super::timestamps::{cycles, value as ticks};
use super::words::{
    DIRECTIONS, ISAS, LASTS, ROLES, SECURITIES, TRANSACTIONS, direction, isa, last, role, security,
    transaction,
};
use super::{By, Definition};
use super::{ranges::range, writes};
use crate::arrays::column;
use crate::kinds::KINDS;
use crate::output::Column;

pub(super) const TABLE: Definition = Definition {
    name: "elements",
    about: "all elements, with the fields of all kinds",
    columns: || infos(columns()),
    by: &[By::Window, By::Address, By::Function, By::Source, By::Kind],
    read: |input, batches| read(input, columns(), |element| Some(*element), batches),
};

fn start(element: &Element) -> Option<u64> {
    match *element {
        Element::Range(range) => Some(range.start),
        Element::Unknown { start, .. } => Some(start),
        Element::Exception(exception) => exception.return_address,
        Element::DataAccess(access) => access.address(),
        _ => address(element),
    }
}

fn end(element: &Element) -> Option<u64> {
    match element {
        Element::Range(range) => Some(range.end()),
        Element::Unknown { next, .. } => Some(*next),
        _ => None,
    }
}

fn value(element: &Element) -> Option<u64> {
    match *element {
        Element::TrapValue(value) | Element::Instrumentation { value, .. } => Some(value),
        Element::SoftwareWrite(write) => (write.bits > 0).then(|| write.value()),
        Element::DwtEvent(event) => Some(u64::from(event.value)),
        Element::DataAccess(access) => access.value(),
        Element::Events(bits) => Some(u64::from(bits)),
        _ => ticks(element),
    }
}

fn el(element: &Element) -> Option<u8> {
    match *element {
        Element::Context(context) => context.el,
        Element::NoCode { space, .. } => space.el(),
        Element::Instrumentation { el, .. } => Some(el),
        _ => None,
    }
}

fn columns() -> Vec<Column<Of<Element>>> {
    let mut columns = place();
    columns.extend(code());
    columns.extend(content());
    columns
}

/// What is executed, and in which context.
fn code() -> [Column<Of<Element>>; 16] {
    type Own = Of<Element>;
    [
        column!(Kind(KINDS) "kind" ! "kind of the element", |_, r| Some(r.own.kind())),
        column!(Hex "address" ? "of a range or unknown instructions the first, of an exception the \
            return address, of data their address, what is missing or misaligned", |_, r| start(&r.own)),
        column!(Hex "end" ? "of a range after the last instruction, of unknown ones the next",
            |_, r| end(&r.own)),
        column!(U32 "instructions" ? "executed instructions", |_, r| match r.own {
            Element::Range(range) => Some(range.instructions),
            Element::Unknown { instructions, .. } => instructions.get(),
            _ => None,
        }),
        column!(U64 "times" ! "how often: 1 but in loops whose turns are not listed",
            |_, r| r.times),
        column!(U32 "cycles" ? "processor cycles", |_, r| match r.own {
            Element::Range(range) => range.cycles.get(),
            _ => cycles(&r.own),
        }),
        column!(Kind(ISAS) "isa" ? "instruction set", |_, r| match r.own {
            Element::Range(range) => Some(isa(range.last.isa)),
            Element::Context(context) => context.known_isa().map(isa),
            _ => None,
        }),
        column!(Kind(LASTS) "last" ? "kind of the last instruction of a range",
            |_, r| range(&r.own).map(|own| last(&own))),
        column!(Kind(ROLES) "role" ? "purpose of the last instruction",
            |_, r| range(&r.own).and_then(|own| role(own.last.role))),
        column!(Bool "conditional" ? "the last instruction has a condition",
            |_, r| range(&r.own).map(|own| own.last.conditional())),
        column!(Bool "taken" ? "the last instruction took effect", |_, r| match r.own {
            Element::Range(range) => Some(range.taken()),
            Element::Corrected { taken } => Some(taken),
            _ => None,
        }),
        column!(U8 "bits" ? "width of a context, or of a value", |_, r| match r.own {
            Element::Context(context) => Some(if context.bits64 { 64 } else { 32 }),
            Element::SoftwareWrite(write) => Some(write.bits),
            _ => None,
        }),
        column!(U8 "el" ? "exception level, or RISC-V privilege", |_, r| el(&r.own)),
        column!(Kind(SECURITIES) "security" ? "security state", |_, r| match r.own {
            Element::Context(context) => context.security.map(security),
            Element::NoCode { space, .. } => space.security().map(security),
            _ => None,
        }),
        column!(Hex32 "context_id" ? "context ID of a context", |_, r| match r.own {
            Element::Context(context) => context.context_id,
            _ => None,
        }),
        column!(Hex32 "vmid" ? "virtual context ID of a context", |_, r| match r.own {
            Element::Context(context) => context.vmid,
            _ => None,
        }),
    ]
}

/// What other elements contain.
fn content() -> [Column<Of<Element>>; 17] {
    type Own = Of<Element>;
    [
        column!(U16 "number" ? "number of an exception", |_, r| match r.own {
            Element::Exception(exception) => Some(exception.number),
            _ => None,
        }),
        column!(Name(words) "name" ? "name of an exception", |s, r| match r.own {
            Element::Exception(exception) => {
                let name = s.source(&r.place).and_then(|own| own.exception_name(exception.number));
                name.map(|name| s.words.number(&name))
            }
            _ => None,
        }),
        column!(Name(words) "reason" ? "the reason of a gap, a start or an inconsistency",
            |s, r| reason(&r.own).map(|kind| s.words.number(kind.as_str()))),
        column!(Hex "value" ? "value, bits of events, or ticks of a timestamp",
            |_, r| value(&r.own)),
        column!(U32 "len" ? "undecodable bytes", |_, r| len(&r.own)),
        column!(U16 "port" ? "stimulus port",
            |_, r| writes::write(&r.own).and_then(|w| writes::port(w.channel))),
        column!(U16 "master" ? "master of an STM",
            |_, r| writes::write(&r.own).and_then(|w| writes::master(w.channel))),
        column!(U16 "channel" ? "channel of an STM",
            |_, r| writes::write(&r.own).and_then(|w| writes::channel(w.channel))),
        column!(Kind(DIRECTIONS) "direction" ? "of a data access", |_, r| match r.own {
            Element::DataAccess(access) => direction(access.direction),
            _ => None,
        }),
        column!(Hex "pc" ? "instruction of a data access or an event", |_, r| match r.own {
            Element::DataAccess(access) => access.by(),
            Element::DwtEvent(event) => event.meaning().pc().map(u64::from),
            _ => None,
        }),
        column!(Kind(TRANSACTIONS) "step" ? "step of a transaction", |_, r| match r.own {
            Element::Transaction(step) => Some(transaction(step)),
            _ => None,
        }),
        column!(Bool "marked" ? "of a software write", |_, r| match r.own {
            Element::SoftwareWrite(write) => Some(write.has(Software::MARKER)),
            _ => None,
        }),
        column!(Bool "after_overflow" ! "packets were lost before it",
            |_, r| r.own.is_after_overflow()),
        column!(Text "text" ? "what is wrong, for people", |_, r| text(&r.own)),
        column!(Name(functions) "function" ? "function of the code",
            |s, r| r.function)
        .on_request(),
        column!(Name(files) "file" ? "source file of the code",
            |s, r| r.line.map(|(file, _)| file))
        .on_request(),
        column!(U32 "line" ? "line of the code", |_, r| r.line.map(|(_, line)| line)).on_request(),
    ]
}
