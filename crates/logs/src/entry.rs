//! The content of one line of a log, independent of the format.

use tracewright_base::{Cause, Isa, Step};

/// One event of a log, in the form that all formats share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Number of the processor in the log.
    pub cpu: u16,
    /// Time, in the unit of the log.
    pub time: Option<u64>,
    /// The event.
    pub event: Event,
}

impl Entry {
    /// An event of processor `cpu` at an unknown time.
    pub const fn new(cpu: u16, event: Event) -> Self {
        Entry { cpu, time: None, event }
    }
}

/// An event of a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// An instruction was executed, or its execution began.
    Instruction(Executed),
    /// The instructions from where the event before led up to the one at `from` were executed, and
    /// execution continued at `to`.
    Branched {
        /// The address of the last instruction.
        from: u64,
        /// The address at which execution continued.
        to: u64,
    },
    /// The last instruction, at this address, was not executed.
    Withdrawn {
        /// Its address.
        address: u64,
    },
    /// An instruction in program memory, executed or not.
    Code {
        /// The address.
        address: u64,
        /// The instruction there.
        opcode: Opcode,
    },
    /// An exception was taken.
    Raised(Raised),
    /// The preferred return address of the exception that was just taken became known.
    ReturnAddress(u64),
    /// The exception level or the security state changed.
    Mode(Mode),
    /// Condition flags before the last instruction: bit \[3] N, \[2] Z, \[1] C, \[0] V.
    Flags(u8),
    /// CONTEXTIDR was written.
    ContextId(u32),
    /// The virtual machine identifier was written.
    Vmid(u32),
    /// A step that needs no assembly: a data access, a context, a time, a software write.
    Step(Step),
}

/// An instruction in a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Executed {
    /// Its address.
    pub address: u64,
    /// The opcode, if the log has it.
    pub opcode: Option<Opcode>,
    /// The opcode is the one to which a compressed instruction of RISC-V expands.
    pub is_expansion: bool,
    /// The instruction set.
    pub isa: Option<Isa>,
    /// Whether the condition passed.
    pub passed: Option<bool>,
    /// T32: the condition from the IT block, in the encoding of A32 bits \[31:28].
    pub condition: Option<u8>,
    /// Exception level and security state.
    pub mode: Mode,
}

/// The bits of an instruction. A 32-bit T32 instruction has its first halfword in bits \[31:16].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Opcode {
    /// The bits.
    pub bits: u32,
    /// Size in bytes: 2 or 4.
    pub size: u8,
}

/// Exception level or privilege, and security state, as far as the log states them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mode {
    /// Arm: exception level. RISC-V: privilege, 0 user to 3 machine.
    pub el: Option<u8>,
    /// Non-secure state.
    pub non_secure: Option<bool>,
}

impl Mode {
    /// `self`, with unknown fields taken from `other`.
    #[must_use]
    pub fn or(self, other: Mode) -> Mode {
        Mode { el: self.el.or(other.el), non_secure: self.non_secure.or(other.non_secure) }
    }
}

/// An exception in a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Raised {
    /// The cause, if known.
    pub cause: Option<Cause>,
    /// The preferred return address: ELR, EPC.
    pub return_address: Option<u64>,
    /// A candidate for the return address, valid if it is a successor of the last instruction.
    pub likely: Option<u64>,
    /// Address of the exception vector.
    pub target: Option<u64>,
    /// The trap value.
    pub value: Option<u64>,
    /// Whether the instruction at `return_address` caused the exception and did not retire. The log
    /// may list that instruction before the exception.
    pub synchronous: bool,
}
