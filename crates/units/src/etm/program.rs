//! From a request to register values and the sequence of accesses that programs them, and back.

mod allocate;
mod recognise;
mod size;
mod steps;
mod sysfs;

use std::fmt::Display;

use tracewright_base::Remedy;
use tracewright_base::remedy::{
    BETWEEN, CONTEXT, DATA, EXCLUDE, HALT, ROUTINE, SECURITY, TRACE, TRIGGER, VMID, VMIDS,
};

use self::allocate::Comparators;
pub(super) use self::size::Size;
use super::event::{Event, Function, Resource};
use super::resources::{DataTracing, Resources};
use super::settings::{Settings, name, number};
use super::version::Version;
use crate::program::Program;
use crate::request::{Condition, DataParts, Occurrence, Refusal, Request, Span};
use crate::values::Values;

pub use recognise::request;
pub use sysfs::sysfs;

/// ETMACTR: an executed instruction of any instruction set.
const EXECUTE: u32 = 0b11 << 3 | 0b001;
/// ETMACTR: a load or a store.
const LOAD_STORE: u32 = 0b100;
/// ETMACTR: a load.
const LOAD: u32 = 0b101;
/// ETMACTR: a store.
const STORE: u32 = 0b110;
/// ETMACTR: a data value is compared for being equal.
const EQUAL: u32 = 0b01 << 5;

/// The program for `request`.
///
/// # Errors
/// Each part of the request that `unit` cannot do.
pub fn make(unit: &Resources, request: &Request) -> Result<Program, Vec<Refusal>> {
    let (settings, rounded) = settings(unit, request)?;
    let mut values = Values::default();
    for (number, value) in settings.known() {
        if let Some(name) = name(number) {
            values.set(&name, value.into());
        }
    }
    for (n, watchpoint) in settings.watchpoints.iter().enumerate() {
        if let Some(address) = watchpoint {
            values.set(&format!("DWT_COMP{n}"), (*address).into());
            values.set(&format!("DWT_MASK{n}"), 0);
            values.set(&format!("DWT_FUNCTION{n}"), super::settings::DWT_EXECUTE.into());
        }
    }
    let steps = steps::steps(&settings, &rounded);
    Ok(Program { values, steps, routine: None })
}

/// The register values for `request`, as they are while the unit traces, and the numbers of the
/// registers of which the address is rounded down.
fn settings(unit: &Resources, request: &Request) -> Result<(Settings, Vec<u16>), Vec<Refusal>> {
    let ranges = request.trace.len() + request.exclude.len() + request.data.len();
    let mut maker = Maker {
        unit: *unit,
        settings: Settings::new(*unit),
        comparators: Comparators::new(unit, ranges),
        refusals: Vec::new(),
        rounded: Vec::new(),
    };
    maker.control(request);
    maker.context(request);
    maker.trace(request);
    maker.data(request);
    maker.between(request);
    maker.trigger(request);
    maker.unsupported(request);
    match maker.refusals.is_empty() {
        true => Ok((maker.settings, maker.rounded)),
        false => Err(maker.refusals),
    }
}

/// A program in progress.
struct Maker {
    unit: Resources,
    settings: Settings,
    comparators: Comparators,
    refusals: Vec<Refusal>,
    /// Registers of which the address is rounded down to a word.
    rounded: Vec<u16>,
}

impl Maker {
    fn refuse(&mut self, part: impl Display, lacks: impl Display, needs: impl Display) {
        let (part, lacks, needs) = (part.to_string(), lacks.to_string(), needs.to_string());
        self.refusals.push(Refusal { part, lacks, needs });
    }

