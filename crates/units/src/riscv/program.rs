//! The program of an encoder.

use tracewright_base::Remedy;
use tracewright_base::remedy::{BETWEEN, EXCLUDE, HALT, ROUTINE, TRACE, TRIGGER, VMID};

use super::component::Component;
use crate::program::{Action, Place, Program, ProgramStep};
use crate::request::{Refusal, Request};
use crate::unit::Unit as _;
use crate::values::Values;

/// Registers that a reset leaves undefined, and that a program sets to 0. ("Trace Components
/// Reset")
const UNDEFINED: [&str; 8] = [
    "trTeInstFeatures",
    "trTeInstFilters",
    "trTeDataControl",
    "trTeDataFilters",
    "trTeTrigDbgControl",
    "trTeTrigExtInControl",
    "trTeTrigExtOutControl",
    "trTsControl",
];

/// Branch history, N-Trace, synchronisation every 1024 messages.
const CONTROL: u64 = 1 << 24 | 6 << 20 | 1 << 16 | 6 << 4;
const CONTEXT: u64 = 1 << 9;
const STALL: u64 = 1 << 13;
/// The most ranges of addresses: a filter and a comparator each.
const RANGES: usize = 4;
/// The timestamp unit: enabled, internal system clock, counting, active.
const TIME: u64 = 1 << 15 | 2 << 4 | 0b11;

/// The program that makes an encoder do what `request` contains.
pub(super) fn program(request: &Request) -> Result<Program, Vec<Refusal>> {
    let refusals = refusals(request);
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let mut values = Values::default();
    UNDEFINED.iter().for_each(|name| values.set(name, 0));
    let mut control = CONTROL;
    if request.context_bytes > 0 {
        control |= CONTEXT;
    }
    if request.stall {
        control |= STALL;
    }
    if request.timestamps {
        values.set("trTsControl", TIME);
    }
    filters(request, &mut values);
    Ok(sequence(control, values))
}

/// A filter for each range of addresses; the other conditions are in every filter.
fn filters(request: &Request, values: &mut Values) {
    let all = [None];
    let spans: Vec<_> = match request.trace.is_empty() {
        true if request.levels.is_none() => return,
        true => all.to_vec(),
        false => request.trace.iter().map(|span| Some(*span)).collect(),
    };
    for (n, span) in spans.iter().enumerate() {
        let mut control = 1;
        if let Some(levels) = request.levels {
            control |= 1 << 1;
            values.set(&format!("trTeFilter{n}MatchInst"), levels.into());
        }
        if let Some(span) = span {
            control |= 1 << 4 | (n as u64) << 5;
            // P: iaddr >= start. S: iaddr <= the last address. Both must hold.
            values.set(&format!("trTeComp{n}Control"), 1 << 12 | 3 << 8 | 5 << 4);
            for (name, address) in [("PMatch", span.start), ("SMatch", span.end - 1)] {
                values.set(&format!("trTeComp{n}{name}Low"), address & 0xffff_ffff);
                values.set(&format!("trTeComp{n}{name}High"), address >> 32);
            }
        }
        values.set(&format!("trTeFilter{n}Control"), control);
    }
    values.set("trTeInstFilters", (1 << spans.len()) - 1);
}

/// Each part of the request that an encoder cannot do.
fn refusals(request: &Request) -> Vec<Refusal> {
    let Request { data, all_data, exclude, between, trigger, trace, .. } = request;
    let absent = [
        (!data.is_empty() || *all_data, "data trace".to_owned(), "N-Trace 1.0 traces no data"),
        (!exclude.is_empty(), EXCLUDE.to_string(), "filters select, and exclude nothing"),
        (!between.is_empty(), BETWEEN.to_string(), "debug triggers, which are CSRs of the hart"),
        (trigger.is_some(), TRIGGER.to_string(), "debug triggers, which are CSRs of the hart"),
        (
            request.context.is_some(),
            Remedy::Context.to_string(),
            "the width of a context is not known here",
        ),
        (request.vmid.is_some(), VMID.to_string(), "a RISC-V hart has no such filter"),
        (request.cycles, "cycles".to_owned(), "the trace has timestamps only"),
        (
            request.branch_output,
            "branch addresses".to_owned(),
            "the trace has targets of indirect jumps only",
        ),
        (request.halt, HALT.to_string(), "the encoder does not halt the hart"),
        (
            request.routine.is_some(),
            ROUTINE.to_string(),
            "routines are those of an ETMv4 or an ETE",
        ),
        (
            request.trace_id.is_some(),
            "a trace ID".to_owned(),
            "the ATB bridge, trAtbBridge, has it",
        ),
        (request.sink.is_some(), "a sink".to_owned(), "program trRam"),
        (
            trace.len() > RANGES,
            TRACE.to_string(),
            "more ranges than the 4 that every program can have",
        ),
    ];
    let refusal = |(_, part, lacks): (bool, String, &str)| Refusal {
        part,
        lacks: lacks.to_owned(),
        needs: "leave it out".to_owned(),
    };
    absent.into_iter().filter(|(asked, ..)| *asked).map(refusal).collect()
}

/// The accesses: reset, settings, enable, start. ("Reset and Discovery", "Enabling and Disabling")
fn sequence(control: u64, mut values: Values) -> Program {
    let unit = Component::Encoder;
    let place = |name: &str| Place {
        name: name.to_owned(),
        offset: unit.register(name).and_then(|register| register.offset),
    };
    let mut steps = Vec::new();
    let mut write = |name: &str, value: u64, why: &str| {
        let action = Action::Write { register: place(name), value };
        steps.push(ProgramStep::new(action, why));
    };
    write("trTeControl", 0, "reset");
    write("trTeControl", 1, "release from reset");
    for (name, value) in values.iter() {
        write(name, value, "setting");
    }
    write("trTeControl", control | 1, "mode and format");
    write("trTeControl", control | 0b11, "enable");
    write("trTeControl", control | 0b111, "trace");
    let polls = [(1, 0b1, 0), (2, 0b1, 1)];
    for (n, (at, mask, value)) in polls.into_iter().enumerate() {
        let action = Action::Poll { register: place("trTeControl"), mask, value };
        steps.insert(at + n, ProgramStep::new(action, "wait for trTeActive"));
    }
    let action = Action::Poll { register: place("trTeControl"), mask: 0b10, value: 0b10 };
    let last = steps.len() - 1;
    steps.insert(last, ProgramStep::new(action, "wait for trTeEnable"));
    values.set("trTeControl", control | 0b111);
    Program { values, steps, routine: None }
}
