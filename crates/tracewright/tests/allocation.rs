//! Decoding allocates nothing once it is warm: every case, again and again.
#![forbid(unsafe_code)]

#[path = "cases/case.rs"]
mod case;

use std::collections::HashSet;

use tracewright::base::Element;
use tracewright::capture::{Capture, Dump, Source};
use tracewright::decode::{Listener, Memory, Options, Plan, Planned, Session};
use tracewright::frames::{Framing, Joiner};
use tracewright::protocols::registry::AnyProtocol;

use case::Case;

/// Elements that were seen: they must be seen, or nothing was decoded.
#[derive(Default)]
struct Elements(u64);

impl Listener for Elements {
    fn element(&mut self, _: usize, _: u64, _: Element) {
        self.0 += 1;
    }
}

/// The same for who wants packets, too.
#[derive(Default)]
struct All(Elements);

impl Listener for All {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        self.0.element(source, at, element);
    }
}

/// A buffer on its way to a listener, again and again.
struct Decoding<L> {
    buffer: Vec<u8>,
    session: Session,
    listener: L,
}

const ID: u8 = 0x10;

impl<L: Listener + Default> Decoding<L> {
    fn new(case: &Case, framing: Framing) -> Self {
        let mut buffer = Vec::new();
        let mut joiner = Joiner::new(framing);
        joiner.push(ID, &case.bytes, &mut buffer).unwrap();
        joiner.finish(&mut buffer);

        let memory = case.image.regions().iter().map(|region| Dump {
            name: region.name().to_owned(),
            address: region.start(),
            bytes: Some(region.run(region.start()).to_vec().into()),
            ..Dump::default()
        });
        let (memory, sources) = (memory.collect(), vec![Source::default()]);
        let capture = Capture { sources, memory, ..Capture::default() };
        let config = case.config.clone();
        let sources = vec![Planned::new(0, "", ID.into(), config)];
        let plan = Plan::with_sources(0, framing, sources);
        let memory = Memory::new(&capture);
        let session = Session::new(&capture, &plan, &memory, &Options::default()).unwrap();
        Decoding { buffer, session, listener: L::default() }
    }

    fn again(&mut self) {
        for _ in 0..20 {
            self.session.feed(&self.buffer, &mut self.listener);
        }
    }
}

/// Returns whether elements were decoded again, in each framing.
#[track_caller]
fn check<L: Listener + Default>(name: &str, case: &Case, seen: fn(&L) -> u64) -> bool {
    let mut decoded = true;
    for framing in [Framing::Coresight, Framing::Tpiu, Framing::Raw] {
        let mut decoding = Decoding::<L>::new(case, framing);
        decoding.again();
        let before = seen(&decoding.listener);
        let made = allocation_counter::measure(|| decoding.again());
        decoded &= seen(&decoding.listener) > before;
        assert_eq!(made.count_total, 0, "{name}, {framing:?}: allocations");
    }
    decoded
}

/// Cases whose bytes have no element when they come again: they are one reserved packet, whose
/// length is not known, and what follows belongs to it.
const SILENT: &[&str] = &[
    "etrace/draft-reserved-support.case",
    "etrace/draft-reserved-type.case",
    "ntrace/correlation-without-count.case",
];

#[test]
fn warm_decoding_allocates_nothing() {
    let (mut checked, mut silent) = (HashSet::new(), Vec::new());
    for (name, case) in Case::all() {
        let case = case.unwrap_or_else(|error| panic!("{name}: {error}"));
        let elements = check::<Elements>(&name, &case, |elements| elements.0);
        if check::<All>(&name, &case, |all| all.0.0) && elements {
            checked.insert(case.config.protocol());
        } else {
            silent.push(name);
        }
    }
    assert_eq!(silent, SILENT, "cases without an element");
    for protocol in AnyProtocol::ALL {
        assert!(checked.contains(protocol), "no case of {protocol:?}");
    }
}

/// The counter counts.
#[test]
fn an_allocation_is_seen() {
    let made = allocation_counter::measure(|| drop(std::hint::black_box(vec![1u8; 100])));
    assert_eq!(made.count_total, 1);
}
