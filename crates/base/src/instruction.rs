//! The effect of one instruction on control flow.

use crate::isa::Isa;

/// The effect of an instruction on control flow, in the classes of the trace architectures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Execution continues with the next instruction.
    #[default]
    Plain,
    /// A direct branch: the target is in the opcode.
    Branch,
    /// An indirect branch: the target is in a register or in memory.
    Indirect,
    /// Instruction synchronisation barrier.
    Isb,
    /// Data barrier: DSB or DMB. A waypoint for some PTM configurations only.
    Barrier,
    /// WFI, WFE. A waypoint if TRCIDR2.WFXMODE of the trace unit is 1.
    Wait,
    /// WFIT, WFET: WFI and WFE with a timeout (FEAT_WFxT).
    TimedWait,
    /// TSTART, start of a transaction (FEAT_TME).
    TransactionStart,
    /// A permanently undefined or unallocated encoding.
    Undefined,
}

/// The purpose of a branch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Role {
    /// A plain jump, or no branch.
    #[default]
    Jump,
    /// Branch with link: it writes a return address.
    Call,
    /// A64 RET and its pointer-authenticating forms; RISC-V jumps through a link register.
    Return,
    /// Return from an exception: ERET, ERETAA, ERETAB, SUBS PC and similar, RISC-V xRET.
    ExceptionReturn,
    /// The end or the start of a low-overhead loop: LE, LETP, WLS, WLSTP. (Armv8.1-M)
    Loop,
    /// `CB<cc>`, `CBB<cc>`, `CBH<cc>`: compares two values and branches. (FEAT_CMPBR)
    Compare,
    /// AArch32 idioms that return: `BX LR`, `MOV PC, LR`, `POP {.., PC}`, `LDM SP!, {.., PC}`.
    ImpliedReturn,
    /// RISC-V: a jump through one link register that writes the other, for coroutines.
    Swap,
    /// RISC-V: a jump that writes its return address to a register other than a link register.
    Link,
}

/// A classified instruction. Decoding does not need its text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// The effect on control flow.
    pub kind: Kind,
    /// The purpose of the branch.
    pub role: Role,
    /// Size in bytes: 2 or 4, for RISC-V up to 8.
    pub size: u8,
    /// Whether a condition or an IT block decides on the effect.
    pub conditional: bool,
    /// The instruction set.
    pub isa: Isa,
    /// The instruction set at the target of a direct branch. Equal to `isa` for all others.
    pub target_isa: Isa,
    /// Target of a direct branch ([`Kind::Branch`]). Of an indirect branch: the target that follows
    /// from the preceding instruction (RISC-V, sequentially inferable jumps).
    pub target: Option<u64>,
}

impl Instruction {
    /// Whether it is a branch that is always taken.
    #[inline]
    pub const fn is_unconditional(&self) -> bool {
        matches!(self.kind, Kind::Branch | Kind::Indirect) && !self.conditional
    }
}
