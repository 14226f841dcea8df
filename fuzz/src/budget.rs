//! The progress of decoding: the work for a case is bounded by the number of its units, so that a
//! loop without an end is a failure and not only a time limit.

use std::sync::Arc;

use tracewright::base::{
    Block, BlockCache, Code, Element, Inconsistency, Instruction, MAX_EXPANSION, Miss, OffsetMap,
    Pc, Piece, Reserve, Sink, Turns,
};
use tracewright::image::{Cache, CacheOptions};
use tracewright::protocols::Observer;
use tracewright::protocols::registry::AnyConfig;

use crate::case::Case;

/// Elements for each unit (byte or nibble) of trace; the iterations of a loop that are reported at
/// once count as one.
const ELEMENTS: usize = 1 << 10;
/// Look-ups of program memory for each unit of trace.
const LOOK_UPS: usize = 1 << 13;
/// Longer ranges are long straight code.
const LONG: u32 = 256;
/// Elements of turns that are reported at once: the other ways of decoding list each of them.
const LISTED: u64 = 1 << 16;
/// Added to the number of units: a packet of a few bytes may use all of the work at once.
const FREE: usize = 64;

/// Decodes the bytes of `case` once, and panics where the decoder emits more elements or looks up
/// more program memory than a case of its length may. Returns the number of instructions in long
/// straight code. `None`: its turns of loops are too many to list, or a message stands for too many
/// instructions.
pub fn within_budget(case: &Case) -> Option<u64> {
    let mut stream = case.config.stream();
    let nibbles = stream.nibbles();
    let halves: Vec<u8>;
    let mut units = case.bytes.as_slice();
    if nibbles {
        halves = units.iter().flat_map(|byte| [byte & 0xf, byte >> 4]).collect();
        units = &halves;
    }
    let pieces = [Piece { start: 0, at: 0, fragment: true }];
    let offsets = OffsetMap::new(&pieces);
    let offsets = if nibbles { offsets.of_nibbles() } else { offsets };
    let riscv = case.config.riscv();
    // A message of N-Trace may repeat a path a million times that is no loop.
    let max_expansion = match case.config {
        AnyConfig::Ntrace(_) => ELEMENTS as u32,
        _ => MAX_EXPANSION,
    };
    let options = CacheOptions { blocks: 64, riscv, max_expansion, ..CacheOptions::default() };
    let cache = Cache::new(Arc::new(case.image.clone()), case.config.waypoints(), options);
    let work = units.len() + FREE;
    let mut code = CountedCode { cache, left: work * LOOK_UPS };
    let mut sink = CountedSink { left: work * ELEMENTS, instructions: 0, turns: 0, limited: false };
    let taken = stream.feed(units, &offsets, &mut code, &mut sink);
    stream.finish(units.get(taken..).unwrap_or_default(), &offsets, &mut code, &mut sink);
    (sink.turns <= LISTED && !sink.limited).then_some(sink.instructions)
}

/// Program memory with a limited number of look-ups.
struct CountedCode {
    cache: Cache,
    left: usize,
}

impl CountedCode {
    fn count(&mut self) {
        assert!(self.left > 0, "the decoder looks up program memory without an end");
        self.left -= 1;
    }
}

impl Code for CountedCode {
    fn block(&mut self, pc: Pc) -> Result<&Block, Miss> {
        self.count();
        self.cache.block(pc)
    }

    fn instruction(&mut self, pc: Pc) -> Result<Instruction, Miss> {
        self.count();
        self.cache.instruction(pc)
    }

    fn absent(&self, pc: Pc) -> Option<Miss> {
        self.cache.absent(pc)
    }

    fn opcode(&mut self, pc: Pc) -> Option<u32> {
        self.count();
        self.cache.opcode(pc)
    }

    fn max_expansion(&self) -> u32 {
        self.cache.max_expansion()
    }

    fn work_reserve(&self) -> Reserve {
        self.cache.work_reserve()
    }

    fn set_work_reserve(&mut self, reserve: Reserve) {
        self.cache.set_work_reserve(reserve);
    }
}

impl BlockCache for CountedCode {}

/// A limited number of elements.
struct CountedSink {
    left: usize,
    /// The instructions of long ranges so far.
    instructions: u64,
    /// The elements of turns so far.
    turns: u64,
    /// The limit of expansion was reached.
    limited: bool,
}

impl Sink for CountedSink {
    fn element(&mut self, _: u64, element: Element) {
        assert!(self.left > 0, "the decoder emits elements without an end");
        self.left -= 1;
        match element {
            Element::Range(range) if range.instructions > LONG => {
                self.instructions += u64::from(range.instructions);
            }
            Element::Inconsistency(Inconsistency::ExpansionLimit) => self.limited = true,
            _ => {}
        }
    }

    fn turns(&mut self, turns: Turns<'_>) {
        self.turns =
            self.turns.saturating_add(turns.times.saturating_mul(turns.ranges.len() as u64));
        for range in turns.ranges {
            self.element(turns.at, Element::Range(*range));
        }
    }
}

impl Observer for CountedSink {}
