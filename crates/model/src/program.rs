//! What a machine runs: memory with code in it, and where it starts.

use std::sync::Arc;

use tracewright_base::{Cause, Isa};
use tracewright_image::{Image, Region};

/// Code and where it starts.
#[derive(Clone, Debug)]
pub struct Program {
    /// Memory that holds code.
    pub image: Arc<Image>,
    /// The first instruction.
    pub entry: u64,
    /// Its instruction set.
    pub isa: Isa,
    /// Memory that the program may read and write: address and bytes. The stack begins at its end,
    /// R4 or X4 points to its beginning.
    pub ram: (u64, usize),
    /// Where exceptions go: see [`vector`](Program::vector).
    pub vectors: u64,
    /// The instruction set of the vectors.
    pub vector_isa: Isa,
}

impl Program {
    /// Bytes from one exception vector to the next.
    pub const VECTOR: u64 = 0x80;

    /// `code` at `entry`, and nothing else: memory for data lies below, vectors lead nowhere.
    pub fn new(isa: Isa, entry: u64, code: Vec<u8>) -> Program {
        Program {
            image: Arc::new(Image::new([Region::new("program", entry, code)])),
            entry,
            isa,
            ram: (0x1000, 0x4000),
            vectors: 0,
            vector_isa: if isa == Isa::A64 { Isa::A64 } else { Isa::A32 },
        }
    }

    /// Where an exception goes: synchronous ones to the first vector, interrupts to the second,
    /// fast interrupts to the third, system errors to the fourth, a reset to the entry.
    pub fn vector(&self, cause: Cause) -> (u64, Isa) {
        let n = match cause {
            Cause::Reset => return (self.entry, self.isa),
            Cause::Irq => 1,
            Cause::Fiq => 2,
            Cause::SystemError => 3,
            _ => 0,
        };
        (self.vectors.wrapping_add(n * Self::VECTOR), self.vector_isa)
    }
}
