//! The server of `tracewright view`.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use tracewright::analysis::tasks::TaskFile;
use tracewright::capture::{Bytes, Replacement, read_regular};
use tracewright::index::{Index, Making};
use tracewright_viewer::{Answering, Files, Limits, Served, Server, part_of};

use super::{Fail, ViewArgs, browser, lacks, notes_path, read_notes};
use crate::exported;
use crate::index::{self, beside};
use crate::input::Input;
use crate::message;
use crate::output::Output;
use crate::report;
use crate::run::Progress;
use crate::tasks;

/// An index of at most this number of bytes of trace is not written to a file: it is made in a
/// second.
const SMALL: u64 = 1 << 24;

/// How often a growing trace is looked at.
const POLL: Duration = Duration::from_millis(200);

/// An index of a growing trace is made again after this many times the time that it took.
const PAUSES: u32 = 4;

/// A trace, and its index.
struct Version {
    input: Input,
    index: Index,
    /// Systems and names of tasks.
    tasks: Vec<TaskFile>,
    /// More may follow.
    growing: bool,
    /// The bytes of the files before they were opened; `None` where they are to be opened again.
    len: Option<u64>,
    /// How long the index took.
    took: Duration,
    /// Why it is not followed any more, if it cannot be read.
    ended: Option<String>,
}

/// Serves the trace, and what follows in it, until the command is interrupted.
pub(super) fn serve(input: Input, args: &ViewArgs) -> Result<bool, Fail> {
    let begin = Instant::now();
    let follow = args.follow.map(Duration::from_secs);
    let tasks = tasks::files(&args.tasks)?;
    let index = match follow {
        Some(_) => {
            exported::make(&input, &index::plans(&input), &tasks, args.threads.jobs().count)?
        }
        None => match exported::with_view(&input, &args.window.index, &tasks)? {
            Some(index) => index,
            None => make(&input, args, &tasks)?,
        },
    };
    // A recording may begin without trace.
    let is_traced = follow.is_some() || report::is_traced(&input);
    let notes = notes_path(&input);
    let save = |bytes: &[u8]| {
        let mut file = Replacement::new(&notes)?;
        file.write_all(bytes)?;
        file.finish()
    };
    let read_notes = || read_notes(&notes);
    let files = || Files {
        disk: tracewright::Files::default(),
        read: &|path: &Path, most| read_regular(path, most).map_err(io::Error::other),
        notes: &read_notes,
        save: if args.save_notes { Some(&save) } else { None },
        source_roots: args.source_roots.clone(),
        any_source: args.any_source,
    };
    let (growing, took) = (follow.is_some(), begin.elapsed());
    // It may have grown since it was opened: it is opened once more.
    let mut version = Version { input, index, tasks, growing, len: None, took, ended: None };
    let fragment = fragment(&version, files(), args)?;
    let idle = args.idle.map(Duration::from_secs);
    let limits =
        Limits { workers: args.threads.jobs().count.clamp(1, 4), idle, ..Limits::default() };
    let ended = |error: io::Error| Fail::text(&format!("the server ended: {error}"));
    let server = Server::new(args.port, limits, args.save_notes).map_err(ended)?;
    let address = format!("{}{fragment}", server.address());
    // Programs read the address from the first line.
    let mut out = io::stdout();
    writeln!(out, "{address}").and_then(|()| out.flush()).map_err(ended)?;
    let opened = if args.no_browser { None } else { browser::open(&address) };
    let mut failed = None;
    let done = server.run(std::future::pending(), |answering| {
        loop {
            let mut next = None;
            match served(&version, files()) {
                Err(error) => {
                    failed = Some(error);
                    return;
                }
                Ok(served) => answering.with(&served, || {
                    next = match (version.growing, follow) {
                        (true, Some(follow)) => grown(&version, args, follow, answering),
                        _ => {
                            while !answering.wait(Duration::from_secs(60)) {}
                            None
                        }
                    };
                }),
            }
            match next {
                Some(Next::More(more)) => version = *more,
                Some(Next::Complete(ended)) => {
                    ended.iter().for_each(|note| message::line(&format!("note: {note}")));
                    (version.growing, version.ended) = (false, ended);
                }
                None => return,
            }
        }
    });
    if let Some(page) = opened {
        // The browser has read it, and may have deleted it.
        let _ = fs::remove_file(page);
    }
    done.map_err(ended)?;
    match failed {
        Some(error) => Err(error),
        None => Ok(is_traced && (follow.is_none() || report::is_traced(&version.input))),
    }
}

/// What is served of a version.
fn served<'a>(version: &'a Version, files: Files<'a>) -> Result<Served<'a>, Fail> {
    let Version { input, index, .. } = version;
    let served = Served::new(&input.trace, index, files);
    let served = served.map_err(|error| Fail::input(&input.path, &error.to_string()))?;
    let mut served = served.with_tasks(&version.tasks);
    served.notes = lacks(input);
    served.notes.extend(version.ended.clone());
    served.growing = version.growing;
    // The first part of a trace that is recorded may be empty.
    match served.is_empty() && !version.growing && version.ended.is_none() {
        true => Err(Fail::input(&input.path, "no buffer has a source that can be decoded")),
        false => Ok(served),
    }
}

