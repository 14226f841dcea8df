//! The call stack at an element.

use tracewright_analysis::stacks::{Begin, Ending, Part, Position, SWITCHES, Stacks, Visitor};
use tracewright_analysis::{Code, Transfers};
use tracewright_base::Waypoints;
use tracewright_image::CacheOptions;

use crate::error::FindError;
use crate::find::Finder;
use crate::found::Found;
use crate::window::{self, Window};

impl Finder<'_> {
    /// The functions of the program, for [`Finder::stack`].
    pub fn code(&self) -> Code {
        let programs = self.plan.sources.iter().map(|planned| {
            self.subject.memory.seen_by(self.subject.capture, self.plan.buffer, planned.source)
        });
        Code::new(self.subject.capture, programs)
    }

    /// The call stack of the source of `found` at the end of the element, from what packets in the
    /// last `span` bytes of the buffer before it made; the outermost function is the first. A
    /// function that was entered earlier is known where something returned to it, and where nothing
    /// else was executed. Empty where nothing was executed.
    ///
    /// # Errors
    /// Where the buffer cannot be read.
    pub fn stack(&self, found: &Found, code: &Code, span: u64) -> Result<Vec<Begin>, FindError> {
        let window = Window {
            offset: Some(found.at.saturating_sub(span)..u64::MAX),
            element: Some(0..found.number.saturating_add(1)),
            ..Window::default()
        };
        let (Ok(session), Some(buffer)) =
            (self.subject.session(self.plan), self.subject.capture.buffers.get(self.plan.buffer))
        else {
            return Ok(Vec::new());
        };
        let caches = self.plan.sources.iter().map(|planned| {
            let options = CacheOptions { riscv: planned.config.riscv(), ..CacheOptions::default() };
            let Finder { subject, plan, .. } = self;
            let program = subject.memory.seen_by(subject.capture, plan.buffer, planned.source);
            program.cache(Waypoints::default(), options)
        });
        let transfers = Transfers::new(code.clone(), caches.collect());
        let switches = SWITCHES.iter().flat_map(|name| code.named(name));
        let mut stacks =
            Stacks::new(self.plan.sources.len(), Open::default()).with_switches(switches);
        let index = self.index.map(|(_, indexed)| indexed);
        let mut write = |found: Part| {
            stacks.transfers(found.transfers());
            true
        };
        window::run(session, buffer, &window, index, transfers, &mut |_, _| {}, &mut write)?;
        Ok(stacks.visitor.of(found.source))
    }
}

/// The open frames of each thread.
#[derive(Debug, Default)]
struct Open {
    threads: Vec<Vec<Begin>>,
    /// By source: the last thread that executed.
    current: Vec<Option<usize>>,
}

impl Open {
    fn frames(&mut self, position: &Position) -> Option<&mut Vec<Begin>> {
        if let Some(current) = self.current.get_mut(position.source) {
            *current = Some(position.thread);
        }
        self.threads.get_mut(position.thread)
    }

    /// The frames of the last thread that `source` executed.
    fn of(&self, source: usize) -> Vec<Begin> {
        let thread = self.current.get(source).copied().flatten();
        thread.and_then(|thread| self.threads.get(thread)).cloned().unwrap_or_default()
    }
}

impl Visitor for Open {
    type Node = ();

    fn thread(&mut self, source: usize, thread: usize, _: Option<u64>) {
        if self.threads.len() <= thread {
            self.threads.resize(thread + 1, Vec::new());
        }
        if self.current.len() <= source {
            self.current.resize(source + 1, None);
        }
    }

    fn begin(&mut self, position: &Position, (): (), begin: &Begin) {
        if let Some(frames) = self.frames(position) {
            frames.push(*begin);
        }
    }

    fn end(&mut self, position: &Position, (): (), _: Ending, _: bool) {
        if let Some(frames) = self.frames(position) {
            frames.pop();
        }
    }

    fn beneath(&mut self, position: &Position, (): (), begin: &Begin) -> ((), ()) {
        if let Some(frames) = self.frames(position) {
            frames.insert(0, *begin);
        }
        ((), ())
    }

    fn run(&mut self, position: &Position, (): (), _: u64, _: u64) {
        self.frames(position);
    }
}
