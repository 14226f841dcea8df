//! Threads and call stacks.

use serde_json::{Map, Value, json};
use tracewright::analysis::stacks::Entry as FrameEntry;
use tracewright::index::FindError;
use tracewright_replay::{Frame, Instruction};

use crate::frames::Shown;
use crate::message::{Arguments, Refused, refused};
use crate::session::Session;

/// The most frames that are returned at once.
const MOST_FRAMES: usize = 1 << 10;

/// A thread that a client means.
#[derive(Clone, Copy, Debug)]
struct Meant {
    source: usize,
    /// The number of the thread; `None` for the one that the source executes.
    thread: Option<u32>,
}

impl Session<'_> {
    /// The instruction at which a source stands: where it has executed none yet, its first one.
    pub(crate) fn stands(&mut self, source: usize) -> Result<Option<Instruction>, FindError> {
        match self.machine.at(source)? {
            Some(own) => Ok(Some(own)),
            None => self.machine.first(source),
        }
    }

    /// The thread with a number of the protocol. 1 and up: what each source executes; behind these,
    /// the threads of sources that have several.
    fn meant(&self, arguments: &Arguments) -> Result<Meant, Refused> {
        let id = arguments.needed("threadId")?;
        let sources = self.plan.sources.len();
        let source = id.checked_sub(1).filter(|source| self.machine.sources().contains(source));
        if let Some(source) = source {
            return Ok(Meant { source, thread: None });
        }
        let number = id.checked_sub(sources + 1);
        let thread =
            number.and_then(|number| self.machine.threads().get(number).copied().flatten());
        match (thread, number.and_then(|number| u32::try_from(number).ok())) {
            (Some(thread), Some(number)) => {
                Ok(Meant { source: thread.source.into(), thread: Some(number) })
            }
            _ => refused(format!("there is no thread {id}")),
        }
    }

    /// The source of a thread of the protocol, which it executes.
    pub(crate) fn source_of(&mut self, arguments: &Arguments) -> Result<usize, Refused> {
        let Meant { source, thread } = self.meant(arguments)?;
        match thread {
            Some(number) if self.executed(source)? != Some(number) => refused(
                "the task waits here, and its processor executes another one: `goto` leads to where \
                 it executes",
            ),
            _ => Ok(source),
        }
    }

    /// Whether several threads of a source are in the trace.
    fn has_threads(&self, source: usize) -> bool {
        let own = self.machine.threads().iter().flatten();
        own.filter(|thread| usize::from(thread.source) == source).nth(1).is_some()
    }

    /// The number of the thread that a source executes, where it has several and that is known.
    fn executed(&mut self, source: usize) -> Result<Option<u32>, FindError> {
        if !self.has_threads(source) {
            return Ok(None);
        }
        Ok(self.machine.stack(source)?.first().map(|frame| frame.thread))
    }

    /// The number in the protocol of the thread that a source executes.
    pub(crate) fn thread_id(&mut self, source: usize) -> Result<usize, FindError> {
        let own = self.executed(source)?;
        Ok(own.map_or(source + 1, |number| self.task_id(number)))
    }

    /// The number in the protocol of a thread.
    fn task_id(&self, number: u32) -> usize {
        self.plan.sources.len() + 1 + number as usize
    }

    /// The name of a thread of a source.
    fn thread_name(&self, source: usize, number: Option<u32>) -> String {
        let planned = self.plan.sources.get(source);
        let name = planned.map_or_else(String::new, |planned| planned.name.clone());
        let Some(number) = number else { return name };
        if let Some(Some(task)) = self.tasks.get(number as usize) {
            return format!("{name} {task}");
        }
        let thread = self.machine.threads().get(number as usize).copied().flatten();
        match thread.and_then(|thread| thread.id) {
            Some(id) => format!("{name} thread {id}"),
            None => format!("{name} thread without an identifier"),
        }
    }

    /// The threads: what sources with instructions execute, and tasks that wait.
    pub(crate) fn threads(&mut self) -> Result<Value, Refused> {
        let mut threads = Vec::new();
        for source in self.machine.sources().to_vec() {
            if self.stands(source)?.is_none() {
                continue;
            }
            let executed = self.executed(source)?;
            let mut name = self.thread_name(source, executed);
            match self.machine.at(source)? {
                None => name += ", nothing executed yet",
                Some(own) => {
                    if let Some(time) = own.time {
                        name += &format!(", time {time}");
                    }
                }
            }
            let id = executed.map_or(source + 1, |number| self.task_id(number));
            threads.push(json!({ "id": id, "name": name }));
            if executed.is_some() {
                for parked in self.machine.parked(source)? {
                    let name = self.thread_name(source, Some(parked.thread));
                    let id = self.task_id(parked.thread);
                    threads.push(json!({ "id": id, "name": format!("{name}, waits") }));
                }
            }
        }
        Ok(json!({ "threads": threads }))
    }

    /// The places of the frames of a thread.
    fn stack_of_thread(
        &mut self,
        Meant { source, thread }: Meant,
    ) -> Result<std::ops::Range<usize>, Refused> {
        let Some(number) = thread else { return Ok(self.stack_of(source)?) };
        if self.executed(source)? == Some(number) {
            return Ok(self.stack_of(source)?);
        }
        let known = self.frames.waiting.iter().find(|(own, _)| *own == number);
        if let Some((_, range)) = known {
            return Ok(range.clone());
        }
        let parked = self.machine.parked(source)?;
        let Some(parked) = parked.into_iter().find(|own| own.thread == number) else {
            return refused("the task has not executed yet, or has ended");
        };
        let first = self.frames.all.len();
        let mut shown = Vec::new();
        let mut above: Option<&Frame> = None;
        for (n, frame) in parked.frames.iter().enumerate() {
            if frame.uncertain && n > 0 && (n == 1 || above.is_some_and(|own| !own.uncertain)) {
                shown.push(Shown::lost(source));
            }
            self.show(source, n, frame, above, &mut shown);
            above = Some(frame);
        }
        // Its frames are none of the stack that its processor executes.
        for own in &mut shown {
            (own.can_restart, own.waits) = (false, true);
        }
        self.frames.all.extend(shown);
        let range = first..self.frames.all.len();
        self.frames.waiting.push((number, range.clone()));
        Ok(range)
    }

    /// The frames of a source, and the number of the first one.
    fn stack_of(&mut self, source: usize) -> Result<std::ops::Range<usize>, FindError> {
        let known = self.frames.stacks.iter().find(|(own, _)| *own == source);
        if let Some((_, range)) = known {
            return Ok(range.clone());
        }
        let first = self.frames.all.len();
        let stack = self.machine.stack(source)?;
        let here = self.stands(source)?;
        let mut shown = Vec::new();
        if stack.is_empty() {
            // It has executed nothing yet.
            let address = here.map(|own| own.address);
            let name = address.map_or_else(|| "[unknown]".into(), |at| format!("{at:#x}"));
            shown.push(Shown {
                source,
                frame: None,
                inlined: 0,
                address,
                looked_up: address,
                name,
                is_uncertain: false,
                can_restart: false,
                waits: false,
            });
        }
        let mut above: Option<&Frame> = None;
        for (n, frame) in stack.iter().enumerate() {
            // The innermost frame is where its address is, whatever was lost.
            if frame.uncertain && n > 0 && (n == 1 || above.is_some_and(|own| !own.uncertain)) {
                shown.push(Shown::lost(source));
            }
            self.show(source, n, frame, above, &mut shown);
            above = Some(frame);
        }
        self.frames.all.extend(shown);
        let range = first..self.frames.all.len();
        self.frames.stacks.push((source, range.clone()));
        Ok(range)
    }

    /// Shows a frame, and before it the functions that are inlined there.
    fn show(
        &mut self,
        source: usize,
        n: usize,
        frame: &Frame,
        above: Option<&Frame>,
        shown: &mut Vec<Shown>,
    ) {
        // A call returns to the instruction behind it, which may be of another line.
        let looked_up = match above {
            Some(above) if !above.interrupts => frame.address.map(|at| at.wrapping_sub(1)),
            _ => frame.address,
        };
        let name = self.machine.code().name(frame.function).into_owned();
        let inlined = looked_up.map_or(0, |at| self.program.at(at).inlined());
        for level in 0..=inlined {
            let own = looked_up.map(|at| self.program.at(at));
            let inner = own.as_ref().and_then(|own| own.functions.get(level));
            let inner = inner.and_then(|inner| inner.function.clone());
            let mut name = match level < inlined {
                true => inner.unwrap_or_else(|| "[inlined]".into()),
                false => name.clone(),
            };
            if level == inlined && frame.interrupts {
                name += match frame.entry {
                    FrameEntry::Exception(_) => " [exception]",
                    _ => " [handler]",
                };
            }
            shown.push(Shown {
                source,
                frame: Some(n),
                inlined: level,
                address: frame.address,
                looked_up,
                name,
                is_uncertain: n > 0 && frame.uncertain,
                can_restart: level == inlined
                    && !frame.uncertain
                    && frame.depth >= 0
                    && frame.entry != FrameEntry::Before,
                waits: false,
            });
        }
    }

    /// The answer to `stackTrace`.
    pub(crate) fn stack_trace(&mut self, arguments: &Arguments) -> Result<Value, Refused> {
        let meant = self.meant(arguments)?;
        let range = self.stack_of_thread(meant)?;
        let total = range.len();
        let start = arguments.count("startFrame")?.unwrap_or(0).min(total);
        let levels = arguments.count("levels")?.filter(|levels| *levels > 0);
        let levels = levels.unwrap_or(MOST_FRAMES).min(MOST_FRAMES).min(total - start);
        let mut frames = Vec::new();
        for n in start..start + levels {
            let place = range.start + n;
            let Some(shown) = self.frames.all.get(place).cloned() else { break };
            let id = self.frames.first + place + 1;
            frames.push(self.described(id, &shown));
        }
        Ok(json!({ "stackFrames": frames, "totalFrames": total }))
    }

    fn described(&mut self, id: usize, shown: &Shown) -> Value {
        let mut frame = Map::new();
        frame.insert("id".into(), id.into());
        frame.insert("name".into(), shown.name.as_str().into());
        let (mut line, mut column) = (0, 0);
        if let Some((file, own, at)) = self.line_of(shown) {
            frame.insert("source".into(), self.sources.describe(&self.program, file));
            (line, column) = (self.client.line_out(own), self.client.column_out(at));
        }
        frame.insert("line".into(), line.into());
        frame.insert("column".into(), column.into());
        if let Some(address) = shown.address {
            frame.insert("instructionPointerReference".into(), format!("{address:#x}").into());
        }
        frame.insert("canRestart".into(), shown.can_restart.into());
        let hint = match (shown.frame, shown.address, shown.is_uncertain) {
            (None, None, _) => "label",
            (.., true) => "subtle",
            _ => "normal",
        };
        frame.insert("presentationHint".into(), hint.into());
        Value::Object(frame)
    }

    /// The source file, the line and the column of a frame that is shown.
    pub(crate) fn line_of(&mut self, shown: &Shown) -> Option<(usize, u32, u32)> {
        let place = self.program.at(shown.looked_up?);
        if shown.inlined == 0 {
            let row = place.row?;
            return Some((row.line.file, row.line.line, row.column.max(1)));
        }
        let (path, line) = place.functions.get(shown.inlined)?.location.as_ref()?;
        Some((self.program.file(path)?, *line, 1)).filter(|(_, line, _)| *line > 0)
    }
}
