//! The order of register accesses: routines that enable, disable, save and restore a trace unit and
//! its buffer, and a check of recorded accesses.
//!
//! The routines are those of Arm ARM K10.5.7.1 (enable, disable, save and restore over a power
//! down), K10.5.10 (context switch) and K10.5.11 (watermark interrupts). [`check`] reads a
//! recording and reports each access that breaks one of [`rules::RULES`].

mod access;
mod checker;
mod episode;
mod routines;
pub mod rules;
mod sink;
mod state;
mod step;

pub use access::{Part, part};
pub use checker::check;
pub use routines::{
    disable, enable, program_registers, restore, save, steps, switch_in, switch_out,
    switch_out_tracing,
};
pub use sink::{start, stop};
pub use state::State;

#[cfg(test)]
mod tests;
