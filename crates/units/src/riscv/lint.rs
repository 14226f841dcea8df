//! What is wrong with the values of a component.

use super::component::Component;
use super::explain::wide;
use super::registers;
use crate::finding::{Finding, Severity};
use crate::values::Values;

/// A finding of the Trace Control Interface.
pub(super) fn finding(
    rule: &'static str,
    severity: Severity,
    at: &str,
    what: impl Into<String>,
    remedy: &str,
    section: &'static str,
) -> Finding {
    let (at, remedy) = (at.to_owned(), remedy.to_owned());
    Finding { rule, severity, at, what: what.into(), remedy, section }
}

const fn bit(value: u64, bit: u32) -> bool {
    value >> bit & 1 != 0
}

/// The findings that every component can have, and those of sinks, funnels and bridges.
pub(super) fn check(component: &Component, values: &Values) -> Vec<Finding> {
    let all = component.views();
    let wide = all.iter().filter_map(|register| {
        register.wide(values.get(&register.name)?, register.name.to_string())
    });
    let mut findings: Vec<_> = wide.collect();
    for register in &all {
        let reserved = values.get(&register.name).map(|value| register.unknown_bits(value));
        let Some(bits) = reserved.filter(|bits| *bits != 0) else { continue };
        // The upper bits of an implementation register belong to the vendor.
        if register.name.ends_with("Impl") || bits > u32::MAX.into() {
            continue;
        }
        findings.push(finding(
            "reserved-bits",
            Severity::Warning,
            &register.name,
            format!("the bits {bits:#x} are reserved"),
            "write 0 to reserved bits",
            "Trace Control Interface, Versioning of Components",
        ));
    }
    version(*component, values, &mut findings);
    enable(*component, values, &mut findings);
    match component {
        Component::Encoder => {}
        Component::Funnel => funnel(values, &mut findings),
        Component::Ram => ram(values, &mut findings),
        Component::Pib => pib(values, &mut findings),
        Component::AtbBridge => atb(values, &mut findings),
    }
    findings
}

fn version(component: Component, values: &Values, findings: &mut Vec<Finding>) {
    let at = format!("{}Impl", component.prefix());
    let Some(implementation) = component.value(values, "Impl") else { return };
    let (major, minor) = (implementation & 0xf, implementation >> 4 & 0xf);
    let section = "Trace Control Interface, Versioning of Components";
    let mut report = |rule, severity, what: String, remedy: &str| {
        findings.push(finding(rule, severity, &at, what, remedy, section));
    };
    match (major, minor) {
        (0, _) => report(
            "version-pre-ratified",
            Severity::Error,
            format!("version 0.{minor} is the interface before 1.0, whose registers differ"),
            "read the values with the manual of the core",
        ),
        (1, 15) => report(
            "version-experimental",
            Severity::Warning,
            "version 1.15 is experimental".to_owned(),
            "check the values with the manual of the core",
        ),
        (1, 1..) => report(
            "version-later",
            Severity::Warning,
            format!("version 1.{minor} may have fields that 1.0 has not"),
            "check the fields that are reserved in 1.0",
        ),
        (1, 0) => {}
        _ => report(
            "version-unknown",
            Severity::Error,
            format!("version {major}.{minor} is not compatible with 1.0"),
            "read the values with the manual of the core",
        ),
    }
    let code = implementation >> 8 & 0xf;
    if major == 1 && code != component.component_type() {
        let known = registers::TYPES.iter().find(|(known, _)| *known == code);
        let name = known.map_or("an unknown component", |(_, name)| name);
        let what = format!("component type {code:#x} is that of {name}");
        report("component-type", Severity::Error, what, "check the base address");
    }
}

fn enable(component: Component, values: &Values, findings: &mut Vec<Finding>) {
    let at = format!("{}Control", component.prefix());
    let Some(control) = component.value(values, "Control") else { return };
    let section = "Trace Control Interface, Enabling and Disabling";
    if bit(control, 1) && !bit(control, 0) {
        findings.push(finding(
            "enabled-in-reset",
            Severity::Error,
            &at,
            "the component is enabled, and in reset",
            "set the active bit and wait for it before the component is enabled",
            section,
        ));
    }
    if bit(control, 0) && !bit(control, 1) && !bit(control, 3) {
        findings.push(finding(
            "not-empty",
            Severity::Warning,
            &at,
            "the component is disabled, and not all of its trace has left",
            "wait until the empty bit is 1 before the trace is read",
            section,
        ));
    }
}

fn funnel(values: &Values, findings: &mut Vec<Finding>) {
    if values.get("trFunnelDisInput").is_some_and(|inputs| inputs & 0xffff == 0xffff) {
        findings.push(finding(
            "inputs-disabled",
            Severity::Warning,
            "trFunnelDisInput",
            "all inputs are disabled: their messages are discarded",
            "clear the bits of the inputs to trace",
            "Trace Control Interface, Trace Funnel",
        ));
    }
}

