//! Units of captures: which there are, what they compute, and the files of parts.

mod copies;
mod list_share;
mod reading;
mod same_programs;
mod shown;
mod work;

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::atomic::Ordering;

use tracewright::capture::{Exclusive, ExclusiveError, Written, open_if};
use tracewright::decode::Jobs;
use tracewright_fleet as fleet;
use tracewright_fleet::{Job, Measured, Part, Payload, Piece, States};

use crate::args::ShareArgs;
use crate::fail::Fail;
use crate::inputs::{Inputs, is_standard};
use crate::message;
use crate::output::Output;
use crate::report;

pub use reading::{Opened, Reading};
pub use shown::{Parts, Shown};
pub use work::{Survey, Work, read_plan};

/// Bytes that are buffered before they are written.
const BUFFERED: usize = 1 << 16;

/// The name of the job of profiles and coverage.
pub const COUNTS: &str = "counts";
/// The name of the job of branch lists.
pub const BRANCH_LIST: &str = "branch-list";

/// What follows the name of a job of a list whose captures may be of different programs.
pub const FORCED: &str = " force";

/// A job with this name. Transactions that are withheld have no borders.
pub fn job(name: &str, committed: bool, divides: bool) -> Job {
    let after = if committed { " committed" } else { "" };
    Job { name: format!("{name}{after}"), divides: divides && !committed }
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
    let (tally, states) = done.map_err(|error| Fail::of_unit(&opened.input.path, &error))?;
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

/// Writes a part.
pub fn write(
    part: &Part,
    (path, quiet): (Option<&Path>, bool),
    inputs: &[Inputs],
) -> Result<(), Fail> {
    let path = path.filter(|path| !is_standard(path));
    writable(path, inputs)?;
    written(&|to| part.write_to(to), path, quiet)
}

/// Writes a file, or to standard output. A file that is there must have the same bytes.
pub fn written(
    write: &dyn Fn(&mut dyn Write) -> io::Result<()>,
    path: Option<&Path>,
    quiet: bool,
) -> Result<(), Fail> {
    let Some(path) = path.filter(|path| !is_standard(path)) else {
        let mut output = Output::standard()?;
        let done = write(&mut output);
        output.check(done)?;
        return output.close();
    };
    let mut file = Exclusive::new(path).map_err(|error| unwritten(path, error))?;
    let mut buffered = BufWriter::with_capacity(BUFFERED, &mut file);
    let done = write(&mut buffered).and_then(|()| buffered.flush());
    drop(buffered);
    done.map_err(|error| unwritten(path, error.into()))?;
    match file.finish() {
        Ok(Written::Same) if !quiet => {
            message::line(&format!("note: {} was there, with the same content", path.display()));
        }
        Ok(Written::New | Written::Same) => {}
        Err(error) => return Err(unwritten(path, error)),
    }
    Ok(())
}

/// Lists the units of a part that could not be decoded.
pub fn failed_units(part: &Part) {
    let failures = part.failures();
    if failures.is_empty() {
        return;
    }
    let (count, units) = (failures.len(), part.units());
    message::line(&format!(
        "{count} of {units} units could not be decoded, and are not in the sum:"
    ));
    failures.iter().for_each(|why| message::line(&format!("  {why}")));
}

/// Reads the part at `path`, also of a pipe; `None` where it is no part.
pub fn read(path: &Path) -> Result<Option<Part>, Fail> {
    let failed = |why: String| Fail::input(path, &why);
    match open_if(path, &Part::is_at).map_err(|why| failed(why.to_string()))? {
        Some(mut from) => {
            Part::read_from(&mut from).map(Some).map_err(|error| failed(error.to_string()))
        }
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

/// Several captures have no counts together, as these are at addresses in their memory.
pub fn one_capture() -> Fail {
    Fail::text(
        "units of several captures are those of branch lists (--format branch-list, or --job \
         branch-list): other counts are at addresses in the memory of one capture",
    )
}

/// Writes the part of the counts of `work`, or its branch lists.
pub fn measure(
    mut work: Work<'_>,
    share: &ShareArgs,
    (committed, jobs): (bool, &Jobs),
    (output, quiet): (Option<&Path>, bool),
) -> Result<bool, Fail> {
    let units = work.chosen(share)?;
    let lists = work.plan.job.name.starts_with(BRANCH_LIST);
    let empty = (Payload::Counts(BTreeMap::new()), share.allow_failed);
    let part = work.part(units, empty, &mut |opened, piece, to| {
        measured((opened, piece), (lists, quiet), (committed, jobs), to)
    })?;
    write(&part, (output, quiet), &[])?;
    Ok(!work.contradicted)
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
