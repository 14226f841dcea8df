//! `tracewright view`
//!
//! | file | contents |
//! |---|---|
//! | `serve.rs` | the server, also of a trace that grows |
//! | `browser.rs` | how a browser is started |

#[cfg(feature = "view")]
mod browser;
#[cfg(feature = "view")]
mod serve;

use std::io;
use std::path::{Path, PathBuf};

use tracewright::base::remedy::{BINARY, IMAGE};
use tracewright::capture::{Kind, read_regular};

use crate::about::About;
use crate::args::ViewArgs;
use crate::exported::{self, Exported};
use crate::fail::Fail;
use crate::index::{self, beside};
use crate::input::Input;
use crate::message;
use crate::output::Output;
use crate::report;
use crate::sources::Sources;
use crate::tasks;

/// The most bytes of the bookmarks.
const MOST_NOTES: u64 = 1 << 26;

/// Runs the verb.
pub fn run(args: &ViewArgs) -> Result<bool, Fail> {
    if args.how.committed {
        let why = "shows all elements";
        return Err(Fail::option("--committed", "of `view`", why));
    }
    let input = opened(args)?;
    report::notes(&input);
    check(&input)?;
    match &args.export {
        Some(path) => export(&input, args, path),
        None => serve(input, args),
    }
}

/// Opens a capture that can be viewed.
#[cfg(feature = "view")]
fn open(args: &ViewArgs) -> Result<Input, Fail> {
    let input = opened(args)?;
    check(&input)?;
    Ok(input)
}

/// Opens the capture, with all of its buffers if none is selected.
fn opened(args: &ViewArgs) -> Result<Input, Fail> {
    let mut input = Input::open(&args.input, Some(&args.how))?;
    if args.input.source.is_none() {
        input.buffers = (0..input.capture().buffers.len()).collect();
    }
    Ok(input)
}

/// Fails where the capture cannot be viewed.
fn check(input: &Input) -> Result<(), Fail> {
    input.readable(false)?;
    if input.decodable().is_err() {
        let why = "no source can be decoded; `tracewright decode` states what is missing";
        return Err(Fail::input(&input.path, why));
    }
    if index::is_piped(input) {
        return Err(Fail::input(&input.path, "a pipe cannot be viewed; write it to a file"));
    }
    Ok(())
}

#[cfg(not(feature = "view"))]
fn serve(_: Input, _: &ViewArgs) -> Result<bool, Fail> {
    Err(Fail::text(
        "this command was built without a server; use --export, or build it with \
         `cargo install --path crates/cli --features view`",
    ))
}

#[cfg(feature = "view")]
use serve::serve;

/// Writes the trace into a file.
fn export(input: &Input, args: &ViewArgs, path: &Path) -> Result<bool, Fail> {
    let inputs = index::inputs(input, &args.window.index);
    inputs.refuse_as("--export", Some(path))?;
    let mut output = Output::open(Some(path), &inputs)?;
    let tasks = tasks::files(&args.tasks)?;
    let index = exported::with_view(input, &args.window.index, &tasks)?;
    let window = args.window.window();
    let files = Sources::new(&args.source_roots);
    let all: Vec<_> = input.buffers.iter().flat_map(|&buffer| input.job(buffer).sources).collect();
    let sources: Vec<_> = all.into_iter().cloned().collect();
    let notes = notes_path(input);
    let exported = Exported {
        about: About::new(input.capture(), &sources, &args.input.input, &[]),
        report: None,
        window: (!window.is_all()).then_some(&window),
        index: index.as_ref(),
        tasks: &tasks,
        with_calls: true,
        jobs: args.threads.jobs().count,
        source_roots: &args.source_roots,
        read: &|path, _| files.whole(path),
        notes: &|| read_notes(&notes),
        lacks: lacks(input),
    };
    let (page, left_out) = exported::page(input, exported)?;
    files.refuse(Some(path))?;
    output.put(page.as_bytes());
    output.failed()?;
    output.close()?;
    files.print();
    for what in left_out {
        message::line(&format!("note: not in the file: {what}"));
    }
    Ok(report::is_traced(input))
}

/// The bookmarks of a capture: beside it.
fn notes_path(input: &Input) -> PathBuf {
    let mut path = beside(input, &input.path);
    path.set_extension("notes.json");
    path
}

fn read_notes(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match path.exists() {
        true => read_regular(path, MOST_NOTES).map(Some).map_err(io::Error::other),
        false => Ok(None),
    }
}

/// What lacks, for the page.
fn lacks(input: &Input) -> Vec<String> {
    let mut notes: Vec<String> = input.capture().notes.iter().map(ToString::to_string).collect();
    notes.extend(input.notes.iter().cloned());
    // ITM and STM need no program.
    let sources = input.buffers.iter().flat_map(|&buffer| &input.job(buffer).plan.sources);
    let mut protocols = sources.map(|source| source.config.protocol());
    let traced = protocols.any(|protocol| protocol.traces_instructions());
    let code = || input.trace.subject().code(input.job(input.buffers[0]).plan);
    if traced && code().functions().is_empty() {
        let option = match input.capture().kind {
            Kind::Perf => BINARY,
            _ => IMAGE,
        };
        notes.push(format!(
            "no program has symbols: functions are shown by address; give the program before it was \
             stripped with {option}"
        ));
    }
    if input.buffers.len() > 1 {
        notes.push("call stacks begin with each buffer".to_owned());
    }
    notes.iter().map(|note| crate::options::spelled(note)).collect()
}
