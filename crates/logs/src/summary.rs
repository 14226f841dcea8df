//! Totals of a log.

/// Totals of the entries that an [`Assembler`](crate::Assembler) took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Instructions in the log, with or without an opcode, executed or not.
    pub listed: u64,
    /// Executed instructions.
    pub instructions: u64,
    /// Data accesses.
    pub accesses: u64,
    /// Software writes and DWT events.
    pub software: u64,
    /// Exceptions.
    pub exceptions: u64,
    /// Discontinuities of the program that the log does not explain. Tracing is off in between.
    pub jumps: u64,
    /// Instructions whose opcode is neither in the log nor in the image. Tracing is off there.
    pub unknown: u64,
    /// Traps of RISC-V whose cause the log does not have.
    pub uncaused: u64,
    /// Compressed instructions for which the log has the opcode of their expansion.
    pub expanded: u64,
    /// Address of the first unknown instruction.
    pub first_unknown: Option<u64>,
}
