//! `tracewright merge`

use std::path::Path;

use tracewright::capture::perf::{self, BranchList, Search};
use tracewright::capture::{Found, probe};
use tracewright_fleet::{FleetError, Part, Payload};

use crate::args::MergeArgs;
use crate::fail::Fail;
use crate::fleet;
use crate::inputs::{Inputs, lists};
use crate::message;
use crate::output::Output;

/// Runs the verb.
pub fn run(args: &MergeArgs) -> Result<bool, Fail> {
    let (paths, search) = (lists(&args.inputs)?, args.search.search()?);
    let binaries = args.search.binaries.iter();
    let inputs = Inputs::of_files(paths.iter().chain(binaries).cloned().collect());
    inputs.refuse(args.output.as_deref())?;
    let mut parts = None;
    let mut others = Vec::new();
    for path in &paths {
        match fleet::read(path) {
            Ok(Some(part)) => fleet::add(&mut parts, part, path)?,
            // What is wrong with another file is found below.
            Ok(None) => others.push(path.clone()),
            Err(fail) => return Err(fail),
        }
    }
    let listed = match parts {
        Some(part) => match added(args, part, others.len(), inputs.clone())? {
            Some(list) => list,
            None => return Ok(true),
        },
        None if args.partial => {
            return Err(Fail::text("--partial is for parts of --units, and there is none"));
        }
        None => BranchList::default(),
    };
    let paths = others;
    let mut output = Output::open(args.output.as_deref(), &inputs)?;
    let mut sum = BranchList::default();
    let mut failed: Vec<Fail> = Vec::new();
    let mut saturated = sum.add(listed);
    for path in &paths {
        match read(&search, path) {
            Ok(Read { list, mut damage, mut notes }) => {
                if !args.quiet || !damage.is_empty() {
                    if !args.quiet {
                        damage.append(&mut notes);
                    }
                    message::line(&described(path, &list, &damage));
                }
                saturated |= sum.add(list);
            }
            Err(fail) if !args.keep_going => return Err(fail),
            Err(fail) => failed.push(fail),
        }
    }
    if failed.len() == paths.len() && !failed.is_empty() {
        return Err(Fail::all(failed, "files"));
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

/// Writes the sum of parts, beside which there are `others`. Returns the branch list that they are,
/// which is to be written.
fn added(
    args: &MergeArgs,
    part: Part,
    others: usize,
    inputs: Inputs,
) -> Result<Option<BranchList>, Fail> {
    let lacking = part.lacking();
    if args.partial {
        if others > 0 {
            let what =
                "--partial: a part has only units, and there are other files beside the parts";
            return Err(Fail::text(what));
        }
        fleet::write(&part, args.output.as_deref(), &[inputs])?;
        if !lacking.is_empty() {
            message::line(&format!("note: {}", FleetError::Lacking(lacking)));
        }
        return Ok(None);
    }
    if !lacking.is_empty() {
        let what =
            format!("{}; --partial writes what is there as a part", FleetError::Lacking(lacking));
        return Err(Fail::text(&what));
    }
    let units = part.units.len();
    message::line(&format!("note: all {units} units of the job `{}` are there", part.job));
    if part.job.starts_with(fleet::BRANCH_LIST) {
        let list = tracewright_fleet::lists::take(&part.payload);
        return list.map(Some).ok_or_else(|| Fail::text("the counts are those of no branch list"));
    }
    if others > 0 {
        let what = format!(
            "parts of the job `{}` and other files have no sum; those of branch lists have",
            part.job
        );
        return Err(Fail::text(&what));
    }
    let Payload::Rows { head, rows } = &part.payload else {
        fleet::write(&part, args.output.as_deref(), &[inputs])?;
        message::line("note: `profile` and `coverage` of the capture show it with --parts");
        return Ok(None);
    };
    let mut output = Output::open(args.output.as_deref(), &inputs)?;
    output.put(head.as_bytes());
    for text in rows.values() {
        output.put(text.as_bytes());
    }
    output.failed()?;
    output.close()?;
    Ok(None)
}

/// What was read of a file.
struct Read {
    list: BranchList,
    /// What the file lacks: it is cut or damaged.
    damage: Vec<String>,
    /// Other notes about it.
    notes: Vec<String>,
}

/// The branch list at `path`, or that of the samples in the file.
fn read(search: &Search, path: &Path) -> Result<Read, Fail> {
    let mut damage = Vec::new();
    if let Some(list) = perf::branch_list(path) {
        return Ok(Read { list: list?, damage, notes: Vec::new() });
    }
    let Some(samples) = perf::branch_samples(path, search) else {
        let what = match probe(path)? {
            Found::Perf => {
                "it has neither a branch list nor samples with branches; `tracewright profile \
                 --format branch-list` makes the list of a trace"
            }
            Found::Program => "a program (ELF), neither a branch list nor a perf.data file",
            _ => "it is neither a branch list nor a perf.data file",
        };
        return Err(Fail::input(path, what));
    };
    let mut samples = samples?;
    let (sampled, outside) = samples.listed();
    let mut notes = std::mem::take(&mut samples.problems);
    damage.append(&mut samples.damage);
    if outside > 0 {
        notes.insert(
            0,
            format!(
                "{outside} addresses are in no program file that was found; files are given with \
             --symfs FOLDER or --binary FILE"
            ),
        );
    }
    Ok(Read { list: BranchList { sampled, ..BranchList::default() }, damage, notes })
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
