//! `--format perf-data`: samples with the branches before each.

use std::path::PathBuf;

use tracewright::capture::perf::{self, Attr, Layout};
use tracewright::views::perf_script::{PerfScript, Records, SAMPLE_TYPE, Samples};

use crate::args::ProfileArgs;
use crate::fail::Fail;
use crate::index;
use crate::input::Input;
use crate::message;
use crate::output::Output;
use crate::report;
use crate::{recordings, samples};

/// The number of records in `records`, each of which has its size in bytes 6 and 7.
fn count(records: &[u8]) -> usize {
    let (mut rest, mut count) = (records, 0);
    while let Some(&[low, high]) = rest.get(6..8) {
        let size = usize::from(u16::from_le_bytes([low, high])).max(8);
        rest = rest.get(size..).unwrap_or_default();
        count += 1;
    }
    count
}

/// Writes the samples of the only one of `paths` to `output`.
pub fn run(args: &ProfileArgs, paths: &[PathBuf], mut output: Output) -> Result<bool, Fail> {
    let refused = |what: &str| Err(Fail::option("--format", "perf-data", what));
    if paths.len() > 1 {
        return refused("a file has the samples of one capture; write one for each");
    }
    if args.module.is_some() || args.kernel || args.user || !args.exclude_process.is_empty() {
        return refused("a part of the trace is selected by the program that reads the samples");
    }
    if args.how.committed || !args.window.window().is_all() || !args.running.task.is_empty() {
        return refused("it has the samples of the whole trace");
    }
    let samples = match &args.itrace {
        Some(itrace) => samples::parse(itrace)?,
        None => Samples {
            last: samples::LAST,
            each_branch: true,
            clock: Some(Default::default()),
            ..Samples::default()
        },
    };
    if samples.branches || samples.last == 0 {
        let what = "the samples are of instructions and have last branches, such as i1000il64";
        return Err(Fail::option("--itrace", args.itrace.as_deref().unwrap_or_default(), what));
    }
    let [path] = paths else { return refused("a capture is missing") };
    let input = Input::open_other(path, &args.input, Some(&args.how))?;
    if recordings::only(&input) {
        super::itm::format(args)?;
    }
    let linux = samples::linux(&input)?;
    super::refuse_outputs(args, &index::inputs(&input, &args.window.index))?;
    if !args.quiet {
        report::notes(&input);
    }
    input.readable(args.strict)?;
    let samples = samples::timed(samples, linux);
    let script = PerfScript::new(samples, Records::new(linux.timed));
    let mut records = Vec::new();
    let problems = samples::each(&input, &args.threads, args.quiet, script, &mut |part| {
        records.extend_from_slice(part);
        Ok(true)
    })?;
    input.decodable()?;
    let sample_type = SAMPLE_TYPE | if linux.timed { Attr::TIME } else { 0 };
    let data = perf::records(path)?;
    let data = data.with_samples(&records, sample_type, samples.instructions.unwrap_or(1));
    output.put(&data.write(Layout::default()));
    output.failed()?;
    output.close()?;
    match count(&records) {
        0 => message::line(&samples::none(&samples)),
        count if args.itrace.is_none() && !args.quiet => message::line(&format!(
            "note: each branch is in one of {count} samples; what was executed before the first \
             branch of a sample, or behind the last one, is in none"
        )),
        _ => {}
    }
    Ok(!records.is_empty() && input.is_unchanged() && !problems.fail(args.strict))
}
