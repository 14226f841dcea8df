//! A unit and its program in sentences.

use super::implementation::Implementation;
use super::settings::{Event, Settings};
use crate::values::Values;

/// The resources of a unit, one kind a line.
pub fn resources(unit: &Implementation) -> Vec<String> {
    let mut lines = vec![format!("architecture: {}", unit.version)];
    let mut counted = |what: &str, count: Option<u8>| {
        let count = count.map_or("not known".to_owned(), |count| count.to_string());
        lines.push(format!("{what}: {count}"));
    };
    counted("pairs of address comparators", unit.address_pairs());
    counted("context identifier comparators", unit.context_comparators());
    counted("virtual machine identifier comparators", unit.vmid_comparators());
    counted("single-shot comparators", unit.single_shots());
    counted("pairs of resource selectors", unit.selector_pairs());
    counted("counters", unit.counters());
    counted("external input selectors", unit.input_selectors());
    counted("PE comparator inputs", unit.pe_inputs());
    counted("events", unit.events());
    let sequencer = match unit.sequencer() {
        Some(true) => "sequencer: yes",
        Some(false) => "sequencer: no",
        None => "sequencer: not known",
    };
    lines.push(sequencer.to_owned());
    lines
}

/// The program in `values`, in sentences.
pub fn program(unit: &Implementation, values: &Values) -> Vec<String> {
    let settings = Settings::new(unit, values);
    let mut lines = Vec::new();
    if !settings.enabled {
        lines.push("The unit is disabled (TRCPRGCTLR.EN is 0) and traces nothing.".to_owned());
    }
    match settings.view {
        None => lines.push(
            "TRCVICTLR is not known, so it is not known which instructions are traced.".to_owned(),
        ),
        Some(view) => lines.push(instructions(&settings, view)),
    }
    lines.extend(counters(&settings));
    lines.extend(sequencer(&settings));
    lines.extend(events(&settings));
    lines.push(options(values, &settings));
    lines
}

/// The numbers of the bits that are set.
fn bits(value: u64) -> impl Iterator<Item = usize> {
    (0..64).filter(move |n| value >> n & 1 != 0)
}

fn list(items: Vec<String>, last: &str) -> String {
    match items.split_last() {
        None => String::new(),
        Some((only, [])) => only.clone(),
        Some((end, rest)) => format!("{} {last} {end}", rest.join(", ")),
    }
}

fn instructions(settings: &Settings, view: u64) -> String {
    let event = Event::new(view & 0xff);
    if event.constant() == Some(false) {
        return "Traces no instruction: the ViewInst event is FALSE.".to_owned();
    }
    let mut text = "Traces".to_owned();
    let include: Vec<_> = bits(settings.ranges & 0xff).map(|n| range(settings, n)).collect();
    if include.is_empty() {
        text += " all instructions";
    } else {
        text += &format!(" the instructions at {}", list(include, "and"));
    }
    let exclude: Vec<_> = bits(settings.ranges >> 16 & 0xff).map(|n| range(settings, n)).collect();
    if !exclude.is_empty() {
        text += &format!(", but not those at {}", list(exclude, "and"));
    }
    let levels = levels(settings, view);
    if let Some(levels) = levels {
        text += &format!(", {levels}");
    }
    let started = view >> 9 & 1 != 0;
    let single = |n: usize| address(settings, n);
    let input = |n: usize| format!("PE comparator input {n}");
    let (points, inputs) = (settings.start_stop, settings.pe_start_stop);
    let of = |points: u64, inputs: u64| {
        let points = bits(points & 0xffff).map(single);
        list(points.chain(bits(inputs & 0xff).map(input)).collect(), "or")
    };
    let (start, stop) = (of(points, inputs), of(points >> 16, inputs >> 16));
    match (start.is_empty(), stop.is_empty(), started) {
        (true, true, true) => {}
        (true, true, false) => text += ", but start/stop is stopped, so none",
        (true, false, true) => text += &format!(", until {stop}"),
        (true, false, false) => text += ", but start/stop is stopped and nothing starts it",
        (false, true, _) => text += &format!(", from {start} on"),
        (false, false, true) => text += &format!(", until {stop}, and from {start} on again"),
        (false, false, false) => text += &format!(", from {start} to {stop}"),
    }
    if event.constant().is_none() {
        text += &format!(", {}", clause("while", settings, event));
    }
    text + "."
}

