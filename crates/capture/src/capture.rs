//! A capture: everything that decoding starts from.

use std::path::PathBuf;

use tracewright_base::{CoreType, MissingRegister};

use crate::{Buffer, Core, Dump, Form, Note, OpenError, Origin, Other, Owner, Source, Wrong};

/// So many pairs of dumps that contradict each other say enough.
const MOST_CONFLICTS: usize = 64;

/// Where a capture came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Made in memory.
    #[default]
    Memory,
    /// An Arm snapshot.
    Snapshot,
    /// A folder with a `capture.toml`.
    Folder,
    /// Bare bytes, and what the user said of them.
    Raw,
}

/// Cores that belong together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cluster {
    /// Its name.
    pub name: String,
    /// Its members: which of the capture's cores.
    pub cores: Vec<usize>,
}

/// A capture. Devices name each other by their place in the lists here.
#[derive(Clone, Debug, Default)]
pub struct Capture {
    /// Where it was read from, as the user gave it; empty for one made in memory.
    pub path: PathBuf,
    /// Where it came from.
    pub kind: Kind,
    /// What its maker says it is.
    pub description: Option<String>,
    /// The trace, in the order that the capture lists it.
    pub buffers: Vec<Buffer>,
    /// What wrote the trace.
    pub sources: Vec<Source>,
    /// What the sources watched.
    pub cores: Vec<Core>,
    /// Other devices.
    pub others: Vec<Other>,
    /// Which cores belong together. Empty: all of them do.
    pub clusters: Vec<Cluster>,
    /// What memory held, in the order that the capture lists it, missing files too.
    pub memory: Vec<Dump>,
    /// What was odd, and what could not be read.
    pub notes: Vec<Note>,
}

impl Capture {
    /// The core that `source` watches.
    pub fn core(&self, source: &Source) -> Option<&Core> {
        self.cores.get(source.core?)
    }

    /// What is known of the core that `source` watches.
    pub fn core_type(&self, source: &Source) -> Option<CoreType> {
        self.core(source)?.core_type()
    }

    /// The buffer called `name`.
    pub fn buffer(&self, name: &str) -> Option<usize> {
        self.buffers.iter().position(|b| b.name == name)
    }

    /// The sources that may have data in `buffer`, in the capture's order.
    ///
    /// An unformatted buffer holds one source: the first that names it.
    pub fn sources_of(&self, buffer: usize) -> Vec<&Source> {
        let mut sources: Vec<_> = self
            .sources
            .iter()
            .filter(|s| s.buffers.iter().any(|link| link.buffer == buffer))
            .collect();
        if self.buffers.get(buffer).is_some_and(|b| !b.format.holds_several()) {
            sources.truncate(1);
        }
        sources
    }

    /// The memory that can be read for `source`, the first that holds an address being the one that
    /// counts: what all devices see (images beside the capture), then what its core sees, then what the
    /// other cores of the cluster see, then all the rest, each in the capture's order.
    ///
    /// Captures often give one core's memory and mean it for all, so all of it is there. Where no two
    /// dumps differ about an address ([`Capture::one_memory`]), that is the same as [`Capture::memory`]
    /// for every source.
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

    /// Says that decoding `source` needs a register that is not there.
    pub fn missing_register(&self, source: &Source, missing: MissingRegister) -> OpenError {
        let MissingRegister { name, about } = missing;
        let snapshot = self.kind == Kind::Snapshot;
        let section = snapshot.then(|| "regs".to_owned());
        let key = snapshot.then(|| name.to_owned());
        let origin = Origin { path: source.path.clone(), line: None, section, key };
        let device = source.name.clone();
        OpenError::at(origin, Wrong::NoRegister { device, name, about, snapshot })
    }

    /// Says that the type of `source` names none of the protocols, which are called `known`.
    pub fn unknown_protocol(&self, source: &Source, known: &[&str]) -> OpenError {
        let snapshot = self.kind == Kind::Snapshot;
        let section = snapshot.then(|| "device".to_owned());
        let key = snapshot.then(|| "type".to_owned());
        let origin = Origin { path: source.path.clone(), line: None, section, key };
        let device_type = source.device_type.clone();
        OpenError::at(origin, Wrong::UnknownProtocol { device_type, known: known.join(", ") })
    }

    /// Whether no two dumps hold different bytes for one address of one space, so that one image serves
    /// every source.
    pub fn one_memory(&self) -> bool {
        self.conflicts().is_empty()
    }

    /// Pairs of dumps, the earlier first, that hold different bytes for an address that both have: not all
    /// where there are very many.
    pub(crate) fn conflicts(&self) -> Vec<(usize, usize)> {
        let mut spans: Vec<_> = self
            .memory
            .iter()
            .enumerate()
            .filter_map(|(n, dump)| Some((dump.address, dump.last()?, n)))
            .collect();
        spans.sort_unstable();
        let mut found = Vec::new();
        // Those before the one in hand that reach past its start.
        let mut open: Vec<(u64, usize)> = Vec::new();
        for (start, last, n) in spans {
            open.retain(|(end, _)| *end >= start);
            let mut repeats = false;
            for &(end, m) in &open {
                let (first, second) = (m.min(n), m.max(n));
                let (Some(a), Some(b)) = (self.memory.get(first), self.memory.get(second)) else {
                    continue;
                };
                if differ(a, b) {
                    found.push((first, second));
                } else if end == last && a.address == b.address {
                    repeats |= a.owner == b.owner && a.spaces == b.spaces;
                }
            }
            if found.len() >= MOST_CONFLICTS {
                break;
            }
            // What differs from one that is repeated differs from the one that is there already.
            if !repeats {
                open.push((last, n));
            }
        }
        found.sort_unstable();
        found
    }

    fn same_cluster(&self, a: usize, b: usize) -> bool {
        self.clusters.is_empty()
            || self.clusters.iter().any(|c| c.cores.contains(&a) && c.cores.contains(&b))
    }
}

/// Whether two dumps hold different bytes for an address of a space that both are in.
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

/// Equal where they say the same of the same bytes. Paths and notes do not count.
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
