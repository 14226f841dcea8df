//! A capture of any format, from files with names.

use std::path::{Path, PathBuf};

use tracewright::capture::perf::{self, Search};
use tracewright::capture::{Found, Kind, Severity, probe_in};
use tracewright::decode::Options;
use tracewright::decode::raw::{RawFraming, RawTrace, Unit};
use tracewright::frames::Framing;
use tracewright::views::json::Object;
use tracewright::{Bytes, Capture, Files, ImageSource, Trace, open_files, read_raw};

use crate::reply::{Problem, texts};
use crate::request::Request;

/// The most notes that are passed on.
const MOST_NOTES: usize = 128;

/// A capture that is open.
pub(crate) struct Opened {
    pub(crate) trace: Trace,
    pub(crate) files: Files,
    /// The files by name.
    named: Vec<(PathBuf, Bytes)>,
    /// What was assumed, one text for each line.
    notes: Vec<String>,
    /// What was detected of raw trace data.
    detected: Option<String>,
}

/// Opens the capture at the `path` of `request`, one of `named` or a folder of them.
pub(crate) fn open(named: &[(PathBuf, Bytes)], request: &Request<'_>) -> Result<Opened, Problem> {
    request.only(&["path", "image", "binary", "protocol", "config", "framing", "skip"])?;
    let path = Path::new(request.needed("path")?);
    let files = Files::named(named.iter().cloned());
    let failed = |error: tracewright::OpenError| Problem::of(&error);
    let images = request.all("image").map(|image| image_of(&files, image));
    let images = images.collect::<Result<Vec<_>, _>>()?;
    let protocols = request.all("protocol").map(unit).collect::<Result<Vec<_>, _>>()?;
    let mut opened = Opened {
        trace: Trace::new(Capture::default()),
        files: files.clone(),
        named: named.to_vec(),
        notes: Vec::new(),
        detected: None,
    };
    let found = probe_in(&files, path).map_err(failed)?;
    let is_raw = matches!(found, Found::Raw | Found::Container(_)) || !protocols.is_empty();
    let (mut capture, options) = if is_raw && !matches!(found, Found::Program) {
        let raw = RawTrace {
            units: protocols,
            registers: request.all("config").map(str::to_owned).collect(),
            framing: request.get("framing").map_or(Ok(RawFraming::Auto), framing)?,
            skip: request.number("skip")?.unwrap_or(0),
            files: files.clone(),
            ..RawTrace::default()
        };
        let read = read_raw(path, raw, &images, None).map_err(failed)?;
        opened.notes = read.notes;
        opened.detected = read.detected.map(|best| best.summary().to_string());
        (read.capture, Options { framing: read.port, ..Options::default() })
    } else if matches!(found, Found::Perf) {
        let search = Search {
            binaries: request.all("binary").map(PathBuf::from).collect(),
            system: Some(PathBuf::from("/")),
            files: files.clone(),
            ..Search::default()
        };
        (perf::open(path, &search).map_err(failed)?, Options::default())
    } else {
        let trace = open_files(&files, path).map_err(failed)?;
        (trace.capture().clone(), Options::default())
    };
    for image in &images {
        capture.add_image(image).map_err(failed)?;
    }
    opened.trace = Trace::decoded_with(capture, options);
    Ok(opened)
}

/// `FILE` or `FILE@ADDRESS`, of `files`.
fn image_of(files: &Files, text: &str) -> Result<ImageSource, Problem> {
    let Some((file, address)) = text.rsplit_once('@').filter(|_| !files.exists(text.as_ref()))
    else {
        return Ok(ImageSource::of(files, text));
    };
    let number = match address.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => address.parse(),
    };
    let number = number.map_err(|_| Problem::bad(format!("`{address}` is not an address")))?;
    Ok(ImageSource::of(files, file).at(number))
}

/// `NAME` or `NAME@ID`.
fn unit(text: &str) -> Result<Unit, Problem> {
    let (protocol, id) = match text.split_once('@') {
        None => (text, None),
        Some((protocol, id)) => (protocol, Some(id)),
    };
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => u16::from_str_radix(digits, 16),
        None => text.parse(),
    };
    let bad = |_| Problem::bad(format!("`{text}` has to be NAME or NAME@ID"));
    Ok(Unit { protocol: protocol.to_owned(), id: id.map(number).transpose().map_err(bad)? })
}

