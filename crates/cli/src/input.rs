//! The capture and the buffers that the command line selects.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use tracewright::analysis::tasks::{TaskThread, Tasks};
use tracewright::analysis::{Code, FunctionId};
use tracewright::base::MAX_EXPANSION;
use tracewright::capture::levels::{Names, SwoOptions, read_swo};
use tracewright::capture::{
    Access, Buffer, Dump, Format, Found, Kind, OpenError, Pipe, Problem, may_be_converted, perf,
    probe, probe_pipe,
};
use tracewright::decode::detect::{Candidate, HEAD, alignment};
use tracewright::decode::raw::{self, RawTrace};
use tracewright::decode::{Caches, Options, Plan, Session, Tally};
use tracewright::frames::{Framing, Numbering};
use tracewright::image::OpcodeCheck;
use tracewright::views::explain::Decoded;
use tracewright::views::range_limit::RangeLimit;
use tracewright::views::{LineTable, Source, json};
use tracewright::{Capture, Files, Trace, read_raw};

use crate::args::{
    AlignArg, FramingArg, HowArgs, InputArgs, SearchArgs, SourceArgs, image_sources,
};
use crate::fail::Fail;
use crate::inputs::Inputs;
use crate::{arguments, hardware, message};

/// A capture and its selected buffers.
pub struct Input {
    /// The path that the user gave.
    pub path: PathBuf,
    /// The capture, and how each of its buffers is decoded.
    pub trace: Trace,
    /// The selected buffers.
    pub buffers: Vec<usize>,
    /// What was inferred, one text per line.
    pub notes: Vec<String>,
    /// What was detected of raw trace data without a description.
    pub detected: Option<Candidate>,
    /// The description contradicts the trace.
    pub contradicted: AtomicBool,
    /// The files that were read.
    pub inputs: Inputs,
    /// The functions of its programs, once they are needed.
    code: OnceLock<Code>,
}

/// Program memory of the command line.
struct Images<'a> {
    files: &'a [String],
    /// Memory below that of the files.
    memory: Vec<Dump>,
}

impl Input {
    /// Opens the capture of the command line for decoding.
    pub fn open(args: &InputArgs, how: Option<&HowArgs>) -> Result<Input, Fail> {
        let input = Input::inspect(args, how)?;
        if input.buffers.is_empty() && input.capture().kind != Kind::Perf {
            return Err(Fail::input(
                args.path(),
                "there is no trace in this capture, no buffer could be read; `tracewright info` lists the \
                 reasons",
            ));
        }
        Ok(input)
    }

    /// Opens another capture with the options of the command line.
    pub fn open_other(path: &Path, args: &InputArgs, how: Option<&HowArgs>) -> Result<Input, Fail> {
        let pins = args.pins.is_some().then(|| path.to_owned());
        Input::open(&InputArgs { input: path.to_owned(), pins, ..args.clone() }, how)
    }

    /// Opens the capture of the command line, which may have no trace.
    pub fn inspect(args: &InputArgs, how: Option<&HowArgs>) -> Result<Input, Fail> {
        if args.pins.is_none() && (!args.signals.is_empty() || args.connector.is_some()) {
            let what = "--signal and --connector name signals of a recording; give it with --pins, \
                        not as the input";
            return Err(Fail::input(args.path(), what));
        }
        if let Some(pins) = args.pins.as_ref().filter(|_| args.sources.protocols.is_empty()) {
            let what = "the protocol of the trace unit is missing; add --protocol NAME";
            return Err(Fail::option("--pins", &pins.to_string_lossy(), what));
        }
        let levels = args.pins.as_ref().map(|_| Names {
            signals: args.signals.clone(),
            connector: args.connector.map(Into::into),
        });
        let images = Images { files: &args.images, memory: Vec::new() };
        let mut input = Input::read_as(args.path(), &args.sources, images, how, levels)?;
        input.buffers = buffers(input.capture(), args)?;
        Ok(input)
    }

