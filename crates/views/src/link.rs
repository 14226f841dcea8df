//! The content of formatter frames or messages, by ID.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use tracewright_frames::{Event, FRAME, Frame, Split};

/// Counts the bytes of each ID, and the other content of frames.
#[derive(Clone, Debug, Default)]
pub struct Ids {
    /// Bytes of each ID.
    bytes: BTreeMap<u16, u64>,
    /// Bytes of padding.
    pub padding: u64,
    /// Bytes that are undecodable as frames.
    pub bad: u64,
    /// Bytes before the first ID.
    pub no_source: u64,
    /// Full and half synchronisation packets.
    pub syncs: u64,
    /// Barriers between two chunks of trace.
    pub barriers: u64,
    /// Triggers.
    pub triggers: u64,
    /// Flush responses.
    pub flushes: u64,
    /// Bytes of reserved IDs.
    pub reserved: u64,
}

impl Ids {
    /// The IDs of sources and their bytes, by ID.
    pub fn sources(&self) -> Vec<(u16, u64)> {
        self.bytes.iter().map(|(id, bytes)| (*id, *bytes)).collect()
    }

    /// Bytes of `id`.
    pub fn of(&self, id: u16) -> u64 {
        self.bytes.get(&id).copied().unwrap_or(0)
    }

    /// The counts as text, one line each. `whose` returns the names of the sources of an ID.
    pub fn lines(&self, whose: impl Fn(u16) -> String) -> Vec<String> {
        let (known, unknown_ids): (Vec<_>, _) = (self.sources().into_iter())
            .map(|(id, bytes)| (id, bytes, whose(id)))
            .partition(|(.., whose)| !whose.is_empty());
        let (unknown_ids, others) =
            largest(unknown_ids.into_iter().map(|(id, bytes, _)| (id, bytes)).collect());
        let mut ids: Vec<_> = known;
        ids.extend(
            unknown_ids.into_iter().map(|(id, n)| (id, n, "no configured source".to_owned())),
        );
        ids.sort_unstable();
        let ids =
            ids.into_iter().map(|(id, n, whose)| format!("ID {id:#04x}: {n} bytes ({whose})"));
        let ids = ids.chain(others.map(|others| format!("{others} (no configured source)")));
        let rest = [
            (self.padding, "bytes of padding"),
            (self.no_source, "bytes before the first trace ID"),
            (self.reserved, "bytes of reserved trace IDs"),
            (self.bad, "bytes undecodable as frames"),
            (self.syncs, "frame synchronisation packets"),
            (self.barriers, "barriers"),
            (self.triggers, "triggers"),
            (self.flushes, "flushes"),
        ];
        let rest = rest.iter().filter(|(count, _)| *count > 0);
        ids.chain(rest.map(|(count, what)| format!("{count} {what}"))).collect()
    }

    fn add(&mut self, id: u16, bytes: u64) {
        if bytes > 0 {
            *self.bytes.entry(id).or_default() += bytes;
        }
    }
}

impl Split for Ids {
    fn piece(&mut self, id: u16, _at: u64, _fragment: bool, bytes: &[u8]) {
        self.add(id, bytes.len() as u64);
    }

    fn plain(&mut self, id: u8, _at: u64, frames: &[[u8; FRAME]], _data: &[[u8; FRAME]]) {
        self.add(id.into(), (frames.len() * (FRAME - 1)) as u64);
    }

    fn event(&mut self, _at: u64, event: Event) {
        match event {
            Event::FullSync | Event::HalfSync => self.syncs += 1,
            Event::Barrier => self.barriers += 1,
            Event::Trigger(_) => self.triggers += 1,
            Event::Flush(_) => self.flushes += 1,
            Event::Null { len } => self.padding += u64::from(len),
            Event::Reserved { len, .. } => self.reserved += u64::from(len),
            Event::NoSource { len } => self.no_source += u64::from(len),
            Event::Bad { len, .. } => self.bad += u64::from(len),
            Event::Footer(_) => {}
        }
    }
}

/// The most unknown IDs that a list names: damaged messages have many different IDs.
const MAX_LISTED: usize = 8;

/// The IDs with the most bytes, by ID, and a text that counts the others.
pub fn largest(mut ids: Vec<(u16, u64)>) -> (Vec<(u16, u64)>, Option<String>) {
    ids.sort_by_key(|(_, bytes)| Reverse(*bytes));
    let others = ids.split_off(ids.len().min(MAX_LISTED));
    ids.sort_unstable();
    let bytes: u64 = others.iter().map(|(_, bytes)| bytes).sum();
    let text = || format!("{} other IDs: {bytes} bytes", others.len());
    (ids, (!others.is_empty()).then(text))
}

/// Passes everything to two splits.
#[derive(Debug)]
pub struct Both<'a, A, B>(pub &'a mut A, pub &'a mut B);

impl<A: Split, B: Split> Split for Both<'_, A, B> {
    const FRAGMENTS: bool = A::FRAGMENTS || B::FRAGMENTS;

    fn piece(&mut self, id: u16, at: u64, fragment: bool, bytes: &[u8]) {
        self.0.piece(id, at, fragment, bytes);
        self.1.piece(id, at, fragment, bytes);
    }

    fn event(&mut self, at: u64, event: Event) {
        self.0.event(at, event);
        self.1.event(at, event);
    }

    fn frame(&mut self, frame: &Frame<'_>) {
        self.0.frame(frame);
        self.1.frame(frame);
    }

    fn packed(&mut self, at: u64, bytes: &[u8]) {
        self.0.packed(at, bytes);
        self.1.packed(at, bytes);
    }

    fn fragment(&mut self, id: Option<u8>, at: u64, bytes: &[u8]) {
        self.0.fragment(id, at, bytes);
        self.1.fragment(id, at, bytes);
    }
}
