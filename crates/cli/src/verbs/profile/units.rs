//! Parts of a profile: those of `--units`, and what `--parts` add up to.

use std::path::PathBuf;

use tracewright_fleet::ProgramSums;

use crate::args::{ProfileArgs, ProfileFormat, name};
use crate::fail::Fail;
use crate::fleet::{self, Reading, Survey, Work};

/// Writes the part of `--units` or `--unit`.
pub fn run(args: &ProfileArgs, paths: &[PathBuf]) -> Result<bool, Fail> {
    let lists = args.format == ProfileFormat::BranchList;
    if !lists && args.format != ProfileFormat::Text {
        let what = "a part has no format, but that of a branch list; it is chosen with --parts";
        return Err(Fail::option("--format", &name(args.format), what));
    }
    let incomplete = args.keep_going;
    fleet::refuse(&[
        (!args.window.window().is_all(), "--offset, --time, --instruction or --at"),
        (args.running.wanted(), "--task"),
        (args.limit.is_some(), "--limit"),
        (args.module.is_some(), "--module"),
        (!args.exclude_process.is_empty(), "--exclude-process"),
        (args.kernel || args.user, "--kernel or --user"),
        (incomplete, "--keep-going"),
        (args.strict, "--strict"),
    ])?;
    if !lists && paths.len() > 1 {
        return Err(fleet::one_capture());
    }
    let name = if lists { fleet::BRANCH_LIST } else { fleet::COUNTS };
    let job = fleet::job(name, args.how.committed, true);
    let (output, quiet) = (args.output.as_deref(), args.quiet);
    fleet::writable(output, &[])?;
    let (how, index) = (Some(&args.how), &args.window.index);
    let programs = &ProgramSums::default();
    let reading =
        Reading { input: &args.input, how, index, quiet, output, instructions: true, programs };
    let by_size = args.share.unit_size.is_some() || args.plan.plan.is_some();
    let listed = match args.share.units.filter(|_| lists && !by_size) {
        Some(share) => Work::listed(paths, reading, job.clone(), (share, args.force))?,
        None => None,
    };
    let threads = args.threads.jobs().count;
    let survey = Survey { forced: args.force, threads, ..Survey::default() };
    let work = match (listed, &args.plan.plan) {
        (Some(work), _) => work,
        (None, Some(plan)) => Work::planned(plan, reading, &job)?,
        (None, None) => Work::survey(paths, reading, (job, args.share.size()), survey)?,
    };
    let how = (args.how.committed, &args.threads.jobs());
    fleet::measure(work, &args.share, how, (output, quiet))
}

/// Fails where `--parts` cannot be shown.
pub fn check(args: &ProfileArgs, paths: &[PathBuf]) -> Result<(), Fail> {
    if args.parts.files.is_empty() {
        return Ok(());
    }
    if matches!(args.format, ProfileFormat::BranchList) {
        let what = "`tracewright merge` makes the list of parts of branch lists; other parts have no \
                    sequences of branches";
        return Err(Fail::option("--format", "branch-list", what));
    }
    if paths.len() > 1 {
        return Err(fleet::one_capture());
    }
    let windows = !args.window.window().is_all() || args.running.wanted();
    if windows || args.format == ProfileFormat::PerfData {
        let what =
            "--parts have the counts of the whole trace, not those of a part of it, nor samples";
        return Err(Fail::text(what));
    }
    Ok(())
}
