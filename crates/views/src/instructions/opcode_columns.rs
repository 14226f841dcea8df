//! The columns of opcode and disassembly, where they depend on the opcode alone.

use tracewright_base::Isa;
use tracewright_scan::AsciiTexts;

/// The number of slots, a power of two.
const SLOTS: usize = 1 << 12;
/// The chunks of each text, which is at most as long as they are.
const CHUNKS: usize = 1;
const MAX_LEN: usize = 64 * CHUNKS;

/// The texts of recent opcodes. A text replaces the one that has the same slot.
#[derive(Debug, Default)]
pub(super) struct OpcodeColumns {
    /// Empty until the first text is stored. The text of a slot is at [`CHUNKS`] times its index.
    slots: Vec<Slot>,
    texts: AsciiTexts,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// Bits \[31:0] the opcode, \[39:32] the instruction set, \[63:40] the source.
    key: u64,
    /// The length of the text; 0 in a free slot.
    len: usize,
}

impl OpcodeColumns {
    /// Appends the text of `opcode` in `source`. `false` where there is none.
    #[inline]
    pub(super) fn recall(&self, source: usize, isa: Isa, opcode: u32, out: &mut String) -> bool {
        let key = key(source, isa, opcode);
        let index = index(key);
        match self.slots.get(index) {
            Some(slot) if slot.key == key && slot.len > 0 => {
                self.texts.append(index * CHUNKS, slot.len, out);
                true
            }
            _ => false,
        }
    }

    /// Stores `text` as that of `opcode` in `source`.
    pub(super) fn store(&mut self, source: usize, isa: Isa, opcode: u32, text: &str) {
        if self.slots.is_empty() {
            self.slots.resize(SLOTS, Slot::default());
            self.texts.resize(SLOTS * CHUNKS);
        }
        let key = key(source, isa, opcode);
        let index = index(key);
        if text.len() <= MAX_LEN
            && source < 1 << 24
            && self.texts.replace(index * CHUNKS, text)
            && let Some(slot) = self.slots.get_mut(index)
        {
            *slot = Slot { key, len: text.len() };
        }
    }
}

#[inline]
const fn key(source: usize, isa: Isa, opcode: u32) -> u64 {
    opcode as u64 | (isa as u64) << 32 | (source as u64) << 40
}

#[inline]
const fn index(key: u64) -> usize {
    (tracewright_base::mix(key) >> 52) as usize & (SLOTS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_those_of_their_opcode() {
        let mut columns = OpcodeColumns::default();
        for round in 0..2 {
            for opcode in 0..2 * SLOTS as u32 {
                for (source, isa) in [(0, Isa::A64), (0, Isa::A32), (1, Isa::A64)] {
                    let want = format!("{source} {isa:?} {opcode}");
                    let mut out = String::from("before ");
                    if columns.recall(source, isa, opcode, &mut out) {
                        assert_eq!(out, format!("before {want}"), "round {round}");
                    } else {
                        assert_eq!(out, "before ");
                        columns.store(source, isa, opcode, &want);
                        assert!(columns.recall(source, isa, opcode, &mut out));
                    }
                }
            }
        }
        columns.store(0, Isa::A64, 7, &"x".repeat(MAX_LEN + 1));
        columns.store(1 << 24, Isa::A64, 7, "far");
        let mut out = String::new();
        assert!(!columns.recall(1 << 24, Isa::A64, 7, &mut out));
        assert!(!columns.recall(0, Isa::A64, 7, &mut out) || out == "0 A64 7");
    }
}
