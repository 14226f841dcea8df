//! Branches in branch prediction mode. ("Branch prediction mode")

use tracewright_base::{CachedBlock, CachedBlocks, Sink};

use super::super::goal::{BLOCK, Path, cost};
use super::super::pending::{Outcomes, Predictor};
use super::Stop;
use crate::cursor::Cursor;
use crate::etrace::config::Params;

/// Branches of known or predicted outcome. Each of them updates the predictor.
pub(super) struct PredictedBranches {
    /// The position in the program.
    pub(super) cursor: Cursor,
    pub(super) outcomes: Outcomes,
    /// What is spent of the packet's allowance.
    pub(super) spent: u64,
    /// The path since the last branch.
    pub(super) path: Path,
    /// The last block ended with a direct jump, which is a step of the path.
    pub(super) on: bool,
}

impl PredictedBranches {
    #[expect(clippy::too_many_arguments, reason = "what a walk needs")]
    /// Follows all branches but the last `spare`, and the jumps between them. `None`: all of them.
    #[inline(never)]
    pub(super) fn run<S: Sink>(
        &mut self,
        at: u64,
        limit: u64,
        spare: u32,
        predictor: &mut Predictor,
        params: &Params,
        blocks: &CachedBlocks<'_>,
        sink: &mut S,
    ) -> Option<Stop> {
        // As in `Branches::run`: one check of bounds for each block.
        let blocks = CachedBlocks::new(blocks.all(), blocks.successors(), blocks.classes());
        let PredictedBranches { mut cursor, mut outcomes, mut spent, mut path, mut on } = *self;
        let stop = loop {
            if outcomes.count() <= u64::from(spare) {
                break None;
            }
            let Some((cached, successors, class)) = blocks.step(cursor.next) else {
                break Some(Stop::Unknown);
            };
            let range = cached.range(class, true);
            if core::mem::take(&mut on) && !path.goes_on(range.start) {
                break Some(Stop::Lost);
            }
            let price = cost(range.instructions, false) + BLOCK;
            if cached.is_any_of(CachedBlock::INDIRECT) || spent + price > limit {
                break Some(Stop::Walk);
            }
            let last = cursor.next;
            if cached.is_any_of(CachedBlock::UNCONDITIONAL) {
                (on, spent) = (true, spent + price);
                sink.cached_range(at, range);
                cursor = Cursor { next: successors[1], last, taken: true };
                continue;
            }
            // Any other block of this unit ends with a branch that has a condition.
            let branch = range.last_address();
            if cached.is_any_of(CachedBlock::LOOP) {
                let turns = outcomes.turns(branch, spare, predictor, params);
                let all = u64::from(turns) * price;
                if spent + all > limit {
                    break Some(Stop::Walk);
                }
                if turns > 0 {
                    outcomes.take_turns(turns, branch, predictor, params);
                    (spent, path) = (spent + all, Path::default());
                    sink.repeat(at, range, turns);
                    cursor = Cursor { next: last, last, taken: true };
                    continue;
                }
            }
            let Some(taken) = outcomes.take(branch, predictor, params) else { break None };
            (spent, path) = (spent + price, Path::default());
            sink.cached_range(at, cached.range(class, taken));
            cursor = Cursor { next: successors[usize::from(taken)], last, taken };
        };
        *self = PredictedBranches { cursor, outcomes, spent, path, on };
        stop
    }
}
