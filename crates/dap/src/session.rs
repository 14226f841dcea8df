//! A session of a client with a trace.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use tracewright::Bytes;
use tracewright::analysis::coverage::program_files;
use tracewright::capture::Form;
use tracewright::decode::Plan;
use tracewright::index::{FindError, Finder, Index, Subject};
use tracewright::symbols::{ConstantMemory, DataObjects};
use tracewright_replay::{Direction, Machine, Position};

use crate::breakpoint::Breakpoints;
use crate::control::Control;
use crate::filters::Event;
use crate::frames::Frames;
use crate::framing::Received;
use crate::functions::{Starts, States};
use crate::handshake::{Client, Handshake, Launch, understood};
use crate::message::{Outbox, Refused, Request, refused};
use crate::motion::{Ended, Step, Why};
use crate::pending::Work;
use crate::program::Program;
use crate::sources::{SourceFiles, Sources};

/// The message of a request that was cancelled, as the protocol has it.
const CANCELLED: &str = "cancelled";

/// What is replayed.
pub struct Replayed<'a> {
    /// The position in a buffer.
    pub machine: Machine<'a>,
    /// The trace.
    pub subject: Subject<'a>,
    /// The sources of the buffer.
    pub plan: &'a Plan,
    /// The index.
    pub index: &'a Index,
    /// The source files.
    pub files: &'a dyn SourceFiles,
}

/// A session of a client with a trace.
pub struct Session<'a> {
    pub(crate) machine: Machine<'a>,
    /// Searches while the client waits for nothing.
    pub(crate) counter: Option<Finder<'a>>,
    pub(crate) plan: &'a Plan,
    pub(crate) program: Program,
    pub(crate) sources: Sources<'a>,
    pub(crate) constants: ConstantMemory,
    pub(crate) objects: DataObjects,
    pub(crate) states: States,
    pub(crate) starts: Starts,
    pub(crate) is_big_endian: bool,
    /// Whether the trace states data accesses and their instructions, once that was asked.
    pub(crate) accesses: Option<bool>,
    pub(crate) breakpoints: Breakpoints,
    /// How often addresses are executed in the trace, as far as that was counted.
    pub(crate) counts: HashMap<u64, u64>,
    pub(crate) frames: Frames,
    /// The names of the threads that are tasks, by their numbers.
    pub(crate) tasks: Vec<Option<String>>,
    /// Where `goto` leads.
    pub(crate) targets: Vec<Position>,
    pub(crate) work: Work,
    pub(crate) client: Client,
    pub(crate) out: Outbox,
    /// The exception or the loss at which the last run has ended.
    pub(crate) event: Option<Event>,
    control: Arc<Control>,
    then: Then,
    is_closed: bool,
}

/// What follows the answer to a request.
#[derive(Default)]
enum Then {
    #[default]
    Nothing,
    /// The position was changed by a command.
    Jumped,
    Start,
    Go(Position),
    Run(Direction),
    Step(usize, Step, Direction),
    Stopped,
    Close,
}

