//! What is known of the cached blocks of a source.

use std::sync::Weak;

use tracewright_base::{BlockId, CachedBlocks, Numbering};
use tracewright_image::MemoryId;

/// What is known of each cached block, by its number.
#[derive(Clone, Debug)]
pub(crate) struct KnownBlocks<T> {
    /// That of the blocks.
    numbering: Weak<()>,
    /// The memory that they are in.
    memory: Option<MemoryId>,
    known: Vec<Option<T>>,
}

impl<T> Default for KnownBlocks<T> {
    fn default() -> Self {
        KnownBlocks { numbering: Weak::default(), memory: None, known: Vec::new() }
    }
}

impl<T: Copy> KnownBlocks<T> {
    /// Prepares for steps of `blocks` in `memory`. What is known of others is forgotten.
    pub(crate) fn prepare(&mut self, memory: MemoryId, blocks: &CachedBlocks<'_>) {
        let numbering = blocks.numbering();
        let same = numbering.is_some_and(|numbering| numbering.is(&self.numbering));
        if !same || self.memory != Some(memory) {
            self.known.clear();
            self.numbering = numbering.map(Numbering::downgrade).unwrap_or_default();
            self.memory = Some(memory);
        }
        if self.known.len() < blocks.all().len() {
            self.known.resize(blocks.all().len(), None);
        }
    }

    /// What is known of a block.
    #[inline]
    pub(crate) fn get(&self, block: BlockId) -> Option<T> {
        self.known.get(block.index()).copied().flatten()
    }

    pub(crate) fn insert(&mut self, block: BlockId, own: T) {
        if let Some(known) = self.known.get_mut(block.index()) {
            *known = Some(own);
        }
    }
}
