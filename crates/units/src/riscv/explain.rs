//! What a component does, in sentences.

use super::component::Component;
use super::registers;
use crate::values::Values;

/// The sentences for `component` with `values`.
pub(super) fn explain(component: Component, values: &Values) -> Vec<String> {
    let mut lines = state(component, values);
    match component {
        Component::Encoder => encoder(values, &mut lines),
        Component::Funnel => funnel(values, &mut lines),
        Component::Ram => ram(values, &mut lines),
        Component::Pib => pib(values, &mut lines),
        Component::AtbBridge => atb(values, &mut lines),
    }
    lines
}

const fn bit(value: u64, bit: u32) -> bool {
    value >> bit & 1 != 0
}

/// Reset, enable and empty, which each component has in the same bits.
fn state(component: Component, values: &Values) -> Vec<String> {
    let Some(control) = component.value(values, "Control") else {
        return vec![format!("{}Control is unknown: it has the state.", component.prefix())];
    };
    let mut lines = vec![
        match (bit(control, 0), bit(control, 1)) {
            (false, _) => "The component is in reset.",
            (true, false) => "The component is disabled.",
            (true, true) => "The component is enabled.",
        }
        .to_owned(),
    ];
    if bit(control, 0) && !bit(control, 3) && !bit(control, 1) {
        lines.push("It still holds trace that has not left.".to_owned());
    }
    lines
}

