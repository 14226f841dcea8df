//! Hill climbing: a change of the bytes stays if the ratio is not smaller.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tracewright::base::Isa;
use tracewright_testing::{Random, short_or_long};

use crate::case::Case;
use crate::measure::{Work, measure};
use crate::programs::Fill;

/// The maximum length of the bytes.
pub const MAX_LEN: usize = 512;

/// Fewer bytes count as this many: what a decoder reports of no byte at all matters less then.
const MIN_LEN: usize = 64;

/// The maximum time of one climb.
const MAX_TIME: Duration = Duration::from_secs(10);

/// The number of changes in one climb, in a long run and otherwise.
const CHANGES: [usize; 2] = [100, 10];

/// What is to be large, for each byte of trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    Instructions,
    Elements,
    Text,
    Json,
    Nanoseconds,
}

impl Goal {
    pub const ALL: [Goal; 5] =
        [Goal::Instructions, Goal::Elements, Goal::Text, Goal::Json, Goal::Nanoseconds];

    fn ratio(self, work: &Work, len: usize) -> f64 {
        let value = match self {
            Goal::Instructions => work.instructions,
            Goal::Elements => work.elements,
            Goal::Text => work.text,
            Goal::Json => work.json,
            Goal::Nanoseconds => work.time.as_nanos() as u64,
        };
        value as f64 / len.max(MIN_LEN) as f64
    }
}

/// The worst that was found.
#[derive(Clone, Debug, Default)]
pub struct Best {
    pub ratio: f64,
    pub bytes: Vec<u8>,
    /// Index of the case that it comes from.
    seed: usize,
    /// `None`: the program of the case.
    pub program: Option<Fill>,
}

/// Climbs once, from one of the cases or from the best so far.
pub fn climb(seeds: &[&Case], goal: Goal, random: &mut Random, best: &mut [Best; 5]) {
    if seeds.is_empty() {
        return;
    }
    let start = if random.one_in(2) && best[goal as usize].ratio > 0.0 {
        let mut start = best[goal as usize].clone();
        if random.one_in(4) {
            start.program = program(seeds[start.seed].isa, random);
        }
        start
    } else {
        let seed = random.index(seeds.len());
        let program = program(seeds[seed].isa, random);
        Best { ratio: 0.0, bytes: seeds[seed].bytes.clone(), seed, program }
    };
    let Best { seed, program, mut bytes, .. } = start;
    let case = seeds[seed];
    let image = Arc::new(program.map_or_else(|| case.image.clone(), |fill| fill.image()));
    let (listed, timed) = (matches!(goal, Goal::Text | Goal::Json), goal == Goal::Nanoseconds);
    let begin = Instant::now();
    let mut ratio = -1.0;
    let [long, short] = CHANGES;
    for _ in 0..short_or_long(short, long) {
        if begin.elapsed() > MAX_TIME {
            break;
        }
        let changed = change(&bytes, seeds, random);
        let work = measure(&case.config, &image, &changed, listed, timed);
        for (best, goal) in best.iter_mut().zip(Goal::ALL) {
            let now = goal.ratio(&work, changed.len());
            if now > best.ratio {
                *best = Best { ratio: now, bytes: changed.clone(), seed, program };
            }
        }
        let now = goal.ratio(&work, changed.len());
        if now >= ratio {
            (bytes, ratio) = (changed, now);
        }
    }
}

/// A program for a case of `isa`; mostly of its instruction set.
fn program(isa: Isa, random: &mut Random) -> Option<Fill> {
    let isa = match (random.index(4), isa) {
        (0, Isa::A64 | Isa::A32 | Isa::T32) => random.pick(&[Isa::A64, Isa::A32, Isa::T32]),
        (_, isa) => isa,
    };
    (!random.one_in(10)).then(|| random.pick(&Fill::all(isa)))
}

/// One to three changes of the bytes.
fn change(bytes: &[u8], seeds: &[&Case], random: &mut Random) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..1 + random.index(3) {
        let at = random.index(bytes.len().max(1)).min(bytes.len());
        let len = (1 + random.index(16)).min(bytes.len() - at);
        match random.index(9) {
            0 => bytes.insert(at, random.next() as u8),
            1 if at < bytes.len() => bytes[at] = random.next() as u8,
            2 if at < bytes.len() => bytes[at] ^= 1 << random.index(8),
            3 => {
                bytes.drain(at..at + len);
            }
            // Some bytes again, often.
            4 => {
                let part = bytes[at..at + len].repeat(1 + random.index(32));
                bytes.splice(at..at, part);
            }
            5 => {
                let part = bytes[at..at + len].to_vec();
                bytes.extend(part);
            }
            // Many atoms, and short addresses.
            6 => bytes.insert(at, random.pick(&[0xf4, 0xd4, 0xf7, 0x95, 0x9a, 0x85, 0xfc, 0x84])),
            // E-Trace: a count of correctly predicted branches.
            7 => {
                let count = [0x04, 0x02, 0xff, 0xff, random.next() as u8 >> random.index(8)];
                bytes.splice(at..at, count);
            }
            // A part of another case.
            _ => {
                let other = &seeds[random.index(seeds.len())].bytes;
                let from = random.index(other.len().max(1)).min(other.len());
                let len = (1 + random.index(24)).min(other.len() - from);
                bytes.splice(at..at, other[from..from + len].iter().copied());
            }
        }
    }
    bytes.truncate(MAX_LEN);
    bytes
}
