//! Best Trace Format: tasks, interrupt service routines and runnables on cores, for Eclipse Trace
//! Compass and the timing tools of AUTOSAR. (BTF Specification 2.1.5, chapter 2)
//!
//! | in the file | is |
//! |---|---|
//! | core | a source |
//! | `T`, a task | a thread |
//! | `I`, an interrupt service routine | an exception, from its first instruction to its return |
//! | `R`, a runnable | a call of a function |
//!
//! A process starts, is preempted, resumes and terminates. When it was activated and what it waits
//! for is not in a trace, so that there is no other event. What is open at the end does not
//! terminate. Readers take a note for a part of the event, and no comment among events: what is
//! known of losses is in the header.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use tracewright_analysis::stacks::{Ending, Entry};
use tracewright_analysis::{FunctionId, Slice};

use super::{Event, TimelineView};
use crate::pieces::Pieces;
use crate::text::{line, word};

/// Losses in the header.
const MOST_LOSSES: usize = 100;

/// Events of all sources together: an exception suspends all functions that are open.
const MOST_ROWS: usize = 1 << 23;

/// What executes, or is called: a name, and which of those with this name.
#[derive(Clone, Copy)]
struct Entity {
    kind: char,
    name: u32,
    instance: u32,
}

/// A thread: its task, unless it has exceptions alone, and what is open in it.
#[derive(Default)]
struct Process {
    task: Option<Entity>,
    started: bool,
    open: Vec<Entity>,
}

impl Process {
    /// What executes, and the runnables that it has called.
    fn running(&self) -> (Option<Entity>, &[Entity]) {
        let isr = self.open.iter().rposition(|entity| entity.kind == 'I');
        let first = isr.map_or(0, |isr| isr + 1);
        let process = isr.and_then(|isr| self.open.get(isr)).copied().or(self.task);
        (process, self.open.get(first..).unwrap_or_default())
    }
}

/// A line of the file.
struct Row {
    at: u64,
    source: Entity,
    target: Entity,
    event: &'static str,
}

/// Makes the rows of one source after another.
struct Maker {
    rows: Vec<Row>,
    /// The number of rows at which there is no room for more of the source, whether there was
    /// one more, and the time of the first such row of any source.
    most: usize,
    is_full: bool,
    until: u64,
    names: Vec<String>,
    numbers: HashMap<(char, String), u32>,
    /// By name: how many there were.
    instances: Vec<u32>,
    core: Entity,
    /// The time of the last row of the source.
    now: u64,
}

impl Maker {
    /// Another entity with this name.
    fn entity(&mut self, kind: char, name: String) -> Entity {
        let next = self.names.len() as u32;
        let number = *self.numbers.entry((kind, name.clone())).or_insert(next);
        if number == next {
            self.names.push(name);
            self.instances.push(0);
        }
        let count = self.instances.get_mut(number as usize);
        let instance = count.map_or(0, |count| std::mem::replace(count, *count + 1));
        Entity { kind, name: number, instance }
    }

    fn row(&mut self, source: Entity, target: Entity, event: &'static str) {
        if self.rows.len() >= self.most {
            self.is_full = true;
            self.until = self.until.min(self.now);
            return;
        }
        self.rows.push(Row { at: self.now, source, target, event });
    }

    /// What `process` executes is preempted.
    fn preempt(&mut self, process: &Process) {
        let (Some(own), runnables) = process.running() else { return };
        for runnable in runnables.iter().rev() {
            self.row(own, *runnable, "suspend");
        }
        self.row(self.core, own, "preempt");
    }

    /// What `process` executed last executes.
    fn resume(&mut self, process: &mut Process) {
        let first = process.task.is_some() && !std::mem::replace(&mut process.started, true);
        let (Some(own), runnables) = process.running() else { return };
        self.row(self.core, own, if first && own.kind == 'T' { "start" } else { "resume" });
        for runnable in runnables {
            self.row(own, *runnable, "resume");
        }
    }

    fn begin(&mut self, view: &TimelineView<'_>, process: &mut Process, slice: &Slice) {
        if let Entry::Exception(number) = slice.entry {
            self.preempt(process);
            let name = match slice.function {
                FunctionId::Known(_) | FunctionId::Handler(_) => view.name(slice.function),
                _ => format!("exception_{number}"),
            };
            let isr = self.entity('I', word(&name).replace(',', "_"));
            self.row(self.core, isr, "start");
            process.open.push(isr);
        }
        if !matches!(slice.function, FunctionId::Handler(_)) {
            let name = word(&view.name(slice.function)).replace(',', "_");
            let runnable = self.entity('R', name);
            if let (Some(own), _) = process.running() {
                self.row(own, runnable, "start");
            }
            process.open.push(runnable);
        }
    }

    fn end(&mut self, process: &mut Process, slice: &Slice) {
        let ends = slice.ending != Ending::TraceEnd;
        if !matches!(slice.function, FunctionId::Handler(_)) {
            let runnable = process.open.pop();
            if let (Some(runnable), (Some(own), _)) = (runnable.filter(|_| ends), process.running())
            {
                self.row(own, runnable, "terminate");
            }
        }
        if matches!(slice.entry, Entry::Exception(_)) {
            let isr = process.open.pop();
            if let Some(isr) = isr.filter(|_| ends) {
                self.row(self.core, isr, "terminate");
                self.resume(process);
            }
        }
    }

