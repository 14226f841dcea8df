//! Counted loops: the predicted branches that one packet counts may be millions of turns of a loop
//! of several blocks. One turn of the loop is followed, and the others are emitted as a number of
//! equal turns. ("Branch prediction mode")

use tracewright_base::{BlockCache, Pc, Range, Sink};

use super::Decoder;
use super::goal::{BLOCK, Goal, Jumped, Walked, cost};
use super::pending::{Pending, Predictor};
use super::returns::Returns;
use super::state::Position;
use crate::etrace::config::Params;
use crate::riscv::{MAX_BLOCKS, Recorder};

/// Detects that the walk comes back to an earlier state, so that the program repeats itself as long
/// as branches go as predicted. As in Brent's algorithm the state is stored whenever the number of
/// blocks is a power of two.
#[derive(Default)]
pub(super) struct Cycle {
    blocks: u32,
    mark: Option<Mark>,
    /// The lowest depth of the return stack since the mark.
    low: u16,
}

/// All that the path depends on while branches go as predicted.
struct Mark {
    blocks: u32,
    pc: u64,
    predictor: Predictor,
    depth: u16,
    implied: u16,
    /// The number of predicted branches that were left.
    predicted: u64,
}

impl Cycle {
    /// The number of branches of a turn, if the state at the start of the block at `pc`, where
    /// `predicted` branches are left, is that of the mark.
    #[inline]
    pub(super) fn turn(
        &mut self,
        pc: u64,
        predicted: u64,
        predictor: &Predictor,
        returns: &Returns,
        implied: u16,
        params: &Params,
    ) -> Option<u64> {
        let depth = returns.depth();
        self.low = self.low.min(depth);
        if returns.is_full(params) {
            // A call drops the oldest return address.
            *self = Cycle::default();
            return None;
        }
        self.blocks = self.blocks.saturating_add(1);
        if let Some(mark) = &self.mark
            && mark.pc == pc
            && mark.depth == depth
            && self.low == depth
            && mark.implied == implied
            && mark.predicted > predicted
            && (self.blocks - mark.blocks) as usize <= MAX_BLOCKS
            && mark.predictor == *predictor
        {
            return Some(mark.predicted - predicted);
        }
        if self.blocks.is_power_of_two() {
            let (blocks, predictor) = (self.blocks, predictor.clone());
            self.mark = Some(Mark { blocks, pc, predictor, depth, implied, predicted });
            self.low = depth;
        }
        None
    }
}

impl Decoder {
    /// Emits the turns of a counted loop, if the walk is in one: at the start of the block at `pc`,
    /// before branches whose outcomes are predictions. Returns whether it emitted any.
    #[inline]
    #[expect(clippy::too_many_arguments, reason = "a walk, and its cycle")]
    pub(super) fn turns<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        pc: u64,
        goal: &Goal,
        cycle: &mut Cycle,
        params: &Params,
        code: &mut K,
        sink: &mut S,
    ) -> Option<Walked> {
        if self.pending.known() > 0 || self.pending.predicted() == 0 {
            return None;
        }
        let predicted = self.pending.predicted();
        let predictor = self.pending.predictor();
        let turn = cycle.turn(pc, predicted, predictor, &self.returns, self.implied, params)?;
        let times = Pending::turns(turn, predicted);
        // One turn is followed to record it.
        if times < 2 {
            return None;
        }
        Some(self.take_turns(at, pc, goal, turn, times, params, code, sink))
    }

    #[cold]
    #[expect(clippy::too_many_arguments, reason = "a walk, and the turns of it")]
    pub(super) fn take_turns<K: BlockCache, S: Sink>(
        &mut self,
        at: u64,
        pc: u64,
        goal: &Goal,
        turn: u64,
        times: u64,
        params: &Params,
        code: &mut K,
        sink: &mut S,
    ) -> Walked {
        let end = self.pending.predicted() - turn;
        let mut recorder = Recorder::<_, MAX_BLOCKS>::new(sink);
        // The blocks after the last branch of the turn lead to `pc` too.
        while self.pending.predicted() > end
            || self.position != (Position::At { pc, pending_retire: false })
        {
            match self.position {
                Position::At { pc, .. } => {
                    let here = Pc { address: pc, isa: params.isa(), space: self.space };
                    let Ok(&block) = code.block(here) else { return Walked::There };
                    if self.block(at, &block, params, code, &mut recorder).is_none() {
                        return Walked::Lost;
                    }
                }
                Position::Jump { role } => match self.jump(role, goal, params, code) {
                    Jumped::On => {}
                    _ => return Walked::There,
                },
                Position::Unknown => return Walked::Lost,
            }
            if self.pending.predicted() < end || recorder.is_full() {
                return Walked::There;
            }
        }
        if let Some(ranges) = recorder.turn().filter(|_| times > 1) {
            let listed = self.listed_turns(ranges, times - 1);
            recorder.repeat(at, listed, times - 1);
            self.pending.skip(turn * (times - 1));
        }
        Walked::There
    }

    /// How many of `times` turns of `ranges` a listing has.
    pub(super) fn listed_turns(&mut self, ranges: &[Range], times: u64) -> u64 {
        let cost = |range: &Range| cost(range.instructions, false) + BLOCK;
        let turn: u64 = ranges.iter().map(cost).sum();
        let listed = self.listed.checked_div(turn).unwrap_or(times).min(times);
        self.listed -= listed * turn;
        listed
    }
}
