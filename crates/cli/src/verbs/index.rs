//! `tracewright index`

use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use tracewright::analysis::tasks::TaskFile;
use tracewright::capture::{Growing, read_file};
use tracewright::decode::input::pause;
use tracewright::index::{Index, Making, Shape};

use crate::args::IndexArgs;
use crate::fail::Fail;
use crate::index::{beside, plans};
use crate::input::Input;
use crate::inputs::is_standard;
use crate::message;
use crate::output::Output;
use crate::report;
use crate::run::Progress;
use crate::tasks;

/// How often a growing trace is looked at.
const POLL: Duration = Duration::from_millis(200);

/// Runs the verb.
pub fn run(args: &IndexArgs) -> Result<bool, Fail> {
    let input = open(args)?;
    report::notes(&input);
    let path = args.output.clone().unwrap_or_else(|| beside(&input, &input.path));
    let making = Making {
        shape: args.segment.map_or_else(Shape::default, Shape::with_segment),
        full: args.full,
        view: !args.no_view,
        jobs: args.threads.jobs().count,
        ..Making::default()
    };
    if let Some(seconds) = args.follow {
        if is_standard(&path) {
            let why = "--follow writes the index again and again; name a file";
            return Err(Fail::option("--output", &path.to_string_lossy(), why));
        }
        input.inputs.refuse(Some(&path))?;
        follow(args, input, &path, &making, Duration::from_secs(seconds))?;
    } else {
        let mut output = Output::open(Some(&path), &input.inputs)?;
        let mut written = true;
        let write = |bytes: &[u8]| {
            let done = output.write_all(bytes);
            written = done.is_ok();
            done
        };
        make(&input, &making, &tasks::files(&args.tasks)?, write).map_err(
            |error| match written {
                true => Fail::input(&input.path, &error.to_string()),
                false => Fail::write(Some(&path), &error),
            },
        )?;
        output.close()?;
        if !report::is_traced(&input) {
            return Ok(false);
        }
        if is_standard(&path) {
            return Ok(true);
        }
    }
    sizes(&path)
}

/// Opens the capture, with all of its buffers if none is selected.
fn open(args: &IndexArgs) -> Result<Input, Fail> {
    if args.how.committed {
        return Err(Fail::option("--committed", "of `index`", "an index has all elements"));
    }
    let mut input = Input::open(&args.input, Some(&args.how))?;
    if args.input.source.is_none() {
        input.buffers = (0..input.capture().buffers.len()).collect();
    }
    input.readable(false)?;
    input.decodable()?;
    if input.buffers.iter().any(|&buffer| input.capture().buffers[buffer].is_piped()) {
        return Err(Fail::input(&input.path, "a pipe has no index; write the trace to a file"));
    }
    Ok(input)
}

/// Makes the index of `input`.
fn make(
    input: &Input,
    making: &Making,
    tasks: &[TaskFile],
    mut write: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let all: u64 = input.buffers.iter().map(|&buffer| input.capture().buffers[buffer].len()).sum();
    let mut progress = Progress::new(Some(all), true);
    let done = input.trace.subject().make_with(&plans(input), making, tasks, |bytes, at| {
        progress.show(at, String::new);
        write(bytes).map(|()| true)
    });
    progress.end();
    done
}

/// Extends the index at `path` until the trace has not grown for `idle`, and completes it.
fn follow(
    args: &IndexArgs,
    mut input: Input,
    path: &Path,
    making: &Making,
    idle: Duration,
) -> Result<(), Fail> {
    let failed = |error: io::Error| Fail::write(Some(path), &error);
    let growing = Making { growing: true, ..*making };
    let (mut grown, mut len) = (Instant::now(), 0);
    loop {
        let now: u64 = input.buffers.iter().map(|&b| input.capture().buffers[b].len()).sum();
        let last = now == len && grown.elapsed() >= idle;
        if now != len {
            (grown, len) = (Instant::now(), now);
        }
        if last || now != 0 {
            let making = if last { making } else { &growing };
            extend(&input, path, making).map_err(failed)?;
        }
        if last {
            return Ok(());
        }
        pause(POLL);
        input = open(args)?;
    }
}

/// Extends the index at `path`, or makes it where it cannot be extended.
fn extend(input: &Input, path: &Path, making: &Making) -> io::Result<()> {
    let (subject, plans) = (input.trace.subject(), plans(input));
    let index = read_file(path).ok().and_then(|bytes| Index::read(bytes).ok());
    let index =
        index.filter(|index| index.is_full() == making.full && subject.is_of(index, &plans));
    match index {
        Some(index) => {
            let mut file = Growing::extend(path, index.used())?;
            subject.extend(&index, &plans, making, |bytes, _| file.append(bytes).map(|()| true))
        }
        None => {
            let mut file = Growing::create(path)?;
            // The first part may be completed later.
            let growing = Making { growing: true, ..*making };
            subject.make(&plans, &growing, |bytes, _| file.append(bytes).map(|()| true))?;
            if making.growing { Ok(()) } else { extend(input, path, making) }
        }
    }
}

/// Prints the size of the index, by section. Returns whether it has trace.
fn sizes(path: &Path) -> Result<bool, Fail> {
    let unreadable = |why: String| Fail::input(path, &why);
    let index = Index::read(read_file(path).map_err(|why| unreadable(why.to_string()))?);
    let index = index.map_err(|error| unreadable(error.to_string()))?;
    let trace: u64 = index.buffers().iter().map(|buffer| buffer.covered()).sum();
    if trace == 0 {
        message::line(&format!(
            "note: {}: {} bytes, an index of no trace",
            path.display(),
            index.used()
        ));
        return Ok(false);
    }
    let segments: usize = index.buffers().iter().map(|buffer| buffer.len()).sum();
    let share = |bytes: u64| bytes as f64 * 100.0 / trace as f64;
    let mut text = format!(
        "{}: {} bytes, {:.2} % of {trace} bytes of trace, {segments} segments",
        path.display(),
        index.used(),
        share(index.used())
    );
    for (name, bytes) in index.sizes() {
        text += &format!("; {name} {:.2} %", share(bytes));
    }
    message::line(&text);
    let unfound = index.buffers().iter().filter(|buffer| buffer.is_without_restarts());
    for buffer in unfound {
        message::line(&format!(
            "note: {}: no decoder can restart in it, as its state is never found again; each window is \
             decoded from the beginning",
            buffer.name()
        ));
    }
    Ok(true)
}