/// The framing of raw trace data, by the names of the command.
fn framing(name: &str) -> Result<RawFraming, Problem> {
    const ALL: [Framing; 6] = [
        Framing::Coresight,
        Framing::Tpiu,
        Framing::TpiuHalf,
        Framing::TpiuHalfOnly,
        Framing::Dstream,
        Framing::Raw,
    ];
    match name {
        "auto" => return Ok(RawFraming::Auto),
        "encapsulated" => return Ok(RawFraming::Encapsulated),
        "etb" => return Ok(RawFraming::Etb),
        _ => {}
    }
    let found = ALL.into_iter().find(|framing| framing.option() == name);
    let unknown = || {
        let names = ALL.map(Framing::option).join(", ");
        Problem::bad(format!("`{name}` is no framing; known are auto, encapsulated, etb, {names}"))
    };
    found.map(RawFraming::Framed).ok_or_else(unknown)
}

impl Opened {
    /// The bytes of a file.
    pub(crate) fn bytes(&self, path: &Path) -> Option<Bytes> {
        self.named.iter().rev().find(|(name, _)| name == path).map(|(_, bytes)| bytes.clone())
    }

    /// The folders that the files are in.
    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        folders_of(self.named.iter().map(|(name, _)| name.as_path()))
    }

    /// The problems of the capture, as the command prints them before a listing.
    pub(crate) fn notes(&self) -> Vec<String> {
        let capture = self.trace.capture();
        let notes = capture.notes.iter().filter(|note| note.severity() > Severity::Info);
        let memory = self.trace.memory().problems.iter().map(ToString::to_string);
        let mut all: Vec<String> = notes.map(ToString::to_string).chain(memory).collect();
        all.extend(self.notes.iter().cloned());
        for note in self.trace.plans().iter().flat_map(|plan| plan.notes()) {
            let note = note.to_string();
            if !all.contains(&note) {
                all.push(note);
            }
        }
        all.truncate(MOST_NOTES);
        all
    }

    /// What lacks, for the page.
    pub(crate) fn lacks(&self) -> Vec<String> {
        let mut all = self.notes();
        all.extend(self.detected.iter().map(|what| format!("detected: {what}")));
        let plans = self.trace.plans();
        let mut sources = plans.iter().flat_map(|plan| &plan.sources);
        let traced = sources.any(|own| own.config.protocol().traces_instructions());
        let has_symbols =
            plans.iter().any(|plan| !self.trace.subject().code(plan).functions().is_empty());
        if traced && !has_symbols {
            let what = "no program has symbols: functions are shown by address; add the ELF file";
            all.push(what.to_owned());
        }
        if plans.len() > 1 {
            all.push("call stacks begin with each buffer".to_owned());
        }
        all
    }

    /// What was opened.
    pub(crate) fn json(&self) -> String {
        let capture = self.trace.capture();
        let kind = match capture.kind {
            Kind::Memory => "memory",
            Kind::Snapshot => "snapshot",
            Kind::Folder => "folder",
            Kind::Raw => "raw",
            Kind::Perf => "perf",
        };
        let mut out = String::new();
        Object::new(&mut out)
            .text("kind", kind)
            .maybe_text("detected", self.detected.as_deref())
            .list("buffers", self.trace.plans().iter().enumerate(), |(n, plan), out| {
                let buffer = capture.buffers.get(plan.buffer);
                Object::new(out)
                    .text("name", buffer.map_or("", |buffer| &buffer.name))
                    .number("bytes", buffer.map_or(0, |buffer| buffer.len()))
                    .list("sources", self.trace.sources_of(n), |source, out| {
                        Object::new(out)
                            .text("name", &source.name)
                            .text("protocol", source.protocol())
                            .end();
                    })
                    .end();
            })
            .value("notes", |out| texts(out, &self.notes()))
            .end();
        out
    }
}

/// The folders that contain files, those of each path from the outermost on.
fn folders_of<'a>(paths: impl Iterator<Item = &'a Path>) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = vec![PathBuf::new()];
    all.extend(paths.flat_map(|path| path.ancestors().skip(1)).map(Path::to_owned));
    all.sort_unstable();
    all.dedup();
    all
}
