//! A capture: the complete input of decoding.

use std::path::PathBuf;

use tracewright_base::{CoreType, MissingRegister};
use tracewright_image::MAX_IMAGE_REGIONS;
use tracewright_protocols::Registry;

use crate::buffer::Buffer;
use crate::device::{Core, Other, Source};
use crate::dump::{Dump, Form, Owner};
use crate::limits::{MAX_COMPARED, MAX_PAIRS};
use crate::linux::Linux;
use crate::origin::Origin;
use crate::problem::{Note, OpenError, Problem};
use crate::stamp::Stamp;

/// Limit of the number of conflicting pairs of dumps that are searched for.
const MAX_CONFLICTS: usize = 64;

/// What a capture was read from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Made in memory.
    #[default]
    Memory,
    /// An Arm snapshot.
    Snapshot,
    /// A folder with a `capture.toml`.
    Folder,
    /// Raw trace data with the user's description, or a file of cycles.
    Raw,
    /// A `perf.data` file.
    Perf,
}

/// A cluster of cores.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cluster {
    /// The name.
    pub name: String,
    /// Indices of the cores in the capture.
    pub cores: Vec<usize>,
}

/// A capture. Devices refer to each other by their index in the lists of the capture.
#[derive(Clone, Debug, Default)]
pub struct Capture {
    /// The path as the user gave it; empty for a capture made in memory.
    pub path: PathBuf,
    /// What the capture was read from.
    pub kind: Kind,
    /// The description that the capture contains.
    pub description: Option<String>,
    /// The trace buffers, in the order of the capture.
    pub buffers: Vec<Buffer>,
    /// The trace sources.
    pub sources: Vec<Source>,
    /// The cores.
    pub cores: Vec<Core>,
    /// Other devices.
    pub others: Vec<Other>,
    /// The clusters of cores. An empty list stands for one cluster of all cores.
    pub clusters: Vec<Cluster>,
    /// The memory contents, in the order of the capture, including missing files.
    pub memory: Vec<Dump>,
    /// Problems that did not prevent reading the capture.
    pub notes: Vec<Note>,
    /// The files that the capture was read from, as they were when they were opened.
    pub stamps: Vec<Stamp>,
    /// The system that was traced, where a file of perf or simpleperf describes it.
    pub linux: Option<Box<Linux>>,
    /// The protocols by which devices are decoded.
    pub protocols: Registry,
}

impl Capture {
    /// The files that changed since the capture was opened: what was read may be of two states. And
    /// whether the memory of processes changed too often for its images, so that code is unknown.
    pub fn changed(&self) -> Vec<Note> {
        let changed = self.stamps.iter().filter(|stamp| stamp.is_changed());
        let notes = changed.map(|stamp| Note {
            origin: Origin::file(&stamp.path),
            problem: Problem::Changed { len: stamp.len },
        });
        let exceeded = self.linux.as_ref().filter(|linux| linux.spaces.needed_too_many());
        let exceeded = exceeded.map(|_| Note {
            origin: Origin::file(&self.path),
            problem: Problem::PerfData(format!(
                "memory changes so often that its images have more than {MAX_IMAGE_REGIONS} regions or \
                 changes: the code of further ones is unknown"
            )),
        });
        notes.chain(exceeded).collect()
    }

    /// How many bytes of trace a byte of the files of the capture stands for, rounded up: 1 unless
    /// trace is compressed, or named repeatedly.
    pub fn unpacked(&self) -> u64 {
        let stored: u64 = self.stamps.iter().map(|stamp| stamp.len).sum();
        let files = self.buffers.iter().flat_map(|buffer| &buffer.files);
        let trace: u64 = files.map(|file| file.bytes.size()).sum();
        if stored == 0 { 1 } else { trace.div_ceil(stored).max(1) }
    }

    /// The number of losses of trace that the capture records of these of its buffers: a buffer was
    /// full, was overwritten, or stopped. Of all buffers, also the [`damage`](Self::damage) of the
    /// file.
    pub fn losses(&self, buffers: &[usize]) -> u64 {
        let sinks = buffers.iter().filter_map(|n| self.buffers.get(*n)?.sink.as_ref());
        let lost: usize = sinks.map(|sink| sink.layout.lost.len()).sum();
        let records = self.linux.as_ref().map_or(0, |linux| {
            let parts = buffers.iter().filter_map(|n| linux.parts.get(*n));
            let lost = parts.filter(|part| part.lost).count() as u64;
            // Records of a loss may have no trace.
            let all = linux.queues.values().map(|queue| queue.losses).sum();
            match buffers.len() == self.buffers.len() {
                true => lost.max(all).saturating_add(self.damage().count() as u64),
                false => lost,
            }
        });
        (lost as u64).saturating_add(records)
    }

