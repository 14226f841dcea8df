//! Program memory as a decoder sees it.

use crate::context::{Context, Space};
use crate::element::Element;
use crate::fault::Inconsistency;
use crate::instruction::{Instruction, Kind};
use crate::isa::Isa;
use crate::reserve::{MAX_EXPANSION, Reserve};

/// An address in a program and everything else that selects an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Pc {
    /// Byte address, without an instruction set bit.
    pub address: u64,
    /// The instruction set that the processor is in.
    pub isa: Isa,
    /// The memory that the processor reads.
    pub space: Space,
}

impl Pc {
    /// Whether an instruction can be at the address.
    pub const fn is_aligned(self) -> bool {
        self.address.is_multiple_of(self.isa.alignment())
    }

    /// The element for an instruction here that cannot be read: memory is missing at `missing`, or
    /// the address is not aligned.
    #[cold]
    pub const fn unreadable(self, missing: u64) -> Element {
        let space = self.space;
        if self.is_aligned() {
            return Element::NoCode { address: missing, space };
        }
        let address = self.address & self.isa.address_mask();
        Element::Inconsistency(Inconsistency::Misaligned { address, space })
    }
}

/// Memory that is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Miss {
    /// The first address that cannot be read.
    pub address: u64,
}

/// Straight code up to and including the next waypoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Address of the first instruction.
    pub start: u64,
    /// Length in bytes, including the last instruction.
    pub bytes: u32,
    /// Number of instructions, at least 1. It is 0 only if the first opcode is invalid
    /// ([`End::Invalid`]); then `bytes` is 0 and `last` is the invalid instruction.
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

/// Which instructions end a block, in addition to branches.
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
    /// Loads from memory, in A32 and T32. Their [`Kind`] is that of other instructions.
    pub loads: bool,
    /// Stores to memory, in A32 and T32.
    pub stores: bool,
    /// Every instruction: each block is one instruction.
    pub each: bool,
}

impl Waypoints {
    /// Only branches.
    pub const BRANCHES: Waypoints = Waypoints {
        isb: false,
        barrier: false,
        wait: false,
        timed_wait: false,
        transaction: false,
        loads: false,
        stores: false,
        each: false,
    };

    /// Whether an instruction of this kind ends a block. One of another kind may do as a load or a
    /// store.
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
    /// The memory after it is not known. No waypoint was reached.
    NoCode,
    /// It has the maximum length. No waypoint was reached; the code continues.
    Limit,
    /// The next opcode is invalid. No waypoint was reached.
    Invalid,
}

/// Program memory, for one trace source: the implementation knows which instructions are waypoints.
///
/// A decoder also needs to know which blocks are cached. The block cache of `tracewright-image`
/// provides that; any other implementation is passed to a decoder as [`Uncached`].
///
/// ```
/// use tracewright_base::{Block, Code, Instruction, Miss, Pc, Uncached};
///
/// struct Rom {
///     block: Block,
/// }
///
/// impl Code for Rom {
///     fn block(&mut self, pc: Pc) -> Result<&Block, Miss> {
///         let known = pc.address == self.block.start;
///         if known { Ok(&self.block) } else { Err(Miss { address: pc.address }) }
///     }
///
///     fn instruction(&mut self, pc: Pc) -> Result<Instruction, Miss> {
///         Err(Miss { address: pc.address })
///     }
/// }
///
/// // A decoder takes `&mut code`.
/// let mut code = Uncached(Rom { block: Block::default() });
/// assert!(code.block(Pc::default()).is_ok());
/// ```
pub trait Code {
    /// The block that starts at `pc`.
    ///
    /// # Errors
    /// [`Miss`] if the first instruction cannot be read.
    fn block(&mut self, pc: Pc) -> Result<&Block, Miss>;

    /// The instruction at `pc`: for addresses inside a block.
    ///
    /// # Errors
    /// [`Miss`] if it cannot be read.
    fn instruction(&mut self, pc: Pc) -> Result<Instruction, Miss>;

    /// The result of an earlier [`block`](Code::block) at `pc` that was a [`Miss`]. `None` if it is
    /// not stored.
    #[inline]
    fn absent(&self, pc: Pc) -> Option<Miss> {
        let _ = pc;
        None
    }

