//! The fast path: many packets of formats 0, 1 and 2 at once.
//!
//! Nearly all packets of a trace are of these formats. The program between two addresses is a
//! path through cached blocks. The fast path holds the position on that path as a [`BlockId`], so
//! that a branch is one load. The position in the decoder's own terms is computed from the last
//! block only when it is needed. The fast path leaves every other case to [`Decoder::walk`].

pub(super) mod branches;
mod extension;

use tracewright_base::{
    BlockCache, BlockId, CachedBlock, CachedBlocks, Feed, Inconsistency, Kind, Pc, Role, Sink,
};

use super::goal::{BLOCK, Goal, Path, cost};
use super::pending::Entries;
use super::state::{Announced, Phase, Position, ReportedAs};
use super::{Decoder, free};
use crate::cursor::Cursor;
use crate::etrace::config::{Difference, Params};
use crate::etrace::packet::Shape;
use crate::riscv::last_address;
use branches::{Branches, MAX_AT_ONCE, Prediction};
use extension::Extension;

/// The most that the branches of a packet and the jump to its address cost: the fast path adds the
/// costs up, and compares the sum with the limit at each jump only.
pub(super) const MAX_BRANCHES: u64 =
    (u64::BITS as u64 + 1) * (CachedBlock::MAX_INSTRUCTIONS as u64 + BLOCK);

/// Why the fast path stops.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// The next packet is not one that the fast path reads.
    Packet,
    /// The next block is not cached.
    Unknown,
    /// The walk has to finish the current packet.
    Walk,
    /// The program does not reach the address of the current packet.
    Lost,
}

impl Decoder {
    /// Decodes packets of formats 0, 1 and 2 that have only branches and addresses.
    pub(super) fn fast_path<K: BlockCache, S: Sink>(
        &mut self,
        feed: &mut Feed<'_>,
        params: &Params,
        code: &mut K,
        sink: &mut S,
    ) {
        let options = &params.options;
        let plain =
            !options.implicit_return && !params.choices.drop_unretired && params.before.is_none();
        let Some(shape) = Shape::of(params).filter(|_| plain) else { return };
        if options.branch_prediction || options.jump_target_cache {
            while self.run_atoms::<K, S, true>(&shape, feed, params, code, sink) {}
        } else {
            while self.run_atoms::<K, S, false>(&shape, feed, params, code, sink) {}
        }
    }

