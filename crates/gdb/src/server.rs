//! Answers to the packets of gdb.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tracewright::base::Profile;
use tracewright::capture::{Capture, Core, Form};
use tracewright::decode::detect;
use tracewright::index::FindError;
use tracewright::symbols::{ConstantMemory, FrameTables};
use tracewright_replay::{Accessed, Instruction, Machine, Position, Stop, Stopped, Watch};

use crate::hex;
use crate::packet::{Framer, MOST, Received, emit};
use crate::request::Request;
use crate::synthetic::Synthetic;
use crate::target::Architecture;
use crate::thread::Thread;

/// The most breakpoints at once.
const MOST_BREAKPOINTS: usize = 1 << 12;

/// The most watchpoints at once, each of which is a search.
const MOST_WATCHPOINTS: usize = 16;

/// Addresses at which the invented stack may begin: the first one without memory of the program.
const TOPS: [u64; 4] = [0x7ace_0000, 0x3ace_0000, 0xdace_0000, 0x1ace_0000];

/// The bytes below such an address that the stack may take.
const STACK: u64 = 1 << 24;

/// Signals of gdb: stopped by a breakpoint or a step, and by Ctrl-C.
const TRAP: u8 = 5;
const INTERRUPTED: u8 = 2;

/// A session of gdb with a trace.
pub struct Server<'a> {
    pub(crate) machine: Machine<'a>,
    pub(crate) architecture: Architecture,
    pub(crate) tables: FrameTables,
    pub(crate) constants: ConstantMemory,
    /// Where the invented stack begins.
    pub(crate) top: u64,
    /// Whether a stack is invented.
    pub(crate) with_stack: bool,
    /// The stack at the last position at which it was needed, of a thread.
    pub(crate) synthetic: Option<(Position, Thread, Synthetic)>,
    /// gdb records branches.
    pub(crate) records: bool,
    /// The branch trace at the last position at which it was read, of a source.
    pub(crate) branch_trace: Option<(Position, usize, Arc<str>)>,
    pub(crate) breakpoints: BTreeSet<u64>,
    /// The watchpoints: kind, address, size.
    watchpoints: BTreeSet<(u64, u64, u64)>,
    /// Whether the trace states data accesses, once that was asked.
    has_accesses: Option<bool>,
    /// The selected thread.
    pub(crate) selected: Thread,
    /// The thread that requests without a thread step; `None`: the selected one.
    pub(crate) stepping: Option<Thread>,
    /// The first instructions of sources, as far as they were asked for.
    pub(crate) firsts: BTreeMap<usize, Option<Instruction>>,
    /// Set while gdb wants the program to stand still.
    stop: Arc<AtomicBool>,
    framer: Framer,
    acknowledges: bool,
    /// The last packet that was sent.
    last: Vec<u8>,
    closed: bool,
}

impl<'a> Server<'a> {
    /// A server of `machine`, which replays a buffer of `capture`.
    pub fn new(mut machine: Machine<'a>, capture: &Capture) -> Server<'a> {
        let stop = Arc::new(AtomicBool::new(false));
        machine.stop_on(Arc::clone(&stop));
        let here = machine.here();
        let files = capture.memory.iter().filter(|dump| dump.form == Form::Elf);
        let files: Vec<_> =
            files.filter_map(|dump| Some((dump.bytes.as_ref()?, dump.address))).collect();
        let small = Profile::Microcontroller;
        let mut cores = capture.cores.iter().filter_map(Core::core_type);
        let m_profile = cores.any(|core| core.profile == small)
            || files.iter().any(|(file, _)| detect::profile(file) == Some(small));
        let architecture = Architecture::of(here.isa, m_profile);
        let constants = ConstantMemory::of_files(files.iter().copied());
        let free = |top: &&u64| !constants.touches(**top - STACK, **top);
        let top = TOPS.iter().find(free).copied().unwrap_or(0x7ace_0000);
        Server {
            machine,
            architecture,
            tables: FrameTables::of_files(files),
            constants,
            top,
            with_stack: true,
            synthetic: None,
            records: false,
            branch_trace: None,
            breakpoints: BTreeSet::new(),
            watchpoints: BTreeSet::new(),
            has_accesses: None,
            selected: Thread::of(here.source),
            stepping: None,
            firsts: BTreeMap::new(),
            stop,
            framer: Framer::default(),
            acknowledges: true,
            last: Vec::new(),
            closed: false,
        }
    }

    /// The machine.
    pub fn machine(&mut self) -> &mut Machine<'a> {
        &mut self.machine
    }

