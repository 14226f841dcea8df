//! The log in trace units with other settings, of which only the size of the trace is wanted.

use tracewright::encode::{LogEncoder, Measured, Settings};
use tracewright::logs::{Assembler, Entry};
use tracewright::protocols::registry::AnyProtocol;

use super::{add, chosen_framing, extensions, framing, record_error, recording, settings};
use crate::args::{EncodeArgs, EncodeTo};
use crate::fail::Fail;
use crate::logs::Log;

/// Trace units with some settings.
pub struct Trial {
    assembler: Assembler,
    encoder: LogEncoder,
    threads: bool,
}

impl Trial {
    /// Trace units with `settings`, and the timestamps of `args`.
    pub fn new(args: &EncodeArgs, log: &Log<'_>, settings: Settings) -> Result<Trial, Fail> {
        Trial::with_timestamps(args, log, settings, args.timestamps)
    }

    /// Trace units with `settings`, and a timestamp every `timestamps` instructions.
    fn with_timestamps(
        args: &EncodeArgs,
        log: &Log<'_>,
        settings: Settings,
        timestamps: Option<u64>,
    ) -> Result<Trial, Fail> {
        let assembler = log.assembler(&args.how, extensions(&settings, log).0)?;
        let chosen = chosen_framing(settings.protocol, args.framing)?;
        let recording = recording(args, log, settings, chosen, framing(chosen));
        let encoder = LogEncoder::measuring(recording, timestamps, args.cpus);
        let encoder = encoder.map_err(|error| record_error(args, &error))?;
        Ok(Trial { assembler, encoder, threads: args.to != EncodeTo::Folder })
    }

    /// Encodes an entry of the log.
    pub fn entry(&mut self, entry: &Entry) {
        let Trial { assembler, encoder, threads } = self;
        assembler.entry(entry, &mut |cpu, step: &_| add(encoder, cpu, step, *threads));
    }

    /// Bounds the memory in use; called between parts of the log.
    pub fn spool(&mut self) -> Result<(), Fail> {
        Ok(self.encoder.spool()?)
    }

    /// Ends the log. Returns the size of the trace.
    pub fn finish(self, args: &EncodeArgs) -> Result<Measured, Fail> {
        let Trial { mut assembler, mut encoder, .. } = self;
        assembler.finish(&mut |cpu, step: &_| encoder.step(cpu, step));
        encoder.measure(&assembler).map_err(|error| record_error(args, &error))
    }
}

/// Number of entries of a log, such as instructions, on which the effect of values is tested.
const TESTED: u64 = 1 << 16;

/// The beginning of the log without each value of the command line, which shows whether the value
/// has an effect.
pub struct Without<'a> {
    args: &'a EncodeArgs,
    /// All values, where another trial is compared with it.
    all: Option<Trial>,
    /// A value as it was given, and the others.
    trials: Vec<(String, Trial)>,
    /// Number of entries so far. More than [`TESTED`] are not encoded.
    entries: u64,
}

impl<'a> Without<'a> {
    /// The trials for `args`, which are `given`.
    pub fn new(
        args: &'a EncodeArgs,
        protocol: AnyProtocol,
        log: &Log<'_>,
        given: &Settings,
    ) -> Result<Without<'a>, Fail> {
        let mut trials = Vec::new();
        // A register of a real unit, in upper case, may describe it only.
        let is_choice =
            |text: &str| text.trim_start().starts_with(|c: char| c.is_ascii_lowercase());
        let choices = args.registers.iter().enumerate().filter(|(_, text)| is_choice(text));
        for (n, text) in choices {
            let mut others = args.registers.clone();
            others.remove(n);
            // A value without which there is no unit has an effect.
            let Ok(settings) = settings(args, protocol, log.isa, &others) else { continue };
            // The value is the default.
            if settings.is_same_unit(given) {
                continue;
            }
            if let Ok(trial) = Trial::new(args, log, settings) {
                trials.push((format!("--config {text}"), trial));
            }
        }
        if let Some(every) = args.timestamps.filter(|every| *every < TESTED)
            && let Ok(trial) = Trial::with_timestamps(args, log, given.clone(), None)
        {
            trials.push((format!("--timestamps {every}"), trial));
        }
        // A unit that is refused is an error of the encoder itself.
        let all = if trials.is_empty() { None } else { Trial::new(args, log, given.clone()).ok() };
        Ok(Without { args, all, trials, entries: 0 })
    }

    /// Whether each processor executes a thread of its own.
    pub fn threads(&self) -> bool {
        self.args.to != EncodeTo::Folder
    }

    /// Encodes an entry of the log.
    pub fn entry(&mut self, entry: &Entry) {
        self.entries += 1;
        if self.entries > TESTED {
            return;
        }
        let trials = self.trials.iter_mut().map(|(_, trial)| trial);
        trials.chain(&mut self.all).for_each(|trial| trial.entry(entry));
    }

    /// A note about the values without an effect, where there are such.
    pub fn note(self) -> Option<String> {
        let all = self.all?.finish(self.args).ok().filter(|all| all.bytes > 0)?;
        let mut same = Vec::new();
        for (text, trial) in self.trials {
            if trial.finish(self.args).is_ok_and(|trial| trial.is_same_trace(&all)) {
                same.push(text);
            }
        }
        if same.is_empty() {
            return None;
        }
        let part = if self.entries > TESTED {
            format!(" of the first {TESTED} entries of the log")
        } else {
            String::new()
        };
        let same = same.join(", ");
        Some(format!("tracewright: note: no effect on the bytes of the trace{part}: {same}"))
    }
}