fn ram(values: &Values, findings: &mut Vec<Finding>) {
    let section = "Trace Control Interface, Trace RAM Sink";
    let mut report = |rule, severity, at: &str, what: String, remedy: &str| {
        findings.push(finding(rule, severity, at, what, remedy, section));
    };
    let (start, limit) = (wide(values, "Start").unwrap_or(0), wide(values, "Limit"));
    let pointer = wide(values, "WP").map(|pointer| pointer & !0b11);
    for (name, value) in [("trRamStartLow", Some(start)), ("trRamLimitLow", limit)] {
        if value.is_some_and(|value| value & 0b11 != 0) {
            let what = "the address is not a multiple of 4".to_owned();
            report("ram-unaligned", Severity::Error, name, what, "write a multiple of 4");
        }
    }
    if let Some(limit) = limit.filter(|limit| *limit < start) {
        let what = format!("the last word, {limit:#x}, is below the start, {start:#x}");
        let remedy = "write the address of the last word of the buffer";
        report("ram-reversed", Severity::Error, "trRamLimitLow", what, remedy);
    } else if let (Some(limit), Some(pointer)) = (limit, pointer)
        && !(start..=limit).contains(&pointer)
    {
        let what = format!("{pointer:#x} is outside of the buffer, {start:#x} to {limit:#x}");
        let remedy = "write the start of the buffer before the sink is enabled";
        report("ram-pointer", Severity::Error, "trRamWPLow", what, remedy);
    }
    let Some(control) = values.get("trRamControl") else { return };
    let system = bit(control, 4);
    let has = values.get("trRamImpl").map(|has| bit(has, if system { 13 } else { 12 }));
    if has == Some(false) {
        let what = format!("trRamImpl has no {}", if system { "system memory" } else { "SRAM" });
        report("ram-mode", Severity::Error, "trRamControl", what, "select the other memory");
    }
    if matches!(control >> 9 & 0b11, 1 | 2) {
        let what = "the format of the memory is reserved".to_owned();
        report("ram-format", Severity::Error, "trRamControl", what, "write 0, plain bytes");
    }
    if bit(control, 8) && bit(control, 1) && values.get("trRamWPLow").is_some_and(|wp| bit(wp, 0)) {
        let what = "the buffer has wrapped, and trRamStopOnWrap is set".to_owned();
        let remedy = "write the start of the buffer, without the wrap, to trRamWPLow";
        report("ram-wrapped", Severity::Warning, "trRamWPLow", what, remedy);
    }
    if control >> 12 & 0b111 != 0 {
        let what = "alignment packets are enabled, and N-Trace has none".to_owned();
        let remedy = "write 0 where the encoders are of N-Trace";
        report("alignment-packets", Severity::Warning, "trRamControl", what, remedy);
    }
}

fn pib(values: &Values, findings: &mut Vec<Finding>) {
    let Some(control) = values.get("trPibControl") else { return };
    let mode = control >> 4 & 0xf;
    let mut report = |rule, severity, what: &str, remedy: &str| {
        let section = "Trace Control Interface, Trace PIB Sink";
        findings.push(finding(rule, severity, "trPibControl", what, remedy, section));
    };
    if !registers::PIB_MODES.iter().any(|(known, _)| *known == mode) {
        report("pib-mode", Severity::Error, "the mode of the pins is reserved", "write 8 to 12");
    }
    if bit(control, 8) && mode < 8 {
        let what = "trPibClkCenter is set in a mode without a clock";
        report("pib-clock", Severity::Warning, what, "clear it, or select a parallel mode");
    }
    if bit(control, 9) && bit(control, 1) {
        let what = "the calibration pattern is sent in place of the trace";
        report("pib-calibrates", Severity::Warning, what, "clear trPibCalibrate to trace");
    }
    if control >> 12 & 0b111 != 0 {
        let what = "alignment packets are enabled, and N-Trace has none";
        let remedy = "write 0 where the encoders are of N-Trace";
        report("alignment-packets", Severity::Warning, what, remedy);
    }
}

fn atb(values: &Values, findings: &mut Vec<Finding>) {
    let id = values.get("trAtbBridgeControl").map(|control| control >> 8 & 0x7f);
    if let Some(id) = id.filter(|id| matches!(id, 0 | 0x70..)) {
        findings.push(finding(
            "trace-id-reserved",
            Severity::Error,
            "trAtbBridgeControl",
            format!("the trace ID {id:#04x} is reserved"),
            "select an ID from 0x01 to 0x6f",
            "Trace Control Interface, Trace ATB Bridge; AMBA ATB",
        ));
    }
}
