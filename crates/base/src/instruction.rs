//! What one instruction does to the flow of a program.

use crate::Isa;

/// How an instruction may change the flow, in the words of the trace architectures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Execution goes on with the next instruction.
    #[default]
    Plain,
    /// A branch whose target is in the opcode.
    Branch,
    /// A branch whose target comes from a register or from memory.
    Indirect,
    /// Instruction synchronisation barrier.
    Isb,
    /// Data barrier: DSB or DMB. A waypoint for some PTM configurations only.
    Barrier,
    /// WFI, WFE. A waypoint where the trace unit says so (TRCIDR2.WFXMODE).
    Wait,
    /// WFIT, WFET: the same with a timeout (FEAT_WFxT).
    TimedWait,
    /// TSTART, start of a transaction (FEAT_TME).
    TransactionStart,
    /// No instruction of the architecture: permanently undefined or unallocated.
    Undefined,
}

/// What a branch is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Role {
    /// Nothing but a jump, or not a branch.
    #[default]
    Jump,
    /// Branch with link: it writes a return address.
    Call,
    /// A64 RET and its pointer-authenticating forms; RISC-V jumps through a link register.
    Return,
    /// ERET and its relations, RISC-V xRET: return from an exception.
    ExceptionReturn,
    /// The end or the start of a low-overhead loop: LE, LETP, WLS, WLSTP. (Armv8.1-M)
    Loop,
    /// `CB<cc>`, `CBB<cc>`, `CBH<cc>`: compares two values and branches. (FEAT_CMPBR)
    Compare,
    /// AArch32 idioms that return: `BX LR`, `MOV PC, LR`, `POP {.., PC}`, `LDM SP!, {.., PC}`.
    ImpliedReturn,
    /// RISC-V: a jump through one link register that writes the other, as co-routines do.
    Swap,
    /// RISC-V: a jump that writes its return address to a register that is no link register.
    Link,
}

/// One instruction, classified. The text of the instruction is not here: the walk never needs it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// What it may do to the flow.
    pub kind: Kind,
    /// What the branch is for.
    pub role: Role,
    /// Size in bytes: 2 or 4, for RISC-V up to 8.
    pub size: u8,
    /// It may not take effect: a condition, or an IT block around it, decides.
    pub conditional: bool,
    /// The instruction set that it belongs to.
    pub isa: Isa,
    /// The instruction set at the target of a direct branch. Equal to `isa` for all others.
    pub target_isa: Isa,
    /// Where a direct branch ([`Kind::Branch`]) goes when taken. Of an indirect one: where the
    /// instruction right before it lets it go (RISC-V, sequentially inferable jumps).
    pub target: Option<u64>,
}
