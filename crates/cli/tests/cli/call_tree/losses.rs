//! Frames where a part of the trace is missing, compared with those of the whole trace.

use std::collections::HashMap;

use tracewright::analysis::stacks::{Begin, Ending, FunctionId, Position, Visitor};
use tracewright::analysis::{Code, Stacks, Transfers};
use tracewright::base::{Element, Waypoints};
use tracewright::capture::{Buffer, Capture};
use tracewright::decode::Fork;
use tracewright::image::CacheOptions;
use tracewright::{Listener, Trace};
use tracewright_testing::{Random, is_long, shared};

use super::{A64, PROGRAMS, execute};
use crate::common::{Folder, args, tracewright};

/// A frame.
#[derive(Clone, Copy, Debug)]
struct Frame {
    function: FunctionId,
    /// Offsets in the trace.
    begin: u64,
    end: u64,
    /// Instructions of the processor from its begin to its end.
    instructions: u64,
    /// It begins with a call or an exception: it was not found while it executed.
    called: bool,
}

/// Records frames.
#[derive(Default)]
struct Frames {
    /// The open frames of each thread, with the instructions before.
    open: HashMap<usize, Vec<Frame>>,
    instructions: u64,
    all: Vec<Frame>,
}

impl Frames {
    fn open(&mut self, position: &Position, begin: &Begin, at: u64) {
        let (function, called) = (begin.function, begin.entry.is_call());
        let instructions = if at == 0 { 0 } else { self.instructions };
        let frame = Frame { function, begin: at, end: at, instructions, called };
        self.open.entry(position.thread).or_default().push(frame);
    }
}

impl Visitor for Frames {
    type Node = usize;

    fn thread(&mut self, _: usize, _: usize, _: Option<u64>) -> usize {
        0
    }

    fn begin(&mut self, position: &Position, _: usize, begin: &Begin) -> usize {
        self.open(position, begin, position.at);
        0
    }

    fn end(&mut self, position: &Position, _: usize, _: Ending, _: bool) {
        let open = self.open.get_mut(&position.thread).expect("frames");
        let frame = open.pop().expect("a frame");
        let instructions = self.instructions - frame.instructions;
        self.all.push(Frame { end: position.at, instructions, ..frame });
    }

    fn beneath(&mut self, position: &Position, root: usize, begin: &Begin) -> (usize, usize) {
        self.open(position, begin, 0);
        (0, root)
    }

    fn run(&mut self, _: &Position, _: usize, instructions: u64, _: u64) {
        self.instructions += instructions;
    }
}

/// What is executed at each offset of the trace: a hash of the ranges.
#[derive(Default)]
struct Executed(Vec<(u64, u64)>);