    /// Opens all buffers of the capture at `path`.
    pub fn read(
        path: &Path,
        args: &SourceArgs,
        images: &[String],
        how: Option<&HowArgs>,
    ) -> Result<Input, Fail> {
        Input::read_as(path, args, Images { files: images, memory: Vec::new() }, how, None)
    }

    /// As [`read`](Input::read), with `memory` below that of the images where the capture is raw
    /// trace data.
    pub fn read_with(
        path: &Path,
        args: &SourceArgs,
        images: &[String],
        memory: Vec<Dump>,
    ) -> Result<Input, Fail> {
        Input::read_as(path, args, Images { files: images, memory }, None, None)
    }

    /// Opens all buffers of the capture at `path`; with `levels`, a recording of the levels of a
    /// trace port and the names of its signals.
    fn read_as(
        path: &Path,
        args: &SourceArgs,
        images: Images<'_>,
        how: Option<&HowArgs>,
        levels: Option<Names>,
    ) -> Result<Input, Fail> {
        let Images { files: images, memory } = images;
        let programs = image_sources(images)?;
        let mut notes = Vec::new();
        let (mut described, mut found, mut port) = (false, None, None);
        hardware::check(args, path)?;
        let pipe = levels.is_none().then(|| piped(path)).flatten();
        let whole = pipe.as_ref().filter(|_| args.protocols.is_empty());
        if let Some(pipe) = pipe.as_ref().filter(|pipe| may_be_converted(&pipe.first())) {
            pipe.all();
        }
        let mut capture = match whole.map_or_else(|| probe(path), |pipe| Ok(probe_pipe(pipe)))? {
            found @ (Found::Snapshot(_) | Found::Folder(_) | Found::Perf)
                if described_by(args).is_some() =>
            {
                return Err(not_raw(path, &found, described_by(args).unwrap_or_default()));
            }
            Found::Perf if args.protocols.is_empty() => match whole {
                Some(pipe) => perf::open_pipe(path, pipe, &args.search.search()?)?,
                None => perf::open(path, &args.search.search()?)?,
            },
            // What is recognised is never decoded as trace.
            Found::Program if levels.is_none() && args.buffer.is_none() => {
                return Err(OpenError::new(path, Problem::Program).into());
            }
            Found::Container(container) if levels.is_none() && !is_swo(path) => {
                return Err(OpenError::new(path, Problem::Container(container)).into());
            }
            found
                if args.protocols.is_empty()
                    && !matches!(found, Found::Raw | Found::Container(_) | Found::Program) =>
            {
                let access = Access::with_pipes(args.pipes);
                tracewright::read_capture_by(path, access, arguments::protocols())?
            }
            _ => {
                described = true;
                let raw = RawTrace {
                    units: args.protocols.clone(),
                    registers: args.registers.clone(),
                    parameters: args.params.clone(),
                    core: args.core.clone(),
                    framing: args.framing.of_raw(),
                    buffer_registers: args.buffer_registers()?,
                    ids: args.ids.clone(),
                    levels,
                    memory,
                    selection: args.selection(&programs)?,
                    skip: args.skip,
                    pipe,
                    files: Files::default(),
                    protocols: arguments::protocols().clone(),
                };
                let align = match args.align {
                    Some(AlignArg::At(at)) => Some(at),
                    Some(AlignArg::Auto) | None => None,
                };
                let read = read_raw(path, raw, &programs, align)?;
                (found, port) = (read.detected, read.port);
                notes.extend(read.notes);
                read.capture
            }
        };
        notes.extend(unused_search(&capture, path, &args.search));
        if !described {
            skip(&mut capture, path, args)?;
        }
        for buffer in capture.buffers.iter().filter(|buffer| args.skip > 0 && buffer.is_empty()) {
            let skipped = args.skip;
            notes.push(format!("{}: no bytes after the first {skipped} (--skip)", buffer.name));
        }
        for image in &programs {
            capture.add_image(image)?;
        }
        let format = match args.framing {
            FramingArg::Encapsulated => Some(Format::Encapsulated),
            FramingArg::Link(name) => Some(Format::Other(name.to_owned())),
            _ => None,
        };
        if let Some(format) = format {
            capture.buffers.iter_mut().for_each(|buffer| buffer.format = format.clone());
        }
        let options = options(args, how, port);
        let inputs = Inputs::of_capture(&capture)
            .file(Some(path))
            .file(args.params.as_deref())
            .images(images);
        // Whatever the verb prints, and how many captures it reads.
        inputs.refuse(None)?;
        let (path, trace) = (path.to_owned(), Trace::decoded_with(capture, options));
        Ok(Input { path, notes, detected: found, inputs, ..Input::all(trace) })
    }

