//! The fast path: many Atom and Address packets at once.
//!
//! Most of a trace is Atom packets, with an Address packet after each indirect branch. Where
//! nothing is speculative they need no window, and the program between two addresses is a path
//! through cached blocks: the fast path holds the position on that path, a [`BlockId`], and an atom
//! is one load. The state of the flow is updated with the last block only, where the fast path
//! ends. Timestamps, cycle counts and events may be between atoms; if atoms follow soon they are
//! emitted at once, and the fast path continues.

use tracewright_base::{
    BlockCache, BlockId, CachedBlock, CodeSpace, Element, Feed, Isa, Kind, Parse, Sink, Wire,
};

use super::block_walk::{BlockWalk, PacketSource, Stop};
use super::flow::{Flow, Rules, special_kinds};
use super::lookup::{Set, Sets, prefetch_block};
use super::prefetch::Prefetcher;
use super::resolution::emit;
use super::{Decoder, Stage};
use crate::cursor::Cursor;
use crate::etmv4::Config;
use crate::etmv4::history::Entry;
use crate::etmv4::packet::{Atoms, Packet, SubIsa};

/// A [`Stop`] at which the flow is updated with the last block of the walk. At a return from an
/// exception, and at a return to a cached block, the walk continues without that.
enum Halt {
    /// At another packet, or at the end.
    Other,
    /// The next block is not cached.
    Enter,
    /// The block at a traced address is not cached.
    Address(Entry),
}

/// Up to this number, cached blocks are in the processor's caches and need no prefetch.
const NEAR: usize = 1 << 15;

/// An Atom packet follows soon if at most this number of packets is before it.
const SOON: usize = 6;

impl Decoder {
    /// Takes Atom and Address packets where MAXSPEC is 0 and the window is empty; a window without
    /// P0 elements is emptied first. It takes an Address packet only if an Atom packet follows, so
    /// that no other packet can come between the address and the atoms.
    #[inline]
    pub(super) fn fast_path<K: BlockCache, S: Sink>(
        &mut self,
        feed: &mut Feed<'_>,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        if self.stage != Stage::Running
            || self.depth > 0
            || self.exception.is_some()
            || config.max_speculation() > 0
        {
            return;
        }
        // What waits for the first atoms has an earlier offset than their packet.
        if S::WITH_PACKETS && feed.rest().first().is_none_or(|&header| Atoms::steps(header) == 0) {
            return;
        }
        let rules = Rules::of(config);
        if !self.window.is_empty() && !self.flush_before_atoms(feed, rules, code, sink) {
            return;
        }
        while self.flow.has_context() {
            let taken = feed.taken;
            self.run_atoms(feed, rules, code, sink);
            if feed.taken == taken || !self.between_atoms(feed, config, rules, sink) {
                break;
            }
        }
    }

    /// Flushes the window if an Atom packet is next: its items are before the atoms. Returns
    /// whether the atoms can be taken.
    #[cold]
    fn flush_before_atoms<K: BlockCache, S: Sink>(
        &mut self,
        feed: &mut Feed<'_>,
        rules: Rules,
        code: &mut K,
        sink: &mut S,
    ) -> bool {
        if feed.bytes.get(feed.taken).is_none_or(|&header| Atoms::steps(header) == 0) {
            return false;
        }
        let good = self.flush(rules, code, sink);
        if !good {
            // The program image is wrong. The Atom packet is taken, and its atoms have no effect.
            (feed.last, feed.packets) = (feed.offsets.at(feed.taken), feed.packets.wrapping_add(1));
            feed.taken += 1;
            self.fail(feed.last, sink);
        }
        good
    }