fn word(words: &[(u64, &'static str)], value: u64) -> Option<&'static str> {
    words.iter().find(|(known, _)| *known == value).map(|(_, word)| *word)
}

fn encoder(values: &Values, lines: &mut Vec<String>) {
    let control = values.get("trTeControl");
    if let Some(control) = control {
        instruction_trace(control, lines);
    }
    if let Some(features) = values.get("trTeInstFeatures") {
        options(control.unwrap_or(0), features, lines);
    }
    if let Some(time) = values.get("trTsControl") {
        timestamps(time, true, lines);
    }
    filters(values, lines);
    if let Some(triggers) = values.get("trTeTrigExtInControl") {
        for n in 0..8 {
            let action = triggers >> (4 * n) & 0xf;
            if let Some(action) = word(registers::ACTIONS, action).filter(|_| action != 0) {
                lines.push(format!("External trigger input {n}: {action}."));
            }
        }
    }
}

fn instruction_trace(control: u64, lines: &mut Vec<String>) {
    let format = match control >> 24 & 0b111 {
        0 => "E-Trace",
        1 => "N-Trace",
        7 => "a format of the vendor",
        _ => "a reserved format",
    };
    let mode = match control >> 4 & 0b111 {
        0 => "without instruction trace",
        3 => "with a message for each taken branch (BTM)",
        6 => "with branch history (HTM)",
        7 => "in a mode of the vendor",
        _ => "in a mode of the protocol",
    };
    let traces = if bit(control, 2) { "Instructions are traced" } else { "Tracing is off" };
    lines.push(format!("{traces}: {format}, {mode}."));
    let period = 16u64 << (control >> 20 & 0xf);
    lines.push(match control >> 16 & 0b11 {
        0 => "There is no periodic synchronisation.".to_owned(),
        1 => format!("Synchronisation every {period} messages."),
        2 => format!("Synchronisation every {period} cycles."),
        _ => format!("Synchronisation every {period} half words of instructions."),
    });
    if bit(control, 9) {
        lines.push("Context and privilege are traced.".to_owned());
    }
    lines.push(match bit(control, 13) {
        true => "The hart waits where trace does not fit.".to_owned(),
        false => "Trace that does not fit is lost.".to_owned(),
    });
    if bit(control, 11) {
        lines.push("Triggers start and stop the trace.".to_owned());
    }
}

fn options(control: u64, features: u64, lines: &mut Vec<String>) {
    let (bits, id) = (features >> 28, features >> 16 & 0xfff);
    lines.push(match (bits, bit(control, 15)) {
        (0, _) => "Messages have no source.".to_owned(),
        (bits, true) => {
            format!("Messages have no source: trTeInhibitSrc leaves its {bits} bits out.")
        }
        (bits, false) => format!("Messages have a source of {bits} bits: {id}."),
    });
    let mode = features >> 6 & 0b11;
    let returns = match mode {
        1 => "implicit returns by a counter",
        2 => "implicit returns, compared in part",
        3 => "implicit returns, compared",
        _ => "implicit returns of an unreported kind",
    };
    let names = [
        (2, "sequential jumps"),
        (3, returns),
        (4, "branch prediction"),
        (5, "jump target cache"),
        (8, "repeated history"),
        (9, "direct jumps as branches"),
        (10, "addresses without equal top bits"),
        (1, "traps without handler address"),
        (0, "full addresses"),
    ];
    let on: Vec<_> =
        names.iter().filter(|(n, _)| bit(features, *n)).map(|(_, name)| *name).collect();
    if !on.is_empty() {
        lines.push(format!("Options: {}.", on.join(", ")));
    }
}

fn timestamps(time: u64, encoder: bool, lines: &mut Vec<String>) {
    let mode = word(registers::TIME_MODES, time >> 4 & 0b111).unwrap_or("vendor-specific");
    let on = if encoder && !bit(time, 15) { "Messages have no timestamps" } else { "Timestamps" };
    let width = time >> 24 & 0x3f;
    let width = if width == 0 { String::new() } else { format!(", {width} bits") };
    lines.push(match time >> 4 & 0b111 {
        2 | 3 => {
            let prescale = 1 << (2 * (time >> 8 & 0b11));
            format!("{on}: {mode} clock, divided by {prescale}{width}.")
        }
        _ => format!("{on}: source {mode}{width}."),
    });
}

fn filters(values: &Values, lines: &mut Vec<String>) {
    let Some(selected) = values.get("trTeInstFilters") else { return };
    if selected & 0xffff == 0 {
        lines.push("No filter: all instructions are traced.".to_owned());
    }
    for n in (0..16).filter(|n| bit(selected, *n)) {
        lines.push(filter(values, n));
    }
}

/// What filter `n` selects.
fn filter(values: &Values, n: u32) -> String {
    let get = |name: &str| values.get(&format!("trTeFilter{n}{name}"));
    let Some(control) = get("Control") else {
        return format!("Filter {n} selects; trTeFilter{n}Control is unknown.");
    };
    if !bit(control, 0) {
        return format!("Filter {n} is disabled.");
    }
    let inst = get("MatchInst").unwrap_or(0);
    let mut parts = Vec::new();
    if bit(control, 1) {
        let levels = ["U", "S", "H", "M", "D", "VU", "VS", "7"];
        let levels = levels.iter().enumerate().filter(|(n, _)| bit(inst, *n as u32));
        let levels: Vec<_> = levels.map(|(_, name)| *name).collect();
        parts.push(format!("privilege {}", levels.join(" or ")));
    }
    if bit(control, 2) {
        let causes = get("MatchEcauseHigh").unwrap_or(0) << 32 | get("MatchEcauseLow").unwrap_or(0);
        parts.push(format!("handlers of the causes {causes:#x}"));
    }
    if bit(control, 3) {
        let kind = if bit(inst, 8) { "interrupts" } else { "exceptions" };
        parts.push(format!("handlers of {kind}"));
    }
    for (enable, low) in [(4, 5), (8, 9), (12, 13)] {
        if bit(control, enable) {
            parts.push(comparator(values, control >> low & 0b111));
        }
    }
    if bit(control, 16) {
        let (mask, value) = (get("MatchMaskImpdef"), get("MatchValueImpdef"));
        let (mask, value) = (mask.unwrap_or(0), value.unwrap_or(0));
        parts.push(format!("signals & {mask:#x} == {:#x}", value & mask));
    }
    match parts.is_empty() {
        true => format!("Filter {n} selects all instructions."),
        false => format!("Filter {n} selects {}.", parts.join(", and ")),
    }
}

/// What comparator `n` compares.
fn comparator(values: &Values, n: u64) -> String {
    let get = |name: &str| values.get(&format!("trTeComp{n}{name}"));
    let Some(control) = get("Control") else {
        return format!("comparator {n}, whose trTeComp{n}Control is unknown");
    };
    let half = |input: u32, function: u32, name: &str| {
        let inputs = ["address", "context", "trap value", "data address"];
        let input = inputs.get((control >> input & 0b11) as usize).copied().unwrap_or_default();
        let word = |suffix: &str| get(&format!("{name}Match{suffix}")).unwrap_or(0);
        let value = word("High") << 32 | word("Low");
        match control >> function & 0b111 {
            6 if name == "P" => "false".to_owned(),
            6 | 7 => "true".to_owned(),
            code => {
                let relations = ["==", "!=", "<", "<=", ">", ">="];
                let relation = relations.get(code as usize).copied().unwrap_or_default();
                format!("{input} {relation} {value:#x}")
            }
        }
    };
    let (primary, secondary) = (half(0, 4, "P"), half(2, 8, "S"));
    match control >> 12 & 0b11 {
        0 => primary,
        1 => format!("{primary} and {secondary}"),
        2 => format!("not ({primary} and {secondary})"),
        _ => format!("from {primary} to {secondary}"),
    }
}

fn funnel(values: &Values, lines: &mut Vec<String>) {
    let disabled = values.get("trFunnelDisInput").unwrap_or(0) & 0xffff;
    if disabled == 0 {
        lines.push("All inputs are enabled.".to_owned());
    } else {
        let inputs: Vec<_> = (0..16).filter(|n| bit(disabled, *n)).map(|n| n.to_string()).collect();
        lines.push(format!("Disabled inputs: {}.", inputs.join(", ")));
    }
    if let Some(time) = values.get("trTsControl") {
        timestamps(time, false, lines);
    }
}

/// The 64 bits of a register of a RAM sink.
pub(super) fn wide(values: &Values, name: &str) -> Option<u64> {
    let low = values.get(&format!("trRam{name}Low"))?;
    Some(values.get(&format!("trRam{name}High")).unwrap_or(0) << 32 | low)
}

fn ram(values: &Values, lines: &mut Vec<String>) {
    let control = values.get("trRamControl").unwrap_or(0);
    lines.push(match bit(control, 4) {
        false => "The memory is SRAM of the sink, which is read through trRamData.".to_owned(),
        true => "The memory is system memory.".to_owned(),
    });
    if bit(control, 8) {
        lines.push("Storing ends when the buffer is full.".to_owned());
    }
    let (start, limit) = (wide(values, "Start").unwrap_or(0), wide(values, "Limit"));
    let (Some(limit), Some(pointer)) = (limit, wide(values, "WP")) else {
        lines.push("trRamLimitLow or trRamWPLow is unknown: they have the trace.".to_owned());
        return;
    };
    let (wrapped, pointer) = (bit(pointer, 0), pointer & !0b11);
    let size = limit.wrapping_sub(start).wrapping_add(4);
    lines.push(format!("The buffer has {size} bytes, from {start:#x} to {:#x}.", limit + 3));
    let next = pointer.wrapping_sub(start);
    lines.push(crate::buffers::ring(size, next, Some(wrapped), "trRamWPLow"));
}

fn pib(values: &Values, lines: &mut Vec<String>) {
    let Some(control) = values.get("trPibControl") else { return };
    let mode = word(registers::PIB_MODES, control >> 4 & 0xf).unwrap_or("a reserved mode");
    lines.push(format!("Pins: {mode}; the clock is divided by {}.", (control >> 16 & 0xffff) + 1));
    if bit(control, 9) {
        lines.push("The calibration pattern is sent in place of the trace.".to_owned());
    }
    if bit(control, 8) {
        lines.push("Clock edges are in the middle of a bit: half the data rate.".to_owned());
    }
}

fn atb(values: &Values, lines: &mut Vec<String>) {
    let Some(control) = values.get("trAtbBridgeControl") else { return };
    lines.push(format!("The trace has the ID {:#04x} on the ATB.", control >> 8 & 0x7f));
}
