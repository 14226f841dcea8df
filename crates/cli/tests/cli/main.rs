//! The command as a user has it.

mod answers;
mod common;
mod problems;
mod shared;
