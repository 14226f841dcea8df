//! Executions of chosen blocks in their order.

use std::sync::Arc;

use tracewright_base::{Batch, Element, Kind, Range};
use tracewright_capture::gnatcov::{Block, DecisionMap};
use tracewright_decode::listener::{each_part, each_turn};
use tracewright_decode::{Fork, Listener, Size};

/// Lists each execution of the blocks of a decision map, by source.
#[derive(Debug)]
pub struct BlockHistory {
    map: Arc<DecisionMap>,
    /// What is subtracted from addresses in memory.
    bias: u64,
    /// The last block of each source, whose outcome may be corrected.
    last: Vec<Option<Block>>,
    found: Vec<(usize, Block)>,
}

impl BlockHistory {
    /// Of this number of sources, whose program is loaded with `bias`.
    pub fn new(map: Arc<DecisionMap>, bias: u64, sources: usize) -> BlockHistory {
        BlockHistory { map, bias, last: vec![None; sources], found: Vec::new() }
    }

    fn settle(&mut self, source: usize) {
        let last = self.last.get_mut(source).and_then(Option::take);
        self.found.extend(last.map(|block| (source, block)));
    }

    fn range(&mut self, source: usize, range: &Range) {
        let address = range.start.wrapping_sub(self.bias);
        let end = address.wrapping_add(u64::from(range.bytes));
        // A block of the map is smaller.
        let Ok(size) = u16::try_from(range.bytes) else { return };
        if !self.map.has(end) {
            return;
        }
        let branch = matches!(range.last.kind, Kind::Branch | Kind::Indirect);
        let taken = branch && range.last.taken();
        let not_taken = branch && !range.last.taken();
        if let Some(last) = self.last.get_mut(source) {
            *last = Some(Block { address, size, taken, not_taken, fault: false });
        }
    }
}

impl Listener for BlockHistory {
    fn element(&mut self, source: usize, _: u64, element: Element) {
        if let Element::Corrected { taken } = element
            && let Some(Some(block)) = self.last.get_mut(source)
        {
            (block.taken, block.not_taken) = (taken, !taken);
        }
        self.settle(source);
        if let Element::Range(range) = &element {
            self.range(source, range);
        }
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        each_part(self, batch, |history, turns| each_turn(history, batch.source, turns));
    }
}

impl Fork for BlockHistory {
    type State = Vec<Option<Block>>;
    /// Blocks with their sources.
    type Output = Vec<(usize, Block)>;

    fn fork(&self) -> Self {
        BlockHistory::new(Arc::clone(&self.map), self.bias, self.last.len())
    }

    fn state(&self) -> Self::State {
        self.last.clone()
    }

    fn resume(&mut self, last: Self::State) {
        self.last = last;
        self.found.clear();
    }

    fn take(&mut self) -> Self::Output {
        std::mem::take(&mut self.found)
    }

    fn size(&self) -> Size {
        Size::of(self.found.len() * size_of::<(usize, Block)>())
    }
}
