//! MTB packets to elements.

use tracewright_base::{
    Block, BlockCache, Context, Counted, Decode, Element, End, Exception, Fault, Gap,
    Inconsistency, Instruction, Isa, Kind, Last, Pc, Range, Reserve, Sink, Space, Spanned, Start,
};

use super::{Config, Packet};

/// The state that the next packet depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decoder {
    /// There was a packet.
    begun: bool,
    /// The next instruction. `None` where it is not known.
    next: Option<u32>,
}

/// What a range costs of the limit of a packet ([`Code::max_expansion`]) and of the [`Reserve`] in
/// addition to its instructions: it bounds the elements of the packet.
///
/// [`Code::max_expansion`]: tracewright_base::Code::max_expansion
const RANGE: u32 = 64;

/// Bytes of a packet.
const PACKET: u64 = 8;

/// What an instruction and a range count of the [`Reserve`], as a power of two: each block is
/// looked up.
const WEIGHT: u32 = 2;

/// The number of each exception: the trace does not have it.
const NOT_TRACED: u16 = 0;

impl Decode<Config, Packet> for Decoder {
    fn packet<K: BlockCache, S: Sink>(
        &mut self,
        p: Spanned<&Packet>,
        _: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        let (at, packet) = (p.at, *p.packet);
        if packet.is_unwritten() {
            self.next = None;
            return;
        }
        if !self.begun {
            sink.element(at, Element::Gap(Gap::Start));
        }
        if !self.begun || packet.start() {
            sink.element(at, Element::TraceOn(Start::Normal));
            sink.element(at, Element::Context(Context { isa: Isa::T32, ..Context::default() }));
            *self = Decoder { begun: true, next: None };
        }
        match packet {
            Packet::Branch { source, .. } => {
                // Of the code before the first packet, only the branch is known to have executed.
                let from = self.next.unwrap_or(source);
                Walk { at, code, sink }.through(from, source);
                if packet.is_exception_return() {
                    sink.element(at, Element::ExceptionReturn);
                    self.next = None;
                    return;
                }
            }
            Packet::Exception { .. } if packet.ends_exception_return() => {}
            Packet::Exception { return_address, .. } => {
                if let Some(from) = self.next {
                    Walk { at, code, sink }.up_to(from, return_address);
                }
                sink.element(
                    at,
                    Element::Exception(Exception {
                        number: NOT_TRACED,
                        return_address: Some(return_address.into()),
                        also_target: false,
                        tail_chain: false,
                    }),
                );
            }
        }
        self.next = Some(packet.destination());
    }

    fn bad<S: Sink>(&mut self, at: u64, _: Fault, sink: &mut S) {
        // Only the last packet of a trace can be incomplete.
        if !self.begun {
            sink.element(at, Element::Gap(Gap::Start));
        }
        *self = Decoder { begun: true, next: None };
    }

    // Nothing is pending between packets.
    fn finish<K: BlockCache, S: Sink>(&mut self, _: u64, _: &Config, _: &mut K, _: &mut S) {}
}

/// Follows the program in sequence, for one packet.
struct Walk<'a, K, S> {
    at: u64,
    code: &'a mut K,
    sink: &'a mut S,
}

/// What a walk may cost, and has cost.
struct Cost {
    reserve: Reserve,
    limit: u64,
    /// What of it does not come from the reserve.
    free: u64,
    spent: u64,
}

impl Cost {
    /// Of a packet at offset `at`.
    fn of<K: BlockCache>(code: &K, at: u64) -> Cost {
        let reserve = code.work_reserve();
        let free = (reserve.free() * PACKET) >> WEIGHT;
        let limit = (free + (reserve.left(at) >> WEIGHT)).min(code.max_expansion().into());
        Cost { reserve, limit, free, spent: 0 }
    }

    /// Counts a range. Returns whether another one may follow.
    fn add(&mut self, block: &Block) -> bool {
        self.spent += u64::from(block.instructions + RANGE);
        self.spent <= self.limit
    }

    /// Takes what a packet has cost.
    fn settle<K: BlockCache>(mut self, code: &mut K, at: u64) {
        self.reserve.spend(at, self.spent.saturating_sub(self.free) << WEIGHT);
        code.set_work_reserve(self.reserve);
    }
}

