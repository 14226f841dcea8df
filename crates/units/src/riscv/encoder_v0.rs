//! SiFive's trace encoder before the Trace Control Interface, as a [`Unit`].

use super::lint::finding;
use super::registers::ACTIONS;
use super::registers_v0::{BRANCH_TIMES, ENCODER, MODES, SINKS};
use crate::finding::{Finding, Severity};
use crate::program::{BusAccess, Program};
use crate::request::{Refusal, Request};
use crate::unit::{Unit, View};
use crate::values::Values;
use crate::width;

/// The unit by name.
pub(super) const NAME: &str = "te";

const SECTION: &str = "SiFive trace encoder, version 0";

/// The code of `teSyncMaxBtm` and `teSyncMaxInst` that switches them off.
const OFF: u64 = 15;

/// The encoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EncoderV0;

impl EncoderV0 {
    /// The unit whose control or implementation register is in `values`.
    pub(super) fn identified(values: &Values) -> Option<EncoderV0> {
        ["teControl", "teImpl"].iter().any(|name| values.get(name).is_some()).then_some(EncoderV0)
    }
}

const fn bit(value: u64, bit: u32) -> bool {
    value >> bit & 1 != 0
}

fn word(words: &[(u64, &'static str)], value: u64) -> Option<&'static str> {
    words.iter().find(|(known, _)| *known == value).map(|(_, word)| *word)
}

impl Unit for EncoderV0 {
    fn name(&self) -> String {
        "SiFive trace encoder, version 0".to_owned()
    }

    fn about(&self) -> Vec<String> {
        vec!["before the Trace Control Interface 1.0; N-Trace of profile `sifive`".to_owned()]
    }

    fn registers(&self) -> Vec<View> {
        ENCODER.iter().map(View::from).collect()
    }

    fn explain(&self, values: &Values) -> Vec<String> {
        let mut lines = Vec::new();
        match values.get("teControl") {
            Some(control) => self::control(control, &mut lines),
            None => lines.push("teControl is unknown: it has the state.".to_owned()),
        }
        if let Some(has) = values.get("teImpl") {
            let (bits, id) = (has >> 24 & 0b111, has >> 20 & 0xf);
            lines.push(match bits {
                0 => "Messages have no source.".to_owned(),
                bits => format!("Messages have a source of {bits} bits: {id}."),
            });
        }
        if let Some(time) = values.get("tsControl").filter(|time| bit(*time, 15)) {
            let branches = word(BRANCH_TIMES, time >> 16 & 0b11).unwrap_or("reserved");
            let width = time >> 24;
            lines.push(format!("Timestamps of {width} bits, in branch messages: {branches}."));
        }
        if let Some(inputs) = values.get("xtiControl") {
            let action = |n: u32| word(ACTIONS, inputs >> (4 * n) & 0xf).filter(|_| true);
            let actions = (0..8).filter_map(|n| Some((n, action(n)?)));
            let set = actions.filter(|(_, action)| *action != "none");
            lines.extend(set.map(|(n, action)| format!("External trigger input {n}: {action}.")));
        }
        lines
    }

    fn lint(&self, values: &Values) -> Vec<Finding> {
        let all = self.registers();
        let wide = all.iter().filter_map(|register| {
            register.wide(values.get(&register.name)?, register.name.to_string())
        });
        let mut findings: Vec<_> = wide.collect();
        check(values, &mut findings);
        findings
    }

    fn program(&self, _: &Request) -> Result<Program, Vec<Refusal>> {
        Err(vec![Refusal {
            part: "the request".to_owned(),
            lacks: "the encoder of version 0 is explained and checked only".to_owned(),
            needs: "an encoder of the Trace Control Interface 1.0, trTe".to_owned(),
        }])
    }

    fn sequence(&self, accesses: &[BusAccess]) -> Vec<Finding> {
        width::recorded(self, accesses, 0)
    }
}

fn control(control: u64, lines: &mut Vec<String>) {
    let state = match (bit(control, 0), bit(control, 1)) {
        (false, _) => "in reset",
        (true, false) => "disabled",
        (true, true) => "enabled",
    };
    lines.push(format!("The encoder is {state}."));
    let traces = if bit(control, 2) { "Instructions are traced" } else { "Tracing is off" };
    let mode = word(MODES, control >> 4 & 0b111).unwrap_or("a reserved mode");
    lines.push(format!("{traces}: {mode}."));
    for (low, unit) in [(16, "messages"), (20, "bytes")] {
        let code = control >> low & 0xf;
        if code != OFF {
            lines.push(format!("Synchronisation every {} {unit}.", 32u64 << code));
        }
    }
    lines.push(match bit(control, 13) {
        true => "The hart waits where trace does not fit.".to_owned(),
        false => "Trace that does not fit is lost.".to_owned(),
    });
    let sink = word(SINKS, control >> 28).unwrap_or("unknown");
    let stops = if bit(control, 14) { ", which is filled once" } else { "" };
    lines.push(format!("Sink: {sink}{stops}."));
    if bit(control, 15) {
        lines.push("Messages have no source: teInhibitSrc leaves it out.".to_owned());
    }
}

fn check(values: &Values, findings: &mut Vec<Finding>) {
    let mut report = |rule, severity, at: &str, what: String, remedy: &str| {
        findings.push(finding(rule, severity, at, what, remedy, SECTION));
    };
    let implementation = values.get("teImpl");
    if let Some(version) = implementation.map(|has| has & 0xf).filter(|version| *version != 0) {
        let what = format!("version {version} has other registers, those of trTe");
        report("version", Severity::Error, "teImpl", what, "read the values as those of trTe");
    }
    let Some(control) = values.get("teControl") else { return };
    let mut error = |rule, what: &str, remedy: &str| {
        report(rule, Severity::Error, "teControl", what.to_owned(), remedy);
    };
    if word(MODES, control >> 4 & 0b111).is_none() {
        error("mode-reserved", "the mode of the instruction trace is reserved", "write 3, 6 or 7");
    }
    if bit(control, 1) && !bit(control, 0) {
        error("enabled-in-reset", "the encoder is enabled, and in reset", "set teActive");
    }
    if control >> 24 & 0b111 != 1 {
        let what = "the bytes do not have 6 bits of MDO and 2 of MSEO: they are not decoded";
        error("slice-format", what, "write 1 to teSliceFormat");
    }
    if bit(control, 27) {
        error("sink-error", "the sink has failed: trace is missing", "write 1 to clear the bit");
    }
    let sink = control >> 28;
    if let Some(has) = implementation
        && matches!(sink, 4..=8)
        && !bit(has, sink as u32)
    {
        error("sink-missing", "teImpl does not have the sink", "select another sink");
    }
    let off = [16, 20].iter().all(|low| control >> low & 0xf == OFF);
    let mut warn = |rule, at: &str, what: &str, remedy: &str| {
        report(rule, Severity::Warning, at, what.to_owned(), remedy);
    };
    if off {
        let what = "there is no periodic synchronisation: a buffer that wraps, or a loss, leaves \
                    nothing to start from";
        warn("no-synchronisation", "teControl", what, "write teSyncMaxBtm or teSyncMaxInst");
    }
    if bit(control, 12) {
        let what = "trace was lost, or the hart has waited for the encoder";
        warn("stall-or-overflow", "teControl", what, "trace less, or drain faster");
    }
    let bits = implementation.map_or(0, |has| has >> 24 & 0b111);
    if bits > 0 && bit(control, 15) {
        let what = "teInhibitSrc is set: messages of several encoders in one stream do not show \
                    their encoder";
        warn("source-inhibited", "teControl", what, "clear teInhibitSrc");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;

    const CONTROL: u64 = 4 << 28 | 1 << 24 | 15 << 20 | 3 << 16 | 7 << 4 | 0b111;
    const IMPL: u64 = 2 << 24 | 1 << 20 | 1 << 4;

    fn rules(list: &[(&str, u64)]) -> Vec<&'static str> {
        let values: Values = list.iter().copied().collect();
        let unit = catalogue::identified(&values).unwrap();
        unit.lint(&values).iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn sentences() {
        let list = [
            ("teControl", CONTROL),
            ("teImpl", IMPL),
            ("tsControl", 40 << 24 | 3 << 16 | 1 << 15),
            ("xtiControl", 0x40),
        ];
        let values: Values = list.into_iter().collect();
        let unit = catalogue::identified(&values).unwrap();
        assert_eq!(unit.name(), catalogue::named("te").unwrap().name());
        let text = unit.explain(&values).join("\n");
        for sentence in [
            "The encoder is enabled.",
            "Instructions are traced: branch history with implicit returns (HTM).",
            "Synchronisation every 256 messages.",
            "Messages have a source of 2 bits: 1.",
            "Timestamps of 40 bits, in branch messages: all.",
            "Sink: SRAM.",
            "External trigger input 1: notification.",
        ] {
            assert!(text.contains(sentence), "{sentence}: {text}");
        }
        assert!(!text.contains("bytes"), "{text}");
    }

    #[test]
    fn findings() {
        let with = |control, has| rules(&[("teControl", control), ("teImpl", has)]);
        assert_eq!(with(CONTROL, IMPL), [""; 0]);
        for (control, has, rule) in [
            (CONTROL, IMPL | 1, "version"),
            (CONTROL & !(7 << 4) | 2 << 4, IMPL, "mode-reserved"),
            (CONTROL & !1, IMPL, "enabled-in-reset"),
            (CONTROL & !(1 << 24), IMPL, "slice-format"),
            (CONTROL | 1 << 27, IMPL, "sink-error"),
            (CONTROL | 1 << 28, IMPL, "sink-missing"),
            (CONTROL | 15 << 16, IMPL, "no-synchronisation"),
            (CONTROL | 1 << 12, IMPL, "stall-or-overflow"),
            (CONTROL | 1 << 15, IMPL, "source-inhibited"),
        ] {
            assert_eq!(with(control, has), [rule]);
        }
    }
}