    /// What is not in a file that is cut or damaged, or whose records were lost.
    pub fn damage(&self) -> impl Iterator<Item = &Note> {
        self.notes.iter().filter(|note| match &note.problem {
            Problem::PerfMissing(_) => true,
            Problem::Repeated { first, .. } => matches!(**first, Problem::PerfMissing(_)),
            _ => false,
        })
    }

    /// Deletes the files of [`Spool`](crate::Spool)s, for a capture that is not written.
    pub fn remove_spooled(&self) {
        for file in self.buffers.iter().flat_map(|buffer| &buffer.files) {
            if file.spooled {
                // It may have been moved.
                let _ = std::fs::remove_file(&file.path);
            }
        }
    }

    /// The core that `source` traces.
    pub fn core(&self, source: &Source) -> Option<&Core> {
        self.cores.get(source.core?)
    }

    /// The profile and architecture version of the core that `source` traces.
    pub fn core_type(&self, source: &Source) -> Option<CoreType> {
        self.core(source)?.core_type()
    }

    /// The index of the buffer with this name.
    pub fn buffer(&self, name: &str) -> Option<usize> {
        self.buffers.iter().position(|b| b.name == name)
    }

    /// Whether `source` may have data in the buffer with index `buffer`.
    pub fn is_linked(&self, source: &Source, buffer: usize) -> bool {
        match self.kind {
            // The links are in order, and there may be many; most buffers are of other sources.
            Kind::Perf => {
                let links = source.buffers.as_slice();
                let (Some(first), Some(last)) = (links.first(), links.last()) else { return false };
                (first.buffer..=last.buffer).contains(&buffer)
                    && links.binary_search_by_key(&buffer, |link| link.buffer).is_ok()
            }
            _ => source.buffers.iter().any(|link| link.buffer == buffer),
        }
    }

    /// The streams of `source` that `buffer` may contain: see [`Source::streams_in`].
    pub fn streams_in(&self, source: &Source, buffer: usize) -> Vec<u8> {
        match self.kind {
            // There are many links, and only to the first stream.
            Kind::Perf => self.is_linked(source, buffer).then_some(0).into_iter().collect(),
            _ => source.streams_in(buffer),
        }
    }

    /// The sources that may have data in `buffer`, with their indices, in the order of the capture.
    pub fn linked(&self, buffer: usize) -> Vec<(usize, &Source)> {
        let part = self.linux.as_ref().and_then(|linux| linux.parts.get(buffer));
        match part.filter(|_| self.kind == Kind::Perf) {
            // There may be thousands of sources and of buffers.
            Some(part) => {
                let sources = part.sources.iter();
                sources.filter_map(|&n| Some((n, self.sources.get(n)?))).collect()
            }
            None => {
                let all = self.sources.iter().enumerate();
                all.filter(|(_, source)| self.is_linked(source, buffer)).collect()
            }
        }
    }

    /// The sources that may have data in `buffer`, in the order of the capture.
    ///
    /// An unformatted buffer contains one source: here the first that is linked to it. A plan of
    /// `tracewright-decode` takes the first of them that can be decoded and is selected.
    pub fn sources_of(&self, buffer: usize) -> Vec<&Source> {
        let mut sources: Vec<_> =
            self.linked(buffer).into_iter().map(|(_, source)| source).collect();
        if self.buffers.get(buffer).is_some_and(|b| !b.format.holds_several()) {
            sources.truncate(1);
        }
        sources
    }

    /// The memory for decoding `source`, by descending priority: memory of all devices (including
    /// images that the user added), memory of its core, memory of the other cores of its cluster,
    /// and the remaining memory, each in the order of the capture.
    ///
    /// All memory is included, as many captures record the memory of one core for all. Where no two
    /// dumps conflict ([`Capture::one_memory`]), every source has the same memory as in
    /// [`Capture::memory`].
    pub fn images_for(&self, source: &Source) -> Vec<&Dump> {
        let rank = |dump: &Dump| match (dump.owner, source.core) {
            (Owner::Any, _) => 0,
            (Owner::Core(its), Some(mine)) if its == mine => 1,
            (Owner::Core(its), Some(mine)) if self.same_cluster(its, mine) => 2,
            _ => 3,
        };
        let mut dumps: Vec<_> = self.memory.iter().filter(|d| d.bytes.is_some()).collect();
        dumps.sort_by_key(|dump| rank(dump));
        dumps
    }

    /// The error that decoding `source` needs a register that is missing, and `others`.
    pub fn missing_register(
        &self,
        source: &Source,
        missing: MissingRegister,
        others: Vec<&'static str>,
    ) -> OpenError {
        let MissingRegister { name, about } = missing;
        let snapshot = self.kind == Kind::Snapshot;
        let section = snapshot.then(|| "regs".to_owned());
        let key = snapshot.then(|| name.to_owned());
        let origin = Origin { path: source.path.clone(), line: None, section, key };
        let device = source.name.clone();
        OpenError::at(origin, Problem::NoRegister { device, name, about, others, snapshot })
    }

