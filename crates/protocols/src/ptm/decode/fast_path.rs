//! The fast path of the decoder: runs of Atom and Branch packets.
//!
//! Almost all packets of a trace are Atom packets, with a Branch packet for each indirect branch.
//! The program between two branches is a path through cached blocks. The fast path holds a
//! [`BlockId`] as its position on that path, so an atom takes one load. The state of the decoder is
//! updated from the last block alone, where it is needed.

use tracewright_base::{
    BlockCache, BlockId, CodeSpace, Counted, Feed, Inconsistency, Isa, Kind, Range, Role, Sink,
};

use super::{Decoder, Phase, Place, is_branch, walkable};
use crate::cursor::Cursor;
use crate::ptm::config::Config;
use crate::ptm::packet::{Address, Atoms, cycles};

/// The code spaces of A32 and T32.
type Sets = [CodeSpace; 2];

impl Decoder {
    /// Takes Atom packets, and Branch packets without information bytes.
    #[inline]
    pub(super) fn fast_path<K: BlockCache, S: Sink>(
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
    fn run_atoms<const RETURNS: bool, const CYCLES: bool, K: BlockCache, S: Sink>(
        &mut self,
        feed: &mut Feed<'_>,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        let sets = [Isa::A32, Isa::T32].map(|isa| code.code_space(isa, self.context(isa).space()));
        let mut cursor = self.find(&sets, code);
        // Offset of the packet with the atom of the last block.
        let mut last_at = 0;
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
            let enter = 'fast_path: loop {
                while steps > 1 {
                    let Some((cached, class)) = blocks.get(cursor.next) else {
                        if RETURNS && cursor.taken && self.return_from(cursor, code) {
                            cursor = self.find(&sets, code);
                            if cursor.next != BlockId::NONE {
                                continue;
                            }
                        }
                        break 'fast_path true;
                    };
                    let executed = steps & 1 != 0;
                    let range = Range { cycles: count, ..cached.range(class, executed) };
                    sink.cached_range(at, range);
                    if RETURNS
                        && executed
                        && class.last[1].role == Role::Call
                        && class.last[1].kind == Kind::Branch
                    {
                        self.returns.push(cached.end(class) as u32, class.isa());
                    }
                    cursor = cursor.pass(executed, &blocks);
                    last_at = at;
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
                        let Some((cached, class)) = blocks.get(cursor.next) else { break true };
                        at = feed.offsets.at(taken);
                        taken += len;
                        beside += len - 1;
                        let range = Range { cycles: count, ..cached.range(class, true) };
                        sink.cached_range(at, range);
                        if RETURNS
                            && class.last[1].role == Role::Call
                            && is_branch(class.last[1].kind)
                        {
                            self.returns.push(cached.end(class) as u32, class.isa());
                        }
                        self.history.move_to(&address, None);
                        self.pc = self.traced();
                        cursor = self.find(&sets, code);
                    }
                    atoms => {
                        steps = atoms;
                        at = feed.offsets.at(taken);
                        taken += 1;
                    }
                }
            };
            self.settle(cursor, last_at, config, code, sink);
            if !enter {
                break;
            }
            cursor = self.enter(cursor, code);
            if cursor.next == BlockId::NONE {
                self.single_atoms(at, steps, count, config, code, sink);
                break;
            }
        }
        feed.packets += taken - feed.taken - beside;
        (feed.last, feed.taken) = (at, taken);
    }

    /// Takes atoms whose blocks are not cached: `steps` has them from bit 0 on, with a 1 above the
    /// last.
    #[cold]
    fn single_atoms<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        mut steps: u32,
        count: Counted,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        // Without an address, only the cycles of an atom are reported.
        while steps > 1 && (config.counts_cycles() || self.pc.is_some()) {
            self.atom(at, steps & 1 != 0, count, config, code, sink);
            steps >>= 1;
        }
    }

    /// The cached block at `pc`.
    #[inline]
    fn find<K: BlockCache>(&self, sets: &Sets, code: &K) -> Cursor {
        let Some(Place { address, isa }) = self.pc else { return Cursor::before(BlockId::NONE) };
        let [arm, thumb] = *sets;
        let code_space = match isa {
            Isa::A32 => arm,
            Isa::T32 => thumb,
            _ => return Cursor::before(BlockId::NONE),
        };
        Cursor::find(u64::from(address), isa, code_space, code)
    }

    /// Moves past an indirect branch whose target is on the return stack. Returns `false`
    /// otherwise.
    #[inline]
    fn return_from<K: BlockCache>(&mut self, cursor: Cursor, code: &K) -> bool {
        let Some((cached, class)) = code.blocks().get(cursor.last) else { return false };
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
    fn settle<K: BlockCache, S: Sink>(
        &mut self,
        cursor: Cursor,
        at: u64,
        config: &Config,
        code: &K,
        sink: &mut S,
    ) {
        let Some(block) = cursor.unsettled(code) else { return };
        let last = &block.last;
        let next = Place { address: block.next() as u32, isa: last.isa };
        self.pc = match (cursor.taken, last.kind) {
            (true, Kind::Branch) => match last.target {
                Some(target) => Some(Place { address: target as u32, isa: last.target_isa }),
                None => Some(next),
            },
            (true, Kind::Indirect) => {
                return self.arrive(at, last, next, config, sink);
            }
            (false, kind) if is_branch(kind) && !last.conditional => {
                return self.inconsistency(at, Inconsistency::UnconditionalNotTaken, sink);
            }
            _ => Some(next),
        };
    }

    /// Caches the block at `pc`, a successor of the last block.
    #[cold]
    fn enter<K: BlockCache>(&mut self, cursor: Cursor, code: &mut K) -> Cursor {
        let Some(pc) = self.pc.filter(|pc| walkable(pc.isa)) else {
            return Cursor::before(BlockId::NONE);
        };
        // The target of a direct branch is constant. An unconditional branch that is traced as not
        // taken gets no successor, because it is an inconsistency.
        let linked = code.blocks().get(cursor.last).is_some_and(|(_, class)| {
            let last = class.last[usize::from(cursor.taken)];
            match cursor.taken {
                true => last.kind != Kind::Indirect,
                false => last.conditional() || !is_branch(last.kind),
            }
        });
        cursor.enter(self.space(pc), linked, code)
    }
}
