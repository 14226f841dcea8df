//! A path through kept blocks: the loop that every atom goes through.

use tracewright_base::{Element, Feed, Hop, Hops, Isa, Mark, Sink};

use super::ahead::bring;
use super::returns::{DEPTH, Return, Returns, SLOTS};
use crate::etmv4::packet::Atoms;

/// A place on a path, and the atoms in hand.
pub(super) struct Path {
    /// The block to come; [`Mark::NONE`] where it is not known.
    pub(super) next: Mark,
    /// The block before it; [`Mark::NONE`] where the flow is up to date.
    pub(super) last: Mark,
    /// Bit 0: its waypoint took effect.
    before: u32,
    /// Atoms to come from bit 0 on, and a 1 behind them.
    steps: u32,
    /// Place of the packet that they are of.
    pub(super) at: u64,
    /// How many bytes are taken.
    pub(super) taken: usize,
    /// The blocks that pushed the entries of the return stack, each at the slot of its entry, as far as that is known.
    calls: [Mark; SLOTS],
    /// The slot of the newest entry.
    slot: u8,
    /// So many entries are here alone; the flow has the older ones.
    pushed: u8,
    /// There were so many at one time.
    most: u8,
}

/// Where a path leads along: what it takes apart from atoms.
pub(super) trait Road<'a> {
    /// The bytes up to where places do not follow each other any more, and what to add to the index of one behind `taken`
    /// for its place. There are no more than `taken` where that is the end.
    fn stretch(&mut self, taken: usize) -> (u64, &'a [u8]);

    /// Takes an Address packet at `taken`, which is no Atom packet, and says which block it leads to and how long it is;
    /// 0 where there is no such, or no Atom packet follows.
    fn jump(&mut self, taken: usize, header: u8) -> (Mark, u32);
}

/// Why a path ends.
pub(super) enum Stop {
    /// There are no more bytes, or another packet.
    Packet,
    /// The next block is not known.
    Unknown,
    /// The same, at an address that was traced.
    Jump,
    /// An exception return was passed.
    ExceptionReturn,
}

/// A block that is no farther from the one before, in hops, is near already.
const BESIDE: usize = 8;

impl Path {
    /// Begins before `next`, with no atoms.
    pub(super) fn new(next: Mark, feed: &Feed<'_>, returns: &Returns) -> Path {
        Path {
            next,
            last: Mark::NONE,
            before: 0,
            steps: 1,
            at: feed.last,
            taken: feed.taken,
            calls: [Mark::NONE; SLOTS],
            slot: returns.slot() as u8,
            pushed: 0,
            most: 0,
        }
    }

    /// Whether the last block's waypoint took effect.
    #[inline]
    pub(super) const fn took_effect(&self) -> bool {
        self.before & 1 != 0
    }

    /// Takes one atom, that of a block that is not kept.
    pub(super) fn step(&mut self) -> bool {
        self.before = self.steps;
        self.steps >>= 1;
        self.took_effect()
    }

    /// Takes all atoms in hand.
    pub(super) fn skip(&mut self) {
        self.steps = 1;
    }

    /// The block that pushed the newest entry of the return stack, as far as that is known.
    #[inline]
    pub(super) fn call(&self) -> Mark {
        self.calls[usize::from(self.slot) % SLOTS]
    }

    /// The newest entry is not of a known block.
    pub(super) fn forget_call(&mut self) {
        self.calls[usize::from(self.slot) % SLOTS] = Mark::NONE;
    }

    /// Gives the flow's return stack all entries, before blocks change or the flow goes on.
    #[inline]
    pub(super) fn give_up(&mut self, returns: &mut Returns, hops: Hops<'_>) {
        if self.most > 0 {
            returns.take_up(usize::from(self.slot), self.pushed, self.most, |slot| {
                let (call, family) = hops.get(self.calls[slot])?;
                Some(Return { address: call.end(family), is1: family.isa() == Isa::T32 })
            });
            (self.pushed, self.most) = (0, 0);
        }
    }

    /// The flow's return stack has changed.
    pub(super) fn follow(&mut self, returns: &Returns) {
        self.slot = returns.slot() as u8;
    }

