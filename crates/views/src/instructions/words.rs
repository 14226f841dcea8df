//! Opcodes of four bytes, read from memory several at a time.

use tracewright_base::Pc;
use tracewright_image::Cache;

/// Opcodes of four bytes that are read from memory together.
#[derive(Default)]
pub(super) struct Words {
    words: [u32; Words::MOST],
    /// The next one, and their number.
    next: usize,
    len: usize,
}

impl Words {
    const MOST: usize = 16;

    /// The opcode at `pc`, where `pc` is that after the last call, and `left` opcodes are needed.
    #[inline]
    pub(super) fn next(&mut self, left: u32, pc: Pc, cache: &mut Cache) -> Option<u32> {
        if self.next == self.len {
            let mut bytes = [0; 4 * Words::MOST];
            let wanted = 4 * Words::MOST.min(left as usize);
            let read = cache.read(pc, bytes.get_mut(..wanted).unwrap_or_default());
            (self.next, self.len) = (0, read / 4);
            for (word, bytes) in self.words.iter_mut().zip(bytes.as_chunks().0) {
                *word = u32::from_le_bytes(*bytes);
            }
            if self.len == 0 {
                return None;
            }
        }
        self.next += 1;
        self.words.get(self.next - 1).copied()
    }
}
