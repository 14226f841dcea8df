//! Atoms and addresses, many packets at once.
//!
//! Nearly all of a trace is Atom packets, with an Address packet after each indirect branch. Where
//! nothing is speculative they need no window, and the program between two addresses is a path through
//! blocks that are kept: the lane holds the place on that path, a [`Mark`], and an atom is one load.
//! What the flow knows is made of the last block alone, where the lane ends. Time, counts and events come between
//! atoms; where atoms follow soon they are said at once, and the lane goes on.

use tracewright_base::{
    Code, Element, Family, Feed, Isa, Kind, Mark, Parse, Realm, Role, Sink, Wire,
};

use super::ahead::{Ahead, bring};
use super::flow::Rules;
use super::returns::{Return, SLOTS};
use super::{Decoder, Stage, say};
use crate::etmv4::Config;
use crate::etmv4::history::Entry;
use crate::etmv4::packet::{Atoms, Packet, SubIsa};

/// A place behind a kept block.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// The block; [`Mark::NONE`] where the flow is up to date.
    pub(super) last: Mark,
    /// Whether its waypoint took effect.
    pub(super) taken: bool,
    /// The block that pushed the newest entry of the return stack, as far as that is known.
    call: Mark,
}

/// The two instruction sets that addresses select: which blocks are theirs, and the bits of an address.
/// [`Realm::NONE`] where that is not the whole of what selects the instruction set.
pub(super) type Sets = [(Realm, u64); 2];

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

/// A block that is no farther from the one before, in hops, is near already.
const BESIDE: usize = 8;

