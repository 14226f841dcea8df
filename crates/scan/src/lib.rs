//! Large inputs, fast: files as memory maps, and scans that do not look at every byte.
//!
//! Each scan has a naive twin in [`naive`] that says the same, slowly; tests compare them. `unsafe` are
//! the memory map and [`prefetch`].
#![cfg_attr(not(feature = "map"), no_std)]
#![deny(unsafe_code)]

mod ahead;
mod find;
#[cfg(feature = "map")]
mod map;
pub mod naive;

#[cfg(feature = "map")]
pub use ahead::huge;
pub use ahead::prefetch;
pub use find::{find, zero_run};
#[cfg(feature = "map")]
pub use map::{Bytes, map};
