//! What parts add up to, shown with their capture.

use std::collections::BTreeMap;
use std::path::PathBuf;

use tracewright_fleet as fleet;
use tracewright_fleet::{BufferCounts, CaptureIdentity, Part, Payload, Plan, Planned, ProgramSums};

use super::{COUNTS, add, failed_units, job, read};
use crate::args::{HowArgs, UseIndexArgs};
use crate::fail::Fail;
use crate::index;
use crate::input::Input;
use crate::inputs::lists;

/// The parts that are shown.
#[derive(Clone, Copy)]
pub struct Parts<'a> {
    /// Their paths.
    pub files: &'a [PathBuf],
    /// How the capture is decoded.
    pub how: &'a HowArgs,
    /// The most units that could not be decoded.
    pub allowed: usize,
}

/// The counts of a capture, of all of its parts.
pub struct Shown {
    identity: CaptureIdentity,
    payload: Payload,
    /// The number of units that could not be decoded.
    pub failed: usize,
}

impl Shown {
    /// The sum of `parts`, which must be all of `input`, as it is opened here.
    pub fn open(parts: Parts<'_>, input: &Input, index: &UseIndexArgs) -> Result<Shown, Fail> {
        let Parts { files, how, allowed } = parts;
        let paths = lists(files)?;
        let mut sum = None;
        for path in &paths {
            let Some(part) = read(path)? else {
                return Err(Fail::input(path, "it is no part of --units"));
            };
            add(&mut sum, part, path)?;
        }
        let Some(sum) = sum else { return Err(Fail::text("--parts: there are none")) };
        let plans = index::plans(input);
        let index = index::required(input, index)?;
        let failed = |error: &dyn std::fmt::Display| {
            Fail::text(&format!("--parts: {}: {error}", input.path.display()))
        };
        let identity =
            CaptureIdentity::of(&input.trace, &plans, index.as_ref(), &ProgramSums::default());
        let identity = identity.map_err(|error| failed(&error))?;
        let borders = vec![Vec::new(); identity.buffers.len()];
        let planned = Planned { identity: identity.clone(), borders };
        let plan = Plan::new(job(COUNTS, how.committed, true), vec![planned], fleet::UNIT);
        let plan = plan.map_err(|error| failed(&error))?;
        // A part of this capture without units: what differs is found by the merge.
        let mut own = Part::new(&plan, Payload::Counts(BTreeMap::new()));
        own.captures.clone_from(&plan.captures);
        own.merge(sum).map_err(|error| failed(&error))?;
        own.complete(allowed).map_err(|error| failed(&error))?;
        failed_units(&own);
        Ok(Shown { identity, failed: own.failures().len(), payload: own.payload })
    }

    /// The counts of a buffer.
    pub fn counts(&self, buffer: usize) -> Result<BufferCounts, Fail> {
        let counts = BufferCounts::take(&self.identity.data, buffer, &self.payload);
        counts.ok_or_else(|| Fail::text("--parts: the counts have keys that are not known"))
    }
}
