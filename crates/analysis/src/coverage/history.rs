//! Executions of chosen blocks in their order.

use std::sync::Arc;

use tracewright_base::{Batch, BlockStep, Element, Kind, Part, Range};
use tracewright_capture::gnatcov::{Block, DecisionMap};
use tracewright_decode::listener::each_turn;
use tracewright_decode::{Fork, Listener, Size};
use tracewright_image::MemoryId;

use crate::known_blocks::KnownBlocks;

/// Lists each execution of the blocks of a decision map, by source.
#[derive(Debug)]
pub struct BlockHistory {
    map: Arc<DecisionMap>,
    /// What is subtracted from addresses in memory.
    bias: u64,
    /// The last block of each source, whose outcome may be corrected.
    last: Vec<Option<Block>>,
    found: Vec<(usize, Block)>,
    /// Whether the map has the cached blocks of each source.
    known: Vec<KnownBlocks<bool>>,
}

impl BlockHistory {
    /// Of this number of sources, whose program is loaded with `bias`.
    pub fn new(map: Arc<DecisionMap>, bias: u64, sources: usize) -> BlockHistory {
        let known = vec![KnownBlocks::default(); sources];
        BlockHistory { map, bias, last: vec![None; sources], found: Vec::new(), known }
    }

    fn settle(&mut self, source: usize) {
        let last = self.last.get_mut(source).and_then(Option::take);
        self.found.extend(last.map(|block| (source, block)));
    }

    /// Whether the map has what ends where the range ends.
    fn has(&self, range: &Range) -> bool {
        let start = range.start.wrapping_sub(self.bias);
        self.map.has(start.wrapping_add(range.bytes.into()))
    }

    fn steps(&mut self, batch: &Batch<'_>, steps: &[BlockStep]) {
        let source = batch.source;
        if let Some(known) = self.known.get_mut(source) {
            // The map has addresses of one memory.
            known.prepare(MemoryId::default(), &batch.blocks);
        }
        for step in steps {
            self.settle(source);
            let known = self.known.get(source).and_then(|known| known.get(step.id()));
            if known == Some(false) {
                continue;
            }
            let Some(range) = batch.range(*step) else { continue };
            let has = self.has(&range);
            if let Some(known) = self.known.get_mut(source) {
                known.insert(step.id(), has);
            }
            self.range(source, &range);
        }
    }

    fn range(&mut self, source: usize, range: &Range) {
        let address = range.start.wrapping_sub(self.bias);
        // A block of the map is smaller.
        let Ok(size) = u16::try_from(range.bytes) else { return };
        if !self.has(range) {
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
        for part in batch.parts() {
            match part {
                Part::Steps(steps) => self.steps(batch, steps),
                Part::Element(at, element) => self.element(batch.source, at, element),
                Part::Turns(turns) => each_turn(self, batch.source, &turns),
            }
        }
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
