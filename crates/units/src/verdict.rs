//! What the architecture requires of the trace of one instruction or one data access.

use tracewright_base::Step;

/// The requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Requirement {
    /// It must be traced.
    Must,
    /// It must not be traced.
    MustNot,
    /// The unit may trace it or not.
    May,
}

impl Requirement {
    /// The requirement in words.
    pub const fn name(self) -> &'static str {
        match self {
            Requirement::Must => "must",
            Requirement::MustNot => "must not",
            Requirement::May => "may",
        }
    }
}

/// A requirement with its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The requirement.
    pub requirement: Requirement,
    /// The reason, as a phrase.
    pub reason: &'static str,
    /// The specification and the section.
    pub section: &'static str,
}

impl Verdict {
    /// The one of two verdicts that requires more, or `self`.
    #[must_use]
    pub const fn stronger(self, other: Verdict) -> Verdict {
        match (self.requirement, other.requirement) {
            (Requirement::Must, _) | (_, Requirement::MustNot) => self,
            (Requirement::May, Requirement::May) => self,
            _ => other,
        }
    }
}

/// What a unit does in one step besides tracing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The verdict on the instruction or the data access of the step. `None` for other steps.
    pub verdict: Option<Verdict>,
    /// The trigger occurs.
    pub trigger: bool,
    /// External outputs that are active: bit n is output n.
    pub outputs: u8,
}

/// A unit that is programmed and observes execution. An instruction comes before its data
/// accesses.
pub trait Filter {
    /// Observes one step.
    fn step(&mut self, step: &Step) -> Outcome;

    /// Whether the unit depends on what an instruction is, and [`code`](Self::code) has an effect.
    fn uses_code(&self) -> bool {
        false
    }

    /// The program has `bytes` at `start`.
    fn code(&mut self, start: u64, bytes: &[u8]) {
        let _ = (start, bytes);
    }

    /// The verdict on the last instruction, after its data accesses: a data access can have made
    /// the unit trace its instruction.
    fn revised(&self) -> Option<Verdict> {
        None
    }

    /// The last instruction and its data accesses are complete: what happens at the end of their
    /// cycle, where the next step has not reported it.
    fn finish(&mut self) -> Outcome {
        Outcome::default()
    }
}
