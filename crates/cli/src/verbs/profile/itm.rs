//! Profiles of ITMs: samples of the program counter.

use tracewright::analysis::itm::Samples;
use tracewright::capture::plain::line;
use tracewright::export::samples::SampleFormat;

use super::files::Files;
use crate::args::ProfileArgs;
use crate::fail::Fail;
use crate::input::Input;
use crate::message;
use crate::output::Output;
use crate::recordings;

/// The samples of the program counter of ITMs, which have no instructions.
#[derive(Default)]
pub struct Sampled {
    samples: Samples,
    /// The first capture, whose programs have the functions.
    first: Option<Box<Input>>,
}

impl Sampled {
    /// Whether there is a capture.
    pub const fn any(&self) -> bool {
        self.first.is_some()
    }

    /// Adds the samples of `input`, which has ITMs only.
    pub fn add(
        &mut self,
        args: &ProfileArgs,
        input: Box<Input>,
        files: &mut Files<'_>,
    ) -> Result<(), Fail> {
        if let Some(task) = args.running.task.first() {
            let why =
                "the trace is that of an ITM or STM: in which task a sample was taken is not known";
            return Err(Fail::option("--task", &line(task), why));
        }
        files.readable(&input)?;
        let (samples, lost) = recordings::samples(&input)?;
        let good = input.is_unchanged() && !(args.strict && lost > 0);
        files.add_samples(&input.path, samples.total(), recordings::losses(lost), good);
        self.samples.add(&samples);
        self.first.get_or_insert(input);
        Ok(())
    }

    /// Writes the profile. Returns whether it has samples.
    pub fn write(&self, args: &ProfileArgs, mut output: Output) -> Result<bool, Fail> {
        let any = self.samples.total() > 0;
        if let Some(first) = &self.first {
            if !any {
                message::line(
                    "note: the trace has no instructions and no samples of the program counter \
                     (DWT_CTRL.PCSAMPLENA); `tracewright itm` prints what it has",
                );
            }
            let profile = recordings::sample_profile(&self.samples, first.capture());
            output.put(&format(args)?.write(&profile));
            output.failed()?;
        }
        output.close()?;
        Ok(any)
    }
}

/// The format of samples. Fails where that of the command line has instructions only.
pub fn format(args: &ProfileArgs) -> Result<SampleFormat, Fail> {
    args.format.samples().ok_or_else(|| {
        let why = "the trace is that of an ITM, which has samples of the program counter and no \
                   instructions: use --format folded, flame-graph, callgrind, pprof or lines; \
                   `tracewright itm --profile --format json` has them, too";
        Fail::option("--format", "of an ITM", why)
    })
}
