//! Edges between the steps of a batch.

use tracewright_base::{Batch, BlockStep, Element, Part, Role};
use tracewright_scan::prefetch;

use super::chain::Chains;
use super::step_table::{AHEAD, StepTables, is_large};

/// Where edges are counted.
pub(super) trait EdgeCounts {
    /// Counts `times` executions of an edge, and returns its place.
    fn add(&mut self, from: u64, to: u64, times: u64) -> u32;

    /// The count of a [`Follower`] that is made: the edge from `step` of `source` to it is at
    /// `place`.
    fn begin(&mut self, source: usize, step: usize, place: u32) -> u32;

    /// Counts an execution of the edge to a [`Follower`] whose count is `count`. Returns whether
    /// there was room for it.
    fn again(&mut self, count: &mut u32) -> bool;
}

/// The step that followed another one first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Follower {
    /// The index of the block's step without effect; [`u32::MAX`] if there is none.
    to: u32,
    /// What [`EdgeCounts`] counts the edge by.
    pub(super) count: u32,
}

impl Follower {
    pub(super) const NONE: Follower = Follower { to: u32::MAX, count: 0 };
}

/// That of each step.
pub(super) type Followers = StepTables<Follower>;

/// Counts the edges of a batch, and those to it.
pub(super) fn count<C: EdgeCounts>(
    batch: &Batch<'_>,
    chains: &mut Chains,
    followers: &mut Followers,
    counts: &mut C,
) {
    let source = batch.source;
    for part in batch.parts() {
        match part {
            Part::Steps(steps) => count_steps(batch, steps, chains, followers, counts),
            Part::Element(_, element) => {
                let edge = chains.of(source).and_then(|chain| chain.element(&element));
                if let Some((from, to)) = edge {
                    counts.add(from, to, 1);
                }
            }
            Part::Turns(turns) => {
                // After the first turn, each turn has the same edges.
                for times in [turns.times.min(1), turns.times.saturating_sub(1)] {
                    for range in turns.ranges.iter().filter(|_| times > 0) {
                        let edge = chains.of(source);
                        let edge = edge.and_then(|chain| chain.element(&Element::Range(*range)));
                        if let Some((from, to)) = edge {
                            counts.add(from, to, times);
                        }
                    }
                }
            }
        }
    }
}

fn count_steps<C: EdgeCounts>(
    batch: &Batch<'_>,
    steps: &[BlockStep],
    chains: &mut Chains,
    followers: &mut Followers,
    counts: &mut C,
) {
    let (Some(&first), Some(&last)) = (steps.first(), steps.last()) else { return };
    let Some(chain) = chains.of(batch.source) else { return };
    let element = |step| batch.range(step).map(Element::Range);
    if let Some((from, to)) = element(first).and_then(|range| chain.element(&range)) {
        counts.add(from, to, 1);
    }
    let followers = followers.of(batch.source, &batch.blocks, |_| Follower::NONE);
    let many = is_large(followers);
    for (n, pair) in steps.windows(2).enumerate() {
        let &[from, to] = pair else { continue };
        if many && let Some(ahead) = steps.get(n + AHEAD) {
            prefetch(followers, ahead.index());
        }
        let Some(follower) = followers.get_mut(from.index()) else { continue };
        let known = follower.to as usize == to.index() & !1;
        if !known || !counts.again(&mut follower.count) {
            edge(batch, pair, follower, counts);
        }
    }
    if steps.len() > 1
        && let Some(range) = element(last)
    {
        chain.element(&range);
    }
}

/// Counts the edge between two consecutive steps.
#[inline(never)]
fn edge<C: EdgeCounts>(
    batch: &Batch<'_>,
    pair: &[BlockStep],
    follower: &mut Follower,
    counts: &mut C,
) {
    let &[from, to] = pair else { return };
    let (Some(start), Some(end)) = (batch.range(from), batch.range(to)) else { return };
    // No edge leads from an exception return.
    if start.last.role == Role::ExceptionReturn {
        return;
    }
    let place = counts.add(start.last_address(), end.start, 1);
    if follower.to == u32::MAX {
        let count = counts.begin(batch.source, from.index(), place);
        *follower = Follower { to: to.index() as u32 & !1, count };
    }
}
