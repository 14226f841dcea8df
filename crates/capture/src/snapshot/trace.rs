//! Trace metadata: buffers, and their links to sources and cores. (Arm *Reference CoreSight Trace
//! Decoder: API Specifications and Component Design*, 4.2.3)

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::Path;

use super::reader::{Doc, Reader, location_words};
use crate::buffer::{Buffer, Format};
use crate::buffer_file::File;
use crate::capture::Capture;
use crate::device::BufferRef;
use crate::ini::list;
use crate::limits::MAX_LINKS;
use crate::names::Names;
use crate::number::number;
use crate::origin::Origin;
use crate::origin::shortened;
use crate::problem::{OpenError, Problem};

/// Reads the file of trace metadata into `capture`. `at` is the origin of its entry in the
/// index.
pub(super) fn read(
    reader: &mut Reader,
    capture: &mut Capture,
    at: Origin,
    file: &str,
) -> Result<(), OpenError> {
    let path = reader.path(&at, file);
    let text = reader.text(&path).map_err(|problem| match problem {
        Problem::Unreadable(reason) => {
            OpenError::at(at, Problem::TraceUnreadable { file: file.to_owned(), reason })
        }
        Problem::OutsideDescription(_) => OpenError::at(at, problem),
        problem => OpenError::new(&path, problem),
    })?;
    let doc = Doc::new(&path, &text);

    let section = reader
        .section(&doc, "trace_buffers")
        .ok_or_else(|| OpenError::new(&path, Problem::NoSection("trace_buffers")))?;
    let Some((names, at)) = section.value("buffers") else {
        return Err(OpenError::at(section.origin, Problem::NoKey("buffers")));
    };
    let mut ids: Vec<&str> = list(names).collect();
    let mut used: Vec<String> = ids.iter().map(|id| id.to_ascii_lowercase()).collect();
    used.extend(["trace_buffers", "core_trace_sources", "source_buffers"].map(str::to_owned));
    reader.malformed(&doc, &used.iter().map(String::as_str).collect::<Vec<_>>());

    // Buffers are in the order of their sections, as OpenCSD's lister has them.
    ids.sort_by_cached_key(|id| doc.place(id).unwrap_or(usize::MAX));
    let (mut listed, mut names) = (Vec::new(), HashSet::new());
    for id in ids {
        match buffer(reader, &doc, id) {
            Some((origin, runs)) => {
                let first = capture.buffers.len();
                let name = runs.first().map(|b| b.name.clone()).unwrap_or_default();
                capture.buffers.extend(runs);
                let own = first..capture.buffers.len();
                if !names.insert(name.clone()) {
                    reader.note(origin, Problem::DuplicateBuffer(name.clone()));
                }
                listed.push(Listed { id: id.to_owned(), name, buffers: own });
            }
            None => reader.note(at.clone(), Problem::BufferNoSection(id.to_owned())),
        }
    }
    link_buffers(reader, &doc, capture, &listed);
    link_cores(reader, &doc, capture);
    check(reader, &path, capture);
    Ok(())
}

/// A buffer that `[trace_buffers]` lists.
struct Listed {
    /// The section of the buffer. Some captures refer to a buffer by its section instead of its
    /// name.
    id: String,
    name: String,
    /// Indices of the buffers in the capture: several where files between them are missing.
    buffers: Range<usize>,
}

/// Reads the section of one buffer. The files after a missing file form a separate buffer, as their
/// trace data do not continue those before it.
fn buffer(reader: &mut Reader, doc: &Doc<'_>, id: &str) -> Option<(Origin, Vec<Buffer>)> {
    let section = reader.section(doc, id)?;
    let origin = section.origin.clone();
    let given = |key: &str| section.value(key).filter(|(text, _)| !text.is_empty());
    let name = match given("name") {
        Some((name, _)) => name.to_owned(),
        None => {
            let problem = Problem::BufferNoKey("name", "the name of the section is used");
            reader.note(origin.clone(), problem);
            id.to_owned()
        }
    };
    let format = match given("format") {
        Some((word, at)) => {
            let format = Format::from_word(word);
            if let Format::Other(word) = &format
                && !reader.files.access().knows_format(word)
            {
                reader.note(at, Problem::UnknownFormat(word.clone()));
            }
            format
        }
        None => {
            reader.note(origin.clone(), Problem::BufferNoKey("format", "coresight is assumed"));
            Format::CoreSight
        }
    };
    let mut buffer = Buffer::empty(name, format);
    buffer.device = given("device").map(|(name, _)| name.to_owned());
    let Some((files, at)) = given("file") else {
        reader.note(origin.clone(), Problem::BufferNoKey("file", "so the buffer is empty"));
        return Some((origin, vec![buffer]));
    };
    let mut runs = Vec::new();
    let mut names = list(files).peekable();
    while let Some(name) = names.next() {
        if reader.has_all_files(&at) {
            break;
        }
        let (path, trace) = reader.trace(&at, name);
        match trace {
            Ok((bytes, pipe)) => {
                buffer.files.push(File {
                    name: name.to_owned(),
                    path,
                    bytes,
                    pipe,
                    spooled: false,
                });
            }
            Err(reason) => {
                let more = names.peek().is_some();
                let problem = Problem::BufferUnreadable { file: name.to_owned(), reason, more };
                reader.note(at.clone(), problem);
                let (start, format) = (&runs.first().unwrap_or(&buffer).name, &buffer.format);
                let name = format!("{start} after {name}");
                let rest = Buffer::empty(name, format.clone());
                runs.push(std::mem::replace(&mut buffer, rest));
            }
        }
    }
    if runs.is_empty() || !buffer.files.is_empty() {
        runs.push(buffer);
    }
    if runs.iter().any(|run| !run.files.is_empty()) && runs.iter().all(Buffer::is_empty) {
        reader.note(at, Problem::BufferEmpty);
    }
    Some((origin, runs))
}

