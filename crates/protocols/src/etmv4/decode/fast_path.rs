//! Atoms and addresses, many packets at once.
//!
//! Nearly all of a trace is Atom packets, with an Address packet after each indirect branch. Where
//! nothing is speculative they need no window, and the program between two addresses is a path through
//! blocks that are kept: the lane holds the place on that path, a [`BlockId`], and an atom is one load.
//! What the flow knows is made of the last block alone, where the lane ends. Time, counts and events come between
//! atoms; where atoms follow soon they are said at once, and the lane goes on.

use tracewright_base::{
    BlockId, CachedBlock, Code, CodeSpace, Element, Feed, Isa, Parse, Sink, Wire,
};

use super::block_walk::{BlockWalk, PacketSource, Stop};
use super::flow::Rules;
use super::lookup::{Set, Sets, prefetch_block};
use super::prefetch::Prefetcher;
use super::{Decoder, Stage, say};
use crate::cursor::Cursor;
use crate::etmv4::Config;
use crate::etmv4::history::Entry;
use crate::etmv4::packet::{Atoms, Packet, SubIsa};

/// Why the lane cannot go on alone.
enum Halt {
    /// At a packet that is not for it, or at the end.
    Other,
    /// The block to come has to be asked for.
    Ask,
    /// The same, at an address that was traced.
    Jump(Entry),
}

/// So many hops are in the processor's caches without being asked for.
const NEAR: usize = 1 << 15;

/// An Atom packet follows soon that follows after no more packets than these.
const SOON: usize = 6;

impl Decoder {
    /// Takes Atom and Address packets while nothing is speculative and nothing waits. An Address packet
    /// is for the lane where atoms follow it: then nothing can come between them.
    #[inline]
    pub(super) fn fast_path<K: Code, S: Sink>(
        &mut self,
        feed: &mut Feed<'_>,
        config: &Config,
        code: &mut K,
        sink: &mut S,
    ) {
        if self.stage != Stage::Running
            || self.depth > 0
            || self.wants_address
            || config.max_speculation() > 0
        {
            return;
        }
        let rules = Rules::of(config);
        if !self.window.is_empty() && !self.clear_way(feed, rules, code, sink) {
            return;
        }
        while self.flow.has_context() {
            let taken = feed.taken;
            self.follow(feed, rules, code, sink);
            if feed.taken == taken || !self.between_atoms(feed, config, rules, sink) {
                break;
            }
        }
    }

