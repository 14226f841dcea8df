//! The unit as it works: comparators, resources and ViewInst, one step of execution at a time.
//!
//! A value that the architecture or the input leaves open is `None`, and an instruction whose trace
//! depends on it may be traced or not. ViewInst is precise where its event is the constant TRUE; a
//! change of any other event takes effect within [`LATENCY`] instructions here. (The architecture
//! has no limit but the completion of TSB CSYNC: Arm ARM K10.5.9)

mod comparators;
mod hazards;
mod logic;
mod resources;
mod view_data;
mod view_inst;

pub use comparators::{Comparators, Instruction};
pub use resources::Resources;
pub use view_inst::{LATENCY, Model};

#[cfg(test)]
mod tests;
