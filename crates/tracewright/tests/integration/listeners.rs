//! A trace calls the same methods of a listener as a session does.

use std::path::Path;

use tracewright::base::{self, BlockId, CachedBlocks};
use tracewright::decode::{Listener, Memory, Options, Plan, Session};
use tracewright::frames::Frame;
use tracewright::protocols::registry::AnyPacket;
use tracewright::{Element, Trace};

/// Counts calls by method.
#[derive(Debug, Default, PartialEq, Eq)]
struct Calls<const FRAMES: bool, const PATHS: bool> {
    elements: usize,
    paths: usize,
    cached: usize,
    frames: usize,
    packets: usize,
    sources: Vec<usize>,
}

impl<const FRAMES: bool, const PATHS: bool> Listener for Calls<FRAMES, PATHS> {
    const FRAMES: bool = FRAMES;
    const PATHS: bool = PATHS;
    const BRANCH_PATHS: bool = PATHS;

    fn enter_source(&mut self, source: usize) {
        self.sources.push(source);
        self.sources.dedup();
    }

    fn element(&mut self, _: usize, _: u64, _: Element) {
        self.elements += 1;
    }

    fn path(&mut self, _: usize, _: u64, _: &base::Path, _: &CachedBlocks<'_>) {
        self.paths += 1;
    }

    fn cached_block(&mut self, _: usize, _: u64, _: BlockId, _: base::Range) {
        self.cached += 1;
    }

    fn cached_range(&mut self, _: usize, _: u64, _: base::Range) {
        self.cached += 1;
    }

    fn frame(&mut self, _: &Frame<'_>) {
        self.frames += 1;
    }

    // Frames are not wanted, although the type can take them.
    fn wants_frames(&self) -> bool {
        false
    }

    fn wants_each_packet(&self) -> bool {
        false
    }

    fn packet(
        &mut self,
        _: usize,
        _: &base::OffsetMap<'_>,
        _: std::ops::Range<usize>,
        _: &[u8],
        _: AnyPacket<'_>,
    ) {
        self.packets += 1;
    }
}

fn both_ways<const FRAMES: bool, const PATHS: bool>(folder: &str) -> Calls<FRAMES, PATHS> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures").join(folder);
    let trace: Trace = tracewright::open(path.join("capture")).unwrap();
    let mut by_trace = Calls::<FRAMES, PATHS>::default();
    let _ = trace.decode(&mut by_trace).unwrap();

    let mut by_session = Calls::default();
    let (capture, options) = (trace.capture(), Options::default());
    let memory = Memory::new(capture);
    let mut first = 0;
    for n in 0..capture.buffers.len() {
        let plan = Plan::new(capture, n, &options).unwrap();
        let session = Session::new(capture, &plan, &memory, &options).unwrap();
        let mut session = session.numbered_from(first);
        session.run(capture.buffers[n].parts(), &mut by_session);
        first += plan.sources.len();
    }
    assert_eq!(by_trace, by_session, "{folder}");
    by_trace
}

#[test]
fn frames_that_are_not_wanted_are_not_passed() {
    for folder in ["etmv4", "ete", "ptm", "etmv3"] {
        assert_eq!(both_ways::<true, false>(folder).frames, 0);
    }
}

#[test]
fn ranges_come_as_the_listener_states() {
    let paths: usize =
        ["etmv4", "ete"].map(|folder| both_ways::<false, true>(folder).paths).iter().sum();
    assert!(paths > 0);
    assert_eq!(both_ways::<false, false>("etmv4").paths, 0);
}
