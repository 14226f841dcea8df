//! Atoms and addresses, many packets at once.
//!
//! Nearly all of a trace is Atom packets, with an Address packet after each indirect branch. Where
//! nothing is speculative they need no window, and the program between two addresses is a path through
//! blocks that are kept: the lane holds the place on that path, a [`Mark`], and an atom is one load.
//! What the flow knows is made of the last block alone, where the lane ends.

use tracewright_base::{Code, Counted, Element, Feed, Isa, Kind, Mark, Range, Realm, Role, Sink};

use super::flow::Rules;
use super::returns::Return;
use super::{Decoder, Stage};
use crate::etmv4::Config;
use crate::etmv4::history::Entry;
use crate::etmv4::packet::{Address, Atoms, SubIsa};

/// A place on a path through kept blocks.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// The block to come; [`Mark::NONE`] where it has to be asked for.
    next: Mark,
    /// The block before it, and whether its waypoint took effect. [`Mark::NONE`] where the flow is up
    /// to date.
    pub(super) last: Mark,
    pub(super) taken: bool,
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
            || !self.window.is_empty()
            || !self.flow.has_context()
            || config.max_speculation() > 0
        {
            return;
        }
        let rules = Rules::of(config);
        let special = special(rules);
        let sets = self.flow.sets(rules, code);
        let mut place = Place { next: Mark::NONE, last: Mark::NONE, taken: false };
        if let Some(pc) = self.flow.pc() {
            place.next = code.find(pc.address, set(&sets, pc.isa == Isa::T32).0);
        }
        let bytes = feed.bytes;
        let (mut at, mut bits, mut left) = (feed.last, 0u32, 0u8);
        loop {
            let hops = code.hops();
            let halt = loop {
                if left > 0 {
                    let Some(hop) = hops.get(place.next.index()) else {
                        let Some(next) = self.back(&place, &sets, rules, code) else {
                            break Halt::Ask;
                        };
                        place.next = next;
                        continue;
                    };
                    let taken = bits & 1 != 0;
                    let range = Range {
                        start: hop.start,
                        bytes: hop.bytes,
                        instructions: hop.instructions,
                        cycles: Counted::UNKNOWN,
                        last: hop.last.with_taken(taken),
                    };
                    sink.element(at, Element::Range(range));
                    let [not, yes] = hop.next;
                    place = Place { next: if taken { yes } else { not }, last: place.next, taken };
                    if special >> hop.last.role as u32 & bits & 1 != 0 {
                        match hop.last.role {
                            Role::Call => {
                                let is1 = hop.last.isa == Isa::T32;
                                self.flow.returns.push(Return { address: hop.end(), is1 });
                            }
                            _ => sink.element(at, Element::ExceptionReturn),
                        }
                    }
                    bits >>= 1;
                    left -= 1;
                    continue;
                }
                let Some((&header, rest)) = bytes.get(feed.taken..).and_then(<[u8]>::split_first)
                else {
                    break Halt::Other;
                };
                if let Some(atoms) = Atoms::from_header(header) {
                    at = feed.places.at(feed.taken);
                    feed.taken += 1;
                    (bits, left) = (atoms.bits(), atoms.len());
                } else if let Some(Some((address, len))) = Address::parse(header, rest)
                    && rest.get(len).is_some_and(|&header| Atoms::is_header(header))
                {
                    feed.taken += 1 + len;
                    let entry = self.history.complete(address);
                    let (realm, mask) = set(&sets, entry.is == SubIsa::Is1);
                    place.next = code.find(entry.address & mask, realm);
                    if place.next == Mark::NONE {
                        break Halt::Jump(entry);
                    }
                    self.flow.arrived();
                } else {
                    break Halt::Other;
                }
            };
            match halt {
                Halt::Other => break,
                Halt::Jump(entry) => {
                    self.flow.settle(&mut place, rules, code);
                    self.flow.set_address(entry.address, entry.is == SubIsa::Is1, rules);
                }
                Halt::Ask => {
                    place.next = self.ask(at, &mut place, &sets, rules, code, sink);
                    if place.next == Mark::NONE {
                        feed.last = at;
                        for n in 0..left {
                            let taken = bits >> n & 1 != 0;
                            if !self.flow.atom(at, taken, taken, rules, code, sink) {
                                return self.fail(at, sink);
                            }
                        }
                        return;
                    }
                }
            }
        }
        feed.last = at;
        self.flow.settle(&mut place, rules, code);
    }

    /// After an indirect branch without an address: the block on top of the return stack.
    #[inline]
    fn back<K: Code>(
        &mut self,
        place: &Place,
        sets: &Sets,
        rules: Rules,
        code: &K,
    ) -> Option<Mark> {
        let last = code.hops().get(place.last.index())?.last;
        if !rules.return_stack || !place.taken || last.kind != Kind::Indirect {
            return None;
        }
        let top = self.flow.returns.top()?;
        let (realm, mask) = set(sets, top.is1);
        let next = code.find(top.address & mask, realm);
        if next == Mark::NONE {
            return None;
        }
        self.flow.returns.pop();
        Some(next)
    }

    /// Brings the flow up to date and asks for the block to come.
    #[cold]
    fn ask<K: Code, S: Sink>(
        &mut self,
        at: u64,
        place: &mut Place,
        sets: &Sets,
        rules: Rules,
        code: &mut K,
        sink: &mut S,
    ) -> Mark {
        let before = (place.last, place.taken);
        self.flow.settle(place, rules, code);
        // Only a branch whose target is in the program always leads to the same block.
        let from = self.flow.pc().map(|_| before);
        self.flow.take_return(at, rules, sink);
        match self.flow.pc() {
            Some(pc) if set(sets, pc.isa == Isa::T32).0 != Realm::NONE => code.enter(pc, from),
            _ => Mark::NONE,
        }
    }
}

/// The roles of waypoints at which there is more to do, a bit for each.
const fn special(rules: Rules) -> u32 {
    (rules.return_stack as u32) << Role::Call as u32
        | (rules.silent_returns as u32) << Role::ExceptionReturn as u32
}

#[inline]
const fn set(sets: &Sets, is1: bool) -> (Realm, u64) {
    let [is0_set, is1_set] = *sets;
    if is1 { is1_set } else { is0_set }
}
