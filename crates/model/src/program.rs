//! Programs: memory with code, and the entry point.

use std::sync::Arc;

use tracewright_base::{Cause, Isa};
use tracewright_image::{Image, Region};

/// A program.
#[derive(Clone, Debug)]
pub struct Program {
    /// Memory that holds code.
    pub image: Arc<Image>,
    /// Address of the first instruction.
    pub entry: u64,
    /// Instruction set of the first instruction.
    pub isa: Isa,
    /// Data memory: address and size in bytes. The stack starts at its end, and R4 or X4 points to
    /// its beginning.
    pub ram: (u64, usize),
    /// Address of the exception vectors: see [`vector`](Program::vector).
    pub vectors: u64,
    /// The instruction set of the vectors.
    pub vector_isa: Isa,
}

impl Program {
    /// Distance of exception vectors in bytes.
    pub const VECTOR: u64 = 0x80;

    /// A program of `code` at `entry`, with data memory at 0x1000 and without code at the vectors.
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

    /// The vector of an exception, and its instruction set: the first vector for synchronous
    /// exceptions, the second for interrupts, the third for fast interrupts, the fourth for system
    /// errors, and the entry for a reset.
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