    /// Decodes packets until the fast path stops. Returns whether the walk finished the current
    /// packet, so that the fast path can go on. `MODES`: branch prediction mode or jump target
    /// cache mode is on.
    #[inline(never)]
    fn run_atoms<K: BlockCache, S: Sink, const MODES: bool>(
        &mut self,
        shape: &Shape,
        feed: &mut Feed<'_>,
        params: &Params,
        code: &mut K,
        sink: &mut S,
    ) -> bool {
        let (Position::At { mut pc, mut pending_retire }, Some(mut base)) =
            (self.position, self.address)
        else {
            return false;
        };
        let mut outcomes = self.pending.outcomes;
        // The limit of a packet of one byte. Where a packet needs more, the walk continues with the
        // limit for its length. With predictions it may need the reserve, and is the last one.
        let (most, mut reserve) = (u64::from(code.max_expansion()), code.work_reserve());
        let free = free(params, &reserve);
        let predicts = MODES && params.options.branch_prediction;
        let allowed = if predicts { reserve.allow(feed.last, free, most) } else { free.min(most) };
        let Some(limit) = allowed.checked_sub(MAX_BRANCHES) else { return false };
        let usual = self.phase == Phase::Following
            && self.passed.is_none()
            && self.waiting_trap.is_none()
            && outcomes.predicted == 0
            && !(pending_retire && pc != base);
        if !usual {
            return false;
        }
        let (isa, mask) = (params.isa(), params.isa().address_mask());
        let code_space = code.code_space(isa, self.space);
        let (lsb, full) = (params.widths.iaddress_lsb, params.options.full_address);
        let backwards = params.choices.difference == Difference::PreviousMinusCurrent;
        let caches = MODES && params.options.jump_target_cache;
        let entries = Entries::of_predictor(params);
        let address_of = |address: i64, base: u64| {
            let difference = (address << lsb) as u64;
            let reported = match full {
                true => params.full_address(shape.bits(address)),
                false if backwards => base.wrapping_sub(difference),
                false => base.wrapping_add(difference),
            };
            reported & mask
        };
        let price = |instructions, jump| match predicts {
            true => cost(instructions, false) + BLOCK,
            false => cost(instructions, jump),
        };
        let mut cursor = Cursor::find(pc, isa, code_space, code);
        // The last block jumped to the reported address `pc`.
        let mut jumped = false;
        let (mut at, mut taken) = (feed.last, feed.taken);
        // The current packet: it is not finished; its address; its length in bytes.
        let (mut busy, mut goal, mut len) = (false, None, 0);
        // The instruction that was pending when the packet came.
        let mut from = None;
        // The path since the last branch; what is spent of the packet's allowance; the last block
        // ended with a direct jump, which is a step of the path.
        let (mut path, mut spent, mut on) = (Path::default(), 0, false);
        loop {
            let blocks = code.blocks();
            let stop = 'fast_path: loop {
                if !busy {
                    if MODES && spent > free {
                        break Stop::Packet;
                    }
                    let bytes = feed.bytes.get(taken..).unwrap_or_default();
                    let size = if let Some(quick) = shape.read(bytes) {
                        if let Some(address) = quick.address {
                            base = address_of(address, base);
                        }
                        goal = quick.address.is_some().then_some(base);
                        outcomes.add(quick.map);
                        quick.len
                    } else if MODES {
                        let Some((extension, len)) = Extension::read(bytes, limit, shape, params)
                        else {
                            break Stop::Packet;
                        };
                        goal = match extension {
                            Extension::Count { count, address } => {
                                outcomes.add_count(&count);
                                address.map(|address| address_of(address, base))
                            }
                            Extension::Cached { map, index } => {
                                let Some(address) = self.targets.get(index) else {
                                    break Stop::Packet;
                                };
                                outcomes.add(map);
                                Some(address & mask)
                            }
                        };
                        base = goal.unwrap_or(base);
                        len
                    } else {
                        break Stop::Packet;
                    };
                    if caches
                        && params.choices.cache_all
                        && let Some(address) = goal
                    {
                        self.targets.put(address, params);
                    }
                    at = feed.offsets.at(taken);
                    taken += size;
                    feed.packets += 1;
                    len = size;
                    (busy, path, spent, on) = (true, Path::default(), 0, false);
                    from = pending_retire.then_some(pc);
                }
                // Only branches and jumps with known targets can come before the last known branch.
                let spare = u32::from(goal.is_some());
                if predicts && outcomes.count() > u64::from(spare) {
                    let predictor = &mut self.pending.predictor;
                    let mut prediction =
                        Prediction { predictor, entries, last_fails: false, path, on };
                    let mut branches = Branches { cursor, map: 0, spent };
                    // Copies, so that without predictions all of it is in registers.
                    let mut left = outcomes;
                    let stop = branches.follow_predicted(
                        &mut left,
                        spare,
                        &mut prediction,
                        at,
                        limit,
                        &blocks,
                        sink,
                    );
                    // Every block costs something.
                    if branches.spent != spent {
                        (jumped, pending_retire) = (false, false);
                    }
                    (cursor, spent, outcomes) = (branches.cursor, branches.spent, left);
                    (path, on) = (prediction.path, prediction.on);
                    if let Some(stop) = stop {
                        break stop;
                    }
                } else if outcomes.known > spare {
                    let count = outcomes.known - spare;
                    if count > MAX_AT_ONCE {
                        break Stop::Walk;
                    }
                    let mut branches = Branches { cursor, map: 0, spent };
                    let stop = branches.follow(&mut outcomes, count, at, limit, &blocks, sink);
                    if branches.spent != spent {
                        (jumped, pending_retire) = (false, false);
                    }
                    (cursor, spent) = (branches.cursor, branches.spent);
                    if let Some(stop) = stop {
                        break stop;
                    }
                }
                let Some(address) = goal else {
                    busy = false;
                    continue;
                };
                loop {
                    let Some((cached, class)) = blocks.get(cursor.next) else {
                        break 'fast_path Stop::Unknown;
                    };
                    let start = cached.start(class);
                    if core::mem::take(&mut on) && !path.goes_on(start) {
                        break 'fast_path Stop::Lost;
                    }
                    let (last, range) = (class.last[1], cached.range(class, true));
                    let inside = address.wrapping_sub(start) & mask;
                    if inside < u64::from(range.bytes) && !(pending_retire && inside == 0) {
                        break 'fast_path Stop::Walk;
                    }
                    let jump = last.kind == Kind::Branch && !last.conditional();
                    let after = spent + price(range.instructions, jump);
                    if jump && after > limit {
                        break 'fast_path Stop::Walk;
                    }
                    match last.kind {
                        Kind::Branch => {
                            if jump {
                                (on, spent) = (true, after);
                                (jumped, pending_retire) = (false, false);
                                sink.step(at, cursor.next, true, &blocks);
                                cursor = cursor.pass(true, &blocks);
                                continue;
                            }
                            let branched = if predicts {
                                let mut left = outcomes;
                                let predictor = &mut self.pending.predictor;
                                let taken = left.take(range.last_address(), predictor, params);
                                outcomes = left;
                                taken
                            } else {
                                let first = outcomes.first();
                                (outcomes.map, outcomes.known) = (0, 0);
                                first
                            };
                            let Some(branched) = branched else {
                                break 'fast_path Stop::Walk;
                            };
                            (path, on, spent) = (Path::default(), false, after);
                            (jumped, pending_retire) = (false, false);
                            sink.step(at, cursor.next, branched, &blocks);
                            cursor = cursor.pass(branched, &blocks);
                        }
                        Kind::Indirect => {
                            let inferable =
                                params.options.sijump || last.role == Role::ExceptionReturn;
                            let there = code.find(address, code_space);
                            let left = outcomes.known > 0 && !is_branch(there, blocks);
                            if inferable || left || outcomes.predicted > 0 {
                                break 'fast_path Stop::Walk;
                            }
                            sink.step(at, cursor.next, true, &blocks);
                            // As in the walk, the jump is a step of the path, at address 0.
                            jumped = path.goes_on(0);
                            cursor = Cursor { next: there, last: cursor.next, taken: true };
                            if !jumped {
                                break 'fast_path Stop::Lost;
                            }
                            if caches {
                                self.targets.put(address, params);
                            }
                            (pc, pending_retire, busy) = (address, true, false);
                            continue 'fast_path;
                        }
                        _ => break 'fast_path Stop::Walk,
                    }
                }
            };
            self.settle_cursor(cursor, jumped.then_some(pc), code);
            if stop == Stop::Unknown
                && let Position::At { pc: address, .. } = self.position
            {
                cursor = cursor.enter(Pc { address, isa, space: self.space }, !jumped, code);
                if cursor.next != BlockId::NONE {
                    continue;
                }
            }
            self.pending.outcomes = outcomes;
            self.address = Some(base);
            if taken != feed.taken {
                (self.reported_as, self.implied) = (ReportedAs::default(), 0);
                self.announced = Announced::Nothing;
            }
            (feed.last, feed.taken) = (at, taken);
            if !busy {
                reserve.spend(at, spent.saturating_sub(free * len as u64));
                code.set_work_reserve(reserve);
                self.note_target(from, params);
                return false;
            }
            let granted = self.allow(at, len as u32, params, code);
            self.allowance = self.allowance.saturating_sub(spent);
            if stop == Stop::Lost || on && !path.goes_on(self.pc()) {
                self.lose(at, Inconsistency::AddressNotReached, params, sink);
                self.note_target(from, params);
                self.settle(at, granted, code);
                return false;
            }
            let notified = params.choices.notifications;
            let goal = Goal { address: goal, notified, ..Goal::BRANCHES };
            sink.prepare(&code.blocks(), true);
            self.walk_from(at, &goal, path, params, code, sink);
            self.note_target(from, params);
            self.settle(at, granted, code);
            return true;
        }
    }

    /// Updates the decoder's state with the last block. `reported` is the traced address to which
    /// it jumped.
    #[inline]
    fn settle_cursor<K: BlockCache>(&mut self, cursor: Cursor, reported: Option<u64>, code: &K) {
        let Some(block) = cursor.unsettled(code) else { return };
        self.last = Some(last_address(&block));
        self.position = match (reported, block.last.target) {
            (Some(pc), _) => Position::At { pc, pending_retire: true },
            (None, Some(pc)) if cursor.taken => Position::At { pc, pending_retire: false },
            (None, None) if cursor.taken => Position::Jump { role: block.last.role },
            _ => Position::At { pc: block.next(), pending_retire: false },
        };
    }
}

/// Whether a cached block is a single branch.
#[inline]
fn is_branch(block: BlockId, blocks: CachedBlocks<'_>) -> bool {
    blocks.get(block).is_some_and(|(cached, class)| {
        let range = cached.range(class, true);
        range.instructions == 1 && range.last.kind == Kind::Branch && range.last.conditional()
    })
}
