//! Samples, compared with a decoding of the whole trace.

use std::collections::BTreeMap;

use tracewright_analysis::Code;
use tracewright_analysis::flat::{FlatCode, PAGE};
use tracewright_base::Element;
use tracewright_capture::ImageSource;
use tracewright_decode::{Listener, Plan};

use super::{Case, captures, shared};
use crate::chain::Shape;
use crate::key::{Key, Kind};
use crate::sample::{Sampled, Sampler};

/// What is emitted, one element after another.
struct Whole<'a> {
    code: &'a Code,
    /// By source.
    tile: Vec<Sampled>,
}

impl Listener for Whole<'_> {
    fn element(&mut self, source: usize, _: u64, element: Element) {
        let own = &mut self.tile[source];
        if let Element::Range(range) = element {
            let is = |known: &tracewright_analysis::Known| {
                known.function.start <= range.start && range.start < known.function.end
            };
            // Of functions that contain others, the one that begins last.
            let functions = self.code.functions().iter().enumerate().filter(|own| is(own.1));
            let last = functions.max_by_key(|own| own.1.function.start);
            let code = match last {
                Some((number, _)) => FlatCode::Function(number as u32),
                None => FlatCode::Page(range.start - range.start % PAGE),
            };
            *own.functions.entry(code).or_default() += u64::from(range.instructions);
        }
        Key::each(&element, |key| {
            let n = match key.kind {
                Kind::Exception => 0,
                Kind::Gap => 1,
                Kind::Write => 2,
                Kind::Access => 3,
                Kind::Event | Kind::Trigger => 4,
                Kind::Dwt => 5,
                Kind::Context => 6,
                Kind::Function | Kind::Time | Kind::Sync => return,
            };
            own.counts[n] += 1;
        });
    }
}

/// By tile and source: what a decoding of the whole buffer emits.
fn whole(case: &Case, plan: &Plan, tile: usize) -> Vec<Vec<Sampled>> {
    let code = case.subject().code(plan);
    let mut session = case.subject().session(plan).expect("a session");
    let blank = vec![Sampled::default(); plan.sources.len()];
    let mut listener = Whole { code: &code, tile: blank.clone() };
    let bytes = case.capture.buffers[plan.buffer].bytes();
    let tiles = bytes.chunks(tile).map(|part| {
        session.feed(part, &mut listener);
        std::mem::replace(&mut listener.tile, blank.clone())
    });
    tiles.collect()
}

/// The tiles of each source that are known, and all.
fn compare(case: &Case, shape: Shape) -> (usize, usize, BTreeMap<bool, usize>) {
    let (mut known, mut all, mut kinds) = (0, 0, BTreeMap::new());
    for plan in &case.plans {
        let subject = case.subject();
        let sampler = Sampler::new(&subject, plan, shape).expect("its own plan");
        let mut sampler = sampler.expect("a buffer");
        let whole = whole(case, plan, sampler.tile_len() as usize);
        assert_eq!(sampler.tiles(), whole.len() as u64, "{}", case.name);
        // Backwards: what was sampled before does not matter.
        for (number, expected) in whole.iter().enumerate().rev() {
            let sample = sampler.tile(number as u64).expect("a tile");
            assert_eq!(sample.sources.len(), expected.len());
            for (n, (own, expected)) in sample.sources.iter().zip(expected).enumerate() {
                all += 1;
                let Some(own) = own else { continue };
                known += 1;
                let name = &case.name;
                assert_eq!(own, expected, "{name}: source {n}, {:?}", sample.offsets);
                for code in own.functions.keys() {
                    *kinds.entry(matches!(code, FlatCode::Function(_))).or_default() += 1;
                }
            }
        }
    }
    (known, all, kinds)
}

#[test]
fn samples_are_parts_of_the_whole_trace() {
    let mut pages = 0;
    for case in captures() {
        let len = case.capture.buffers.iter().map(|buffer| buffer.len()).max().unwrap_or(0);
        for segment in [len / 40, len / 10, 3 << 13] {
            let (known, all, of) = compare(&case, Shape::with_segment(segment.max(64)));
            println!("{}: {segment}: {known} of {all}", case.name);
            assert!(known > 0 && all > 0, "{}: {known} of {all}", case.name);
            pages += of.get(&false).copied().unwrap_or(0);
        }
    }
    assert!(pages > 1000, "{pages}");
}

/// Several sources in frames, synchronisations far apart, and 1 MiB.
#[test]
fn samples_of_larger_captures() {
    let names = ["bugfix-exact-match", "juno_r1_1", "TC2", "Snowball"];
    for case in shared(&names) {
        let (known, all, _) = compare(&case, Shape::default());
        println!("{}: {known} of {all}", case.name);
        assert!(known * 2 > all, "{}: {known} of {all}", case.name);
    }
    let Some(folder) = tracewright_testing::shared("captures/ti-am243x-r5f/freertos") else {
        return;
    };
    let mut capture = Case::open(&folder).capture;
    let image = ImageSource::file(folder.join("freertos.out"));
    capture.add_image(&image).expect("its program");
    let case = Case::of("freertos".to_owned(), capture);
    let (known, all, kinds) = compare(&case, Shape::with_segment(1 << 10));
    println!("functions: {known} of {all}, {kinds:?}");
    assert!(known * 2 > all && kinds.get(&true) > Some(&100), "{known} of {all}, {kinds:?}");
}