    fn control(&mut self, request: &Request) {
        let unit = self.unit;
        // ETMEN: the trace port belongs to this unit.
        let mut control = 1 << 11;
        if let Some(size) = unit.max_port {
            let high = if unit.version >= Version::V3_0 { u32::from(size >> 3) << 21 } else { 0 };
            control |= high | u32::from(size & 0b111) << 4;
        }
        let options = [
            (request.cycles, unit.cycles, 12, "cycles", "cycle-accurate tracing"),
            (request.branch_output, unit.branch_output, 8, "branch output", "branch output"),
            (request.timestamps, unit.timestamps, 28, "timestamps", "timestamps, from ETMv3.5"),
            (request.stall, unit.stalls(), 7, "stall", "FIFOFULL in the unit and in the system"),
        ];
        for (asked, has, bit, part, what) in options {
            if asked && !has {
                self.refuse(part, "the unit does not have it", format!("this needs {what}"));
            }
            control |= u32::from(asked) << bit;
        }
        control |= u32::from(request.halt) << 9;
        if request.context_bytes > 0 && !unit.context_ids {
            self.refuse(
                format!("context IDs of {} bytes", request.context_bytes),
                "the unit does not trace context IDs",
                "this needs ETMv1.2 and a processor with context IDs",
            );
        }
        control |= match request.context_bytes {
            0 => 0,
            1 => 1,
            2 => 2,
            _ => 3,
        } << 14;
        if let Some(levels) = request.levels {
            self.refuse(
                format!("exception levels {levels:#b}"),
                "address comparators do not compare exception levels",
                "select addresses, contexts or, with ETMv4, exception levels",
            );
        }
        if request.stall {
            // Half of the FIFO, or the value of the architecture's example.
            let level = unit.fifo.map_or(15, |size| u32::from(size / 2).max(1));
            self.settings.set(number::FIFOFULL_LEVEL, level);
            self.settings.set(number::FIFOFULL_REGION, 1 << 24);
        }
        if request.timestamps {
            self.settings.set(number::TIMESTAMP_EVENT, Event::FALSE.bits());
        }
        if request.vmid.is_some() {
            control |= 1 << 30;
        }
        self.settings.set(number::CONTROL, control);
        if let Some(id) = request.trace_id {
            match unit.version >= Version::V3_2 {
                true => self.settings.set(number::TRACE_ID, id.into()),
                false => self.refuse(
                    format!("trace ID {id:#x}"),
                    "the unit has a trace port of its own",
                    "trace IDs exist from ETMv3.2; leave the ID out",
                ),
            }
        }
    }

    /// What an ETMv4 or an ETE can do.
    fn unsupported(&mut self, request: &Request) {
        let needs = "this needs an ETMv4 or an ETE";
        if request.routine.is_some() {
            self.refuse(ROUTINE, "routines are not made for this unit", needs);
        }
        if request.security.is_some() {
            self.refuse(SECURITY, "the unit does not select Security states so", needs);
        }
        if request.vmids {
            self.refuse(VMIDS, format!("virtual machine IDs are traced with {VMID}"), needs);
        }
    }

    fn context(&mut self, request: &Request) {
        if let Some(context) = request.context {
            if self.unit.context_comparators == 0 {
                self.refuse(
                    format!("context {context:#x}"),
                    "the unit has no context ID comparator",
                    "this needs one, from ETMv2.0; trace context IDs and select when decoding",
                );
                return;
            }
            self.settings.set(number::CONTEXT, context);
            self.settings.set(number::CONTEXT_MASK, 0);
        }
        if let Some(vmid) = request.vmid {
            if !self.unit.virtualization || vmid > 0xff {
                self.refuse(
                    format!("virtual machine {vmid:#x}"),
                    "the unit has no comparator for this virtual machine ID",
                    "this needs ETMv3.5 with the Virtualization Extensions, and an ID of 8 bits",
                );
                return;
            }
            self.settings.set(number::VMID, vmid);
        }
    }