impl Listener for Executed {
    fn element(&mut self, _: usize, at: u64, element: Element) {
        let Element::Range(range) = element else { return };
        if self.0.last().is_none_or(|last| last.0 != at) {
            self.0.push((at, 0));
        }
        let hash = &mut self.0.last_mut().expect("an offset").1;
        let range =
            range.start << 8 | u64::from(range.instructions) << 1 | u64::from(range.taken());
        *hash = (hash.rotate_left(5) ^ range).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

/// The frames, and what is executed.
fn frames(capture: Capture) -> (Vec<Frame>, Executed) {
    let trace = Trace::new(capture).partial();
    let programs = || trace.sources().iter().map(|source| source.program.clone());
    let code = Code::new(trace.capture(), programs());
    let caches = programs().map(|p| p.cache(Waypoints::default(), CacheOptions::default()));
    let mut both = (Transfers::new(code, caches.collect()), Executed::default());
    let _ = trace.decode(&mut both).expect("the trace is decoded");
    let (mut transfers, executed) = both;
    let mut stacks = Stacks::new(trace.sources().len(), Frames::default());
    stacks.transfers(transfers.take().transfers());
    stacks.finish();
    assert_eq!(stacks.counts.begun, stacks.counts.ended);
    (stacks.visitor.all, executed)
}

/// The offset from which on both execute the same up to `until`: the loss that begins at `from` and
/// of which the decoder knows nothing ends there.
fn continues(whole: &Executed, damaged: &Executed, from: u64, until: u64) -> u64 {
    let part = |all: &Executed| -> Vec<(u64, u64)> {
        let range = |at| all.0.partition_point(|executed| executed.0 < at);
        all.0[range(from)..range(until)].to_vec()
    };
    let (whole, damaged) = (part(whole), part(damaged));
    let same = whole.iter().rev().zip(damaged.iter().rev()).take_while(|(a, b)| a == b);
    same.last().map_or(until, |(same, _)| same.0)
}

/// The result of a comparison.
#[derive(Debug, Default)]
struct Compared {
    /// Frames of the whole trace outside of the losses, and those of them that the damaged trace
    /// does not have.
    outside: [usize; 2],
    /// The same for frames that begin before a loss and end after it. The number of instructions is
    /// not compared.
    around: [usize; 2],
    /// Calls of the damaged trace outside of the losses that the whole trace does not have.
    invented: usize,
    /// Bytes in losses.
    lost: u64,
}

/// Compares the frames of `capture`, whose source has the trace ID `id`, with those of the same
/// with `count` pieces of `piece` bytes missing. A loss extends to where the decoder finds the same
/// again as in the whole trace: it needs a synchronisation, or an address that the trace has by
/// chance.
fn compare_damaged(capture: &Capture, id: u8, count: usize, piece: usize, seed: u64) -> Compared {
    let (whole, executed) = frames(capture.clone());
    let buffer = &capture.buffers[0];
    let mut bytes = buffer.bytes().into_owned();
    let mut random = Random::new(seed);
    let mut cuts = Vec::new();
    for n in 0..count {
        let room = bytes.len() / count - piece;
        let at = (n * (bytes.len() / count) + random.below(room as u64) as usize) / 16 * 16;
        cuts.push(at as u64);
        for frame in bytes[at..at + piece].chunks_mut(16) {
            // Data of no source, and then the source again.
            frame.fill(0);
            (frame[0], frame[14]) = (1, id << 1 | 1);
        }
    }
    let end = bytes.len() as u64;
    let mut damaged = capture.clone();
    damaged.buffers[0] = Buffer::new(buffer.name.clone(), buffer.format.clone(), bytes);
    let (found, again) = frames(damaged);
    let next = cuts.iter().copied().skip(1).chain([end]);
    let losses: Vec<(u64, u64)> = cuts
        .iter()
        .zip(next)
        .map(|(&from, until)| (from, continues(&executed, &again, from, until)))
        .collect();
    let inside = |at: u64| losses.iter().any(|(from, to)| *from <= at && at <= *to);
    let around = |f: &Frame| losses.iter().any(|(from, to)| f.begin < *from && *to <= f.end);
    let key = |f: &Frame| (f.function, f.begin, f.end, if around(f) { 0 } else { f.instructions });
    let mut counts: HashMap<_, i64> = HashMap::new();
    found.iter().for_each(|frame| *counts.entry(key(frame)).or_default() += 1);
    let mut compared = Compared::default();
    for frame in whole.iter().filter(|frame| !inside(frame.begin) && !inside(frame.end)) {
        let count = counts.entry(key(frame)).or_default();
        *count -= 1;
        let sums = if around(frame) { &mut compared.around } else { &mut compared.outside };
        sums[0] += 1;
        sums[1] += usize::from(*count < 0);
    }
    let mut begins: HashMap<(FunctionId, u64), i64> = HashMap::new();
    whole.iter().for_each(|frame| *begins.entry((frame.function, frame.begin)).or_default() += 1);
    for frame in found.iter().filter(|frame| frame.called && !inside(frame.begin)) {
        let count = begins.entry((frame.function, frame.begin)).or_default();
        *count -= 1;
        compared.invented += usize::from(*count < 0);
    }
    compared.lost = losses.iter().map(|(from, to)| to - from).sum();
    compared
}

/// One hundredth of the trace is missing. The program has no symbols, so that only return addresses
/// show where it continues.
#[test]
fn frames_outside_losses_are_the_same() {
    let Some(folder) = shared("conformance/arm/snapshots/bugfix-exact-match") else { return };
    let capture = tracewright::read_capture(&folder).expect("a capture");
    let compared = compare_damaged(&capture, 0x12, 10, 1024, 7);
    eprintln!("{compared:?}");
    let Compared { outside, around, invented, lost } = compared;
    assert!(outside[0] > 100_000 && around[0] > 20 && lost < 12_000, "{compared:?}");
    assert!(outside[1] == 0 && around[1] * 1_000 < outside[0], "{compared:?}");
    assert_eq!(invented, 0, "{compared:?}");
}

/// The same for programs with symbols, which run several times.
#[test]
fn frames_of_functions_outside_losses_are_the_same() {
    if !is_long() {
        return;
    }
    for (name, source) in PROGRAMS {
        let folder = Folder::new(&format!("losses-{name}"));
        let path = folder.path("");
        let turns = if name == "recursion" { 8 } else { 30 };
        let source = format!(
            "#define program once\n{source}\n#undef program\n\
             void program(void) {{ for (int turn = 0; turn < {turns}; turn++) once(); }}\n"
        );
        let Some((elf, log)) = execute(&A64, &path, name, &source) else { return };
        // A synchronisation every 256 bytes.
        let snapshot = path.join("ETM4");
        let mut words = args("encode --protocol ETM4 --config TRCSYNCPR=8 --log", &[&log]);
        words.extend(args("--image", &[&elf]));
        words.extend(args("--output", &[&snapshot]));
        let output = tracewright(&words);
        assert_eq!(output.code, Some(0), "{}", output.err);
        let capture = tracewright::read_capture(&snapshot).expect("a capture");
        let size = capture.buffers[0].bytes().len();
        let (mut outside, mut around) = ([0; 2], [0; 2]);
        for seed in 0..10 {
            let found = compare_damaged(&capture, 0x10, (size / 6400).max(1), 64, seed);
            assert_eq!(found.invented, 0, "{name} {seed}: {found:?}");
            for (sum, own) in outside.iter_mut().zip(found.outside) {
                *sum += own;
            }
            for (sum, own) in around.iter_mut().zip(found.around) {
                *sum += own;
            }
        }
        // Where several frames of a recursive function are open, a trace does not show how many
        // of them end in the loss.
        eprintln!("{name}: {outside:?} outside, {around:?} around");
        assert!(outside[0] > 10_000 && outside[1] * 100 < outside[0], "{name}: {outside:?}");
    }
}
