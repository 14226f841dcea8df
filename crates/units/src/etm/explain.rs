//! A program of an ETM in sentences.

use super::event::{Event, Resource};
use super::port_mode::PortMode;
use super::program::Size;
use super::settings::{
    AccessKind, Comparator, DataMatch, Modes, Selection, Settings, name, number, port_width,
};
use super::version::Version;

/// What a unit with `settings` does, one sentence each.
pub fn sentences(settings: &Settings) -> Vec<String> {
    let mut out = Vec::new();
    let control = settings.control();
    match settings.get(number::CONTROL) {
        None => out.push("ETMCR is not known; the rest applies where the unit is enabled.".into()),
        Some(_) if control.power_down() => {
            out.push("The unit is powered down (ETMCR.PowerDown) and traces nothing.".into());
        }
        Some(_) if control.programming() => {
            out.push("The unit is being programmed (ETMCR.Programming) and traces nothing.".into());
        }
        Some(_) => {}
    }
    out.push(instructions(settings));
    out.extend(data(settings));
    out.extend(coprocessor(settings));
    out.extend(start_stop(settings));
    out.extend(derived(settings));
    out.extend(triggers(settings));
    out.extend(options(settings));
    out
}

/// The instructions that are traced.
fn instructions(settings: &Settings) -> String {
    let control = settings.control();
    let mut conditions = Vec::new();
    let selection = settings.trace_enable();
    let unknown = settings.unknown_trace_enable();
    let places = places(settings, selection);
    match (unknown.is_empty(), settings.trace_excludes(), selection.is_empty()) {
        (false, ..) => conditions.push(unknown_selection(&unknown)),
        (_, true, true) => {}
        (_, true, false) => conditions.push(format!("other than {places}")),
        // A unit without comparators has no include logic.
        (_, false, true) if !settings.unit.selects() => {}
        (_, false, true) => {
            return "Traces no instruction: TraceEnable includes nothing.".into();
        }
        (_, false, false) => conditions.push(format!("at {places}")),
    }
    match settings.event(number::TRACE_ENABLE_EVENT) {
        None => conditions.push("while the event of ETMTEEVR, which is not known".into()),
        Some(event) => match event.constant() {
            Some(true) => {}
            Some(false) => {
                return "Traces no instruction: the TraceEnable event is never active.".into();
            }
            None => conditions.push(format!("while {}", words(settings, event))),
        },
    }
    if settings.start_stop_controls() {
        conditions.push("while the start/stop block is on".into());
    }
    let what = match control.data_only() {
        true => "Traces no instructions, but data of instructions",
        false if conditions.is_empty() => "Traces all instructions",
        false => "Traces instructions",
    };
    match conditions.is_empty() {
        true => format!("{what}."),
        false => format!("{what} {}.", conditions.join(", ")),
    }
}

/// Where registers select that are not known.
fn unknown_selection(numbers: &[u16]) -> String {
    let names: Vec<_> = numbers.iter().filter_map(|number| name(*number)).collect();
    match names.as_slice() {
        [one] => format!("where {one} selects, which is not known"),
        _ => format!("where {} select, which are not known", names.join(" and ")),
    }
}

/// The data that is traced.
fn data(settings: &Settings) -> Option<String> {
    let control = settings.control();
    let parts = match (control.addresses(), control.values()) {
        (true, true) => "the addresses and values",
        (true, false) => "the addresses",
        (false, true) => "the values",
        (false, false) => return Some("Traces no data.".into()),
    };
    let (include, exclude) = (settings.view_includes(), settings.view_excludes());
    let mut conditions = Vec::new();
    let unknown = settings.unknown_view_data();
    if !unknown.is_empty() {
        conditions.push(unknown_selection(&unknown));
    } else if settings.view_excludes_only() {
        if !exclude.is_empty() {
            conditions.push(format!("other than {}", places(settings, exclude)));
        }
    } else if include.is_empty() {
        return Some("Traces no data: ViewData includes nothing.".into());
    } else {
        conditions.push(format!("of {}", places(settings, include)));
        if !exclude.is_empty() {
            conditions.push(format!("but not {}", places(settings, exclude)));
        }
    }
    match settings.event(number::VIEW_DATA_EVENT) {
        None => conditions.push("while the event of ETMVDEVR, which is not known".into()),
        Some(event) => match event.constant() {
            Some(true) => {}
            Some(false) => {
                return Some("Traces no data: the ViewData event is never active.".into());
            }
            None => conditions.push(format!("while {}", words(settings, event))),
        },
    }
    Some(match conditions.is_empty() {
        true => format!("Traces {parts} of all data accesses of traced instructions."),
        false => format!(
            "Traces {parts} of the data accesses of traced instructions: {}.",
            conditions.join(", ")
        ),
    })
}

