//! Branches whose outcomes are known or predicted.

use tracewright_base::{BlockId, CachedBlock, CachedBlocks, Sink, Turns};

use super::super::goal::{BLOCK, Path, cost};
use super::super::pending::{Entries, Outcomes, Predictor};
use super::Stop;
use crate::cursor::Cursor;

/// The most branches that are followed at once: a word has one bit for each, and one for their end.
pub(super) const MAX_AT_ONCE: u32 = u64::BITS - 1;

/// What determines the outcomes of branches: the parameter of [`Branches::run`].
///
/// A map.
const MAP: u8 = 0;
/// A map, in branch prediction mode: the predictor is updated, and the path is bounded.
const MAP_AND_PREDICTOR: u8 = 1;
/// The predictor.
const PREDICTOR: u8 = 2;

/// Branches that are followed at once, and the jumps between them.
pub(super) struct Branches {
    /// The position in the program.
    pub(super) cursor: Cursor,
    /// Their outcomes from bit 0 on, 0 for one that was taken, with a 1 above the last. Of
    /// predicted branches their number plus 1.
    pub(super) map: u64,
    /// What is spent of the packet's allowance.
    pub(super) spent: u64,
}

/// What branch prediction mode adds.
pub(super) struct Prediction<'a> {
    pub(super) predictor: &'a mut Predictor,
    pub(super) entries: Entries,
    /// The last of the predicted branches goes otherwise.
    pub(super) last_fails: bool,
    /// The path since the last branch.
    pub(super) path: Path,
    /// The last block ended with a direct jump, which is the next step of the path.
    pub(super) on: bool,
}

impl Branches {
    /// Follows `count` branches of known outcome, at most [`MAX_AT_ONCE`], and takes the outcomes.
    /// `None`: all of them.
    #[inline(always)]
    pub(super) fn follow<S: Sink>(
        &mut self,
        outcomes: &mut Outcomes,
        count: u32,
        at: u64,
        limit: u64,
        blocks: &CachedBlocks<'_>,
        sink: &mut S,
    ) -> Option<Stop> {
        self.map = outcomes.map & ((1 << count) - 1) | 1 << count;
        let stop = self.run::<S, MAP>(None, at, limit, blocks, sink);
        outcomes.pass(count - self.map.ilog2());
        stop
    }

    /// In branch prediction mode: follows all but the last `spare` of `outcomes`, and takes them.
    /// `None`: all of them.
    #[inline(never)]
    #[expect(clippy::too_many_arguments, reason = "a walk, and its limits")]
    pub(super) fn follow_predicted<S: Sink>(
        &mut self,
        outcomes: &mut Outcomes,
        spare: u32,
        prediction: &mut Prediction<'_>,
        at: u64,
        limit: u64,
        blocks: &CachedBlocks<'_>,
        sink: &mut S,
    ) -> Option<Stop> {
        while outcomes.count() > u64::from(spare) {
            if self.spent > limit {
                return Some(Stop::Walk);
            }
            let stop = if outcomes.known > 0 {
                let known = outcomes.known - if outcomes.predicted > 0 { 0 } else { spare };
                let count = known.min(MAX_AT_ONCE);
                self.map = outcomes.map & ((1 << count) - 1) | 1 << count;
                let some = Some(&mut *prediction);
                let stop = self.run::<S, MAP_AND_PREDICTOR>(some, at, limit, blocks, sink);
                outcomes.pass(count - self.map.ilog2());
                stop
            } else {
                let count = (outcomes.predicted - u64::from(spare)).min(MAX_AT_ONCE.into());
                self.map = count + 1;
                prediction.last_fails = outcomes.last_fails && count == outcomes.predicted;
                let some = Some(&mut *prediction);
                let stop = self.run::<S, PREDICTOR>(some, at, limit, blocks, sink);
                outcomes.predicted -= count + 1 - self.map;
                stop
            };
            if stop.is_some() {
                return stop;
            }
        }
        None
    }

