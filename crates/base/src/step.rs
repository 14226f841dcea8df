//! The execution of a processor, as its trace unit observes it.

use crate::access::Access;
use crate::context::Context;
use crate::dwt_event::DwtEvent;
use crate::element::Transaction;
use crate::instruction::Instruction;
use crate::isa::Isa;
use crate::software::Software;

/// One step of execution. A trace unit in software ([`Encode`](crate::Encode)) takes steps in
/// program order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// An instruction was retired.
    Retired(Retired),
    /// An exception was taken: execution continues at its vector.
    Exception(Taken),
    /// The context from the next instruction on.
    Context(Context),
    /// A data access of the last retired instruction.
    Access(Access),
    /// A write of the program to a stimulus port or channel (ITM, STM).
    SoftwareWrite(Software),
    /// An event of the Data Watchpoint and Trace unit (DWT).
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
    /// The program wrote a value into the instruction trace (FEAT_ITE).
    Instrumentation {
        /// Exception level of the write.
        el: u8,
        /// The value.
        value: u64,
    },
    /// Values of the 256 sideband signals from here on, the lowest first: bit n is signal n. A
    /// filter can select by them. (RISC-V: `user`, `impdef`)
    Signals([u64; 4]),
    /// Tracing is off for the following steps: the unit was disabled, or a filter excludes them.
    Off,
    /// Tracing is on for the following steps.
    On,
    /// The processor enters Debug state.
    Halted,
    /// The trace unit overflows: it loses the trace in its FIFO, and steps until it can trace
    /// again.
    Overflow,
}

/// Receives steps, with the number of the processor that made them.
pub trait StepSink {
    /// Takes one step of processor `cpu`.
    fn step(&mut self, cpu: u16, step: &Step);
}

impl<F: FnMut(u16, &Step)> StepSink for F {
    #[inline]
    fn step(&mut self, cpu: u16, step: &Step) {
        self(cpu, step);
    }
}

/// A retired instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Retired {
    /// Byte address, without an instruction set bit.
    pub address: u64,
    /// Address of the next instruction in program order, as if no exception intervened.
    pub next: u64,
    /// The instruction set at `next`.
    pub next_isa: Isa,
    /// Whether the instruction took effect: a branch was taken, a condition passed.
    pub taken: bool,
    /// The instruction, with its instruction set.
    pub instruction: Instruction,
}

/// An exception that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The cause.
    pub cause: Cause,
    /// The preferred exception return address (Arm), EPC (RISC-V).
    pub return_address: u64,
    /// The instruction set at `return_address`.
    pub return_isa: Isa,
    /// Address of the first instruction of the handler: the vector, or the content of the vector
    /// (M profile).
    pub target: u64,
    /// The instruction set at `target`.
    pub target_isa: Isa,
    /// The trap value (RISC-V tval); `None` where there is none.
    pub value: Option<u64>,
    /// Whether the exception cancels the last retired instruction, which executes again later.
    pub cancels: bool,
}

/// The cause of an exception. Each protocol encodes causes with its own numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The processor was reset.
    Reset,
    /// The processor entered Debug state.
    Halt,
    /// SVC, HVC, SMC.
    Call,
    /// A trapped instruction, other than those below.
    Trap,
    /// SError, asynchronous or imprecise abort.
    SystemError,
    /// Breakpoint or other debug exception on an instruction.
    InstructionDebug,
    /// Watchpoint.
    DataDebug,
    /// Alignment fault of the program counter or of the stack pointer.
    Alignment,
    /// Fault of an instruction fetch.
    InstructionFault,
    /// Fault of a data access.
    DataFault,
    /// Undefined instruction.
    Undefined,
    /// An interrupt.
    Irq,
    /// A fast interrupt.
    Fiq,
    /// Exception number of an M-profile processor (IPSR).
    Vector(u16),
    /// A RISC-V trap. (Privileged Architecture, `mcause`)
    Riscv {
        /// The exception code: `mcause` without its most significant bit.
        code: u16,
        /// The most significant bit of `mcause`: the trap is an interrupt.
        interrupt: bool,
    },
    /// An exception number of the protocol.
    Number(u16),
}

const _: () = assert!(core::mem::size_of::<Step>() <= 64);
