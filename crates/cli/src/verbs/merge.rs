//! `tracewright merge`

use std::path::{Path, PathBuf};

use tracewright::capture::perf::{self, BranchList};
use tracewright::capture::read_file;

use crate::args::MergeArgs;
use crate::fail::Fail;
use crate::inputs::{Inputs, lists};
use crate::message;
use crate::output::Output;

/// Runs the verb.
pub fn run(args: &MergeArgs) -> Result<bool, Fail> {
    let paths = lists(&args.inputs)?;
    let binaries = args.search.binaries.iter();
    let inputs = Inputs::of_files(paths.iter().chain(binaries).cloned().collect());
    inputs.refuse(args.output.as_deref())?;
    let mut output = Output::open(args.output.as_deref(), &inputs)?;
    let mut sum = BranchList::default();
    let mut failed: Vec<Fail> = Vec::new();
    let mut saturated = false;
    for path in &paths {
        match read(args, path) {
            Ok((list, notes)) => {
                if !args.quiet {
                    message::line(&described(path, &list, &notes));
                }
                saturated |= sum.add(list);
            }
            Err(fail) if !args.keep_going => return Err(fail),
            Err(fail) => failed.push(fail),
        }
    }
    if failed.len() == paths.len()
        && let Some(first) = failed.first()
    {
        let why = format!("none of the {} files can be read; the first: {first}", paths.len());
        return Err(Fail::input(paths.first().map_or(Path::new(""), PathBuf::as_path), &why));
    }
    if !failed.is_empty() {
        let (count, all) = (failed.len(), paths.len());
        message::line(&format!("{count} of {all} files cannot be read, and are not in the sum:"));
        failed.iter().for_each(|fail| message::line(&format!("  {fail}")));
    }
    if saturated {
        message::line(&format!("note: counts larger than {} are written as that number", u64::MAX));
    }
    output.put(&sum.write());
    output.failed()?;
    output.close()?;
    let empty = sum.binaries.is_empty() && sum.sampled.samples.is_empty();
    if empty {
        message::line("note: the list is empty: the files have no branches");
    }
    Ok(failed.is_empty() && !empty)
}

/// The branch list at `path`, or that of the samples in the file, and notes about it.
fn read(args: &MergeArgs, path: &Path) -> Result<(BranchList, Vec<String>), Fail> {
    if let Some(list) = perf::branch_list(path) {
        return Ok((list?, Vec::new()));
    }
    let Some(samples) = perf::branch_samples(path, &args.search.search()) else {
        if !path.exists() {
            read_file(path).map_err(|why| Fail::input(path, &why.to_string()))?;
        }
        let what = "it is no branch list, and has no samples with branches; `tracewright profile \
                    --format branch-list` makes the list of a trace";
        return Err(Fail::input(path, what));
    };
    let mut samples = samples?;
    let (sampled, outside) = samples.listed();
    let mut notes = std::mem::take(&mut samples.problems);
    if outside > 0 {
        notes.insert(
            0,
            format!(
                "{outside} addresses are in no program file that was found; files are given with \
             --symfs FOLDER or --binary FILE"
            ),
        );
    }
    Ok((BranchList { sampled, ..BranchList::default() }, notes))
}

/// The line about the file at `path`.
fn described(path: &Path, list: &BranchList, notes: &[String]) -> String {
    let sequences: usize = list.binaries.iter().map(|binary| binary.sequences.len()).sum();
    let mut parts = Vec::new();
    if sequences > 0 || list.sampled.samples.is_empty() {
        let files = list.binaries.len();
        parts.push(format!("{sequences} sequences of branches in {files} program files"));
    }
    if !list.sampled.samples.is_empty() {
        parts.push(format!(
            "{} samples in {} program files",
            list.sampled.samples.len(),
            list.sampled.binaries.len()
        ));
    }
    parts.extend(notes.iter().cloned());
    format!("{}: {}", path.display(), parts.join("; "))
}
