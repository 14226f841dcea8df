//! What a check of register values or of a sequence of accesses finds.

use std::fmt;

/// How serious a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The specification makes the behaviour UNPREDICTABLE, or the unit cannot do it.
    Error,
    /// The behaviour is defined, and is seldom what was meant.
    Warning,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The name of the rule.
    pub rule: &'static str,
    /// How serious it is.
    pub severity: Severity,
    /// The registers or the accesses that it is about.
    pub at: String,
    /// What is wrong, as a sentence without a full stop.
    pub what: String,
    /// What to do about it.
    pub remedy: String,
    /// The specification and the section.
    pub section: &'static str,
}

impl Finding {
    /// Whether the finding is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = if self.is_error() { "error" } else { "warning" };
        let Finding { rule, at, what, remedy, section, .. } = self;
        write!(f, "{severity} {rule}: {at}: {what}; {remedy} ({section})")
    }
}
