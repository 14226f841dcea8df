//! `tracewright merge`

use std::path::{Path, PathBuf};

use tracewright::capture::perf::{self, BranchList, Search};
use tracewright::capture::{Found, probe};
use tracewright_fleet::{FleetError, Part, Payload, PlanFile, Unit};

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
    let inputs =
        Inputs::of_files(paths.iter().chain(binaries).cloned().collect()).lists(&args.inputs);
    match args.partial {
        true => fleet::writable(args.output.as_deref(), std::slice::from_ref(&inputs))?,
        false => inputs.refuse(args.output.as_deref())?,
    }
    if let Some(path) = &args.plan {
        Inputs::of_files(vec![path.clone()]).refuse(args.output.as_deref())?;
    }
    let mut parts = None;
    let mut others = Vec::new();
    let mut failed: Vec<Fail> = Vec::new();
    for path in &paths {
        match fleet::read(path) {
            Ok(Some(part)) => fleet::add(&mut parts, part, path)?,
            // What is wrong with another file is found below.
            Ok(None) => others.push(path.clone()),
            Err(fail) if !args.keep_going => return Err(fail),
            Err(fail) => failed.push(fail),
        }
    }
    let complete = parts.as_ref().is_none_or(|part| part.failures().is_empty());
    let listed = match parts {
        Some(part) => match added(args, part, (&others, &search), &failed, inputs.clone())? {
            Some(list) => list,
            None => return Ok(failed.is_empty() && (complete || args.partial)),
        },
        None if args.plan.is_some() => {
            return Err(Fail::text("--plan is for parts of --units, and there is none"));
        }
        None if args.partial => {
            return Err(Fail::text("--partial is for parts of --units, and there is none"));
        }
        None => BranchList::default(),
    };
    let count = paths.len();
    let paths = others;
    let mut output = Output::open(args.output.as_deref(), &inputs)?;
    let mut sum = BranchList::default();
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
    if failed.len() == count && !failed.is_empty() {
        return Err(Fail::all(failed, "files"));
    }
    if !failed.is_empty() {
        let failures = failed.len();
        message::line(&format!(
            "{failures} of {count} files cannot be read, and are not in the sum:"
        ));
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
    Ok(failed.is_empty() && complete && !empty)
}

/// Writes the sum of parts, beside which there are `others` and files that `failed`. Returns the
/// branch list that they are, which is to be written.
fn added(
    args: &MergeArgs,
    part: Part,
    (others, search): (&[PathBuf], &Search),
    failed: &[Fail],
    inputs: Inputs,
) -> Result<Option<BranchList>, Fail> {
    let lacking = match args.plan.as_deref() {
        Some(path) => lacking(&part, path)?,
        None => part.lacking(),
    };
    let lists = part.job.starts_with(fleet::BRANCH_LIST);
    let has_sum = lists && !args.partial;
    if let Some(other) = others.first().filter(|_| !has_sum) {
        let what = match args.partial {
            true => "it is no part, and --partial writes a part, which has only units".to_owned(),
            false => format!(
                "it is no part of --units: parts of the job `{}` and other files have no sum; those \
                 of branch lists have",
                part.job
            ),
        };
        return Err(Fail::input(other, &what));
    }
    // A file that cannot be read may be the part that is lacking.
    if !lacking.is_empty() && !args.keep_going {
        others.iter().try_for_each(|path| read(search, path).map(|_| ()))?;
    }
    let output = (args.output.as_deref(), args.quiet);
    if args.partial || !has_sum || !lacking.is_empty() {
        failed.iter().for_each(|fail| message::line(&format!("not in the sum: {fail}")));
    }
    if args.partial {
        fleet::write(&part, output, &[inputs])?;
        if !args.quiet {
            fleet::failed_units(&part);
        }
        if !lacking.is_empty() && !args.quiet {
            message::line(&format!("note: {}", FleetError::Lacking(lacking)));
        }
        return Ok(None);
    }
    if !lacking.is_empty() {
        let what =
            format!("{}; --partial writes what is there as a part", FleetError::Lacking(lacking));
        return Err(Fail::text(&what));
    }
    if let Err(error) = part.complete(args.allow_failed) {
        let what = format!("{error}; --partial writes what is there as a part");
        return Err(Fail::text(&what));
    }
    let compared = part.listed.is_empty() || part.job.ends_with(fleet::FORCED);
    if let Some(why) = tracewright_fleet::lists::different_programs(&part).filter(|_| !compared) {
        let what = format!(
            "the captures are of different programs: {why}; make the parts with --force to add them \
             in spite of it, or with a plan, which compares the programs"
        );
        return Err(Fail::text(&what));
    }
    let units = part.units();
    if !args.quiet {
        message::line(&format!("note: all {units} units of the job `{}` are there", part.job));
    }
    fleet::failed_units(&part);
    if lists {
        let list = tracewright_fleet::lists::take(&part.payload);
        return list.map(Some).ok_or_else(|| Fail::text("the counts are those of no branch list"));
    }
    let Payload::Rows { head, rows } = &part.payload else {
        fleet::write(&part, output, &[inputs])?;
        if !args.quiet {
            message::line("note: `profile` and `coverage` of the capture show it with --parts");
        }
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

/// The units of the plan at `path` that are lacking in `part`, with the paths of their captures.
fn lacking(part: &Part, path: &Path) -> Result<Vec<String>, Fail> {
    let PlanFile(plan) = fleet::read_plan(path)?;
    if plan.digest() != part.plan || plan.captures.len() != part.total {
        return Err(Fail::input(path, "it is not the plan of the parts"));
    }
    let text = |unit: &&Unit| {
        let pieces = plan.pieces(unit);
        let mut captures: Vec<&str> =
            pieces.iter().filter_map(|own| plan.captures.path(&own.capture)).collect();
        captures.dedup();
        format!("unit {} ({})", unit.id, captures.join(", "))
    };
    Ok(part.lacking_units(&plan).iter().map(text).collect())
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
