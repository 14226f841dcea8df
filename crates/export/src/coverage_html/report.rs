//! What the pages are made of.

use std::collections::BTreeMap;

use tracewright_analysis::coverage::{ObjectCoverage, SourceFile, Totals};
use tracewright_analysis::coverage_runs::{CoverageRuns, FunctionChange};
use tracewright_analysis::decisions::Criterion;
use tracewright_analysis::exemptions::{Exemption, Use};

use crate::coverage::CheckedLimit;

/// Reads the text of the source file with a path, or states why it cannot be read.
pub type ReadText<'a> = dyn Fn(&str, &SourceFile) -> Result<String, String> + 'a;

/// What the pages are made of.
pub struct CoverageReport<'a> {
    /// The source files by path.
    pub sources: &'a BTreeMap<String, SourceFile>,
    /// The runs that cover them.
    pub runs: &'a CoverageRuns,
    /// Losses of trace.
    pub losses: u64,
    /// How a condition is shown to decide the outcome.
    pub criterion: Criterion,
    /// The program that writes the pages, and its version.
    pub tool: String,
    /// The arguments of the command.
    pub command: Vec<String>,
    /// The limits that were checked.
    pub limits: &'a [CheckedLimit],
    /// The exemptions, and what each of them exempts.
    pub exemptions: Option<(&'a [Exemption], &'a [Use])>,
    /// What became of functions since the state of older runs.
    pub changes: Option<&'a [FunctionChange]>,
    /// The object code of each program file, where it is wanted.
    pub object: &'a [(String, ObjectCoverage)],
    /// The texts of the source files.
    pub text: &'a ReadText<'a>,
}

/// What is counted, in the order of [`totals_of`].
pub(super) const KINDS: [&str; 6] = [
    "Lines",
    "Outcomes of branches",
    "Functions",
    "Outcomes of decisions",
    "Values of conditions",
    "Conditions that decide (MC/DC)",
];

/// The totals of a source file: lines, outcomes of branches, functions, and of decisions the
/// outcomes, values of conditions and independent conditions.
pub(super) fn totals_of(source: &SourceFile) -> [Totals; 6] {
    let [outcomes, values, independent] = source.decision_totals();
    let (lines, branches) = (source.line_totals(), source.branch_totals());
    [lines, branches, source.function_totals(), outcomes, values, independent]
}

/// What is neither covered nor unknown.
pub(super) fn missed(totals: Totals) -> u64 {
    totals.all.saturating_sub(totals.executed).saturating_sub(totals.unknown)
}

impl CoverageReport<'_> {
    /// Whether decisions were measured.
    pub(super) fn has_decisions(&self) -> bool {
        self.sources.values().any(|source| !source.decisions.is_empty())
    }

    /// The kinds that are shown.
    pub(super) fn kinds(&self) -> &'static [&'static str] {
        let all = if self.has_decisions() { KINDS.len() } else { 3 };
        KINDS.get(..all).unwrap_or_default()
    }

    /// Whether parts name their runs: there are several.
    pub(super) fn has_runs(&self) -> bool {
        self.runs.runs.len() > 1
    }
}
