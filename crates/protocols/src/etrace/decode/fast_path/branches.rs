//! Branches whose outcomes are known or predicted.

use tracewright_base::{BlockId, CachedBlock, CachedBlocks, Sink};

use super::super::goal::{BLOCK, Path, cost};
use super::super::pending::{Entries, Outcomes, Predictor};
use super::Stop;
use crate::cursor::Cursor;
use crate::etrace::config::Params;

/// The most branches that are followed at once: a word has one bit for each, and one for their end.
const MAX_BRANCHES: u32 = u64::BITS - 1;

/// What determines the outcomes of branches.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// A map.
    Map,
    /// A map, in branch prediction mode: the predictor is updated, and the path is bounded.
    MapAndPredictor,
    /// The predictor.
    Predictor,
}

/// The sources as parameters of [`Branches::run`].
const MAP: u8 = Source::Map as u8;
const MAP_AND_PREDICTOR: u8 = Source::MapAndPredictor as u8;
const PREDICTOR: u8 = Source::Predictor as u8;

impl Outcomes {
    /// The first outcomes, without the last `spare` ones: what determines them, and how many.
    #[inline]
    fn leading(&self, spare: u32, predicts: bool) -> Option<(Source, u32)> {
        let known = if self.predicted > 0 { self.known } else { self.known.saturating_sub(spare) };
        let predicted = self.predicted.saturating_sub(spare.into()).min(MAX_BRANCHES.into()) as u32;
        match (known, predicted) {
            (0, 0) => None,
            (0, _) => Some((Source::Predictor, predicted)),
            _ if predicts => Some((Source::MapAndPredictor, known.min(MAX_BRANCHES))),
            _ => Some((Source::Map, known.min(MAX_BRANCHES))),
        }
    }

    /// [`Branches::map`] for the first `count` outcomes.
    #[inline]
    const fn leading_map(&self, source: Source, count: u32) -> u64 {
        match source {
            Source::Predictor => count as u64 + 1,
            _ => self.map & ((1 << count) - 1) | 1 << count,
        }
    }

    /// Takes the first `count` outcomes.
    #[inline]
    const fn pass(&mut self, source: Source, count: u32) {
        match source {
            Source::Predictor => self.predicted -= count as u64,
            _ => (self.map, self.known) = (self.map >> count, self.known - count),
        }
    }
}

/// Follows branches, and the jumps between them.
#[derive(Clone, Copy)]
pub(in super::super) struct Branches {
    /// The position in the program.
    pub(in super::super) cursor: Cursor,
    /// What is spent of the packet's allowance.
    pub(in super::super) spent: u64,
    /// In branch prediction mode: the path since the last branch; the last block ended with a
    /// direct jump, which is the next step of the path.
    pub(in super::super) path: Path,
    pub(in super::super) on: bool,
}

/// Branches that are followed at once.
struct Leading<'a> {
    /// Their outcomes from bit 0 on, 0 for one that was taken, with a 1 above the last. Of
    /// predicted branches their number plus 1.
    map: u64,
    /// The last of the predicted branches goes otherwise.
    last_fails: bool,
    predictor: &'a mut Predictor,
    entries: Entries,
}

impl Branches {
    /// Follows all but the last `spare` of `outcomes`, and takes them. `None`: all of them.
    #[inline]
    #[expect(clippy::too_many_arguments, reason = "a walk, and its limits")]
    pub(in super::super) fn follow<S: Sink>(
        &mut self,
        outcomes: &mut Outcomes,
        spare: u32,
        predictor: &mut Predictor,
        at: u64,
        limit: u64,
        params: &Params,
        blocks: &CachedBlocks<'_>,
        sink: &mut S,
    ) -> Option<Stop> {
        let entries = Entries::of_predictor(params);
        while let Some((source, count)) = outcomes.leading(spare, params.options.branch_prediction)
        {
            if self.spent > limit {
                return Some(Stop::Walk);
            }
            let last_fails = outcomes.last_fails && outcomes.predicted == u64::from(count);
            let map = outcomes.leading_map(source, count);
            let mut leading = Leading { map, last_fails, predictor, entries };
            let stop = match source {
                Source::Map => self.run::<S, MAP>(&mut leading, at, limit, blocks, sink),
                Source::MapAndPredictor => {
                    self.run::<S, MAP_AND_PREDICTOR>(&mut leading, at, limit, blocks, sink)
                }
                Source::Predictor => {
                    self.run::<S, PREDICTOR>(&mut leading, at, limit, blocks, sink)
                }
            };
            let left = match source {
                Source::Predictor => leading.map as u32 - 1,
                _ => leading.map.ilog2(),
            };
            outcomes.pass(source, count - left);
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
        leading: &mut Leading<'_>,
        at: u64,
        limit: u64,
        blocks: &CachedBlocks<'_>,
        sink: &mut S,
    ) -> Option<Stop> {
        // Made again here, so that the compiler knows that both slices have the same length, and
        // checks bounds once for each block.
        let blocks = CachedBlocks::new(blocks.all(), blocks.successors(), blocks.classes());
        let Cursor { mut next, mut last, taken } = self.cursor;
        let Leading { mut map, last_fails, entries, .. } = *leading;
        let mut spent = self.spent;
        let price = |cached: &CachedBlock, jump| match SOURCE {
            MAP => cost(cached.instructions(), jump),
            _ => cost(cached.instructions(), false) + BLOCK,
        };
        // Bit 0: the branch of `last` was not taken.
        let mut before = u64::from(!taken);
        if SOURCE != MAP && self.on {
            let stop = self.step(next, &blocks);
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
                if SOURCE != MAP && is_branch(last, &blocks) {
                    self.path = Path::default();
                }
                spent = after;
                sink.cached_range(at, cached.range(class, true));
                (last, next, before) = (next, successors[1], 0);
                if SOURCE != MAP {
                    let stop = self.step(next, &blocks);
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
            let branched = match SOURCE {
                PREDICTOR => leading.predictor.predict(branch, entries) != (last_fails && map == 2),
                _ => map & 1 == 0,
            };
            if branched && cached.is_any_of(CachedBlock::LOOP) {
                // A loop of one block: one iteration for each consecutive taken branch.
                let times = match SOURCE {
                    PREDICTOR if map == 2 => 1,
                    PREDICTOR => (map - 1) as u32 - u32::from(last_fails),
                    _ => map.trailing_zeros(),
                };
                if SOURCE != MAP {
                    // After two updates with the same outcome an entry does not change.
                    leading.predictor.update(branch, true, entries);
                    if times > 1 {
                        leading.predictor.update(branch, true, entries);
                    }
                }
                spent += u64::from(times) * price(cached, false);
                sink.repeat(at, range, times);
                (last, before) = (next, 0);
                map = if SOURCE == PREDICTOR { map - u64::from(times) } else { map >> times };
                continue;
            }
            if SOURCE != MAP {
                leading.predictor.update(branch, branched, entries);
            }
            spent += price(cached, false);
            sink.cached_range(at, cached.range(class, branched));
            (last, next) = (next, successors[usize::from(branched)]);
            before = if SOURCE == PREDICTOR { u64::from(!branched) } else { map };
            map = if SOURCE == PREDICTOR { map - 1 } else { map >> 1 };
        };
        if SOURCE != MAP && !self.on && is_branch(last, &blocks) {
            self.path = Path::default();
        }
        self.cursor = Cursor { next, last, taken: before & 1 == 0 };
        (leading.map, self.spent) = (map, spent);
        stop
    }

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