    /// Where it is set, a run ends: the caller sets it when [`Received::Interrupt`] arrives during
    /// one, and passes that to [`receive`](Self::receive), too.
    pub fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// Whether gdb has ended the session.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Takes bytes of the connection, which may be cut anywhere, and appends those of the answers.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        for &byte in bytes {
            if let Some(received) = self.framer.byte(byte) {
                self.receive(&received, out);
            }
        }
    }

    /// Takes what a framer has found, and appends the bytes of the answer.
    pub fn receive(&mut self, received: &Received, out: &mut Vec<u8>) {
        if self.closed {
            return;
        }
        match received {
            // The run that it was for has ended with it, or by itself.
            Received::Interrupt => self.stop.store(false, Ordering::Relaxed),
            Received::Again => emit(&self.last, out),
            Received::Damaged => {
                if self.acknowledges {
                    out.push(b'-');
                }
            }
            Received::Packet(data) => {
                if self.acknowledges {
                    out.push(b'+');
                }
                let request = Request::parse(data);
                let answer = self.answer(&request, out);
                let answer = answer.unwrap_or_else(|error| failed(&error));
                if let Some(answer) = answer {
                    emit(&answer, out);
                    self.last = answer;
                }
            }
        }
    }

    /// The answer to a request; `None` where it has none.
    fn answer(
        &mut self,
        request: &Request,
        out: &mut Vec<u8>,
    ) -> Result<Option<Vec<u8>>, FindError> {
        let ok = || Ok(Some(b"OK".to_vec()));
        let text = |text: &str| Ok(Some(text.as_bytes().to_vec()));
        match request {
            Request::Supported => text(&format!(
                "PacketSize={MOST:x};QStartNoAckMode+;qXfer:features:read+;qXfer:threads:read+;\
                 ReverseStep+;ReverseContinue+;vContSupported+;Qbtrace:bts+;Qbtrace:off+;\
                 qXfer:btrace:read+;qXfer:btrace-conf:read+"
            )),
            Request::NoAcknowledgement => {
                self.acknowledges = false;
                ok()
            }
            Request::BranchTrace { on } => {
                (self.records, self.branch_trace) = (*on, None);
                ok()
            }
            Request::StopReason => self.stopped(TRAP, "").map(Some),
            Request::Registers => self.all_registers().map(Some),
            Request::Register(number) => self.register(*number).map(Some),
            Request::Memory { address, len, binary } => {
                self.memory(*address, *len, *binary).map(Some)
            }
            Request::Write => text("E.trace is read-only"),
            Request::SelectThread { thread, steps } => {
                let thread = match thread {
                    None => None,
                    Some(id) => match self.thread(*id)? {
                        None => return text("E01"),
                        found => found,
                    },
                };
                match (steps, thread) {
                    (true, thread) => self.stepping = thread,
                    (false, Some(thread)) => self.selected = thread,
                    (false, None) => {}
                }
                ok()
            }
            Request::IsAlive(id) => match self.thread(*id)? {
                Some(_) => ok(),
                None => text("E01"),
            },
            Request::CurrentThread => text(&format!("QC{:x}", self.id(self.selected))),
            Request::FirstThreads => {
                let mut list = String::from("m");
                for (n, thread) in self.threads()?.into_iter().enumerate() {
                    list += &format!("{}{:x}", if n == 0 { "" } else { "," }, self.id(thread));
                }
                text(&list)
            }
            Request::MoreThreads => text("l"),
            Request::ThreadInfo(id) => {
                let mut answer = Vec::new();
                if let Some(thread) = self.thread(*id)? {
                    hex::put(self.thread_text(thread)?.as_bytes(), &mut answer);
                }
                Ok(Some(answer))
            }
            Request::ResumeForms => text("vCont;c;C;s;S;r"),
            Request::Resume(resume) => {
                // An earlier Ctrl-C was for an earlier run.
                self.resume(*resume, out).map(Some)
            }
            Request::Breakpoint { insert, kind: 0 | 1, address, .. } => {
                if !insert {
                    self.breakpoints.remove(address);
                } else if self.breakpoints.len() >= MOST_BREAKPOINTS {
                    return text("E.too many breakpoints");
                } else {
                    self.breakpoints.insert(*address);
                }
                ok()
            }
            Request::Breakpoint { insert, kind: kind @ 2..=4, address, size } => {
                let watchpoint = (*kind, *address, *size);
                if !insert {
                    self.watchpoints.remove(&watchpoint);
                } else if !self.has_accesses()? {
                    return text("E.the trace does not state data accesses and their instructions");
                } else if *size == 0 || address.checked_add(*size).is_none() {
                    return text("E.no such addresses");
                } else if self.watchpoints.len() >= MOST_WATCHPOINTS {
                    return text("E.too many watchpoints");
                } else {
                    self.watchpoints.insert(watchpoint);
                }
                ok()
            }
            Request::Breakpoint { .. } | Request::Unknown => text(""),
            Request::Transfer { object, annex, offset, len } => {
                self.transfer(object, annex, *offset, *len).map(Some)
            }
            Request::Command(command) => {
                let printed = self.command(command)?;
                for part in printed.as_bytes().chunks(MOST / 4) {
                    self.print(part, out);
                }
                ok()
            }
            Request::Attached => text("1"),
            Request::Detach | Request::Kill { answered: true } => {
                self.closed = true;
                ok()
            }
            Request::Kill { answered: false } => {
                self.closed = true;
                Ok(None)
            }
        }
    }

    /// Whether the trace states data accesses and their instructions.
    pub(crate) fn has_accesses(&mut self) -> Result<bool, FindError> {
        if let Some(known) = self.has_accesses {
            return Ok(known);
        }
        let found = self.machine.states_accesses()?;
        self.has_accesses = Some(found);
        Ok(found)
    }

    /// What the watchpoints watch.
    pub(crate) fn watches(&self) -> Vec<Watch> {
        let watch = |(kind, address, size): &(u64, u64, u64)| Watch {
            addresses: *address..address.saturating_add(*size),
            reads: matches!(kind, 3 | 4),
            writes: matches!(kind, 2 | 4),
        };
        self.watchpoints.iter().map(watch).collect()
    }

    /// The reason of a stop at an access, as the watchpoint for it expects it.
    fn access_reason(&mut self, hit: &Accessed, out: &mut Vec<u8>) -> String {
        if !hit.is_stated {
            let text =
                format!("[the trace does not state which instruction made {}]\n", hit.access);
            self.print(text.as_bytes(), out);
        }
        let watches = |(_, address, size): &&(u64, u64, u64)| {
            (*address..address.saturating_add(*size)).contains(&hit.address)
        };
        let mut kinds = self.watchpoints.iter().filter(watches).map(|(kind, ..)| *kind);
        let is_read = hit.access.direction == tracewright::base::Direction::Read;
        let fits = |kind: u64| kind == 4 || (kind == 3) == is_read;
        let name = match kinds.find(|kind| fits(*kind)) {
            Some(2) | None => "watch",
            Some(3) => "rwatch",
            Some(_) => "awatch",
        };
        format!("{name}:{:x};", hit.address)
    }

    /// Prints text in gdb.
    pub(crate) fn print(&mut self, text: &[u8], out: &mut Vec<u8>) {
        let mut packet = b"O".to_vec();
        hex::put(text, &mut packet);
        emit(&packet, out);
    }

    /// The packet that states why the program stands still.
    pub(crate) fn stopped(&mut self, signal: u8, reason: &str) -> Result<Vec<u8>, FindError> {
        // A task that waits does not stop.
        self.selected.task = None;
        let own = self.at(self.selected.source)?;
        let own = own.unwrap_or_else(|| self.machine.here());
        let mut packet = format!("T{signal:02x}").into_bytes();
        packet.extend(format!("{:x}:", self.architecture.pc()).bytes());
        let size = self.architecture.address_size();
        hex::put_value(Some(own.address), size, &mut packet);
        packet.extend(format!(";thread:{:x};{reason}", self.id(self.selected)).bytes());
        Ok(packet)
    }

    /// The packet after a step or a run, and a line about a loss on the way.
    pub(crate) fn after(&mut self, stop: &Stop, out: &mut Vec<u8>) -> Result<Vec<u8>, FindError> {
        if let Some(lost) = stop.lost {
            let text = format!("[trace was lost on the way: {lost}]\n");
            self.print(text.as_bytes(), out);
        }
        let reason = match stop.why {
            Stopped::Begin => "replaylog:begin;".to_owned(),
            Stopped::End => "replaylog:end;".to_owned(),
            Stopped::Step | Stopped::Breakpoint => String::new(),
            Stopped::Access(hit) => self.access_reason(&hit, out),
        };
        self.stopped(TRAP, &reason)
    }

    /// The packet after Ctrl-C.
    pub(crate) fn interrupted(&mut self) -> Result<Vec<u8>, FindError> {
        self.stop.store(false, Ordering::Relaxed);
        self.stopped(INTERRUPTED, "")
    }

    /// A part of an object.
    fn transfer(
        &mut self,
        object: &str,
        annex: &str,
        offset: u64,
        len: u64,
    ) -> Result<Vec<u8>, FindError> {
        let whole: Arc<str> = match (object, annex) {
            ("features", "target.xml") => self.architecture.description().into(),
            ("threads", "") => {
                let mut text = String::from("<?xml version=\"1.0\"?>\n<threads>\n");
                for thread in self.threads()? {
                    let about = self.thread_text(thread)?;
                    let id = self.id(thread);
                    text += &format!("<thread id=\"{id:x}\">{about}</thread>\n");
                }
                (text + "</threads>\n").into()
            }
            ("btrace-conf", "") => self.branch_configuration().into(),
            ("btrace", "all") => self.branch_trace()?,
            // gdb would append what it gets to what it has.
            ("btrace", _) => return Ok(b"E.Overflow.".to_vec()),
            ("features" | "threads" | "btrace-conf", _) => return Ok(b"E00".to_vec()),
            _ => return Ok(Vec::new()),
        };
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(whole.len());
        let most = usize::try_from(len).unwrap_or(usize::MAX).min(MOST / 2);
        let to = from.saturating_add(most).min(whole.len());
        let mut answer = vec![if to == whole.len() { b'l' } else { b'm' }];
        answer.extend(whole.as_bytes().get(from..to).unwrap_or_default());
        Ok(answer)
    }
}

/// The answer to a request that cannot be answered.
fn failed(error: &FindError) -> Option<Vec<u8>> {
    Some(format!("E.{error}").into_bytes())
}
