//! Results of different programs are not summed or compared.

use std::collections::BTreeSet;
use std::path::Path;

use tracewright::analysis::coverage::{ProgramCoverage, ProgramFile};
use tracewright::analysis::{Profile, Profiler, Programs, RawProfile};
use tracewright::capture::perf::FoundList;
use tracewright::capture::{Dump, Form, Kind};
use tracewright::decode::Jobs;
use tracewright::image::ProgramId;

use crate::fail::Fail;
use crate::input::Input;
use crate::live;
use crate::message;
use crate::run::{self, Runs};

/// The programs of a capture.
fn of(input: &Input) -> Programs {
    Programs::of_capture(&name(&input.path), input.capture())
}

/// The programs of a capture with this profile, and the executed memory without a file.
pub fn of_profile(input: &Input, profile: &Profile) -> Programs {
    let dumps = &input.capture().memory;
    let modules = profile.modules.iter().flat_map(|((path, _), module)| {
        let is_file = |dump: &&Dump| dump.form == Form::Elf && dump.file == *path;
        let bias = dumps.iter().find(is_file).map_or(0, |dump| dump.address);
        module.ranges.keys().map(move |&(start, last)| {
            // The last instruction has at least two bytes.
            (start.wrapping_add(bias), last.wrapping_sub(start).saturating_add(2))
        })
    });
    with_memory(input, Some(&modules.collect::<Vec<_>>()))
}

/// The programs of a capture with this coverage of its program files, and the executed memory
/// without a file.
pub fn of_coverage(input: &Input, files: &[(ProgramFile, ProgramCoverage)]) -> Programs {
    let ranges = files.iter().flat_map(|(file, covered)| {
        let ranges = covered.ranges.iter();
        ranges.map(|(start, (size, _))| (start.wrapping_add(file.bias), u64::from(*size)))
    });
    with_memory(input, Some(&ranges.collect::<Vec<_>>()))
}

/// The programs of two captures that are compared. Memory without a file has data, too: where both
/// have it, they are decoded for the executed code.
pub fn of_both(inputs: [&Input; 2], jobs: &Jobs) -> Result<[Programs; 2], Fail> {
    let [a, b] = inputs.map(|input| with_memory(input, None));
    if !a.share_memory(&b) {
        return Ok(inputs.map(of));
    }
    let [first, second] = inputs;
    let of = |input| executed(input, jobs).map(|ranges| with_memory(input, Some(&ranges)));
    Ok([of(first)?, of(second)?])
}

/// The programs of a capture, and all of its memory without a file.
pub fn of_all_memory(input: &Input) -> Programs {
    with_memory(input, None)
}

/// The programs of a capture, and the executed memory without a file, for which it is decoded.
pub fn of_executed(input: &Input, jobs: &Jobs) -> Result<Programs, Fail> {
    Ok(with_memory(input, Some(&executed(input, jobs)?)))
}

/// The addresses and sizes of the ranges that were executed in a capture. Of a pipe, whose bytes
/// can be read once only, nothing is known.
fn executed(input: &Input, jobs: &Jobs) -> Result<Vec<(u64, u64)>, Fail> {
    let runs = Runs::new(input.buffers.len(), false, None);
    let mut ranges = BTreeSet::new();
    for &buffer in &input.buffers {
        let job = input.job(buffer);
        if job.buffer.is_piped() {
            continue;
        }
        let profiler = Profiler::new(job.sources.iter().map(|source| source.program.clone()));
        let write = |found: RawProfile| {
            let found = found.executed.into_counts();
            ranges.extend(found.map(|(range, _)| (range.start, u64::from(range.bytes))));
            true
        };
        let bytes = &mut *live::input_of(job.buffer);
        run::run(job.session()?, job.buffer, bytes, profiler, &runs.options(jobs.clone()), write)?;
    }
    Ok(ranges.into_iter().collect())
}

/// The programs of a capture, and its memory without a file, as far as these addresses and sizes
/// were executed; all of it for `None`.
fn with_memory(input: &Input, executed: Option<&[(u64, u64)]>) -> Programs {
    let mut programs = of(input);
    if input.capture().kind == Kind::Perf {
        return programs;
    }
    let dumps = input.capture().memory.iter().filter(|dump| dump.form == Form::Raw);
    for dump in dumps {
        let Some(bytes) = &dump.bytes else { continue };
        let part = |&(start, size): &(u64, u64)| {
            Some((start, bytes.part(start.checked_sub(dump.address)?, size)))
        };
        let all = [(dump.address, u64::MAX)];
        let parts = executed.unwrap_or(&all).iter().filter_map(part);
        programs.add_memory(&name(&input.path), dump, ProgramId::of_memory(parts));
    }
    programs
}

/// The programs of a branch list.
pub fn of_list(path: &Path, list: &FoundList) -> Programs {
    let mut programs = Programs::default();
    for program in list.programs.iter().chain(&list.sampled_programs) {
        programs.add(Programs::of_module(&name(path), &program.file));
    }
    programs
}

/// The programs of the files of a profile.
pub fn of_modules(path: &Path, profile: &Profile) -> Programs {
    let mut programs = Programs::default();
    for module in profile.modules.values() {
        programs.add(Programs::of_module(&name(path), &module.file));
    }
    programs
}

/// The name of a capture in messages.
fn name(path: &Path) -> String {
    path.display().to_string()
}

/// Adds the programs of another capture to those of the captures before. Fails where they are
/// different programs, or where the user added another one; if it is `forced`, a note states that.
pub fn add(known: &mut Programs, other: Programs, forced: bool) -> Result<(), Fail> {
    let different = known.difference(&other).or_else(|| known.contradiction());
    if let Some(different) = different.or_else(|| other.contradiction()) {
        if !forced {
            return Err(Fail::programs(&different));
        }
        message::line(&format!("note: {different}"));
    }
    known.add(other);
    Ok(())
}
