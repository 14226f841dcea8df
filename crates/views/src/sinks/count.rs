//! Counts.

use tracewright_base::{Batch, Element, Part, Turns};
use tracewright_decode::{Listener, Merge, Wants};

/// Counts elements, ranges and instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Elements.
    pub elements: u64,
    /// Ranges of executed instructions.
    pub ranges: u64,
    /// Executed instructions of the ranges.
    pub instructions: u64,
}

impl Count {
    fn add(&mut self, ranges: u64, instructions: u64) {
        self.elements += ranges;
        self.ranges += ranges;
        self.instructions += instructions;
    }
}

impl Listener for Count {
    fn element(&mut self, _: usize, _: u64, element: Element) {
        match element {
            Element::Range(range) => self.add(1, range.instructions.into()),
            _ => self.elements += 1,
        }
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        let steps = batch.steps();
        self.add(steps.len() as u64, batch.instructions(steps));
        for part in batch.parts() {
            match part {
                Part::Steps(_) => {}
                Part::Element(at, element) => self.element(batch.source, at, element),
                Part::Turns(Turns { ranges, times, .. }) => {
                    let turn: u64 = ranges.iter().map(|range| u64::from(range.instructions)).sum();
                    self.add(times * ranges.len() as u64, times * turn);
                }
            }
        }
    }

    fn wants(&self) -> Wants {
        Wants::ANY_ORDER
    }
}

impl Merge for Count {
    fn merge(&mut self, later: Self) {
        self.elements += later.elements;
        self.ranges += later.ranges;
        self.instructions += later.instructions;
    }
}