/// Address range comparator n.
fn range(settings: &Settings, n: usize) -> String {
    let of = |n: usize| settings.addresses.get(n).copied().unwrap_or_default();
    let ([first, attributes], [last, _]) = (of(2 * n), of(2 * n + 1));
    format!("{first:#x} to {last:#x}{}", context(settings, attributes))
}

/// Single address comparator n.
fn address(settings: &Settings, n: usize) -> String {
    let [value, attributes] = settings.addresses.get(n).copied().unwrap_or_default();
    format!("{value:#x}{}", context(settings, attributes))
}

/// What a comparator compares beside the address.
fn context(settings: &Settings, attributes: u64) -> String {
    let n = (attributes >> 4 & 7) as usize;
    let mut text = String::new();
    if attributes >> 2 & 1 != 0 {
        let [value, _] = settings.contexts.get(n).copied().unwrap_or_default();
        text += &format!(" with context ID {value:#x}");
    }
    if attributes >> 3 & 1 != 0 {
        let [value, _] = settings.vmids.get(n).copied().unwrap_or_default();
        text += &format!(" with virtual machine ID {value:#x}");
    }
    if attributes >> 8 & settings.levels != 0 {
        text += " at some exception levels";
    }
    text
}

/// The exception levels that are traced, `None` for all.
fn levels(settings: &Settings, view: u64) -> Option<String> {
    let excluded = view >> 16 & settings.levels;
    if excluded == 0 {
        return None;
    }
    let names = |name: &str, count: u32, bit: &dyn Fn(u32) -> bool| {
        let open: Vec<_> = (0..count).filter(|el| !bit(*el)).map(|el| format!("EL{el}")).collect();
        (!open.is_empty()).then(|| format!("{name} {}", list(open, "and")))
    };
    let bit = |n: u32| excluded >> n & 1 != 0;
    let states = [
        names("Secure", 4, &|el| bit(el)),
        names("Non-secure", 3, &|el| bit(4 + el)),
        names("Realm", 3, &|el| bit(4 + el) != bit(8 + el)),
    ];
    // An ETMv4 knows no Realm state.
    let known = if settings.levels >> 8 != 0 { states.len() } else { states.len() - 1 };
    let open: Vec<_> = states.into_iter().take(known).flatten().collect();
    Some(match open.is_empty() {
        true => "but at no exception level".to_owned(),
        false => format!("at {}", open.join(", ")),
    })
}

/// A resource event in words.
pub fn condition(settings: &Settings, event: Event) -> String {
    match event {
        Event::Selector(0) | Event::Pair(0) => "never".to_owned(),
        Event::Selector(1) => "always".to_owned(),
        Event::Selector(n) => selector(settings, n),
        Event::Pair(n) => {
            let control = settings.selectors.get(usize::from(2 * n)).copied().unwrap_or(0);
            let both =
                format!("{} and {}", selector(settings, 2 * n), selector(settings, 2 * n + 1));
            if control >> 21 & 1 != 0 { format!("not ({both})") } else { both }
        }
    }
}

/// When a resource event is active: `word` and the event in words.
fn clause(word: &str, settings: &Settings, event: Event) -> String {
    match condition(settings, event).as_str() {
        "always" => "in each cycle".to_owned(),
        "never" => "in no cycle".to_owned(),
        condition => format!("{word} {condition}"),
    }
}

fn selector(settings: &Settings, n: u8) -> String {
    let control = match n {
        0 => return "never".to_owned(),
        1 => return "always".to_owned(),
        n => settings.selectors.get(usize::from(n)).copied().unwrap_or(0),
    };
    let group = control >> 16 & 0xf;
    let value = |list: &[[u64; 2]; 8], n: usize| list.get(n).map_or(0, |[value, _]| *value);
    let resources = bits(control & 0xffff).map(|n| match group {
        0 => {
            let event = settings.inputs.get(n).copied().unwrap_or(0);
            format!("external event {event:#x}")
        }
        1 => format!("PE comparator input {n}"),
        2 if n < 4 => format!("counter {n} is zero"),
        2 => format!("the sequencer is in state {}", n - 4),
        3 => format!("single-shot comparator {n} matches"),
        4 => format!("the instruction at {} executes", address(settings, n)),
        5 => format!("an instruction at {} executes", range(settings, n)),
        6 => format!("the context ID is {:#x}", value(&settings.contexts, n)),
        7 => format!("the virtual machine ID is {:#x}", value(&settings.vmids, n)),
        _ => "a reserved resource is active".to_owned(),
    });
    let text = list(resources.collect(), "or");
    match (text.is_empty(), control >> 20 & 1 != 0) {
        // No resource is selected, so none is active.
        (true, false) => "never".to_owned(),
        (true, true) => "always".to_owned(),
        (_, true) => format!("not ({text})"),
        (_, false) => text,
    }
}