    /// Selects the first buffer where `args` select none, as OpenCSD does. Prints how many others
    /// there are.
    pub fn first_buffer(&mut self, args: &InputArgs) {
        // Each buffer of a perf.data file is a part of one recording.
        let every = args.all_buffers || self.capture().kind == Kind::Perf;
        if every || args.source.is_some() || self.buffers.len() < 2 {
            return;
        }
        let others = self.buffers.len() - 1;
        self.buffers.truncate(1);
        message::line(&format!(
            "note: the format has the first buffer; --all-buffers adds {others} more, as OpenCSD's \
             -multi_session"
        ));
    }

    /// All buffers of `capture`, with the default options.
    pub fn of(capture: Capture) -> Input {
        Input::all(Trace::decoded_with(capture, Options::default()))
    }

    /// All buffers of `trace`.
    fn all(trace: Trace) -> Input {
        Input {
            path: trace.capture().path.clone(),
            buffers: (0..trace.capture().buffers.len()).collect(),
            trace,
            notes: Vec::new(),
            detected: None,
            contradicted: AtomicBool::new(false),
            inputs: Inputs::default(),
            code: OnceLock::new(),
        }
    }

    /// The capture.
    pub fn capture(&self) -> &Capture {
        self.trace.capture()
    }

    /// Decodes with other options.
    pub fn change(&mut self, change: impl FnOnce(&mut Options)) {
        let mut options = self.trace.options().clone();
        change(&mut options);
        self.trace.set_options(options);
    }

    /// Shows source lines with the names of functions where they are `wanted`.
    pub fn show_lines(&mut self, wanted: bool) {
        if !wanted {
            return;
        }
        let table = LineTable::of_capture(self.capture());
        if table.is_empty() {
            message::line("note: --lines: no program image has DWARF with source lines");
        }
        self.trace.show_lines(&Arc::new(table));
    }

    /// A buffer with its sources, for decoding. Each buffer of a capture has a plan.
    pub fn job(&self, number: usize) -> Job<'_> {
        let (buffer, plan) = (&self.capture().buffers[number], &self.trace.plans()[number]);
        Job { input: self, buffer, plan, sources: self.trace.sources_of(number) }
    }
}

impl Input {
    /// Fails where no file of trace data could be read. The notes list the files. With `strict`, it
    /// fails where the capture refers to a file outside of its folder.
    pub fn readable(&self, strict: bool) -> Result<(), Fail> {
        let outside = |problem: &Problem| {
            matches!(problem, Problem::Outside(_) | Problem::OutsideDescription(_))
        };
        let outside = self.capture().notes.iter().find(|note| outside(&note.problem));
        if let Some(note) = outside.filter(|_| strict) {
            return Err(Fail::refused(note));
        }
        let no_file = |&buffer: &usize| self.capture().buffers[buffer].files.is_empty();
        if !self.buffers.is_empty() && self.buffers.iter().all(no_file) {
            let empty = |&buffer: &usize| self.capture().buffers[buffer].sink.is_some();
            let why = match self.buffers.iter().all(empty) {
                true => {
                    "nothing can be decoded, as by the registers of the trace buffer nothing was \
                     captured; `tracewright info` has what the registers on its path state"
                }
                false => {
                    "nothing can be decoded, as no file of trace data could be read; the notes list \
                     the files"
                }
            };
            return Err(Fail::input(&self.capture().path, why));
        }
        Ok(())
    }

    /// Whether the description contradicts the trace.
    pub fn is_contradicted(&self) -> bool {
        self.contradicted.load(Ordering::Relaxed)
    }