/// What the page shows first: the window of the command line.
fn fragment(version: &Version, files: Files<'_>, args: &ViewArgs) -> Result<String, Fail> {
    let served = served(version, files)?;
    let window = args.window.window();
    if window.is_all() {
        return Ok(String::new());
    }
    let part = part_of(&served, &window);
    let part = part.map_err(|error| Fail::input(&version.input.path, &error.to_string()))?;
    Ok(part.map_or_else(String::new, |(buffer, part)| {
        format!("#b={buffer}&v={}..{}", part.start, part.end)
    }))
}

/// What follows a version of a trace that is being recorded.
enum Next {
    More(Box<Version>),
    /// It does not grow any more, and a note if what it has become cannot be read.
    Complete(Option<String>),
}

/// Waits until the trace has grown, or has not for `follow`. `None` where the server has ended.
fn grown(
    version: &Version,
    args: &ViewArgs,
    follow: Duration,
    answering: &Answering,
) -> Option<Next> {
    // The index is made of the whole trace again: most of the time belongs to the page.
    if answering.wait(version.took * PAUSES) {
        return None;
    }
    let (mut last, mut since) = (length(&version.input), Instant::now());
    loop {
        let len = length(&version.input);
        if len != last {
            (last, since) = (len, Instant::now());
        }
        let mut ended = None;
        if Some(len) != version.len {
            let begin = Instant::now();
            // A file that is being written may not be complete: it is read again.
            let made = super::open(args).and_then(|input| {
                let (plans, jobs) = (index::plans(&input), args.threads.jobs().count);
                let index = exported::make(&input, &plans, &version.tasks, jobs)?;
                Ok((input, index))
            });
            match made {
                Ok((input, index)) => {
                    let took = begin.elapsed();
                    let (tasks, len) = (version.tasks.clone(), Some(len));
                    let more =
                        Version { input, index, tasks, growing: true, len, took, ended: None };
                    return Some(Next::More(Box::new(more)));
                }
                Err(error) => {
                    ended = Some(format!(
                        "the trace is not followed any more, and what was read of it before is \
                         shown: {error}"
                    ));
                }
            }
        }
        if since.elapsed() >= follow {
            return Some(Next::Complete(ended));
        }
        if answering.wait(POLL) {
            return None;
        }
    }
}

/// The bytes of the files of the trace as they are now. A recording has further buffers later.
fn length(input: &Input) -> u64 {
    let buffers = input.buffers.iter().map(|&buffer| &input.capture().buffers[buffer]);
    let files = buffers.flat_map(|buffer| &buffer.files).map(|file| file.path.as_path());
    let files: BTreeSet<&Path> = files.chain([input.capture().path.as_path()]).collect();
    let files = files.into_iter().filter_map(|path| fs::metadata(path).ok());
    files.filter(fs::Metadata::is_file).map(|file| file.len()).sum()
}

/// Makes an index with a view: in memory for a small trace, else beside the capture.
fn make(input: &Input, args: &ViewArgs, tasks: &[TaskFile]) -> Result<Index, Fail> {
    let failed = |error: &dyn std::fmt::Display| Fail::input(&input.path, &error.to_string());
    let jobs = args.threads.jobs().count;
    let making = Making { view: true, jobs, ..Making::default() };
    let buffers = input.buffers.iter().map(|&buffer| &input.capture().buffers[buffer]);
    let all: u64 = buffers.map(|buffer| buffer.len()).sum();
    let path = args.window.index.index.clone().unwrap_or_else(|| beside(input, &input.path));
    // A file of the user is not replaced, and a folder may not be written to.
    let mut file = match all > SMALL && !args.window.index.no_index && !path.exists() {
        true => Output::open(Some(&path), &input.inputs).ok(),
        false => None,
    };
    let mut progress = Progress::new(Some(all), true);
    let mut bytes = Vec::new();
    let write = |part: &[u8], at: u64| {
        progress.show(at, String::new);
        match &mut file {
            Some(file) => file.write_all(part)?,
            None => bytes.extend_from_slice(part),
        }
        Ok(true)
    };
    let done = input.trace.subject().make_with(&index::plans(input), &making, tasks, write);
    progress.end();
    done.map_err(|error| failed(&error))?;
    let bytes = match file {
        None => Bytes::from(bytes),
        Some(file) => {
            file.close()?;
            message::line(&format!("note: the index is in {}", path.display()));
            tracewright::capture::read_file(&path).map_err(|error| failed(&error))?
        }
    };
    Index::read(bytes).map_err(|error| failed(&error))
}
