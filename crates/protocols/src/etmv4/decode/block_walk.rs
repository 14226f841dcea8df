//! The loop that takes each atom through cached blocks.

use core::mem::ManuallyDrop;

use tracewright_base::{BlockId, CachedBlock, CachedBlocks, Feed, Sink};

use super::lookup::prefetch_block;
use super::returns::{Calls, Returns};
use super::sums::Sums;
use super::tallied::Tallied;
use crate::cursor::Cursor;
use crate::etmv4::packet::Atoms;

/// The position among cached blocks, and the atoms of the current packet.
pub(super) struct BlockWalk {
    /// The block to execute next; [`BlockId::NONE`] if it is not known.
    pub(super) next: BlockId,
    /// The block before it; [`BlockId::NONE`] if the flow is up to date.
    pub(super) last: BlockId,
    /// `steps` before the atom of `last`. Bit 0: the waypoint of `last` took effect, or there is no
    /// `last`.
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

    /// The block to which the last block returns, where its call was passed and that block is
    /// known.
    // Inlined, its first condition would be evaluated for each atom.
    #[inline(never)]
    fn return_to(&mut self, blocks: &CachedBlocks<'_>) -> BlockId {
        if self.is_indirect(blocks) { self.calls.pop(blocks) } else { BlockId::NONE }
    }

    /// Whether ranges are received as sums.
    const fn sums<S: Sink>() -> bool {
        S::SUMS && !S::PATHS
    }

