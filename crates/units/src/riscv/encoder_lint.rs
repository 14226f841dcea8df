//! What is wrong with the values of an encoder.

use super::lint::finding;
use crate::finding::{Finding, Severity};
use crate::values::Values;

const CONTROL: &str = "Trace Control Interface, Trace Encoder Control Interface";
const N_TRACE: &str = "N-Trace, Trace Control Interface";

const fn bit(value: u64, bit: u32) -> bool {
    value >> bit & 1 != 0
}

/// The findings.
pub(super) fn check(values: &Values) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(control) = values.get("trTeControl") {
        control_register(control, &mut findings);
        timestamps(values, &mut findings);
        triggers(control, values, &mut findings);
    }
    features(values, &mut findings);
    if let Some(selected) = values.get("trTeInstFilters") {
        for n in (0..16).filter(|n| bit(selected, *n)) {
            filter(values, n, &mut findings);
        }
    }
    findings
}

fn control_register(control: u64, findings: &mut Vec<Finding>) {
    let mut report = |rule, severity, what: &str, remedy: &str| {
        findings.push(finding(rule, severity, "trTeControl", what, remedy, CONTROL));
    };
    let (format, mode) = (control >> 24 & 0b111, control >> 4 & 0b111);
    if matches!(format, 2..=6) {
        report("format-reserved", Severity::Error, "the format is reserved", "write 0 or 1");
    }
    if format == 1 && matches!(mode, 1 | 2 | 4 | 5) {
        let what = "N-Trace has no such mode of the instruction trace";
        report("mode-reserved", Severity::Error, what, "write 3 (BTM) or 6 (HTM)");
    }
    if bit(control, 1) && mode == 0 {
        let what = "the encoder is enabled, and instruction trace is off";
        report("mode-off", Severity::Warning, what, "write 3 or 6 to trTeInstMode");
    }
    if bit(control, 2) && !bit(control, 1) {
        let what = "trTeInstTracing is set, and the encoder is disabled";
        report("tracing-disabled", Severity::Warning, what, "set trTeEnable");
    }
    if control >> 16 & 0b11 == 0 {
        let what = "there is no periodic synchronisation: a buffer that wraps, or a loss, leaves \
                    nothing to start from";
        let remedy = "select a unit in trTeInstSyncMode";
        report("no-synchronisation", Severity::Warning, what, remedy);
    }
    if bit(control, 12) {
        let what = match bit(control, 13) {
            true => "the hart has waited for the encoder",
            false => "trace was lost in an overflow",
        };
        let remedy = "trace less, or drain faster; write 1 to clear the bit";
        report("stall-or-overflow", Severity::Warning, what, remedy);
    }
}

fn features(values: &Values, findings: &mut Vec<Finding>) {
    let Some(features) = values.get("trTeInstFeatures") else { return };
    let control = values.get("trTeControl");
    let mut report = |rule, severity, what: String, remedy: &str, section| {
        findings.push(finding(rule, severity, "trTeInstFeatures", what, remedy, section));
    };
    if control.is_some_and(|control| control >> 24 & 0b111 == 1) {
        let names = [
            (0, "trTeInstNoAddrDiff"),
            (1, "trTeInstNoTrapAddr"),
            (4, "trTeInstEnBranchPrediction"),
            (5, "trTeInstEnJumpTargetCache"),
        ];
        for (_, name) in names.iter().filter(|(n, _)| bit(features, *n)) {
            let what = format!("{name} is set, and N-Trace has no such option");
            report("option-missing", Severity::Error, what, "clear it", N_TRACE);
        }
        if bit(features, 9) {
            let what = "direct jumps are reported, which the trace does not show".to_owned();
            let remedy = "give the decoder the value of trTeInstFeatures";
            report("all-jumps", Severity::Warning, what, remedy, N_TRACE);
        }
    }
    let mode = features >> 6 & 0b11;
    if bit(features, 3) && mode == 0 {
        let what = "implicit returns are enabled, and trTeInstImplicitReturnMode is 0".to_owned();
        let remedy = "read the mode back: 0 may mean that they are not supported";
        report("implicit-return-mode", Severity::Warning, what, remedy, CONTROL);
    }
    if bit(features, 3) && mode == 1 {
        let what = "implicit returns are counted without a comparison: a return to another \
                    address than that after the call is not reported"
            .to_owned();
        let remedy = "trace programs that change return addresses without the option";
        report("implicit-return-counter", Severity::Warning, what, remedy, CONTROL);
    }
    let (bits, id) = (features >> 28, features >> 16 & 0xfff);
    if bits > 12 {
        let what = format!("a source of {bits} bits; the most is 12");
        report("source-bits", Severity::Error, what, "write 0 to 12", CONTROL);
    } else if id >> bits != 0 {
        let what = format!("the source {id} does not fit into {bits} bits");
        report("source-wide", Severity::Error, what, "widen trTeSrcBits", CONTROL);
    }
    if bits > 0 && control.is_some_and(|control| bit(control, 15)) {
        let what = "trTeInhibitSrc is set: messages of several encoders in one stream do not \
                    show their encoder"
            .to_owned();
        report("source-inhibited", Severity::Warning, what, "clear trTeInhibitSrc", CONTROL);
    }
}

