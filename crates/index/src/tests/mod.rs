//! Tests on captures of each protocol.

mod cursors;
mod damage;
mod records;
mod samples;
mod searches;
mod starts;
mod views;
mod windows;

use std::path::{Path, PathBuf};

use tracewright_capture::{Access, Buffer, Bytes, Capture, Kind};
use tracewright_decode::{Listener, Memory, Options, Plan, parameters};

use crate::chain::Shape;
use crate::index::Index;
use crate::writer::{Making, Subject};

/// A capture that is ready to be decoded.
pub(crate) struct Case {
    pub(super) name: String,
    pub(super) capture: Capture,
    pub(super) memory: Memory,
    pub(super) options: Options,
    pub(super) plans: Vec<Plan>,
}

impl Case {
    fn open(path: &Path) -> Case {
        let mut capture =
            tracewright_capture::open_with(path, Access::default()).expect("a capture");
        parameters::resolve(&mut capture).expect("parameters");
        Case::of(path.display().to_string(), capture)
    }

    pub(super) fn of(name: String, capture: Capture) -> Case {
        let (memory, options) = (Memory::new(&capture), Options::default());
        let buffers = 0..capture.buffers.len();
        let plans = buffers.filter_map(|buffer| Plan::new(&capture, buffer, &options));
        let plans = plans.filter(|plan| !plan.sources.is_empty()).collect();
        Case { name, capture, memory, options, plans }
    }

    pub(super) fn subject(&self) -> Subject<'_> {
        Subject { capture: &self.capture, memory: &self.memory, options: &self.options }
    }

    /// The bytes of an index.
    pub(crate) fn index_bytes(&self, making: &Making) -> Vec<u8> {
        let mut bytes = Vec::new();
        let write = |part: &[u8], _: u64| {
            bytes.extend_from_slice(part);
            Ok(true)
        };
        self.subject().make(&self.plans, making, write).expect("an index");
        bytes
    }

    pub(super) fn index(&self, making: &Making) -> Index {
        let index = Index::read(Bytes::from(self.index_bytes(making))).expect("its own index");
        assert_eq!(index.damage(), None, "{}", self.name);
        assert_eq!(self.subject().check(&index, &self.plans), Ok(()), "{}", self.name);
        index
    }

    /// Decodes the buffer of `plan` to `listener`, 4 KiB at a time.
    pub(super) fn decode(&self, plan: &Plan, listener: &mut impl Listener) {
        let mut session = self.subject().session(plan).expect("a session");
        let bytes = self.capture.buffers[plan.buffer].bytes();
        bytes.chunks(1 << 12).for_each(|part| session.feed(part, listener));
        session.finish(listener);
    }
}

/// Some tens of segments, and chunks of four.
pub(crate) fn making(case: &Case, full: bool) -> Making {
    let len = case.capture.buffers.iter().map(|buffer| buffer.len()).max().unwrap_or(0);
    let shape = Shape::new((len / 40).max(64), 4);
    Making { shape, full, jobs: 1, ..Making::default() }
}

/// The captures of the repository, each with its trace several times: each repetition begins with
/// a synchronisation.
pub(crate) fn captures() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the folder of captures")
        .filter_map(|entry| Some(entry.ok()?.path().join("capture")))
        .filter(|path| path.exists())
        .collect();
    paths.sort();
    assert!(paths.len() >= 11, "{paths:?}");
    let cases = paths.iter().map(|path| {
        let Case { name, mut capture, .. } = Case::open(path);
        for buffer in &mut capture.buffers {
            let bytes = buffer.bytes();
            let bytes = bytes.repeat(REPETITIONS.max(1 + 2000 / bytes.len().max(1)));
            *buffer = Buffer::new(buffer.name.clone(), buffer.format.clone(), bytes);
        }
        capture.stamps.clear();
        Case::of(name, capture)
    });
    cases.collect()
}

/// How often a trace is repeated at least.
const REPETITIONS: usize = 5;

/// Captures beside the repository: several cores, memory-aligned frames and others, up to a
/// megabyte.
pub(super) fn shared(names: &[&str]) -> Vec<Case> {
    let Some(folder) = tracewright_testing::shared("conformance/arm/snapshots") else {
        return Vec::new();
    };
    let open = |name: &&str| {
        let case = Case::open(&folder.join(name));
        assert_eq!(case.capture.kind, Kind::Snapshot);
        case
    };
    names.iter().map(open).collect()
}