    /// The opcode of the instruction at `pc`, from which the size of data accesses is decoded. A
    /// narrow T32 opcode is in bits \[15:0]; a wide one has its first halfword in bits \[31:16]. A
    /// compressed RISC-V opcode is in bits \[15:0].
    ///
    /// `None` if it cannot be read.
    fn opcode(&mut self, pc: Pc) -> Option<u32> {
        let _ = pc;
        None
    }

    /// Whether every undefined opcode ends a block. A decoder that meets one then reports a wrong
    /// program image as OpenCSD does.
    #[inline]
    fn checks_opcodes(&self) -> bool {
        false
    }

    /// Execution continues in `context`, whose identifiers may select other program memory. A
    /// decoder calls it where it emits [`Element::Context`], before it asks for code of that
    /// context.
    #[inline]
    fn enter_context(&mut self, context: &Context) {
        let _ = context;
    }

    /// The maximum number of instructions that a decoder follows for each byte of a packet. A
    /// packet that needs more is reported as
    /// [`ExpansionLimit`](crate::Inconsistency::ExpansionLimit). Turns of a counted loop beyond it
    /// are not [listed](crate::Turns::listed).
    #[inline]
    fn max_expansion(&self) -> u32 {
        MAX_EXPANSION
    }

    /// What packets of the source may cost in sum.
    #[inline]
    fn work_reserve(&self) -> Reserve {
        Reserve::default()
    }

    /// What is left after a packet.
    #[inline]
    fn set_work_reserve(&mut self, reserve: Reserve) {
        let _ = reserve;
    }
}

/// A [`Code`] without memory. Packets are still decoded to all elements that do not depend on the
/// program.
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

/// Any [`Code`], as a decoder takes it. No blocks are cached: a decoder asks for the block of each
/// atom.
#[derive(Clone, Copy, Debug, Default)]
pub struct Uncached<C>(pub C);

impl<C: Code> Code for Uncached<C> {
    #[inline]
    fn block(&mut self, pc: Pc) -> Result<&Block, Miss> {
        self.0.block(pc)
    }

    #[inline]
    fn instruction(&mut self, pc: Pc) -> Result<Instruction, Miss> {
        self.0.instruction(pc)
    }

    #[inline]
    fn absent(&self, pc: Pc) -> Option<Miss> {
        self.0.absent(pc)
    }

    #[inline]
    fn opcode(&mut self, pc: Pc) -> Option<u32> {
        self.0.opcode(pc)
    }

    #[inline]
    fn checks_opcodes(&self) -> bool {
        self.0.checks_opcodes()
    }

    #[inline]
    fn enter_context(&mut self, context: &Context) {
        self.0.enter_context(context);
    }

    #[inline]
    fn max_expansion(&self) -> u32 {
        self.0.max_expansion()
    }

    #[inline]
    fn work_reserve(&self) -> Reserve {
        self.0.work_reserve()
    }

    #[inline]
    fn set_work_reserve(&mut self, reserve: Reserve) {
        self.0.set_work_reserve(reserve);
    }
}

impl<C: Code + ?Sized> Code for &mut C {
    #[inline]
    fn block(&mut self, pc: Pc) -> Result<&Block, Miss> {
        (**self).block(pc)
    }

    #[inline]
    fn instruction(&mut self, pc: Pc) -> Result<Instruction, Miss> {
        (**self).instruction(pc)
    }

    #[inline]
    fn absent(&self, pc: Pc) -> Option<Miss> {
        (**self).absent(pc)
    }

    #[inline]
    fn opcode(&mut self, pc: Pc) -> Option<u32> {
        (**self).opcode(pc)
    }

    #[inline]
    fn checks_opcodes(&self) -> bool {
        (**self).checks_opcodes()
    }

    #[inline]
    fn enter_context(&mut self, context: &Context) {
        (**self).enter_context(context);
    }

    #[inline]
    fn max_expansion(&self) -> u32 {
        (**self).max_expansion()
    }

    #[inline]
    fn work_reserve(&self) -> Reserve {
        (**self).work_reserve()
    }

    #[inline]
    fn set_work_reserve(&mut self, reserve: Reserve) {
        (**self).set_work_reserve(reserve);
    }
}