    /// Takes Address packets and packets that do not concern the program flow, if an Atom packet
    /// follows soon, so that no packet of another kind can come before the atoms. Returns whether
    /// there were any.
    #[inline(never)]
    fn between_atoms<S: Sink>(
        &mut self,
        feed: &mut Feed<'_>,
        config: &Config,
        rules: Rules,
        sink: &mut S,
    ) -> bool {
        if self.stage != Stage::Running {
            return false;
        }
        let (mut rest, mut count) = (feed.rest(), 0);
        while rest.first().is_none_or(|&header| Atoms::steps(header) == 0) {
            let len = match aside(rest, config) {
                // `packet` emits it with the next atoms.
                Some(_) if S::WITH_PACKETS => return false,
                Some((_, len)) => len,
                None => {
                    let (entry, len) = self.traced(rest);
                    if S::WITH_PACKETS && self.flow.leads_elsewhere(entry.address) {
                        return false;
                    }
                    len
                }
            };
            let Some(after) = rest.get(len..).filter(|_| len > 0 && count < SOON) else {
                return false;
            };
            (rest, count) = (after, count + 1);
        }
        for _ in 0..count {
            let rest = feed.rest();
            let len = if let Some((packet, len)) = aside(rest, config) {
                if let Some((what, _)) = self.aside(&packet, config) {
                    feed.last = feed.offsets.at(feed.taken);
                    emit(feed.last, what, sink);
                }
                len
            } else {
                let (entry, len) = self.traced(rest);
                if len == 0 {
                    break;
                }
                feed.last = feed.offsets.at(feed.taken);
                self.history.push(entry);
                let is1 = entry.is() == SubIsa::Is1;
                self.flow.set_address(feed.last, entry.address, is1, rules, sink);
                len
            };
            feed.taken += len;
            feed.packets = feed.packets.wrapping_add(1);
        }
        count > 0
    }

    /// [`History::peek`](crate::etmv4::history::History), with the header from `bytes`. The length
    /// is 0 without bytes.
    fn traced(&self, bytes: &[u8]) -> (Entry, usize) {
        bytes.first().map_or_else(Default::default, |&header| self.history.peek(header, bytes))
    }

    /// The loop of the fast path.
    #[inline(never)]
    fn run_atoms<K: BlockCache, S: Sink>(
        &mut self,
        feed: &mut Feed<'_>,
        rules: Rules,
        code: &mut K,
        sink: &mut S,
    ) {
        let special = special_kinds(rules);
        let sets = self.flow.sets(rules, code);
        let next = match self.flow.is_contradicted() {
            // The first atom reports it.
            true if Atoms::steps(feed.rest().first().copied().unwrap_or(0)) == 0 => return,
            true => BlockId::NONE,
            false => sets.find(self.flow.selected(), code).next,
        };
        let mut walk = BlockWalk::new(next, feed, &self.flow.returns);
        let mut prefetcher = Prefetcher::new();
        loop {
            let blocks = code.blocks();
            let many = blocks.all().len() > NEAR;
            let halt = loop {
                let decoder = &mut *self;
                let mut packets = FastPathPackets {
                    decoder,
                    feed,
                    code: &*code,
                    sets: &sets,
                    prefetcher: many.then_some(&mut prefetcher),
                };
                let stop = match many {
                    true => walk.run::<true, _, S>(&mut packets, &blocks, special, sink),
                    false => walk.run::<false, _, S>(&mut packets, &blocks, special, sink),
                };
                match stop {
                    Stop::Packet => break Halt::Other,
                    Stop::Address => break Halt::Address(self.history.last()),
                    Stop::ExceptionReturn => sink.element(walk.at, Element::ExceptionReturn),
                    Stop::Unknown => {
                        walk.next = self.return_to(&mut walk, &sets, rules, code);
                        if walk.next == BlockId::NONE {
                            break Halt::Enter;
                        }
                    }
                }
            };
            walk.calls.hand_over(&mut self.flow.returns, &blocks);
            let mut cursor = walk.cursor();
            match halt {
                Halt::Other => {
                    self.flow.settle(cursor, rules, code);
                    break;
                }
                Halt::Address(entry) => {
                    self.flow.settle(cursor, rules, code);
                    let is1 = entry.is() == SubIsa::Is1;
                    self.flow.set_address(walk.at, entry.address, is1, rules, sink);
                    cursor = match self.without_code(&mut walk, feed, rules, code, sink) {
                        true => sets.find(self.flow.selected(), code),
                        false => Cursor::before(BlockId::NONE),
                    };
                }
                Halt::Enter => {
                    self.enter(&mut walk, &mut cursor, &sets, rules, code, sink);
                    walk.resume(cursor);
                    if cursor.next != BlockId::NONE {
                        continue;
                    }
                    // The block cannot be cached, or there is none.
                    let executed = walk.take_atom();
                    if !self.flow.single_atom(walk.at, executed, rules, code, sink) {
                        self.fail(walk.at, sink);
                        break;
                    }
                    walk.calls.follow(&self.flow.returns);
                    if self.flow.is_lost() {
                        // Atoms have no effect before the next address.
                        walk.skip_atoms(feed);
                    } else {
                        cursor = sets.find(self.flow.selected(), code);
                    }
                }
            }
            walk.resume(cursor);
        }
        feed.packets = feed.packets.wrapping_add(walk.taken - feed.taken);
        (feed.last, feed.taken) = (walk.at, walk.taken);
    }

