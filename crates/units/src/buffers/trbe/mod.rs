//! The Trace Buffer Unit of the Trace Buffer Extension, FEAT_TRBE. (Arm ARM, chapter D6)
//!
//! | file | contents |
//! |---|---|
//! | `registers.rs` | the table of registers with their fields in words |
//! | `explain.rs` | the state in sentences, and what is wrong with values |
//! | `limit.rs`, `status.rs` | TRBLIMITR_EL1 and TRBSR_ELx as values |
//! | `controls.rs` | the registers of the core that the unit reads, and the owner of the buffer |
//! | `choices.rs` | what an implementation has, and what the architecture leaves to it |
//! | `pointer.rs` | which values the write pointer and the Trigger Counter may have |
//! | `memory.rs` | the memory that the unit writes to, and its faults |
//! | `record.rs` | which TRBSR_ELx records a management event |
//! | `unit.rs` | the model: acceptance of trace, byte by byte |
//! | `trigger.rs` | Detected Triggers, Trigger Events, flushes and the Manual Stop |
//! | `reg.rs`, `access.rs` | direct reads and writes, and the barriers that order them |
//! | `order.rs` | what has happened and is not visible everywhere yet |
//! | `monitor.rs` | the effect of a write on an exclusive monitor or a transaction |
//! | `violation.rs` | what software did whose result the architecture leaves open |
//!
//! The model is the sequential one of D6.1: each byte that the unit accepts moves the write pointer
//! at once. Software does not see that at once: a direct read returns an unknown value until the
//! barriers of D6.6 are executed, and the byte is in memory only after a DSB.
//!
//! ```
//! use tracewright_units::buffers::trbe::{Bytes, Limit, Reg, Trbe};
//!
//! let mut memory = Bytes::new(0x1000, 0x2000);
//! let mut trbe = Trbe::default();
//! trbe.write(Reg::Base, 0x1000);
//! trbe.write(Reg::Pointer, 0x1000);
//! trbe.write(Reg::Status, 0);
//! trbe.synchronize();
//! trbe.write(Reg::Limit, Limit::fill(0x3000).enabled().0);
//! trbe.synchronize();
//! assert_eq!(trbe.offer(b"trace", &mut memory).accepted, 5);
//!
//! assert_eq!(trbe.read(Reg::Pointer).known(), None);
//! trbe.prohibit(true);
//! trbe.synchronize();
//! trbe.trace_synchronize();
//! trbe.data_synchronize(&mut memory);
//! trbe.synchronize();
//! assert_eq!(trbe.read(Reg::Pointer).known(), Some(0x1005));
//! assert_eq!(memory.at(0x1000, 5), b"trace");
//! ```

mod access;
mod choices;
mod controls;
mod explain;
mod limit;
mod memory;
mod monitor;
mod order;
mod pointer;
mod record;
mod reg;
mod registers;
mod status;
mod trigger;
mod unit;
mod violation;

#[cfg(test)]
mod tests;

pub use choices::{
    AbortHandling, BadPointer, BadPointerReason, Choices, CounterAfterFault, EnabledWrites,
    Features, LowBits, MisalignedCounter, MonitorWrite, TriggerCount, Unsynchronised,
};
pub use controls::{Controls, Owner, Regime, Security};
pub use explain::{explain, lint};
pub use limit::{FillMode, Limit, TriggerMode};
pub use memory::{Abort, AddressSpace, Bytes, Fault, Memory, Stage, Store};
pub use monitor::{Monitor, MonitorKind, MonitorState};
pub use pointer::{Class, Pointers};
pub use record::{Event, Level};
pub use reg::{Reg, Word};
pub use registers::{Feature, REGISTERS, describe};
pub use status::{Cause, Status};
pub use unit::{Losses, Mode, Offer, Signals, Trbe};
pub use violation::Violation;
