//! Units of captures: which there are, what they compute, and the files of parts.

mod copies;
mod same_programs;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use tracewright::capture::{Exclusive, ExclusiveError, Written, read_if};
use tracewright::decode::Jobs;
use tracewright::index::Index;
use tracewright_fleet as fleet;
use tracewright_fleet::{
    BufferCounts, CaptureIdentity, Job, Measured, Part, Payload, Piece, Plan, Planned, States, Unit,
};

use crate::args::{HowArgs, InputArgs, ShareArgs, UseIndexArgs};
use crate::fail::Fail;
use crate::index;
use crate::input::Input;
use crate::inputs::{Inputs, is_standard, lists};
use crate::message;
use crate::output::Output;
use crate::recordings;
use crate::report;

pub use same_programs::same_programs;

/// The most bytes of a part.
const MAX_PART: u64 = 1 << 32;

/// The name of the job of profiles and coverage.
pub const COUNTS: &str = "counts";
/// The name of the job of branch lists.
pub const BRANCH_LIST: &str = "branch-list";

/// A capture, its index, and its identity.
pub struct Opened {
    pub input: Input,
    pub index: Option<Index>,
    pub identity: CaptureIdentity,
}

/// Captures, and the units of a job.
pub struct Work {
    /// Only errors are printed.
    pub quiet: bool,
    pub captures: Vec<Opened>,
    pub plan: Plan,
}

/// A job with this name. Transactions that are withheld have no borders.
pub fn job(name: &str, committed: bool, divides: bool) -> Job {
    let after = if committed { " committed" } else { "" };
    Job { name: format!("{name}{after}"), divides: divides && !committed }
}