    /// Skips the atoms after an address without code, up to the next address, and repeats this at
    /// that address. Returns whether there was another address.
    fn without_code<K: BlockCache, S: Sink>(
        &mut self,
        walk: &mut BlockWalk,
        feed: &mut Feed<'_>,
        rules: Rules,
        code: &K,
        sink: &mut S,
    ) -> bool {
        let mut another = false;
        while self.flow.report_missing(feed.offsets.at(walk.taken), code, sink) {
            walk.skip_atoms(feed);
            let rest = feed.bytes.get(walk.taken..).unwrap_or_default();
            let (entry, len) = self.traced(rest);
            let atoms = rest.get(len).is_some_and(|&header| Atoms::steps(header) != 0);
            if len == 0 || !atoms {
                return false;
            }
            let (at, is1) = (feed.offsets.at(walk.taken), entry.is() == SubIsa::Is1);
            self.history.push(entry);
            self.flow.set_address(at, entry.address, is1, rules, sink);
            walk.taken += len;
            // `run_atoms` counts each taken byte as a packet, which is right for atoms only.
            feed.packets = feed.packets.wrapping_sub(len - 1);
            another = true;
        }
        another
    }

    /// The block to which the last block of `walk` returns, where that is a taken indirect branch
    /// without an address in the trace and the block is cached.
    #[cold]
    fn return_to<K: BlockCache>(
        &mut self,
        walk: &mut BlockWalk,
        sets: &Sets,
        rules: Rules,
        code: &K,
    ) -> BlockId {
        match rules.return_stack && walk.is_indirect(&code.blocks()) {
            true => walk.calls.pop_from(&mut self.flow.returns, sets, code),
            false => BlockId::NONE,
        }
    }

    /// Updates the flow with the last block of `walk` and caches the next one.
    #[cold]
    fn enter<K: BlockCache, S: Sink>(
        &mut self,
        walk: &mut BlockWalk,
        cursor: &mut Cursor,
        sets: &Sets,
        rules: Rules,
        code: &mut K,
        sink: &mut S,
    ) {
        self.flow.settle(*cursor, rules, code);
        // A direct branch always has this target, so the next block can be recorded as successor.
        let mut linked = self.flow.pc().is_some();
        if !linked || self.flow.is_contradicted() {
            self.flow.take_return(walk.at, rules, sink);
            // The block at the return address is the not-taken successor of the call.
            let call = self.flow.pc().and_then(|pc| walk.calls.call_before(pc, code));
            if let Some(call) = call {
                (cursor.last, cursor.taken, linked) = (call, false, true);
            }
            walk.calls.follow(&self.flow.returns);
        }
        match self.flow.selected() {
            Some(pc) if sets.get(pc.isa == Isa::T32).code_space != CodeSpace::NONE => {
                *cursor = cursor.enter(pc, linked, code);
            }
            _ => *cursor = Cursor::before(BlockId::NONE),
        }
    }
}

