//! Calls in order: the begin and the end of each frame.

use std::fmt::Write;
use std::sync::Arc;

use tracewright_analysis::stacks::{Begin, Ending, Entry, FunctionId, Position, Time, Visitor};
use tracewright_analysis::tasks::Tasks;
use tracewright_analysis::{Code, ThreadNames};
use tracewright_capture::plain::line;

use crate::functions::is_called;
use crate::json::Object;

/// The most levels of indentation. Deeper frames have their depth before their name.
const MAX_INDENTATION: usize = 64;

/// The indentation of the deepest level, and the two columns before it.
const SPACES: &str = match str::from_utf8(&[b' '; 2 + 2 * MAX_INDENTATION]) {
    Ok(spaces) => spaces,
    Err(_) => "",
};

/// What is shown.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// JSON Lines instead of text.
    pub json: bool,
    /// The most frames above the first one that is shown.
    pub depth: Option<usize>,
    /// Only functions that are [called](is_called) so, and what they call.
    pub function: Option<String>,
    /// The most lines.
    pub limit: Option<u64>,
}

/// A frame that is open.
#[derive(Clone, Copy, Debug)]
struct Open {
    begin: Begin,
    position: Position,
    /// Instructions of the thread before it.
    before: u64,
    /// Instructions in the frame itself.
    own: u64,
    time: Option<u64>,
    /// The depth among the frames that are shown; `None` if it is not shown.
    shown: Option<usize>,
}

/// A thread.
#[derive(Clone, Debug, Default)]
struct Thread {
    source: usize,
    name: String,
    instructions: u64,
    frames: Vec<usize>,
}

/// Writes calls.
#[derive(Debug)]
pub struct Calls {
    code: Code,
    sources: Arc<[String]>,
    names: Option<ThreadNames>,
    tasks: Tasks,
    /// The names of all threads, where they are known before.
    known: Vec<String>,
    shown: Shown,
    threads: Vec<Thread>,
    open: Vec<Open>,
    free: Vec<usize>,
    /// The last timestamp of each source.
    times: Vec<Option<u64>>,
    /// The frame that began last, whose line is not written yet.
    leaf: Option<usize>,
    /// The thread of the last line.
    last: Option<usize>,
    lines: u64,
    out: String,
}

impl Calls {
    /// Calls between the functions of `code` in sources with these names.
    pub fn new(code: Code, sources: impl IntoIterator<Item = String>, shown: Shown) -> Calls {
        Calls {
            code,
            sources: sources.into_iter().collect(),
            names: None,
            tasks: Tasks::default(),
            known: Vec::new(),
            shown,
            threads: Vec::new(),
            open: Vec::new(),
            free: Vec::new(),
            times: Vec::new(),
            leaf: None,
            last: None,
            lines: 0,
            out: String::new(),
        }
    }

    /// The same, where threads have these names.
    #[must_use]
    pub fn with_names(self, names: ThreadNames) -> Calls {
        Calls { names: Some(names), ..self }
    }

    /// The same, where threads with identifiers are these tasks.
    #[must_use]
    pub fn with_tasks(self, tasks: Tasks) -> Calls {
        Calls { tasks, ..self }
    }

    /// The same, where the threads have these names, by number.
    #[must_use]
    pub fn with_known_names(self, known: Vec<String>) -> Calls {
        Calls { known, ..self }
    }