impl<K: BlockCache, S: Sink> Walk<'_, K, S> {
    /// From `from` on, through the branch at `source`.
    fn through(&mut self, from: u32, source: u32) {
        let mut cost = Cost::of(self.code, self.at);
        self.follow_to_branch(from, source, &mut cost);
        cost.settle(self.code, self.at);
    }

    fn follow_to_branch(&mut self, from: u32, source: u32, cost: &mut Cost) {
        let mut pc = from;
        loop {
            let Some(block) = self.block(pc) else { return };
            let (size, end) = (u32::from(block.last.size), pc.wrapping_add(block.bytes));
            let more = cost.add(&block);
            let inside = source.wrapping_sub(pc) < block.bytes;
            if inside && source == end.wrapping_sub(size) && block.end == End::Waypoint {
                return self.report(pc, block.bytes, block.instructions, &block.last, true);
            }
            if inside || !more {
                return self.stop(match inside {
                    true => Inconsistency::AddressNotReached,
                    false => Inconsistency::ExpansionLimit,
                });
            }
            if !self.pass(pc, &block) {
                return;
            }
            pc = end;
        }
    }

    /// From `from` on, up to the instruction before `target`.
    fn up_to(&mut self, from: u32, target: u32) {
        let mut cost = Cost::of(self.code, self.at);
        self.follow_to(from, target, &mut cost);
        cost.settle(self.code, self.at);
    }

    fn follow_to(&mut self, from: u32, target: u32, cost: &mut Cost) {
        let mut pc = from;
        while pc != target {
            let Some(block) = self.block(pc) else { return };
            let end = pc.wrapping_add(block.bytes);
            let more = cost.add(&block);
            if target.wrapping_sub(pc) < block.bytes {
                return self.part(pc, target);
            }
            if !more {
                return self.stop(Inconsistency::ExpansionLimit);
            }
            if !self.pass(pc, &block) {
                return;
            }
            pc = end;
        }
    }

    /// The block at `pc`. Missing memory and an illegal opcode are reported.
    fn block(&mut self, pc: u32) -> Option<Block> {
        let pc = Pc { address: pc.into(), isa: Isa::T32, space: Space::ANY };
        match self.code.block(pc) {
            Ok(block) if block.instructions > 0 => Some(*block),
            Ok(_) => {
                self.stop(Inconsistency::InvalidOpcode);
                None
            }
            Err(miss) => {
                self.sink.element(self.at, pc.unreadable(miss.address));
                None
            }
        }
    }

    /// Reports a whole block behind which execution goes on in sequence; `false` if it cannot.
    fn pass(&mut self, pc: u32, block: &Block) -> bool {
        let branch = block.end == End::Waypoint && is_branch(&block.last);
        if branch && !block.last.conditional {
            self.stop(Inconsistency::AddressNotReached);
            return false;
        }
        self.report(pc, block.bytes, block.instructions, &block.last, !branch);
        true
    }

    /// The instructions of a block from `pc` up to the one before `target`.
    fn part(&mut self, pc: u32, target: u32) {
        let (mut address, mut count, mut last) = (pc, 0, Instruction::default());
        while address != target {
            let pc = Pc { address: address.into(), isa: Isa::T32, space: Space::ANY };
            let Ok(instruction) = self.code.instruction(pc) else { return };
            let size = u32::from(instruction.size);
            if size == 0 || target.wrapping_sub(address) < size {
                return self.stop(Inconsistency::AddressNotReached);
            }
            (address, count, last) = (address.wrapping_add(size), count + 1, instruction);
        }
        self.report(pc, target.wrapping_sub(pc), count, &last, true);
    }

    fn report(
        &mut self,
        start: u32,
        bytes: u32,
        instructions: u32,
        last: &Instruction,
        taken: bool,
    ) {
        let (start, cycles, last) = (start.into(), Counted::UNKNOWN, Last::new(last, taken));
        let range = Range { start, bytes, instructions, cycles, last };
        self.sink.element(self.at, Element::Range(range));
    }

    fn stop(&mut self, why: Inconsistency) {
        self.sink.element(self.at, Element::Inconsistency(why));
    }
}

const fn is_branch(instruction: &Instruction) -> bool {
    matches!(instruction.kind, Kind::Branch | Kind::Indirect)
}
