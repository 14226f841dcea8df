//! Blocks and instructions of program memory that is no [`Image`](crate::Image).

use tracewright_base::{Block, Instruction, Miss, Pc, Waypoints};

use crate::Extensions;
use crate::cache::aligned;
use crate::image::View;
use crate::opcode_check::OpcodeCheck;
use crate::walk::ReadCode;
use crate::walk::{Memory, Rules};

/// Makes blocks of memory that is fetched while it is decoded. Nothing is cached: a caller that
/// caches blocks decides for how long they are valid.
#[derive(Clone, Debug, Default)]
pub struct BlockMaker {
    waypoints: Waypoints,
    check_opcodes: OpcodeCheck,
    riscv: Extensions,
}

impl BlockMaker {
    /// Blocks end at `waypoints`, and before the opcodes that `check_opcodes` selects.
    pub fn new(waypoints: Waypoints, check_opcodes: OpcodeCheck) -> Self {
        BlockMaker { waypoints, check_opcodes, riscv: Extensions::default() }
    }

    fn memory<'a, I>(&'a self, code: &'a I, pc: Pc) -> Memory<'a, I> {
        Memory { image: code, view: View::ONLY, isa: pc.isa, riscv: &self.riscv }
    }

    /// The block at `pc`.
    ///
    /// # Errors
    /// [`Miss`] if the first instruction cannot be read.
    pub fn block(&self, code: &impl ReadCode, pc: Pc) -> Result<Block, Miss> {
        let address = pc.address & pc.isa.address_mask();
        aligned(address, pc.isa)?;
        let BlockMaker { waypoints, check_opcodes, riscv } = self;
        let rules = Rules { waypoints: *waypoints, check_opcodes: *check_opcodes, riscv: *riscv };
        self.memory(code, pc).block(address, &rules)
    }

    /// The instruction at `pc`.
    ///
    /// # Errors
    /// [`Miss`] if it cannot be read.
    pub fn instruction(&self, code: &impl ReadCode, pc: Pc) -> Result<Instruction, Miss> {
        let address = pc.address & pc.isa.address_mask();
        aligned(address, pc.isa)?;
        self.memory(code, pc).instruction(address, self.check_opcodes)
    }

    /// The opcode at `pc`, in the form that [`Code::opcode`](tracewright_base::Code::opcode)
    /// returns.
    pub fn opcode(&self, code: &impl ReadCode, pc: Pc) -> Option<u32> {
        self.memory(code, pc).opcode(pc.address & pc.isa.address_mask())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use tracewright_base::{End, Isa, Kind};

    /// Memory at 0x1000 that records how much of it was read.
    struct Recorded {
        bytes: Vec<u8>,
        end: RefCell<u64>,
    }

    impl ReadCode for Recorded {
        fn read(&self, _: View, address: u64, _: u64, out: &mut [u8]) -> usize {
            let from = self.bytes.get(address.wrapping_sub(0x1000) as usize..).unwrap_or_default();
            let len = from.len().min(out.len());
            out[..len].copy_from_slice(&from[..len]);
            let mut end = self.end.borrow_mut();
            *end = (*end).max(address + len as u64);
            len
        }
    }

    #[test]
    fn memory_is_read_up_to_the_waypoint() {
        // NOP, NOP, B .+8, NOP (A64).
        let opcodes = [0xd503_201fu32, 0xd503_201f, 0x1400_0002, 0xd503_201f];
        let bytes = opcodes.iter().flat_map(|opcode| opcode.to_le_bytes()).collect();
        let memory = Recorded { bytes, end: RefCell::new(0) };
        let maker = BlockMaker::default();
        let pc = |address| Pc { address, isa: Isa::A64, ..Pc::default() };
        let block = maker.block(&memory, pc(0x1000)).unwrap();
        assert_eq!((block.instructions, block.bytes, block.end), (3, 12, End::Waypoint));
        assert_eq!(block.last.target, Some(0x1010));
        assert_eq!(*memory.end.borrow(), 0x100c);
        assert_eq!(maker.block(&memory, pc(0x100c)).unwrap().end, End::NoCode);
        assert_eq!(maker.block(&memory, pc(0x1010)), Err(Miss { address: 0x1010 }));
        assert_eq!(maker.block(&memory, pc(0x1002)), Err(Miss { address: 0x1002 }));
        assert_eq!(maker.instruction(&memory, pc(0x1008)).unwrap().kind, Kind::Branch);
        assert_eq!(maker.opcode(&memory, pc(0x1008)), Some(0x1400_0002));
    }
}