    /// Whether the selected buffers have bytes. A pipe may have.
    pub fn has_trace(&self) -> bool {
        self.buffers.iter().any(|&buffer| self.capture().buffers[buffer].size() != Some(0))
    }

    /// Whether no file of the capture changed since it was opened. Prints the files that did.
    pub fn is_unchanged(&self) -> bool {
        let changed = self.capture().changed();
        changed.iter().for_each(|note| message::line(&format!("tracewright: {note}")));
        changed.is_empty()
    }

    /// Fails where no source can be decoded. The notes list what each source lacks.
    pub fn decodable(&self) -> Result<(), Fail> {
        let mut plans = self.buffers.iter().map(|&buffer| self.job(buffer).plan);
        if !self.buffers.is_empty() && plans.all(|plan| plan.sources.is_empty()) {
            return Err(Fail::input(
                &self.capture().path,
                "nothing can be decoded, as no source is complete; the notes list what is missing",
            ));
        }
        Ok(())
    }
}

/// A buffer and its sources.
pub struct Job<'a> {
    input: &'a Input,
    pub buffer: &'a Buffer,
    pub plan: &'a Plan,
    pub sources: &'a [Source],
}

impl<'a> Job<'a> {
    /// The most ranges that a listing has.
    pub fn range_limit(&self) -> RangeLimit {
        RangeLimit::new(self.sources.len(), self.trace().options().max_expansion)
    }

    /// A session in its initial state.
    pub fn session(&self) -> Result<Session, Fail> {
        Ok(self.trace().session(self.plan)?)
    }

    /// As [`session`](Job::session), with the caches of another session of the same input.
    pub fn session_with(&self, caches: Caches) -> Result<Session, Fail> {
        Ok(self.trace().session_with(self.plan, caches)?)
    }

    /// The trace of the buffer.
    pub fn trace(&self) -> &'a Trace {
        &self.input.trace
    }

    /// The capture of the buffer.
    pub fn capture(&self) -> &'a Capture {
        self.input.capture()
    }

    /// The line of the buffer in JSON.
    pub fn json(&self) -> String {
        json::buffer(self.plan, self.sources, &self.buffer.name, self.buffer.size())
    }

    /// The functions that the sources execute.
    pub fn code(&self) -> Code {
        let all = self.input.code.get_or_init(|| Code::of_capture(self.input.capture()));
        all.with_programs(self.sources.iter().map(|source| source.program.clone()))
    }

    /// The names of threads of call stacks, each with its source and its identifier, and the
    /// outermost function of each.
    pub fn thread_names(
        &self,
        tasks: &Tasks,
        threads: impl IntoIterator<Item = (usize, Option<u64>)>,
        outermost: (&Code, &[Option<FunctionId>]),
    ) -> Vec<String> {
        self.task_threads(tasks, threads, outermost).into_iter().map(|thread| thread.text).collect()
    }

    /// The same threads, with what identifies each.
    pub fn task_threads(
        &self,
        tasks: &Tasks,
        threads: impl IntoIterator<Item = (usize, Option<u64>)>,
        (code, outermost): (&Code, &[Option<FunctionId>]),
    ) -> Vec<TaskThread> {
        let sources: Vec<String> = self.sources.iter().map(|source| source.name.clone()).collect();
        tasks.threads(&sources, threads, |number| tasks.outermost_name(code, outermost, number))
    }

    /// The result of decoding, for its summary.
    pub fn decoded<'b>(&'b self, tally: &'b Tally) -> Decoded<'b> {
        let Job { input: Input { trace, .. }, plan, sources, .. } = *self;
        let (capture, memory, options) = (trace.capture(), trace.memory(), trace.options());
        Decoded { capture, plan, sources, memory, options, tally }
    }
}

/// The options of decoding. `port` is the framing of a trace port.
fn options(args: &SourceArgs, how: Option<&HowArgs>, port: Option<Framing>) -> Options {
    Options {
        ids: args.ids.clone(),
        framing: args.framing.chosen().or(port),
        numbering: Numbering::Capture,
        check_opcodes: match how.is_some_and(|how| how.check_opcodes) {
            true => OpcodeCheck::Undefined,
            false => OpcodeCheck::default(),
        },
        split_source_ranges: how.is_some_and(|how| how.split_source_ranges),
        assume_synced: args.assume_synced,
        max_expansion: how.map_or(MAX_EXPANSION, |how| how.limits.max_expansion),
    }
}