/// `[source_buffers]`: `SOURCE=BUFFER,BUFFER`, the source with an optional suffix `(stream:N)`.
fn link_buffers(reader: &mut Reader, doc: &Doc<'_>, capture: &mut Capture, listed: &[Listed]) {
    let Some(section) = reader.lines(doc, "source_buffers") else {
        // A buffer of several sources may contain every source; a single buffer contains all of
        // them.
        let single = listed.len() == 1;
        if capture.buffers.len().saturating_mul(capture.sources.len()) > MAX_LINKS {
            let problem = Problem::TooMany("links of sources to buffers", MAX_LINKS);
            return reader.note(Origin::file(doc.path), problem);
        }
        for (n, buffer) in capture.buffers.iter().enumerate() {
            if single || buffer.format.holds_several() {
                for source in &mut capture.sources {
                    source.buffers.push(BufferRef { buffer: n, stream: None });
                }
            }
        }
        return;
    };
    let sources = Names::of(capture.sources.iter().map(|source| source.name.as_str()));
    let others = Others::of(capture);
    let by_name = Names::of(listed.iter().map(|buffer| buffer.name.as_str()));
    let by_id = Names::of(listed.iter().map(|buffer| buffer.id.as_str()));
    let mut links = HashSet::new();
    for entry in &section.entries {
        let origin = section.key(entry);
        let (name, stream) = match stream(entry.key) {
            Ok(split) => split,
            Err(problem) => {
                reader.note(origin, problem);
                continue;
            }
        };
        let Some(n) = sources.find(name) else {
            reader.unknown(origin, others.instead(name));
            continue;
        };
        for word in list(entry.value.unwrap_or_default()) {
            let found = by_name.find(word).or_else(|| by_id.find(word));
            let Some(found) = found.and_then(|n| listed.get(n)) else {
                reader.note(origin.clone(), Problem::NoSuchBuffer(word.to_owned()));
                continue;
            };
            let Some(source) = capture.sources.get_mut(n) else { continue };
            for buffer in found.buffers.clone() {
                if !links.insert((n, buffer, stream)) {
                    continue;
                }
                if links.len() > MAX_LINKS {
                    let problem = Problem::TooMany("links of sources to buffers", MAX_LINKS);
                    return reader.note(origin, problem);
                }
                source.buffers.push(BufferRef { buffer, stream });
            }
        }
    }
}

/// The devices that are neither cores nor trace sources.
struct Others {
    names: Names,
    classes: Vec<String>,
}

impl Others {
    fn of(capture: &Capture) -> Others {
        let names = Names::of(capture.others.iter().map(|other| other.name.as_str()));
        Others { names, classes: capture.others.iter().map(|other| other.class.clone()).collect() }
    }

    /// The problem of `name`, which is no trace source.
    fn instead(&self, name: &str) -> Problem {
        match self.names.find(name).and_then(|n| self.classes.get(n)) {
            Some(class) if !class.is_empty() => {
                Problem::NotSource { name: name.to_owned(), class: class.clone() }
            }
            _ => Problem::NoSuchSource(name.to_owned()),
        }
    }
}

