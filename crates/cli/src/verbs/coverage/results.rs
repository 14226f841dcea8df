//! What `coverage` has found.

use std::collections::BTreeMap;

use tracewright::analysis::coverage::{ProgramCoverage, ProgramFile, SourceFile};
use tracewright::analysis::coverage_runs::{CoverageRuns, FunctionChange};

use super::history::History;

/// What is shown.
pub(super) struct Results<'a> {
    pub(super) sources: BTreeMap<String, SourceFile>,
    /// The programs of the captures.
    pub(super) programs: &'a [(ProgramFile, ProgramCoverage)],
    pub(super) losses: u64,
    /// The runs, where files of runs are read or written.
    pub(super) runs: Option<CoverageRuns>,
    /// What became of functions since the state of older runs.
    pub(super) changes: Option<Vec<FunctionChange>>,
    /// Executions in their order, where a decision map wants them.
    pub(super) history: Option<History>,
}