    /// The rows of the frames of a thread up to `until`, an instruction of the source: those that
    /// begin there are of the next thread.
    fn frames<'a>(
        &mut self,
        view: &TimelineView<'_>,
        process: &mut Process,
        events: &mut std::iter::Peekable<impl Iterator<Item = Event<'a>>>,
        until: Option<u64>,
    ) {
        let is_before = |event: &Event<'_>| match (until, event.begins) {
            (None, _) => true,
            (Some(until), true) => event.slice.begin < until,
            (Some(until), false) => event.slice.end <= until,
        };
        while !self.is_full
            && let Some(event) = events.next_if(is_before)
        {
            self.now = self.now.max(event.at);
            match event.begins {
                true => self.begin(view, process, event.slice),
                false => self.end(process, event.slice),
            }
        }
    }
}

/// The file.
pub(super) fn write(view: &TimelineView<'_>, out: &mut Pieces<'_>) {
    write_most(view, out, MOST_ROWS);
}

/// The file with at most `most` events. Of what is left out, none is before an event that is not.
pub(super) fn write_most(view: &TimelineView<'_>, out: &mut Pieces<'_>, most: usize) {
    let Maker { mut rows, names, until, .. } = rows(view, most);
    rows.sort_by_key(|row| row.at);
    rows.truncate(rows.partition_point(|row| row.at < until));
    let _ = write!(
        out,
        "#version 2.1.5\n#creator Tracewright {}\n# {}\n",
        env!("CARGO_PKG_VERSION"),
        line(&view.unit())
    );
    for warning in view.warning.lines() {
        let _ = writeln!(out, "# {}", line(warning));
    }
    let losses = &view.timeline.losses;
    for &(source, at) in losses.iter().take(MOST_LOSSES) {
        let (name, at) = (line(view.source_name(source)), view.time(source, at) / 1000);
        let _ = writeln!(out, "# trace of {name} was lost at {at}");
    }
    if losses.len() > MOST_LOSSES {
        let _ = writeln!(out, "# trace was lost {} times more", losses.len() - MOST_LOSSES);
    }
    if until != u64::MAX {
        let _ =
            writeln!(out, "# more than {most} events: those from {} on are left out", until / 1000);
    }
    out.text("#timeScale ns\n");
    let name = |entity: Entity| names.get(entity.name as usize).map_or("_", String::as_str);
    for Row { at, source, target, event } in rows {
        if !out.is_wanted() {
            return;
        }
        let _ = writeln!(
            out,
            "{},{},{},{},{},{},{event}",
            at / 1000,
            name(source),
            source.instance,
            target.kind,
            name(target),
            target.instance
        );
    }
}

/// The rows of all sources, one after another.
fn rows(view: &TimelineView<'_>, most: usize) -> Maker {
    let mut maker = Maker {
        rows: Vec::new(),
        most: 0,
        is_full: false,
        until: u64::MAX,
        names: Vec::new(),
        numbers: HashMap::new(),
        instances: Vec::new(),
        core: Entity { kind: 'C', name: 0, instance: 0 },
        now: 0,
    };
    let threads = view.timeline.by_thread();
    let sources = view.sources.len();
    for source in 0..sources {
        maker.most = most / sources * (source + 1);
        source_rows(view, source, &threads, &mut maker);
    }
    maker
}

/// The rows of a source.
fn source_rows(view: &TimelineView<'_>, source: usize, threads: &[Vec<Slice>], maker: &mut Maker) {
    let own = |thread: usize| view.source(thread) == source;
    let numbers: Vec<usize> = (0..threads.len()).filter(|thread| own(*thread)).collect();
    if numbers.iter().all(|thread| threads.get(*thread).is_none_or(Vec::is_empty)) {
        return;
    }
    maker.core = maker.entity('C', word(view.source_name(source)).replace(',', "_"));
    (maker.now, maker.is_full) = (0, false);
    let running: Vec<(u64, usize)> = view.timeline.running(source).collect();
    // An ITM reports exceptions, and not what they interrupt.
    let tasks: HashSet<usize> = running.iter().map(|(_, thread)| *thread).collect();
    let mut all: HashMap<usize, _> = HashMap::new();
    for thread in numbers {
        let slices = threads.get(thread).map_or(&[][..], Vec::as_slice);
        let name = || word(view.thread_name(thread)).replace(',', "_");
        let task = tasks.contains(&thread).then(|| maker.entity('T', name()));
        let process = Process { task, ..Process::default() };
        all.insert(thread, (process, view.events(thread, slices).into_iter().peekable()));
    }
    for (n, &(from, thread)) in running.iter().enumerate() {
        if maker.is_full {
            return;
        }
        if let Some(before) = n.checked_sub(1).and_then(|n| running.get(n))
            && let Some((process, _)) = all.get(&before.1)
        {
            maker.now = maker.now.max(view.time(source, from));
            maker.preempt(process);
        }
        maker.now = maker.now.max(view.time(source, from));
        if let Some((process, events)) = all.get_mut(&thread) {
            maker.resume(process);
            let until = running.get(n + 1).map(|next| next.0);
            maker.frames(view, process, events, until);
        }
    }
    let mut rest: Vec<_> = all.into_iter().collect();
    rest.sort_by_key(|(thread, _)| *thread);
    for (_, (mut process, mut events)) in rest {
        maker.frames(view, &mut process, &mut events, None);
    }
}
