//! Parts of a coverage: those of `--units`, and what `--parts` add up to.

use tracewright_fleet::ProgramSums;

use crate::args::{CoverageArgs, CoverageBy, CoverageFormatArg};
use crate::fail::Fail;
use crate::fleet::{self, Reading, Survey, Work};

/// Writes the part of `--units` or `--unit`.
pub fn run(args: &CoverageArgs) -> Result<bool, Fail> {
    if !args.further.is_empty() {
        return Err(fleet::one_capture());
    }
    if !args.decisions.is_empty() {
        return Err(without_decisions());
    }
    fleet::refuse(&[
        (!args.window.window().is_all(), "--offset, --time, --instruction or --at"),
        (args.running.wanted(), "--task"),
        (args.runs.wanted(), "--save, --load or --older"),
        (args.annotate.is_some(), "--annotate"),
        (args.uncovered, "--uncovered"),
        (!args.functions.is_empty(), "--function"),
        (!args.fail_under.is_empty(), "--fail-under"),
        (args.justified.wanted(), "--justify"),
        (args.by != CoverageBy::File, "--by"),
        (args.format != CoverageFormatArg::Text, "--format"),
        (args.outcome.strict, "--strict"),
    ])?;
    let output = args.outcome.output.as_deref();
    fleet::writable(output, &[])?;
    let job = fleet::job(fleet::COUNTS, args.how.committed, true);
    let (how, index, quiet) = (Some(&args.how), &args.window.index, false);
    let programs = &ProgramSums::default();
    let reading =
        Reading { input: &args.input, how, index, quiet, output, instructions: true, programs };
    let work = match &args.plan.plan {
        Some(plan) => Work::planned(plan, reading, &job)?,
        None => {
            let paths = [args.input.path().to_owned()];
            Work::survey(&paths, reading, (job, args.share.size()), Survey::default())?
        }
    };
    let how = (args.how.committed, &args.threads.jobs());
    fleet::measure(work, &args.share, how, (output, quiet))
}

fn without_decisions() -> Fail {
    Fail::text(
        "parts have no evaluations of decisions: a decision may be evaluated across the border of two \
         units; decode the whole trace for --decisions, without --units and --parts",
    )
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
        return Err(without_decisions());
    }
    if !args.window.window().is_all() || args.running.wanted() {
        let what = "--parts have the counts of the whole trace, not those of a part of it";
        return Err(Fail::text(what));
    }
    Ok(())
}
