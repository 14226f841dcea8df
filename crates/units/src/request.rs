//! What a user wants to be traced, without the registers of a unit.

pub mod parse;

use std::fmt;

use crate::routine::RoutineRequest;
use crate::sink::Sink;

/// Addresses from `start` to `end - 1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// The first address.
    pub start: u64,
    /// The address after the last.
    pub end: u64,
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}..{:#x}", self.start, self.end)
    }
}

/// Something that happens in the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occurrence {
    /// The instruction at this address is executed.
    Execute(u64),
    /// A load reads this address.
    Read(u64),
    /// A store writes this address.
    Write(u64),
    /// A load or a store accesses this address.
    Access(u64),
    /// An external input is active. The first is 1 in ETMv1 to ETMv3, and 0 in later units.
    Input(u8),
    /// An input from EmbeddedICE or the DWT is active. The first is 1.
    Watchpoint(u8),
}

/// An occurrence with a value and a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    /// What happens.
    pub on: Occurrence,
    /// The value of the data access. `None` accepts any.
    pub value: Option<u32>,
    /// The time that counts: 1 is the first.
    pub times: u16,
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.on {
            Occurrence::Execute(address) => write!(f, "exec:{address:#x}")?,
            Occurrence::Read(address) => write!(f, "read:{address:#x}")?,
            Occurrence::Write(address) => write!(f, "write:{address:#x}")?,
            Occurrence::Access(address) => write!(f, "access:{address:#x}")?,
            Occurrence::Input(number) => write!(f, "input:{number}")?,
            Occurrence::Watchpoint(number) => write!(f, "watchpoint:{number}")?,
        }
        if let Some(value) = self.value {
            write!(f, "={value:#x}")?;
        }
        if self.times != 1 {
            write!(f, "*{}", self.times)?;
        }
        Ok(())
    }
}

/// The parts of a data access that are traced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DataParts {
    /// The address and the value.
    #[default]
    Both,
    /// The address.
    Address,
    /// The value.
    Value,
}

/// A request. Its default traces all instructions and nothing else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Instructions to trace; all where this is empty.
    pub trace: Vec<Span>,
    /// Instructions not to trace.
    pub exclude: Vec<Span>,
    /// Tracing starts where the first address is executed, and stops where the second is.
    pub between: Vec<(u64, u64)>,
    /// Data to trace.
    pub data: Vec<Span>,
    /// All data is traced.
    pub all_data: bool,
    /// The parts of the data accesses to trace.
    pub parts: DataParts,
    /// The context ID of the instructions to trace.
    pub context: Option<u32>,
    /// The virtual machine ID of the instructions to trace.
    pub vmid: Option<u32>,
    /// Exception levels to trace: bit n is level n. `None` traces all.
    pub levels: Option<u8>,
    /// The Security states to trace. `None` traces all.
    pub security: Option<SecurityStates>,
    /// When the trigger occurs.
    pub trigger: Option<Condition>,
    /// Bytes of context IDs in the trace: 0, 1, 2 or 4.
    pub context_bytes: u8,
    /// Virtual context identifiers, or virtual machine IDs, are traced.
    pub vmids: bool,
    /// Cycles are traced.
    pub cycles: bool,
    /// Every branch has its address in the trace.
    pub branch_output: bool,
    /// Timestamps are traced.
    pub timestamps: bool,
    /// The processor waits when the FIFO is nearly full.
    pub stall: bool,
    /// The trigger stops the processor.
    pub halt: bool,
    /// The trace ID on the ATB.
    pub trace_id: Option<u8>,
    /// The sink that is programmed before the unit.
    pub sink: Option<Sink>,
    /// The routine, where it is not the one that programs and enables the unit.
    pub routine: Option<RoutineRequest>,
}

/// Security states of the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecurityStates {
    /// Secure state.
    Secure,
    /// Non-secure state, and with FEAT_RME Realm state.
    NonSecure,
}

/// Why a unit cannot do what a request contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The part of the request.
    pub part: String,
    /// What the unit lacks.
    pub lacks: String,
    /// What would be needed, or what to ask for instead.
    pub needs: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.part, self.lacks, self.needs)
    }
}
