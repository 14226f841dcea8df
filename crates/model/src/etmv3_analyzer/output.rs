//! The result of the analysis.

use std::fmt;

use tracewright_base::{Isa, Start};

/// What the trace states.
#[derive(Clone, Debug, Default)]
pub struct Analysis {
    /// In program order.
    pub outputs: Vec<Output>,
    /// The packet at `len` is malformed.
    pub malformed: bool,
    /// Bytes from the end of the first A-sync that were analyzed.
    pub len: usize,
}

/// The context of an instruction; `None` where it is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// Context ID.
    pub context_id: Option<u32>,
    /// Virtual machine ID.
    pub vmid: Option<u32>,
    /// Non-secure state.
    pub non_secure: Option<bool>,
    /// Hyp mode.
    pub hyp: bool,
}

/// A data transfer. (7.4)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfer {
    /// The address of the data instruction.
    pub by: Option<u32>,
    /// The address of the transfer.
    pub address: Option<u32>,
    /// The value.
    pub value: Option<u32>,
    /// BE bit.
    pub big_endian: bool,
    /// The value came out of order.
    pub late: bool,
    /// The value is not traced. (7.4.5)
    pub not_traced: bool,
    /// No transfer: data are suppressed from here on. (7.4.6)
    pub suppressed: bool,
    /// The store failed. (7.4.7)
    pub failed: bool,
    /// A stack push or pop of an exception. (7.5.3)
    pub exception: bool,
}

/// One statement about execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Tracing starts. (Table 7-23)
    On(Start),
    /// An instruction was executed, or half of one.
    Instruction {
        /// Its address.
        address: u32,
        /// Its instruction set.
        isa: Isa,
        /// It passed its condition code test.
        passed: bool,
        /// It is the first half of a 32-bit Thumb instruction.
        first_half: bool,
        /// The context in which it was executed.
        context: Context,
    },
    /// An exception was taken.
    Exception {
        /// Its number. (Tables 7-12 and 7-17)
        number: u16,
        /// It is tail-chained. (7.5.4)
        tail_chain: bool,
    },
    /// Return from an exception. (7.5.4)
    Return,
    /// Cycles; `None` if their number is unknown.
    Cycles(Option<u64>),
    /// A data transfer.
    Transfer(Transfer),
    /// The trigger.
    Trigger,
    /// A timestamp, as a natural number.
    Timestamp(u64),
    /// Instructions were executed that are not known, until the next address.
    Unknown,
    /// A periodic I-sync or a branch packet that contradicts the instructions before it.
    Contradiction,
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Output::Instruction { address, isa, passed, context, .. } => {
                let atom = if *passed { 'E' } else { 'N' };
                write!(f, "{isa} {address:#x} {atom} in {context:?}")
            }
            other => write!(f, "{other:x?}"),
        }
    }
}
