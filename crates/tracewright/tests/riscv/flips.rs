//! Flipped bits: what one costs in elements and work, and that nothing is invented behind the next
//! full synchronisation.
//!
//! The work is counted, not timed: the look-ups of program memory do not depend on the machine.
//!
//! `TRACEWRIGHT_TIMES=56` makes some 5,000 trials; `--nocapture` shows the numbers.

use tracewright::base::{
    Block, BlockCache, Code, Element, Inconsistency, Instruction, Miss, Parse, Pc, Sink, Turns,
    Wire,
};
use tracewright::image::Cache;
use tracewright::protocols::Observer;
use tracewright::protocols::etrace::packet::{Packet, Payload};
use tracewright_testing::{Random, sample, times};

use crate::damage::{REACH, starts};
use crate::decode::elf;
use crate::run::{cache, elements, program};
use crate::streams::{self, Stream, up_to};

/// How many times as many elements and look-ups a damaged stream may have.
const MOST: usize = 3;

/// Counts the look-ups of program memory.
struct Counted {
    cache: Cache,
    look_ups: usize,
}

impl Code for Counted {
    fn block(&mut self, pc: Pc) -> Result<&Block, Miss> {
        self.look_ups += 1;
        self.cache.block(pc)
    }

    fn instruction(&mut self, pc: Pc) -> Result<Instruction, Miss> {
        self.look_ups += 1;
        self.cache.instruction(pc)
    }

    fn absent(&self, pc: Pc) -> Option<Miss> {
        self.cache.absent(pc)
    }

    fn opcode(&mut self, pc: Pc) -> Option<u32> {
        self.look_ups += 1;
        self.cache.opcode(pc)
    }
}

/// No successors are known: each block is a look-up.
impl BlockCache for Counted {}

/// What was decoded. Repeated ranges count once.
#[derive(Default)]
struct Decoded {
    elements: Vec<(u64, Element)>,
    /// An element that states why there are more elements: a limit, or a contradiction.
    stated: bool,
    /// Lines of a listing.
    lines: u64,
}

impl Sink for Decoded {
    fn element(&mut self, at: u64, element: Element) {
        self.stated |= matches!(element, Element::Inconsistency(i) if !i.is_ambiguity());
        self.elements.push((at, element));
        self.lines += 1;
    }

    fn turns(&mut self, turns: Turns<'_>) {
        let Turns { at, ranges, times, listed } = turns;
        if !listed {
            // A listing states how many turns it does not have.
            self.stated = true;
            self.lines += 1;
            return;
        }
        self.elements.extend(ranges.iter().map(|range| (at, Element::Range(*range))));
        self.lines += times * ranges.len() as u64;
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
    let (mut most, mut hardest, mut compared) = (0.0_f64, 0.0_f64, 0);
    let mut longest = 0.0_f64;
    let mut streams = streams::reference(&root);
    streams.extend(streams::optional(&root));
    let (times, streams) = (times(2), up_to(15_000, streams));
    for stream in sample(2, &streams) {
        let params = &stream.params;
        let image = program(elf(&root, stream), params.rv64);
        let mut code = Counted { cache: cache(&image, params), look_ups: 0 };
        let mut decode = |bytes: &[u8]| {
            let mut decoded = Decoded::default();
            code.look_ups = 0;
            elements(bytes, params, &mut code, &mut decoded);
            (decoded, code.look_ups)
        };
        let (clean, work) = decode(&stream.bytes);
        let (starts, supports) = (starts(stream), supports(stream));
        let mut bytes = stream.bytes.clone();
        for _ in 0..times {
            let (at, bit) = (random.index(bytes.len()), 1 << random.index(8));
            bytes[at] ^= bit;
            let (damaged, worked) = decode(&bytes);
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
            let (elements, look_ups) = (got as f64 / had as f64, worked as f64 / work as f64);
            (most, hardest) = (most.max(elements), hardest.max(look_ups));
            longest = longest.max(damaged.lines as f64 / clean.lines as f64);
            if !damaged.stated {
                let within = damaged.lines <= MOST as u64 * clean.lines;
                assert!(within, "{name}: {} lines, not {}", damaged.lines, clean.lines);
                let within = got <= MOST * had;
                assert!(within, "{name}: {got} elements, not {had}, and no reason is stated");
                let within = worked <= MOST * work;
                assert!(within, "{name}: {worked} look-ups, not {work}, and no reason is stated");
            }
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
         elements and {hardest:.2} times the look-ups, and \
         {longest:.2} times the lines of a listing"
    );
    assert!(trials > 0);
}
