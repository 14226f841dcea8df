//! The fast path of the decoder: runs of Atom, Branch and I-sync packets.
//!
//! Almost all packets of a trace are Atom packets, with a Branch packet for each indirect branch. A
//! unit that traces parts of the program sends an I-sync for each.
//! The program between two branches is a path through cached blocks. The fast path holds a
//! [`BlockId`] as its position on that path, so an atom takes one load. The state of the decoder is
//! updated from the last block alone, where it is needed.

use tracewright_base::{
    BlockCache, BlockId, CodeSpace, Counted, Element, Feed, Inconsistency, Isa, Kind, Range, Role,
    Sink,
};

use super::{Decoder, Phase, Place, Returns, is_branch, report_start, walkable};
use crate::cursor::Cursor;
use crate::ptm::config::Config;
use crate::ptm::packet::{Address, Atoms, Reason, Sync, cycles};

/// The code spaces of A32 and T32.
type Sets = [CodeSpace; 2];

/// Why the loop stops.
enum Stop {
    /// The next packet needs the general decoder, or there is none.
    Packet,
    /// The next packet is an I-sync that may change the context.
    Sync,
    /// The next block is not cached.
    Enter,
}

impl Decoder {
    /// Takes Atom packets, Branch packets without information bytes, and I-sync packets.
    #[inline]
    pub(super) fn fast_path<K: BlockCache, S: Sink>(
        &mut self,
        feed: &mut Feed<'_>,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        let Some(&header) = feed.bytes.get(feed.taken) else { return };
        let takes = match header {
            Sync::HEADER => true,
            // Without an address, only the cycles of an atom are reported.
            _ if header & 0x81 == 0x80 => self.pc.is_some() || config.counts_cycles(),
            _ => header & 1 != 0 && self.pc.is_some(),
        };
        if self.phase != Phase::Following || !takes {
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
        let mut sets = self.sets(code);
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
            let stop = 'fast_path: loop {
                while steps > 1 {
                    let Some((cached, class)) = blocks.get(cursor.next) else {
                        if RETURNS && cursor.taken && self.return_from(cursor, code) {
                            cursor = self.find(&sets, code);
                            if cursor.next != BlockId::NONE {
                                continue;
                            }
                        }
                        break 'fast_path Stop::Enter;
                    };
                    let executed = steps & 1 != 0;
                    match CYCLES {
                        true => {
                            let range = Range { cycles: count, ..cached.range(class, executed) };
                            sink.element(at, Element::Range(range));
                        }
                        false => sink.step(at, cursor.next, executed, &blocks),
                    }
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
                let Some(&header) = feed.bytes.get(taken) else { break Stop::Packet };
                let bytes = feed.bytes.get(taken..).unwrap_or_default();
                if header == Sync::HEADER {
                    self.settle(cursor, last_at, config, code, sink);
                    cursor = Cursor::before(cursor.next);
                    let offset = feed.offsets.at(taken);
                    let len = self.restart(offset, bytes, config, sink);
                    if len == 0 {
                        break Stop::Sync;
                    }
                    at = offset;
                    taken += len;
                    beside += len - 1;
                    feed.syncs += 1;
                    cursor = self.find(&sets, code);
                    continue;
                }
                if CYCLES && header & 0x81 == 0x80 {
                    let Some((cycles, len)) = cycles::parse(bytes) else { break Stop::Packet };
                    steps = 0b10 | u32::from(header & 0x02 == 0);
                    count = Counted::of(cycles);
                    at = feed.offsets.at(taken);
                    taken += len;
                    beside += len - 1;
                    continue;
                }
                match Atoms::steps(header) {
                    0 => {
                        let Some((address, mut len)) = Address::alone(bytes) else {
                            break Stop::Packet;
                        };
                        if CYCLES {
                            let bytes = bytes.get(len..).unwrap_or_default();
                            let Some((cycles, more)) = cycles::parse(bytes) else {
                                break Stop::Packet;
                            };
                            count = Counted::of(cycles);
                            len += more;
                        }
                        let Some((cached, class)) = blocks.get(cursor.next) else {
                            break Stop::Enter;
                        };
                        at = feed.offsets.at(taken);
                        taken += len;
                        beside += len - 1;
                        match CYCLES {
                            true => {
                                let range = Range { cycles: count, ..cached.range(class, true) };
                                sink.element(at, Element::Range(range));
                            }
                            false => sink.step(at, cursor.next, true, &blocks),
                        }
                        if RETURNS
                            && class.last[1].role == Role::Call
                            && is_branch(class.last[1].kind)
                        {
                            self.returns.push(cached.end(class) as u32, class.isa());
                        }
                        self.history.move_to(&address, None);
                        if class.last[1].kind != Kind::Indirect {
                            self.check_block(at, cursor.next, code, sink);
                        }
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
            match stop {
                Stop::Packet => break,
                Stop::Sync => {
                    let bytes = feed.bytes.get(taken..).unwrap_or_default();
                    let offset = feed.offsets.at(taken);
                    let len = self.take_sync(offset, bytes, config, code, sink);
                    if len == 0 {
                        break;
                    }
                    at = offset;
                    taken += len;
                    beside += len - 1;
                    feed.syncs += 1;
                    sets = self.sets(code);
                    cursor = self.find(&sets, code);
                }
                Stop::Enter => {
                    cursor = self.enter(cursor, code);
                    if cursor.next == BlockId::NONE {
                        // A branch packet.
                        if steps == 1 {
                            break;
                        }
                        self.single_atoms(at, steps, count, config, code, sink);
                        steps = 1;
                        cursor = self.find(&sets, code);
                    }
                }
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

    /// Reports a traced address to which block `id` does not lead.
    #[inline(never)]
    fn check_block<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        id: BlockId,
        code: &K,
        sink: &mut S,
    ) {
        let Some(block) = code.cached_block(id) else { return };
        let next = Place { address: block.next() as u32, isa: block.last.isa };
        self.check_target(at, &block.last, next, sink);
    }

    /// Takes the I-sync at the start of `bytes`, at offset `at`, if tracing starts there in the
    /// same context, and returns its length. Returns 0 for any other, or if bytes are missing.
    #[inline(never)]
    fn restart<S: Sink>(&mut self, at: u64, bytes: &[u8], config: &Config, sink: &mut S) -> usize {
        let Some((sync, len)) = Sync::parse(bytes, config) else { return 0 };
        let isa = sync.isa();
        let same_context = self.context.non_secure == Some(sync.non_secure)
            && self.context.hyp == sync.hyp
            && sync.context_id.is_none()
            && self.history.isa() == Some(isa);
        if !same_context || sync.reason == Reason::Periodic {
            return 0;
        }
        report_start(at, &sync, config, sink);
        self.history.synchronise(&sync);
        if !self.returns.is_empty() {
            self.returns = Returns::default();
        }
        self.pc = Some(Place { address: sync.address, isa });
        len
    }

    /// Takes the I-sync at the start of `bytes`, at offset `at`, and returns its length. Returns 0
    /// if bytes are missing.
    #[inline(never)]
    fn take_sync<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        bytes: &[u8],
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) -> usize {
        let Some((sync, len)) = Sync::parse(bytes, config) else { return 0 };
        let isa = self.history.isa();
        self.history.synchronise(&sync);
        self.sync(at, &sync, isa, config, code, sink);
        len
    }

    /// What selects blocks in the current context.
    #[inline]
    fn sets<K: BlockCache>(&self, code: &K) -> Sets {
        let space = self.context(Isa::A32).space();
        [Isa::A32, Isa::T32].map(|isa| code.code_space(isa, space))
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
        if cursor.last == BlockId::NONE {
            return;
        }
        // The block that follows in any case.
        if let Some((cached, class)) = code.blocks().get(cursor.next) {
            self.pc = Some(Place { address: cached.start(class) as u32, isa: class.isa() });
            return;
        }
        self.settle_last(cursor, at, config, code, sink);
    }

    /// The same, where the next block is not cached.
    #[inline(never)]
    fn settle_last<K: BlockCache, S: Sink>(
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
