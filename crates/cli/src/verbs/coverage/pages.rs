//! `coverage --format html`: a folder of pages.

use tracewright::analysis::coverage::{ObjectCoverage, SourceFile};
use tracewright::analysis::coverage_runs::CoverageRuns;
use tracewright::capture::NewFolder;
use tracewright::export::coverage::CheckedLimit;
use tracewright::export::coverage_html::CoverageReport;

use super::results::Results;
use crate::args::CoverageArgs;
use crate::exemptions::Exemptions;
use crate::fail::Fail;
use crate::sources::Sources;

/// Writes the pages of the results, and the same as lines of JSON.
pub(super) fn write(
    args: &CoverageArgs,
    results: &Results<'_>,
    (exemptions, object, limits): (
        Option<&Exemptions>,
        &[(String, ObjectCoverage)],
        &[CheckedLimit],
    ),
    json: &str,
) -> Result<(), Fail> {
    let Some(folder) = &args.outcome.output else { return Ok(()) };
    let none = CoverageRuns::default();
    let files = Sources::new(&args.source_roots);
    let text = |path: &str, source: &SourceFile| files.read(path, source).map(|(text, _)| text);
    let report = CoverageReport {
        sources: &results.sources,
        runs: results.runs.as_ref().unwrap_or(&none),
        losses: results.losses,
        criterion: args.mcdc.criterion(),
        tool: format!("tracewright {}", env!("CARGO_PKG_VERSION")),
        command: crate::arguments::texts(),
        limits,
        exemptions: exemptions.map(|own| (&own.all[..], &own.uses[..])),
        changes: results.changes.as_deref(),
        object,
        text: &text,
    };
    let new = NewFolder::new(folder)?;
    let mut done = new.append("coverage.jsonl", json.as_bytes());
    if done.is_ok() {
        report.write(|name, bytes| {
            done = new.append(name, &bytes);
            done.is_ok()
        });
    }
    done?;
    files.print();
    new.finish()?;
    Ok(())
}
