//! The end of a range's text, which depends on its last instruction and its length alone.

use tracewright_base::Range;
use tracewright_scan::AsciiTexts;

/// The number of slots, a power of two. They and their texts fit into the second-level cache of the
/// processor.
const SLOTS: usize = 1 << 10;
/// The chunks of each text.
const CHUNKS: usize = 2;
const MAX_LEN: usize = 64 * CHUNKS;

/// The texts of recent ends, without cycles. A text replaces the one that has the same slot.
#[derive(Clone, Debug, Default)]
pub struct RangeTails {
    /// Empty until the first text is stored. The text of a slot is at [`CHUNKS`] times its index.
    slots: Vec<Slot>,
    texts: AsciiTexts,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// Bits \[31:0] the last instruction, \[63:32] the number of instructions.
    key: u64,
    /// The length of the text; 0 in a free slot.
    len: usize,
}

impl RangeTails {
    /// Appends what `write` writes, which depends on the last instruction of `range` and on the
    /// number of instructions.
    #[inline]
    pub fn put(
        &mut self,
        range: &Range,
        out: &mut String,
        write: impl FnOnce(&Range, &mut String),
    ) {
        let key = u64::from(range.instructions) << 32 | u64::from(range.last.word());
        let index = (tracewright_base::mix(key) >> 54) as usize & (SLOTS - 1);
        match self.slots.get(index) {
            Some(slot) if slot.key == key && slot.len > 0 => {
                self.texts.append(index * CHUNKS, slot.len, out);
            }
            _ => self.store(key, index, range, out, write),
        }
    }

    #[cold]
    fn store(
        &mut self,
        key: u64,
        index: usize,
        range: &Range,
        out: &mut String,
        write: impl FnOnce(&Range, &mut String),
    ) {
        let start = out.len();
        write(range, out);
        if self.slots.is_empty() {
            self.slots.resize(SLOTS, Slot::default());
            self.texts.resize(SLOTS * CHUNKS);
        }
        let text = out.get(start..).unwrap_or_default();
        if text.len() <= MAX_LEN
            && self.texts.replace(index * CHUNKS, text)
            && let Some(slot) = self.slots.get_mut(index)
        {
            *slot = Slot { key, len: text.len() };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use tracewright_base::{Counted, Instruction, Last};

    use super::*;

    #[test]
    fn stored_text_is_the_written_text() {
        let (mut tails, mut writes) = (RangeTails::default(), 0);
        for round in 0..2 {
            for instructions in 0..SLOTS as u32 / 8 {
                for (taken, size) in [(false, 2), (true, 2), (true, 4)] {
                    let last = Last::new(&Instruction { size, ..Instruction::default() }, taken);
                    let cycles = Counted::of(round);
                    let range = Range { start: 0, bytes: 8, instructions, cycles, last };
                    let mut out = String::from("before ");
                    tails.put(&range, &mut out, |range, out| {
                        writes += 1;
                        let _ = write!(out, "{} {:?}", range.instructions, range.last.word());
                        out.extend(std::iter::repeat_n('x', instructions as usize));
                    });
                    let want = format!("before {instructions} {:?}", last.word());
                    assert_eq!(out.trim_end_matches('x'), want);
                    assert_eq!(out.len(), want.len() + instructions as usize);
                }
            }
        }
        // Long texts are not stored, and some replace one another.
        assert!((3 * SLOTS / 8 + 1..6 * SLOTS / 8).contains(&writes), "{writes}");
    }
}