fn counters(settings: &Settings) -> Vec<String> {
    let each = settings.counters.iter().enumerate();
    each.filter_map(|(n, [reload, control, value])| {
        let (event, again) = (Event::new(control & 0xff), Event::new(control >> 8 & 0xff));
        let chained = control >> 17 & 1 != 0;
        if event.constant() == Some(false) && !chained {
            return None;
        }
        let mut text = format!("Counter {n} counts down from {value}");
        let reloads = format!("counter {} reloads", n.saturating_sub(1));
        text += &match (condition(settings, event).as_str(), chained) {
            ("never", true) => format!(" when {reloads}"),
            ("always", _) | (_, false) => format!(" {}", clause("when", settings, event)),
            (condition, true) => format!(" when {condition} or {reloads}"),
        };
        if control >> 16 & 1 != 0 {
            text += &format!(", and begins again at {reload}");
        }
        if again.constant() != Some(false) {
            text += &format!(", and is {reload} again {}", clause("when", settings, again));
        }
        Some(text + ".")
    })
    .collect()
}

fn sequencer(settings: &Settings) -> Vec<String> {
    let [moves @ .., reset, state] = settings.sequencer;
    let mut lines = Vec::new();
    for (n, control) in moves.iter().enumerate() {
        let (forward, back) = (Event::new(control & 0xff), Event::new(control >> 8 & 0xff));
        for (event, from, to) in [(forward, n, n + 1), (back, n + 1, n)] {
            if event.constant() != Some(false) {
                lines.push(format!(
                    "The sequencer moves from state {from} to {to} {}.",
                    clause("when", settings, event)
                ));
            }
        }
    }
    if !lines.is_empty() {
        lines.insert(0, format!("The sequencer begins in state {}.", state & 3));
        let reset = Event::new(reset & 0xff);
        if reset.constant() != Some(false) {
            lines.push(format!(
                "The sequencer moves to state 0 {}.",
                clause("when", settings, reset)
            ));
        }
    }
    lines
}

fn events(settings: &Settings) -> Vec<String> {
    let [selected, effect] = settings.events;
    (0..4u32)
        .filter_map(|n| {
            let event = Event::new(selected >> (8 * n) & 0xff);
            if event.constant() == Some(false) {
                return None;
            }
            let mut effects = Vec::new();
            if effect >> n & 1 != 0 {
                effects.push("is in the trace".to_owned());
            }
            if n == 0 && effect >> 11 & 1 != 0 {
                effects.push("is the trigger".to_owned());
            }
            let effects = match effects.is_empty() {
                true => "has no effect on the trace".to_owned(),
                false => list(effects, "and"),
            };
            Some(format!("Event {n} occurs {}; it {effects}.", clause("when", settings, event)))
        })
        .collect()
}

/// The form of the trace.
fn options(values: &Values, settings: &Settings) -> String {
    let of = |name: &str| values.get(name).unwrap_or(0);
    let config = settings.config;
    let on = |bit: u32| config >> bit & 1 != 0;
    let mut parts = Vec::new();
    let id = of("TRCTRACEIDR") & 0x7f;
    parts.push(if id == 0 { "no trace ID".to_owned() } else { format!("trace ID {id:#x}") });
    for (bit, what) in [
        (6, "context IDs"),
        (7, "virtual machine IDs"),
        (3, "the address of each branch"),
        (18, "the instrumentation instruction"),
    ] {
        if on(bit) {
            parts.push(what.to_owned());
        }
    }
    if on(4) {
        parts.push(format!("cycle counts of {} cycles or more", of("TRCCCCTLR") & 0xfff));
    }
    if on(11) {
        parts.push(match Event::new(settings.timestamp & 0xff).constant() {
            Some(false) => "timestamps".to_owned(),
            _ => format!(
                "timestamps, also {}",
                clause("when", settings, Event::new(settings.timestamp & 0xff))
            ),
        });
    }
    if on(12) {
        parts.push("a return stack".to_owned());
    }
    if config >> 13 & 3 != 0 {
        parts.push("Q elements".to_owned());
    }
    if of("TRCSTALLCTLR") >> 8 & 1 != 0 {
        parts.push("stalls of the processor before an overflow".to_owned());
    }
    match of("TRCSYNCPR") & 0x1f {
        0 => parts.push("synchronisation on request only".to_owned()),
        n => parts.push(format!("synchronisation every {} bytes", 1u64 << n)),
    }
    format!("The trace has {}.", list(parts, "and"))
}

