//! Files that show a trace in a browser without a server: of `report` and of `view --export`.

use std::io;
use std::path::{Path, PathBuf};

use tracewright::analysis::tasks::TaskFile;
use tracewright::capture::Bytes;
use tracewright::decode::Plan;
use tracewright::index::{Index, Making, Window};
use tracewright_viewer::{Exporting, Files, MOST_EXPORTED, Served, export, part_of};

use crate::about::About;
use crate::args::UseIndexArgs;
use crate::fail::Fail;
use crate::index;
use crate::input::Input;
use crate::message;
use crate::report;

/// Reads a file of at most a number of bytes.
pub type Read<'a> = dyn Fn(&Path, u64) -> io::Result<Vec<u8>> + Sync + 'a;

/// What is written.
pub struct Exported<'a> {
    /// What the file is about.
    pub about: About,
    /// Results of decoding the trace, as JSON.
    pub report: Option<String>,
    /// The part that is shown first, and in detail.
    pub window: Option<&'a Window>,
    /// An index with a view, where there is one.
    pub index: Option<&'a Index>,
    /// Systems and names of tasks.
    pub tasks: &'a [TaskFile],
    /// The calls over time are of all elements: without them, where only others are wanted.
    pub with_calls: bool,
    /// Threads that make the index.
    pub jobs: usize,
    /// Folders with source files.
    pub source_roots: &'a [PathBuf],
    /// Reads source files.
    pub read: &'a Read<'a>,
    /// The bookmarks that were saved.
    pub notes: &'a (dyn Fn() -> io::Result<Option<Vec<u8>>> + Sync),
    /// What lacks, a sentence each.
    pub lacks: Vec<String>,
}

/// The page with the trace of `input`, and what was left out of it.
pub fn page(input: &Input, how: Exported<'_>) -> Result<(String, Vec<String>), Fail> {
    let failed = |error: &dyn std::fmt::Display| Fail::input(&input.path, &error.to_string());
    let made;
    let index = match how.index {
        Some(index) => index,
        None => {
            // Of a pipe there is no trace any more.
            let plans = match how.with_calls && !index::is_piped(input) {
                true => index::plans(input),
                false => Vec::new(),
            };
            made = make(input, &plans, how.tasks, how.jobs)?;
            &made
        }
    };
    let files = Files {
        disk: tracewright::Files::default(),
        read: how.read,
        notes: how.notes,
        save: None,
        source_roots: how.source_roots.to_vec(),
        any_source: false,
    };
    let served = Served::new(&input.trace, index, files).map_err(|error| failed(&error))?;
    let mut served = served.with_tasks(how.tasks);
    served.notes = how.lacks;
    let part = match how.window {
        Some(window) if !served.is_empty() => {
            part_of(&served, window).map_err(|error| failed(&error))?
        }
        _ => None,
    };
    if part.is_none() && how.window.is_some() && !served.is_empty() {
        report::nothing_selected(input);
        let what = "nothing is in the selection: the whole trace is shown";
        served.notes.push(what.to_owned());
    }
    let exporting = Exporting {
        title: how.about.title,
        about: how.about.rows,
        part,
        report: how.report,
        most: MOST_EXPORTED,
    };
    export(&served, &exporting).map_err(|error| failed(&error))
}

/// The index of `args` or the one beside the capture, if it has a view, with the tasks of these
/// systems.
pub fn with_view(
    input: &Input,
    args: &UseIndexArgs,
    tasks: &[TaskFile],
) -> Result<Option<Index>, Fail> {
    let Some(index) = index::open(input, args)?.filter(Index::has_view) else { return Ok(None) };
    if index.tasks() == input.trace.subject().tasks_checksum(&index::plans(input), tasks) {
        return Ok(Some(index));
    }
    message::line(
        "note: the index is not used: the tasks in its call stacks are those of other systems; \
         `tracewright index` makes it again",
    );
    Ok(None)
}

/// An index with a view, in memory.
pub fn make(input: &Input, plans: &[Plan], tasks: &[TaskFile], jobs: usize) -> Result<Index, Fail> {
    let failed = |error: &dyn std::fmt::Display| Fail::input(&input.path, &error.to_string());
    let making = Making { view: true, jobs, ..Making::default() };
    let mut bytes = Vec::new();
    let write = |part: &[u8], _: u64| {
        bytes.extend_from_slice(part);
        Ok(true)
    };
    let done = input.trace.subject().make_with(plans, &making, tasks, write);
    done.map_err(|error| failed(&error))?;
    Index::read(Bytes::from(bytes)).map_err(|error| failed(&error))
}