    /// Takes the text so far.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.out)
    }

    /// Whether no more lines are written.
    pub fn full(&self) -> bool {
        self.shown.limit.is_some_and(|limit| self.lines >= limit)
    }

    fn last_time(&self, source: usize) -> Option<u64> {
        self.times.get(source).copied().flatten()
    }

    fn name(&self, function: FunctionId) -> String {
        self.code.name(function).into_owned()
    }

    /// Begins a line; `false` if there are enough.
    fn line(&mut self, position: &Position) -> bool {
        if self.full() {
            return false;
        }
        self.lines += 1;
        if !self.shown.json && self.last != Some(position.thread) {
            if self.last.is_some() || self.threads.len() > 1 {
                let thread = self.threads.get(position.thread);
                let name = thread.map_or("", |thread| thread.name.as_str());
                let _ = writeln!(self.out, "{}", line(name));
            }
            self.last = Some(position.thread);
        }
        true
    }

    /// The columns before the indentation.
    fn columns(&mut self, position: &Position, time: Option<u64>, depth: usize) {
        let _ = write!(self.out, "{:>12}", position.instructions);
        match time {
            Some(time) => _ = write!(self.out, " {time:>14}"),
            None => self.out.push_str(SPACES.get(..15).unwrap_or(SPACES)),
        }
        // Padding writes one character at a time.
        self.out.push_str(SPACES.get(..2 + 2 * depth.min(MAX_INDENTATION)).unwrap_or(SPACES));
        if depth > MAX_INDENTATION {
            let _ = write!(self.out, "[{depth}] ");
        }
    }

    /// Writes the line of a frame that calls others, or is the last one.
    fn settle(&mut self) {
        let Some(open) = self.leaf.take().and_then(|leaf| self.open.get(leaf)).copied() else {
            return;
        };
        let Some(depth) = open.shown else { return };
        if !self.line(&open.position) {
            return;
        }
        let name = self.name(open.begin.function);
        if !self.shown.json {
            self.columns(&open.position, open.time, depth);
            let _ = writeln!(self.out, "{} {{{}", line(&name), remark(open.begin.entry));
        }
    }

    fn begun(&mut self, position: &Position, begin: &Begin) -> usize {
        self.settle();
        let selects = |calls: &Calls| {
            let (code, function) = (&calls.code, begin.function);
            let called = |name: &str| is_called(name, &code.name(function), code.symbol(function));
            calls.shown.function.as_deref().is_none_or(called)
        };
        let thread = self.threads.get(position.thread);
        let parent = thread.and_then(|t| self.open.get(*t.frames.last()?)).and_then(|f| f.shown);
        let inside = match parent {
            Some(parent) => Some(parent + 1),
            None => selects(self).then_some(0),
        };
        let deep = |depth: &usize| self.shown.depth.is_none_or(|most| *depth <= most);
        let open = Open {
            begin: *begin,
            position: *position,
            before: thread.map_or(0, |thread| thread.instructions),
            own: 0,
            time: self.last_time(position.source),
            shown: inside,
        };
        let visible = inside.filter(deep).is_some();
        let node = match self.free.pop() {
            Some(node) => node,
            None => {
                self.open.push(open);
                self.open.len() - 1
            }
        };
        if let Some(slot) = self.open.get_mut(node) {
            *slot = open;
        }
        if let Some(thread) = self.threads.get_mut(position.thread) {
            thread.frames.push(node);
        }
        if visible {
            self.leaf = Some(node);
            if self.shown.json {
                self.begin_json(&open);
            }
        }
        node
    }

    fn begin_json(&mut self, open: &Open) {
        self.leaf = None;
        if !self.line(&open.position) {
            return;
        }
        let name = self.name(open.begin.function);
        let thread = self.threads.get(open.position.thread).map(|t| t.name.clone());
        let exception = match open.begin.entry {
            Entry::Exception(number) => Some(u64::from(number)),
            _ => None,
        };
        Object::new(&mut self.out)
            .text("type", "begin")
            .maybe_text("thread", thread.as_deref())
            .maybe_number("offset", offset(&open.position))
            .number("instruction", open.position.instructions)
            .maybe_text("time_after", open.time.map(|time| time.to_string()).as_deref())
            .number("depth", open.shown.unwrap_or(0) as u64)
            .text("function", &name)
            .text("entry", open.begin.entry.name())
            .maybe_number("exception", exception)
            .maybe_hex("address", open.begin.address)
            .end();
        self.out.push('\n');
    }

    fn end_json(
        &mut self,
        open: &Open,
        position: &Position,
        sums: (u64, u64),
        ending: Ending,
        uncertain: bool,
    ) {
        if !self.line(position) {
            return;
        }
        let name = self.name(open.begin.function);
        let thread = self.threads.get(position.thread).map(|t| t.name.clone());
        let time = self.last_time(position.source);
        Object::new(&mut self.out)
            .text("type", "end")
            .maybe_text("thread", thread.as_deref())
            .maybe_number("offset", offset(position))
            .number("instruction", position.instructions)
            .maybe_text("time_after", time.map(|time| time.to_string()).as_deref())
            .number("depth", open.shown.unwrap_or(0) as u64)
            .text("function", &name)
            .text("ending", ending.name())
            .number("instructions", sums.0)
            .number("inclusive_instructions", sums.1)
            .mark("uncertain", uncertain)
            .end();
        self.out.push('\n');
    }
}

/// The offset in the trace; the end of the trace has none.
fn offset(position: &Position) -> Option<u64> {
    (position.at != u64::MAX).then_some(position.at)
}

/// How a frame begins, where it is not a call.
fn remark(entry: Entry) -> String {
    match entry {
        Entry::Call => String::new(),
        Entry::TailCall => " tail call".to_owned(),
        Entry::Jump => " branch into the function".to_owned(),
        Entry::Exception(number) => format!(" exception {number}"),
        Entry::Before => " entered before the trace".to_owned(),
        Entry::Lost => " entered while trace was lost".to_owned(),
        Entry::Resumed => " continued".to_owned(),
    }
}

