//! Threads of gdb: what each source with instructions executes, and tasks that wait.

use std::fmt::Write;

use tracewright::index::FindError;
use tracewright_replay::{Frame, Instruction, Parked};

use crate::server::Server;
use crate::thread::Thread;

impl Server<'_> {
    /// The number of a thread in the protocol. 1 and up: what the sources execute; behind these,
    /// the tasks.
    pub(crate) fn id(&self, thread: Thread) -> u64 {
        match thread.task {
            None => thread.source as u64 + 1,
            Some(task) => self.sources() + 1 + u64::from(task),
        }
    }

    /// The number of sources, also of those without instructions.
    fn sources(&self) -> u64 {
        self.machine.sources().iter().max().map_or(0, |last| *last as u64 + 1)
    }

    /// The thread with a number of the protocol, where there is one at the position.
    pub(crate) fn thread(&mut self, id: u64) -> Result<Option<Thread>, FindError> {
        let source = id.checked_sub(1).and_then(|n| usize::try_from(n).ok());
        if let Some(source) = source.filter(|source| self.machine.sources().contains(source)) {
            return Ok(self.at(source)?.map(|_| Thread::of(source)));
        }
        let task = id.checked_sub(self.sources() + 1).and_then(|n| u32::try_from(n).ok());
        let known = task.and_then(|task| *self.machine.threads().get(task as usize)?);
        let thread = known.map(|known| Thread { source: known.source.into(), task });
        Ok(match thread {
            Some(thread) => self.waiting(thread)?.map(|_| thread),
            None => None,
        })
    }

    /// The threads at the position.
    pub(crate) fn threads(&mut self) -> Result<Vec<Thread>, FindError> {
        let (mut all, mut tasks) = (Vec::new(), Vec::new());
        for source in self.machine.sources().to_vec() {
            if self.at(source)?.is_none() {
                continue;
            }
            all.push(Thread::of(source));
            if self.has_tasks(source) {
                let parked = self.machine.parked(source)?.into_iter();
                tasks.extend(parked.map(|own| Thread { source, task: Some(own.thread) }));
            }
        }
        all.extend(tasks);
        Ok(all)
    }

    /// Whether several tasks of a source are in the trace.
    fn has_tasks(&self, source: usize) -> bool {
        let all = self.machine.threads().iter().flatten();
        all.filter(|own| usize::from(own.source) == source).nth(1).is_some()
    }

    /// What is known of a task that waits; `None` where it does not, or has not begun.
    pub(crate) fn waiting(&mut self, thread: Thread) -> Result<Option<Parked>, FindError> {
        let Some(task) = thread.task else { return Ok(None) };
        let mut all = self.machine.parked(thread.source)?.into_iter();
        Ok(all.find(|own| own.thread == task))
    }

    /// The stack of a thread, the innermost frame first.
    pub(crate) fn frames_of(&mut self, thread: Thread) -> Result<Vec<Frame>, FindError> {
        match thread.task {
            None => self.machine.stack(thread.source),
            Some(_) => Ok(self.waiting(thread)?.map_or_else(Vec::new, |own| own.frames)),
        }
    }

    /// The instruction at which a source stands: where it has executed none yet, its first one.
    pub(crate) fn at(&mut self, source: usize) -> Result<Option<Instruction>, FindError> {
        if let Some(own) = self.machine.at(source)? {
            return Ok(Some(own));
        }
        if let Some(known) = self.firsts.get(&source) {
            return Ok(*known);
        }
        let first = self.machine.first(source)?;
        self.firsts.insert(source, first);
        Ok(first)
    }

    /// What `info threads` shows of a thread.
    pub(crate) fn thread_text(&mut self, thread: Thread) -> Result<String, FindError> {
        let Thread { source, task } = thread;
        let mut text = format!("trace source {source}");
        let number = match task {
            Some(task) => Some(task),
            None if self.has_tasks(source) => {
                self.machine.stack(source)?.first().map(|frame| frame.thread)
            }
            None => None,
        };
        let known = number.and_then(|number| *self.machine.threads().get(number as usize)?);
        if let Some(id) = known.and_then(|known| known.id) {
            let _ = write!(text, ", task {id}");
        }
        match (task, self.machine.at(source)?) {
            (Some(_), _) => text += ", waits",
            (None, None) => text += ", nothing executed",
            (None, Some(own)) => {
                if let Some(time) = own.time {
                    let _ = write!(text, ", time {time}");
                }
            }
        }
        Ok(text)
    }
}
