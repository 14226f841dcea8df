//! What ends a run, apart from breakpoints: exceptions and lost trace.

use serde_json::{Value, json};
use tracewright::base::Element;

/// What ends a run, apart from breakpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filter {
    Exceptions,
    Interrupts,
    Faults,
    Returns,
    Losses,
    Undecodable,
}

/// The filters: names in the protocol, labels, descriptions.
pub(crate) const FILTERS: [(Filter, &str, &str, &str); 6] = [
    (
        Filter::Exceptions,
        "exception",
        "Exceptions and interrupts",
        "Stops at the first instruction after each exception.",
    ),
    (
        Filter::Interrupts,
        "interrupt",
        "Interrupts",
        "Stops at the first instruction after each interrupt.",
    ),
    (
        Filter::Faults,
        "fault",
        "Faults",
        "Stops at the first instruction after each fault, abort and undefined instruction.",
    ),
    (
        Filter::Returns,
        "return",
        "Returns from exceptions",
        "Stops at the first instruction after each return from an exception. An index does not \
         have them: the trace on the way is decoded.",
    ),
    (Filter::Losses, "loss", "Lost trace", "Stops where trace was lost."),
    (
        Filter::Undecodable,
        "undecodable",
        "Undecodable trace",
        "Stops where trace cannot be decoded.",
    ),
];

/// The filters that the server has.
pub(crate) fn filters() -> Value {
    let one = |(_, name, label, description): &(_, _, _, _)| json!({ "filter": name, "label": label, "description": description, "default": false });
    FILTERS.iter().map(one).collect()
}

pub(crate) fn is_interrupt(name: &str) -> bool {
    ["IRQ", "FIQ", "NMI", "SysTick", "PendSV"].iter().any(|known| name.starts_with(known))
        || name.ends_with("interrupt")
}

pub(crate) fn is_fault(name: &str) -> bool {
    const PARTS: [&str; 11] = [
        "Fault",
        "fault",
        "abort",
        "alignment",
        "misaligned",
        "undefined instruction",
        "illegal instruction",
        "MemManage",
        "lockup",
        "error",
        "double trap",
    ];
    PARTS.iter().any(|part| name.contains(part))
}

/// Something on the way that ends a run, and its source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Event {
    pub(crate) element: Element,
    pub(crate) source: usize,
}

impl Event {
    /// What has happened.
    pub(crate) fn text(&self) -> String {
        match self.element {
            Element::Range(_) | Element::ExceptionReturn => "returned from an exception".into(),
            element => element.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_exceptions_by_their_names() {
        for (name, interrupt, fault) in [
            ("IRQ 5", true, false),
            ("SysTick", true, false),
            ("machine timer interrupt", true, false),
            ("interrupt", true, false),
            ("HardFault", false, true),
            ("data fault", false, true),
            ("store/AMO page fault", false, true),
            ("prefetch abort or breakpoint", false, true),
            ("undefined instruction", false, true),
            ("SVCall", false, false),
            ("environment call from U-mode", false, false),
            ("trap", false, false),
        ] {
            assert_eq!((is_interrupt(name), is_fault(name)), (interrupt, fault), "{name}");
        }
    }
}