fn timestamps(values: &Values, findings: &mut Vec<Finding>) {
    let Some(time) = values.get("trTsControl").filter(|time| bit(*time, 15)) else { return };
    let mut report = |rule, severity, what: &str, remedy: &str| {
        let section = "Trace Control Interface, Timestamp Unit";
        findings.push(finding(rule, severity, "trTsControl", what, remedy, section));
    };
    let mode = time >> 4 & 0b111;
    if mode == 0 {
        let what = "timestamps are enabled, and have no source";
        report("time-source", Severity::Error, what, "select a source in trTsMode");
    }
    if !bit(time, 0) {
        let what = "timestamps are enabled, and the timestamp unit is in reset";
        report("time-in-reset", Severity::Error, what, "set trTsActive");
    }
    if matches!(mode, 2 | 3) && !bit(time, 1) {
        let what = "timestamps are enabled, and their counter is stopped";
        report("time-stopped", Severity::Warning, what, "set trTsCount");
    }
    if matches!(mode, 1 | 4) && time >> 8 & 0b11 != 0 {
        let what = "trTsPrescale divides only an internal clock";
        report("time-prescale", Severity::Warning, what, "write 0");
    }
}

fn triggers(control: u64, values: &Values, findings: &mut Vec<Finding>) {
    let Some(inputs) = values.get("trTeTrigExtInControl") else { return };
    let actions: Vec<u64> = (0..8).map(|n| inputs >> (4 * n) & 0xf).collect();
    let mut report = |rule, severity, what: String, remedy: &str| {
        let section = "Trace Control Interface, External Trace Triggers";
        findings.push(finding(rule, severity, "trTeTrigExtInControl", what, remedy, section));
    };
    for (n, action) in actions.iter().enumerate().filter(|(_, action)| matches!(action, 1 | 5..)) {
        let what = format!("action {action} of input {n} is reserved");
        report("trigger-reserved", Severity::Error, what, "write 0, 2, 3 or 4");
    }
    if !bit(control, 11) && actions.iter().any(|action| matches!(action, 2 | 3)) {
        let what = "inputs start or stop the trace, and trTeInstTrigEnable is 0".to_owned();
        report("trigger-disabled", Severity::Warning, what, "set trTeInstTrigEnable");
    }
}

/// Filter `n`, which is selected, and its comparators.
fn filter(values: &Values, n: u32, findings: &mut Vec<Finding>) {
    let section = "Trace Control Interface, Trace Encoder Filter Registers";
    let mut report = |rule, severity, at: String, what: String, remedy: &str| {
        findings.push(finding(rule, severity, &at, what, remedy, section));
    };
    let at = format!("trTeFilter{n}Control");
    let Some(control) = values.get(&at) else {
        let what = "the filter is selected, and its control is unknown".to_owned();
        return report("filter-unknown", Severity::Warning, at, what, "read or write it");
    };
    if !bit(control, 0) {
        let what = format!("trTeInstFilters selects filter {n}, which is disabled");
        return report("filter-disabled", Severity::Warning, at, what, "set trTeFilterEnable");
    }
    let needs = [
        (1, "MatchInst"),
        (2, "MatchEcauseLow"),
        (3, "MatchInst"),
        (16, "MatchValueImpdef"),
        (16, "MatchMaskImpdef"),
    ];
    for (_, name) in needs.iter().filter(|(enable, _)| bit(control, *enable)) {
        let register = format!("trTeFilter{n}{name}");
        if values.get(&register).is_none() {
            let what = format!("filter {n} compares with it, and its value is unknown");
            report("filter-value", Severity::Warning, register, what, "write it");
        }
    }
    for (enable, low) in [(4, 5), (8, 9), (12, 13)] {
        let comparator = control >> low & 0b111;
        let at = format!("trTeComp{comparator}Control");
        if !bit(control, enable) {
            continue;
        }
        let Some(value) = values.get(&at) else {
            let what = format!("filter {n} needs the comparator, and its control is unknown");
            report("comparator-unknown", Severity::Warning, at, what, "read or write it");
            continue;
        };
        for (notify, input) in [(14, 0), (15, 2)] {
            if bit(value, notify) && value >> input & 0b11 != 0 {
                let what = "a notification has no effect where the input is no address".to_owned();
                report("comparator-notify", Severity::Warning, at.clone(), what, "clear the bit");
            }
        }
    }
}
