//! A trace gives the same to a listener as a session does, and what the listener wants.

use std::path::Path;

use tracewright::base::{Batch, Part};
use tracewright::decode::listener::each_element;
use tracewright::decode::{
    Event, Jobs, Listener, Memory, Merge, Merging, Options, Packets, Plan, Session, Wants, input,
    parallel,
};
use tracewright::{Element, Trace};

/// Counts what is received.
#[derive(Debug, Default, PartialEq)]
struct Counts {
    wants: Wants,
    elements: usize,
    /// Steps of cached blocks.
    steps: usize,
    frames: usize,
    packets: usize,
    /// Packets that are only counted.
    counted: usize,
    links: usize,
    /// The sources in turn.
    sources: Vec<usize>,
}

impl Listener for Counts {
    fn element(&mut self, source: usize, _: u64, _: Element) {
        self.elements += 1;
        self.sources.push(source);
        self.sources.dedup();
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        let before = self.elements;
        each_element(self, batch);
        let parts = batch.parts().map(|part| match part {
            Part::Steps(steps) => steps.len(),
            Part::Element(..) => 1,
            Part::Turns(turns) => turns.ranges.len() * turns.times as usize,
        });
        assert_eq!(self.elements - before, parts.sum::<usize>());
        self.steps += batch.steps().len();
    }

    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Frame(_) | Event::Packed { .. } | Event::Fragment { .. } => self.frames += 1,
            Event::Packet { .. } => self.packets += 1,
            Event::Packets { count, .. } => self.counted += count,
            Event::Link { .. } => self.links += 1,
            _ => {}
        }
    }

    fn wants(&self) -> Wants {
        self.wants
    }
}

fn both_ways(folder: &str, wants: Wants) -> Counts {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures").join(folder);
    let trace: Trace = tracewright::open(path.join("capture")).unwrap();
    let mut by_trace = Counts { wants, ..Counts::default() };
    let _ = trace.decode(&mut by_trace).unwrap();

    let mut by_session = Counts { wants, ..Counts::default() };
    let (capture, options) = (trace.capture(), Options::default());
    let memory = Memory::new(capture);
    let mut first = 0;
    for n in 0..capture.buffers.len() {
        let plan = Plan::new(capture, n, &options).unwrap();
        let session = Session::new(capture, &plan, &memory, &options).unwrap();
        let mut session = session.numbered_from(first);
        // A trace counts packets itself.
        let mut both = (&mut by_session, tracewright::decode::Tally::default());
        session.run(capture.buffers[n].parts(), &mut both);
        first += plan.sources.len();
    }
    assert_eq!(by_trace, by_session, "{folder}");
    by_trace
}

#[test]
fn a_listener_receives_what_it_wants() {
    for folder in ["etmv4", "ete", "ptm", "etmv3"] {
        let elements = both_ways(folder, Wants::ELEMENTS);
        let each = both_ways(folder, Wants::EACH_PACKET);
        assert_eq!(each.elements, elements.elements, "{folder}");
        assert_eq!(each.counted, 0, "{folder}");
        let steps = if folder.starts_with("et") { elements.steps } else { 0 };
        assert_eq!(each.steps, steps, "{folder}");
        assert_eq!(each.packets, elements.packets + elements.counted, "{folder}");
        let frames = both_ways(folder, Wants::ELEMENTS.with_frames(true));
        assert_eq!((elements.frames, each.frames, frames.frames > 0), (0, 0, true), "{folder}");
        assert_eq!(frames.elements, elements.elements, "{folder}");
    }
}

#[test]
fn cached_blocks_are_steps() {
    for folder in ["etmv4", "ete", "ptm", "etrace-2.0"] {
        let counts = both_ways(folder, Wants::ANY_ORDER);
        assert!(counts.steps > 0, "{folder}");
    }
}

/// A session alone reports nothing that is not wanted.
#[test]
fn packets_that_are_not_wanted_are_not_reported() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures/etmv4/capture");
    let trace = tracewright::open(path).unwrap();
    let (capture, options) = (trace.capture(), Options::default());
    let plan = Plan::new(capture, 0, &options).unwrap();
    for packets in [Packets::None, Packets::Counted, Packets::Each] {
        let wants = Wants::ELEMENTS.with_packets(packets);
        let mut counts = Counts { wants, ..Counts::default() };
        let mut session = Session::new(capture, &plan, &Memory::new(capture), &options).unwrap();
        session.run(capture.buffers[0].parts(), &mut counts);
        let any = counts.packets + counts.counted > 0;
        assert_eq!(any, packets != Packets::None);
        assert_eq!(counts.counted > 0, packets == Packets::Counted);
    }
}

/// Wants this many elements.
struct Limited(usize);

impl Listener for Limited {
    fn element(&mut self, _: usize, _: u64, _: Element) {
        self.0 = self.0.saturating_sub(1);
    }

    fn full(&self) -> bool {
        self.0 == 0
    }
}

impl Merge for Limited {
    fn merge(&mut self, _: Self) {}
}

impl Default for Limited {
    fn default() -> Self {
        Limited(10)
    }
}

/// A listener that is full ends a run after the step, whatever its output.
#[test]
fn a_full_listener_ends_a_run() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures/etmv4/capture");
    let trace: Trace = tracewright::open(path).unwrap();
    let plan = &trace.plans()[0];
    let buffer = &trace.capture().buffers[plan.buffer];
    let jobs = Jobs { step: 16, ..Jobs::new(1) };
    let mut session = trace.session(plan).unwrap();
    let mut listener = Merging(Limited::default());
    let mut bytes = input::of(buffer);
    let work = parallel::run(&mut session, &mut *bytes, &mut listener, &jobs, |_, _| true).unwrap();
    assert_eq!(work.bytes % 16, 0);
    assert!(work.bytes > 0 && work.bytes < buffer.size().unwrap(), "{work:?}");
}