#[cfg(test)]
mod tests {
    use crate::catalogue;
    use crate::values::Values;

    /// The sentences of a unit with these values.
    fn explained(unit: &str, values: &[(&str, u64)]) -> String {
        let values: Values = values.iter().copied().collect();
        catalogue::named(unit).unwrap().explain(&values).join("\n")
    }

    /// Events that are always or never active: selector 1, and selectors without a resource. A
    /// counter that is chained counts with its own event, too. (TRCCNTCTLR.CNTCHAIN)
    #[test]
    fn constant_events_and_chains() {
        for (values, want) in [
            (&[("TRCEVENTCTL0R", 1)][..], "Event 0 occurs in each cycle; it"),
            (&[("TRCEVENTCTL0R", 2)], "Event 0 occurs in no cycle; it"),
            (&[("TRCEVENTCTL0R", 2), ("TRCRSCTLR2", 1 << 20)], "Event 0 occurs in each cycle"),
            (&[("TRCSEQEVR0", 0x100)], "from state 1 to 0 in each cycle."),
            (&[("TRCCNTCTLR0", 1)], "Counter 0 counts down from 0 in each cycle."),
            (&[("TRCCNTCTLR0", 0x101)], "in each cycle, and is 0 again in each cycle."),
            (&[("TRCCNTCTLR1", 0x2_0000)], "from 0 when counter 0 reloads."),
            (&[("TRCCNTCTLR1", 0x2_0001)], "from 0 in each cycle."),
            (&[("TRCCNTCTLR1", 0x2_0002)], "from 0 when counter 0 reloads."),
            (
                &[("TRCCNTCTLR1", 0x2_0002), ("TRCRSCTLR2", 0x2_0010)],
                "when the sequencer is in state 0 or counter 0 reloads.",
            ),
            (&[("TRCVICTLR", 2)], "in no cycle"),
            (&[("TRCCONFIGR", 0x801), ("TRCTSCTLR", 1)], "timestamps, also in each cycle"),
        ] {
            let text = explained("ETE", values);
            assert!(text.contains(want), "{values:?}: {text}");
        }
    }

    /// TRCVICTLR and TRCACATR: Realm state is that of an ETE. Bits \[19:16] of TRCACATR are of the
    /// data value in an ETMv4.
    #[test]
    fn levels_of_each_architecture() {
        let view = [("TRCVICTLR", 0x60_0201)];
        assert!(explained("ETE", &view).contains("Non-secure EL0, Realm EL0."));
        assert!(explained("ETMv4", &view).contains("Non-secure EL0."));
        let single =
            [("TRCVICTLR", 1), ("TRCVISSCTLR", 1), ("TRCACVR0", 8), ("TRCACATR0", 0xf_0000)];
        let some = "at some exception levels";
        assert!(explained("ETE", &single).contains(some));
        assert!(!explained("ETMv4", &single).contains(some));
    }

    /// TRCSEQRSTEVR: selector 2 resets the sequencer; selector 0 is false, and does not.
    #[test]
    fn the_reset_of_the_sequencer() {
        let moves = [("TRCSEQEVR0", 1), ("TRCSEQSTR", 0), ("TRCRSCTLR2", 0x2_0001)];
        for (reset, resets) in [(0, false), (2, true)] {
            let values: Values = moves.into_iter().chain([("TRCSEQRSTEVR", reset)]).collect();
            let text = catalogue::named("ETE").unwrap().explain(&values).join("\n");
            assert!(text.contains("The sequencer begins in state 0."), "{text}");
            assert_eq!(text.contains("to state 0 when counter 0 is zero."), resets, "{text}");
        }
    }
}
