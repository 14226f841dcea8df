//! From register values to the request that results in them.

use super::size::Size;
use super::{EQUAL, EXECUTE, settings};
use crate::etm::event::{Event, Function, Resource};
use crate::etm::settings::{AccessKind, Selection, Settings, number};
use crate::request::{Condition, DataParts, Occurrence, Request, Span};

/// The request that results in `settings`. `None` where none does.
pub fn request(program: &Settings) -> Option<Request> {
    let request = read(program)?;
    // The values decide: a request that results in others is not the one.
    let (mut same, _) = settings(&program.unit, &request).ok()?;
    let port = port_bits(program);
    let control = same.value(number::CONTROL) & !PORT | port;
    same.set(number::CONTROL, control);
    let values = program.known().filter(|(number, _)| !is_identification(*number));
    (values.eq(same.known()) && program.watchpoints == same.watchpoints).then_some(request)
}

/// The bits of ETMCR for port size and port mode, which are not part of a request.
const PORT: u32 = 1 << 21 | 0b111 << 4 | 0b11 << 16 | 1 << 13;

fn port_bits(program: &Settings) -> u32 {
    program.value(number::CONTROL) & PORT
}

const fn is_identification(number: u16) -> bool {
    matches!(number, 0x001 | 0x005 | 0x079 | 0x07a | 0x082)
}

fn read(program: &Settings) -> Option<Request> {
    let control = program.control();
    let mut request = Request {
        cycles: control.cycles(),
        branch_output: control.branch_output(),
        timestamps: control.timestamps(),
        stall: control.stall(),
        halt: control.debug_request(),
        context_bytes: control.context_bytes(),
        context: program.get(number::CONTEXT),
        vmid: program.get(number::VMID),
        trace_id: program.get(number::TRACE_ID).map(|id| (id & 0x7f) as u8),
        ..Request::default()
    };
    let selection = program.trace_enable();
    let spans =
        |ranges: u32| Selection::numbers(ranges).map(|n| span(program, n)).collect::<Vec<_>>();
    match program.trace_excludes() {
        true => request.exclude = spans(selection.ranges),
        false => {
            request.trace = spans(selection.ranges);
            // Excluded ranges are in the event, A before B.
            let event = program.event(number::TRACE_ENABLE_EVENT)?;
            let not_a =
                matches!(event.function, Function::NotA | Function::NotAAndB | Function::Neither);
            let not_b = event.function == Function::Neither;
            for (resource, excluded) in [(event.a, not_a), (event.b, not_b)] {
                if let (Resource::Range(n), true) = (resource, excluded) {
                    request.exclude.push(span(program, n));
                }
            }
        }
    }
    if control.data() {
        request.parts = match (control.addresses(), control.values()) {
            (true, true) => DataParts::Both,
            (true, false) => DataParts::Address,
            _ => DataParts::Value,
        };
        request.all_data = program.view_excludes_only();
        request.data = spans(program.view_includes().ranges);
    }
    if program.start_stop_controls() {
        request.between = between(program)?;
    }
    request.trigger = trigger(program)?;
    Some(request)
}

fn span(program: &Settings, n: u8) -> Span {
    let (low, high) = (program.comparator(2 * n - 1), program.comparator(2 * n));
    let top = high.address == u32::MAX && high.kind.size() == Some(4);
    let end = if top { 1 << 32 } else { u64::from(high.address) };
    Span { start: low.address.into(), end }
}

/// The pairs of addresses that start and stop tracing, in the order in which their comparators were
/// taken.
fn between(program: &Settings) -> Option<Vec<(u64, u64)>> {
    let single = program.value(number::START_STOP);
    let ice = program.value(number::START_STOP_ICE);
    let address = |n: u8| u64::from(program.comparator(n).address);
    // Single comparators are taken from the last, watchpoints from the first.
    let order = |bits: u32| {
        let mut all: Vec<_> = Selection::numbers(bits).collect();
        all.reverse();
        all.into_iter().map(address).collect::<Vec<_>>()
    };
    let watched = |bits: u32| {
        let all = Selection::numbers(bits).map(|n| {
            let watchpoint = program.watchpoints.get(usize::from(n) - 1).copied().flatten();
            watchpoint.map(u64::from)
        });
        all.collect::<Option<Vec<_>>>()
    };
    let mut starts = order(single & 0xffff);
    let mut stops = order(single >> 16);
    starts.extend(watched(ice & 0xff)?);
    stops.extend(watched(ice >> 16 & 0xff)?);
    (starts.len() == stops.len()).then(|| starts.into_iter().zip(stops).collect())
}

/// The condition of the trigger; `None` in the option where there is none.
fn trigger(program: &Settings) -> Option<Option<Condition>> {
    let event = program.event(number::TRIGGER)?;
    if event == Event::FALSE {
        return Some(None);
    }
    if event.function != Function::A {
        return None;
    }
    let (resource, times) = match event.a {
        Resource::Counter(n @ 1..=4) => {
            let at = u16::from(n - 1);
            let enable = program.event(number::COUNT_ENABLE + at)?;
            (enable.a, program.value(number::RELOAD_VALUE + at) as u16)
        }
        resource => (resource, 1),
    };
    let (on, value) = match resource {
        Resource::Input(n) => (Occurrence::Input(n), None),
        Resource::Ice(n) => {
            let watchpoint = program.watchpoints.get(usize::from(n) - 1).copied().flatten();
            match watchpoint {
                Some(address) => (Occurrence::Execute(address.into()), None),
                None => (Occurrence::Watchpoint(n), None),
            }
        }
        Resource::Address(n) => {
            let comparator = program.comparator(n);
            let address = u64::from(comparator.address);
            let on = match comparator.kind.kind() {
                AccessKind::Load => Occurrence::Read(address),
                AccessKind::Store => Occurrence::Write(address),
                AccessKind::LoadStore => Occurrence::Access(address),
                _ if comparator.kind.0 == EXECUTE => Occurrence::Execute(address),
                _ => return None,
            };
            let compares = comparator.kind.0 & EQUAL != 0;
            let value = match comparator.data.filter(|_| compares) {
                None => None,
                Some((register, mask)) => {
                    let version = program.unit.version;
                    let size = Size::of(comparator.kind)?;
                    let compared = size.of_registers(register, mask, comparator.address, version);
                    // A request has no mask.
                    Some(compared.filter(|(_, mask)| *mask == 0)?.0)
                }
            };
            (on, value)
        }
        _ => return None,
    };
    Some(Some(Condition { on, value, times }))
}
