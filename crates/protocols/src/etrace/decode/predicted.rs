//! Predicted branches, from cached block to cached block: a packet counts up to 2^32 of them.
//! ("Branch prediction mode")

use super::Decoder;
use super::goal::{BLOCK, Goal, Path, Walked, cost};
use super::pending::{Entries, Pending};
use super::state::Position;
use super::turns::Cycle;
use crate::cursor::Cursor;
use crate::etrace::config::Params;
use crate::riscv::last_address;
use tracewright_base::{BlockCache, BlockId, CachedBlock, Inconsistency, Kind, Pc, Sink};

/// With as many predicted branches or fewer, the walk goes block by block: it may end at the last
/// of them, and a batch of few steps takes more time than elements.
const FEW: u64 = 64;

/// Why the blocks end.
enum Stop {
    /// The walk follows the next block, or the last branches.
    Walk,
    /// The next block is not cached.
    Unknown,
    /// The path has a loop without a branch.
    Lost,
    /// The next blocks are turns of a loop: the number of its branches, and of the turns.
    Turns(u64, u64),
}

impl Decoder {
    /// Walks while more than [`FEW`] branches are predicted, as [`walk_from`](Self::walk_from)
    /// does. `Some`: the walk ends here.
    #[expect(clippy::too_many_arguments, reason = "a walk, its path and its cycle")]
    pub(super) fn walk_predicted<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        goal: &Goal,
        path: &mut Path,
        cycle: &mut Cycle,
        params: &Params,
        code: &mut K,
        sink: &mut S,
    ) -> Option<Walked> {
        let Position::At { pc, pending_retire: false } = self.position else { return None };
        if self.pending.known() > 0 || self.pending.predicted() <= FEW {
            return None;
        }
        let isa = params.isa();
        let code_space = code.code_space(isa, self.space);
        let mut cursor = Cursor::find(pc, isa, code_space, code);
        if cursor.next == BlockId::NONE {
            cursor = cursor.enter(Pc { address: pc, isa, space: self.space }, false, code);
        }
        let entries = Entries::of_predictor(params);
        // The last block ended with a direct jump, which is the next step of the path.
        let mut on = false;
        let mut stepped = false;
        let stop = loop {
            let blocks = code.blocks();
            let (mut allowance, mut predicted) = (self.allowance, self.pending.predicted());
            let stop = loop {
                if predicted <= FEW {
                    break Stop::Walk;
                }
                let Some((cached, successors, class)) = blocks.step(cursor.next) else {
                    break Stop::Unknown;
                };
                let start = cached.start(class);
                if core::mem::take(&mut on) && !path.goes_on(start) {
                    break Stop::Lost;
                }
                if class.last[1].kind != Kind::Branch {
                    break Stop::Walk;
                }
                let range = cached.range(class, true);
                let branch = range.last_address();
                let conditional = !cached.is_any_of(CachedBlock::UNCONDITIONAL);
                let outcome = !conditional || self.pending.predictor.predict(branch, entries);
                // The walk takes all turns of a loop of one block.
                if outcome && cached.is_any_of(CachedBlock::LOOP) {
                    break Stop::Walk;
                }
                let price = cost(range.instructions, false) + BLOCK;
                let Some(left) = allowance.checked_sub(price) else { break Stop::Walk };
                let predictor = self.pending.predictor();
                let turn =
                    cycle.turn(start, predicted, predictor, &self.returns, self.implied, params);
                if let Some(turn) = turn
                    && let times @ 2.. = Pending::turns(turn, predicted)
                {
                    break Stop::Turns(turn, times);
                }
                allowance = left;
                if conditional {
                    predicted -= 1;
                    self.implied = 0;
                    self.pending.predictor.update(branch, outcome, entries);
                    *path = Path::default();
                } else if cached.is_any_of(CachedBlock::CALL) && params.options.implicit_return {
                    self.returns.push(range.end() & isa.address_mask(), params);
                }
                on = !conditional;
                sink.step(at, cursor.next, outcome, &blocks);
                let next = successors[usize::from(outcome)];
                cursor = Cursor { next, last: cursor.next, taken: outcome };
                stepped = true;
            };
            self.allowance = allowance;
            self.pending.outcomes.predicted = predicted;
            if let Some(block) = cursor.unsettled(code) {
                self.last = Some(last_address(&block));
                self.position = match block.last.target {
                    Some(pc) if cursor.taken => Position::At { pc, pending_retire: false },
                    None if cursor.taken => Position::Jump { role: block.last.role },
                    _ => Position::At { pc: block.next(), pending_retire: false },
                };
            }
            if !matches!(stop, Stop::Unknown) {
                break stop;
            }
            let Position::At { pc: address, .. } = self.position else { break stop };
            cursor = cursor.enter(Pc { address, isa, space: self.space }, true, code);
            if cursor.next == BlockId::NONE {
                break stop;
            }
        };
        if stepped {
            sink.prepare(&code.blocks(), true);
        }
        match stop {
            Stop::Turns(turn, times) => {
                let walked = self.take_turns(at, self.pc(), goal, turn, times, params, code, sink);
                (*path, *cycle) = (Path::default(), Cycle::default());
                (walked == Walked::Lost).then_some(walked)
            }
            Stop::Walk | Stop::Unknown if !on || path.goes_on(self.pc()) => None,
            _ => Some(self.lose(at, Inconsistency::AddressNotReached, params, sink)),
        }
    }
}
