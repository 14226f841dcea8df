//! All elements, with the fields of all kinds.

use tracewright::base::{Access, Context, Dwt, Element, Exception, Software};

use super::accesses::{self, access, address, event, len, reason, text};
use super::common::{Of, infos, place, read};
use super::timestamps::{cycles, delayed, delta, value as ticks};
use super::words::{
    DELAYS, DIRECTIONS, ISAS, LASTS, PRIVILEGES, ROLES, SECURITIES, STEPS_OF_ALL, direction, isa,
    last, role, security, step, transaction,
};
use super::{By, Definition, Division};
use super::{ranges::range, writes, writes::write};
use crate::arrays::column;
use crate::kinds::KINDS;
use crate::output::Column;

pub(super) const TABLE: Definition = Definition {
    name: "elements",
    about: "all elements, with the fields of all kinds",
    columns: || infos(columns()),
    by: &[By::Window, By::Address, By::Function, By::Source, By::Kind],
    division: Division::Segments,
    read: |input, batches| read(input, columns(), |element| Some(*element), batches),
};

fn start(element: &Element) -> Option<u64> {
    match *element {
        Element::Range(range) => Some(range.start),
        Element::Unknown { start, .. } => Some(start),
        Element::Exception(exception) => exception.return_address,
        Element::DataAccess(access) => access.address(),
        Element::DwtEvent(event) => accesses::data_address(&event),
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

fn context(element: &Element) -> Option<Context> {
    match element {
        Element::Context(context) => Some(*context),
        _ => None,
    }
}

fn exception(element: &Element) -> Option<Exception> {
    match element {
        Element::Exception(exception) => Some(*exception),
        _ => None,
    }
}

/// The number of an exception, also of an event of the DWT.
fn number(element: &Element) -> Option<u16> {
    match element {
        Element::Exception(exception) => Some(exception.number),
        Element::DwtEvent(event) => accesses::exception(event),
        _ => None,
    }
}

/// The step of a transaction, or of an exception that an event of the DWT reports.
fn any_step(element: &Element) -> Option<&'static str> {
    match element {
        Element::Transaction(step) => Some(transaction(*step)),
        Element::DwtEvent(event) => match event.meaning() {
            Dwt::Exception { step: own, .. } => Some(step(own)),
            _ => None,
        },
        _ => None,
    }
}

fn any_direction(element: &Element) -> Option<&'static str> {
    match element {
        Element::DataAccess(access) => direction(access.direction),
        Element::DwtEvent(event) => accesses::event_direction(event),
        _ => None,
    }
}

/// Bytes of a data access, or of what an event of the DWT reports.
fn size(element: &Element) -> Option<u8> {
    match element {
        Element::DataAccess(access) => (access.size > 0).then_some(access.size),
        Element::DwtEvent(event) => accesses::size(event),
        _ => None,
    }
}

/// Columns that are true or false of one kind of element, and null of others.
macro_rules! flags {
    ($own:ident: $($name:literal $about:literal $flag:expr,)+) => {
        [$(column!(Bool $name ? $about, |_, r| $own(&r.own).map(|own| own.has($flag)))),+]
    };
}

fn columns() -> Vec<Column<Of<Element>>> {
    let mut columns = general();
    columns.extend(of_writes());
    columns.extend(of_events());
    columns.extend(of_accesses());
    columns.extend(described());
    columns
}

