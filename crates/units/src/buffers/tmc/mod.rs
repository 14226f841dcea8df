//! The CoreSight Trace Memory Controller (TMC) and the older Embedded Trace Buffer (ETB).
//! (Arm DDI 0461, DDI 0480 chapter 10)
//!
//! | file | contents |
//! |---|---|
//! | `registers.rs` | the table of registers with their fields in words |
//! | `explain.rs` | the state in sentences |
//! | `scatter.rs` | the scatter-gather list of an ETR |
//! | `unit.rs` | the model: capture into a circular buffer, triggers, the stop sequence |
//!
//! A TMC is an ETB or ETF with its own memory, or an ETR that writes to system memory. Its
//! pointers RRP and RWP are byte addresses; those of an ETB are numbers of 32-bit words.
//!
//! ```
//! use tracewright_units::buffers::tmc::{Kind, Tmc};
//!
//! let mut etb = Tmc::new(Kind::Etb, 0, 64).formatted(false);
//! etb.enable();
//! etb.offer(&[0x11; 6]);
//! etb.stop();
//! // The stop sequence: 0x01, then zeros up to the width of the memory.
//! assert_eq!(etb.memory()[..8], [0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x01, 0x00]);
//! assert_eq!((etb.write_pointer(), etb.is_full()), (2, false));
//! ```

mod explain;
mod registers;
mod scatter;
mod unit;

pub use explain::explain;
pub use registers::{FeatureTmc, REGISTERS};
pub use scatter::{Entry, PAGE, entries, table};
pub use unit::{Kind, State, Tmc};
