//! What `coverage` measures: captures, and execution traces of GNATcoverage with their program.

use std::path::{Path, PathBuf};

use tracewright::Capture;
use tracewright::ImageSource;
use tracewright::analysis::coverage::{ProgramCoverage, ProgramFile, program_files};
use tracewright::analysis::decisions::{Copies, ExecutedBranches};
use tracewright::capture::gnatcov::{ExecutionTrace, crc32};
use tracewright::capture::{plain, read_if};
use tracewright::index::Window;

use super::capture::{CoverageOptions, Found, one};
use crate::args::{CoverageArgs, image_sources};
use crate::contradictions::Contradictions;
use crate::fail::Fail;
use crate::input::Input;
use crate::inputs::Inputs;
use crate::message;
use crate::output::Output;

/// The largest execution trace that is read, in bytes.
const LARGEST: u64 = 1 << 30;

/// An input of `coverage`.
pub(super) struct Opened {
    pub(super) input: Input,
    /// The execution trace in place of a capture, whose programs the input has.
    executed: Option<ExecutionTrace>,
}

impl Opened {
    /// Opens the input of the command line.
    pub(super) fn first(args: &CoverageArgs) -> Result<Opened, Fail> {
        match Opened::executed(args, &args.input.input)? {
            Some(opened) => Ok(opened),
            None => {
                Ok(Opened { input: Input::open(&args.input, Some(&args.how))?, executed: None })
            }
        }
    }

    /// Opens another one.
    pub(super) fn other(args: &CoverageArgs, path: &Path) -> Result<Opened, Fail> {
        match Opened::executed(args, path)? {
            Some(opened) => Ok(opened),
            None => {
                let input = Input::open_other(path, &args.input, Some(&args.how))?;
                Ok(Opened { input, executed: None })
            }
        }
    }

    /// The execution trace at `path`, where the file is one.
    fn executed(args: &CoverageArgs, path: &Path) -> Result<Option<Opened>, Fail> {
        let Some(bytes) = bytes(path)? else { return Ok(None) };
        refuse(args)?;
        let trace = ExecutionTrace::read(&bytes);
        let trace = trace.map_err(|why| {
            let what = format!("the execution trace of GNATcoverage cannot be read: {why}");
            Fail::input(path, &what)
        })?;
        let mut images = image_sources(&args.input.images)?;
        if images.is_empty() {
            let beside = beside(path, &trace).ok_or_else(|| Fail::input(path, &missing(&trace)))?;
            images.push(ImageSource::parse(&beside.to_string_lossy())?);
        }
        let mut capture = Capture { path: path.to_owned(), ..Capture::default() };
        for image in &images {
            capture.add_image(image)?;
        }
        let inputs = Inputs::of_capture(&capture).file(Some(path)).images(&args.input.images);
        inputs.refuse(None)?;
        let mut input = Input::of(capture);
        input.inputs = inputs;
        Ok(Some(Opened { input, executed: Some(trace) }))
    }

