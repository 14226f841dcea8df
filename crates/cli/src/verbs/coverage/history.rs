//! Executions of the blocks of a decision map, in the order of each source.

use std::path::Path;
use std::sync::{Arc, Mutex};

use tracewright::analysis::coverage::{BlockHistory, ProgramCoverage, ProgramFile};
use tracewright::capture::gnatcov::{Block, DecisionMap};
use tracewright::capture::read_file;
use tracewright::decode::Jobs;

use super::capture::CoverageOptions;
use crate::fail::Fail;
use crate::input::{Input, Job};
use crate::listing;
use crate::live;
use crate::output::Output;
use crate::run::{self, Runs};

/// Reads a decision map.
pub(super) fn map(path: &Path) -> Result<Arc<DecisionMap>, Fail> {
    let bytes = read_file(path).map_err(|why| Fail::input(path, &why.to_string()))?;
    let map = DecisionMap::read(&bytes);
    let map = map.map_err(|why| {
        let what = format!("the decision map of GNATcoverage cannot be read: {why}");
        Fail::input(path, &what)
    })?;
    Ok(Arc::new(map))
}

/// The executions in a capture of the blocks of `map`, one source after another; `programs` is what
/// the capture covers.
pub(super) fn of(
    map: &Arc<DecisionMap>,
    how: &CoverageOptions<'_>,
    input: &Input,
    programs: &[(ProgramFile, ProgramCoverage)],
    output: &mut Output,
) -> Result<Vec<Block>, Fail> {
    let refused = |why: &str| Err(Fail::input(how.path, why));
    if input.capture().linux.is_some() {
        return refused("--decision-map: processes map their programs at addresses of their own");
    }
    if input.buffers.iter().any(|n| input.capture().buffers[*n].is_piped()) {
        return refused("--decision-map: the trace is decoded twice, and a pipe can be read once");
    }
    let executed = programs.iter().find(|(_, covered)| !covered.executions.is_empty());
    let bias = executed.map_or(0, |(file, _)| file.bias);
    let runs = Runs::new(input.buffers.len(), how.committed, None).quiet(true);
    let found = Mutex::new(Vec::new());
    let work = |n: usize, job: &Job<'_>, jobs: Jobs, _: &mut listing::Write<'_>| {
        let options = runs.options(jobs);
        let listener = BlockHistory::new(Arc::clone(map), bias, job.sources.len());
        let mut blocks = Vec::new();
        let mut write = |own: Vec<(usize, Block)>| {
            blocks.extend(own.into_iter().map(|(source, block)| (n, source, block)));
            true
        };
        let bytes = &mut *live::input_of(job.buffer);
        let tally = if how.committed {
            let listener = (listener, listing::Nothing);
            listing::decode(job, bytes, &options, listener, &mut None, |(own, ())| write(own))?.1
        } else {
            run::run(job.session()?, job.buffer, bytes, listener, &options, write)?.1
        };
        if let Ok(mut found) = found.lock() {
            found.append(&mut blocks);
        }
        Ok(tally)
    };
    listing::buffers(input, &how.threads.jobs(), output, &runs, work)?;
    let mut found = found.into_inner().unwrap_or_default();
    found.sort_by_key(|(buffer, source, _)| (*buffer, *source));
    Ok(found.into_iter().map(|(.., block)| block).collect())
}