impl<'a> Session<'a> {
    /// A session with what a client has launched. The answer to that is among the messages.
    /// Without the place at which the trace is to stand, `handshake` gets a failure, and there is
    /// no session.
    ///
    /// # Errors
    /// Where the buffer or the index cannot be read.
    pub fn new(
        replayed: Replayed<'a>,
        launch: &Launch,
        handshake: &mut Handshake,
        control: Arc<Control>,
    ) -> Result<Option<Session<'a>>, FindError> {
        let Replayed { mut machine, subject, plan, index, files } = replayed;
        let words: Vec<&str> = launch.stop_at.split_ascii_whitespace().collect();
        if let Err(why) = machine.go_to_place(&words)? {
            handshake.fail(launch, &format!("stopAt: {why}"));
            return Ok(None);
        }
        control.reset();
        machine.stop_on(control.stop());
        let mut counter = Finder::new(subject, plan, Some(index));
        if let Some(counter) = counter.as_mut() {
            counter.stop = Some(control.attention());
        }
        let capture = subject.capture;
        let program = Program::of(capture);
        let own = program_files(capture);
        let folder = own.iter().find_map(|file| file.folder.clone());
        let map = launch.source_map.clone();
        let sources = Sources::new(files, map, folder.as_deref().map(Path::new), &program);
        let elf = capture.memory.iter().filter(|dump| dump.form == Form::Elf);
        let elf: Vec<(&Bytes, u64)> =
            elf.filter_map(|dump| Some((dump.bytes.as_ref()?, dump.address))).collect();
        let starts = Starts::of(machine.code());
        let tasks = machine.view().task_names(subject, plan, machine.code(), &[]);
        let mut out = std::mem::take(&mut handshake.out);
        out.respond(&launch.request, None);
        out.event("initialized", None);
        Ok(Some(Session {
            machine,
            counter,
            plan,
            program,
            sources,
            constants: ConstantMemory::of_files(elf.iter().copied()),
            objects: DataObjects::of_files(elf.iter().copied()),
            states: States::of(capture),
            starts,
            is_big_endian: elf.iter().any(|(file, _)| file.head(6).get(5) == Some(&2)),
            accesses: None,
            breakpoints: Breakpoints::default(),
            counts: HashMap::new(),
            frames: Frames::default(),
            tasks,
            targets: Vec::new(),
            work: Work::default(),
            client: handshake.client,
            out,
            event: None,
            control,
            then: Then::Nothing,
            is_closed: false,
        }))
    }

    /// Whether the client has ended the session.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Takes the bytes of the messages that wait to be sent.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out.bytes)
    }

    /// Whether the trace states data accesses and their instructions.
    pub(crate) fn has_accesses(&mut self) -> Result<bool, FindError> {
        if let Some(known) = self.accesses {
            return Ok(known);
        }
        let found = self.machine.states_accesses()?;
        self.accesses = Some(found);
        Ok(found)
    }

    /// Takes what a framer has found, and answers. The caller sends the [messages](Self::take),
    /// as a client waits for the answer, and calls [`proceed`](Self::proceed).
    pub fn receive(&mut self, received: &Received) {
        if self.is_closed {
            return;
        }
        let Some(request) = understood(received, &mut self.out) else { return };
        let is_cancelled = self.control.begin(&request);
        let answer = if is_cancelled { refused(CANCELLED) } else { self.answer(&request) };
        let is_cancelled = self.control.end(&request);
        match answer {
            Ok((body, then)) => {
                self.out.respond(&request, body);
                self.then = then;
            }
            Err(why) => {
                let why = if is_cancelled { CANCELLED.to_owned() } else { why.to_string() };
                self.out.fail(&request, &why);
            }
        }
    }

    /// Does what follows the last answer: a run, or a step.
    pub fn proceed(&mut self) {
        let then = std::mem::take(&mut self.then);
        match self.follow(then) {
            Err(FindError::Read(error)) if error.kind() == io::ErrorKind::Interrupted => {
                // The request that has ended the run is answered next, and states it.
                self.frames.clear();
            }
            Err(error) => {
                self.out.console(&error.to_string());
                let ended = Ended { why: Why::Step, lost: None, switched: false };
                let _ = self.stopped(&ended, "pause", Some(error.to_string()));
            }
            Ok(()) => {}
        }
    }

    /// Does what follows an answer.
    fn follow(&mut self, then: Then) -> Result<(), FindError> {
        let none = |why: Why| Ended { why, lost: None, switched: false };
        match then {
            Then::Nothing => Ok(()),
            Then::Jumped => self.jumped(),
            Then::Go(position) => self.jump(position),
            Then::Run(direction) => self.perform_run(direction),
            Then::Step(source, step, direction) => self.perform_step((source, step, direction)),
            Then::Stopped => self.stopped(&none(Why::Step), "pause", None),
            Then::Start => self.stopped(&none(Why::Step), "entry", None),
            Then::Close => {
                self.is_closed = true;
                self.out.event("terminated", None);
                Ok(())
            }
        }
    }

    /// The body of the answer to a request, and what follows.
    fn answer(&mut self, request: &Request) -> Result<(Option<Value>, Then), Refused> {
        let arguments = &request.arguments;
        let plain = |body: Value| Ok((Some(body), Then::Nothing));
        match request.command.as_str() {
            "configurationDone" => Ok((None, Then::Start)),
            "threads" => plain(self.threads()?),
            "stackTrace" => plain(self.stack_trace(arguments)?),
            "scopes" => plain(self.scopes(arguments)?),
            "variables" => plain(self.variables(arguments)?),
            "setBreakpoints" => plain(self.set_breakpoints(arguments)?),
            "setFunctionBreakpoints" => plain(self.set_function_breakpoints(arguments)?),
            "setInstructionBreakpoints" => plain(self.set_instruction_breakpoints(arguments)?),
            "setDataBreakpoints" => plain(self.set_data_breakpoints(arguments)?),
            "setExceptionBreakpoints" => plain(self.set_exception_breakpoints(arguments)?),
            "dataBreakpointInfo" => plain(self.data_breakpoint_info(arguments)?),
            "exceptionInfo" => plain(self.exception_info()?),
            "breakpointLocations" => plain(self.breakpoint_locations(arguments)?),
            "loadedSources" => {
                let all = 0..self.program.files.len();
                let all: Vec<Value> =
                    all.map(|file| self.sources.describe(&self.program, file)).collect();
                plain(json!({ "sources": all }))
            }
            "source" => {
                let source = arguments.object("source")?;
                let content = self.sources.text(&self.program, &source)?;
                plain(json!({ "content": content }))
            }
            "continue" => {
                let body = json!({ "allThreadsContinued": true });
                Ok((Some(body), Then::Run(Direction::Forward)))
            }
            "reverseContinue" => Ok((None, Then::Run(Direction::Backward))),
            "pause" => Ok((None, Then::Stopped)),
            "gotoTargets" => plain(self.goto_targets(arguments)?),
            "stepInTargets" => plain(self.step_in_targets(arguments)?),
            "goto" => Ok((None, Then::Go(self.goto(arguments)?))),
            "restartFrame" => Ok((None, Then::Go(self.restarted(arguments)?))),
            "disassemble" => plain(self.disassemble(arguments)?),
            "readMemory" => plain(self.read_memory(arguments)?),
            "evaluate" => {
                let (body, is_elsewhere) = self.evaluate(arguments)?;
                Ok((Some(body), if is_elsewhere { Then::Jumped } else { Then::Nothing }))
            }
            "cancel" => Ok((None, Then::Nothing)),
            "disconnect" | "terminate" => Ok((None, Then::Close)),
            "initialize" | "launch" | "attach" => refused("a trace is open already"),
            command => match self.stepped(command, arguments)? {
                Some((source, step, direction)) => Ok((None, Then::Step(source, step, direction))),
                None => refused(format!("`{command}` is not supported")),
            },
        }
    }

    /// The lines of a file at which breakpoints can be set.
    fn breakpoint_locations(
        &mut self,
        arguments: &crate::message::Arguments,
    ) -> Result<Value, Refused> {
        let source = arguments.object("source")?;
        let files = self.sources.meant(&self.program, &source)?;
        let first = self.client.line_in(arguments.needed("line")?);
        let last = arguments.count("endLine")?.map_or(first, |line| self.client.line_in(line));
        let lines = files.iter().flat_map(|file| self.program.lines_of(*file));
        let mut lines: Vec<u32> = lines.filter(|line| (first..=last).contains(line)).collect();
        lines.sort_unstable();
        lines.dedup();
        let all: Vec<Value> =
            lines.iter().map(|line| json!({ "line": self.client.line_out(*line) })).collect();
        Ok(json!({ "breakpoints": all }))
    }
}