    /// Takes the remaining atoms and then `packets`. `special`: the kinds of waypoints that need
    /// more work if they take effect. `PREFETCH`: blocks are prefetched.
    // All variables of the loop are in registers: only the sink is called for an atom.
    #[inline(never)]
    pub(super) fn run<'a, const PREFETCH: bool, R: PacketSource<'a>, S: Sink>(
        &mut self,
        packets: &mut R,
        blocks: &CachedBlocks<'_>,
        special: u16,
        sink: &mut S,
    ) -> Stop {
        // Made again here, so that the compiler knows that both slices have the same length, and
        // checks bounds once for each atom.
        let numbering = blocks.numbering();
        let blocks = CachedBlocks::new(blocks.all(), blocks.successors(), blocks.classes())
            .with_paths(blocks.paths());
        let blocks = numbering.map_or(blocks, |numbering| blocks.with_numbering(numbering));
        // An index costs less than a branch on whether the waypoint takes effect.
        let check = [0, special | CachedBlock::LOOP];
        let BlockWalk { mut next, mut steps, mut at, mut last, mut before, mut taken, .. } = *self;
        let (mut base, mut piece) = packets.piece(taken);
        let (counts, lists) = (S::COUNTS, Tallied::lists::<PREFETCH, S>());
        // Without code to drop them, which a sink without sums or counts would execute, too.
        let mut sums = ManuallyDrop::new(match Self::sums::<S>() {
            true => Sums::new(sink.take_marks(&blocks)),
            false => Sums::default(),
        });
        let mut tallied = ManuallyDrop::new(Tallied::new::<PREFETCH, S>(&blocks, special, sink));
        let stop = 'walk: loop {
            while steps > 1 {
                if Self::sums::<S>()
                    && let Some(taken) =
                        sums.atoms::<PREFETCH, S>((next, last), (steps, before), at, &blocks, sink)
                {
                    ((next, last), (steps, before)) = taken;
                    if special & CachedBlock::CALL != 0
                        && sums.left
                        && before & 1 != 0
                        && blocks.get(last).is_some_and(|(c, _)| c.is_any_of(CachedBlock::CALL))
                    {
                        self.calls.push(last);
                    }
                    continue;
                }
                if counts && !tallied.first {
                    ((next, last), (steps, before)) =
                        tallied.atoms::<PREFETCH, S>((next, last), (steps, before), &blocks);
                    if steps <= 1 {
                        break;
                    }
                }
                if S::PATHS
                    && next.can_be_next()
                    && let Some(path) = blocks.path(next, steps, special)
                {
                    sink.path(at, &path, &blocks);
                    (next, last) = (path.next, path.last);
                    before = u32::from(path.taken());
                    steps >>= path.ranges();
                    if path.is_special() {
                        if blocks.get(last).is_some_and(|(cached, _)| {
                            cached.is_any_of(special & CachedBlock::EXCEPTION_RETURN)
                        }) {
                            break 'walk Stop::ExceptionReturn;
                        }
                        // The other special kind is a branch with link.
                        self.calls.push(last);
                    }
                    continue;
                }
                let Some((cached, successors, class)) = blocks.step(next) else {
                    (self.last, self.before) = (last, before);
                    next = self.return_to(&blocks);
                    if next == BlockId::NONE {
                        break 'walk Stop::Unknown;
                    }
                    if counts {
                        tallied.jump::<PREFETCH, S>((last, before), next, at, &blocks, sink);
                    }
                    continue;
                };
                let executed = steps & 1 != 0;
                let after = successors[usize::from(executed)];
                if counts {
                    if tallied.first {
                        tallied.first = false;
                        sink.cached_range(at, cached.range(class, executed));
                    }
                    tallied.execute::<PREFETCH, S>(next, executed, 1, &blocks, sink);
                }
                if Self::sums::<S>() {
                    sums.flush((last, before), &blocks, sink);
                }
                (last, before) = (next, steps);
                if cached.is_any_of(check[usize::from(executed)]) {
                    if !cached.is_any_of(special) {
                        // A loop of one block: one iteration for each consecutive E atom.
                        let times = steps.trailing_ones().min(steps.ilog2());
                        if counts && !lists {
                            tallied.execute::<PREFETCH, S>(next, true, times - 1, &blocks, sink);
                        } else {
                            let times = times - u32::from(lists);
                            sink.repeat_block(at, next, cached.range(class, true), times);
                        }
                        if Self::sums::<S>() {
                            sums.received((last, before), &blocks, sink);
                        }
                        steps >>= times;
                        continue;
                    }
                    if !counts {
                        sink.cached_block(at, next, cached.range(class, true));
                    }
                    if Self::sums::<S>() {
                        sums.received((last, before), &blocks, sink);
                    }
                    next = after;
                    steps >>= 1;
                    if cached.is_any_of(CachedBlock::EXCEPTION_RETURN) {
                        break 'walk Stop::ExceptionReturn;
                    }
                    // The other special kind is a branch with link; `last` is this block.
                    self.calls.push(last);
                    if PREFETCH {
                        prefetch_block(blocks, after);
                    }
                    continue;
                }
                if !counts {
                    sink.cached_block(at, next, cached.range(class, executed));
                }
                if Self::sums::<S>() {
                    sums.received((last, before), &blocks, sink);
                }
                if PREFETCH
                    && after.index().wrapping_sub(next.index()).wrapping_add(ADJACENT)
                        > 2 * ADJACENT
                {
                    prefetch_block(blocks, after);
                }
                next = after;
                steps >>= 1;
            }
            let Some(&header) = piece.get(taken) else {
                (base, piece) = packets.piece(taken);
                if taken < piece.len() {
                    continue;
                }
                break Stop::Packet;
            };
            match Atoms::steps(header) {
                0 => {
                    let (to, len) = packets.jump(taken, header, (last, next), before);
                    if len == 0 {
                        break Stop::Packet;
                    }
                    taken += len as usize;
                    next = to;
                    if Self::sums::<S>() {
                        sums.left = true;
                    }
                    if counts {
                        tallied.jump::<PREFETCH, S>((last, before), next, at, &blocks, sink);
                    }
                    if next == BlockId::NONE {
                        break Stop::Address;
                    }
                }
                atoms => {
                    at = base.wrapping_add(taken as u64);
                    taken += 1;
                    steps = atoms;
                }
            }
        };
        if Self::sums::<S>() {
            sums.flush((last, before), &blocks, sink);
            sink.return_marks(sums.take_marks());
        }
        if counts {
            tallied.end::<PREFETCH, S>(last, before, at, &blocks, sink);
        }
        self.before = before;
        (self.next, self.last, self.steps) = (next, last, steps);
        (self.at, self.taken) = (at, taken);
        stop
    }
}

#[cfg(test)]
mod tests;
