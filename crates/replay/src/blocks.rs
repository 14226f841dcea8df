//! Straight code that was executed before the position.

use tracewright::index::FindError;

use crate::machine::Machine;

/// Instructions without a branch between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The address of the first instruction.
    pub first: u64,
    /// The address of the last one.
    pub last: u64,
}

impl Machine<'_> {
    /// The code that `source` executed up to its place, the latest block first, at most `most`
    /// blocks of `instructions` instructions. It ends where trace was lost. The last instruction of
    /// the first block is the one of the place, which is not executed there.
    ///
    /// # Errors
    /// Where the buffer or the index cannot be read.
    pub fn blocks(
        &mut self,
        source: usize,
        most: usize,
        mut instructions: u64,
    ) -> Result<Vec<Block>, FindError> {
        let mut blocks: Vec<Block> = Vec::new();
        let Some(here) = self.at(source)? else { return Ok(blocks) };
        let mut number = here.position.element;
        let Some(range) = self.entry(number)?.and_then(|entry| entry.range()) else {
            return Ok(blocks);
        };
        blocks.push(Block { first: range.start, last: here.address });
        let mut lost = None;
        while let Some(entry) = self.previous_range(number, Some(source), &mut lost)? {
            let Some(range) = entry.range().filter(|_| lost.is_none()) else { break };
            let Some(left) = instructions.checked_sub(range.instructions.into()) else { break };
            (instructions, number) = (left, entry.number);
            let follows = |block: &&mut Block| range.end() == block.first && !range.taken();
            // Some trace units state each instruction by itself.
            if let Some(block) = blocks.last_mut().filter(follows) {
                block.first = range.start;
                continue;
            }
            if blocks.len() >= most {
                break;
            }
            blocks.push(Block { first: range.start, last: range.last_address() });
        }
        Ok(blocks)
    }
}
