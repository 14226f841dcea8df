//! Captures whose counts are added are of the same programs.

use std::path::Path;

use tracewright::analysis::Programs;
use tracewright::decode::Jobs;

use super::reading::Reading;
use crate::fail::Fail;
use crate::input::Input;
use crate::programs;

/// The programs of the captures of a job.
#[derive(Default)]
pub struct SamePrograms {
    known: Programs,
    differ: bool,
}

impl SamePrograms {
    /// Adds those of a capture.
    pub fn add(&mut self, input: &Input) {
        let its = programs::of_all_memory(input);
        self.differ |= self.known.difference(&its).or_else(|| its.contradiction()).is_some();
        self.known.add(its);
    }

    /// Fails where the captures at `paths` are of different programs, as adding them without units
    /// does; if it is `forced`, a note states that.
    pub fn refuse(self, paths: &[&Path], reading: Reading<'_>, forced: bool) -> Result<(), Fail> {
        if !self.differ && self.known.contradiction().is_none() {
            return Ok(());
        }
        // Of memory without a file, only what was executed must be the same, for which the captures
        // are decoded.
        let reading = Reading { quiet: true, ..reading };
        let mut known = Programs::default();
        for path in paths {
            let its = programs::of_executed(&reading.open(path)?.input, &Jobs::default())?;
            programs::add(&mut known, its, forced)?;
        }
        Ok(())
    }
}
