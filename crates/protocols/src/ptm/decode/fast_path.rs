//! Atoms and branches, many packets at once.
//!
//! Nearly all of a trace is Atom packets, with a Branch packet for each indirect branch. The program between two
//! branches is a path through blocks that are kept: the lane holds the place on that path, a [`BlockId`], and an atom
//! is one load. What the decoder knows of where it is is made of the last block alone, where it is needed.

use tracewright_base::{
    BlockId, Code, CodeSpace, Counted, Element, Feed, Inconsistency, Isa, Kind, Range, Role, Sink,
};

use super::{Decoder, Phase, Place, is_branch, walkable};
use crate::ptm::config::Config;
use crate::ptm::packet::{Address, Atoms, cycles};

/// A waypoint that the decoder is still before.
#[derive(Clone, Copy)]
struct Passed {
    /// Its block; [`BlockId::NONE`] where the decoder is up to date.
    block: BlockId,
    /// Whether it took effect.
    taken: bool,
    /// Place of the packet that says so.
    at: u64,
}

const NOTHING: Passed = Passed { block: BlockId::NONE, taken: false, at: 0 };

/// What selects blocks of A32 and of T32.
type Sets = [CodeSpace; 2];

impl Decoder {
    /// Takes Atom packets, and Branch packets that say nothing but an address.
    #[inline]
    pub(super) fn fast_path<K: Code, S: Sink>(
        &mut self,
        feed: &mut Feed<'_>,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        if self.phase != Phase::Following || self.pc.is_none() {
            return;
        }
        // Neither an atom nor an address.
        if feed.bytes.get(feed.taken).is_none_or(|header| header & 0x81 == 0) {
            return;
        }
        match (config.uses_return_stack(), config.counts_cycles()) {
            (false, false) => self.run_atoms::<false, false, K, S>(feed, config, code, sink),
            (false, true) => self.run_atoms::<false, true, K, S>(feed, config, code, sink),
            (true, false) => self.run_atoms::<true, false, K, S>(feed, config, code, sink),
            (true, true) => self.run_atoms::<true, true, K, S>(feed, config, code, sink),
        }
    }

    /// The lane. `RETURNS`: there is a return stack. `CYCLES`: each atom and address has a cycle count.
    fn run_atoms<const RETURNS: bool, const CYCLES: bool, K: Code, S: Sink>(
        &mut self,
        feed: &mut Feed<'_>,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        let sets = [Isa::A32, Isa::T32].map(|isa| code.code_space(isa, self.context(isa).space()));
        let mut next = self.find(&sets, code);
        let mut passed = NOTHING;
        // Atoms to come from bit 0, and a 1 behind them.
        let mut steps = 1;
        let mut count = Counted::UNKNOWN;
        // Bytes of packets beside the first of each.
        let mut beside = 0;
        let (mut at, mut taken) = (feed.last, feed.taken);
        loop {
            let blocks = code.blocks();
            // Whether the block to come has to be asked for; otherwise there is a packet that is not for the lane.
            let ask = 'fast_path: loop {
                while steps > 1 {
                    let Some((cached, class)) = blocks.get(next) else {
                        if RETURNS && passed.taken && self.back(passed, code) {
                            passed = NOTHING;
                            next = self.find(&sets, code);
                            if next != BlockId::NONE {
                                continue;
                            }
                        }
                        break 'fast_path true;
                    };
                    let way = steps & 1 != 0;
                    let range = Range { cycles: count, ..cached.range(class, way) };
                    sink.element(at, Element::Range(range));
                    if RETURNS
                        && way
                        && class.last[1].role == Role::Call
                        && class.last[1].kind == Kind::Branch
                    {
                        self.returns.push(cached.end(class) as u32, class.isa());
                    }
                    passed = Passed { block: next, taken: way, at };
                    next = blocks.next(next, way);
                    steps >>= 1;
                }
                let Some(&header) = feed.bytes.get(taken) else { break false };
                let bytes = feed.bytes.get(taken..).unwrap_or_default();
                if CYCLES && header & 0x81 == 0x80 {
                    let Some((cycles, len)) = cycles::parse(bytes) else { break false };
                    steps = 0b10 | u32::from(header & 0x02 == 0);
                    count = Counted::of(cycles);
                    at = feed.offsets.at(taken);
                    taken += len;
                    beside += len - 1;
                    continue;
                }
                match Atoms::steps(header) {
                    0 => {
                        let Some((address, mut len)) = Address::alone(bytes) else { break false };
                        if CYCLES {
                            let bytes = bytes.get(len..).unwrap_or_default();
                            let Some((cycles, more)) = cycles::parse(bytes) else { break false };
                            count = Counted::of(cycles);
                            len += more;
                        }
                        let Some((cached, class)) = blocks.get(next) else { break true };
                        at = feed.offsets.at(taken);
                        taken += len;
                        beside += len - 1;
                        let range = Range { cycles: count, ..cached.range(class, true) };
                        sink.element(at, Element::Range(range));
                        if RETURNS
                            && class.last[1].role == Role::Call
                            && is_branch(class.last[1].kind)
                        {
                            self.returns.push(cached.end(class) as u32, class.isa());
                        }
                        self.history.move_to(&address, None);
                        self.pc = self.traced();
                        passed = NOTHING;
                        next = self.find(&sets, code);
                    }
                    atoms => {
                        steps = atoms;
                        at = feed.offsets.at(taken);
                        taken += 1;
                    }
                }
            };
            self.settle(passed, config, code, sink);
            if !ask {
                break;
            }
            next = self.ask(passed, code);
            passed = NOTHING;
            if next == BlockId::NONE {
                // Without a place, what is left of an atom is its cycles.
                while steps > 1 && (CYCLES || self.pc.is_some()) {
                    self.atom(at, steps & 1 != 0, count, config, code, sink);
                    steps >>= 1;
                }
                break;
            }
        }
        feed.packets += taken - feed.taken - beside;
        (feed.last, feed.taken) = (at, taken);
    }

    /// The kept block at `pc`.
    #[inline]
    fn find<K: Code>(&self, sets: &Sets, code: &K) -> BlockId {
        let Some(Place { address, isa }) = self.pc else { return BlockId::NONE };
        let [arm, thumb] = *sets;
        let code_space = match isa {
            Isa::A32 => arm,
            Isa::T32 => thumb,
            _ => return BlockId::NONE,
        };
        code.find(u64::from(address) & isa.address_mask(), code_space)
    }

    /// Goes past a waypoint of which the target is on the return stack; not past any other.
    #[inline]
    fn back<K: Code>(&mut self, passed: Passed, code: &K) -> bool {
        let Some((cached, class)) = code.blocks().get(passed.block) else { return false };
        let last = class.last[1];
        if last.kind != Kind::Indirect {
            return false;
        }
        let Some((address, isa)) = self.returns.pop() else { return false };
        if last.role == Role::Call {
            self.returns.push(cached.end(class) as u32, class.isa());
        }
        self.pc = Some(Place { address, isa });
        true
    }

    /// Brings the decoder past a waypoint, as [`atom`](Self::atom) does. The lane has put calls of which the target is
    /// in the program on the return stack already.
    #[inline]
    fn settle<K: Code, S: Sink>(
        &mut self,
        passed: Passed,
        config: &Config,
        code: &K,
        sink: &mut S,
    ) {
        let Some(block) = code.cached_block(passed.block) else { return };
        let last = &block.last;
        let next = Place { address: block.next() as u32, isa: last.isa };
        self.pc = match (passed.taken, last.kind) {
            (true, Kind::Branch) => match last.target {
                Some(target) => Some(Place { address: target as u32, isa: last.target_isa }),
                None => Some(next),
            },
            (true, Kind::Indirect) => {
                self.arrive(passed.at, config, sink);
                self.call(last, next, config);
                return;
            }
            (false, kind) if is_branch(kind) && !last.conditional => {
                sink.element(
                    passed.at,
                    Element::Inconsistency(Inconsistency::UnconditionalNotTaken),
                );
                Some(next)
            }
            _ => Some(next),
        };
    }

    /// Makes and keeps the block at `pc`, which `passed` leads to.
    #[cold]
    fn ask<K: Code>(&mut self, passed: Passed, code: &mut K) -> BlockId {
        let Some(pc) = self.pc.filter(|pc| walkable(pc.isa)) else { return BlockId::NONE };
        // A branch whose target is in the program always leads to the same block. One that must be taken and
        // was not leads nowhere: that has to be doubted each time.
        let leads =
            |(_, class): (&tracewright_base::CachedBlock, &tracewright_base::BlockClass)| {
                let last = class.last[usize::from(passed.taken)];
                match passed.taken {
                    true => last.kind != Kind::Indirect,
                    false => last.conditional() || !is_branch(last.kind),
                }
            };
        let from = code.blocks().get(passed.block).is_some_and(leads);
        code.enter(self.space(pc), from.then_some((passed.block, passed.taken)))
    }
}