    // All variables of the loop are in registers: only the sink is called for a block.
    #[inline(never)]
    fn run<S: Sink, const SOURCE: u8>(
        &mut self,
        mut prediction: Option<&mut Prediction<'_>>,
        at: u64,
        limit: u64,
        blocks: &CachedBlocks<'_>,
        sink: &mut S,
    ) -> Option<Stop> {
        // Made again here, so that the compiler knows that both slices have the same length, and
        // checks bounds once for each block.
        let blocks = CachedBlocks::new(blocks.all(), blocks.successors(), blocks.classes());
        let Cursor { mut next, mut last, taken } = self.cursor;
        let (mut map, mut spent) = (self.map, self.spent);
        let price = |cached: &CachedBlock, jump| match SOURCE {
            MAP => cost(cached.instructions(), jump),
            _ => cost(cached.instructions(), false) + BLOCK,
        };
        // Bit 0: the branch of `last` was not taken.
        let mut before = u64::from(!taken);
        if SOURCE != MAP
            && let Some(prediction) = &mut prediction
            && prediction.on
        {
            let stop = prediction.step(next, &blocks);
            if stop.is_some() {
                return stop;
            }
        }
        let stop = loop {
            if map == 1 {
                break None;
            }
            let Some((cached, successors, class)) = blocks.step(next) else {
                break Some(Stop::Unknown);
            };
            // Two cases, because the processor predicts which it is. Otherwise the next block
            // would depend on loads of this one.
            if cached.is_any_of(CachedBlock::INDIRECT | CachedBlock::UNCONDITIONAL) {
                let after = spent + price(cached, true);
                if cached.is_any_of(CachedBlock::INDIRECT) || after > limit {
                    break Some(Stop::Walk);
                }
                if SOURCE != MAP
                    && let Some(prediction) = &mut prediction
                    && is_branch(last, &blocks)
                {
                    prediction.path = Path::default();
                }
                spent = after;
                sink.step(at, next, true, &blocks);
                (last, next, before) = (next, successors[1], 0);
                if SOURCE != MAP
                    && let Some(prediction) = &mut prediction
                {
                    let stop = prediction.step(next, &blocks);
                    if stop.is_some() {
                        break stop;
                    }
                }
                continue;
            }
            // Any other block of this unit ends with a branch that has a condition.
            let range = cached.range(class, true);
            // The predictor's entry depends on low bits of the address only, which need no mask.
            let end = range.start.wrapping_add(range.bytes.into());
            let branch = end.wrapping_sub(range.last.size().into());
            let branched = match &prediction {
                Some(prediction) if SOURCE == PREDICTOR => {
                    let predicted = prediction.predictor.predict(branch, prediction.entries);
                    predicted != (prediction.last_fails && map == 2)
                }
                _ => map & 1 == 0,
            };
            if branched && cached.is_any_of(CachedBlock::LOOP) {
                // A loop of one block: one iteration for each consecutive taken branch.
                let times = match SOURCE {
                    PREDICTOR if map == 2 => 1,
                    PREDICTOR => {
                        let fails = prediction.as_ref().is_some_and(|p| p.last_fails);
                        (map - 1) as u32 - u32::from(fails)
                    }
                    _ => map.trailing_zeros(),
                };
                if SOURCE != MAP
                    && let Some(Prediction { predictor, entries, .. }) = &mut prediction
                {
                    // After two updates with the same outcome an entry does not change.
                    for _ in 0..times.min(2) {
                        predictor.update(branch, true, *entries);
                    }
                }
                spent += u64::from(times) * price(cached, false);
                let (ranges, times) = (&[range][..], times.into());
                sink.turns(Turns { at, ranges, times, listed: true });
                (last, before) = (next, 0);
                map = if SOURCE == PREDICTOR { map - times } else { map >> times };
                continue;
            }
            if SOURCE != MAP
                && let Some(Prediction { predictor, entries, .. }) = &mut prediction
            {
                predictor.update(branch, branched, *entries);
            }
            spent += price(cached, false);
            sink.step(at, next, branched, &blocks);
            (last, next) = (next, successors[usize::from(branched)]);
            before = if SOURCE == PREDICTOR { u64::from(!branched) } else { map };
            map = if SOURCE == PREDICTOR { map - 1 } else { map >> 1 };
        };
        if SOURCE != MAP
            && let Some(prediction) = prediction
            && !prediction.on
            && is_branch(last, &blocks)
        {
            prediction.path = Path::default();
        }
        self.cursor = Cursor { next, last, taken: before & 1 == 0 };
        (self.map, self.spent) = (map, spent);
        stop
    }
}

impl Prediction<'_> {
    /// The step of the path to the block `next`, after a direct jump.
    #[inline(never)]
    fn step(&mut self, next: BlockId, blocks: &CachedBlocks<'_>) -> Option<Stop> {
        let block = blocks.get(next);
        self.on = block.is_none();
        match block {
            None => Some(Stop::Unknown),
            Some((cached, class)) => {
                (!self.path.goes_on(cached.start(class))).then_some(Stop::Lost)
            }
        }
    }
}

/// Whether the last block, if it is known, ends with a branch that has a condition.
#[inline]
fn is_branch(last: BlockId, blocks: &CachedBlocks<'_>) -> bool {
    let jump = CachedBlock::INDIRECT | CachedBlock::UNCONDITIONAL;
    blocks.get(last).is_some_and(|(cached, _)| !cached.is_any_of(jump))
}
