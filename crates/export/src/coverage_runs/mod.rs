//! Files of runs: what one or several runs of a program cover, as JSON Lines.
//!
//! | file | contents |
//! |---|---|
//! | `record.rs` | the records |
//! | `sets.rs` | sets of runs as texts |
//! | `write.rs` | [`write()`] |
//! | `read.rs` | [`read`] |
//!
//! The same runs have the same bytes. A file ends with the digest of what is before, so that one
//! that was cut or altered is not read.

mod read;
mod record;
mod sets;
#[cfg(test)]
mod tests;
mod write;

pub use read::{RunsError, read, read_head};
pub use record::begin;
pub use write::{identify, write};

/// The version of the format.
pub const VERSION: u32 = 1;
