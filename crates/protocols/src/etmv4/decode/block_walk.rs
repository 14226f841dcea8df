//! The loop that takes each atom through cached blocks.

use tracewright_base::{
    BatchBuffer, BlockId, BlockStep, CachedBlock, CachedBlocks, Feed, Links, Sink,
};

use super::lookup::prefetch_links;
use super::returns::{Calls, Returns};
use crate::cursor::Cursor;
use crate::etmv4::packet::Atoms;

/// The position among cached blocks, and the atoms of the current packet.
pub(super) struct BlockWalk {
    /// The block to execute next; [`BlockId::NONE`] if it is not known.
    pub(super) next: BlockId,
    /// The block before it; [`BlockId::NONE`] if the flow is up to date.
    pub(super) last: BlockId,
    /// Bit 0: the waypoint of `last` took effect, or there is no `last`.
    before: u32,
    /// The remaining atoms from bit 0 on, and a 1 after them.
    steps: u32,
    /// Offset of their packet.
    pub(super) at: u64,
    /// The number of bytes that are taken.
    pub(super) taken: usize,
    /// The calls among the blocks.
    pub(super) calls: Calls,
}

/// The bytes of a walk, and its packets other than Atom packets.
pub(super) trait PacketSource<'a> {
    /// Returns the bytes up to the end of the piece at `taken`, in which offsets are consecutive,
    /// and the difference between the offset of a byte of the piece and its index. At the end of
    /// the bytes the slice has at most `taken` bytes.
    fn piece(&mut self, taken: usize) -> (u64, &'a [u8]);

    /// Takes an Address packet at `taken`, where no Atom packet is. `walked` are
    /// the last block and the next one. Returns the block at the address and the length of the
    /// packet; the length is 0 if there is no Address packet or no Atom packet follows. It is also
    /// 0 without a next block after a waypoint that did not take effect, which bit 0 of `before`
    /// states, and where the last block leads elsewhere: the flow may find that this is an
    /// inconsistency.
    fn jump(
        &mut self,
        taken: usize,
        header: u8,
        walked: (BlockId, BlockId),
        before: u32,
    ) -> (BlockId, u32);
}

/// Why [`BlockWalk::run`] returns.
pub(super) enum Stop {
    /// The next packet is of another kind, or there are no more bytes.
    Packet,
    /// The next block is not known.
    Unknown,
    /// The block at a traced address is not known.
    Address,
    /// The last block ends with a return from an exception.
    ExceptionReturn,
}

/// The kinds of links that [`BlockWalk::turn`] takes, whether an atom follows or not.
const TURNS: u32 = Links::BEHIND_CALL | Links::EXCEPTION_RETURN | Links::CALL;

/// No step.
const NO_STEP: u32 = u32::MAX;

/// A next block within this distance, in blocks, is probably prefetched already.
const ADJACENT: usize = 8;

impl BlockWalk {
    /// A walk that starts at `next`, without atoms.
    pub(super) fn new(next: BlockId, feed: &Feed<'_>, returns: &Returns) -> BlockWalk {
        BlockWalk {
            next,
            last: BlockId::NONE,
            before: 1,
            steps: 1,
            at: feed.last,
            taken: feed.taken,
            calls: Calls::new(returns),
        }
    }

    /// The position.
    pub(super) fn cursor(&self) -> Cursor {
        Cursor { next: self.next, last: self.last, taken: self.took_effect() }
    }

    /// Continues at `cursor`, where the flow is up to date.
    pub(super) fn resume(&mut self, cursor: Cursor) {
        (self.next, self.last) = (cursor.next, cursor.last);
        if cursor.last == BlockId::NONE {
            self.before = 1;
        }
    }

    /// Whether the waypoint of the last block took effect.
    #[inline]
    pub(super) const fn took_effect(&self) -> bool {
        self.before & 1 != 0
    }

    /// Takes one atom, for a block that is not cached. Returns whether it is E.
    pub(super) fn take_atom(&mut self) -> bool {
        self.before = self.steps;
        self.steps >>= 1;
        self.took_effect()
    }

    /// Skips the remaining atoms and the Atom packets that follow.
    pub(super) fn skip_atoms(&mut self, feed: &mut Feed<'_>) {
        self.steps = 1;
        let count = Atoms::run(feed.bytes.get(self.taken..).unwrap_or_default());
        if count > 0 {
            self.at = feed.offsets.at(self.taken + count - 1);
            self.taken += count;
        }
    }

    /// Whether the last block ends with an indirect branch that was taken.
    #[inline]
    pub(super) fn is_indirect(&self, blocks: &CachedBlocks<'_>) -> bool {
        self.took_effect()
            && blocks
                .get(self.last)
                .is_some_and(|(cached, _)| cached.is_any_of(CachedBlock::INDIRECT))
    }

