//! Decoding allocates nothing once it is warm: every case, again and again.
#![forbid(unsafe_code)]

#[path = "cases/case.rs"]
mod case;

use std::sync::Arc;

use tracewright::base::{Element, Places, Sink};
use tracewright::frames::{Framing, Joiner, Link, Sources, Splitter};
use tracewright::image::{Cache, CacheOptions};
use tracewright::protocols::registry::AnyStream;

use case::Case;

/// Elements that were seen: they must be seen, or nothing was decoded.
#[derive(Default)]
struct Count(u64);

impl Sink for Count {
    fn element(&mut self, _at: u64, _element: Element) {
        self.0 += 1;
    }
}

/// A source on its way from frames to elements, again and again.
struct Decoding {
    frames: Vec<u8>,
    splitter: Splitter,
    sources: Sources,
    stream: AnyStream,
    cache: Cache,
    count: Count,
}

const ID: u8 = 0x10;

impl Decoding {
    fn new(case: &Case) -> Self {
        let mut frames = Vec::new();
        let mut joiner = Joiner::new(Framing::Coresight);
        joiner.push(ID, &case.bytes, &mut frames).unwrap();
        joiner.finish(&mut frames);
        let options = CacheOptions { blocks: 256, ..CacheOptions::default() };
        Decoding {
            frames,
            splitter: Splitter::new(Link::new(Framing::Coresight)),
            sources: Sources::default(),
            stream: case.config.stream(),
            cache: Cache::new(Arc::new(case.image.clone()), case.config.waypoints(), options),
            count: Count::default(),
        }
    }

    fn again(&mut self) {
        self.splitter.split(0, &self.frames, &mut self.sources);
        self.sources.clear_events();
        for source in self.sources.iter_mut().filter(|source| source.id() == ID) {
            let (bytes, places): (&[u8], Places<'_>) = (source.bytes(), source.places());
            let taken = self.stream.feed(bytes, &places, &mut self.cache, &mut self.count, &mut ());
            source.consume(taken);
        }
    }
}

#[test]
fn warm_decoding_allocates_nothing() {
    let mut checked = 0;
    for (name, case) in Case::all() {
        let case = case.unwrap_or_else(|error| panic!("{name}: {error}"));
        if case.config.stream().nibbles() {
            continue;
        }
        let mut decoding = Decoding::new(&case);
        for _ in 0..20 {
            decoding.again();
        }
        let before = decoding.count.0;
        let made = allocation_counter::measure(|| {
            for _ in 0..20 {
                decoding.again();
            }
        });
        assert!(decoding.count.0 > before, "{name}: nothing was decoded");
        assert_eq!(made.count_total, 0, "{name}: allocations");
        checked += 1;
    }
    assert!(checked > 40, "only {checked} cases");
}

/// The counter counts.
#[test]
fn an_allocation_is_seen() {
    let made = allocation_counter::measure(|| drop(std::hint::black_box(vec![1u8; 100])));
    assert_eq!(made.count_total, 1);
}
