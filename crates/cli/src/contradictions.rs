//! How much of a trace contradicts the program: it stands over tables that people read.

use tracewright::decode::Jobs;
pub use tracewright::views::contradictions::Contradictions;

use crate::fail::Fail;
use crate::index::Selected;
use crate::input::Input;
use crate::listing;
use crate::live;
use crate::run::{self, Runs};

/// Those of the selected part of all buffers, for what is listed while they are decoded. They
/// are decoded once for it. Of a pipe, which can be read only once, nothing is known.
pub fn before(
    input: &Input,
    committed: bool,
    selected: Option<&Selected>,
    jobs: &Jobs,
) -> Result<Contradictions, Fail> {
    let mut found = Contradictions::default();
    let buffers = input.buffers.iter().map(|&buffer| &input.capture().buffers[buffer]);
    if buffers.clone().any(|buffer| buffer.is_piped()) {
        return Ok(found);
    }
    let runs = Runs::new(input.buffers.len(), committed, selected);
    for &buffer in &input.buffers {
        let job = input.job(buffer);
        if job.plan.sources.is_empty() {
            continue;
        }
        let bytes = &mut *live::input_of(job.buffer);
        let (options, none) = (runs.options(jobs.clone()), listing::Nothing);
        let (_, tally) = run::run(job.session()?, job.buffer, bytes, none, &options, |()| true)?;
        found.add(&tally);
    }
    Ok(found)
}
