//! A transfer of control between functions.

use tracewright_base::{Dwt, DwtEvent};

/// The kind of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Nothing but instructions.
    Run,
    /// Execution continues at the target, and it is not known what precedes.
    Enter,
    /// A branch with link.
    Call,
    /// A return.
    Return,
    /// An indirect branch without link that is no return by its form.
    Indirect,
    /// A direct branch without link to another function.
    Jump,
    /// A branch that returns and writes another return address. (RISC-V)
    Swap,
    /// Execution runs from a function into the next one in memory.
    Fall,
    /// An exception; the target is its handler.
    Exception,
    /// An exception directly after another handler, in its place. (M profile)
    TailChain,
    /// The return from an exception.
    ExceptionReturn,
    /// An exception whose handler is not traced.
    Untraced,
    /// Execution is unknown from here on.
    Lost,
    /// Another context: the identifier of the thread is the target.
    Context,
    /// The operating system names the task that runs: the value is the return address, none where
    /// it is not known. With `entry`, it is a context ID.
    Task,
    /// A timestamp: the target.
    Timestamp,
    /// Processor cycles since the last count, or since the beginning of the count.
    Cycles,
    /// The number of cycles since the last count is not known.
    CyclesLost,
    /// An event of the DWT: see [`Transfer::dwt`].
    Dwt,
    /// A software write; the return address is the value where it names the task that runs.
    Write,
    /// A local timestamp of an ITM: the total is the target, the ticks since the one before are the
    /// cycles, and with `entry`, the packet before it was delayed; with `stub`, the timestamp.
    LocalTime,
}

/// No function.
pub const NO_FUNCTION: u32 = u32::MAX;

/// A transfer of control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Transfer {
    /// The offset in the trace.
    pub at: u64,
    /// The address at which execution continues, or as [`Kind`] describes.
    pub target: u64,
    /// The return address of a call or an exception.
    pub ret: Option<u64>,
    /// The number of the function at the target; [`NO_FUNCTION`] if there is none.
    pub function: u32,
    /// Instructions since the last transfer of the source.
    pub instructions: u32,
    /// Processor cycles of these instructions, where the trace counts them by range.
    pub cycles: u32,
    /// The number of the exception.
    pub exception: u16,
    /// The source.
    pub source: u16,
    /// What it is.
    pub kind: Kind,
    /// The target is the first instruction of the function.
    pub entry: bool,
    /// The function at the target is a stub.
    pub stub: bool,
}

impl Transfer {
    /// An event of the DWT: the value in the target, bits \[31:0]; the size, \[39:32]; the
    /// discriminator, \[47:40].
    pub(crate) fn of_dwt(source: usize, at: u64, event: &DwtEvent) -> Transfer {
        let kind = u64::from(event.discriminator) << 40 | u64::from(event.size) << 32;
        Transfer { target: kind | u64::from(event.value), kind: Kind::Dwt, ..empty(source, at) }
    }

    /// The event of the DWT of a [`Kind::Dwt`].
    pub fn dwt(&self) -> Dwt {
        let [value @ .., size, discriminator, _, _] = self.target.to_le_bytes();
        let value = u32::from_le_bytes(value);
        DwtEvent { discriminator, size, value, after_overflow: false }.meaning()
    }
}

/// Nothing but a position.
pub(crate) const fn empty(source: usize, at: u64) -> Transfer {
    Transfer {
        at,
        target: 0,
        ret: None,
        function: NO_FUNCTION,
        instructions: 0,
        cycles: 0,
        exception: 0,
        source: source as u16,
        kind: Kind::Run,
        entry: false,
        stub: false,
    }
}
