//! The state of the unit in sentences, and what is wrong with the values of its registers.

use super::{FillMode, Limit, Pointers, Status, TriggerMode};
use crate::buffers::ring::ring;
use crate::finding::{Finding, Severity};
use crate::values::Values;

/// The Base pointer and the Limit pointer are multiples of 4 KiB.
const GRANULE: u64 = 0x1000;

/// The pointers, as far as the registers are known.
fn pointers(values: &Values) -> (Option<u64>, Option<u64>, Option<u64>) {
    let base = values.get("TRBBASER_EL1").map(|base| base & !(GRANULE - 1));
    let limit = values.get("TRBLIMITR_EL1").map(|limit| Limit(limit).pointer());
    (base, limit, values.get("TRBPTR_EL1"))
}

/// The status registers: that of EL1, and with FEAT_TRBE_EXC those of EL2 and EL3.
const STATUS: [&str; 3] = ["TRBSR_EL1", "TRBSR_EL2", "TRBSR_EL3"];

/// The status registers that are known.
fn statuses(values: &Values) -> impl Iterator<Item = (&'static str, Status)> {
    STATUS.into_iter().filter_map(|name| Some((name, Status(values.get(name)?))))
}

/// The state of the unit in sentences.
pub fn explain(values: &Values) -> Vec<String> {
    let limit = values.get("TRBLIMITR_EL1").map(Limit);
    let mut lines = vec![running(limit, values)];
    if let Some(limit) = limit {
        lines.extend(modes(limit, values.get("TRBTRG_EL1")));
    }
    lines.extend(memory(values));
    match values.get("TRBSR_EL1") {
        Some(status) => lines.extend(event(Status(status))),
        None => lines.push("TRBSR_EL1 is unknown: it has the management event.".to_owned()),
    }
    for (name, status) in statuses(values).filter(|(name, _)| *name != "TRBSR_EL1") {
        lines.extend(event(status).into_iter().map(|line| format!("{name}: {line}")));
    }
    lines
}

