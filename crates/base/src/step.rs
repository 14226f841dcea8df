//! What a processor did, as the trace unit beside it sees it.

use crate::{Access, Context, DwtEvent, Instruction, Isa, Software, Transaction};

/// One thing that a processor did. A trace unit in software ([`Encode`](crate::Encode)) takes them
/// in the order in which they happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// An instruction was retired.
    Retired(Retired),
    /// An exception was taken: the processor goes on at its vector.
    Exception(Taken),
    /// Who executes from the next instruction on.
    Context(Context),
    /// The instruction that was retired last moved data.
    Access(Access),
    /// The program wrote into the trace (ITM, STM).
    SoftwareWrite(Software),
    /// The debug hardware has something to say (DWT).
    DwtEvent(DwtEvent),
    /// This many processor cycles passed since the last [`Step::Cycles`].
    Cycles(u32),
    /// The timestamp counter has this value from here on.
    Timestamp(u64),
    /// Trace unit events: bit n is set where event n (0 to 3) occurred.
    Events(u8),
    /// The trigger fired.
    Trigger,
    /// A transaction (FEAT_TME) begins or ends.
    Transaction(Transaction),
    /// The program put a value into the instruction trace (FEAT_ITE).
    Instrumentation {
        /// Exception level of the write.
        el: u8,
        /// The value.
        value: u64,
    },
    /// Signals beside the instructions have this value from here on, bit n being signal n: what a filter may ask for.
    /// (RISC-V: `user`, `impdef`)
    Signals(u64),
    /// What follows is not to be traced: the unit was switched off, or a filter excludes it.
    Off,
    /// What follows is to be traced again.
    On,
    /// The processor enters Debug state.
    Halted,
    /// The trace unit loses what it holds and what comes before the next step that it can trace.
    Overflow,
}

/// An instruction that was retired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Retired {
    /// Its address in bytes, without an instruction set bit.
    pub address: u64,
    /// Address of the instruction that the program goes on with, were no exception to come between.
    pub next: u64,
    /// The instruction set at `next`.
    pub next_isa: Isa,
    /// It took effect: a branch was taken, a condition passed.
    pub taken: bool,
    /// The instruction, its own instruction set among the rest.
    pub instruction: Instruction,
}

/// An exception that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// What for.
    pub cause: Cause,
    /// Where the processor would go on after it: the preferred exception return address (Arm), EPC (RISC-V).
    pub return_address: u64,
    /// The instruction set at `return_address`.
    pub return_isa: Isa,
    /// Where it goes on now: the vector, or the handler that the vector names (M profile).
    pub target: u64,
    /// The instruction set at `target`.
    pub target_isa: Isa,
    /// The trap value (RISC-V tval); `None` where there is none.
    pub value: Option<u64>,
    /// The instruction that was retired last did not take effect after all, and runs again.
    pub cancels: bool,
}

/// Why an exception was taken. Each protocol has numbers of its own for these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The processor was reset.
    Reset,
    /// The processor entered Debug state.
    Halt,
    /// SVC, HVC, SMC.
    Call,
    /// A trapped instruction that is none of the others.
    Trap,
    /// SError, asynchronous or imprecise abort.
    SystemError,
    /// Breakpoint or other debug exception on an instruction.
    InstructionDebug,
    /// Watchpoint.
    DataDebug,
    /// Alignment of the program counter or of the stack pointer.
    Alignment,
    /// The instruction could not be fetched.
    InstructionFault,
    /// Memory could not be accessed.
    DataFault,
    /// Undefined instruction.
    Undefined,
    /// An interrupt.
    Irq,
    /// A fast interrupt.
    Fiq,
    /// Exception number of an M-profile processor (IPSR).
    Vector(u16),
    /// A RISC-V trap: `mcause` without its top bit, which `interrupt` has.
    Riscv {
        /// The exception code.
        code: u16,
        /// It is an interrupt.
        interrupt: bool,
    },
    /// The number that the protocol itself gives it.
    Number(u16),
}

const _: () = assert!(core::mem::size_of::<Step>() <= 64);