    /// TraceEnable: included or excluded ranges, and the event.
    fn trace(&mut self, request: &Request) {
        let unit = self.unit;
        let includes = !request.trace.is_empty();
        // Comparators of included ranges can depend on the context, so that the event need not.
        let qualified = includes && request.context.is_some();
        let access = EXECUTE | if qualified { 1 << 8 } else { 0 };
        let mut ranges = 0;
        for span in &request.trace {
            ranges |= self.range(TRACE, *span, access);
        }
        let mut excluded = Vec::new();
        for span in &request.exclude {
            let bit = self.range(EXCLUDE, *span, EXECUTE);
            excluded.push(bit);
        }
        // What only the event can express.
        let mut terms: Vec<(Resource, bool)> = Vec::new();
        if request.context.is_some() && !qualified {
            terms.push((Resource::Context(1), true));
        }
        if request.vmid.is_some() {
            terms.push((Resource::Vmid, true));
        }
        let mut control = 1 << 24;
        if includes {
            control = ranges;
            let bits = excluded.iter().filter(|bit| **bit != 0);
            terms.extend(bits.map(|bit| (Resource::Range(bit.trailing_zeros() as u8 + 1), false)));
        } else {
            control |= excluded.iter().fold(0, |all, bit| all | bit);
        }
        match event(&terms) {
            Some(event) => self.settings.set(number::TRACE_ENABLE_EVENT, event.bits()),
            None => self.refuse(
                format!("the combination of {TRACE}, {EXCLUDE}, {CONTEXT} and {VMID}"),
                "an event has two resources, and include and exclude cannot be combined",
                "leave out one of them, or exclude at most one range within what is traced",
            ),
        }
        if !request.between.is_empty() {
            control |= 1 << 25;
        }
        self.settings.set(number::TRACE_ENABLE_1, control);
        if unit.version >= Version::V1_2 && unit.pairs > 0 {
            self.settings.set(number::TRACE_ENABLE_2, 0);
        }
    }

    /// Allocates a range comparator, and returns its bit; 0 where it is refused.
    fn range(&mut self, part: Remedy, span: Span, access: u32) -> u32 {
        let part = format!("{part} {span}");
        let Some(n) = self.comparators.pair() else {
            self.refuse(
                part,
                "the unit has no pair of address comparators left",
                format!("this needs another pair; ask for {BETWEEN} START..END, which needs none of them \
                 in a Cortex-M and single comparators elsewhere"),
            );
            return 0;
        };
        let first = u16::from(2 * (n - 1));
        let top = span.end == 1 << 32;
        if span.start > u64::from(u32::MAX) || span.end > 1 << 32 {
            self.refuse(part, "comparators have 32 bits", "use addresses below 0x100000000");
            return 0;
        }
        let data = access & LOAD_STORE != 0;
        let mut start = span.start as u32;
        // The base address of an access decides, which for a word is up to 3 below. (2.7.3)
        if data && self.unit.version < Version::V3_1 && start & 3 != 0 {
            start &= !3;
            self.rounded.push(number::ADDRESS + first);
        }
        // The size must suit the alignment of both addresses.
        let size = match data {
            false => access & 0b11 << 3,
            true if (start | span.end as u32) & 3 == 0 => 0b11 << 3,
            true if (start | span.end as u32) & 1 == 0 => 0b01 << 3,
            true => 0,
        };
        let access = access & !(0b11 << 3) | size;
        // The size of the end to include the last address.
        let end_access = if top { access | 0b11 << 3 } else { access };
        let end = if top { u32::MAX } else { span.end as u32 };
        for (number, value) in [
            (number::ADDRESS + first, start),
            (number::ADDRESS + first + 1, end),
            (number::ACCESS_TYPE + first, access),
            (number::ACCESS_TYPE + first + 1, end_access),
        ] {
            self.settings.set(number, value);
        }
        1 << (n - 1)
    }

