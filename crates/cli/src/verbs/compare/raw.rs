//! What is stated of two inputs beside their differences: how each was read, and what could not be
//! compared.

use tracewright::base::Remedy;
use tracewright::views::compare::Missing;

use crate::input::Input;
use crate::message;

/// Prints how both inputs were read where that was detected, and where it is not the same.
pub fn notes(a: Option<&Input>, b: Option<&Input>) {
    for (name, input) in [("A", a), ("B", b)] {
        let Some(input) = input else { continue };
        if let Some(detected) = &input.detected {
            message::line(&format!("note: {name}: detected: {}", detected.summary()));
        }
        input.notes.iter().for_each(|note| message::line(&format!("note: {name}: {note}")));
    }
    let options = |input: &Input| Some(input.detected.as_ref()?.description().given());
    let (Some(a), Some(b)) = (a.and_then(options), b.and_then(options)) else { return };
    let lacks = |of: &[(Remedy, String)], other: &[(Remedy, String)]| {
        let own = of.iter().filter(|given| !other.contains(given));
        own.map(|(given, value)| format!("{given} {value}")).collect::<Vec<_>>().join(" ")
    };
    let (own_a, own_b) = (lacks(&a, &b), lacks(&b, &a));
    if own_a.is_empty() && own_b.is_empty() {
        return;
    }
    let or_none = |text: String| if text.is_empty() { "nothing".to_owned() } else { text };
    message::line(&format!(
        "note: A and B are read with different parameters: only A has {}, only B has {}; give those of both",
        or_none(own_a),
        or_none(own_b)
    ));
}

/// Prints for which parts program memory is missing.
pub fn note_missing(missing: [Missing; 2]) {
    for (name, Missing { count, first }) in ["A", "B"].into_iter().zip(missing) {
        if let Some(first) = first {
            message::line(&format!(
                "note: {name}: program memory is missing {count} times, first at {first:#x}: the \
                 instructions there are not compared; add it with --image"
            ));
        }
    }
}

/// Why nothing was compared.
pub fn nothing(a: &Input, b: Option<&Input>, missing: [Missing; 2]) -> String {
    if !a.has_trace() && b.is_some_and(|b| !b.has_trace()) {
        return "nothing was compared: neither has trace".into();
    }
    let mut text = "nothing was compared: no instruction was decoded from either input".to_owned();
    for (name, Missing { count, first }) in ["A", "B"].into_iter().zip(missing) {
        if let Some(first) = first {
            text +=
                &format!("; {name}: program memory is missing {count} times, first at {first:#x}");
        }
    }
    if missing.iter().any(|missing| missing.count > 0) {
        text += "; add the program with --image";
    }
    text + &b.map(|b| bytes(a, b)).unwrap_or_default()
}

/// Whether the trace data of both are equal.
fn bytes(a: &Input, b: &Input) -> String {
    let all = |input: &Input| {
        let buffers = input.buffers.iter().filter_map(|&n| input.capture().buffers.get(n));
        buffers.flat_map(|buffer| buffer.bytes().into_owned()).collect::<Vec<u8>>()
    };
    let (a, b) = (all(a), all(b));
    match a.iter().zip(&b).position(|(a, b)| a != b) {
        None if a.len() == b.len() => "; the bytes of the files are equal".to_owned(),
        at => {
            let at = at.unwrap_or_else(|| a.len().min(b.len()));
            format!("; the bytes of the files differ from offset {at:#x} on")
        }
    }
}