fn coprocessor(settings: &Settings) -> Option<String> {
    let control = settings.control();
    control.coprocessor().then(|| match control.filter_coprocessor() {
        true => "Traces coprocessor register transfers where ViewData is active.".into(),
        false => "Traces all coprocessor register transfers of traced instructions.".into(),
    })
}

fn start_stop(settings: &Settings) -> Option<String> {
    if !settings.uses_start_stop() {
        return None;
    }
    let value = settings.value(number::START_STOP);
    let ice = settings.value(number::START_STOP_ICE);
    let list = |bits: u32, inputs: u32| {
        let single = Selection { single: bits, ..Selection::default() };
        let mut all: Vec<_> =
            Selection::numbers(single.single).map(|n| place(settings, n)).collect();
        all.extend(Selection::numbers(inputs).map(|n| input(settings, n)));
        match all.is_empty() {
            true => "nothing".to_owned(),
            false => all.join(" or "),
        }
    };
    Some(format!(
        "The start/stop block is on from {} and off from {}.",
        list(value & 0xffff, ice & 0xff),
        list(value >> 16, ice >> 16 & 0xff)
    ))
}

/// Counters and the sequencer, where an event uses them.
fn derived(settings: &Settings) -> Vec<String> {
    let mut out = Vec::new();
    let used: Vec<Resource> =
        settings.events().iter().flat_map(|(_, event)| event.resources()).collect();
    for n in 1..=settings.unit.counters {
        if !used.contains(&Resource::Counter(n)) {
            continue;
        }
        let at = u16::from(n) - 1;
        let event = |first: u16| match settings.event(first + at) {
            Some(event) => clause(settings, event),
            None => "while an event that is not known".into(),
        };
        let free = settings.unit.version < Version::V2_0
            && settings.get(number::COUNT_ENABLE + at).is_some_and(|v| v >> 17 & 1 == 0);
        let when = match free {
            true => "in each cycle".into(),
            false => event(number::COUNT_ENABLE),
        };
        let value = settings.get(number::RELOAD_VALUE + at);
        let value = value.map_or("an unknown value".into(), |value| value.to_string());
        out.push(format!(
            "Counter {n} counts from {value} to 0 {when}; it is reloaded {}.",
            event(number::RELOAD_EVENT)
        ));
    }
    if used.iter().any(|r| matches!(r, Resource::Sequencer(_))) {
        let names = ["1 to 2", "2 to 1", "2 to 3", "3 to 1", "3 to 2", "1 to 3"];
        let moves = names.iter().zip(number::SEQUENCER..).filter_map(|(name, number)| {
            let event = settings.event(number)?;
            match event.constant() {
                Some(false) => None,
                Some(true) => Some(format!("{name} in each cycle")),
                None => Some(format!("{name} on {}", words(settings, event))),
            }
        });
        let moves: Vec<_> = moves.collect();
        out.push(match moves.is_empty() {
            true => "The sequencer stays in its state.".into(),
            false => format!("The sequencer moves from state {}.", moves.join("; from ")),
        });
    }
    out
}

fn triggers(settings: &Settings) -> Vec<String> {
    let mut out = Vec::new();
    match settings.event(number::TRIGGER) {
        Some(event) if event.constant() != Some(false) => {
            let then = match settings.control().debug_request() {
                true => ", and stops the processor",
                false => "",
            };
            let first = match event.constant() {
                Some(_) => "cycle".into(),
                None => words(settings, event),
            };
            out.push(format!("The trigger occurs at the first {first}{then}."));
        }
        _ => {}
    }
    for n in 0..u16::from(settings.unit.outputs) {
        match settings.event(number::OUTPUT_EVENT + n) {
            Some(event) if event.constant() != Some(false) => out.push(format!(
                "External output {} is active {}.",
                n + 1,
                clause(settings, event)
            )),
            _ => {}
        }
    }
    out
}