    /// What waits in the window comes before an atom, which does not wait. Answers whether there is one, and it can be
    /// taken.
    #[cold]
    fn clear_way<K: Code, S: Sink>(
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
            (feed.last, feed.packets) = (feed.offsets.at(feed.taken), feed.packets.wrapping_add(1));
            feed.taken += 1;
            self.fail(feed.last, sink);
        }
        good
    }

    /// Takes packets that are beside the program and Address packets, where an Atom packet follows soon: then nothing can
    /// come between them. Answers whether there were any.
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
            let len = match beside(rest, config) {
                Some((_, len)) => len,
                None => self.traced(rest).1,
            };
            let Some(after) = rest.get(len..).filter(|_| len > 0 && count < SOON) else {
                return false;
            };
            (rest, count) = (after, count + 1);
        }
        for _ in 0..count {
            let rest = feed.rest();
            let len = if let Some((packet, len)) = beside(rest, config) {
                if let Some((what, _)) = self.aside(&packet, config) {
                    feed.last = feed.offsets.at(feed.taken);
                    say(feed.last, what, sink);
                }
                len
            } else {
                let (entry, len) = self.traced(rest);
                if len == 0 {
                    break;
                }
                feed.last = feed.offsets.at(feed.taken);
                self.history.push(entry);
                self.flow.set_address(entry.address, entry.is() == SubIsa::Is1, rules);
                len
            };
            feed.taken += len;
            feed.packets = feed.packets.wrapping_add(1);
        }
        count > 0
    }

    /// As [`History::peek`](crate::etmv4::history::History), whatever the header.
    fn traced(&self, bytes: &[u8]) -> (Entry, usize) {
        bytes.first().map_or_else(Default::default, |&header| self.history.peek(header, bytes))
    }

    /// The lane.
    #[inline(never)]
    fn follow<K: Code, S: Sink>(
        &mut self,
        feed: &mut Feed<'_>,
        rules: Rules,
        code: &mut K,
        sink: &mut S,
    ) {
        let special = special(rules);
        let sets = self.flow.sets(rules, code);
        let next = sets.find(self.flow.selected(), code).next;
        // While it has a last block, the flow is still before that.
        let mut walk = BlockWalk::new(next, feed, &self.flow.returns);
        let mut prefetcher = Prefetcher::new();
        loop {
            let blocks = code.blocks();
            let many = blocks.all().len() > NEAR;
            let halt = loop {
                let decoder = &mut *self;
                let mut way = Driver {
                    decoder,
                    feed,
                    code: &*code,
                    sets: &sets,
                    prefetcher: many.then_some(&mut prefetcher),
                };
                let stop = match many {
                    true => walk.run::<true, _, S>(&mut way, &blocks, special, sink),
                    false => walk.run::<false, _, S>(&mut way, &blocks, special, sink),
                };
                match stop {
                    Stop::Packet => break Halt::Other,
                    Stop::Jump => break Halt::Jump(self.history.last()),
                    Stop::ExceptionReturn => sink.element(walk.at, Element::ExceptionReturn),
                    Stop::Unknown => {
                        walk.next = self.return_to(&mut walk, &sets, rules, code);
                        if walk.next == BlockId::NONE {
                            break Halt::Ask;
                        }
                    }
                }
            };
            walk.calls.hand_over(&mut self.flow.returns, &blocks);
            let mut cursor = walk.cursor();
            match halt {
                Halt::Other => {
                    self.flow.settle(&cursor, rules, code);
                    break;
                }
                Halt::Jump(entry) => {
                    self.flow.settle(&cursor, rules, code);
                    self.flow.set_address(entry.address, entry.is() == SubIsa::Is1, rules);
                    cursor = match self.without_code(&mut walk, feed, rules, code, sink) {
                        true => sets.find(self.flow.selected(), code),
                        false => Cursor::before(BlockId::NONE),
                    };
                }
                Halt::Ask => {
                    self.enter(&mut walk, &mut cursor, &sets, rules, code, sink);
                    walk.resume(cursor);
                    if cursor.next != BlockId::NONE {
                        continue;
                    }
                    // A block that is not kept, or none.
                    let way = walk.step();
                    if !self.flow.lone_atom(walk.at, way, rules, code, sink) {
                        self.fail(walk.at, sink);
                        break;
                    }
                    walk.calls.follow(&self.flow.returns);
                    if self.flow.is_lost() {
                        // Atoms say nothing until there is an address.
                        walk.skip_run(feed);
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

    /// At an address that atoms follow. Where there is no code they say nothing until there is another, and it is the same
    /// with that one. Answers whether it came to another.
    fn without_code<K: Code, S: Sink>(
        &mut self,
        walk: &mut BlockWalk,
        feed: &mut Feed<'_>,
        rules: Rules,
        code: &K,
        sink: &mut S,
    ) -> bool {
        let mut another = false;
        while self.flow.is_missing(feed.offsets.at(walk.taken), code, sink) {
            walk.skip_run(feed);
            let rest = feed.bytes.get(walk.taken..).unwrap_or_default();
            let (entry, len) = self.traced(rest);
            let atoms = rest.get(len).is_some_and(|&header| Atoms::steps(header) != 0);
            if len == 0 || !atoms {
                return false;
            }
            self.history.push(entry);
            self.flow.set_address(entry.address, entry.is() == SubIsa::Is1, rules);
            walk.taken += len;
            // As many packets as bytes, but for these.
            feed.packets = feed.packets.wrapping_sub(len - 1);
            another = true;
        }
        another
    }

    /// The block to which the last block of `walk` returns, where that is a taken indirect branch without an
    /// address in the trace and the block is cached.
    #[cold]
    fn return_to<K: Code>(
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
    fn enter<K: Code, S: Sink>(
        &mut self,
        walk: &mut BlockWalk,
        cursor: &mut Cursor,
        sets: &Sets,
        rules: Rules,
        code: &mut K,
        sink: &mut S,
    ) {
        self.flow.settle(cursor, rules, code);
        // The target of a direct branch is constant.
        let mut linked = self.flow.pc().is_some();
        if !linked {
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
                cursor.enter(pc, linked, code);
            }
            _ => *cursor = Cursor::before(BlockId::NONE),
        }
    }
}

/// What the lane goes along.
struct Driver<'a, 'b, K> {
    decoder: &'a mut Decoder,
    feed: &'a mut Feed<'b>,
    code: &'a K,
    sets: &'a Sets,
    /// Where hops have to be asked for.
    prefetcher: Option<&'a mut Prefetcher>,
}

impl<'b, K: Code> PacketSource<'b> for Driver<'_, 'b, K> {
    #[inline(never)]
    fn chunk(&mut self, taken: usize) -> (u64, &'b [u8]) {
        let (cursor, until) = self.feed.offsets.run(taken);
        let end = until.min(self.feed.bytes.len());
        (cursor.wrapping_sub(taken as u64), self.feed.bytes.get(..end).unwrap_or_default())
    }

    #[inline(never)]
    fn jump(&mut self, taken: usize, header: u8) -> (BlockId, u32) {
        const NO: (BlockId, u32) = (BlockId::NONE, 0);
        let Driver { decoder, feed, code, sets, prefetcher } = self;
        let Some(bytes) = feed.bytes.get(taken..) else { return NO };
        let (entry, len) = decoder.history.peek(header, bytes);
        if len == 0 || bytes.get(len).is_none_or(|&header| Atoms::steps(header) == 0) {
            return NO;
        }
        decoder.history.push(entry);
        decoder.flow.arrived();
        // As many packets as bytes, but for these.
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

/// The packet that `bytes` begin with, where it says something beside the program and commits nothing, and its length.
fn beside(bytes: &[u8], config: &Config) -> Option<(Packet, usize)> {
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

/// The waypoints at which there is more to do.
const fn special(rules: Rules) -> u16 {
    let calls = if rules.return_stack { CachedBlock::CALL } else { 0 };
    let returns = if rules.silent_returns { CachedBlock::EXCEPTION_RETURN } else { 0 };
    calls | returns
}
