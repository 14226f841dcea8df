//! Checks of the register values of an ETM. (IHI 0014, chapters 2 and 3)
//!
//! A rule has a name, a severity and a section. `tests/lint.rs` has for each rule a program that
//! breaks it and one that does not.

mod comparators;
mod control;
mod derived;
mod filters;
mod written;

use super::event::Resource;
use super::registers;
use super::settings::{self, Settings};
use crate::finding::{Finding, Severity};
use crate::values::Values;

/// The rules on values: name, severity. A rule with both severities is in the list twice.
pub const RULES: &[(&str, Severity)] = &[
    ("reserved-bits", Severity::Error),
    ("reserved-value", Severity::Error),
    ("powered-down", Severity::Warning),
    ("programming", Severity::Warning),
    ("port-disabled", Severity::Warning),
    ("os-locked", Severity::Error),
    ("state-lost", Severity::Error),
    ("coprocessor-filter", Severity::Error),
    ("stall-and-suppress", Severity::Error),
    ("fifo-level-zero", Severity::Error),
    ("fifo-level-large", Severity::Error),
    ("stall-missing", Severity::Error),
    ("port-size", Severity::Error),
    ("control-missing", Severity::Warning),
    ("core-select", Severity::Error),
    ("access-type", Severity::Error),
    ("value-of-instruction", Severity::Error),
    ("data-address-missing", Severity::Error),
    ("range-types", Severity::Error),
    ("range-order", Severity::Error),
    ("range-top", Severity::Warning),
    ("data-alignment", Severity::Error),
    ("comparator-missing", Severity::Error),
    ("masked-bits", Severity::Error),
    ("value-width", Severity::Error),
    ("data-excludes", Severity::Error),
    ("includes-nothing", Severity::Warning),
    ("excludes-all", Severity::Warning),
    ("start-and-stop", Severity::Error),
    ("start-stop-missing", Severity::Error),
    ("start-without-stop", Severity::Warning),
    ("start-stop-fetch", Severity::Warning),
    ("exact-instruction", Severity::Error),
    ("exact-imprecise", Severity::Warning),
    ("single-instruction", Severity::Warning),
    ("view-includes-nothing", Severity::Warning),
    ("view-memory-map", Severity::Error),
    ("view-without-data", Severity::Error),
    ("event-resource", Severity::Error),
    ("sequencer-unwritten", Severity::Error),
    ("sequencer-both", Severity::Warning),
    ("counter-zero", Severity::Warning),
    ("counter-or", Severity::Warning),
    ("counter-free", Severity::Warning),
    ("input-selection", Severity::Error),
    ("ice-missing", Severity::Error),
    ("sync-frequency", Severity::Error),
    ("sync-fixed", Severity::Warning),
    ("trace-id", Severity::Warning),
    ("not-written", Severity::Error),
    ("trigger-not-written", Severity::Warning),
];

/// What is wrong with `settings`, errors first.
pub fn findings(settings: &Settings) -> Vec<Finding> {
    let mut lint = Lint { settings, findings: Vec::new() };
    lint.control();
    lint.reserved();
    lint.comparators();
    lint.trace_enable();
    lint.view_data();
    lint.derived();
    lint.written();
    lint.findings.sort_by_key(|finding| finding.severity);
    lint.findings
}

/// Values of more than 32 bits, which no register has. [`Settings`] has the low 32 bits.
pub fn wide(values: &Values) -> Vec<Finding> {
    let wide = values.iter().filter(|(_, value)| value >> 32 != 0);
    let findings = wide.map(|(name, value)| Finding {
        rule: "reserved-bits",
        severity: Severity::Error,
        at: name.to_owned(),
        what: format!("{value:#x} has more than 32 bits"),
        remedy: format!("write {:#x}", value & 0xffff_ffff),
        section: "IHI 0014, 3.4",
    });
    findings.collect()
}

/// A check in progress.
struct Lint<'a> {
    settings: &'a Settings,
    findings: Vec<Finding>,
}

impl Lint<'_> {
    /// Adds a finding about the register `number`.
    fn find(
        &mut self,
        rule: &'static str,
        number: u16,
        what: impl Into<String>,
        remedy: impl Into<String>,
        section: &'static str,
    ) {
        let at = settings::name(number).unwrap_or_else(|| format!("register {number:#05x}"));
        let rule_of = RULES.iter().find(|(name, _)| *name == rule);
        let severity = rule_of.map_or(Severity::Error, |(_, severity)| *severity);
        let (what, remedy) = (what.into(), remedy.into());
        self.findings.push(Finding { rule, severity, at, what, remedy, section });
    }

    /// Reserved bits of writable registers, and registers that the unit does not have.
    fn reserved(&mut self) {
        let unit = self.settings.unit;
        let known: Vec<_> = self.settings.known().collect();
        for (number, value) in known {
            let Some((kind, _)) = registers::numbered(number) else { continue };
            let version = unit.version;
            if matches!(kind.rule, registers::AccessRule::Always(crate::register::Access::ReadOnly))
            {
                continue;
            }
            if !kind.register.versions.contains(version) {
                let first = kind.register.versions.first;
                self.find(
                    "reserved-bits",
                    number,
                    format!("{version} has no such register; it exists from {first}"),
                    "do not write it",
                    "IHI 0014, 3.4",
                );
                continue;
            }
            let bits = kind
                .fields(version)
                .fold(value, |rest, field| rest & !((field.of(u64::MAX) << field.low) as u32));
            if bits != 0 {
                self.find(
                    "reserved-bits",
                    number,
                    format!("bits {bits:#010x} are reserved in {version}"),
                    format!("write {:#x}", value & !bits),
                    kind.register.section,
                );
            }
        }
    }

    /// Whether an event uses a resource that `is` accepts.
    fn uses(&self, is: impl Fn(Resource) -> bool) -> bool {
        self.settings.events().iter().any(|(_, event)| event.resources().any(&is))
    }
}