    /// Whether the newest entry of the return stack is here alone.
    #[inline]
    pub(super) const fn has_entries(&self) -> bool {
        self.pushed > 0
    }

    #[inline]
    fn push(&mut self, call: Mark) {
        self.slot = self.slot.wrapping_add(1);
        self.calls[usize::from(self.slot) % SLOTS] = call;
        self.pushed = (self.pushed + 1).min(DEPTH);
        self.most = self.most.max(self.pushed);
    }

    /// Where the newest call comes back to, where it is of this path and that is known.
    // In line, what it asks first would be asked for each atom.
    #[inline(never)]
    fn back(&mut self, hops: &Hops<'_>) -> Mark {
        if !self.took_effect()
            || self.pushed == 0
            || !hops.get(self.last).is_some_and(|(hop, _)| hop.is_any_of(Hop::INDIRECT))
        {
            return Mark::NONE;
        }
        // Behind a call that is not taken there can be no other block.
        let next = hops.next(self.call(), false);
        if next != Mark::NONE {
            self.slot = self.slot.wrapping_sub(1);
            self.pushed -= 1;
        }
        next
    }

    /// Takes the atoms in hand, and packets as far as the `road` goes. At waypoints of the kinds `more` that take
    /// effect there is more to do. `MANY`: hops have to be asked for.
    // What an atom needs stays in registers: apart from the sink nothing is called for it.
    #[inline(never)]
    pub(super) fn run<'a, const MANY: bool, R: Road<'a>, S: Sink>(
        &mut self,
        road: &mut R,
        hops: &Hops<'_>,
        more: u16,
        sink: &mut S,
    ) -> Stop {
        let hops = hops.even();
        // Whether there is more to do is no branch on whether it took effect.
        let special = [0, more | Hop::LOOP];
        let Path { mut next, mut steps, mut at, mut last, mut before, mut taken, .. } = *self;
        let (mut place, mut stretch) = road.stretch(taken);
        let stop = 'path: loop {
            while steps > 1 {
                let Some((hop, ways, family)) = hops.step(next) else {
                    (self.last, self.before) = (last, before);
                    next = self.back(&hops);
                    if next == Mark::NONE {
                        break 'path Stop::Unknown;
                    }
                    continue;
                };
                let way = steps & 1 != 0;
                let after = ways[usize::from(way)];
                (last, before) = (next, steps);
                if hop.is_any_of(special[usize::from(way)]) {
                    if !hop.is_any_of(more) {
                        // A loop of one block: as many turns as there are equal atoms.
                        let times = steps.trailing_ones().min(steps.ilog2());
                        sink.turns(at, hop.range(family, true), times);
                        steps >>= times;
                        continue;
                    }
                    sink.element(at, Element::Range(hop.range(family, true)));
                    next = after;
                    steps >>= 1;
                    if hop.is_any_of(Hop::EXCEPTION_RETURN) {
                        break 'path Stop::ExceptionReturn;
                    }
                    self.push(last);
                    if MANY {
                        bring(hops, after);
                    }
                    continue;
                }
                sink.element(at, Element::Range(hop.range(family, way)));
                if MANY
                    && after.index().wrapping_sub(next.index()).wrapping_add(BESIDE) > 2 * BESIDE
                {
                    bring(hops, after);
                }
                next = after;
                steps >>= 1;
            }
            let Some(&header) = stretch.get(taken) else {
                (place, stretch) = road.stretch(taken);
                if taken < stretch.len() {
                    continue;
                }
                break Stop::Packet;
            };
            match Atoms::steps(header) {
                0 => {
                    let (to, len) = road.jump(taken, header);
                    if len == 0 {
                        break Stop::Packet;
                    }
                    taken += len as usize;
                    next = to;
                    if next == Mark::NONE {
                        break Stop::Jump;
                    }
                }
                atoms => {
                    steps = atoms;
                    at = place.wrapping_add(taken as u64);
                    taken += 1;
                }
            }
        };
        self.before = before;
        (self.next, self.last, self.steps) = (next, last, steps);
        (self.at, self.taken) = (at, taken);
        stop
    }
}
