//! What the sources of a session need besides their state: block caches.

use tracewright_base::BatchBuffer;
use tracewright_image::{Cache, MemorySelectors};

/// A block cache, and a buffer for nibbles.
#[derive(Clone, Debug)]
pub(crate) struct SourceMemory {
    pub(crate) cache: Cache,
    /// The block, one nibble in each byte.
    pub(crate) nibbles: Vec<u8>,
    /// Empty between calls.
    pub(crate) buffer: BatchBuffer,
}

impl SourceMemory {
    pub(crate) fn selectors(&self) -> Option<MemorySelectors> {
        self.cache.memory_selectors()
    }
}

/// The memory of each source. Sources that execute the same program share a block cache: each block
/// is constructed once, and takes the room of one in the processor's caches.
#[derive(Clone, Debug, Default)]
pub(crate) struct SourceMemories {
    memories: Vec<SourceMemory>,
    /// The index of each source's.
    of: Vec<usize>,
}

impl SourceMemories {
    /// The memory of the next source, whose blocks are those of `cache`.
    pub(crate) fn push(&mut self, cache: Cache) -> &mut SourceMemory {
        let same = self.memories.iter().position(|own| own.cache.serves(&cache));
        let index = same.unwrap_or(self.memories.len());
        self.of.push(index);
        if same.is_none() {
            self.memories.push(SourceMemory {
                cache,
                nibbles: Vec::new(),
                buffer: BatchBuffer::default(),
            });
        }
        &mut self.memories[index]
    }

    pub(crate) fn get(&self, source: usize) -> Option<&SourceMemory> {
        self.memories.get(*self.of.get(source)?)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, source: usize) -> Option<&mut SourceMemory> {
        self.memories.get_mut(*self.of.get(source)?)
    }

    /// Reserves memory for the blocks of each cache that has none yet.
    pub(crate) fn reserve_blocks(&mut self, blocks: usize) {
        self.memories.iter_mut().for_each(|memory| memory.cache.reserve(blocks));
    }

    /// Empties each cache.
    pub(crate) fn clear(&mut self) {
        self.memories.iter_mut().for_each(|memory| memory.cache.clear());
    }

    /// The caches, each with the first source that it belongs to.
    pub(crate) fn into_caches(self) -> impl Iterator<Item = (usize, Cache)> {
        let SourceMemories { memories, of } = self;
        let first = move |index| of.iter().position(|own| *own == index).unwrap_or(index);
        memories.into_iter().enumerate().map(move |(n, memory)| (first(n), memory.cache))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tracewright_base::Waypoints;
    use tracewright_image::{CacheOptions, Image, OpcodeCheck};
    use tracewright_isa::rv::Extensions;

    use super::*;

    #[test]
    fn sources_share_the_cache_of_the_same_program() {
        let image = Arc::new(Image::default());
        let options = CacheOptions::default();
        let riscv =
            CacheOptions { riscv: Extensions { zcm: true, ..Extensions::default() }, ..options };
        let each = Waypoints { each: true, ..Waypoints::default() };
        let cache = |options| Cache::new(Arc::clone(&image), Waypoints::default(), options);
        let caches = [
            cache(options),
            Cache::new(Arc::default(), Waypoints::default(), options),
            cache(options),
            cache(CacheOptions { check_opcodes: OpcodeCheck::Off, ..options }),
            cache(riscv),
            Cache::new(Arc::clone(&image), each, options),
            cache(CacheOptions { max_expansion: 1, ..options }),
            cache(riscv),
        ];
        let mut memories = SourceMemories::default();
        for cache in caches {
            memories.push(cache);
        }
        let shared = |n: usize| std::ptr::from_ref(memories.get(n).unwrap());
        let of: Vec<_> =
            (0..8).map(|n| (0..8).find(|k| shared(*k) == shared(n)).unwrap()).collect();
        assert_eq!(of, [0, 1, 0, 3, 4, 5, 6, 4]);
        let first: Vec<_> = memories.into_caches().map(|(source, _)| source).collect();
        assert_eq!(first, [0, 1, 3, 4, 5, 6]);
    }
}
