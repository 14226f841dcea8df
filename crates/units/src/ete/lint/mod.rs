//! What is wrong with the register values of an ETMv4 or an ETE.
//!
//! [`check`] reports each value that breaks one of [`RULES`]. A register that is not among the
//! values is not known; a rule that depends on it reports nothing, unless the rule is that it must
//! be programmed. What a unit implements is in its identification registers.

mod filters;
mod identification;
mod options;
mod resources;

use super::implementation::Implementation;
use super::registers::{Access, Version, by_name};
use super::settings::Settings;
use crate::finding::{Finding, Severity};
use crate::values::Values;

/// A rule: its name, how serious a violation is, and its section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The name, as findings print it.
    pub name: &'static str,
    /// How serious it is.
    pub severity: Severity,
    /// The specification and the section.
    pub section: &'static str,
}

const fn error(name: &'static str, section: &'static str) -> Rule {
    Rule { name, severity: Severity::Error, section }
}

const fn warning(name: &'static str, section: &'static str) -> Rule {
    Rule { name, severity: Severity::Warning, section }
}

/// Every rule.
pub const RULES: &[Rule] = &[
    error("reserved-bits", "DDI 0601, RES0"),
    error("register-missing", "DDI 0601, TRCIDR0 to TRCIDR5"),
    error("register-read-only", "DDI 0601, register access"),
    warning("unit-disabled", "DDI 0601, TRCPRGCTLR"),
    error("status-not-programmed", "DDI 0601, TRCRSR"),
    error("identification-fixed", "Arm ARM K10.5.9"),
    // options
    error("option-missing", "DDI 0601, TRCIDR0, TRCIDR2, TRCCONFIGR"),
    error("option-reserved", "DDI 0601, TRCCONFIGR"),
    error("threshold-missing", "DDI 0601, TRCCCCTLR"),
    error("threshold-low", "DDI 0601, TRCCCCTLR and TRCIDR3.CCITMIN"),
    error("period-reserved", "DDI 0601, TRCSYNCPR"),
    error("trace-id-reserved", "DDI 0601, TRCTRACEIDR; AMBA ATB"),
    error("broadcast-missing", "DDI 0601, TRCBBCTLR"),
    error("broadcast-nowhere", "DDI 0601, TRCBBCTLR.MODE"),
    warning("return-stack-unused", "DDI 0601, TRCCONFIGR.RS and BB"),
    error("q-filter-missing", "DDI 0601, TRCQCTLR"),
    warning("stall-without-level", "DDI 0601, TRCSTALLCTLR"),
    error("overflow-prevention-missing", "DDI 0601, TRCSTALLCTLR and TRCIDR3.NOOVERFLOW"),
    warning("timestamps-off", "DDI 0601, TRCTSCTLR"),
    // filters
    error("view-missing", "DDI 0601, TRCVICTLR"),
    warning("view-event-false", "DDI 0601, TRCVICTLR.EVENT"),
    warning("view-imprecise", "DDI 0601, TRCVICTLR.EVENT"),
    warning("levels-excluded", "DDI 0601, TRCVICTLR"),
    error("forced-errors-missing", "DDI 0601, TRCVICTLR.TRCERR and TRCIDR3"),
    warning("stopped", "DDI 0601, TRCVICTLR.SSSTATUS"),
    error("start-is-stop", "DDI 0601, TRCVISSCTLR"),
    error("points-unordered", "DDI 0601, accessing TRCVISSCTLR"),
    error("comparator-missing", "DDI 0601, TRCIDR4"),
    error("comparator-not-programmed", "DDI 0601, TRCACVR<n>"),
    error("range-reversed", "DDI 0601, TRCACVR<n>, address ranges"),
    error("range-attributes", "DDI 0601, TRCACATR<n>"),
    warning("comparator-shared", "DDI 0601, TRCACATR<n>"),
    warning("exclude-covers", "DDI 0601, TRCVIIECTLR"),
    error("context-comparator", "DDI 0601, TRCACATR<n>.CONTEXT, TRCCIDCVR<n>"),
    error("masked-value", "DDI 0601, TRCCIDCCTLR0"),
    // resources
    error("selector-missing", "DDI 0601, TRCRSCTLR<n>"),
    error("selector-not-programmed", "DDI 0601, TRCRSCTLR<n>"),
    error("selector-group", "DDI 0601, TRCRSCTLR<n>.GROUP"),
    warning("selector-empty", "DDI 0601, TRCRSCTLR<n>.SELECT"),
    error("selector-resource", "DDI 0601, TRCRSCTLR<n>; TRCIDR4, TRCIDR5"),
    error("pair-reserved", "DDI 0601, TRCRSCTLR<n>.PAIRINV"),
    error("counter-not-programmed", "DDI 0601, TRCCNTVR<n>, TRCCNTCTLR<n>, TRCCNTRLDVR<n>"),
    error("chain-of-even", "DDI 0601, TRCCNTCTLR<n>.CNTCHAIN"),
    error("sequencer-not-programmed", "DDI 0601, TRCSEQEVR<n>, TRCSEQRSTEVR, TRCSEQSTR"),
    error("input-not-programmed", "DDI 0601, TRCEXTINSELR<n>"),
    error("single-shot-not-programmed", "DDI 0601, TRCSSCCR<n>, TRCSSCSR<n>"),
    warning("single-shot-fired", "DDI 0601, TRCSSCSR<n>.STATUS"),
    error("event-missing", "DDI 0601, TRCEVENTCTL1R and TRCIDR0.NUMEVENT"),
    warning("event-never", "DDI 0601, TRCEVENTCTL0R"),
    error("trigger-missing", "DDI 0601, TRCEVENTCTL1R.ATB and TRCIDR5.ATBTRIG"),
];