/// The error of an option for raw trace data with a capture that records its protocols.
fn not_raw(path: &Path, found: &Found, option: &str) -> Fail {
    let name = match found {
        Found::Perf => "a perf.data file",
        Found::Snapshot(_) => "a snapshot",
        _ => "a folder with a capture.toml",
    };
    let what = format!(
        "{name}: {option} is for raw trace data, and this capture records its protocols; remove \
         {option}"
    );
    Fail::input(path, &what)
}

/// The note on options for the files of a `perf.data` file with another capture.
fn unused_search(capture: &Capture, path: &Path, args: &SearchArgs) -> Option<String> {
    let SearchArgs { symfs, binaries, guest_kernel, guest_symfs, assume_module_layout } = args;
    let folders = [symfs, guest_kernel, guest_symfs].into_iter().any(Option::is_some);
    let search = folders || !binaries.is_empty() || *assume_module_layout;
    (capture.kind != Kind::Perf && search).then(|| {
        format!(
            "{}: --symfs, --binary, --guest-kernel, --guest-symfs and --assume-module-layout are for \
             perf.data, and are not used; --image adds the program of another capture",
            path.display()
        )
    })
}

/// Whether the file at `path` is a recording of SWO by a logic analyser, whose bytes may have the
/// trace of several sources.
fn is_swo(path: &Path) -> bool {
    matches!(read_swo(path, &SwoOptions::default()), Ok(Some(_)))
}

/// The pipe at `path`, or standard input; `None` for a file or a folder.
fn piped(path: &Path) -> Option<Pipe> {
    let is_pipe = |about: fs::Metadata| !about.is_file() && !about.is_dir();
    let is_piped = path == Path::new("-") || fs::metadata(path).is_ok_and(is_pipe);
    is_piped.then(|| Pipe::new(path))
}

/// The first option that describes raw trace data.
fn described_by(args: &SourceArgs) -> Option<&'static str> {
    [
        (!args.protocols.is_empty(), "--protocol"),
        (!args.registers.is_empty(), "--config"),
        (args.core.is_some(), "--core"),
        (args.buffer.is_some(), "--buffer"),
        (args.swap.is_some(), "--swap"),
        (args.messages_at.is_some(), "--messages-at"),
    ]
    .into_iter()
    .find_map(|(given, option)| given.then_some(option))
}

/// Drops the bytes before `--skip` and `--align` of a capture that records its protocols.
fn skip(capture: &mut Capture, path: &Path, args: &SourceArgs) -> Result<(), Fail> {
    raw::skip(capture, path, args.skip)?;
    match args.align {
        None => {}
        Some(AlignArg::At(at)) => raw::skip(capture, path, at)?,
        Some(AlignArg::Auto) => {
            for buffer in &mut capture.buffers {
                if buffer.format == Format::CoreSight
                    && let Some(at) = alignment(&buffer.head(HEAD), Framing::Coresight)
                {
                    buffer.skip(at as u64);
                }
            }
        }
    }
    Ok(())
}

fn buffers(capture: &Capture, args: &InputArgs) -> Result<Vec<usize>, Fail> {
    if let Some(name) = &args.source {
        return match capture.buffer(name) {
            Some(buffer) => Ok(vec![buffer]),
            None => {
                let names: Vec<_> = capture.buffers.iter().map(|b| b.name.as_str()).collect();
                let mut message = format!(
                    "unknown buffer `{name}`; --source expects one of {}",
                    names.join(", ")
                );
                if capture.sources.iter().any(|source| source.name == *name) {
                    message += "; this is the name of a trace source, which --id selects by the \
                                trace ID that `info` lists";
                }
                Err(Fail::input(args.path(), &message))
            }
        };
    }
    Ok((0..capture.buffers.len()).collect())
}
