//! Prepared texts of cached blocks: a copy for each block instead of a range.

use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;

use crate::{BlockId, CachedBlocks, Numbering};

/// The bytes of one copy.
const CHUNK: usize = 64;
/// The longest text of a block, in bytes.
const MAX_LEN: usize = 8 * CHUNK;
/// The most chunks of all texts. Texts that are full begin again.
const MAX_CHUNKS: usize = 1 << 17;
/// The most blocks of a source that have texts.
const MAX_BLOCKS: usize = 1 << 16;

/// A part of a text, and zeros after its end.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Chunk([u8; CHUNK]);

/// The text of a block.
#[derive(Clone, Copy, Debug)]
struct Text {
    /// Its first chunk; `u32::MAX` for a block without a text.
    first: u32,
    /// Its length in bytes.
    len: u16,
    /// The instructions of the block.
    instructions: u16,
}

const FREE: Text = Text { first: u32::MAX, len: 0, instructions: 0 };

/// The texts of the blocks of a source, by their numbers.
#[derive(Debug, Default)]
pub struct BlockTable {
    /// That of the blocks.
    numbering: Weak<()>,
    texts: Vec<Text>,
}

/// The texts of cached blocks, and the output to which a decoder appends them.
#[derive(Debug, Default)]
pub struct BlockTexts {
    /// The blocks of the source that is decoded.
    pub table: BlockTable,
    chunks: Vec<Chunk>,
    /// The output. Its capacity limits what a decoder appends.
    pub out: Vec<u8>,
    /// What was appended since [`take_sums`](BlockTexts::take_sums).
    ranges: u64,
    instructions: u64,
    /// Whether it is that of a sink, and not an empty one instead.
    pub owned: bool,
}

impl BlockTexts {
    /// Prepares the table for `blocks`: where they have other numbers, it begins again.
    #[inline]
    pub fn prepare(&mut self, blocks: &CachedBlocks<'_>) {
        let known = blocks.numbering().map(|Numbering(known)| Arc::as_ptr(known));
        if known != Some(self.table.numbering.as_ptr()) {
            self.restart(blocks);
        }
    }

    #[cold]
    fn restart(&mut self, blocks: &CachedBlocks<'_>) {
        let known = blocks.numbering().map(|Numbering(known)| Arc::downgrade(known));
        self.table.numbering = known.unwrap_or_default();
        self.table.texts.clear();
    }

    /// Appends the text of a block. `false`, and nothing is appended, where there is none, or where
    /// the capacity of the output is used.
    #[inline(always)]
    pub fn append(&mut self, id: BlockId) -> bool {
        let Some(&Text { first, len, instructions }) = self.table.texts.get(id.index()) else {
            return false;
        };
        let first = first as usize;
        let Some(chunk) = self.chunks.get(first) else { return false };
        if self.out.capacity() - self.out.len() < MAX_LEN {
            return false;
        }
        let len = usize::from(len);
        let end = self.out.len() + len;
        self.out.extend_from_slice(&chunk.0);
        if len > CHUNK {
            for chunk in self.chunks.get(first + 1..first + chunks_of(len)).unwrap_or_default() {
                self.out.extend_from_slice(&chunk.0);
            }
        }
        self.out.truncate(end);
        self.ranges += 1;
        self.instructions += u64::from(instructions);
        true
    }

    /// Takes the numbers of ranges and instructions that were appended.
    #[inline]
    pub fn take_sums(&mut self) -> (u64, u64) {
        (core::mem::take(&mut self.ranges), core::mem::take(&mut self.instructions))
    }

    /// Stores `text` as that of the block `id`, which has this number since
    /// [`prepare`](BlockTexts::prepare). Returns `false` if all texts were dropped: those of other
    /// tables are not valid any more.
    #[must_use]
    pub fn store(&mut self, id: BlockId, instructions: u32, text: &[u8]) -> bool {
        let (Ok(len), Ok(instructions)) = (u16::try_from(text.len()), u16::try_from(instructions))
        else {
            return true;
        };
        if text.len() > MAX_LEN || id.index() >= MAX_BLOCKS {
            return true;
        }
        let count = chunks_of(text.len());
        let full = self.chunks.len() + count > MAX_CHUNKS;
        if full {
            self.chunks.clear();
            self.table.texts.clear();
        }
        if id.index() >= self.table.texts.len() {
            self.table.texts.resize((id.index() + 1).next_power_of_two(), FREE);
        }
        if let Some(slot) = self.table.texts.get_mut(id.index()) {
            *slot = Text { first: self.chunks.len() as u32, len, instructions };
        }
        let mut parts = text.chunks(CHUNK);
        for _ in 0..count {
            let part = parts.next().unwrap_or_default();
            let mut chunk = [0; CHUNK];
            if let Some(to) = chunk.get_mut(..part.len()) {
                to.copy_from_slice(part);
            }
            self.chunks.push(Chunk(chunk));
        }
        !full
    }
}

/// The chunks of a text of `len` bytes.
#[inline]
const fn chunks_of(len: usize) -> usize {
    if len <= CHUNK { 1 } else { len.div_ceil(CHUNK) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BLOCK_CLASSES, BlockClass};

    #[test]
    fn texts_are_those_of_the_blocks_with_their_numbers() {
        let classes = [BlockClass::NONE; BLOCK_CLASSES];
        let (one, other) = (Numbering::default(), Numbering::default());
        let blocks = CachedBlocks::new(&[], &[], &classes);
        let (one, other) = (blocks.with_numbering(&one), blocks.with_numbering(&other));
        let mut texts = BlockTexts::default();
        texts.prepare(&one);
        let id = BlockId::new;
        assert!(!texts.append(id(0)));
        let long: Vec<u8> = (0..=MAX_LEN).map(|n| b'0' + (n % 10) as u8).collect();
        for (n, len) in [0, 1, 63, 64, 65, 128, 129, MAX_LEN, MAX_LEN + 1].into_iter().enumerate() {
            assert!(texts.store(id(n), 3, &long[..len]));
            // Without capacity nothing is appended.
            texts.out = Vec::new();
            assert!(!texts.append(id(n)));
            texts.out = Vec::with_capacity(2 * MAX_LEN);
            texts.out.push(b'<');
            assert_eq!(texts.append(id(n)), len <= MAX_LEN);
            if len <= MAX_LEN {
                assert_eq!(texts.out, [b"<", &long[..len]].concat());
            }
        }
        assert_eq!(texts.take_sums(), (8, 24));
        texts.prepare(&one);
        assert!(texts.append(id(1)) && !texts.append(BlockId::NONE));
        texts.prepare(&other);
        assert!(!texts.append(id(1)));
        texts.prepare(&one);
        assert!(!texts.append(id(1)));
        // Memory is bounded.
        let full = (0..MAX_CHUNKS).any(|_| !texts.store(id(5), 1, &long[..MAX_LEN]));
        assert!(full && texts.chunks.len() <= MAX_CHUNKS);
        assert!(texts.store(id(MAX_BLOCKS), 1, b"x") && !texts.append(id(MAX_BLOCKS)));
    }
}