    /// What it covers, and whether the command succeeds.
    pub(super) fn covered(
        &self,
        args: &CoverageArgs,
        how: &CoverageOptions<'_>,
        output: &mut Output,
    ) -> Result<(Found, bool), Fail> {
        let Some(trace) = &self.executed else { return one(how, &self.input, output) };
        let path = &self.input.path;
        let mut programs: Vec<(ProgramFile, ProgramCoverage)> = program_files(self.input.capture())
            .into_iter()
            .map(|file| (file, Default::default()))
            .collect();
        let own = programs.iter().position(|(file, _)| is_program(file, trace));
        let forced = (args.force && !programs.is_empty()).then_some(0);
        let Some(own) = own.or(forced) else {
            let what = match programs.is_empty() {
                true => missing(trace),
                false => different(trace),
            };
            return Err(Fail::input(path, &what));
        };
        let Some((file, covered)) = programs.get_mut(own) else {
            return Err(Fail::internal("a program that is not there"));
        };
        let found = ProgramCoverage::of_blocks(file, &trace.blocks);
        let name = plain::line(&path.to_string_lossy()).into_owned();
        let note = |text: String| message::line(&format!("note: {name}: {text}"));
        note(String::from(
            "an execution trace of GNATcoverage: counts are 1 where something was executed, and 0",
        ));
        if let Some(first) = found.first_outside {
            note(format!(
                "{} blocks are not code of {}, the first at {first:#x}: they are left out",
                found.outside,
                plain::line(&file.path)
            ));
        }
        if trace.in_objects > 0 {
            note(format!("{} blocks of shared objects are left out", trace.in_objects));
        }
        if found.faults > 0 {
            note(format!(
                "{} blocks were ended by an exception: which of their instructions were executed is not \
                 known",
                found.faults
            ));
        }
        *covered = found.covered;
        let sound = found.outside == 0;
        let (losses, contradictions) = (found.faults, Contradictions::default());
        let decisions = match how.decisions.is_empty() {
            true => Default::default(),
            false => {
                note(String::from(
                    "it has no evaluations: whether conditions of decisions with several are \
                     independent is unknown",
                ));
                let files: Vec<_> = programs.iter().map(|(file, _)| file.clone()).collect();
                let all: Vec<_> = programs
                    .iter()
                    .map(|(_, own)| ExecutedBranches {
                        executions: &own.executions,
                        outcomes: &own.branches,
                    })
                    .collect();
                let own = Copies::new(how.decisions, &files).of_outcomes(how.decisions, &all);
                [own.clone(), own]
            }
        };
        let found = Found { programs, losses, sound, contradictions, decisions };
        Ok((found, sound || !args.outcome.strict))
    }
}

/// The bytes of the file at `path`, where it is an execution trace.
fn bytes(path: &Path) -> Result<Option<Vec<u8>>, Fail> {
    // A pipe can be read once.
    if !path.is_file() {
        return Ok(None);
    }
    let bytes = read_if(path, LARGEST, &ExecutionTrace::is_at);
    bytes.map_err(|why| Fail::input(path, &why.to_string()))
}

/// Fails where what is wanted is not in the format.
fn refuse(args: &CoverageArgs) -> Result<(), Fail> {
    let part = args.window.window() != Window::default();
    let wanted = [
        ("--task", args.running.wanted(), "it has no tasks"),
        ("--offset, --time, --instruction and --at", part, "it has no order"),
        ("--parts", !args.parts.files.is_empty(), "it has no units"),
        ("--decision-map", args.decision_map.is_some(), "it is not a capture"),
    ];
    match wanted.into_iter().find(|(_, wanted, _)| *wanted) {
        Some((option, _, why)) => {
            Err(Fail::text(&format!("{option}: not of an execution trace of GNATcoverage: {why}")))
        }
        None => Ok(()),
    }
}

/// The file of the program in the folder of the trace. A path to anywhere else is not followed.
fn beside(path: &Path, trace: &ExecutionTrace) -> Option<PathBuf> {
    let name = Path::new(trace.program.as_deref()?).file_name()?;
    let file = path.parent().unwrap_or(Path::new("")).join(name);
    file.is_file().then_some(file)
}

/// Whether the trace is one of this program, as far as the trace states it.
fn is_program(file: &ProgramFile, trace: &ExecutionTrace) -> bool {
    file.machine == trace.machine
        && trace.size.is_none_or(|size| size == file.bytes.len() as u64)
        && trace.crc.is_none_or(|crc| crc == crc32(&file.bytes))
}

/// The name of the program.
fn name(trace: &ExecutionTrace) -> String {
    let name = trace.program.as_deref().map(plain::line);
    name.map_or_else(|| "not named".into(), |name| format!("`{name}`"))
}

fn missing(trace: &ExecutionTrace) -> String {
    format!(
        "the execution trace of GNATcoverage has no program, which is {}: add it with --image",
        name(trace)
    )
}

fn different(trace: &ExecutionTrace) -> String {
    let size = trace.size.map_or(String::new(), |size| format!(", {size} bytes"));
    let crc = trace.crc.map_or(String::new(), |crc| format!(", CRC-32 {crc}"));
    format!(
        "the program is another one than that of the execution trace of GNATcoverage, which is {} \
         (e_machine {}{size}{crc}); name that one with --image, or use --force",
        name(trace),
        trace.machine
    )
}
