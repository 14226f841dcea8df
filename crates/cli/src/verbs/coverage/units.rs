//! Parts of a coverage: those of `--units`, and what `--parts` add up to.

use crate::args::{CoverageArgs, CoverageFormatArg};
use crate::fail::Fail;
use crate::fleet::{self, Work};

/// Writes the part of `--units` or `--unit`.
pub fn run(args: &CoverageArgs) -> Result<bool, Fail> {
    if !args.further.is_empty() {
        return Err(fleet::one_capture());
    }
    fleet::refuse(&[
        (!args.window.window().is_all(), "--offset, --time, --instruction or --at"),
        (args.running.wanted(), "--task"),
        (!args.decisions.is_empty(), "--decisions"),
        (args.runs.wanted(), "--save, --load or --older"),
        (args.annotate.is_some(), "--annotate"),
        (args.uncovered, "--uncovered"),
        (!args.functions.is_empty(), "--function"),
        (!args.fail_under.is_empty(), "--fail-under"),
        (args.justified.wanted(), "--justify"),
        (args.format != CoverageFormatArg::Text, "--format"),
        (args.outcome.strict, "--strict"),
    ])?;
    let paths = [args.input.path().to_owned()];
    let job = fleet::job(fleet::COUNTS, args.how.committed, true);
    let index = &args.window.index;
    let work = Work::open(&paths, (&args.input, &args.how), index, job, args.share.unit_size)?;
    let how = (args.how.committed, &args.threads.jobs());
    fleet::measure(&work, &args.share, how, index, args.outcome.output.as_deref())
}

/// Fails where `--parts` cannot be shown.
pub fn check(args: &CoverageArgs) -> Result<(), Fail> {
    if args.parts.files.is_empty() {
        return Ok(());
    }
    if !args.further.is_empty() {
        return Err(fleet::one_capture());
    }
    if !args.decisions.is_empty() {
        let what = "--parts have no evaluations of decisions: a decision may be evaluated across the \
                    border of two units; decode the whole trace for --decisions";
        return Err(Fail::text(what));
    }
    if !args.window.window().is_all() || args.running.wanted() {
        let what = "--parts have the counts of the whole trace, not those of a part of it";
        return Err(Fail::text(what));
    }
    Ok(())
}
