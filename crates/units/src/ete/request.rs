//! A request to register values and back.

use tracewright_base::Remedy;
use tracewright_base::remedy::{
    BETWEEN, BRANCH_OUTPUT, CONTEXT, CONTEXT_BYTES, CYCLES, DATA, EXCLUDE, HALT, ROUTINE, SINK,
    STALL, TIMESTAMPS, TRACE, TRIGGER, VMID, VMIDS,
};

use super::implementation::Implementation;
use super::registers::by_name;
use super::sequence::{self, State};
use super::settings::Settings;
use crate::program::Program;
use crate::request::{Condition, DataParts, Occurrence, Refusal, Request, SecurityStates, Span};
use crate::routine::RoutineRequest;
use crate::sink::{Sink, Watermark};
use crate::values::Values;

/// The trace ID of a program whose request has none.
const TRACE_ID: u8 = 0x10;
/// The cycles between cycle counts.
const THRESHOLD: u64 = 0x100;

/// The values that fulfil `request`, and the accesses that program and enable the unit.
///
/// # Errors
/// What the unit cannot do.
pub fn program(unit: &Implementation, request: &Request) -> Result<Program, Vec<Refusal>> {
    let mut maker =
        Maker { unit, values: Values::default(), refused: Vec::new(), comparators: 0, context: 0 };
    maker.options(request);
    maker.contexts(request);
    maker.view(request);
    maker.trigger(request);
    maker.refuse_data(request);
    maker.sink(request);
    maker.routine(request);
    if !maker.refused.is_empty() {
        return Err(maker.refused);
    }
    let mut values = maker.values;
    let sink = request.sink.as_ref();
    let Some(asked) = &request.routine else {
        let steps = sequence::enable(unit, &values, sink);
        return Ok(Program { values, steps, routine: None });
    };
    asked.values.iter().for_each(|(name, value)| values.set(name, value));
    let RoutineRequest { tables, level, exceptions, routine, .. } = *asked;
    let state = State { unit, values: &values, sink, tables, level, exceptions };
    let steps = sequence::steps(routine, &state);
    Ok(Program { values, steps, routine: Some(routine) })
}

struct Maker<'a> {
    unit: &'a Implementation,
    values: Values,
    refused: Vec<Refusal>,
    /// The number of address comparators in use.
    comparators: u8,
    /// Bits of TRCACATR that select the context.
    context: u64,
}

