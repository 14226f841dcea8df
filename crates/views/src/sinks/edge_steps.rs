//! Edges between the steps of a batch.

use tracewright_base::{Batch, BlockStep, Element, Part, Role};
use tracewright_scan::prefetch;

use super::chain::Chains;
use super::step_table::{AHEAD, StepTables, is_large};

/// Where edges are counted.
pub(super) trait EdgeCounts {
    /// Counts `times` executions of an edge, and returns its place.
    fn add(&mut self, from: u64, to: u64, times: u64) -> u32;

    /// Prefetches what [`prefetch`](Self::prefetch) reads.
    fn approach(&self, from: u64, to: u64) {
        let _ = (from, to);
    }

    /// Prefetches what [`add`](Self::add) changes.
    fn prefetch(&self, from: u64, to: u64) {
        let _ = (from, to);
    }

    /// The count of a [`Follower`] that is made: the edge from `step` of `source` to it is at
    /// `place`.
    fn begin(&mut self, source: usize, step: usize, place: u32) -> u32;

    /// Counts an execution of the edge to a [`Follower`] whose count is `count`. Returns whether
    /// the count has 2^32 executions less than there were.
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

/// An execution of an edge that no [`Follower`] counts.
#[derive(Clone, Copy, Debug)]
struct Other {
    /// The addresses of the edge.
    from: u64,
    to: u64,
    /// The indexes of its steps.
    step: u32,
    next: u32,
}

/// What is known of edges by the steps from which they lead.
#[derive(Clone, Debug, Default)]
pub(super) struct EdgeSteps {
    /// That of each step.
    pub(super) followers: StepTables<Follower>,
    /// Those of some steps, and the first of each two steps, in memory that is used again.
    others: Vec<Other>,
    firsts: Vec<u32>,
}

/// It determines no result.
impl PartialEq for EdgeSteps {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for EdgeSteps {}

/// Executions ahead whose edge is prefetched.
const EDGES_AHEAD: usize = 8;

/// Counts the edges of a batch, and those to it.
pub(super) fn count<C: EdgeCounts>(
    batch: &Batch<'_>,
    chains: &mut Chains,
    known: &mut EdgeSteps,
    counts: &mut C,
) {
    let source = batch.source;
    for part in batch.parts() {
        match part {
            Part::Steps(steps) => count_steps(batch, steps, chains, known, counts),
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
    known: &mut EdgeSteps,
    counts: &mut C,
) {
    let (Some(&first), Some(&last)) = (steps.first(), steps.last()) else { return };
    let Some(chain) = chains.of(batch.source) else { return };
    let element = |step| batch.range(step).map(Element::Range);
    if let Some((from, to)) = element(first).and_then(|range| chain.element(&range)) {
        counts.add(from, to, 1);
    }
    let EdgeSteps { followers, others, firsts } = known;
    let followers = followers.of(batch.source, &batch.blocks, |_| Follower::NONE);
    let many = is_large(followers);
    firsts.clear();
    for (n, pair) in steps.windows(2).enumerate() {
        let &[from, to] = pair else { continue };
        if many && let Some(ahead) = steps.get(n + AHEAD) {
            prefetch(followers, ahead.index());
        }
        let Some(follower) = followers.get_mut(from.index()) else { continue };
        if follower.to as usize != to.index() & !1 {
            firsts.push(n as u32);
        } else if counts.again(&mut follower.count) {
            overflow(batch, pair, counts);
        }
    }
    others.clear();
    for &n in firsts.iter() {
        let pair = steps.get(n as usize..).unwrap_or_default();
        if let Some(other) = other(batch, pair) {
            counts.approach(other.from, other.to);
            others.push(other);
        }
    }
    for (n, other) in others.iter().enumerate() {
        if let Some(ahead) = others.get(n + EDGES_AHEAD) {
            counts.prefetch(ahead.from, ahead.to);
        }
        let place = counts.add(other.from, other.to, 1);
        if let Some(follower) = followers.get_mut(other.step as usize)
            && follower.to == u32::MAX
        {
            let count = counts.begin(batch.source, other.step as usize, place);
            *follower = Follower { to: other.next & !1, count };
        }
    }
    if steps.len() > 1
        && let Some(range) = element(last)
    {
        chain.element(&range);
    }
}

/// The edge between the first two steps; none leads from an exception return.
#[inline]
fn other(batch: &Batch<'_>, steps: &[BlockStep]) -> Option<Other> {
    let &[from, to, ..] = steps else { return None };
    let (start, end) = (batch.range(from)?, batch.range(to)?);
    let (step, next) = (from.index() as u32, to.index() as u32);
    let edge = Other { from: start.last_address(), to: end.start, step, next };
    (start.last.role != Role::ExceptionReturn).then_some(edge)
}

/// Counts the executions of an edge that its follower does not have.
#[cold]
#[inline(never)]
fn overflow<C: EdgeCounts>(batch: &Batch<'_>, steps: &[BlockStep], counts: &mut C) {
    if let Some(Other { from, to, .. }) = other(batch, steps) {
        counts.add(from, to, 1 << 32);
    }
}
