//! `tracewright view`

use crate::args::ViewArgs;
use crate::fail::Fail;

/// Runs the verb.
#[cfg(not(feature = "view"))]
pub fn run(_: &ViewArgs) -> Result<bool, Fail> {
    Err(Fail::text(
        "this command was built without a viewer; build it with \
         `cargo install --path crates/cli --features view`",
    ))
}

#[cfg(feature = "view")]
pub use with_viewer::run;

#[cfg(feature = "view")]
mod with_viewer {
    use std::ffi::OsString;
    use std::fs::{self, OpenOptions};
    use std::io::{self, Write};
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use tracewright::capture::{Bytes, Replacement, read_regular};
    use tracewright::index::{Index, Making};
    use tracewright_viewer::{Files, Limits, Served, Token, serve};

    use super::{Fail, ViewArgs};
    use crate::index::{self, beside};
    use crate::input::Input;
    use crate::message;
    use crate::output::Output;
    use crate::report;
    use crate::run::Progress;

    /// An index of at most this number of bytes of trace is not written to a file: it is made in a
    /// second.
    const SMALL: u64 = 1 << 24;

    /// The most bytes of the bookmarks.
    const MOST_NOTES: u64 = 1 << 26;

    pub fn run(args: &ViewArgs) -> Result<bool, Fail> {
        if args.how.committed {
            let why = "shows all elements";
            return Err(Fail::option("--committed", "of `view`", why));
        }
        let mut input = Input::open(&args.input, Some(&args.how))?;
        if args.input.source.is_none() {
            input.buffers = (0..input.capture().buffers.len()).collect();
        }
        report::notes(&input);
        input.readable(false)?;
        input.decodable()?;
        if input.buffers.iter().any(|&buffer| input.capture().buffers[buffer].is_piped()) {
            return Err(Fail::input(&input.path, "a pipe cannot be viewed; write it to a file"));
        }
        let index = match index::open(&input, &args.index)?.filter(Index::has_view) {
            Some(index) => index,
            None => make(&input, args)?,
        };
        let notes = notes_path(&input);
        let read = |path: &Path, most| read_regular(path, most).map_err(other);
        let read_notes = || match notes.exists() {
            true => read_regular(&notes, MOST_NOTES).map(Some).map_err(other),
            false => Ok(None),
        };
        let save = |bytes: &[u8]| {
            let mut file = Replacement::new(&notes)?;
            file.write_all(bytes)?;
            file.finish()
        };
        let files = Files {
            read: &read,
            notes: &read_notes,
            save: if args.save_notes { Some(&save) } else { None },
            source_roots: args.source_roots.clone(),
            any_source: args.any_source,
        };
        let damaged = |error: &dyn std::fmt::Display| Fail::input(&input.path, &error.to_string());
        let served = Served::new(&input.trace, &index, files).map_err(|error| damaged(&error))?;
        let mut served = served;
        served.notes = lacks(&input);
        if served.is_empty() {
            return Err(Fail::input(&input.path, "no buffer has a source that can be decoded"));
        }
        let idle = args.idle.map(Duration::from_secs);
        let limits =
            Limits { workers: args.threads.jobs().count.clamp(1, 4), idle, ..Limits::default() };
        let mut opened = None;
        let ready = |address: &str| {
            // Programs read the address from the first line.
            let mut out = io::stdout();
            writeln!(out, "{address}")?;
            out.flush()?;
            if !args.no_browser {
                opened = open(address);
            }
            Ok(())
        };
        let done = serve(&served, args.port, limits, ready, std::future::pending());
        if let Some(page) = opened {
            // The browser has read it, and may have deleted it.
            let _ = fs::remove_file(page);
        }
        done.map_err(|error| Fail::text(&format!("the server ended: {error}")))?;
        Ok(report::is_traced(&input))
    }

    fn other(error: impl std::fmt::Display) -> io::Error {
        io::Error::other(error.to_string())
    }

    /// What lacks, for the page.
    fn lacks(input: &Input) -> Vec<String> {
        let mut notes: Vec<String> =
            input.capture().notes.iter().map(ToString::to_string).collect();
        notes.extend(input.notes.iter().cloned());
        // ITM and STM need no program.
        let sources = input.buffers.iter().flat_map(|&buffer| &input.job(buffer).plan.sources);
        let mut protocols = sources.map(|source| source.config.protocol());
        let traced = protocols.any(|protocol| protocol.traces_instructions());
        let code = || input.trace.subject().code(input.job(input.buffers[0]).plan);
        if traced && code().functions().is_empty() {
            notes.push(
                "no program has symbols: functions are shown by address; give --image".to_owned(),
            );
        }
        if input.buffers.len() > 1 {
            notes.push("call stacks begin with each buffer".to_owned());
        }
        notes.iter().map(|note| crate::options::spelled(note)).collect()
    }

    /// The bookmarks of a capture: beside it.
    fn notes_path(input: &Input) -> PathBuf {
        let mut path = beside(input, &input.path);
        path.set_extension("notes.json");
        path
    }

    /// Makes an index with a view: in memory for a small trace, else beside the capture.
    fn make(input: &Input, args: &ViewArgs) -> Result<Index, Fail> {
        let failed = |error: &dyn std::fmt::Display| Fail::input(&input.path, &error.to_string());
        let jobs = args.threads.jobs().count;
        let making = Making { view: true, jobs, ..Making::default() };
        let buffers = input.buffers.iter().map(|&buffer| &input.capture().buffers[buffer]);
        let all: u64 = buffers.map(|buffer| buffer.len()).sum();
        let path = args.index.index.clone().unwrap_or_else(|| beside(input, &input.path));
        // A file of the user is not replaced, and a folder may not be written to.
        let mut file = match all > SMALL && !args.index.no_index && !path.exists() {
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
        let done = input.trace.subject().make(&index::plans(input), &making, write);
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

    /// Opens the browser by way of a file that only the user can read: the arguments of a program
    /// can be seen by all users. Returns the file.
    fn open(address: &str) -> Option<PathBuf> {
        let page = write_page(address);
        let page =
            page.map_err(|error| message::line(&format!("note: no browser: {error}"))).ok()?;
        if !start_browser(&page) {
            message::line("note: no browser was started; open the address above");
        }
        Some(page)
    }

    /// A file that leads to the address.
    fn write_page(address: &str) -> io::Result<PathBuf> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        // A name that is taken is another user's.
        let random = Token::random()?;
        let random = random.text().get(..16).unwrap_or_default();
        let name = format!("tracewright-{random}.html");
        let path = std::env::temp_dir().join(name);
        let mut file = options.open(&path)?;
        write!(
            file,
            "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">\
             <meta http-equiv=\"refresh\" content=\"0;url={address}\"><title>Tracewright</title>"
        )?;
        Ok(path)
    }

    /// The programs that open a page.
    fn browsers() -> Vec<OsString> {
        let own = std::env::var_os("BROWSER").filter(|own| !own.is_empty());
        let mut all: Vec<OsString> = own.into_iter().collect();
        if cfg!(target_os = "macos") {
            all.push("open".into());
        } else if cfg!(windows) {
            all.push("explorer".into());
        } else {
            all.push("xdg-open".into());
        }
        all
    }

    fn start_browser(page: &Path) -> bool {
        browsers().into_iter().any(|program| {
            let mut command = Command::new(program);
            command.arg(page);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            command.spawn().is_ok()
        })
    }
}