impl Maker<'_> {
    fn refuse(&mut self, part: Remedy, lacks: &str, needs: &str) {
        let (part, lacks, needs) = (part.to_string(), lacks.to_owned(), needs.to_owned());
        self.refused.push(Refusal { part, lacks, needs });
    }

    /// Refuses `part` unless the unit has what it needs; what is not known is assumed to be there.
    fn need(&mut self, part: Remedy, has: Option<bool>, lacks: &str, needs: &str) -> bool {
        let has = has.unwrap_or(true);
        if !has {
            self.refuse(part, lacks, needs);
        }
        has
    }

    fn set(&mut self, name: &str, value: u64) {
        self.values.set(name, value);
    }

    /// TRCCONFIGR and the registers that each program writes. (Arm ARM Table K10-3)
    fn options(&mut self, request: &Request) {
        let unit = self.unit;
        // TRCCONFIGR[0] is always one.
        let mut config = 1;
        if request.context_bytes > 0
            && self.need(
                CONTEXT_BYTES,
                unit.context_ids(),
                "it traces no context IDs",
                "leave it out",
            )
        {
            config |= 1 << 6;
            if request.context_bytes != 4 {
                self.refuse(CONTEXT_BYTES, "it traces context IDs of 4 bytes only", "write 4");
            }
        }
        let vmids = unit.vmids();
        let needs = "leave it out";
        if request.vmid.is_some() && vmids == Some(true)
            || request.vmids && self.need(VMIDS, vmids, "it traces no such identifiers", needs)
        {
            config |= 1 << 7;
        }
        if request.cycles
            && self.need(CYCLES, unit.cycle_counts(), "it has no cycle counts", "leave it out")
        {
            config |= 1 << 4;
            let least = unit.least_threshold().map_or(0, u64::from);
            self.set("TRCCCCTLR", THRESHOLD.max(least));
        }
        if request.branch_output
            && self.need(
                BRANCH_OUTPUT,
                unit.branch_broadcast(),
                "it has no branch broadcasting",
                "leave it out",
            )
        {
            config |= 1 << 3;
            // Mode 0 with no range: everywhere.
            self.set("TRCBBCTLR", 0);
        }
        if request.timestamps
            && self.need(TIMESTAMPS, unit.timestamps(), "it has no timestamps", "leave it out")
        {
            config |= 1 << 11;
        }
        if unit.return_stack() == Some(true) && !request.branch_output {
            config |= 1 << 12;
        }
        self.set("TRCCONFIGR", config);
        if request.stall
            && self.need(STALL, unit.stall(), "it cannot stall the processor", "leave it out")
        {
            // ISTALL, and the highest threshold that TRCSTALLCTLR.LEVEL of every unit has.
            self.set("TRCSTALLCTLR", 1 << 8 | 0xc);
        } else if by_name("TRCSTALLCTLR").is_some_and(|named| unit.has(named)) {
            self.set("TRCSTALLCTLR", 0);
        }
        if unit.version.is_ete() {
            // TRCRSR.TA is 0: no exception is traced as if tracing had been active before.
            self.set("TRCRSR", 0);
        }
        for name in ["TRCEVENTCTL0R", "TRCEVENTCTL1R", "TRCTSCTLR", "TRCVIIECTLR", "TRCVISSCTLR"] {
            if by_name(name).is_some_and(|named| unit.has(named)) {
                self.set(name, 0);
            }
        }
        self.set("TRCSYNCPR", 0xc);
        self.set("TRCTRACEIDR", request.trace_id.unwrap_or(TRACE_ID).into());
        if request.halt {
            self.refuse(HALT, "it cannot stop the processor", "connect its event output to a CTI");
        }
    }

    /// Comparators of identifiers.
    fn contexts(&mut self, request: &Request) {
        if let Some(id) = request.context {
            let has = self.unit.context_comparators().map(|count| count > 0);
            if self.need(
                CONTEXT,
                has,
                "it has no context identifier comparator",
                "trace context IDs, and select afterwards",
            ) {
                self.set("TRCCIDCVR0", id.into());
                self.set("TRCCIDCCTLR0", 0);
                self.context |= 1 << 2;
            }
        }
        if let Some(id) = request.vmid {
            let has = self.unit.vmid_comparators().map(|count| count > 0);
            if self.need(
                VMID,
                has,
                "it has no virtual machine identifier comparator",
                "leave it out",
            ) {
                self.set("TRCVMIDCVR0", id.into());
                self.set("TRCVMIDCCTLR0", 0);
                self.context |= 2 << 2;
            }
        }
    }

    /// The number of the first of `count` address comparators.
    fn take(&mut self, part: Remedy, count: u8) -> Option<u8> {
        let first = self.comparators.next_multiple_of(count);
        let have = self.unit.address_pairs().map_or(16, |pairs| 2 * pairs);
        if first + count > have {
            let lacks = format!("it has {have} address comparators, and the request needs more");
            self.refuse(part, &lacks, "ask for fewer ranges and points");
            return None;
        }
        self.comparators = first + count;
        Some(first)
    }

    fn comparator(&mut self, n: u8, address: u64) {
        self.set(&format!("TRCACVR{n}"), address);
        self.set(&format!("TRCACATR{n}"), self.context);
    }

    /// An address range comparator; the last address is inclusive.
    fn range(&mut self, part: Remedy, first: u64, last: u64) -> Option<u8> {
        let n = self.take(part, 2)?;
        self.comparator(n, first);
        self.comparator(n + 1, last);
        Some(n / 2)
    }

    /// TRCVICTLR, TRCVIIECTLR, TRCVISSCTLR.
    fn view(&mut self, request: &Request) {
        let mut ranges = 0u64;
        for span in &request.trace {
            if let Some(n) = self.range(TRACE, span.start, span.end.wrapping_sub(1)) {
                ranges |= 1 << n;
            }
        }
        if request.trace.is_empty() && self.context != 0 && request.between.is_empty() {
            // A range of all addresses compares the context of each instruction precisely.
            if let Some(n) = self.range(CONTEXT, 0, u64::MAX) {
                ranges |= 1 << n;
            }
        }
        for span in &request.exclude {
            if let Some(n) = self.range(EXCLUDE, span.start, span.end.wrapping_sub(1)) {
                ranges |= 1 << (16 + n);
            }
        }
        let mut points = Vec::new();
        for (start, stop) in &request.between {
            if request.between.iter().any(|(_, other)| other == start) {
                self.refuse(
                    BETWEEN,
                    "one address cannot start and stop tracing",
                    "write two addresses",
                );
                continue;
            }
            points.extend([(*start, false), (*stop, true)]);
        }
        // A comparator with a lower address has a lower number. (DDI 0601, accessing TRCVISSCTLR)
        points.sort_unstable();
        let mut selected = 0u64;
        for (address, stops) in points {
            if let Some(n) = self.take(BETWEEN, 1) {
                self.comparator(n, address);
                selected |= if stops { 1 << (16 + n) } else { 1 << n };
            }
        }
        let started = u64::from(request.between.is_empty());
        let levels = request.levels.map_or(0, |levels| !u64::from(levels) & 0xf);
        // Realm state has the levels of Non-secure state.
        let (secure, non_secure) = match request.security {
            None => (levels, levels & 7),
            Some(SecurityStates::Secure) => (levels, 7),
            Some(SecurityStates::NonSecure) => (0xf, levels & 7),
        };
        // Selector 1 is TRUE: ViewInst is precise.
        self.set("TRCVICTLR", non_secure << 20 | secure << 16 | started << 9 | 1);
        if ranges != 0 {
            self.set("TRCVIIECTLR", ranges);
        }
        if selected != 0 {
            self.set("TRCVISSCTLR", selected);
        }
    }

    /// Event 0 as the ATB trigger.
    fn trigger(&mut self, request: &Request) {
        let Some(condition) = request.trigger else { return };
        let part = TRIGGER;
        let atb = self.unit.atb_trigger();
        if !self.need(part, atb, "it has no ATB trigger", "use an event that is traced") {
            return;
        }
        let pairs = self.unit.selector_pairs().unwrap_or(8);
        let resource = match condition.on {
            Occurrence::Execute(address) => self.take(part, 1).map(|n| {
                self.set(&format!("TRCACVR{n}"), address);
                self.set(&format!("TRCACATR{n}"), 0);
                4 << 16 | 1u64 << n
            }),
            Occurrence::Input(input) => {
                let has = self.unit.input_selectors().map(|count| count > 0);
                let lacks = "it has no external input selector";
                self.need(part, has, lacks, "use an address").then(|| {
                    let name = match self.unit.version.is_ete() {
                        true => "TRCEXTINSELR0",
                        false => "TRCEXTINSELR",
                    };
                    self.set(name, input.into());
                    1
                })
            }
            Occurrence::Watchpoint(input) => {
                let has = self.unit.pe_inputs().map(|count| (1..=count).contains(&input));
                let lacks = "it has no such PE comparator input";
                let there = self.need(part, has, lacks, "use an address");
                (there && input > 0).then(|| 1 << 16 | 1u64 << (input - 1))
            }
            Occurrence::Read(_) | Occurrence::Write(_) | Occurrence::Access(_) => {
                self.refuse(part, "it does not compare data accesses", "use exec:ADDRESS");
                None
            }
        };
        let Some(resource) = resource else { return };
        if pairs < 2 {
            self.refuse(part, "it has no resource selector", "leave it out");
            return;
        }
        self.set("TRCRSCTLR2", resource);
        let mut event = 2;
        if condition.times > 1 {
            let has = self.unit.counters().map(|count| count > 0);
            if !self.need(part, has, "it has no counter", "ask for the first time") {
                return;
            }
            // The counter is zero when all but the last occurrence have been counted; the pair is
            // active at the next one.
            self.set("TRCCNTRLDVR0", 0);
            self.set("TRCCNTVR0", u64::from(condition.times) - 1);
            self.set("TRCCNTCTLR0", 2);
            self.set("TRCRSCTLR3", 2 << 16 | 1);
            event = 1 << 7 | 1;
        }
        self.set("TRCEVENTCTL0R", event);
        self.set("TRCEVENTCTL1R", 1 << 11);
    }

    fn sink(&mut self, request: &Request) {
        let Some(sink) = request.sink else { return };
        if let Some(why) = sink.invalid() {
            self.refuse(SINK, "the sink cannot be programmed so", why);
        }
        if matches!(sink, Sink::Trbe(_)) && !self.unit.version.is_ete() {
            self.refuse(SINK, "only an ETE has a trace buffer", "use an ETR");
        }
        let watermark = matches!(sink.buffer().watermark, Some(Watermark::Trigger(_)));
        if watermark && request.trigger.is_some() {
            let needs = "use a watermark by wrapping";
            self.refuse(TRIGGER, "the trigger counter makes the watermark", needs);
        }
    }

    fn routine(&mut self, request: &Request) {
        let Some(asked) = &request.routine else { return };
        if asked.routine.switches() && !self.unit.version.is_ete() {
            let needs = "use disable, save, restore and enable";
            self.refuse(ROUTINE, "only an ETE is switched with a process", needs);
        }
    }

    fn refuse_data(&mut self, request: &Request) {
        if request.all_data || !request.data.is_empty() {
            let needs = "trace instructions only, or use an ETM with data trace";
            self.refuse(DATA, "data trace of this unit is not programmed", needs);
        }
    }
}

