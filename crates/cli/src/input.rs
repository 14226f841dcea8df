//! From the command line to a capture and what of it to decode.

use tracewright::Capture;
use tracewright::capture::{Buffer, Format, Found, probe};
use tracewright::decode::{Memory, Options, Plan, Session, Tally};
use tracewright::frames::{Framing, Numbering};
use tracewright::views::Source;
use tracewright::views::explain::Decoded;

use crate::args::{FramingArg, HowArgs, InputArgs};
use crate::fail::Fail;
use crate::raw;

/// A capture and the buffers of it that were asked for.
pub struct Input {
    pub capture: Capture,
    pub buffers: Vec<usize>,
    pub memory: Memory,
    pub options: Options,
    /// What was guessed, a line each.
    pub notes: Vec<String>,
}

impl Input {
    /// Opens what the user named, to be decoded.
    pub fn open(args: &InputArgs, how: Option<&HowArgs>) -> Result<Input, Fail> {
        let input = Input::look(args, how)?;
        if input.buffers.is_empty() {
            return Err(Fail::usage(
                &args.input,
                "there is no trace in this capture: no buffer could be read; `tracewright info` says why",
            ));
        }
        Ok(input)
    }

    /// Opens what the user named, whether or not there is something to decode.
    pub fn look(args: &InputArgs, how: Option<&HowArgs>) -> Result<Input, Fail> {
        let mut notes = Vec::new();
        let capture = match probe(&args.input)? {
            Found::Snapshot(_) | Found::Folder(_) if !args.protocols.is_empty() => {
                return Err(Fail::usage(
                    &args.input,
                    "a capture says its protocols itself; leave out --protocol",
                ));
            }
            _ => raw::read(args, &mut notes)?,
        };
        Input::of(capture, args, how, notes)
    }

    fn of(
        mut capture: Capture,
        args: &InputArgs,
        how: Option<&HowArgs>,
        notes: Vec<String>,
    ) -> Result<Input, Fail> {
        for image in &args.images {
            capture.add_image(image)?;
        }
        if args.framing == FramingArg::Encapsulated {
            capture.buffers.iter_mut().for_each(|buffer| buffer.format = Format::Encapsulated);
        }
        let buffers = buffers(&capture, args)?;
        let options = Options {
            ids: args.ids.clone(),
            framing: args.framing.chosen(),
            numbering: Numbering::Capture,
            check_opcodes: how.is_some_and(|how| how.check_opcodes),
            split_source_ranges: how.is_some_and(|how| how.split_source_ranges),
            assume_synced: args.assume_synced,
        };
        let memory = Memory::new(&capture);
        Ok(Input { capture, buffers, memory, options, notes })
    }

    /// All of `capture`.
    pub fn all(capture: Capture) -> Input {
        let buffers = (0..capture.buffers.len()).collect();
        let memory = Memory::new(&capture);
        Input { capture, buffers, memory, options: Options::default(), notes: Vec::new() }
    }

    /// One of the buffers, ready to be decoded.
    pub fn job(&self, buffer: usize) -> Job<'_> {
        let plan = Plan::new(&self.capture, buffer, &self.options).unwrap_or_else(|| Plan {
            buffer,
            framing: Framing::Raw,
            messages: None,
            sources: Vec::new(),
            skipped: Vec::new(),
        });
        let sources = Source::all(&self.capture, &plan, &self.memory);
        Job { input: self, buffer: &self.capture.buffers[buffer], plan, sources }
    }
}

impl Input {
    /// Whether there is a trace at all. What could not be read has been said.
    pub fn readable(&self) -> Result<(), Fail> {
        let no_file = |&buffer: &usize| self.capture.buffers[buffer].files.is_empty();
        if !self.buffers.is_empty() && self.buffers.iter().all(no_file) {
            return Err(Fail::usage(
                &self.capture.path,
                "nothing can be decoded; the trace itself could not be read",
            ));
        }
        Ok(())
    }

    /// Whether anything at all can be decoded. What each source lacks has been said.
    pub fn decodable(&self) -> Result<(), Fail> {
        let mut plans = self.buffers.iter().map(|&buffer| self.job(buffer).plan);
        if plans.all(|plan| plan.sources.is_empty()) {
            return Err(Fail::usage(
                &self.capture.path,
                "nothing can be decoded; the notes say what is missing",
            ));
        }
        Ok(())
    }
}

/// A buffer and its sources.
pub struct Job<'a> {
    input: &'a Input,
    pub buffer: &'a Buffer,
    pub plan: Plan,
    pub sources: Vec<Source>,
}

impl Job<'_> {
    /// A session that knows nothing yet.
    pub fn session(&self) -> Result<Session, Fail> {
        let Input { capture, memory, options, .. } = self.input;
        Ok(Session::new(capture, &self.plan, memory, options)?)
    }

    /// What came of it.
    pub fn decoded<'b>(&'b self, tally: &'b Tally) -> Decoded<'b> {
        let Input { capture, memory, options, .. } = self.input;
        Decoded { capture, plan: &self.plan, sources: &self.sources, memory, options, tally }
    }
}

fn buffers(capture: &Capture, args: &InputArgs) -> Result<Vec<usize>, Fail> {
    if let Some(name) = &args.source {
        return match capture.buffer(name) {
            Some(buffer) => Ok(vec![buffer]),
            None => {
                let names: Vec<_> = capture.buffers.iter().map(|b| b.name.as_str()).collect();
                let names = names.join(", ");
                Err(Fail::usage(&args.input, &format!("has no buffer `{name}`; it has {names}")))
            }
        };
    }
    let all = 0..capture.buffers.len();
    Ok(if args.all_buffers { all.collect() } else { all.take(1).collect() })
}
