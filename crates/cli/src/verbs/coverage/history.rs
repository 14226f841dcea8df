//! Executions of the blocks of a decision map, in the order of each source.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tracewright::analysis::coverage::{BlockHistory, ProgramCoverage, ProgramFile};
use tracewright::capture::gnatcov::{Block, DecisionMap, ExecutionTrace};
use tracewright::capture::read_file;
use tracewright::decode::Jobs;

use crate::args::CoverageArgs;
use crate::fail::Fail;
use crate::input::{Input, Job};
use crate::listing;
use crate::live;
use crate::output::Output;
use crate::run::{self, Runs};

/// The captures that have executions of the blocks of a decision map. They are decoded again as the
/// executions are written, so that these are not held.
pub(super) struct History {
    map: Arc<DecisionMap>,
    /// With what is subtracted from addresses in memory.
    inputs: Vec<(Input, u64)>,
}

/// Fails where the executions of a capture cannot be found.
pub(super) fn check(path: &Path, input: &Input) -> Result<(), Fail> {
    let refused = |why: &str| Err(Fail::input(path, why));
    if input.capture().linux.is_some() {
        return refused("--decision-map: processes map their programs at addresses of their own");
    }
    if input.buffers.iter().any(|n| input.capture().buffers[*n].is_piped()) {
        return refused("--decision-map: the trace is decoded twice, and a pipe can be read once");
    }
    Ok(())
}

impl History {
    /// Reads the decision map at `path`.
    pub(super) fn open(path: &Path) -> Result<History, Fail> {
        let bytes = read_file(path).map_err(|why| Fail::input(path, &why.to_string()))?;
        let map = DecisionMap::read(&bytes);
        let map = map.map_err(|why| {
            let what = format!("the decision map of GNATcoverage cannot be read: {why}");
            Fail::input(path, &what)
        })?;
        Ok(History { map: Arc::new(map), inputs: Vec::new() })
    }

    /// Adds a capture, which covers `programs`.
    pub(super) fn add(&mut self, input: Input, programs: &[(ProgramFile, ProgramCoverage)]) {
        let executed = programs.iter().find(|(_, covered)| !covered.executions.is_empty());
        self.inputs.push((input, executed.map_or(0, |(file, _)| file.bias)));
    }

    /// Whether the map has the block.
    pub(super) fn has(&self, block: &Block) -> bool {
        self.map.has(block.address.wrapping_add(block.size.into()))
    }

    /// Writes the file of `trace`, with the executions before its blocks.
    pub(super) fn write(
        &self,
        args: &CoverageArgs,
        trace: &ExecutionTrace,
        output: &mut Output,
    ) -> Result<(), Fail> {
        output.put(&trace.head());
        for (input, bias) in &self.inputs {
            // The executions of a source follow those of another one: a pass for each source.
            let (mut source, mut count) = (0, 1);
            while source < count {
                count = self.pass(args, (input, *bias, source), trace, output)?;
                source += 1;
            }
        }
        output.put(&trace.entries_of(&trace.blocks));
        output.failed()
    }

    /// Writes the executions of one source of each buffer, by its position. Returns how many
    /// sources have executions, or are before one that has.
    fn pass(
        &self,
        args: &CoverageArgs,
        (input, bias, source): (&Input, u64, usize),
        trace: &ExecutionTrace,
        output: &mut Output,
    ) -> Result<usize, Fail> {
        let runs = Runs::new(input.buffers.len(), args.how.committed, None).quiet(true);
        let count = AtomicUsize::new(1);
        let work = |_: usize, job: &Job<'_>, jobs: Jobs, write: &mut listing::Write<'_>| {
            let options = runs.options(jobs);
            let listener = BlockHistory::new(Arc::clone(&self.map), bias, job.sources.len());
            let mut write = |found: Vec<(usize, Block)>| {
                let last = found.iter().map(|(own, _)| own + 1).max();
                count.fetch_max(last.unwrap_or_default(), Ordering::Relaxed);
                let own = found.into_iter().filter(|(own, _)| *own == source);
                let blocks: Vec<Block> = own.map(|(_, block)| block).collect();
                write(trace.entries_of(&blocks))
            };
            let bytes = &mut *live::input_of(job.buffer);
            if args.how.committed {
                let listener = (listener, listing::Nothing);
                let write = |(own, ())| write(own);
                return Ok(listing::decode(job, bytes, &options, listener, &mut None, write)?.1);
            }
            Ok(run::run(job.session()?, job.buffer, bytes, listener, &options, write)?.1)
        };
        listing::buffers(input, &args.threads.jobs(), output, &runs, work)?;
        Ok(count.into_inner())
    }
}
