//! The turns of a counted loop that a listing does not have.

use std::fmt;

use tracewright_base::Range;

/// The kind of the line in every format.
pub const KIND: &str = "loop-turns";

/// Further turns of the loop that the lines before list.
#[derive(Clone, Copy, Debug)]
pub struct LoopTurns<'a> {
    /// The ranges of a turn.
    pub ranges: &'a [Range],
    /// The number of turns.
    pub turns: u64,
}

impl LoopTurns<'_> {
    /// The address of the first instruction of a turn.
    pub fn start(&self) -> u64 {
        self.ranges.first().map_or(0, |range| range.start)
    }

    /// The number of instructions of all turns.
    pub fn instructions(&self) -> u64 {
        let turn = self.ranges.iter().map(|range| u64::from(range.instructions)).sum::<u64>();
        self.turns.saturating_mul(turn)
    }
}

impl fmt::Display for LoopTurns<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (turns, ranges) = (self.turns, self.ranges.len());
        write!(
            f,
            "{turns} further turns from {:#x}, {ranges} {} each, {} instructions in all: not \
             listed, as the limit was reached",
            self.start(),
            if ranges == 1 { "range" } else { "ranges" },
            self.instructions()
        )
    }
}

#[cfg(test)]
mod tests {
    use tracewright_base::{Counted, Instruction, Last};

    use super::*;

    #[test]
    fn a_line() {
        let last = Last::new(&Instruction::default(), true);
        let range =
            Range { start: 0x80, bytes: 4, instructions: 2, cycles: Counted::UNKNOWN, last };
        assert_eq!(
            LoopTurns { ranges: &[range, range], turns: 5 }.to_string(),
            "5 further turns from 0x80, 2 ranges each, 20 instructions in all: not listed, as the \
             limit was reached"
        );
    }
}
