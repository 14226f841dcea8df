//! Program memory as a decoder sees it.

use crate::{BlockId, CachedBlocks, CodeSpace, Instruction, Isa, Kind, Space};

/// A place in a program: everything that selects an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Pc {
    /// Byte address, without an instruction set bit.
    pub address: u64,
    /// The instruction set that the processor is in.
    pub isa: Isa,
    /// The memory that the processor reads.
    pub space: Space,
}

/// Nothing is known of the memory at this place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Miss {
    /// The first address that could not be read.
    pub address: u64,
}

/// Straight code up to and including the next waypoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Address of the first instruction.
    pub start: u64,
    /// Length in bytes, the last instruction included.
    pub bytes: u32,
    /// Instructions in it, at least 1; 0 only where the first bytes are no instruction and the reader
    /// checks ([`End::Invalid`]). Then `bytes` is 0 and `last` is what could not be executed.
    pub instructions: u32,
    /// The last instruction.
    pub last: Instruction,
    /// Why the block ends after `last`.
    pub end: End,
}

impl Block {
    /// Address of the instruction after the block, in the block's instruction set.
    #[inline]
    pub const fn next(&self) -> u64 {
        self.start.wrapping_add(self.bytes as u64) & self.last.isa.address_mask()
    }
}

/// Which instructions end a block, beside branches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Waypoints {
    /// ISB.
    pub isb: bool,
    /// DSB and DMB.
    pub barrier: bool,
    /// WFI and WFE.
    pub wait: bool,
    /// WFIT and WFET.
    pub timed_wait: bool,
    /// TSTART.
    pub transaction: bool,
    /// Every instruction: each is a block of its own.
    pub each: bool,
}

impl Waypoints {
    /// Nothing but branches.
    pub const BRANCHES: Waypoints = Waypoints {
        isb: false,
        barrier: false,
        wait: false,
        timed_wait: false,
        transaction: false,
        each: false,
    };

    /// Whether an instruction of this kind ends a block.
    #[inline]
    pub const fn has(self, kind: Kind) -> bool {
        match kind {
            _ if self.each => true,
            Kind::Branch | Kind::Indirect => true,
            Kind::Isb => self.isb,
            Kind::Barrier => self.barrier,
            Kind::Wait => self.wait,
            Kind::TimedWait => self.timed_wait,
            Kind::TransactionStart => self.transaction,
            Kind::Plain | Kind::Undefined => false,
        }
    }
}

/// Why a block ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// Its last instruction is a waypoint.
    #[default]
    Waypoint,
    /// Nothing is known of the memory after it. No waypoint was reached.
    NoCode,
    /// It is as long as a block may be. No waypoint was reached; the code goes on.
    Limit,
    /// The next bytes are no instruction, and the reader was told to check. No waypoint was reached.
    Invalid,
}

/// Where the code comes from.
///
/// What counts as a waypoint is the implementor's to know: it is made for one trace source.
pub trait Code {
    /// The block that starts at `pc`.
    ///
    /// # Errors
    /// [`Miss`] where not even one instruction can be read.
    fn block(&mut self, pc: Pc) -> Result<&Block, Miss>;

    /// The one instruction at `pc`, for walks that end inside a block.
    ///
    /// # Errors
    /// [`Miss`] where it cannot be read.
    fn instruction(&mut self, pc: Pc) -> Result<Instruction, Miss>;

    /// What is missing at `pc`, where it is known already that not even one instruction can be read there.
    #[inline]
    fn absent(&self, pc: Pc) -> Option<Miss> {
        let _ = pc;
        None
    }

    /// The opcode of the instruction at `pc`, for those who look into data accesses. A narrow T32
    /// opcode is in bits \[15:0]; a wide one has its first halfword in bits \[31:16]. A compressed RISC-V
    /// opcode is in bits \[15:0].
    ///
    /// `None` where it cannot be read.
    fn opcode(&mut self, pc: Pc) -> Option<u32> {
        let _ = pc;
        None
    }

    /// The blocks that are kept, for one who goes through many: see [`BlockId`].
    #[inline]
    fn blocks(&self) -> CachedBlocks<'_> {
        CachedBlocks::none()
    }

    /// What selects blocks of `isa` in `space`.
    #[inline]
    fn code_space(&self, isa: Isa, space: Space) -> CodeSpace {
        let _ = (isa, space);
        CodeSpace::NONE
    }

    /// The kept block that starts at `address`, which is within the instruction set's mask. Where there
    /// is none, [`enter`](Code::enter) may make it.
    #[inline]
    fn find(&self, address: u64, code_space: CodeSpace) -> BlockId {
        let _ = (address, code_space);
        BlockId::NONE
    }

    /// Asks for the memory that [`find`](Code::find) will look at first, without waiting for it.
    #[inline]
    fn prefetch_lookup(&self, address: u64, code_space: CodeSpace) {
        let _ = (address, code_space);
    }

    /// The block that [`find`](Code::find) would look at first, which may be another than the one that starts
    /// at `address`. It is not looked at.
    #[inline]
    fn predict(&self, address: u64, code_space: CodeSpace) -> BlockId {
        let _ = (address, code_space);
        BlockId::NONE
    }

    /// A kept block, whole.
    #[inline]
    fn cached_block(&self, id: BlockId) -> Option<Block> {
        let _ = id;
        None
    }

    /// Keeps the block that starts at `pc`. [`BlockId::NONE`] where there is none that ends with a
    /// waypoint, or none is kept.
    ///
    /// Where it must come after another, whichever way that is reached, `from` names the other and
    /// whether its waypoint took effect; its [`Successors`](crate::Successors) will lead here.
    fn enter(&mut self, pc: Pc, from: Option<(BlockId, bool)>) -> BlockId {
        let _ = (pc, from);
        BlockId::NONE
    }
}

/// A [`Code`] that knows nothing. Packets still decode to everything that needs no program.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoMemory;

impl Code for NoMemory {
    fn block(&mut self, pc: Pc) -> Result<&Block, Miss> {
        Err(Miss { address: pc.address })
    }

    fn instruction(&mut self, pc: Pc) -> Result<Instruction, Miss> {
        Err(Miss { address: pc.address })
    }
}