fn options(settings: &Settings) -> Vec<String> {
    let control = settings.control();
    let mut out = Vec::new();
    let level = settings.get(number::FIFOFULL_LEVEL);
    let level = level.map_or("a number of".into(), |level| level.to_string());
    if control.stall() {
        out.push(stall(settings, &level));
    }
    if control.suppress() {
        out.push(format!("Data is suppressed that would leave less than {level} bytes free."));
    }
    let mut also = Vec::new();
    if control.cycles() {
        also.push("cycles".to_owned());
    }
    match control.context_bytes() {
        0 => {}
        1 => also.push("1 byte of context IDs".into()),
        bytes => also.push(format!("{bytes} bytes of context IDs")),
    }
    if control.timestamps() {
        also.push("timestamps".into());
    }
    if control.vmid() {
        also.push("virtual machine IDs".into());
    }
    if control.branch_output() {
        also.push("the address of every taken branch".into());
    }
    if !also.is_empty() {
        out.push(format!("The trace has {}.", also.join(", ")));
    }
    if settings.get(number::CONTROL).is_some()
        && let Some(width) = port_width(control.port_size(), settings.unit.version)
    {
        let pins = if width == 1 { "1 pin".to_owned() } else { format!("{width} pins") };
        out.push(format!("The trace port has {pins}{}.", port_mode(settings)));
    }
    if let Some(id) = settings.get(number::TRACE_ID) {
        out.push(format!("The trace ID is {:#04x}.", id & 0x7f));
    }
    out
}

/// How the trace port of an ETMv3 is clocked. (Table 2-18) The fields of earlier units have words.
fn port_mode(settings: &Settings) -> String {
    if settings.unit.version < Version::V3_0 {
        return String::new();
    }
    match PortMode::of_control(settings.value(number::CONTROL)) {
        Some(PortMode::Dynamic) => {
            ", in the dynamic mode, with the clock of the unit and without TRACECLK".to_owned()
        }
        Some(PortMode::Ratio(data, clocks)) => {
            format!(", in the mode {data}:{clocks}, {data} sample for {clocks} clocks of the unit")
                .replacen("2 sample ", "2 samples ", 1)
                .replacen(" 1 clocks", " 1 clock", 1)
        }
        Some(PortMode::Implementation) => ", in a mode that the implementation defines".to_owned(),
        None => ", in a reserved mode".to_owned(),
    }
}

/// Where the processor waits for a FIFO with less than `level` bytes free. (Table 3-19)
fn stall(settings: &Settings, level: &str) -> String {
    let selection = settings.fifofull_region();
    let places = places(settings, selection);
    let excludes = settings.get(number::FIFOFULL_REGION).map(|value| value >> 24 & 1 != 0);
    let region = match (excludes, selection.is_empty()) {
        (None, _) => format!(", {}", unknown_selection(&[number::FIFOFULL_REGION])),
        (Some(true), true) => String::new(),
        (Some(true), false) => format!(", other than at {places}"),
        (Some(false), true) => {
            return "The processor does not wait for the FIFO: ETMFFRR selects no region.".into();
        }
        (Some(false), false) => format!(", at {places}"),
    };
    format!("The processor waits while less than {level} bytes of the FIFO are free{region}.")
}

/// When an event is active.
fn clause(settings: &Settings, event: Event) -> String {
    match event.constant() {
        Some(true) => "in each cycle".into(),
        Some(false) => "in no cycle".into(),
        None => format!("while {}", words(settings, event)),
    }
}

/// An event in words, with what the comparators compare.
pub fn words(settings: &Settings, event: Event) -> String {
    event.text(&|resource| match resource {
        Resource::Address(n) if settings.knows_comparator(n) => place(settings, n),
        Resource::Range(n) if settings.knows_comparator(2 * n) => range(settings, n),
        Resource::Context(n) => context(settings, n),
        Resource::Ice(n) => input(settings, n),
        _ => resource.to_string(),
    })
}

/// The comparators of a selection in words.
fn places(settings: &Settings, selection: Selection) -> String {
    let mut all: Vec<_> =
        Selection::numbers(selection.ranges).map(|n| range(settings, n)).collect();
    all.extend(Selection::numbers(selection.single).map(|n| place(settings, n)));
    all.extend(Selection::numbers(selection.memory_map).map(|n| format!("memory map decode {n}")));
    all.join(" or ")
}

/// Single address comparator `n` in words.
fn place(settings: &Settings, n: u8) -> String {
    if !settings.knows_comparator(n) {
        return format!("address comparator {n}, which is not known");
    }
    let comparator = settings.comparator(n);
    format!(
        "{} {:#x}{}",
        access(comparator, false),
        comparator.address,
        qualifiers(settings, comparator, value_of_size(settings, comparator))
    )
}

