//! Tracewright.

use std::hint::black_box;

use tracewright::base::{
    Code, Element, Encode, OffsetMap, Parse, Pc, Piece, Retired, Sink, Space, Step, Wire,
};
use tracewright::image::{Cache, CacheOptions};
use tracewright::protocols::etrace::encode::{Encoder, Settings};
use tracewright::protocols::etrace::{Etrace, Packet};
use tracewright::protocols::{Observer, Protocol, Stream};

use crate::inputs::Input;

fn cache(input: &Input) -> Cache {
    let waypoints = Etrace::waypoints(&input.params);
    Cache::new(input.image.clone(), waypoints, CacheOptions::default())
}

fn decode(input: &Input, observer: &mut impl Observer) {
    let mut stream = Stream::<Etrace>::new(input.params);
    let piece = [Piece { start: 0, at: 0, fragment: true }];
    let offsets = OffsetMap::new(&piece);
    let mut code = cache(input);
    let taken = stream.feed(&input.bytes, &offsets, &mut code, observer);
    let rest = input.bytes.get(taken..).unwrap_or_default();
    stream.finish(rest, &offsets, &mut code, observer);
}

/// Counts instructions, and folds the ranges.
#[derive(Default)]
struct Count {
    instructions: u64,
    fold: u64,
}

impl Observer for Count {}

impl Sink for Count {
    #[inline]
    fn element(&mut self, _: u64, element: Element) {
        if let Element::Range(range) = element {
            self.instructions += u64::from(range.instructions);
            self.fold ^= range.start ^ u64::from(range.bytes);
        }
    }
}

/// The whole way from bytes to ranges: how many instructions.
pub fn blocks(input: &Input) -> u64 {
    let mut count = Count::default();
    decode(input, &mut count);
    black_box(count.fold);
    count.instructions
}

/// Packets alone: how many.
pub fn packets(input: &Input) -> u64 {
    let (mut at, mut count) = (0, 0);
    while let Some(rest) = input.bytes.get(at..).filter(|rest| !rest.is_empty()) {
        let parsed = Packet::parse(rest, &input.params);
        let Parse::Packet(packet, len) = &parsed else { break };
        black_box(packet);
        at += len;
        count += 1;
    }
    count
}

/// At most so many steps are kept.
const MOST: usize = 4_000_000;

struct Steps {
    code: Cache,
    steps: Vec<Step>,
}

impl Observer for Steps {}

impl Sink for Steps {
    fn element(&mut self, _: u64, element: Element) {
        let Element::Range(range) = element else { return };
        let isa = range.last.isa;
        let mut at = range.start;
        for n in 1..=range.instructions {
            if self.full() {
                return;
            }
            let pc = Pc { address: at, isa, space: Space::ANY };
            let Ok(instruction) = self.code.instruction(pc) else { return };
            if let Some(Step::Retired(last)) = self.steps.last_mut() {
                last.next = at;
            }
            let next = at + u64::from(instruction.size);
            let taken = n < range.instructions || range.taken();
            let retired = Retired { address: at, next, next_isa: isa, taken, instruction };
            self.steps.push(Step::Retired(retired));
            at = next;
        }
    }

    fn full(&self) -> bool {
        self.steps.len() >= MOST
    }
}

/// What the trace says was done.
pub fn steps(input: &Input) -> Vec<Step> {
    let mut steps = Steps { code: cache(input), steps: Vec::new() };
    decode(input, &mut steps);
    steps.steps
}

/// Steps to bytes.
pub fn encode(steps: &[Step], input: &Input) -> Vec<u8> {
    let mut encoder = Encoder::new(&input.params, &Settings::default());
    let (mut packets, mut bytes) = (Vec::new(), Vec::new());
    for step in steps {
        encoder.step(step, &input.params, &mut packets);
        for packet in packets.drain(..) {
            packet.emit(&input.params, &mut bytes);
        }
    }
    encoder.finish(&input.params, &mut packets);
    for packet in packets.drain(..) {
        packet.emit(&input.params, &mut bytes);
    }
    bytes
}