    fn data(&mut self, request: &Request) {
        let unit = self.unit;
        if request.data.is_empty() && !request.all_data {
            return;
        }
        let part = match request.data.first() {
            Some(span) => format!("{DATA} {span}"),
            None => format!("{DATA} all"),
        };
        let (bits, can) = match request.parts {
            DataParts::Both => (0b11, unit.data == DataTracing::Full),
            DataParts::Address => {
                (0b10, matches!(unit.data, DataTracing::Full | DataTracing::Addresses))
            }
            DataParts::Value => {
                (0b01, matches!(unit.data, DataTracing::Full | DataTracing::Values))
            }
        };
        if !can {
            let needs =
                "this needs data tracing; in a Cortex-M, trace data with the DWT and the ITM";
            self.refuse(part, "the unit does not trace these parts of data accesses", needs);
            return;
        }
        if !request.all_data && !unit.data_addresses {
            self.refuse(
                part,
                "the unit does not compare data addresses",
                format!("ask for {DATA} all, or exclude the code whose data is not wanted"),
            );
            return;
        }
        let control = self.settings.value(number::CONTROL) | bits << 2;
        self.settings.set(number::CONTROL, control);
        let mut view = u32::from(request.all_data) << 16;
        if !request.all_data {
            for span in &request.data {
                view |= self.range(DATA, *span, LOAD_STORE);
            }
        }
        self.settings.set(number::VIEW_DATA_EVENT, Event::TRUE.bits());
        self.settings.set(number::VIEW_DATA_1, 0);
        if unit.memory_map > 0 {
            self.settings.set(number::VIEW_DATA_2, 0);
        }
        self.settings.set(number::VIEW_DATA_3, view);
    }

    fn between(&mut self, request: &Request) {
        if request.between.is_empty() {
            return;
        }
        let part = BETWEEN;
        if !self.unit.start_stop {
            self.refuse(
                part,
                "the unit has no start/stop block",
                format!("this needs ETMv1.2, or {TRACE}"),
            );
            return;
        }
        let (mut single, mut ice) = (0u32, 0u32);
        for (start, stop) in &request.between {
            let first = self.executed(part, *start);
            let last = self.executed(part, *stop);
            for (resource, shift) in [(first, 0), (last, 16)] {
                match resource {
                    Some(Resource::Address(n)) => single |= 1 << (u32::from(n) - 1 + shift),
                    Some(Resource::Ice(n)) => ice |= 1 << (u32::from(n) - 1 + shift),
                    _ => return,
                }
            }
        }
        if self.unit.pairs > 0 {
            self.settings.set(number::START_STOP, single);
        }
        if self.unit.ice_start_stop {
            self.settings.set(number::START_STOP_ICE, ice);
        }
    }

    /// A resource that is active where the instruction at `address` is executed.
    fn executed(&mut self, part: Remedy, address: u64) -> Option<Resource> {
        let part = format!("{part}: {address:#x}");
        let Ok(address) = u32::try_from(address) else {
            self.refuse(part, "comparators have 32 bits", "use an address below 0x100000000");
            return None;
        };
        if let Some(n) = self.comparators.single(false) {
            let at = u16::from(n - 1);
            self.settings.set(number::ADDRESS + at, address);
            self.settings.set(number::ACCESS_TYPE + at, EXECUTE);
            return Some(Resource::Address(n));
        }
        if let Some(n) = self.comparators.watchpoint() {
            if let Some(watchpoint) = self.settings.watchpoints.get_mut(usize::from(n - 1)) {
                *watchpoint = Some(address);
            }
            return Some(Resource::Ice(n));
        }
        self.refuse(
            part,
            "the unit has no address comparator left, and no watchpoint input",
            "this needs another comparator; ask for fewer addresses",
        );
        None
    }