/// How a frame ends, where it does not return.
fn end_remark(ending: Ending, uncertain: bool) -> String {
    let mut text = match ending {
        Ending::Return => "",
        Ending::UnseenCall => " return of a call that is not in the trace",
        Ending::Replaced => " replaced",
        Ending::Unwound => " unwound",
        Ending::Lost => " while trace was lost",
        Ending::Switched => " another thread continues",
        Ending::TooDeep => " its call is too deep",
        Ending::TraceEnd => " the trace ends",
    }
    .to_owned();
    if uncertain {
        text.push_str(" uncertain");
    }
    text
}

impl Visitor for Calls {
    type Node = usize;

    fn thread(&mut self, source: usize, thread: usize, id: Option<u64>) -> usize {
        if thread >= self.threads.len() {
            self.threads.resize(thread + 1, Thread::default());
        }
        let source_name = self.sources.get(source).cloned().unwrap_or_default();
        // Threads without an identifier have numbers, but for the first one of a source.
        let of_source = |own: &&Thread| own.source == source && !own.name.is_empty();
        let number = self.threads.iter().take(thread).filter(of_source).count() + 1;
        let known = self.names.as_ref().map(|names| names.name(source, id));
        let known = self.known.get(thread).cloned().or(known);
        let name = known.unwrap_or_else(|| self.tasks.text(&source_name, id, number, None).1);
        if let Some(own) = self.threads.get_mut(thread) {
            (own.source, own.name) = (source, name);
        }
        0
    }

    fn begin(&mut self, position: &Position, _: usize, begin: &Begin) -> usize {
        self.begun(position, begin)
    }

    fn end(&mut self, position: &Position, node: usize, ending: Ending, uncertain: bool) {
        let Some(open) = self.open.get(node).copied() else { return };
        self.free.push(node);
        let Some(thread) = self.threads.get_mut(position.thread) else { return };
        thread.frames.pop();
        let inclusive = thread.instructions - open.before;
        let Some(depth) = open.shown.filter(|d| self.shown.depth.is_none_or(|most| *d <= most))
        else {
            return;
        };
        if self.shown.json {
            return self.end_json(&open, position, (open.own, inclusive), ending, uncertain);
        }
        let leaf = self.leaf == Some(node);
        if leaf {
            self.leaf = None;
        } else {
            self.settle();
        }
        let shown = if leaf { &open.position } else { position };
        if !self.line(shown) {
            return;
        }
        let name = self.name(open.begin.function);
        let remarks = end_remark(ending, uncertain);
        if leaf {
            self.columns(&open.position, open.time, depth);
            let _ = write!(self.out, "{}{}", line(&name), remark(open.begin.entry));
        } else {
            self.columns(position, self.last_time(position.source), depth);
            let _ = write!(self.out, "}} {}", line(&name));
        }
        let _ = write!(self.out, ": {inclusive}");
        if open.own != inclusive {
            let _ = write!(self.out, " ({} itself)", open.own);
        }
        let _ = writeln!(self.out, "{remarks}");
    }

    fn beneath(&mut self, position: &Position, root: usize, begin: &Begin) -> (usize, usize) {
        let node = self.begun(position, begin);
        // Everything in the thread so far is in the frame.
        if let Some(open) = self.open.get_mut(node) {
            open.before = 0;
        }
        (node, root)
    }

    fn run(&mut self, position: &Position, node: usize, instructions: u64, _: u64) {
        if let Some(open) = self.open.get_mut(node) {
            open.own += instructions;
        }
        if let Some(thread) = self.threads.get_mut(position.thread) {
            thread.instructions += instructions;
        }
    }

    fn time(&mut self, position: &Position, time: Time) {
        let Time::Timestamp(value) = time else { return };
        if position.source >= self.times.len() {
            self.times.resize(position.source + 1, None);
        }
        if let Some(own) = self.times.get_mut(position.source) {
            *own = Some(value);
        }
        if self.shown.json && self.shown.function.is_none() && self.line(position) {
            let source = self.sources.get(position.source).cloned().unwrap_or_default();
            Object::new(&mut self.out)
                .text("type", "timestamp")
                .text("source", &source)
                .maybe_number("offset", offset(position))
                .number("instruction", position.instructions)
                .digits("value", value)
                .end();
            self.out.push('\n');
        }
    }

    fn lost(&mut self, position: &Position) {
        self.settle();
        if !self.line(position) {
            return;
        }
        if self.shown.json {
            let thread = self.threads.get(position.thread).map(|t| t.name.clone());
            Object::new(&mut self.out)
                .text("type", "lost")
                .maybe_text("thread", thread.as_deref())
                .maybe_number("offset", offset(position))
                .number("instruction", position.instructions)
                .end();
            self.out.push('\n');
        } else {
            self.columns(position, self.last_time(position.source), 0);
            self.out.push_str("-- trace was lost --\n");
        }
    }
}
