//! Counts of what was executed, which profiles and coverage are made of.

use tracewright::analysis::coverage::Losses;
use tracewright::analysis::coverage_runs::{Digest, Digester};
use tracewright::analysis::{BranchLister, Profiler, RawProfile};
use tracewright::base::{Counted, Element, Instruction, Kind, Last, Range};
use tracewright::decode::{Counts, Listener, Tally};

use crate::error::short;
use crate::firsts::{self, FIRST, Firsts};
use crate::part::Payload;
use crate::plan::Piece;

/// What was counted of a buffer.
#[derive(Clone, Debug, Default)]
pub struct BufferCounts {
    /// Ranges, and what follows them.
    pub raw: RawProfile,
    /// Losses of trace.
    pub losses: Losses,
    /// The counts of the decoder.
    pub tally: Tally,
}

/// The address of a range that no trace is at.
const NOWHERE: u64 = 0xfeed_0000_dead_0000;

/// Gives something to a profiler: see [`PartOf::run`](tracewright::index::part::PartOf::run).
pub(crate) fn disturb(listener: &mut dyn Listener, source: usize) {
    let kind = Kind::Branch;
    let last = Last::new(&Instruction { kind, size: 4, ..Instruction::default() }, false);
    let (bytes, instructions) = (4, 1);
    let range = Range { start: NOWHERE, bytes, instructions, cycles: Counted::UNKNOWN, last };
    listener.element(source, 0, Element::Range(range));
}

/// What gives a text of a state to be compared.
pub(crate) trait Describe {
    /// The state.
    type State;
    /// By source: a text that is the same where later counts are.
    fn describe(&self, state: &Self::State) -> Vec<String>;
}

impl Describe for Profiler {
    type State = <Profiler as tracewright::decode::Fork>::State;

    fn describe(&self, state: &Self::State) -> Vec<String> {
        Profiler::describe(self, state)
    }
}

impl Describe for BranchLister {
    type State = <BranchLister as tracewright::decode::Fork>::State;

    fn describe(&self, state: &Self::State) -> Vec<String> {
        BranchLister::describe(self, state)
    }
}

/// The digest of a state.
pub(crate) fn state<D: Describe>(of: &D, state: &D::State) -> Digest {
    let mut digester = Digester::default();
    of.describe(state).iter().for_each(|text| digester.text(text));
    digester.finish()
}

/// The fields of [`Counts`] that are sums.
type Field = (&'static str, fn(&mut Counts) -> &mut u64);

const FIELDS: [Field; 19] = [
    ("packet-bytes", |own| &mut own.packet_bytes),
    ("packets", |own| &mut own.packets),
    ("syncs", |own| &mut own.syncs),
    ("unsynchronised", |own| &mut own.unsynchronised),
    ("undecodable", |own| &mut own.undecodable),
    ("truncated", |own| &mut own.truncated),
    ("elements", |own| &mut own.elements),
    ("ranges", |own| &mut own.ranges),
    ("instructions", |own| &mut own.instructions),
    ("unknown-instructions", |own| &mut own.unknown_instructions),
    ("no-code", |own| &mut own.no_code),
    ("zero-timestamps", |own| &mut own.zero_timestamps),
    ("exceptions", |own| &mut own.exceptions),
    ("software-writes", |own| &mut own.software_writes),
    ("dwt-events", |own| &mut own.dwt_events),
    ("data-accesses", |own| &mut own.data_accesses),
    ("gaps", |own| &mut own.gaps),
    ("ambiguities", |own| &mut own.ambiguities),
    ("inconsistencies", |own| &mut own.inconsistencies),
];

/// The same of the link.
type LinkField = (&'static str, fn(&mut Tally) -> &mut u64);

const LINK: [LinkField; 4] = [
    ("padding", |own| &mut own.padding),
    ("bad-frames", |own| &mut own.bad_frames),
    ("no-source", |own| &mut own.no_source),
    ("triggers", |own| &mut own.triggers),
];

impl BufferCounts {
    /// Adds the counts of `piece`.
    pub fn put(mut self, piece: &Piece, to: &mut Payload) {
        let head = format!("{} {}", short(&piece.capture), piece.buffer);
        let mut put = |key: String, count: u64| {
            if count > 0 {
                to.count(format!("{head} {key}"), count);
            }
        };
        self.raw.each_line(&mut put);
        put("losses".to_owned(), self.losses.count);
        for (n, counts) in self.tally.sources.iter_mut().enumerate() {
            for (name, field) in FIELDS {
                put(format!("source {n} {name}"), *field(counts));
            }
            put(format!("source {n} expansion-limits"), counts.expansion_limits);
        }
        for (name, field) in LINK {
            put(format!("link {name}"), *field(&mut self.tally));
        }
        for (id, bytes) in &self.tally.unknown_ids {
            put(format!("id {id}"), *bytes);
        }
        firsts::put(&self.tally, piece.segments.0, |key| put(key, 1));
    }

    /// The counts of buffer `buffer` of `capture`. `None` where a key is not one of these.
    pub fn take(capture: &Digest, buffer: usize, from: &Payload) -> Option<BufferCounts> {
        let Payload::Counts(counts) = from else { return None };
        let head = format!("{} {buffer} ", short(capture));
        let (mut own, mut firsts) = (BufferCounts::default(), Firsts::default());
        for (key, count) in counts.range(head.clone()..) {
            let Some(key) = key.strip_prefix(&head) else { break };
            own.add(key, *count, &mut firsts)?;
            // A sum saturates at this number.
            own.raw.saturated |= *count == u64::MAX;
        }
        firsts.set(&mut own.tally.sources)?;
        Some(own)
    }

    fn add(&mut self, key: &str, count: u64, firsts: &mut Firsts) -> Option<()> {
        let mut words = key.split(' ');
        match words.next()? {
            FIRST => firsts.add(words)?,
            "losses" => self.losses.count = count,
            "source" => {
                let n: usize = words.next()?.parse().ok().filter(|n| *n < 1 << 16)?;
                let name = words.next()?;
                let sources = &mut self.tally.sources;
                if sources.len() <= n {
                    sources.resize(n + 1, Counts::default());
                }
                let counts = sources.get_mut(n)?;
                match FIELDS.iter().find(|(own, _)| *own == name) {
                    Some((_, field)) => *field(counts) = count,
                    None if name == "expansion-limits" => counts.expansion_limits = count,
                    None => return None,
                }
            }
            "link" => {
                let name = words.next()?;
                let (_, field) = LINK.iter().find(|(own, _)| *own == name)?;
                *field(&mut self.tally) = count;
            }
            "id" => {
                let id = words.next()?.parse().ok()?;
                self.tally.unknown_ids.insert(id, count);
            }
            _ => return self.raw.add_line(key, count),
        }
        Some(())
    }
}