/// Whether an enabled unit is running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Running {
    Yes,
    /// S of this register stops it.
    StoppedBy(&'static str),
    /// It depends on registers that are not known whether S of this one, or its value, stops it.
    Depends(&'static str),
}

/// Whether the enabled unit is running. (Table D6-1)
fn state(limit: Limit, values: &Values) -> Running {
    let stopped = |name| values.get(name).map(|status| Status(status).stopped());
    match stopped("TRBSR_EL1") {
        Some(true) => return Running::StoppedBy("TRBSR_EL1"),
        None => return Running::Depends("TRBSR_EL1"),
        Some(false) => {}
    }
    let exceptions = values.get("TRFCR_EL2").map(|filter| filter >> 8 & 0b11);
    let enabled = values.get("MDCR_EL3").map(|debug| debug >> 53 & 0b11);
    let by_el2 = match (exceptions, enabled) {
        (Some(0b00 | 0b01), _) | (_, Some(0b00)) => Some(false),
        (Some(_), Some(_)) => Some(true),
        _ => None,
    };
    let by_el3 = enabled.map(|enabled| enabled >= 0b10);
    let mut state = Running::Yes;
    for (name, stops) in [("TRBSR_EL2", by_el2), ("TRBSR_EL3", by_el3)] {
        match (limit.self_hosted() && stopped(name) == Some(true), stops) {
            (true, Some(true)) => return Running::StoppedBy(name),
            (true, None) => state = Running::Depends(name),
            _ => {}
        }
    }
    state
}

/// Whether the unit is running.
fn running(limit: Option<Limit>, values: &Values) -> String {
    let Some(limit) = limit else {
        return "TRBLIMITR_EL1 is unknown: it has the enables, the modes and the end of the \
                buffer."
            .to_owned();
    };
    let mode = match (limit.self_hosted(), limit.external()) {
        (false, false) => return "The unit is disabled, and discards trace.".to_owned(),
        (true, false) => "in Self-hosted mode",
        (false, true) => "in External mode",
        (true, true) => "in Self-hosted mode and in External mode",
    };
    match state(limit, values) {
        Running::Yes => format!("The unit is running: it is enabled {mode}, and accepts trace."),
        Running::StoppedBy(name) => format!(
            "The unit is stopped: it is enabled {mode}, {name}.S is 1, and trace is discarded."
        ),
        Running::Depends("TRBSR_EL1") => format!(
            "The unit is enabled {mode}; whether it is stopped is in TRBSR_EL1, which is unknown."
        ),
        Running::Depends(name) => format!(
            "The unit is enabled {mode}; whether {name}.S stops it is in TRFCR_EL2.EE and \
             MDCR_EL3.TRBEE, which are not both known."
        ),
    }
}

fn modes(limit: Limit, counter: Option<u64>) -> [String; 2] {
    let fill = match limit.fill_mode() {
        Some(FillMode::Fill) => {
            "Fill mode: at the end of the buffer, collection stops with a management event."
        }
        Some(FillMode::Wrap) => {
            "Wrap mode: at the end of the buffer, collection goes on at its start, with a \
             management event."
        }
        Some(FillMode::Circular) => {
            "Circular Buffer mode: at the end of the buffer, collection goes on at its start."
        }
        None => "The buffer mode (FM) has a reserved value.",
    };
    let after = match counter.map(|counter| counter & 0xffff_ffff) {
        None => "TRBTRG_EL1, which is unknown, has the bytes from the trigger on".to_owned(),
        Some(0) => "the Trigger Counter is 0".to_owned(),
        Some(bytes) => format!("the Trigger Event is {bytes} bytes after the trigger"),
    };
    let trigger = match limit.trigger() {
        Some(TriggerMode::Stop) => {
            format!("A Trigger Event stops collection with a management event; {after}.")
        }
        Some(TriggerMode::Irq) => {
            format!("A Trigger Event is a management event, and collection goes on; {after}.")
        }
        Some(TriggerMode::Ignore) => "Triggers are ignored.".to_owned(),
        None => "The trigger mode (TM) has a reserved value.".to_owned(),
    };
    [fill.to_owned(), trigger]
}

/// Where the buffer is, and which of its bytes are trace.
fn memory(values: &Values) -> Vec<String> {
    let wraps = statuses(values).any(|(_, status)| status.wrapped());
    let wrapped = (wraps || values.get("TRBSR_EL1").is_some()).then_some(wraps);
    let (base, limit, current) = pointers(values);
    let mut lines = Vec::new();
    if let (Some(base), Some(limit)) = (base, limit) {
        let addresses = match Limit(values.get("TRBLIMITR_EL1").unwrap_or(0)).not_virtual() {
            true => "addresses that are not virtual",
            false => "virtual addresses",
        };
        lines.push(match limit.checked_sub(base) {
            Some(size @ 1..) => {
                format!("The buffer is {base:#x} to {limit:#x}: {size} bytes, {addresses}.")
            }
            _ => format!("The buffer has no bytes: it is {base:#x} to {limit:#x}."),
        });
    }
    match (base, limit, current) {
        (Some(base), Some(limit), Some(current)) => {
            let pointers = Pointers { base, limit, current };
            lines.push(match pointers.is_out_of_range() {
                true => format!("The write pointer {current:#x} is outside of the buffer."),
                false => ring(limit - base, current - base, wrapped, "TRBSR_EL1"),
            });
        }
        (_, _, Some(current)) => {
            lines.push(format!("The next byte is written to {current:#x}."));
            if base.is_none() {
                lines.push("TRBBASER_EL1 is unknown: it has the start of the buffer.".to_owned());
            }
            if wraps {
                lines.push(format!("The buffer has wrapped: the oldest byte is at {current:#x}."));
            }
        }
        (_, _, None) => {
            lines.push("TRBPTR_EL1 is unknown: it has the write pointer.".to_owned());
        }
    }
    lines
}

/// The management event, and what else the status register records.
fn event(status: Status) -> Vec<String> {
    let cause = status.cause().map_or("a reserved reason".to_owned(), |cause| cause.to_string());
    let mut lines = vec![match (status.irq(), status.stopped()) {
        (false, false) => "No management event is recorded.".to_owned(),
        (true, false) => "A management event is recorded, and collection goes on.".to_owned(),
        (true, true) => format!("A management event has stopped collection: {cause}."),
        (false, true) => format!("Collection is stopped without a management event: {cause}."),
    }];
    if status.triggered() {
        lines.push("A Detected Trigger was observed.".to_owned());
    }
    if status.external_abort() {
        lines.push("A write ended with an External abort: its trace is lost.".to_owned());
    }
    if status.data_pending() {
        lines.push("Accepted trace is not in memory (DAT, external view).".to_owned());
    }
    lines
}

/// What is wrong with the values.
pub fn lint(values: &Values) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut add = |rule, severity, at: &str, what: String, remedy: &str, section| {
        let (at, remedy) = (at.to_owned(), remedy.to_owned());
        found.push(Finding { rule, severity, at, what, remedy, section });
    };
    use Severity::{Error, Warning};
    let word = values.get("TRBLIMITR_EL1").map(Limit);
    let enabled = word.is_some_and(|limit| limit.self_hosted() || limit.external());
    if let Some(limit) = word {
        for (name, reserved) in
            [("FM", limit.fill_mode().is_none()), ("TM", limit.trigger().is_none())]
        {
            if reserved {
                let what = format!("{name} is 0b10, which is reserved");
                let remedy = "write 0b00, 0b01 or 0b11";
                add("reserved-mode", Error, "TRBLIMITR_EL1", what, remedy, "Arm ARM, D24.4.3");
            }
        }
    }
    let (base, limit, current) = pointers(values);
    if let (Some(base), Some(limit)) = (base, limit)
        && enabled
        && limit <= base
    {
        let what = format!("the Limit pointer {limit:#x} is not above the Base pointer {base:#x}");
        let remedy = "set LIMIT to the address after the last byte";
        add("empty-buffer", Error, "TRBLIMITR_EL1, TRBBASER_EL1", what, remedy, "Arm ARM, RMSPSD");
    } else if let (Some(base), Some(limit), Some(current)) = (base, limit, current)
        && (Pointers { base, limit, current }).is_out_of_range()
    {
        let severity = if enabled { Error } else { Warning };
        let what = format!("the write pointer {current:#x} is not in {base:#x} to {limit:#x}");
        let remedy = "set it to an address from the Base pointer to below the Limit pointer";
        add("pointer-range", severity, "TRBPTR_EL1", what, remedy, "Arm ARM, RMSPSD and RMGZWR");
    }
    if let Some(id) = values.get("TRBIDR_EL1") {
        let alignment = 1u64 << (id & 0xf);
        for name in ["TRBPTR_EL1", "TRBTRG_EL1"] {
            if let Some(value) = values.get(name).filter(|value| value % alignment != 0) {
                let what =
                    format!("{value:#x} is not a multiple of {alignment} (TRBIDR_EL1.Align)");
                let remedy = "write a multiple, or a value that was read from the register when \
                              the unit was disabled";
                add("alignment", Warning, name, what, remedy, "Arm ARM, RXXZHM and RHXZZM");
            }
        }
        let physical = word.is_some_and(Limit::not_virtual);
        if word.is_some() && (id >> 6 & 0b11, physical) == (1, true) {
            let what = "nVM is 1, and the unit has virtual addresses only".to_owned();
            add("address-mode", Error, "TRBLIMITR_EL1", what, "clear nVM", "Arm ARM, D24.4.2");
        }
    }
    for (name, status) in statuses(values) {
        if status.cause().is_none() {
            let what = "EC and BSC have reserved values".to_owned();
            add("reserved-cause", Warning, name, what, "read it again", "Arm ARM, D24.4.7");
        }
    }
    if let Some(limit) = word.filter(|_| enabled)
        && let Running::StoppedBy(name) = state(limit, values)
    {
        let what = format!("the unit is enabled, and {name}.S is 1: no trace is accepted");
        let remedy = format!("take the trace out of the buffer, clear {name}, and enable the unit");
        add("stopped", Warning, name, what, &remedy, "Arm ARM, RYCHKJ, table D6-1");
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table D6-1: a unit is stopped by S, whatever the reason that EC and BSC record.
    #[test]
    fn stopped_units() {
        for (limit, status, stopped) in [
            (0x1000_2001, 0x2_0000, true),
            (0x1000_2001, 0x2_0001, true),
            (0x1000_2001, 0x2_0002, true),
            (0x1000_2001, 0x0_0000, false),
            (0x1000_2000, 0x2_0000, false),
        ] {
            let values: Values = [
                ("TRBBASER_EL1", 0x1000_0000),
                ("TRBLIMITR_EL1", limit),
                ("TRBPTR_EL1", 0x1000_0010),
                ("TRBSR_EL1", status),
            ]
            .into_iter()
            .collect();
            let rules: Vec<_> = lint(&values).iter().map(|finding| finding.rule).collect();
            let want: &[_] = if stopped { &["stopped"] } else { &[] };
            assert_eq!(rules, want, "{limit:#x} {status:#x}");
        }
    }

    /// Table D6-1, row by row: the registers that record the events of EL2 and EL3.
    #[test]
    fn stopped_by_exceptions() {
        let x = None;
        for (trbee, s3, ee, s2, want) in [
            (Some(0b00), 1, Some(0b11), 1, Running::Yes),
            (Some(0b01), 1, Some(0b01), 1, Running::Yes),
            (Some(0b01), 1, Some(0b10), 0, Running::Yes),
            (Some(0b01), 0, Some(0b11), 1, Running::StoppedBy("TRBSR_EL2")),
            (Some(0b10), 0, Some(0b00), 1, Running::Yes),
            (Some(0b11), 0, Some(0b10), 0, Running::Yes),
            (Some(0b10), 0, Some(0b10), 1, Running::StoppedBy("TRBSR_EL2")),
            (Some(0b10), 1, Some(0b00), 0, Running::StoppedBy("TRBSR_EL3")),
            (x, 0, Some(0b10), 1, Running::Depends("TRBSR_EL2")),
            (Some(0b01), 0, x, 1, Running::Depends("TRBSR_EL2")),
            (x, 1, x, 0, Running::Depends("TRBSR_EL3")),
        ] {
            let mut values = Values::from_iter([("TRBSR_EL1", 0), ("TRBLIMITR_EL1", 0x1001)]);
            values.set("TRBSR_EL2", s2 * Status::S);
            values.set("TRBSR_EL3", s3 * Status::S);
            for (name, field) in [
                ("MDCR_EL3", trbee.map(|trbee: u64| trbee << 53)),
                ("TRFCR_EL2", ee.map(|ee: u64| ee << 8)),
            ] {
                if let Some(value) = field {
                    values.set(name, value);
                }
            }
            assert_eq!(state(Limit(0x1001), &values), want, "{trbee:?} {s3} {ee:?} {s2}");
            // External mode has TRBSR_EL1 only.
            assert_eq!(state(Limit(0x1040), &values), Running::Yes);
            let found = lint(&values).iter().any(|finding| finding.rule == "stopped");
            assert_eq!(found, matches!(want, Running::StoppedBy(_)));
        }
    }

    /// A wrap and a management event in the register of EL2.
    #[test]
    fn events_of_el2() {
        let values = Values::from_iter([
            ("TRBBASER_EL1", 0x1000_0000),
            ("TRBLIMITR_EL1", 0x1000_1001),
            ("TRBPTR_EL1", 0x1000_0010),
            ("TRBSR_EL1", 0),
            ("TRBSR_EL2", Status::IRQ | Status::S | Status::WRAP | 1),
        ]);
        let text = explain(&values).join("\n");
        assert!(text.contains("whether TRBSR_EL2.S stops it is in TRFCR_EL2.EE"), "{text}");
        assert!(text.contains("all 4096 bytes are trace"), "{text}");
        assert!(text.contains("TRBSR_EL2: A management event has stopped collection: the"));
    }
}
