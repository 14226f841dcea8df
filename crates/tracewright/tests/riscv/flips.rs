//! Flipped bits: what one costs in elements and time, and that nothing is invented behind the next
//! full synchronisation.
//!
//! `TRACEWRIGHT_TIMES=170` makes some 5,000 trials; `--nocapture` shows the numbers.

use std::time::{Duration, Instant};

use tracewright::base::{Element, Inconsistency, Parse, Range, Sink, Wire};
use tracewright::protocols::Observer;
use tracewright::protocols::etrace::packet::{Packet, Payload};
use tracewright_testing::{Random, times};

use crate::damage::{REACH, starts};
use crate::decode::elf;
use crate::run::{cache, elements, program};
use crate::streams::{self, Stream};

/// Elements that a flip may add to a short stream, and the time that is not compared.
const FEW: usize = 2000;
const SHORT: Duration = Duration::from_millis(100);

/// What was decoded. Repeated ranges count once.
#[derive(Default)]
struct Decoded {
    elements: Vec<(u64, Element)>,
    /// An element that states why there are more elements: a limit, or a contradiction.
    stated: bool,
}

impl Sink for Decoded {
    fn element(&mut self, at: u64, element: Element) {
        self.stated |= matches!(element, Element::Inconsistency(i) if !i.is_ambiguity());
        self.elements.push((at, element));
    }

    fn repeat(&mut self, at: u64, range: Range, _: u32) {
        self.elements.push((at, Element::Range(range)));
    }

    fn repeat_path(&mut self, at: u64, ranges: &[Range], _: u64) {
        self.elements.extend(ranges.iter().map(|range| (at, Element::Range(*range))));
    }
}

impl Observer for Decoded {}

/// The bytes of support packets.
fn supports(stream: &Stream) -> Vec<core::ops::Range<usize>> {
    let (mut at, mut supports) = (0, Vec::new());
    while let Parse::Packet(packet, len) = Packet::parse(&stream.bytes[at..], &stream.params) {
        if matches!(packet.payload, Payload::Support(_)) {
            supports.push(at..at + len);
        }
        at += len;
    }
    supports
}

#[test]
fn a_flipped_bit_costs_little() {
    let Some(root) = streams::shared() else { return };
    let mut random = Random::new(0xf11b);
    let (mut trials, mut differ, mut stated, mut limits) = (0, 0, 0, 0);
    let (mut most, mut slowest, mut compared) = (0.0_f64, 0.0_f64, 0);
    let mut streams = streams::reference(&root);
    streams.extend(streams::optional(&root));
    let times = times(2);
    for stream in &streams {
        let params = &stream.params;
        let image = program(elf(&root, stream), params.rv64);
        let mut code = cache(&image, params);
        let mut decode = |bytes: &[u8]| {
            let (mut decoded, began) = (Decoded::default(), Instant::now());
            elements(bytes, params, &mut code, &mut decoded);
            (decoded, began.elapsed())
        };
        // The first run fills the cache.
        decode(&stream.bytes);
        let (clean, time) = decode(&stream.bytes);
        let (starts, supports) = (starts(stream), supports(stream));
        let mut bytes = stream.bytes.clone();
        for _ in 0..times {
            let (at, bit) = (random.index(bytes.len()), 1 << random.index(8));
            bytes[at] ^= bit;
            let (damaged, mut took) = decode(&bytes);
            // Other processes may have delayed the run.
            for _ in 0..4 {
                if took > 3 * time + SHORT {
                    took = took.min(decode(&bytes).1);
                }
            }
            bytes[at] ^= bit;
            let name = format!("{} {at:#x} bit {bit:#x}", stream.path.display());
            trials += 1;
            stated += usize::from(damaged.stated);
            differ += usize::from(damaged.elements != clean.elements);
            let limit = |(_, element): &(u64, Element)| {
                *element == Element::Inconsistency(Inconsistency::ExpansionLimit)
            };
            limits += usize::from(damaged.elements.iter().any(limit));
            let (had, got) = (clean.elements.len(), damaged.elements.len());
            if !damaged.stated {
                let within = got <= 3 * had + FEW;
                assert!(within, "{name}: {got} elements, not {had}, and no reason is stated");
                let within = took <= 3 * time + SHORT;
                assert!(within, "{name}: {took:?}, not {time:?}, and no reason is stated");
            }
            most = most.max(got as f64 / had as f64);
            slowest = slowest.max(took.as_secs_f64() / time.max(SHORT).as_secs_f64());
            // A support packet changes the parameters of all packets after it.
            if supports.iter().any(|packet| packet.contains(&at)) {
                continue;
            }
            let Some(start) = starts.iter().find(|start| **start >= at + REACH) else { continue };
            let after = |list: &[(u64, Element)]| {
                list[list.partition_point(|(place, _)| *place <= *start as u64)..].to_vec()
            };
            assert!(after(&clean.elements) == after(&damaged.elements), "{name}: after {start}");
            compared += 1;
        }
    }
    println!(
        "{trials} flips, {differ} with other elements, {stated} with a contradiction, {limits} at \
         the limit, {compared} compared behind a synchronisation; at most {most:.2} times the \
         elements and {slowest:.2} times the time"
    );
    assert!(trials > 0);
}
