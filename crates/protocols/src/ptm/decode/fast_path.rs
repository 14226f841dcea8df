//! The fast path of the decoder: runs of Atom and Branch packets.
//!
//! Almost all packets of a trace are Atom packets, with a Branch packet for each indirect branch.
//! The program between two branches is a path through cached blocks. The fast path holds a
//! [`BlockId`] as its position on that path, so an atom takes one load. The state of the decoder is
//! updated from the last block alone, where it is needed.

use tracewright_base::{
    BlockId, Code, CodeSpace, Counted, Element, Feed, Inconsistency, Isa, Kind, Range, Role, Sink,
};

use super::{Decoder, Phase, Place, is_branch, walkable};
use crate::ptm::config::Config;
use crate::ptm::packet::{Address, Atoms, cycles};

/// The last waypoint that the fast path took and the decoder state does not include yet.
#[derive(Clone, Copy)]
struct Passed {
    /// Its block; [`BlockId::NONE`]: the decoder state is up to date.
    block: BlockId,
    /// Whether it was taken.
    taken: bool,
    /// Offset of its packet.
    at: u64,
}

const NOTHING: Passed = Passed { block: BlockId::NONE, taken: false, at: 0 };

/// The code spaces of A32 and T32.
type Sets = [CodeSpace; 2];

impl Decoder {
    /// Takes Atom packets, and Branch packets without information bytes.
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

    /// The loop. `RETURNS`: a return stack is in use. `CYCLES`: each atom and address has a cycle
    /// count.
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
        // The remaining atoms from bit 0 on, with a 1 above the last.
        let mut steps = 1;
        let mut count = Counted::UNKNOWN;
        // Bytes of the packets, without the first byte of each.
        let mut beside = 0;
        let (mut at, mut taken) = (feed.last, feed.taken);
        loop {
            let blocks = code.blocks();
            // Whether the next block is not cached; otherwise the next packet needs the general
            // decoder.
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
                // Without an address, only the cycles of an atom are reported.
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

    /// The cached block at `pc`.
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

    /// Moves past an indirect branch whose target is on the return stack. Returns `false`
    /// otherwise.
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

    /// Updates the decoder state to the position after a waypoint, as [`atom`](Self::atom) does.
    /// The loop has pushed the return addresses of direct calls already.
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

    /// Caches the block at `pc`, a successor of `passed`.
    #[cold]
    fn ask<K: Code>(&mut self, passed: Passed, code: &mut K) -> BlockId {
        let Some(pc) = self.pc.filter(|pc| walkable(pc.isa)) else { return BlockId::NONE };
        // A direct branch always leads to the same block. An unconditional branch that was not
        // taken has no cached successor, so that each occurrence is reported as an inconsistency.
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