/// The values, and what is found in them.
struct Check<'a> {
    unit: &'a Implementation,
    values: &'a Values,
    settings: Settings,
    findings: Vec<Finding>,
}

impl Check<'_> {
    fn known(&self, name: &str) -> bool {
        self.values.get(name).is_some()
    }

    fn value(&self, name: &str) -> u64 {
        self.values.get(name).unwrap_or(0)
    }

    /// Reports that `at` breaks the rule `name`.
    fn broken(&mut self, name: &str, at: &str, what: &str, remedy: &str) {
        let Some(rule) = RULES.iter().find(|rule| rule.name == name) else { return };
        let finding = Finding {
            rule: rule.name,
            severity: rule.severity,
            at: at.to_owned(),
            what: what.to_owned(),
            remedy: remedy.to_owned(),
            section: rule.section,
        };
        if !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }
}

/// What is wrong with `values` as a program of `unit`.
pub fn check(unit: &Implementation, values: &Values) -> Vec<Finding> {
    let settings = Settings::new(unit, values);
    let mut check = Check { unit, values, settings, findings: Vec::new() };
    check.registers();
    identification::check(&mut check);
    options::check(&mut check);
    filters::check(&mut check);
    resources::check(&mut check);
    check.findings
}

/// Registers that hold results, or that a processor has none of.
const SILENT: [&str; 3] = ["TRCSSCSR<n>", "TRCIMSPEC<n>", "TRCAUXCTLR"];

impl Check<'_> {
    fn registers(&mut self) {
        for (name, value) in self.values.iter() {
            let Some(named) = by_name(name) else { continue };
            let register = &named.row.register;
            let rest = named.unknown_bits(value, self.unit.version);
            if rest != 0 {
                let what = format!("bits {rest:#x} have no meaning");
                self.broken("reserved-bits", name, &what, "write 0 to them");
            }
            let identifies = register.access == Access::ReadOnly;
            if value != 0 && !identifies && !self.unit.has(named) {
                let silent = SILENT.contains(&register.name);
                if !silent {
                    let what = "the unit does not have the register";
                    self.broken("register-missing", name, what, "leave it out");
                }
            }
            if register.name == "TRCSTATR" {
                let what = "the register is read-only";
                self.broken("register-read-only", name, what, "leave it out of a program");
            }
        }
        if self.values.get("TRCPRGCTLR") == Some(0) {
            let remedy = "write 1 to it after all others";
            self.broken("unit-disabled", "TRCPRGCTLR", "the unit is disabled", remedy);
        }
        let programmed = self.known("TRCVICTLR") && self.known("TRCCONFIGR");
        if matches!(self.unit.version, Version::Ete(_)) && programmed && !self.known("TRCRSR") {
            let what = "the register must always be programmed, and its reset value is UNKNOWN";
            self.broken("status-not-programmed", "TRCRSR", what, "write 0 to it");
        }
    }
}

/// The numbers of the bits that are set.
fn bits(value: u64) -> impl Iterator<Item = usize> + Clone {
    (0..64).filter(move |n| value >> n & 1 != 0)
}

#[cfg(test)]
mod tests;
