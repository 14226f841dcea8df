//! Edges between the steps of a batch.

use tracewright_base::{Batch, BlockStep, Element, Links, Part, Role};
use tracewright_scan::prefetch;

use super::chain::Chains;
use super::step_table::{AHEAD, StepTables, is_large};

/// Where edges are counted.
pub(super) trait EdgeCounts {
    /// Counts `times` executions of an edge, and returns its place.
    fn add(&mut self, from: u64, to: u64, times: u64) -> u32;

    /// Counts an execution of the edge at `place`.
    fn add_at(&mut self, place: u32);

    /// Prefetches the edge at `place`.
    fn prefetch(&self, place: u32);
}

/// The place of each step's edge to its successor; [`u32::MAX`] where it is not known.
pub(super) type Places = StepTables<u32>;

/// Counts the edges of a batch, and those to it.
pub(super) fn count<C: EdgeCounts>(
    batch: &Batch<'_>,
    chains: &mut Chains,
    places: &mut Places,
    counts: &mut C,
) {
    let source = batch.source;
    for part in batch.parts() {
        match part {
            Part::Steps(steps) => count_steps(batch, steps, chains, places, counts),
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
    places: &mut Places,
    counts: &mut C,
) {
    let (Some(&first), Some(&last)) = (steps.first(), steps.last()) else { return };
    let Some(chain) = chains.of(batch.source) else { return };
    let element = |step| batch.range(step).map(Element::Range);
    if let Some((from, to)) = element(first).and_then(|range| chain.element(&range)) {
        counts.add(from, to, 1);
    }
    let places = places.of(batch.source, &batch.blocks, |_| u32::MAX);
    let links = batch.blocks.links();
    let many = is_large(places);
    for (n, pair) in steps.windows(2).enumerate() {
        let &[from, to] = pair else { continue };
        if many {
            if let Some(ahead) = steps.get(n + AHEAD) {
                prefetch(places, ahead.index());
            }
            let ahead = steps.get(n + AHEAD / 2).and_then(|step| places.get(step.index()));
            if let Some(place) = ahead {
                counts.prefetch(*place);
            }
        }
        let link = links.get(from.index()).map_or(Links::NONE, |link| link & Links::NONE);
        match places.get_mut(from.index()) {
            Some(place) if link as usize == to.index() & !1 => {
                if *place == u32::MAX {
                    *place = edge(batch, from, to, counts);
                } else {
                    counts.add_at(*place);
                }
            }
            _ => {
                edge(batch, from, to, counts);
            }
        }
    }
    if steps.len() > 1
        && let Some(range) = element(last)
    {
        chain.element(&range);
    }
}

/// Counts the edge between two consecutive steps, and returns its place.
#[inline(never)]
fn edge<C: EdgeCounts>(batch: &Batch<'_>, from: BlockStep, to: BlockStep, counts: &mut C) -> u32 {
    let (Some(from), Some(to)) = (batch.range(from), batch.range(to)) else { return u32::MAX };
    // No edge leads from an exception return.
    match from.last.role == Role::ExceptionReturn {
        true => u32::MAX,
        false => counts.add(from.last_address(), to.start, 1),
    }
}
