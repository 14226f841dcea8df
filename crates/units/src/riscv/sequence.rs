//! What is wrong with a sequence of accesses to a component.

use super::component::Component;
use super::lint::finding;
use crate::finding::{Finding, Severity};
use crate::program::{BusAccess, BusKind};
use crate::unit::Unit as _;
use crate::width;

/// The findings: accesses in reset, and settings that are written while the component is enabled.
pub(super) fn check(component: &Component, accesses: &[BusAccess]) -> Vec<Finding> {
    let mut findings = width::recorded(component, accesses, 0);
    // The control register is unknown until it is written or read with its value.
    let mut control: Option<u64> = None;
    for (n, access) in accesses.iter().enumerate() {
        if matches!(access.kind, BusKind::Barrier(_)) {
            continue;
        }
        let at = match access.line {
            0 => format!("access {}", n + 1),
            line => format!("line {line}"),
        };
        let Some(register) = component.register(&access.register) else {
            findings.push(finding(
                "register-unknown",
                Severity::Error,
                &at,
                format!("{} is no register of this component", access.register),
                "check the name or the base address",
                "Trace Control Interface, Trace Component Register Map",
            ));
            continue;
        };
        let writes = access.kind == BusKind::Write;
        if register.offset == Some(0) {
            control = access.value.or(control);
            continue;
        }
        if control.is_some_and(|control| control & 1 == 0) && register.offset != Some(4) {
            findings.push(finding(
                "access-in-reset",
                Severity::Error,
                &at,
                format!("{} is accessed while the component is in reset", register.name),
                "set the active bit and wait for it",
                "Trace Control Interface, Trace Component Register Map",
            ));
        }
        if writes
            && control.is_some_and(|control| control & 0b10 != 0)
            && is_setting(&register.name)
        {
            findings.push(finding(
                "write-while-enabled",
                Severity::Warning,
                &at,
                format!("{} is written while the component is enabled", register.name),
                "enable the component after all other settings",
                "Trace Control Interface, Enabling and Disabling",
            ));
        }
    }
    findings
}

/// Registers that may be written at any time are no settings.
fn is_setting(name: &str) -> bool {
    !name.starts_with("trRamRP") && name != "trRamData"
}
