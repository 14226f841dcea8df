//! Arm snapshots: a folder of ini files, trace and memory. (Arm *Reference CoreSight Trace Decoder:
//! API Specifications and Component Design*, section 4; the decoder became OpenCSD)

mod device;
mod reader;
mod register;
mod trace;
mod write;

pub use write::{write, write_over, write_with};

use std::path::Path;

use crate::access::Access;
use crate::capture::{Capture, Cluster, Kind};
use crate::dump::Owner;
use crate::ini::list;
use crate::limits::MAX_DEVICES;
use crate::names::Names;
use crate::origin::Origin;
use crate::problem::{OpenError, Problem};
use reader::{Doc, Reader};

/// Reads the snapshot whose index is the file `index`. `path` is the path that the user gave, and
/// `access` limits what the files of the snapshot may refer to.
///
/// # Errors
/// [`OpenError`] where the index or the description of the trace cannot be read.
pub fn read(path: &Path, index: &Path, access: Access) -> Result<Capture, OpenError> {
    let mut reader = Reader::new(index, access);
    let text = reader.index(index, path).map_err(|problem| OpenError::new(index, problem))?;
    let doc = Doc::new(index, &text);
    reader.malformed(&doc, &["snapshot", "device_list", "clusters", "trace"]);

    let mut capture = Capture { path: path.to_owned(), kind: Kind::Snapshot, ..Capture::default() };
    about(&mut reader, &doc, &mut capture)?;
    let devices = reader
        .lines(&doc, "device_list")
        .ok_or_else(|| OpenError::new(index, Problem::NoSection("device_list")))?;
    reader.repeated_keys(&devices);
    for (n, entry) in devices.entries.iter().enumerate() {
        if n == MAX_DEVICES {
            reader.note(devices.key(entry), Problem::TooMany("devices", MAX_DEVICES));
            break;
        }
        if let Some(file) = entry.value {
            device::read(&mut reader, &mut capture, devices.key(entry), file);
        }
    }
    clusters(&mut reader, &doc, &mut capture);
    match reader.section(&doc, "trace") {
        Some(section) => {
            let Some((file, at)) = section.value("metadata") else {
                return Err(OpenError::at(section.origin, Problem::NoKey("metadata")));
            };
            trace::read(&mut reader, &mut capture, at, file)?;
        }
        None => reader.note(Origin::file(index), Problem::NoTrace),
    }
    conflicts(&mut reader, &capture);
    capture.notes = reader.notes.finish();
    capture.read_sinks();
    capture.stamps = reader.files.stamps;
    Ok(capture)
}

/// The `[snapshot]` section: version and description.
fn about(reader: &mut Reader, doc: &Doc<'_>, capture: &mut Capture) -> Result<(), OpenError> {
    let section = reader.section(doc, "snapshot");
    let Some((version, at)) = section.as_ref().and_then(|s| s.value("version")) else {
        reader.note(Origin::file(doc.path), Problem::NoVersion);
        return Ok(());
    };
    if !matches!(version, "1.0" | "1") {
        return Err(OpenError::at(at, Problem::Version(version.to_owned())));
    }
    let description = section.as_ref().and_then(|s| s.value("description"));
    capture.description = description.map(|(text, _)| text.to_owned()).filter(|t| !t.is_empty());
    Ok(())
}

/// The `[clusters]` section: `NAME=DEVICE,DEVICE`.
fn clusters(reader: &mut Reader, doc: &Doc<'_>, capture: &mut Capture) {
    let Some(section) = reader.lines(doc, "clusters") else { return };
    reader.repeated_keys(&section);
    let cores = Names::of(capture.cores.iter().map(|core| core.name.as_str()));
    for entry in &section.entries {
        let mut cluster = Cluster { name: entry.key.to_owned(), cores: Vec::new() };
        for name in list(entry.value.unwrap_or_default()) {
            match cores.find(name) {
                Some(core) => cluster.cores.push(core),
                None => reader.unknown(section.key(entry), Problem::NoSuchCore(name.to_owned())),
            }
        }
        capture.clusters.push(cluster);
    }
}

/// Notes conflicting dumps of one device.
fn conflicts(reader: &mut Reader, capture: &Capture) {
    let (found, complete) = capture.conflicts();
    if !complete {
        reader.note(Origin::file(&capture.path), Problem::NotCompared);
    }
    for (first, second) in found {
        let (Some(a), Some(b)) = (capture.memory.get(first), capture.memory.get(second)) else {
            continue;
        };
        if a.owner == b.owner {
            let problem = Problem::DumpConflict { first: a.name.clone(), second: b.name.clone() };
            let path = match a.owner {
                Owner::Any => None,
                Owner::Core(n) => capture.cores.get(n).map(|d| &d.path),
                Owner::Source(n) => capture.sources.get(n).map(|d| &d.path),
                Owner::Other(n) => capture.others.get(n).map(|d| &d.path),
            };
            reader.note(Origin::file(path.unwrap_or(&capture.path)), problem);
        }
    }
}
