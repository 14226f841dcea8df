//! The system that a `perf.data` file describes: machine, trace by CPU, processes, files.

use std::collections::BTreeMap;
use std::fmt::Write;

use tracewright_base::remedy::{BINARY, FORMAT, SYMFS};
use tracewright_capture::perf::hex;
use tracewright_capture::plain::line;
use tracewright_capture::{Capture, Linux, Queue};

use crate::json::Object;

/// The most processes and files in the text.
const MAX_LISTED: usize = 64;

/// The system that was traced.
#[derive(Clone, Debug, Default)]
pub struct LinuxInfo {
    /// About the machine and the recording: name and text.
    pub about: Vec<(String, String)>,
    /// The trace of each CPU or thread.
    pub queues: Vec<QueueInfo>,
    /// Process, name and bytes of the trace that was recorded while one of its threads ran, the
    /// largest first. `None` where no thread is recorded.
    pub processes: Vec<(Option<u32>, Option<String>, u64)>,
    /// The files with the recorded code.
    pub modules: Vec<ModuleInfo>,
}

/// The trace of one CPU or thread.
#[derive(Clone, Debug)]
pub struct QueueInfo {
    /// `cpu7` or `thread123`.
    pub name: String,
    /// AUX records with bytes.
    pub records: u64,
    /// Bytes.
    pub bytes: u64,
    /// Records that report a loss.
    pub losses: u64,
}

/// A file with recorded code.
#[derive(Clone, Debug)]
pub struct ModuleInfo {
    /// The path on the traced machine.
    pub path: String,
    /// The build ID in hexadecimal, where it is recorded.
    pub build_id: Option<String>,
    /// The file that was read; `None` where none was found.
    pub found: Option<String>,
}

impl LinuxInfo {
    /// Describes `linux` of `capture`.
    pub fn of(capture: &Capture, linux: &Linux) -> LinuxInfo {
        let queues = linux.queues.iter().map(|(queue, totals)| QueueInfo {
            name: match queue {
                Queue::Cpu(cpu) => format!("cpu{cpu}"),
                Queue::Thread(thread) => format!("thread{thread}"),
            },
            records: totals.records,
            bytes: totals.bytes,
            losses: totals.losses,
        });
        let mut volumes: BTreeMap<Option<u32>, (Option<String>, u64)> = BTreeMap::new();
        for (part, buffer) in linux.parts.iter().zip(&capture.buffers) {
            let thread = part.thread.and_then(|id| linux.spaces.thread(id, part.moment));
            let process = thread.map(|thread| thread.process).or(part.thread);
            let volume = volumes.entry(process).or_default();
            volume.1 += buffer.len();
            // A process has the name of the program that it executed last.
            if let Some(name) = thread.and_then(|thread| thread.name.clone()) {
                volume.0 = Some(name);
            }
        }
        let volumes = volumes.into_iter();
        let mut processes: Vec<_> =
            volumes.map(|(process, (name, bytes))| (process, name, bytes)).collect();
        processes.sort_by_key(|(process, _, bytes)| (u64::MAX - bytes, *process));
        let modules = linux.spaces.modules().iter().map(|module| ModuleInfo {
            path: module.path.clone(),
            build_id: module.build_id.as_deref().map(hex),
            found: module.found.as_ref().map(|path| path.to_string_lossy().into_owned()),
        });
        LinuxInfo {
            about: linux.about.clone(),
            queues: queues.collect(),
            processes,
            modules: modules.collect(),
        }
    }

    /// Appends paragraphs.
    pub(super) fn text(&self, out: &mut String) {
        for (name, value) in &self.about {
            let _ = writeln!(out, "{}: {}", line(name), line(value));
        }
        out.push_str("\ntrace:\n");
        for QueueInfo { name, records, bytes, losses } in &self.queues {
            let _ = writeln!(
                out,
                "  {name}: {bytes} bytes in {records} records, {losses} of which report a loss"
            );
        }
        if self.queues.is_empty() {
            out.push_str("  none\n");
        }
        out.push_str("\nprocesses, by the thread of each record:\n");
        for (process, name, bytes) in self.processes.iter().take(MAX_LISTED) {
            let name = name.as_deref().unwrap_or("no name");
            let _ = match process {
                Some(process) => writeln!(out, "  {process} ({}): {bytes} bytes", line(name)),
                None => writeln!(out, "  unknown: {bytes} bytes"),
            };
        }
        more(self.processes.len(), "processes", out);
        let (found, missing): (Vec<_>, Vec<_>) =
            self.modules.iter().partition(|module| module.found.is_some());
        let _ = writeln!(out, "\nfiles found: {}", found.len());
        for module in found.iter().take(MAX_LISTED) {
            let file = module.found.as_deref().unwrap_or_default();
            let _ = writeln!(out, "  {}: {}", line(&module.path), line(file));
        }
        more(found.len(), "files", out);
        let _ = writeln!(out, "\nfiles not found: {}", missing.len());
        for module in missing.iter().take(MAX_LISTED) {
            let id = module.build_id.as_deref().unwrap_or("none recorded");
            let _ = writeln!(out, "  {}: build ID {id}", line(&module.path));
        }
        more(missing.len(), "files", out);
        if !missing.is_empty() {
            let _ = writeln!(out, "  give them with {SYMFS} FOLDER or {BINARY} FILE");
        }
    }

    /// Writes an object for the system, and one for each queue, process and file.
    pub(super) fn json(&self, mut line: impl FnMut(&dyn Fn(&mut String))) {
        for (name, value) in &self.about {
            line(&|out| {
                Object::new(out).text("type", "about").text("name", name).text("text", value).end();
            });
        }
        for queue in &self.queues {
            line(&|out| {
                Object::new(out)
                    .text("type", "queue")
                    .text("name", &queue.name)
                    .number("records", queue.records)
                    .number("bytes", queue.bytes)
                    .number("losses", queue.losses)
                    .end();
            });
        }
        for (process, name, bytes) in &self.processes {
            line(&|out| {
                Object::new(out)
                    .text("type", "process")
                    .maybe_number("process", process.map(u64::from))
                    .maybe_text("command", name.as_deref())
                    .number("bytes", *bytes)
                    .end();
            });
        }
        for module in &self.modules {
            line(&|out| {
                Object::new(out)
                    .text("type", "file")
                    .text("path", &module.path)
                    .maybe_text("build_id", module.build_id.as_deref())
                    .maybe_text("found", module.found.as_deref())
                    .end();
            });
        }
    }
}

fn more(count: usize, what: &str, out: &mut String) {
    if count > MAX_LISTED {
        let _ = writeln!(out, "  {} more {what}; `{FORMAT} json` lists them", count - MAX_LISTED);
    }
}
