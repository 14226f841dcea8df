//! Call paths of a trace that is cut into parts, compared with those of the whole trace.

use std::collections::BTreeMap;
use std::path::Path;

use tracewright::Trace;
use tracewright::analysis::functions::{FunctionTotals, by_thread};
use tracewright::analysis::stacks::{Ending, FunctionId, Part, SWITCHES, StackCounts};
use tracewright::analysis::{Code, Paths, Stacks, Transfer, Transfers};
use tracewright::base::{Element, Waypoints};
use tracewright::decode::{Fork, Listener};
use tracewright::image::CacheOptions;
use tracewright_testing::{is_long, shared};

use crate::common::{args, tracewright};

/// What is found.
#[derive(Debug, PartialEq)]
struct Found {
    functions: Vec<BTreeMap<FunctionId, FunctionTotals>>,
    paths: usize,
    endings: BTreeMap<(FunctionId, Ending), u64>,
    lost: [u64; 2],
    counts: StackCounts,
}

/// Receives each range on its own, without sums.
struct Each(Transfers);

impl Listener for Each {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        self.0.element(source, at, element);
    }
}

/// The call paths of the trace at `path` in 1, 2, 3 and 7 parts are those of all its transfers.
/// Returns the numbers of frames that begin and end in a part, of transfers that depend on earlier
/// frames, and of all transfers, where there is one part.
pub(super) fn same_in_parts(path: &Path) -> (u64, usize, usize) {
    let capture = tracewright::read_capture(path).expect("a capture");
    let trace = Trace::new(capture).partial();
    let programs = || trace.sources().iter().map(|source| source.program.clone());
    let code = Code::new(trace.capture(), programs());
    let caches = trace.sources().iter().map(|source| {
        let riscv = source.config.riscv();
        let options = CacheOptions { riscv, ..CacheOptions::default() };
        source.program.cache(Waypoints::default(), options)
    });
    let caches: Vec<_> = caches.collect();
    let mut transfers = Transfers::new(code.clone(), caches.clone());
    let _ = trace.decode(&mut transfers).expect("the trace is decoded");
    let all: Vec<Transfer> = transfers.take().transfers().collect();
    let targets = code.unwind_targets();
    let mut each = Each(Transfers::new(code.clone(), caches.clone()));
    let _ = trace.decode(&mut each).expect("the trace is decoded");
    assert!(each.0.take().transfers().eq(all.iter().copied()), "{}: sums", path.display());
    let mut transfers = Transfers::new(code.clone(), caches).with_frames();
    let _ = trace.decode(&mut transfers).expect("the trace is decoded");
    let decoded = transfers.take();
    assert!(decoded.transfers().eq(all.iter().copied()), "{}: with frames", path.display());
    let found = |take: &mut dyn FnMut(&mut Stacks<Paths>)| {
        let switches = SWITCHES.iter().flat_map(|name| code.named(name));
        let mut stacks = Stacks::new(trace.sources().len(), Paths::new())
            .with_switches(switches)
            .with_unwind_targets(targets.clone());
        take(&mut stacks);
        stacks.finish();
        let Stacks { visitor: paths, counts, .. } = &stacks;
        let endings = paths.endings.iter().map(|(key, count)| (*key, *count)).collect();
        let (functions, lost) = (by_thread(paths), paths.lost);
        Found { functions, paths: paths.paths().len(), endings, lost, counts: *counts }
    };
    let whole = found(&mut |stacks| stacks.transfers(&all));
    let joined = found(&mut |stacks| stacks.part(&decoded));
    assert!(joined == whole, "{}: frames found with the transfers", path.display());
    let (mut frames, mut left) = (0, 0);
    for count in [1, 2, 3, 7] {
        let length = all.len().div_ceil(count).max(1);
        let joined = found(&mut |stacks| {
            for part in all.chunks(length) {
                let part = Part::new(part, &targets);
                if count == 1 {
                    (frames, left) = (part.frames(), part.left());
                }
                stacks.part(&part);
            }
        });
        assert!(joined == whole, "{}: {count} parts", path.display());
    }
    (frames, left, all.len())
}

#[test]
fn parts_of_captures() {
    let mut frames = Vec::new();
    let short = ["bugfix-exact-match", "tc2-ptm-rstk-t32", "init-short-addr", "a55-test-tpiu"];
    let long = ["Snowball", "TC2", "juno_r1_1", "juno-uname-001", "ts_marker"];
    for name in short.iter().chain(long.iter().filter(|_| is_long())) {
        let Some(folder) = shared(&format!("conformance/arm/snapshots/{name}")) else { return };
        frames.push((name, same_in_parts(&folder)));
    }
    let (found, left, all) = frames[0].1;
    assert!(found > 100_000 && left * 100 < all, "{frames:?}");
}

/// The command, too, with each number of threads.
#[test]
fn functions_do_not_depend_on_jobs() {
    let Some(folder) = shared("conformance/arm/snapshots/bugfix-exact-match") else { return };
    let table = |jobs: usize| {
        let output = tracewright(&args(&format!("functions --jobs {jobs}"), &[&folder]));
        assert_eq!(output.code, Some(0), "{}", output.err);
        output.out
    };
    let one = table(1);
    assert!(one.contains("7581461 instructions, 107738 calls, 107735 returns"), "{one}");
    for jobs in [2, 3, 7] {
        assert_eq!(table(jobs), one, "{jobs} threads");
    }
}