/// The request that `values` fulfil: the request whose program has these values.
pub fn fulfilled(unit: &Implementation, values: &Values) -> Option<Request> {
    let request = read(unit, values)?;
    let made = program(unit, &request).ok()?;
    let same = |name: &str| name == "TRCPRGCTLR" || made.values.get(name) == values.get(name);
    let given = values.iter().filter(|(name, _)| {
        // Identification is not part of a program.
        by_name(name).is_some_and(|named| named.row.saved)
    });
    let all = given.map(|(name, _)| name).chain(made.values.iter().map(|(name, _)| name));
    all.into_iter().all(same).then_some(request)
}

fn read(unit: &Implementation, values: &Values) -> Option<Request> {
    let settings = Settings::new(unit, values);
    let view = settings.view?;
    let of = |n: usize| settings.addresses.get(n).map(|[address, _]| *address);
    let span = |n: usize| {
        let (start, last) = (of(2 * n)?, of(2 * n + 1)?);
        Some((start, last))
    };
    let chosen = |bits: u64| (0..8usize).filter(move |n| bits >> n & 1 != 0);
    let whole = |n: &usize| span(*n) == Some((0, u64::MAX));
    let spans = |bits: u64| {
        chosen(bits)
            .filter(|n| !whole(n))
            .map(|n| span(n).map(|(start, last)| Span { start, end: last.wrapping_add(1) }))
            .collect::<Option<Vec<_>>>()
    };
    let points = |bits: u64| (0..16usize).filter(move |n| bits >> n & 1 != 0);
    let starts = points(settings.start_stop & 0xffff);
    let stops = points(settings.start_stop >> 16);
    let between = starts.zip(stops).map(|(from, to)| Some((of(from)?, of(to)?)));
    let config = settings.config;
    let used = settings.addresses.iter().fold(0, |all, [_, attributes]| all | attributes);
    let trigger = match settings.events[0] & 0xff {
        0 => None,
        bits => Some(condition(&settings, bits)?),
    };
    // A Security state of which no level is traced.
    let (secure, non_secure) = (view >> 16 & 0xf, view >> 20 & 7);
    let (excluded, security) = match (secure, non_secure) {
        (0xf, 0..7) => {
            (non_secure | u64::from(non_secure != 0) << 3, Some(SecurityStates::NonSecure))
        }
        (0..0xf, 7) if secure & 7 != 7 => (secure, Some(SecurityStates::Secure)),
        _ => (secure, None),
    };
    Some(Request {
        trace: spans(settings.ranges & 0xff)?,
        exclude: spans(settings.ranges >> 16 & 0xff)?,
        between: between.collect::<Option<Vec<_>>>()?,
        data: Vec::new(),
        all_data: false,
        parts: DataParts::Both,
        context: (used >> 2 & 1 != 0).then(|| settings.contexts[0][0] as u32),
        vmid: (used >> 3 & 1 != 0).then(|| settings.vmids[0][0] as u32),
        security,
        vmids: config >> 7 & 1 != 0 && used >> 3 & 1 == 0,
        levels: (excluded != 0).then_some(!excluded as u8 & 0xf),
        trigger,
        context_bytes: if config >> 6 & 1 != 0 { 4 } else { 0 },
        cycles: config >> 4 & 1 != 0,
        branch_output: config >> 3 & 1 != 0,
        timestamps: config >> 11 & 1 != 0,
        stall: values.get("TRCSTALLCTLR").unwrap_or(0) != 0,
        halt: false,
        trace_id: values.get("TRCTRACEIDR").map(|id| id as u8),
        sink: None,
        routine: None,
    })
}

/// The condition of event 0 as [`program`] makes it.
fn condition(settings: &Settings, event: u64) -> Option<Condition> {
    let control = *settings.selectors.get(2)?;
    let bit = (0..16usize).find(|n| control >> n & 1 != 0)?;
    let on = match control >> 16 & 0xf {
        0 => Occurrence::Input(u8::try_from(*settings.inputs.first()?).ok()?),
        1 => Occurrence::Watchpoint(bit as u8 + 1),
        4 => Occurrence::Execute(settings.addresses.get(bit)?[0]),
        _ => return None,
    };
    let times = match event {
        2 => 1,
        _ => (settings.counters[0][2] as u16).checked_add(1)?,
    };
    Some(Condition { on, value: None, times })
}

#[cfg(test)]
mod tests;