    fn trigger(&mut self, request: &Request) {
        let Some(condition) = request.trigger else {
            self.settings.set(number::TRIGGER, Event::FALSE.bits());
            if request.halt {
                self.refuse(HALT, "nothing triggers", format!("add {TRIGGER}"));
            }
            return;
        };
        let Some(resource) = self.occurrence(condition) else { return };
        let resource = match condition.times {
            0 | 1 => resource,
            times => {
                let level = matches!(resource, Resource::Input(_) | Resource::Ice(_));
                let first = if self.unit.reduced_counter { 2 } else { 1 };
                if self.unit.counters < first || level {
                    self.refuse(
                        format!("{TRIGGER} {condition}"),
                        match level {
                            true => "an input is active for cycles, which a counter counts",
                            false => "the unit has no counter with an enabling event",
                        },
                        "trigger at the first occurrence, or on an address",
                    );
                    return;
                }
                let at = u16::from(first - 1);
                let enable = Event::one(resource).bits();
                let source = if self.unit.version < Version::V2_0 { 1 << 17 } else { 0 };
                self.settings.set(number::RELOAD_VALUE + at, times.into());
                self.settings.set(number::COUNT_ENABLE + at, enable | source);
                self.settings.set(number::RELOAD_EVENT + at, Event::FALSE.bits());
                Resource::Counter(first)
            }
        };
        self.settings.set(number::TRIGGER, Event::one(resource).bits());
    }

    /// The resource for the occurrence of a condition.
    fn occurrence(&mut self, condition: Condition) -> Option<Resource> {
        let part = format!("{TRIGGER} {condition}");
        let (address, access) = match condition.on {
            Occurrence::Execute(address) => return self.executed(TRIGGER, address),
            Occurrence::Input(n) if (1..=self.unit.inputs).contains(&n) => {
                return Some(Resource::Input(n));
            }
            Occurrence::Watchpoint(n) if (1..=self.unit.ice_inputs).contains(&n) => {
                return Some(Resource::Ice(n));
            }
            Occurrence::Input(_) | Occurrence::Watchpoint(_) => {
                let (inputs, ice) = (self.unit.inputs, self.unit.ice_inputs);
                let needs = format!(
                    "the unit has external inputs 1 to {inputs} and watchpoint inputs 1 to {ice}"
                );
                self.refuse(part, "the unit has no such input", &needs);
                return None;
            }
            Occurrence::Read(address) => (address, LOAD),
            Occurrence::Write(address) => (address, STORE),
            Occurrence::Access(address) => (address, LOAD_STORE),
        };
        let Ok(address) = u32::try_from(address) else {
            self.refuse(part, "comparators have 32 bits", "use an address below 0x100000000");
            return None;
        };
        if !self.unit.data_addresses {
            self.refuse(
                part,
                "the unit does not compare data addresses",
                format!(
                    "program a watchpoint of the processor, and ask for {TRIGGER} watchpoint:N"
                ),
            );
            return None;
        }
        let size = Size::at(address);
        if condition.value.is_some_and(|value| value > size.largest()) {
            let lacks = format!("the value at {address:#x} is a {}", size.name());
            self.refuse(part, &lacks, "a word is compared at a multiple of 4");
            return None;
        }
        let Some(n) = self.comparators.single(condition.value.is_some()) else {
            let lacks = match condition.value {
                Some(_) => "the unit has no address comparator with a data value comparator left",
                None => "the unit has no address comparator left",
            };
            self.refuse(part, lacks, "this needs another comparator");
            return None;
        };
        let at = u16::from(n - 1);
        let mut access = access | size.bits();
        if let Some(value) = condition.value {
            access |= EQUAL;
            let (value, mask) = size.compared(value, address, self.unit.version);
            self.settings.set(number::DATA_VALUE + at, value);
            self.settings.set(number::DATA_MASK + at, mask);
        }
        self.settings.set(number::ADDRESS + at, address);
        self.settings.set(number::ACCESS_TYPE + at, access);
        Some(Resource::Address(n))
    }
}

/// The event in which all `terms` hold: each resource is active, or inactive. `None` where there is
/// no such event.
fn event(terms: &[(Resource, bool)]) -> Option<Event> {
    Some(match *terms {
        [] => Event::TRUE,
        [(a, true)] => Event::one(a),
        [(a, false)] => Event { function: Function::NotA, ..Event::one(a) },
        [(a, true), (b, true)] => Event { function: Function::And, a, b },
        [(b, true), (a, false)] | [(a, false), (b, true)] => {
            Event { function: Function::NotAAndB, a, b }
        }
        [(a, false), (b, false)] => Event { function: Function::Neither, a, b },
        _ => return None,
    })
}