/// Gives the bytes and the Address packets of a feed to a [`BlockWalk`].
struct FastPathPackets<'a, 'b, K> {
    decoder: &'a mut Decoder,
    feed: &'a mut Feed<'b>,
    code: &'a K,
    sets: &'a Sets,
    /// `None` if blocks need no prefetch.
    prefetcher: Option<&'a mut Prefetcher>,
}

impl<'b, K: BlockCache> PacketSource<'b> for FastPathPackets<'_, 'b, K> {
    #[inline(never)]
    fn piece(&mut self, taken: usize) -> (u64, &'b [u8]) {
        let (offset, until) = self.feed.offsets.run(taken);
        let end = until.min(self.feed.bytes.len());
        (offset.wrapping_sub(taken as u64), self.feed.bytes.get(..end).unwrap_or_default())
    }

    #[inline(never)]
    fn jump(
        &mut self,
        taken: usize,
        header: u8,
        (last, next): (BlockId, BlockId),
        before: u32,
    ) -> (BlockId, u32) {
        const NO: (BlockId, u32) = (BlockId::NONE, 0);
        if !next.can_be_next() && before & 1 == 0 {
            return NO;
        }
        let FastPathPackets { decoder, feed, code, sets, prefetcher } = self;
        let Some(bytes) = feed.bytes.get(taken..) else { return NO };
        let (entry, len) = decoder.history.peek(header, bytes);
        if len == 0 || bytes.get(len).is_none_or(|&header| Atoms::steps(header) == 0) {
            return NO;
        }
        let known = code.blocks().all().get(last.index());
        let indirect = known.is_some_and(|last| last.is_any_of(CachedBlock::INDIRECT));
        if (!indirect || next.can_be_next())
            && !leads_to((last, next), &decoder.flow, sets, &entry, *code)
        {
            // The flow finds whether it is an inconsistency.
            return NO;
        }
        decoder.history.push(entry);
        decoder.flow.arrived();
        // `run_atoms` counts each taken byte as a packet, which is right for atoms only.
        feed.packets = feed.packets.wrapping_sub(len - 1);
        let Set { code_space, mask } = sets.get(entry.is() == SubIsa::Is1);
        let next = code.find(entry.address & mask, code_space);
        if let Some(prefetcher) = prefetcher {
            prefetcher.arrived(feed.bytes, taken + len, &decoder.history, sets, *code);
            prefetch_block(code.blocks(), next);
        }
        (next, len as u32)
    }
}

/// Whether the block `last`, which `next` follows where that is known, leads to the address of
/// `entry`. An indirect branch that took effect leads to any.
#[cold]
#[inline(never)]
fn leads_to<K: BlockCache>(
    (last, next): (BlockId, BlockId),
    flow: &Flow,
    sets: &Sets,
    entry: &Entry,
    code: &K,
) -> bool {
    let Set { code_space, mask } = sets.get(entry.is() == SubIsa::Is1);
    let address = entry.address & mask;
    if next.can_be_next() {
        return code.find(address, code_space) == next;
    }
    let Some(block) = code.cached_block(last) else { return flow.pc().is_none() };
    let target = match block.last.kind {
        Kind::Branch => block.last.target,
        Kind::Indirect => None,
        _ => Some(block.next()),
    };
    target.is_none_or(|target| target & block.last.target_isa.address_mask() == address)
}

/// The packet at the start of `bytes` and its length, if it does not concern the program flow and
/// commits nothing.
fn aside(bytes: &[u8], config: &Config) -> Option<(Packet, usize)> {
    // Timestamps, cycle counts, events.
    if !matches!(bytes.first(), Some(0x02 | 0x03 | 0x0c..=0x1f | 0x71..=0x7f)) {
        return None;
    }
    match Packet::parse(bytes, config) {
        Parse::Packet(packet, len) => {
            let commits = !config.commit_mode_1()
                && !matches!(packet, Packet::Event(_) | Packet::Timestamp { .. });
            (!commits).then_some((packet, len))
        }
        _ => None,
    }
}