/// The place, and what several kinds have.
fn general() -> Vec<Column<Of<Element>>> {
    type Own = Of<Element>;
    let mut columns = place();
    columns.extend([
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
        column!(Kind(PRIVILEGES) "privilege" ? "of RISC-V", |_, r| context(&r.own).and_then(|own| own.level())),
        column!(Kind(SECURITIES) "security" ? "security state", |_, r| match r.own {
            Element::Context(context) => context.security.map(security),
            Element::NoCode { space, .. } => space.security().map(security),
            _ => None,
        }),
        column!(Hex32 "context_id" ? "context ID of a context",
            |_, r| context(&r.own).and_then(|own| own.context_id)),
        column!(Hex32 "vmid" ? "virtual context ID of a context",
            |_, r| context(&r.own).and_then(|own| own.vmid)),
        column!(U16 "number" ? "number of an exception", |_, r| number(&r.own)),
        column!(Name(words) "name" ? "name of an exception", |s, r| {
            let name = exception(&r.own)
                .and_then(|own| s.source(&r.place)?.exception_name(own.number));
            name.map(|name| s.words.number(&name))
        }),
        column!(Bool "also_target" ? "of an exception: its return address is also the target of the \
            branch before", |_, r| exception(&r.own).map(|own| own.also_target)),
        column!(Bool "tail_chain" ? "of an exception: it was tail-chained",
            |_, r| exception(&r.own).map(|own| own.tail_chain)),
        column!(Name(words) "reason" ? "the reason of a gap, a start or an inconsistency",
            |s, r| reason(&r.own).map(|kind| s.words.number(kind.as_str()))),
        column!(Hex "value" ? "value, bits of events, or ticks of a timestamp",
            |_, r| value(&r.own)),
        column!(U32 "len" ? "undecodable bytes", |_, r| len(&r.own)),
        column!(U64 "delta" ? "ticks since the last local timestamp", |_, r| delta(&r.own)),
        column!(Bool "clock_changed" ? "of a global timestamp: the clock of the counter changed",
            |_, r| match r.own {
            Element::GlobalTimestamp { clock_changed, .. } => Some(clock_changed),
            _ => None,
        }),
        column!(Kind(DELAYS) "delayed" ? "what was delayed, of a local timestamp",
            |_, r| delayed(&r.own)),
        column!(Bool "after_overflow" ! "packets were lost before it",
            |_, r| r.own.is_after_overflow()),
        column!(Kind(STEPS_OF_ALL) "step" ? "step of a transaction, or what happened to an exception",
            |_, r| any_step(&r.own)),
        column!(Kind(DIRECTIONS) "direction" ? "of a data access", |_, r| any_direction(&r.own)),
        column!(U8 "size" ? "bytes of data, or of what an event of the DWT has",
            |_, r| size(&r.own)),
        column!(Hex "pc" ? "instruction of a data access or an event", |_, r| match r.own {
            Element::DataAccess(access) => access.by(),
            Element::DwtEvent(event) => event.meaning().pc().map(u64::from),
            _ => None,
        }),
    ]);
    columns
}

/// What software writes have.
fn of_writes() -> Vec<Column<Of<Element>>> {
    type Own = Of<Element>;
    let mut columns = vec![
        column!(U16 "port" ? "stimulus port",
            |_, r| write(&r.own).and_then(|w| writes::port(w.channel))),
        column!(U16 "master" ? "master of an STM",
            |_, r| write(&r.own).and_then(|w| writes::master(w.channel))),
        column!(U16 "channel" ? "channel of an STM",
            |_, r| write(&r.own).and_then(|w| writes::channel(w.channel))),
        column!(U64 "write_time" ? "timestamp of the write itself",
            |_, r| write(&r.own).and_then(|w| w.time())),
    ];
    columns.extend(flags!(write:
        "marker" "of a software write: it is marked" Software::MARKER,
        "trigger" "of a software write: it is a trigger" Software::TRIGGER,
        "frequency" "of a software write: the value is a frequency" Software::FREQUENCY,
        "master_error" "of a software write: error of a master" Software::MASTER_ERROR,
        "global_error" "of a software write: error of the STM" Software::GLOBAL_ERROR,
        "channel_error" "of a software write: error of a channel" Software::CHANNEL_ERROR,
        "cross_sync" "of a software write: synchronisation with other trace" Software::CROSS_SYNC,
        "flag" "of a software write: it is a flag" Software::FLAG,
        "user" "of a software write: it is a user packet" Software::USER,
    ));
    columns
}

/// What events of the DWT have.
fn of_events() -> Vec<Column<Of<Element>>> {
    type Own = Of<Element>;
    vec![
        column!(U8 "discriminator" ? "discriminator of an event of the DWT",
            |_, r| event(&r.own).map(|own| own.discriminator)),
        column!(Kind(accesses::MEANINGS) "meaning" ? "what an event of the DWT is",
            |_, r| event(&r.own).and_then(|own| accesses::meaning(&own))),
        column!(U8 "counters" ? "bits of the counters that wrapped",
            |_, r| event(&r.own).and_then(|own| accesses::counters(&own))),
        column!(U8 "comparator" ? "comparator that matched",
            |_, r| event(&r.own).and_then(|own| accesses::comparator(&own))),
        column!(Hex "low" ? "the traced low bytes of a program counter or address",
            |_, r| event(&r.own).and_then(|own| accesses::low(&own))),
    ]
}

/// What data accesses have.
fn of_accesses() -> Vec<Column<Of<Element>>> {
    type Own = Of<Element>;
    Vec::from(flags!(access:
        "coprocessor" "of a data access: transfer of a coprocessor" Access::COPROCESSOR,
        "continued" "of a data access: it continues the access before" Access::CONTINUED,
        "late" "of a data access: the value came out of order" Access::LATE,
        "store_failed" "of a data access: an exclusive store that failed" Access::STORE_FAILED,
        "value_not_traced" "of a data access: the value was not traced" Access::VALUE_NOT_TRACED,
        "suppressed" "of a data access: tracing was suppressed" Access::SUPPRESSED,
        "big_endian" "of a data access: big-endian" Access::BIG_ENDIAN,
        "exception" "of a data access: an access of exception entry" Access::EXCEPTION,
    ))
}

/// What is for people, and what is made on request.
fn described() -> Vec<Column<Of<Element>>> {
    type Own = Of<Element>;
    vec![
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
