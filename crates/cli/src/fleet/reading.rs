//! The captures of a job, and how they are read.

use std::path::{Path, PathBuf};

use tracewright::decode::in_order;
use tracewright::index::Index;
use tracewright_fleet as fleet;
use tracewright_fleet::{CaptureIdentity, Planned, ProgramSums};

use crate::args::{HowArgs, InputArgs, UseIndexArgs};
use crate::fail::Fail;
use crate::index;
use crate::input::Input;
use crate::inputs::is_standard;
use crate::recordings;
use crate::report;

/// How the captures of a job are read.
#[derive(Clone, Copy)]
pub struct Reading<'a> {
    pub input: &'a InputArgs,
    pub how: Option<&'a HowArgs>,
    pub index: &'a UseIndexArgs,
    /// Only errors are printed.
    pub quiet: bool,
    /// The file that is written.
    pub output: Option<&'a Path>,
    /// The trace must have instructions.
    pub instructions: bool,
    /// The programs of captures that were opened.
    pub programs: &'a ProgramSums,
}

/// What receives the captures that are opened, and their paths.
type Receive<'a> = dyn FnMut(&Path, Result<Opened, Fail>) -> Result<(), Fail> + 'a;

/// A capture, its index, and its identity.
pub struct Opened {
    pub input: Input,
    pub index: Option<Index>,
    pub identity: CaptureIdentity,
}

const PIPE: &str = "a pipe has no units, as it is read once; write the trace to a file";

/// Whether `path` is that of a pipe.
#[cfg(unix)]
fn is_pipe(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    std::fs::metadata(path).is_ok_and(|about| about.file_type().is_fifo())
}

/// Whether `path` is that of a pipe.
#[cfg(not(unix))]
fn is_pipe(_: &Path) -> bool {
    false
}

impl Reading<'_> {
    /// The capture at `path`, with its index.
    pub fn open(&self, path: &Path) -> Result<Opened, Fail> {
        // Opening it would wait for a writer.
        if is_pipe(path) {
            return Err(Fail::input(path, PIPE));
        }
        let input = Input::open_other(path, self.input, self.how)?;
        let output = self.output.filter(|path| !is_standard(path));
        index::inputs(&input, self.index).refuse(output)?;
        if !self.quiet {
            report::notes(&input);
        }
        input.readable(false)?;
        if self.instructions && recordings::only(&input) {
            let what = "it is the trace of an ITM or STM, without instructions: its results are those \
                        of the whole trace (`tracewright itm`)";
            return Err(Fail::input(path, what));
        }
        if index::is_piped(&input) {
            return Err(Fail::input(path, PIPE));
        }
        input.decodable()?;
        let index = index::required(&input, self.index)?;
        let plans = index::plans(&input);
        let identity = CaptureIdentity::of(&input.trace, &plans, index.as_ref(), self.programs)
            .map_err(|error| Fail::of_unit(path, &error))?;
        Ok(Opened { input, index, identity })
    }
}

impl Reading<'_> {
    /// Opens the captures at `paths` on `threads` threads, and passes them to `each` in order.
    pub fn open_all(
        &self,
        paths: &[PathBuf],
        threads: usize,
        each: &mut Receive<'_>,
    ) -> Result<(), Fail> {
        // Notes are printed in order.
        let reading = Reading { quiet: true, ..*self };
        in_order(paths, threads, &|path: &PathBuf| reading.open(path), &mut |path, opened| {
            if let Ok(opened) = &opened
                && !self.quiet
            {
                report::notes(&opened.input);
            }
            each(path, opened)
        })
    }
}

impl Opened {
    /// Fails where a file of the capture changed since it was opened.
    pub fn unchanged(&self) -> Result<(), Fail> {
        match self.input.is_unchanged() {
            true => Ok(()),
            false => Err(Fail::input(&self.input.path, "it changed while it was read")),
        }
    }

    /// Where the buffers are divided in pieces of `size` bytes.
    pub fn planned(&self, size: u64) -> Planned {
        let plans = index::plans(&self.input);
        let borders = plans
            .iter()
            .map(|plan| fleet::borders(fleet::divided(self.index.as_ref(), plan), size));
        Planned { identity: self.identity.clone(), borders: borders.collect() }
    }
}
