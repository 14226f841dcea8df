//! The program image. (K10.5.6.3.11)

use tracewright_base::{Instruction, Isa};
use tracewright_isa::{ItState, classify};

/// Program memory: blocks of bytes, each with its address.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// The blocks, which do not overlap.
    pub blocks: Vec<(u64, Vec<u8>)>,
}

impl Memory {
    /// The instruction at `address`, which no IT instruction precedes. `None` if it is not in the
    /// program image.
    pub fn instruction(&self, address: u64, isa: Isa) -> Option<Instruction> {
        let bytes: Vec<u8> = (0..4).map_while(|n| self.byte(address.wrapping_add(n))).collect();
        classify(isa, &bytes, address, &mut ItState::default())
    }

    /// The opcode at `address`, in the form that the modules of `tracewright_isa` take.
    pub fn opcode(&self, address: u64, isa: Isa) -> Option<u32> {
        let half = |n: u64| {
            let byte = |n: u64| self.byte(address.wrapping_add(n)).map(u32::from);
            Some(byte(n)? | byte(n + 1)? << 8)
        };
        match isa {
            Isa::T32 | Isa::ThumbEe => match half(0)? {
                first if first >> 11 >= 0b11101 => Some(first << 16 | half(2)?),
                first => Some(first),
            },
            _ => Some(half(0)? | half(2)? << 16),
        }
    }

    /// Whether there is memory at `address`.
    pub fn has(&self, address: u64) -> bool {
        self.byte(address).is_some()
    }

    fn byte(&self, address: u64) -> Option<u8> {
        self.blocks.iter().find_map(|(start, bytes)| {
            let offset = address.checked_sub(*start)?;
            bytes.get(usize::try_from(offset).ok()?).copied()
        })
    }
}
