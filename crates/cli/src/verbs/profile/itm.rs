//! Profiles of ITMs: samples of the program counter.

use std::path::PathBuf;

use crate::args::ProfileArgs;
use crate::fail::Fail;
use crate::input::Input;
use crate::output::Output;
use crate::{message, recordings, report};

/// Writes the samples of the program counter of ITMs, which have no instructions. `first` is the
/// first of `paths`.
pub fn run(
    args: &ProfileArgs,
    paths: &[PathBuf],
    first: &Input,
    mut output: Output,
) -> Result<bool, Fail> {
    let format = args.format.samples().ok_or_else(|| {
        let why = "the trace is that of an ITM, which has samples of the program counter and no \
                   instructions: use --format folded, flame-graph, callgrind, pprof or lines; \
                   `tracewright itm --profile --format json` has them, too";
        Fail::option("--format", "of an ITM", why)
    })?;
    report::notes(first);
    first.readable(args.strict)?;
    let (mut samples, mut lost) = recordings::samples(first)?;
    for further in paths.iter().skip(1) {
        let input = Input::open_other(further, &args.input, Some(&args.how))?;
        super::refuse_outputs(args, &input.inputs)?;
        if !recordings::only(&input) {
            let what = "it is not the trace of an ITM, whose samples are counted";
            return Err(Fail::input(further, what));
        }
        let (more, losses) = recordings::samples(&input)?;
        samples.add(&more);
        lost += losses;
    }
    if samples.total() == 0 {
        message::line(
            "note: the trace has no instructions and no samples of the program counter \
             (DWT_CTRL.PCSAMPLENA); `tracewright itm` prints what it has",
        );
    }
    let profile = recordings::sample_profile(&samples, &first.capture);
    output.put(&format.write(&profile));
    output.failed()?;
    output.close()?;
    Ok(first.is_unchanged() && samples.total() > 0 && !(args.strict && lost > 0))
}