    /// Takes the remaining atoms and then `packets`. `special`: the kinds of waypoints that need
    /// more work if they take effect. `PREFETCH`: blocks are prefetched.
    // The variables of the loop are in registers: it calls nothing for an atom.
    #[inline(never)]
    pub(super) fn run<'a, const PREFETCH: bool, R: PacketSource<'a>, S: Sink>(
        &mut self,
        packets: &mut R,
        blocks: &CachedBlocks<'_>,
        special: u16,
        sink: &mut S,
    ) -> Stop {
        let links = blocks.links();
        let mut mask = Links::NONE | Links::INDIRECT | Links::BEHIND_CALL;
        if special & CachedBlock::CALL != 0 {
            mask |= Links::CALL;
        }
        if special & CachedBlock::EXCEPTION_RETURN != 0 {
            mask |= Links::EXCEPTION_RETURN;
        }
        let (mut base, mut piece) = packets.piece(self.taken);
        'room: loop {
            let mut buffer = sink.take_steps(self.at, blocks);
            let start = buffer.begin(self.at);
            let mut used = buffer.len();
            let Some(places) = buffer.places() else { return Stop::Packet };
            let BlockWalk { mut steps, mut at, mut taken, .. } = *self;
            let mut next = Links::to(self.next);
            let mut last = NO_STEP;
            let mut offset = at.wrapping_sub(start);
            let stop = 'walk: loop {
                // A link with a kind of a waypoint, or to no block, is greater than any step.
                while steps > 1
                    && let step = next | steps & 1
                    && let Some(&link) = links.get(step as usize)
                {
                    places[used % BatchBuffer::STEPS] = BlockStep::from_word(step, offset);
                    used += 1;
                    steps >>= 1;
                    (last, next) = (step, link & mask);
                    if PREFETCH
                        && (next.wrapping_sub(step) as usize).wrapping_add(2 * ADJACENT)
                            > 4 * ADJACENT
                    {
                        prefetch_links(blocks, next);
                    }
                }
                if steps > 1 || next & TURNS != 0 {
                    let stop;
                    (next, stop) = self.turn(next, steps, last, blocks);
                    if PREFETCH {
                        prefetch_links(blocks, next);
                    }
                    if stop.is_some() {
                        break stop;
                    }
                    continue;
                }
                let Some(&header) = piece.get(taken) else {
                    (base, piece) = packets.piece(taken);
                    if taken < piece.len() {
                        continue;
                    }
                    break Some(Stop::Packet);
                };
                match Atoms::steps(header) {
                    0 => {
                        self.leave(last);
                        let walked = (self.last, Links::id(next));
                        let (to, len) = packets.jump(taken, header, walked, self.before);
                        if len == 0 {
                            break Some(Stop::Packet);
                        }
                        taken += len as usize;
                        next = Links::to(to);
                        if to == BlockId::NONE {
                            break Some(Stop::Address);
                        }
                    }
                    atoms => {
                        at = base.wrapping_add(taken as u64);
                        let distance = at.wrapping_sub(start);
                        if used > BatchBuffer::STEPS - BatchBuffer::ROOM
                            || distance > BatchBuffer::FAR
                        {
                            break 'walk None;
                        }
                        offset = distance;
                        taken += 1;
                        steps = atoms;
                    }
                }
            };
            self.leave(last);
            buffer.set_len(used);
            (self.next, self.steps) = (Links::id(next), steps);
            (self.at, self.taken) = (at, taken);
            sink.return_steps(buffer, blocks);
            if let Some(stop) = stop {
                break 'room stop;
            }
        }
    }

    /// The step `last` was executed last; [`NO_STEP`] if there was none.
    #[inline(always)]
    fn leave(&mut self, last: u32) {
        if last != NO_STEP {
            let last = BlockStep::from_word(last, 0);
            (self.last, self.before) = (last.id(), u32::from(last.taken()));
        }
    }

    /// Takes what the step `last`, of which `next` is the link, does beside leading to a block, or
    /// finds the block at which the next atom is executed. Returns the link that replaces `next`.
    // In line, its variables would take the registers of the loop.
    #[inline(never)]
    fn turn(
        &mut self,
        next: u32,
        steps: u32,
        last: u32,
        blocks: &CachedBlocks<'_>,
    ) -> (u32, Option<Stop>) {
        let kinds = next & !Links::NONE;
        if kinds & Links::BEHIND_CALL == 0 {
            if kinds & Links::EXCEPTION_RETURN != 0 {
                return (next & Links::NONE, Some(Stop::ExceptionReturn));
            }
            if kinds & Links::CALL != 0 {
                self.calls.push(BlockStep::from_word(last, 0).id(), blocks.links());
                return (next & !Links::CALL, None);
            }
        }
        if steps <= 1 {
            return (Links::NONE, None);
        }
        // An indirect branch has no successor, but a return may lead to a known block.
        let indirect = match last {
            NO_STEP => self.is_indirect(blocks),
            _ => kinds & (Links::INDIRECT | Links::BEHIND_CALL) == Links::INDIRECT,
        };
        let next = if indirect { self.calls.pop(blocks.links()) } else { Links::NONE };
        (next, (next == Links::NONE).then_some(Stop::Unknown))
    }
}

#[cfg(test)]
mod tests;