    /// The error that the type of `source` is none of the protocols `known`.
    pub fn unknown_protocol(&self, source: &Source, known: &[&str]) -> OpenError {
        let snapshot = self.kind == Kind::Snapshot;
        let section = snapshot.then(|| "device".to_owned());
        let key = snapshot.then(|| "type".to_owned());
        let origin = Origin { path: source.path.clone(), line: None, section, key };
        let device_type = source.device_type.clone();
        OpenError::at(origin, Problem::UnknownProtocol { device_type, known: known.join(", ") })
    }

    /// Whether no two dumps contain different bytes for one address of one space, so that all
    /// sources can share one image. `false` where there is too much memory to compare.
    pub fn one_memory(&self) -> bool {
        self.conflicts() == (Vec::new(), true)
    }

    /// Pairs of dumps, the earlier first, that contain different bytes for a common address. The
    /// search stops once [`MAX_CONFLICTS`] are found, or [`MAX_PAIRS`] of dumps or [`MAX_COMPARED`]
    /// bytes of them were compared. Also returns whether the search was complete.
    pub(crate) fn conflicts(&self) -> (Vec<(usize, usize)>, bool) {
        let (mut pairs, mut bytes) = (MAX_PAIRS, MAX_COMPARED);
        let mut spans: Vec<_> = self
            .memory
            .iter()
            .enumerate()
            .filter(|(_, dump)| dump.when.is_always())
            .filter_map(|(n, dump)| Some((dump.address, dump.last()?, n)))
            .collect();
        spans.sort_unstable();
        let mut found = Vec::new();
        // Earlier dumps that extend past the start of the current one.
        let mut open: Vec<(u64, usize)> = Vec::new();
        for (start, last, n) in spans {
            open.retain(|(end, _)| *end >= start);
            let mut repeats = false;
            for &(end, m) in &open {
                let (first, second) = (m.min(n), m.max(n));
                let (Some(a), Some(b)) = (self.memory.get(first), self.memory.get(second)) else {
                    continue;
                };
                pairs = pairs.saturating_sub(1);
                bytes = bytes.saturating_sub(last.min(end) - start);
                if pairs == 0 || bytes == 0 {
                    found.sort_unstable();
                    return (found, false);
                }
                if differ(a, b) {
                    found.push((first, second));
                } else if end == last && a.address == b.address {
                    repeats |= a.owner == b.owner && a.spaces == b.spaces;
                }
            }
            if found.len() >= MAX_CONFLICTS {
                break;
            }
            // A dump that repeats another one has the same conflicts.
            if !repeats {
                open.push((last, n));
            }
        }
        found.sort_unstable();
        (found, true)
    }

    fn same_cluster(&self, a: usize, b: usize) -> bool {
        self.clusters.is_empty()
            || self.clusters.iter().any(|c| c.cores.contains(&a) && c.cores.contains(&b))
    }
}

/// Whether two dumps contain different bytes for an address of a common space.
fn differ(a: &Dump, b: &Dump) -> bool {
    if a.form != Form::Raw || b.form != Form::Raw || !a.space().meets(b.space()) {
        return false;
    }
    let (Some(mine), Some(its)) = (&a.bytes, &b.bytes) else { return false };
    let start = a.address.max(b.address);
    let mine = mine.part(start - a.address, u64::MAX);
    let its = its.part(start - b.address, u64::MAX);
    let len = mine.len().min(its.len()) as u64;
    mine.part(0, len) != its.part(0, len)
}

/// Paths, notes and states of files are not compared.
impl PartialEq for Capture {
    fn eq(&self, other: &Self) -> bool {
        self.description == other.description
            && self.buffers == other.buffers
            && self.sources == other.sources
            && self.cores == other.cores
            && self.others == other.others
            && self.clusters == other.clusters
            && self.memory == other.memory
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::BufferRef;

    #[test]
    fn links_of_any_kind_of_capture_are_found() {
        let link = |buffer| BufferRef { buffer, stream: None };
        for kind in [Kind::Perf, Kind::Raw] {
            let capture = Capture { kind, ..Capture::default() };
            for links in [&[][..], &[4], &[3, 5, 9]] {
                let buffers = links.iter().copied().map(link).collect();
                let source = Source { buffers, ..Source::default() };
                for buffer in 0..12 {
                    let want = links.contains(&buffer);
                    assert_eq!(capture.is_linked(&source, buffer), want, "{links:?} {buffer}");
                }
            }
        }
    }
}