/// Address range comparator `n` in words.
fn range(settings: &Settings, n: u8) -> String {
    if !settings.knows_comparator(2 * n - 1) || !settings.knows_comparator(2 * n) {
        return format!("address range {n}, which is not known");
    }
    let (low, high) = (settings.comparator(2 * n - 1), settings.comparator(2 * n));
    let end = match high.address == u32::MAX && high.kind.size() == Some(4) {
        true => "0x100000000".into(),
        false => format!("{:#x}", high.address),
    };
    // A range has several addresses, of several bytes of the data bus.
    let qualifiers = qualifiers(settings, low, low.data);
    format!("{} {:#x}..{end}{qualifiers}", access(low, true), low.address)
}

fn access(comparator: Comparator, range: bool) -> String {
    let kind = match comparator.kind.kind() {
        AccessKind::Fetch => "fetch of",
        AccessKind::Execute => "execution of",
        AccessKind::Passed => "execution with passed condition of",
        AccessKind::Failed => "execution with failed condition of",
        AccessKind::LoadStore => "access to",
        AccessKind::Load => "load from",
        AccessKind::Store => "store to",
        AccessKind::Reserved => "reserved access to",
    };
    let size = match comparator.kind.size() {
        Some(1) => "byte ",
        Some(2) => "halfword ",
        Some(_) => "word ",
        None => "reserved size ",
    };
    match comparator.kind.is_data() && !range {
        true => format!("{size}{kind}"),
        false => kind.to_owned(),
    }
}

/// The value and the mask that a single address comparator compares: of its size where ETMDCVR and
/// ETMDCMR have the form for that size, otherwise as they are.
fn value_of_size(settings: &Settings, comparator: Comparator) -> Option<(u32, u32)> {
    let (register, mask) = comparator.data?;
    let version = settings.unit.version;
    let of_size = Size::of(comparator.kind)
        .and_then(|size| size.of_registers(register, mask, comparator.address, version));
    of_size.or(comparator.data)
}

/// What qualifies an address. `data` is the value that is compared, and its mask.
fn qualifiers(settings: &Settings, comparator: Comparator, data: Option<(u32, u32)>) -> String {
    let version = settings.unit.version;
    let mut out = String::new();
    let kind = comparator.kind;
    if let Some((value, mask)) = data.filter(|_| kind.is_data()) {
        let mask = if mask == 0 { String::new() } else { format!(" but bits {mask:#x}") };
        match kind.data() {
            DataMatch::Equal => out += &format!(" of value {value:#x}{mask}"),
            DataMatch::NotEqual => out += &format!(" of a value other than {value:#x}{mask}"),
            DataMatch::Off | DataMatch::Reserved => {}
        }
    }
    if let Some(n) = kind.context(version) {
        out += &format!(" in {}", context(settings, n));
    }
    let modes = [true, false].map(|non_secure| kind.modes(non_secure, version));
    let state = |state: &str, modes| match modes {
        Modes::All => Some(format!("{state} state")),
        Modes::Privileged => Some(format!("{state} privileged modes")),
        Modes::User => Some(format!("{state} User mode")),
        Modes::None => None,
    };
    match modes {
        [Modes::All, Modes::All] => {}
        [Modes::None, Modes::None] => out += " in no state",
        [non_secure, secure] => {
            let states = [state("Non-secure", non_secure), state("Secure", secure)];
            let states: Vec<_> = states.into_iter().flatten().collect();
            out += &format!(" in {}", states.join(" or "));
        }
    }
    if kind.vmid(version) {
        out += &format!(" in virtual machine {:#x}", settings.value(number::VMID) & 0xff);
    }
    if kind.exact(version) {
        out += " (exact match)";
    }
    out
}

/// EmbeddedICE input `n` in words.
fn input(settings: &Settings, n: u8) -> String {
    let watchpoint = settings.watchpoints.get(usize::from(n.saturating_sub(1))).copied().flatten();
    match watchpoint {
        Some(address) => format!("execution of {address:#x} (DWT comparator {})", n - 1),
        None => format!("EmbeddedICE input {n}"),
    }
}

fn context(settings: &Settings, n: u8) -> String {
    let at = u16::from(n.saturating_sub(1) & 0b11);
    match settings.get(number::CONTEXT + at) {
        None => format!("context ID comparator {n}, which is not known"),
        Some(value) => match settings.value(number::CONTEXT_MASK) {
            0 => format!("context {value:#x}"),
            mask => format!("context {value:#x} but bits {mask:#x}"),
        },
    }
}
