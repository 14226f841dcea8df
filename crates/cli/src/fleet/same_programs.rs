//! Captures whose counts are added are of the same programs.

use tracewright::analysis::Programs;
use tracewright::decode::Jobs;

use super::Work;
use crate::fail::Fail;
use crate::programs;

/// Fails where the captures of `work` are of different programs, as adding them without units does;
/// if it is `forced`, a note states that. Each worker compares all captures.
pub fn same_programs(work: &Work, forced: bool, jobs: &Jobs) -> Result<(), Fail> {
    if work.captures.len() < 2 {
        return Ok(());
    }
    let mut known = Programs::default();
    let differ = work.captures.iter().any(|own| {
        let its = programs::of_all_memory(&own.input);
        let differs = known.difference(&its).is_some();
        known.add(its);
        differs
    });
    // Of memory without a file, only what was executed must be the same: that is not decoded where
    // all of it is.
    let mut known = Programs::default();
    for own in &work.captures {
        let its = match differ {
            true => programs::of_executed(&own.input, jobs)?,
            false => programs::of_all_memory(&own.input),
        };
        programs::add(&mut known, its, forced)?;
    }
    Ok(())
}
