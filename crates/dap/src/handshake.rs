//! What precedes a session: `initialize`, and `launch` or `attach`.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::filters::filters;
use crate::framing::Received;
use crate::message::{Arguments, NoRequest, Outbox, Refused, Request};

/// What the client supports and wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Client {
    pub(crate) lines_from_1: bool,
    pub(crate) columns_from_1: bool,
    pub(crate) shows_progress: bool,
}

impl Default for Client {
    fn default() -> Client {
        Client { lines_from_1: true, columns_from_1: true, shows_progress: false }
    }
}

impl Client {
    fn of(arguments: &Arguments) -> Result<Client, Refused> {
        Ok(Client {
            lines_from_1: arguments.flag("linesStartAt1", true)?,
            columns_from_1: arguments.flag("columnsStartAt1", true)?,
            shows_progress: arguments.flag("supportsProgressReporting", false)?,
        })
    }

    /// A line of the client from one that is counted from 1.
    pub(crate) fn line_out(self, line: u32) -> u32 {
        if self.lines_from_1 { line } else { line.saturating_sub(1) }
    }

    /// A column of the client from one that is counted from 1.
    pub(crate) fn column_out(self, column: u32) -> u32 {
        if self.columns_from_1 { column } else { column.saturating_sub(1) }
    }

    /// A line that is counted from 1 from one of the client.
    pub(crate) fn line_in(self, line: usize) -> u32 {
        let line = u32::try_from(line).unwrap_or(u32::MAX);
        if self.lines_from_1 { line } else { line.saturating_add(1) }
    }
}

/// A request for a trace.
#[derive(Clone, Debug)]
pub struct Launch {
    pub(crate) request: Request,
    /// The capture; `None` where the client names none.
    pub capture: Option<PathBuf>,
    /// Additional program files.
    pub programs: Vec<String>,
    /// Options of the command that reads the capture.
    pub arguments: Vec<String>,
    /// Beginnings of paths of source files, and what replaces them.
    pub(crate) source_map: Vec<(String, String)>,
    /// Where the trace stands first.
    pub(crate) stop_at: String,
}

impl Launch {
    fn of(request: &Request) -> Result<Launch, Refused> {
        let arguments = &request.arguments;
        Ok(Launch {
            request: request.clone(),
            capture: arguments.text("capture")?.map(PathBuf::from),
            programs: arguments.texts("program")?,
            arguments: arguments.texts("arguments")?,
            source_map: arguments.object("sourceMap")?.pairs(),
            stop_at: arguments.text("stopAt")?.unwrap_or("end").to_owned(),
        })
    }
}

/// What a message before a session leads to.
#[derive(Debug)]
pub enum Before {
    /// It is answered.
    Answered,
    /// A trace is wanted: the caller makes a session, or [fails](Handshake::fail).
    Launch(Box<Launch>),
    /// The client ends the connection.
    Closed,
}

/// A connection without a trace yet.
#[derive(Debug, Default)]
pub struct Handshake {
    pub(crate) client: Client,
    pub(crate) out: Outbox,
}

impl Handshake {
    /// Takes the bytes of the answers.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out.bytes)
    }

    /// Takes what a framer has found.
    pub fn receive(&mut self, received: &Received) -> Before {
        let Some(request) = understood(received, &mut self.out) else { return Before::Answered };
        match request.command.as_str() {
            "initialize" => match Client::of(&request.arguments) {
                Ok(client) => {
                    self.client = client;
                    self.out.respond(&request, Some(capabilities()));
                }
                Err(why) => self.out.fail(&request, &why.to_string()),
            },
            "launch" | "attach" => match Launch::of(&request) {
                Ok(launch) => return Before::Launch(Box::new(launch)),
                Err(why) => self.out.fail(&request, &why.to_string()),
            },
            "disconnect" | "terminate" => {
                self.out.respond(&request, None);
                return Before::Closed;
            }
            _ => self.out.fail(&request, "no trace is open: `launch` comes first"),
        }
        Before::Answered
    }

    /// Answers a launch for which there is no session.
    pub fn fail(&mut self, launch: &Launch, why: &str) {
        self.out.fail(&launch.request, why);
    }

    /// States the progress of opening a trace: 0 to 100, or `None` at its end.
    pub fn progress(&mut self, percentage: Option<u32>) {
        if !self.client.shows_progress {
            return;
        }
        let id = "index";
        match percentage {
            Some(0) => {
                let title = "Reading the trace";
                let body = json!({ "progressId": id, "title": title, "percentage": 0 });
                self.out.event("progressStart", Some(body));
            }
            Some(n) => {
                let body = json!({ "progressId": id, "percentage": n.min(100) });
                self.out.event("progressUpdate", Some(body));
            }
            None => self.out.event("progressEnd", Some(json!({ "progressId": id }))),
        }
    }
}

/// The request in what was received; what is none is answered.
pub(crate) fn understood(received: &Received, out: &mut Outbox) -> Option<Request> {
    let damaged = |out: &mut Outbox, why: &str| {
        out.console(&format!("a message is not understood: {why}"));
    };
    let content = match received {
        Received::Message(content) => content,
        Received::Damaged(damage) => {
            damaged(out, &damage.to_string());
            return None;
        }
    };
    match Request::parse(content) {
        Ok(request) => Some(request),
        Err(NoRequest::NoMessage(why)) => {
            damaged(out, &why);
            None
        }
        Err(NoRequest::NoCommand(seq)) => {
            let request = Request { seq, command: String::new(), arguments: Arguments::default() };
            out.fail(&request, "the request has no command");
            None
        }
        Err(NoRequest::Other) => None,
    }
}

/// What the server supports.
fn capabilities() -> Value {
    json!({
        "supportsConfigurationDoneRequest": true,
        "supportsFunctionBreakpoints": true,
        "supportsConditionalBreakpoints": true,
        "supportsHitConditionalBreakpoints": true,
        "supportsLogPoints": true,
        "supportsEvaluateForHovers": true,
        "supportsStepBack": true,
        "supportsRestartFrame": true,
        "supportsGotoTargetsRequest": true,
        "supportsStepInTargetsRequest": true,
        "supportsDelayedStackTraceLoading": true,
        "supportsLoadedSourcesRequest": true,
        "supportsBreakpointLocationsRequest": true,
        "supportsDataBreakpoints": true,
        "supportsReadMemoryRequest": true,
        "supportsDisassembleRequest": true,
        "supportsInstructionBreakpoints": true,
        "supportsSteppingGranularity": true,
        "supportsTerminateRequest": true,
        "supportsCancelRequest": true,
        "supportsExceptionInfoRequest": true,
        "exceptionBreakpointFilters": filters(),
    })
}
