//! What an index was made of, so that it is not used with anything else.

use std::io::{self, Read};

use tracewright_capture::{Buffer, Bytes, Capture};
use tracewright_decode::plan::Planned;
use tracewright_decode::{Memory, Options, Plan};

use crate::build::{fill, from};
use crate::checksum::{self, Checksum};
use crate::error::IndexError;
use crate::format::{BufferHead, IndexedSource};
use crate::index::IndexedBuffer;

/// Program memory of at most this many bytes in one file is compared as a whole.
const WHOLE: usize = 1 << 24;
/// Of larger files, this many parts of this many bytes are compared.
const PARTS: usize = 64;
const PART: usize = 1 << 14;
/// Bytes that are read at a time.
const READ: usize = 1 << 18;

/// What an index of the buffer of `plan` depends on. `memory` is the result of [`of_memory`].
pub(crate) fn identity(
    capture: &Capture,
    plan: &Plan,
    options: &Options,
    memory: u64,
) -> BufferHead {
    let text = format!("{} {plan:?} {options:?}", env!("CARGO_PKG_VERSION"));
    BufferHead {
        number: plan.buffer,
        name: capture.buffers.get(plan.buffer).map_or_else(String::new, |b| b.name.clone()),
        configuration: Checksum::of(text.as_bytes()),
        memory,
        sources: plan.sources.iter().map(source).collect(),
    }
}

fn source(planned: &Planned) -> IndexedSource {
    IndexedSource {
        name: planned.name.clone(),
        id: planned.id,
        protocol: planned.config.protocol().about().title.to_owned(),
    }
}

/// A checksum of the program memory of a capture.
pub(crate) fn of_memory(capture: &Capture, memory: &Memory) -> u64 {
    Checksum::of(&describe(capture, memory, true))
}

/// What program memory depends on. `contents`: with checksums of the files.
fn describe(capture: &Capture, memory: &Memory, contents: bool) -> Vec<u8> {
    let mut out = Vec::new();
    for dump in &capture.memory {
        let about = format!(
            "{:?} {} {} {:?} {:?};",
            dump.form,
            dump.address,
            dump.offset,
            dump.space(),
            dump.owner
        );
        out.extend_from_slice(about.as_bytes());
        if let Some(bytes) = dump.bytes.as_ref().filter(|_| contents) {
            out.extend_from_slice(&of_bytes(bytes).to_le_bytes());
        }
    }
    for problem in &memory.problems {
        out.extend_from_slice(problem.as_bytes());
    }
    if let Some(linux) = &capture.linux {
        for (process, regions) in linux.spaces.added() {
            let places: Vec<_> = regions.iter().map(|r| (r.start(), r.last())).collect();
            out.extend_from_slice(format!("{process:?} {places:?};").as_bytes());
        }
        for (module, loaded) in linux.spaces.modules().iter().zip(linux.spaces.loaded()) {
            let about = format!("{} {:?} {:?};", module.path, module.build_id, module.segments);
            out.extend_from_slice(format!("{loaded:?};").as_bytes());
            out.extend_from_slice(about.as_bytes());
            // A build identifier stands for the content.
            let unnamed = module.content.as_ref().filter(|_| module.build_id.is_none());
            if let Some(bytes) = unnamed.filter(|_| contents) {
                out.extend_from_slice(&of_bytes(bytes).to_le_bytes());
            }
        }
    }
    out
}

/// A checksum of bytes of program memory.
fn of_bytes(bytes: &Bytes) -> u64 {
    let mut sum = Checksum::default();
    sum.add(&(bytes.len() as u64).to_le_bytes());
    let (parts, len): (Vec<usize>, usize) = if bytes.len() <= WHOLE {
        ((0..bytes.len()).step_by(READ).collect(), READ)
    } else {
        ((0..PARTS).map(|n| (bytes.len() - PART) / (PARTS - 1) * n / 8 * 8).collect(), PART)
    };
    let mut space = vec![0; len.min(bytes.len())];
    for offset in parts {
        let mut reader = bytes.part(offset as u64, len as u64).reader();
        // Bytes that cannot be read are missing.
        for part in fill(&mut reader, &mut space).unwrap_or_default().chunks(PART) {
            sum.add(&checksum::of_memory(part).to_le_bytes());
        }
    }
    sum.value()
}

/// A checksum of the files of a capture as the system describes them, and of where its program
/// memory is: where it is the same, the trace data are not compared, nor is program memory that is
/// [in files](memory_is_stamped). 0 without files.
///
/// A file that is written, replaced, or restored with its former time of modification has another
/// time of change, which programs cannot set.
pub(crate) fn stamps(capture: &Capture, memory: &Memory) -> u64 {
    if capture.stamps.is_empty() {
        return 0;
    }
    let mut out = describe(capture, memory, false);
    for stamp in &capture.stamps {
        out.extend(stamp.len.to_le_bytes());
        out.extend(stamp.modified.unwrap_or(0).to_le_bytes());
        out.extend(stamp.changed.unwrap_or(0).to_le_bytes());
        out.extend(stamp.identity.map_or(0, |(_, number)| number).to_le_bytes());
    }
    Checksum::of(&out)
}

/// Whether all program memory is in files with [`stamps`], whose times of change are known.
pub(crate) fn memory_is_stamped(capture: &Capture) -> bool {
    let dumps = capture.memory.iter().filter(|dump| dump.bytes.is_some()).map(|dump| &dump.path);
    let modules = capture.linux.iter().flat_map(|linux| linux.spaces.modules());
    let modules = modules.filter_map(|module| module.found.as_ref());
    dumps.chain(modules).all(|path| {
        let mut stamps = capture.stamps.iter();
        stamps.any(|stamp| stamp.path == *path && stamp.changed.is_some())
    })
}

/// Compares the trace data with an index of them. `all`: each segment; otherwise the length only.
///
/// # Errors
/// [`IndexError::OtherTrace`], and [`IndexError::Damaged`] where the segments cannot be read.
pub(crate) fn check_trace(
    buffer: &Buffer,
    index: &IndexedBuffer,
    all: bool,
) -> Result<(), IndexError> {
    let other = || IndexError::OtherTrace { buffer: buffer.name.clone() };
    let (covered, len) = (index.covered(), buffer.len());
    if covered > len || index.is_complete() && covered != len {
        return Err(other());
    }
    if !all {
        return Ok(());
    }
    let same = compare(&mut *from(buffer, 0), index);
    match (index.damage(), same) {
        (Some(damage), _) => Err(damage),
        (None, Ok(true)) => Ok(()),
        (None, _) => Err(other()),
    }
}

/// Whether each segment has the bytes that `reader` reads.
fn compare(reader: &mut dyn Read, index: &IndexedBuffer) -> io::Result<bool> {
    let mut space = vec![0; 1 << 16];
    for segment in index.summaries() {
        let (mut left, mut sum) = (segment.len, Checksum::default());
        while left > 0 {
            let most = usize::try_from(left).unwrap_or(usize::MAX).min(space.len());
            let bytes = fill(reader, space.get_mut(..most).unwrap_or_default())?;
            if bytes.is_empty() {
                return Ok(false);
            }
            sum.add(bytes);
            left -= bytes.len() as u64;
        }
        if segment.len > 0 && sum.value() != segment.checksum {
            return Ok(false);
        }
    }
    Ok(true)
}
