//! Frames where a part of the trace is missing, compared with those of the whole trace.

use std::collections::HashMap;

use tracewright::Trace;
use tracewright::analysis::stacks::{Begin, Ending, FunctionId, Position, Visitor};
use tracewright::analysis::{Code, Stacks, Transfers};
use tracewright::base::Waypoints;
use tracewright::capture::{Buffer, Capture};
use tracewright::decode::Fork;
use tracewright::image::CacheOptions;
use tracewright_testing::{Random, shared};

/// A frame: its function, where it begins and ends in the trace, the instructions of the thread
/// between.
type Frame = (FunctionId, u64, u64, u64);

/// Records frames.
#[derive(Default)]
struct Frames {
    open: Vec<(FunctionId, u64, u64)>,
    instructions: u64,
    all: Vec<Frame>,
}

impl Visitor for Frames {
    type Node = usize;

    fn thread(&mut self, _: usize, _: usize, _: Option<u64>) -> usize {
        0
    }

    fn begin(&mut self, position: &Position, _: usize, begin: &Begin) -> usize {
        self.open.push((begin.function, position.at, self.instructions));
        0
    }

    fn end(&mut self, position: &Position, _: usize, _: Ending, _: bool) {
        let (function, at, before) = self.open.pop().expect("a frame");
        self.all.push((function, at, position.at, self.instructions - before));
    }

    fn beneath(&mut self, _: &Position, root: usize, begin: &Begin) -> (usize, usize) {
        self.open.push((begin.function, 0, 0));
        (0, root)
    }

    fn run(&mut self, _: &Position, _: usize, instructions: u64, _: u64) {
        self.instructions += instructions;
    }
}

fn frames(capture: Capture) -> Vec<Frame> {
    let trace = Trace::new(capture).partial();
    let programs = || trace.sources().iter().map(|source| source.program.clone());
    let code = Code::new(trace.capture(), programs());
    let caches = programs().map(|p| p.cache(Waypoints::default(), CacheOptions::default()));
    let mut transfers = Transfers::new(code, caches.collect());
    let _ = trace.decode(&mut transfers).expect("the trace is decoded");
    let mut stacks = Stacks::new(trace.sources().len(), Frames::default());
    stacks.transfers(&transfers.take());
    stacks.finish();
    assert_eq!(stacks.counts.begun, stacks.counts.ended);
    stacks.visitor.all
}

/// One hundredth of the trace is missing. A decoder needs a synchronisation to continue: 4 KiB
/// after each missing part are left out, by which it is known to have continued in this trace.
/// Frames that neither begin nor end in such a part nor contain one are compared: nearly all are
/// the same, and there are no others. The program has no symbols, so that only return addresses
/// show where it continues.
#[test]
fn frames_outside_losses_are_the_same() {
    let Some(folder) = shared("conformance/arm/snapshots/bugfix-exact-match") else { return };
    let capture = tracewright::read_capture(&folder).expect("a capture");
    let whole = frames(capture.clone());
    assert_eq!(whole.len(), 107_747);
    let buffer = &capture.buffers[0];
    let mut bytes = buffer.bytes().into_owned();
    let (piece, mut random) = (1024, Random::new(7));
    let count = bytes.len() / 100 / piece;
    let mut lost = Vec::new();
    for n in 0..count {
        let room = bytes.len() / count - piece;
        let at = (n * (bytes.len() / count) + random.below(room as u64) as usize) / 16 * 16;
        lost.push((at as u64, (at + piece + 4096) as u64));
        for frame in bytes[at..at + piece].chunks_mut(16) {
            // Data of no source.
            frame.fill(0);
            frame[0] = 1;
        }
    }
    let mut damaged = capture.clone();
    damaged.buffers[0] = Buffer::new(buffer.name.clone(), buffer.format.clone(), bytes);
    let outside =
        |(_, begin, end, _): &&Frame| lost.iter().all(|(from, to)| end < from || begin >= to);
    let mut counts: HashMap<Frame, i64> = HashMap::new();
    let mut all = 0i64;
    for frame in whole.iter().filter(outside) {
        *counts.entry(*frame).or_default() += 1;
        all += 1;
    }
    for frame in frames(damaged).iter().filter(outside) {
        *counts.entry(*frame).or_default() -= 1;
    }
    let missing: i64 = counts.values().filter(|count| **count > 0).sum();
    let invented: i64 = -counts.values().filter(|count| **count < 0).sum::<i64>();
    assert!(all > 90_000 && missing * 1000 < all, "{missing} of {all} are missing");
    assert_eq!(invented, 0);
}