/// The name and the number of `NAME(stream:N)`.
fn stream(key: &str) -> Result<(&str, Option<u8>), Problem> {
    let Some((name, rest)) = key.split_once('(') else { return Ok((key, None)) };
    let number = rest
        .trim()
        .strip_suffix(')')
        .and_then(|text| text.split_once(':'))
        .filter(|(word, _)| word.trim().eq_ignore_ascii_case("stream"))
        .and_then(|(_, text)| number(text))
        .and_then(|n| u8::try_from(n).ok());
    match number {
        Some(n) => Ok((name.trim(), Some(n))),
        None => Err(Problem::BadStream(key.to_owned())),
    }
}

/// `[core_trace_sources]`: `CORE=SOURCE` or `CORE=@LOCATION`. A core with several sources has
/// several lines.
fn link_cores(reader: &mut Reader, doc: &Doc<'_>, capture: &mut Capture) {
    let section = reader.lines(doc, "core_trace_sources");
    if let Some(section) = &section {
        let sources = Names::of(capture.sources.iter().map(|source| source.name.as_str()));
        let cores = Names::of(capture.cores.iter().map(|core| core.name.as_str()));
        let others = Others::of(capture);
        let mut locations = HashMap::new();
        for (n, source) in capture.sources.iter().enumerate() {
            if let Some(location) = &source.location {
                locations.entry(location_words(location)).or_insert(n);
            }
        }
        for entry in &section.entries {
            let origin = section.key(entry);
            let text = entry.value.unwrap_or_default();
            let found: Vec<_> = match text.strip_prefix('@') {
                Some(location) => {
                    let source = locations.get(&location_words(location)).copied();
                    vec![source.ok_or_else(|| Problem::NoSuchLocation(location.to_owned()))]
                }
                None => list(text)
                    .map(|name| sources.find(name).ok_or_else(|| others.instead(name)))
                    .collect(),
            };
            let core = cores.find(entry.key);
            if core.is_none() {
                reader.unknown(origin.clone(), Problem::NoSuchCore(entry.key.to_owned()));
            }
            for source in found {
                match source {
                    Ok(source) => join(reader, capture, &origin, core, source),
                    Err(problem) => reader.unknown(origin.clone(), problem),
                }
            }
        }
    }
    // Without the section, a single core is the core of every source.
    let ([core], None) = (capture.cores.as_slice(), section) else { return };
    for source in capture.sources.iter_mut().filter(|s| s.watches_core()) {
        source.core = Some(0);
        let (source, core) = (source.name.clone(), core.name.clone());
        reader.note(Origin::file(doc.path), Problem::CoreInferred { source, core });
    }
}

fn join(
    reader: &mut Reader,
    capture: &mut Capture,
    origin: &Origin,
    core: Option<usize>,
    source: usize,
) {
    let (Some(core), Some(source)) = (core, capture.sources.get_mut(source)) else { return };
    let name = |n: usize| capture.cores.get(n).map(|c| c.name.clone()).unwrap_or_default();
    match source.core {
        None => source.core = Some(core),
        Some(used) if used != core => {
            let (used, other) = (name(used), name(core));
            let source = source.name.clone();
            reader.note(origin.clone(), Problem::TwoCores { source, used, other });
        }
        Some(_) => {}
    }
}

/// The number of sources that the note about an unformatted buffer of several sources names.
const MAX_OTHERS: usize = 16;

/// Notes missing and excess links.
fn check(reader: &mut Reader, path: &Path, capture: &Capture) {
    for source in &capture.sources {
        if source.buffers.is_empty() {
            reader.note(Origin::file(path), Problem::NoBuffer(source.name.clone()));
        } else if source.core.is_none() && source.watches_core() {
            reader.unknown(Origin::file(path), Problem::NoCore(source.name.clone()));
        }
    }
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); capture.buffers.len()];
    for (n, source) in capture.sources.iter().enumerate() {
        for link in &source.buffers {
            // A source may have several streams in a buffer.
            if let Some(users) = users.get_mut(link.buffer).filter(|u| u.last() != Some(&n)) {
                users.push(n);
            }
        }
    }
    let name = |n: &usize| capture.sources.get(*n).map(|s| shortened(&s.name)).unwrap_or_default();
    for (buffer, users) in capture.buffers.iter().zip(users) {
        let Some((used, others)) = users.split_first() else {
            reader.unknown(Origin::file(path), Problem::Unclaimed(buffer.name.clone()));
            continue;
        };
        if !buffer.format.holds_several() && !others.is_empty() {
            let mut names: Vec<_> = others.iter().take(MAX_OTHERS).map(name).collect();
            if others.len() > MAX_OTHERS {
                names.push(format!("{} more", others.len() - MAX_OTHERS));
            }
            let (buffer, used) = (buffer.name.clone(), name(used));
            let problem = Problem::Shared { buffer, used, others: names.join(", ") };
            reader.note(Origin::file(path), problem);
        }
    }
}
