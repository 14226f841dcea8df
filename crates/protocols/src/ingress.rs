//! The ingress port: the signals from the processor to the trace unit, cycle by cycle. (0.026,
//! chapter 3; 2.0, "Hart to encoder interface")

use tracewright_base::{Cause, Kind, Retired, Role};

/// How many blocks a cycle has at most. (`taken_branches`, 1 to 8)
pub const BLOCKS: usize = 8;

/// How a block of instructions ends: `itype`, in one numbering for all versions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Itype {
    /// None of the others.
    #[default]
    None,
    /// An exception followed the last retired instruction.
    Exception,
    /// An interrupt followed the last retired instruction.
    Interrupt,
    /// Return from an exception or interrupt.
    TrapReturn,
    /// A branch that was not taken. (1.0; `ntkn` counts these in 0.026)
    NotTaken,
    /// A branch that was taken.
    Taken,
    /// A call whose target the program does not give.
    UninferableCall,
    /// A call whose target is in the program.
    InferableCall,
    /// A jump that leaves no return address, or a tail call; or, with 3 bits, any uninferable jump.
    UninferableJump,
    /// The same with its target in the program.
    InferableJump,
    /// A co-routine swap.
    Swap,
    /// A return.
    Return,
    /// A return whose target the program gives. (0.026)
    InferableReturn,
    /// A jump that links through a register that is no link register.
    OtherUninferable,
    /// The same with its target in the program.
    OtherInferable,
}

impl Itype {
    /// All of them.
    pub const ALL: [Itype; 15] = [
        Itype::None,
        Itype::Exception,
        Itype::Interrupt,
        Itype::TrapReturn,
        Itype::NotTaken,
        Itype::Taken,
        Itype::UninferableCall,
        Itype::InferableCall,
        Itype::UninferableJump,
        Itype::InferableJump,
        Itype::Swap,
        Itype::Return,
        Itype::InferableReturn,
        Itype::OtherUninferable,
        Itype::OtherInferable,
    ];

    /// What an instruction ends a block with, and whether its target is sequentially inferable
    /// (`sijump`).
    pub const fn of(retired: &Retired) -> (Itype, bool) {
        let instruction = &retired.instruction;
        let sequential = instruction.target.is_some();
        match (instruction.kind, instruction.role) {
            (Kind::Branch, _) if instruction.conditional => {
                (if retired.taken { Itype::Taken } else { Itype::NotTaken }, false)
            }
            (Kind::Branch, Role::Call) => (Itype::InferableCall, false),
            (Kind::Branch, Role::Link) => (Itype::OtherInferable, false),
            (Kind::Branch, _) => (Itype::InferableJump, false),
            (Kind::Indirect, Role::ExceptionReturn) => (Itype::TrapReturn, false),
            (Kind::Indirect, Role::Call) => (Itype::UninferableCall, sequential),
            (Kind::Indirect, Role::Return | Role::ImpliedReturn) => (Itype::Return, sequential),
            (Kind::Indirect, Role::Swap) => (Itype::Swap, sequential),
            (Kind::Indirect, Role::Link) => (Itype::OtherUninferable, sequential),
            (Kind::Indirect, _) => (Itype::UninferableJump, sequential),
            _ => (Itype::None, false),
        }
    }

    /// An exception or an interrupt.
    pub const fn is_trap(self) -> bool {
        matches!(self, Itype::Exception | Itype::Interrupt)
    }

    /// Whether it is a branch, with an outcome in the branch map.
    pub const fn is_branch(self) -> bool {
        matches!(self, Itype::NotTaken | Itype::Taken)
    }
}

/// What to do about a new context: `ctype`, `context_type`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ContextType {
    /// Nothing. (1.0: 0)
    Unreported,
    /// Report it when convenient. (1.0: 1; 0.026: 2)
    Imprecise,
    /// Report it with the first instruction that has it. (1.0: 2; 0.026: 1)
    #[default]
    Precise,
    /// The same, and the last instruction before it, as for an exception. (1.0: 3; 0.026: 0)
    Discontinuity,
    /// Report the address of the instruction, not the context. (0.026: 3)
    Notification,
}

/// Instructions at consecutive addresses that were retired together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// `iaddr`: address of the first instruction; where none was retired, of the one that trapped.
    pub iaddr: u64,
    /// `iretire`: half words retired.
    pub iretire: u16,
    /// `ilastsize`: half words of the last instruction.
    pub ilastsize: u8,
    /// `itype`: how it ends.
    pub itype: Itype,
    /// `ntkn`: branches not taken in it. (0.026)
    pub ntkn: u8,
    /// `sijump`: the last instruction's target is in the instruction before it.
    pub sijump: bool,
    /// `trigger[2]`, or action 4: report the last instruction.
    pub notify: bool,
}

impl Block {
    /// No instruction and no trap: all else is undefined.
    pub const fn is_empty(&self) -> bool {
        self.iretire == 0 && matches!(self.itype, Itype::None)
    }

    /// Address of the last instruction.
    pub const fn last(&self) -> u64 {
        self.end().wrapping_sub(if self.iretire == 0 { 0 } else { self.ilastsize as u64 * 2 })
    }

    /// Address after the last instruction.
    pub const fn end(&self) -> u64 {
        self.iaddr.wrapping_add(self.iretire as u64 * 2)
    }
}

/// The port in one cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cycle {
    /// The blocks, the oldest first; those past the last are empty.
    pub blocks: [Block; BLOCKS],
    /// `cause` of a trap, which only the newest block has.
    pub cause: u64,
    /// `tval` of a trap.
    pub tval: u64,
    /// `priv`.
    pub privilege: u8,
    /// `context`.
    pub context: u32,
    /// `ctype`: the report of a `context` that differs from the one before.
    pub ctype: ContextType,
    /// `time`.
    pub time: u64,
    /// Sideband.
    pub side: Sideband,
}

/// Sideband signals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sideband {
    /// `user`, `impdef`: up to 256 bits, the lowest first.
    pub user: [u64; 4],
    /// `halted`.
    pub halted: bool,
    /// `reset`.
    pub reset: bool,
    /// `trigger[0]`, or action 2: trace on, from the oldest instruction of the cycle.
    pub trace_on: bool,
    /// `trigger[1]`, or action 3: trace off, after the newest instruction of the cycle.
    pub trace_off: bool,
}

/// A code that is reserved for exceptions and for interrupts. (RISC-V Privileged Architecture,
/// "Machine Cause (`mcause`) Register")
const RESERVED: u64 = 14;

/// The cause of a trap as `mcause` has it, and whether the trap is an interrupt. `None` for a cause
/// that is no trap of RISC-V. A trap whose cause is not known has a reserved code.
pub(crate) const fn riscv_cause(cause: Cause) -> Option<(u64, bool)> {
    match cause {
        Cause::Riscv { code, interrupt } => Some((code as u64, interrupt)),
        Cause::Call => Some((11, false)),
        Cause::Undefined => Some((2, false)),
        Cause::InstructionFault => Some((1, false)),
        Cause::DataFault => Some((5, false)),
        Cause::Alignment => Some((4, false)),
        Cause::InstructionDebug | Cause::DataDebug => Some((3, false)),
        Cause::Irq | Cause::Fiq => Some((11, true)),
        Cause::Number(code) => Some((code as u64, false)),
        Cause::Trap => Some((RESERVED, false)),
        _ => None,
    }
}

/// ECALL from U, S, VS and M, and EBREAK.
pub(crate) const fn is_ecall(code: u64) -> bool {
    matches!(code, 3 | 8..=11)
}
