//! What one line of a log says.

use tracewright_base::{Cause, Isa, Step};

/// One thing that a log says, in the words that all formats share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Which processor: its number in the log.
    pub cpu: u16,
    /// When, in the units of the log.
    pub time: Option<u64>,
    /// What.
    pub event: Event,
}

impl Entry {
    /// Something that processor `cpu` did at a time that is not known.
    pub const fn new(cpu: u16, event: Event) -> Self {
        Entry { cpu, time: None, event }
    }
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// An instruction was executed, or its execution began.
    Instruction(Executed),
    /// The instruction at this address, the last one, was not executed after all.
    Withdrawn {
        /// Its address.
        address: u64,
    },
    /// What the program holds, whether it runs or not.
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
    /// The processor went to another exception level.
    Mode(Mode),
    /// Condition flags that the last instruction found: N in bit 3, Z, C, V.
    Flags(u8),
    /// CONTEXTIDR was written.
    ContextId(u32),
    /// The virtual machine identifier was written.
    Vmid(u32),
    /// Anything that is a step as it stands: data, contexts, time, software.
    Step(Step),
}

/// An instruction in a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Executed {
    /// Its address.
    pub address: u64,
    /// The instruction itself.
    pub opcode: Option<Opcode>,
    /// The instruction set that it was executed in.
    pub isa: Option<Isa>,
    /// Its condition was met.
    pub passed: Option<bool>,
    /// T32: the condition that the IT block around it gives it, as an A32 opcode has it on top.
    pub condition: Option<u8>,
    /// Who executed it.
    pub mode: Mode,
}

/// An instruction's bits. Those of a wide T32 instruction have its first halfword on top.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Opcode {
    /// The bits.
    pub bits: u32,
    /// Its size in bytes: 2 or 4.
    pub size: u8,
}

/// Exception level or privilege, and security state, as far as the log says them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mode {
    /// Arm: exception level. RISC-V: privilege, 0 user to 3 machine.
    pub el: Option<u8>,
    /// Non-secure state.
    pub non_secure: Option<bool>,
}

impl Mode {
    /// This, and `other` where this says nothing.
    #[must_use]
    pub fn or(self, other: Mode) -> Mode {
        Mode { el: self.el.or(other.el), non_secure: self.non_secure.or(other.non_secure) }
    }
}

/// An exception in a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Raised {
    /// What for.
    pub cause: Option<Cause>,
    /// Where the processor would have gone on: ELR, EPC.
    pub return_address: Option<u64>,
    /// An address that may be the same: it is, where the last instruction leads there.
    pub likely: Option<u64>,
    /// The vector.
    pub target: Option<u64>,
    /// The trap value.
    pub value: Option<u64>,
    /// It stands for the attempt to execute the instruction at `return_address`, which the log may name
    /// before it, and which was not retired.
    pub synchronous: bool,
}
