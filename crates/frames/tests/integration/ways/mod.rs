//! A recorder of a splitter's output, and random bytes that resemble those of a trace link.
#![allow(dead_code, unreachable_pub)]

use tracewright_frames::{Event, Frame, Link, Split, Splitter};
use tracewright_testing::Random;

/// One item of the output of a splitter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    Piece { id: u16, at: u64, fragment: bool, bytes: Vec<u8> },
    Event(u64, Event),
    Frame([u8; 16], [u64; 16]),
    Fragment(Option<u8>, u64, Vec<u8>),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    pub items: Vec<Item>,
    pub packed: Vec<(u64, u8)>,
}

impl Split for Record {
    const FRAGMENTS: bool = true;

    fn piece(&mut self, id: u16, at: u64, fragment: bool, bytes: &[u8]) {
        assert!(!bytes.is_empty());
        self.items.push(Item::Piece { id, at, fragment, bytes: bytes.into() });
    }

    fn event(&mut self, at: u64, event: Event) {
        self.items.push(Item::Event(at, event));
    }

    fn frame(&mut self, frame: &Frame<'_>) {
        self.items.push(Item::Frame(*frame.bytes, std::array::from_fn(|i| frame.offset(i))));
    }

    fn packed(&mut self, at: u64, bytes: &[u8]) {
        self.packed.extend((at..).zip(bytes.iter().copied()));
    }

    fn fragment(&mut self, id: Option<u8>, at: u64, bytes: &[u8]) {
        assert!(!bytes.is_empty());
        self.items.push(Item::Fragment(id, at, bytes.into()));
    }
}

/// A record without fragments.
#[derive(Debug, Default)]
struct Quiet(Record);

impl Split for Quiet {
    fn piece(&mut self, id: u16, at: u64, fragment: bool, bytes: &[u8]) {
        self.0.piece(id, at, fragment, bytes);
    }

    fn event(&mut self, at: u64, event: Event) {
        self.0.event(at, event);
    }
}

/// The pieces and events, from a recorder without fragments.
pub fn quiet(link: Link, bytes: &[u8]) -> Vec<Item> {
    let (mut splitter, mut out) = (Splitter::new(link), Quiet::default());
    splitter.split(0, bytes, &mut out);
    splitter.finish(&mut out);
    out.0.items
}

impl Record {
    /// The pieces and events.
    pub fn out(&self) -> Vec<Item> {
        let out = |item: &&Item| matches!(item, Item::Piece { .. } | Item::Event(..));
        self.items.iter().filter(out).cloned().collect()
    }

    /// The runs of sources' bytes in the order of the stream; consecutive runs of one ID are
    /// joined.
    pub fn runs(&self) -> Vec<(u8, Vec<u8>)> {
        let mut runs: Vec<(u8, Vec<u8>)> = Vec::new();
        for item in &self.items {
            let (id, bytes) = match item {
                Item::Piece { id, bytes, .. } => (*id as u8, bytes.clone()),
                Item::Event(_, Event::Trigger(byte)) => (0x7d, vec![*byte]),
                Item::Event(_, Event::Flush(byte)) => (0x7b, vec![*byte]),
                _ => continue,
            };
            match runs.last_mut() {
                Some((last, run)) if *last == id => run.extend(bytes),
                _ => runs.push((id, bytes)),
            }
        }
        runs
    }
}

/// Splits `bytes` in one go.
pub fn whole(link: Link, bytes: &[u8]) -> Record {
    let (mut splitter, mut out) = (Splitter::new(link), Record::default());
    splitter.split(0, bytes, &mut out);
    splitter.finish(&mut out);
    out
}

/// Splits `bytes` in pieces that end at `cuts`, each from a clone of the splitter before.
pub fn cut(link: Link, bytes: &[u8], cuts: &[usize]) -> Record {
    let (mut splitter, mut out) = (Splitter::new(link), Record::default());
    let mut from = 0;
    for &to in cuts.iter().chain([&bytes.len()]) {
        let mut resumed = splitter.clone();
        assert_eq!(resumed, splitter);
        resumed.split(from as u64, &bytes[from..to], &mut out);
        (splitter, from) = (resumed, to);
    }
    splitter.finish(&mut out);
    assert_eq!(splitter, Splitter::new(link));
    out
}

/// Runs of bytes of up to `ids` ids; triggers and flushes among them.
pub fn runs(random: &mut Random, ids: usize, runs: usize) -> Vec<(u8, Vec<u8>)> {
    let mut out: Vec<(u8, Vec<u8>)> = Vec::new();
    for _ in 0..runs {
        let id = match random.index(12) {
            0 => 0x7d,
            1 => 0x7b,
            _ => 0x10 + random.index(ids) as u8,
        };
        let longest = [1, 2, 3, 8, 40][random.index(5)];
        let len = 1 + random.index(longest);
        let bytes = match random.index(3) {
            0 => vec![0xff; len],
            _ => random.bytes(len),
        };
        match out.last_mut() {
            Some((last, run)) if *last == id => run.extend(bytes),
            _ => out.push((id, bytes)),
        }
    }
    out
}

/// Bytes with whole and partial synchronisation packets at random positions.
pub fn noise(random: &mut Random, n: usize) -> Vec<u8> {
    let mut out = Vec::new();
    while out.len() < n {
        match random.index(7) {
            0 => out.extend([0xff, 0xff, 0xff, 0x7f]),
            1 => out.extend([0xff, 0x7f]),
            2 => out.extend(vec![0xff; 1 + random.index(5)]),
            3 => out.extend([0xff, 0xff, 0xff, 0x7f].repeat(4)),
            4 => out.extend(vec![0; 1 + random.index(40)]),
            _ => {
                let n = 1 + random.index(40);
                out.extend(random.bytes(n));
            }
        }
    }
    out
}