impl Opened {
    /// The capture of `input`, with its index.
    pub fn of(input: Input, args: &UseIndexArgs) -> Result<Opened, Fail> {
        if index::is_piped(&input) {
            let what = "a pipe has no units, as it is read once; write the trace to a file";
            return Err(Fail::input(&input.path, what));
        }
        input.decodable()?;
        let index = index::required(&input, args)?;
        let plans = index::plans(&input);
        let identity = CaptureIdentity::of(&input.trace, &plans, index.as_ref())
            .map_err(|error| Fail::input(&input.path, &error.to_string()))?;
        Ok(Opened { input, index, identity })
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

impl Work {
    /// The units of `job` for the captures at `paths`. Their notes are printed, unless it is
    /// `quiet`.
    pub fn open(
        (paths, quiet): (&[PathBuf], bool),
        (input, how): (&InputArgs, &HowArgs),
        index: &UseIndexArgs,
        job: Job,
        size: u64,
    ) -> Result<Work, Fail> {
        if let Some(path) = index.index.as_ref().filter(|_| paths.len() > 1) {
            let why = "it is of one capture; others are found beside each of several captures";
            return Err(Fail::option("--index", &path.to_string_lossy(), why));
        }
        let mut captures = Vec::new();
        for path in paths {
            let opened = Input::open_other(path, input, Some(how))?;
            if !quiet {
                report::notes(&opened);
            }
            opened.readable(false)?;
            if recordings::only(&opened) {
                let what = "it is the trace of an ITM or STM, without instructions: its results are \
                            those of the whole trace (`tracewright itm`)";
                return Err(Fail::input(path, what));
            }
            captures.push(Opened::of(opened, index)?);
        }
        Ok(Work { quiet, ..Work::new(captures, job, size)? })
    }

    /// The units of `job` for these captures.
    pub fn new(captures: Vec<Opened>, job: Job, size: u64) -> Result<Work, Fail> {
        copies::refuse(&captures)?;
        let planned = captures.iter().map(|own| own.planned(size)).collect();
        let plan = Plan::new(job, planned, size).map_err(|error| Fail::text(&error.to_string()))?;
        Ok(Work { quiet: false, captures, plan })
    }

    /// The units that `args` choose.
    pub fn chosen(&self, args: &ShareArgs) -> Result<Vec<Unit>, Fail> {
        match (&args.unit, args.units) {
            (Some(id), _) => {
                let unit = self.plan.unit(id);
                Ok(vec![unit.map_err(|error| Fail::text(&error.to_string()))?.clone()])
            }
            (None, Some((number, of))) => {
                let units = self.plan.share(number, of).to_vec();
                if units.is_empty() {
                    let count = self.plan.units.len();
                    self.note(&format!("there are {count} units: share {number} of {of} has none"));
                }
                Ok(units)
            }
            (None, None) => Ok(Vec::new()),
        }
    }

    fn note(&self, text: &str) {
        if !self.quiet {
            message::line(&format!("note: {text}"));
        }
    }

    /// The capture of a piece.
    pub fn of(&self, piece: &Piece) -> Result<&Opened, Fail> {
        let found = self.captures.iter().find(|own| own.identity.data == piece.capture);
        found.ok_or_else(|| Fail::internal("a unit of no capture"))
    }

    /// The files that were read.
    pub fn inputs(&self, args: &UseIndexArgs) -> Vec<Inputs> {
        self.captures.iter().map(|own| index::inputs(&own.input, args)).collect()
    }

    /// Computes `units`, each by `piece`, which returns the states at its ends.
    pub fn part(
        &self,
        units: &[Unit],
        payload: Payload,
        piece: &mut dyn FnMut(&Opened, &Piece, &mut Payload) -> Result<States, Fail>,
    ) -> Result<Part, Fail> {
        let mut part = Part::new(&self.plan, payload);
        for unit in units {
            let mut states = Vec::new();
            for own in &unit.pieces {
                let opened = self.of(own)?;
                let done = piece(opened, own, &mut part.payload);
                states.push(done.map_err(|fail| {
                    Fail::input(&opened.input.path, &format!("unit {}: {fail}", unit.id))
                })?);
            }
            part.add_unit(&self.plan, unit, states);
        }
        for own in &self.captures {
            if !own.input.is_unchanged() {
                return Err(Fail::input(&own.input.path, "it changed while it was read"));
            }
        }
        Ok(part)
    }
}

/// Computes a piece of `work`.
fn measured(
    (opened, piece): (&Opened, &Piece),
    (lists, quiet): (bool, bool),
    (committed, jobs): (bool, &Jobs),
    to: &mut Payload,
) -> Result<States, Fail> {
    let job = opened.input.job(piece.buffer);
    let index = fleet::divided(opened.index.as_ref(), job.plan);
    let of = Measured { trace: &opened.input.trace, plan: job.plan, index, committed, jobs };
    let done = if lists { of.branch_list(piece, to) } else { of.counts(piece, to) };
    let (tally, states) = done.map_err(|error| Fail::text(&error.to_string()))?;
    if !quiet && report::found(&job.decoded(&tally), None, None, true, false)? {
        opened.input.contradicted.store(true, Ordering::Relaxed);
    }
    Ok(states)
}

/// Fails where no part can be written to `path`: before anything is computed.
pub fn writable(path: Option<&Path>, inputs: &[Inputs]) -> Result<(), Fail> {
    for own in inputs {
        own.refuse(path.filter(|path| !is_standard(path)))?;
    }
    match path.filter(|path| !is_standard(path)) {
        Some(path) => Exclusive::check(path).map_err(|error| unwritten(path, error)),
        None => Ok(()),
    }
}

/// Why a part was not written to `path`.
fn unwritten(path: &Path, error: ExclusiveError) -> Fail {
    match error {
        ExclusiveError::Write(error) => Fail::write(Some(path), &error),
        ExclusiveError::NotAFile { .. } => Fail::text(&format!(
            "{}: {error}: a part replaces nothing, so that two workers cannot write to one file",
            path.display()
        )),
        error => Fail::text(&format!("{}: {error}", path.display())),
    }
}

/// Writes a part. A file that is there must have the same bytes.
pub fn write(
    part: &Part,
    (path, quiet): (Option<&Path>, bool),
    inputs: &[Inputs],
) -> Result<(), Fail> {
    let path = path.filter(|path| !is_standard(path));
    writable(path, inputs)?;
    let bytes = part.write();
    let Some(path) = path else {
        let mut output = Output::standard()?;
        output.put(&bytes);
        output.failed()?;
        return output.close();
    };
    let mut file = Exclusive::new(path).map_err(|error| unwritten(path, error))?;
    file.write_all(&bytes).map_err(|error| unwritten(path, error.into()))?;
    match file.finish() {
        Ok(Written::Same) if !quiet => {
            message::line(&format!("note: {} was there, with the same content", path.display()));
        }
        Ok(Written::New | Written::Same) => {}
        Err(error) => return Err(unwritten(path, error)),
    }
    Ok(())
}

/// Reads the part at `path`, also of a pipe; `None` where it is no part.
pub fn read(path: &Path) -> Result<Option<Part>, Fail> {
    let failed = |why: String| Fail::input(path, &why);
    match read_if(path, MAX_PART, &Part::is_at).map_err(|why| failed(why.to_string()))? {
        Some(bytes) => Part::read(&bytes).map(Some).map_err(|error| failed(error.to_string())),
        None if std::fs::metadata(path).is_ok_and(|own| own.is_file() || own.is_dir()) => Ok(None),
        None => {
            let what = "it is no regular file, and no part of --units; other files are read where \
                        they are regular files";
            Err(Fail::input(path, what))
        }
    }
}

/// Adds the part at `path` to a sum.
pub fn add(sum: &mut Option<Part>, part: Part, path: &Path) -> Result<(), Fail> {
    match sum {
        None => *sum = Some(part),
        Some(sum) => {
            sum.merge(part).map_err(|error| Fail::input(path, &error.to_string()))?;
        }
    }
    Ok(())
}

/// The counts of a capture, of all of its parts.
pub struct Shown {
    identity: CaptureIdentity,
    payload: Payload,
}

impl Shown {
    /// The sum of the parts at `paths`, which must be all of `input`, as it is opened here.
    pub fn open(
        paths: &[PathBuf],
        input: &Input,
        how: &HowArgs,
        index: &UseIndexArgs,
    ) -> Result<Shown, Fail> {
        let paths = lists(paths)?;
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
        let identity = CaptureIdentity::of(&input.trace, &plans, index.as_ref());
        let identity = identity.map_err(|error| failed(&error))?;
        let borders = vec![Vec::new(); identity.buffers.len()];
        let planned = Planned { identity: identity.clone(), borders };
        let plan = Plan::new(job(COUNTS, how.committed, true), vec![planned], fleet::UNIT);
        let plan = plan.map_err(|error| failed(&error))?;
        // A part of this capture without units: what differs is found by the merge.
        let mut own = Part::new(&plan, Payload::Counts(std::collections::BTreeMap::new()));
        own.captures.clone_from(&plan.captures);
        own.merge(sum).map_err(|error| failed(&error))?;
        own.complete().map_err(|error| failed(&error))?;
        Ok(Shown { identity, payload: own.payload })
    }

    /// The counts of a buffer.
    pub fn counts(&self, buffer: usize) -> Result<BufferCounts, Fail> {
        let counts = BufferCounts::take(&self.identity.data, buffer, &self.payload);
        counts.ok_or_else(|| Fail::text("--parts: the counts have keys that are not known"))
    }
}

/// Several captures have no counts together, as these are at addresses in their memory.
pub fn one_capture() -> Fail {
    Fail::text(
        "units of several captures are those of branch lists (--format branch-list, or --job \
         branch-list): other counts are at addresses in the memory of one capture",
    )
}

/// Writes the part of the counts of the capture of `work`, or its branch lists.
pub fn measure(
    work: &Work,
    share: &ShareArgs,
    (committed, jobs): (bool, &Jobs),
    index: &UseIndexArgs,
    output: Option<&Path>,
) -> Result<bool, Fail> {
    writable(output, &work.inputs(index))?;
    let units = work.chosen(share)?;
    let lists = work.plan.job.name.starts_with(BRANCH_LIST);
    let payload = Payload::Counts(std::collections::BTreeMap::new());
    let part = work.part(&units, payload, &mut |opened, piece, to| {
        measured((opened, piece), (lists, work.quiet), (committed, jobs), to)
    })?;
    write(&part, (output, work.quiet), &work.inputs(index))?;
    Ok(work.captures.iter().all(|own| !own.input.is_contradicted()))
}

/// Fails where options are given that are for what is shown, or for a part of the trace.
pub fn refuse(options: &[(bool, &str)]) -> Result<(), Fail> {
    match options.iter().find(|(given, _)| *given) {
        Some((_, name)) => Err(Fail::text(&format!(
            "{name} is not for parts of --units, which have all that their segments have; it is for \
             what is shown of them (--parts), where it applies"
        ))),
        None => Ok(()),
    }
}