impl Decoder {
    /// Takes Atom and Address packets while nothing is speculative and nothing waits. An Address packet
    /// is for the lane where atoms follow it: then nothing can come between them.
    #[inline]
    pub(super) fn lane<K: Code, S: Sink>(
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
            if special(rules) == 0 {
                self.follow::<false, K, S>(feed, rules, code, sink);
            } else {
                self.follow::<true, K, S>(feed, rules, code, sink);
            }
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
            (feed.last, feed.packets) = (feed.places.at(feed.taken), feed.packets.wrapping_add(1));
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
                Some((_, len)) => Some(len),
                None => rest
                    .first()
                    .and_then(|&header| self.history.peek(header, rest))
                    .map(|(_, len)| len),
            };
            let Some(after) = len.and_then(|len| rest.get(len..)).filter(|_| count < SOON) else {
                return false;
            };
            (rest, count) = (after, count + 1);
        }
        for _ in 0..count {
            let rest = feed.rest();
            let len = if let Some((packet, len)) = beside(rest, config) {
                if let Some((what, _)) = self.aside(&packet, config) {
                    feed.last = feed.places.at(feed.taken);
                    say(feed.last, what, sink);
                }
                len
            } else if let Some((entry, len)) =
                rest.first().and_then(|&header| self.history.peek(header, rest))
            {
                feed.last = feed.places.at(feed.taken);
                self.history.push(entry);
                self.flow.set_address(entry.address, entry.is == SubIsa::Is1, rules);
                len
            } else {
                break;
            };
            feed.taken += len;
            feed.packets = feed.packets.wrapping_add(1);
        }
        count > 0
    }

    /// The lane; `SPECIAL` where there are waypoints at which there is more to do.
    #[inline(never)]
    fn follow<const SPECIAL: bool, K: Code, S: Sink>(
        &mut self,
        feed: &mut Feed<'_>,
        rules: Rules,
        code: &mut K,
        sink: &mut S,
    ) {
        let special = special(rules);
        let sets = self.flow.sets(rules, code);
        let mut next = self
            .flow
            .pc()
            .map_or(Mark::NONE, |pc| code.find(pc.address, set(&sets, pc.isa == Isa::T32).0));
        // The last block; where there is one, the flow is still before it. The atoms from its own on.
        let (mut last, mut before) = (Mark::NONE, 0);
        // Which block pushed each entry of the return stack, as far as that was here.
        let mut calls = [Mark::NONE; SLOTS];
        // Atoms to come from bit 0, and a 1 behind them.
        let mut steps = 1;
        let mut ahead = Ahead::new();
        let (mut at, mut taken) = (feed.last, feed.taken);
        loop {
            let hops = code.hops();
            let many = hops.all().len() > NEAR;
            let halt = 'lane: loop {
                while steps > 1 {
                    let Some((hop, family)) = hops.get(next) else {
                        next = match hops.get(last) {
                            Some((_, from)) if SPECIAL && before & 1 != 0 => {
                                self.back(from, &sets, &calls, rules, code)
                            }
                            _ => Mark::NONE,
                        };
                        if next == Mark::NONE {
                            break 'lane Halt::Ask;
                        }
                        continue;
                    };
                    let way = steps & 1 != 0;
                    let after = hop.next[way as usize];
                    if after == next && special >> family.last[0].role as u32 & steps & 1 == 0 {
                        // A loop of one block: as many turns as there are equal atoms.
                        let same = if way { steps.trailing_ones() } else { steps.trailing_zeros() };
                        let times = same.min(steps.ilog2());
                        sink.turns(at, hop.range(family, way), times);
                        (last, before) = (next, way as u32);
                        steps >>= times;
                        continue;
                    }
                    sink.element(at, Element::Range(hop.range(family, way)));
                    if SPECIAL && special >> family.last[0].role as u32 & steps & 1 != 0 {
                        if family.last[1].role == Role::Call {
                            let is1 = family.isa() == Isa::T32;
                            self.flow.returns.push(Return { address: hop.end(family), is1 });
                            calls[self.flow.returns.slot()] = next;
                        } else {
                            sink.element(at, Element::ExceptionReturn);
                        }
                    }
                    if many
                        && after.index().wrapping_sub(next.index()).wrapping_add(BESIDE)
                            > 2 * BESIDE
                    {
                        bring(hops, after);
                    }
                    (last, before) = (next, steps);
                    next = after;
                    steps >>= 1;
                }
                let Some(&header) = feed.bytes.get(taken) else { break Halt::Other };
                match Atoms::steps(header) {
                    0 => {
                        let bytes = feed.bytes.get(taken..).unwrap_or_default();
                        let len = self.jump(header, bytes);
                        if len == 0 {
                            break Halt::Other;
                        }
                        taken += len;
                        // As many packets as bytes, but for these.
                        feed.packets = feed.packets.wrapping_sub(len - 1);
                        let entry = self.history.last();
                        let (realm, mask) = set(&sets, entry.is == SubIsa::Is1);
                        next = code.find(entry.address & mask, realm);
                        if many {
                            ahead.arrived(feed.bytes, taken, &self.history, &sets, code);
                        }
                        if next == Mark::NONE {
                            break Halt::Jump(entry);
                        }
                        if many {
                            bring(hops, next);
                        }
                    }
                    atoms => {
                        steps = atoms;
                        at = feed.places.at(taken);
                        taken += 1;
                    }
                }
            };
            let call = calls[self.flow.returns.slot()];
            let place = Place { last, taken: before & 1 != 0, call };
            match halt {
                Halt::Other => {
                    self.flow.settle(place, rules, code);
                    break;
                }
                Halt::Jump(entry) => {
                    self.flow.settle(place, rules, code);
                    self.flow.set_address(entry.address, entry.is == SubIsa::Is1, rules);
                    last = Mark::NONE;
                    // Atoms follow. Where there is no code they say nothing until there is an address.
                    if self.flow.is_missing(feed.places.at(taken), code, sink) {
                        let count = Atoms::run(feed.bytes.get(taken..).unwrap_or_default()).max(1);
                        at = feed.places.at(taken + count - 1);
                        taken += count;
                    }
                }
                Halt::Ask => {
                    next = self.ask(at, place, &sets, rules, code, sink);
                    last = Mark::NONE;
                    if next != Mark::NONE {
                        continue;
                    }
                    // A block that is not kept, or none.
                    let way = steps & 1 != 0;
                    steps >>= 1;
                    if !self.flow.lone_atom(at, way, rules, code, sink) {
                        self.fail(at, sink);
                        break;
                    }
                    calls[self.flow.returns.slot()] = Mark::NONE;
                    if self.flow.is_lost() {
                        // Atoms say nothing until there is an address.
                        steps = 1;
                        let rest = feed.bytes.get(taken..).unwrap_or_default();
                        let count = Atoms::run(rest);
                        if count > 0 {
                            at = feed.places.at(taken + count - 1);
                            taken += count;
                        }
                    } else if let Some(pc) = self.flow.pc() {
                        next = code.find(pc.address, set(&sets, pc.isa == Isa::T32).0);
                    }
                }
            }
        }
        feed.packets = feed.packets.wrapping_add(taken - feed.taken);
        (feed.last, feed.taken) = (at, taken);
    }

    /// Takes an Address packet that an Atom packet follows, and says how long it is; 0 where `bytes`,
    /// `header` first, begin with no such.
    #[inline(never)]
    fn jump(&mut self, header: u8, bytes: &[u8]) -> usize {
        let Some((entry, len)) = self.history.peek(header, bytes) else { return 0 };
        if bytes.get(len).is_none_or(|&header| Atoms::steps(header) == 0) {
            return 0;
        }
        self.history.push(entry);
        self.flow.arrived();
        len
    }

    /// After `from`, where that is an indirect branch and no address was traced: the block on top of the
    /// return stack.
    #[inline]
    fn back<K: Code>(
        &mut self,
        from: &Family,
        sets: &Sets,
        calls: &[Mark; SLOTS],
        rules: Rules,
        code: &K,
    ) -> Mark {
        if !rules.return_stack || from.last[1].kind != Kind::Indirect {
            return Mark::NONE;
        }
        let Some(top) = self.flow.returns.top() else { return Mark::NONE };
        let (realm, mask) = set(sets, top.is1);
        let address = top.address & mask;
        let hops = code.hops();
        let is = |mark| {
            hops.get(mark)
                .is_some_and(|(hop, family)| hop.start(family) == address && family.realm == realm)
        };
        // The block behind the call lies there most often; or it is where the call would have gone that was
        // not taken; or it has to be looked for.
        let call = calls[self.flow.returns.slot()];
        let beside = Mark::new(call.index().wrapping_add(1));
        let after = hops.get(call).map_or(Mark::NONE, |(call, _)| call.next[0]);
        let next = match call {
            Mark::NONE => code.find(address, realm),
            _ if is(beside) => beside,
            _ if is(after) => after,
            _ => Mark::NONE,
        };
        if next != Mark::NONE {
            self.flow.returns.pop();
        }
        next
    }

    /// Brings the flow up to date and asks for the block to come.
    #[cold]
    fn ask<K: Code, S: Sink>(
        &mut self,
        at: u64,
        place: Place,
        sets: &Sets,
        rules: Rules,
        code: &mut K,
        sink: &mut S,
    ) -> Mark {
        self.flow.settle(place, rules, code);
        // A branch whose target is in the program always leads to the same block; and a return leads
        // to where the call would have gone that was not taken.
        let mut from = self.flow.pc().map(|_| (place.last, place.taken));
        self.flow.take_return(at, rules, sink);
        let pc = self.flow.pc();
        if let (None, Some(pc), Some((hop, family))) = (from, pc, code.hops().get(place.call))
            && (hop.end(family), family.isa()) == (pc.address, pc.isa)
        {
            from = Some((place.call, false));
        }
        match pc {
            Some(pc) if set(sets, pc.isa == Isa::T32).0 != Realm::NONE => code.enter(pc, from),
            _ => Mark::NONE,
        }
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

/// The roles of waypoints at which there is more to do, a bit for each.
const fn special(rules: Rules) -> u32 {
    (rules.return_stack as u32) << Role::Call as u32
        | (rules.silent_returns as u32) << Role::ExceptionReturn as u32
}

#[inline]
pub(super) const fn set(sets: &Sets, is1: bool) -> (Realm, u64) {
    let [is0_set, is1_set] = *sets;
    if is1 { is1_set } else { is0_set }
}
